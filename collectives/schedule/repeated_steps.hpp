// Steps that join the same ranks over and over while the chunks they send turn: each half of a ring is one of them. What holds of the
// first one holds of all, so a ring of thousands of ranks is counted, proved and routed without producing its steps one by one.
#pragma once

#include "collectives/schedule/schedule.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace weft {

// An order of chunks other than that of their numbers.
struct ChunkOrder {
  std::vector<int> chunks;    // by place
  std::vector<int> place_of;  // by chunk

  // All chunks, each once.
  explicit ChunkOrder(std::vector<int> by_place);
};

struct RepeatedStep {
  int times = 1;
  int block = 1, turn = 0;  // from one time to the next each chunk becomes the one `turn` further within its block of so many, round it
  Step first = {};
  std::shared_ptr<const ChunkOrder> order = {};  // blocks are of chunks in this order; of chunks as they are numbered where there is none

  int turned(int chunk, int times_later) const {
    const int place = order ? order->place_of[static_cast<std::size_t>(chunk)] : chunk, inside = place % block;
    const int then = place - inside + static_cast<int>((inside + std::int64_t{turn} * times_later % block + block) % block);
    return order ? order->chunks[static_cast<std::size_t>(then)] : then;
  }
};

// What produces them; Steps::made_by<RepeatedSteps>() tells who looks for it.
class RepeatedSteps {
 public:
  // Of so many ranks and chunks. All transfers of a step move as many chunks as one another, to where they were; blocks are of one size,
  // and ranges turn as a whole; where chunks have an order of their own, each turns by itself.
  RepeatedSteps(int ranks, int chunks, std::vector<RepeatedStep> steps);

  int count() const { return data_->count; }
  std::span<const RepeatedStep> all() const { return data_->steps; }
  void operator()(int step, Step& out) const;
  // Only what moves these chunks.
  void produce_of(int step, std::span<const int> chunks, Step& out) const;
  // The chunks that some step moves, in ascending order.
  std::vector<int> chunks_moved() const;
  // Whether the step joins the same ranks as the one before it, in the same order, and moves as many chunks.
  bool repeats(int step) const;
  // How many of the steps behind it do so in a row.
  int repeats_of(int step) const;

 private:
  struct Place {
    std::size_t index;
    int time;
  };
  // Of the first time of a step: which of its transfers move each range of chunks.
  struct Movers {
    int count = 1;                     // chunks of a range
    std::vector<std::uint32_t> begin;  // by range, in `transfers`
    std::vector<std::uint32_t> transfers;
  };
  struct Data {
    int count = 0, chunks = 0;
    std::vector<RepeatedStep> steps;
    std::vector<int> begins;  // step numbers
    std::vector<Movers> movers;
  };

  static Movers movers_of(const RepeatedStep& step, int chunks);
  Place place_of(int step) const;
  void append(const Place& place, Transfer t, Step& out) const;

  std::shared_ptr<const Data> data_;  // copies of schedules share it
};

Steps repeated_steps(int ranks, int chunks, std::vector<RepeatedStep> steps);

}  // namespace weft

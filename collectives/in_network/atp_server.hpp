// ATP's parameter server: finishes what the switches left over. Its multicast of a result is the acknowledgement.
#pragma once

#include "collectives/in_network/atp.hpp"

#include <string>
#include <vector>

namespace weft {

class AtpServer final : public InNetworkAgent {
 public:
  struct Part {
    Address self = nobody, workers = nobody;  // the group of all workers of the flow
    std::int32_t flow = 0;
    std::uint32_t packets = 0;
  };
  struct Statistics {
    std::int64_t received = 0;  // gradients
    std::int64_t whole = 0;     // sequences that came as one sum of all workers
    std::int64_t merged = 0;    // gradients added here
    std::int64_t ignored = 0;   // whose workers were all or partly counted
    std::int64_t answered = 0;  // results retransmitted
    std::int64_t late = 0;      // copies of what no worker can still lack
    std::int64_t floats = 0;    // sequences added as floating point
    std::int64_t malformed = 0;
  };

  // The settings and the tree must outlive the agent. Keeps the results of 2 largest_window packets.
  AtpServer(const AtpSettings& settings, const AtpTree& tree, const Part& part);

  void on_datagram(Wire& wire, Datagram datagram) override;
  void on_timer(Wire&, std::uint64_t) override {}
  void add_round(std::uint32_t packets) override { part_.packets += packets; }
  bool finished() const override { return base_ == part_.packets; }
  std::int64_t progress() const override { return statistics_.whole + statistics_.merged + statistics_.floats; }
  std::string waiting() const override;
  const Statistics& statistics() const { return statistics_; }
  InNetworkStatistics counted() const override {
    const Statistics& s = statistics_;
    return {.floats = s.floats, .packets = part_.packets, .whole = s.whole, .merged = s.merged, .malformed = s.malformed};
  }

 private:
  using Words = std::vector<std::uint64_t>;  // a bit for each worker
  struct Result {
    std::uint32_t sequence = 0;
    int missing = -1;  // workers; -1: nothing has come
    bool marked = false;
    AtpFit fit = AtpFit::fits;
    Payload sum = {};
    std::vector<Payload> parts = {};  // floating point, by worker; added when all are there, so that the order is always the same
  };

  Result& result_of(std::uint32_t sequence) { return results_[sequence % results_.size()]; }
  std::span<std::uint64_t> counted(std::uint32_t sequence) { return {counted_.data() + sequence % results_.size() * words_, words_}; }
  bool sound(const AtpHeader& h) const;
  void open(std::uint32_t sequence);
  void read_workers(const AtpHeader& h);
  void add(Result& r, const Datagram& datagram, const AtpHeader& h);
  void ask_for_floats(Wire& wire, Result& r);
  void add_floats(Wire& wire, Datagram datagram, const AtpHeader& h);
  void finish(Wire& wire, std::uint32_t sequence);
  void send(Wire& wire, std::uint32_t sequence, Address to);

  const AtpSettings& settings_;
  const AtpTree& tree_;
  Part part_;
  std::size_t words_;
  std::vector<Words> behind_;    // by bit of level 2
  std::vector<Result> results_;  // by sequence, a ring
  std::vector<std::uint64_t> counted_;
  Words workers_;           // of the gradient at hand
  std::uint32_t base_ = 0;  // all below are finished
  Statistics statistics_;
};

}  // namespace weft

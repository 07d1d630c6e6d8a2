// A transport that is slow, reorders and loses messages, for tests: whatever a medium may do to a run.
#pragma once

#include "collectives/executors/transport.hpp"

#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

namespace weft {

struct TransportFaults {
  std::uint64_t seed = 1;
  std::chrono::microseconds longest_delay{0};  // before each message, uniformly up to this
  bool reorder = false;                        // messages of different tags or receivers start in any order
  int lose = -1;                               // the message with this number, counted over all sends of this rank
  int shorten = -1;                            // the message with this number lacks its last byte
};

class FaultyTransport final : public Transport {
 public:
  FaultyTransport(Transport& inner, TransportFaults faults) : inner_(inner), faults_(faults), random_(faults.seed) {}

  void receive(Rank from, Tag tag, ByteSpan into) override { inner_.receive(from, tag, into); }
  bool receive_reduce(Rank from, Tag tag, DType dtype, ReduceOp op, ByteSpan into) override {
    return inner_.receive_reduce(from, tag, dtype, op, into);
  }
  void send(Rank to, Tag tag, ByteView bytes) override { held_.push_back({to, tag, bytes}); }
  void wait() override;
  void reduce(DType dtype, ReduceOp op, ByteSpan into, ByteView from) override { inner_.reduce(dtype, op, into, from); }

 private:
  struct Message {
    Rank to;
    Tag tag;
    ByteView bytes;
  };
  void shuffle();

  Transport& inner_;
  TransportFaults faults_;
  std::mt19937_64 random_;
  std::vector<Message> held_;
  int sent_ = 0;
};

}  // namespace weft

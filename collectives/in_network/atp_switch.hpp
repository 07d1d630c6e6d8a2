// ATP's switch program: an array of aggregators, found by a hash of job and packet, shared by all jobs without any
// reservation. Packets that find theirs taken are passed on to the parameter server as they are.
#pragma once

#include "collectives/in_network/atp.hpp"

#include <vector>

namespace weft {

class AtpSwitch final : public InNetworkAgent {
 public:
  struct Statistics {
    std::int64_t gradients = 0;   // seen while they might have been aggregated here
    std::int64_t aggregated = 0;  // of them: added to an aggregator
    std::int64_t collisions = 0;  // of them: passed on because another packet's aggregator was in the way
    std::int64_t duplicates = 0;
    std::int64_t flushed = 0;  // partial sums sent on because a worker retransmitted
    std::int64_t completed = 0;
    std::int64_t reclaimed = 0;  // from packets whose workers have given up: one of them is gone
    std::int64_t malformed = 0;
    int most_in_use = 0;
  };

  // `walks`: of the flows, which are numbered from 0. `attached` are the servers whose edge switch this is.
  AtpSwitch(const AtpSettings& settings, std::vector<AtpWalk> walks, std::vector<Address> attached);

  void on_datagram(Wire& wire, Datagram datagram) override;
  void on_timer(Wire&, std::uint64_t) override {}

  // Aggregators that hold a packet which is not known to have been delivered everywhere, and that another may not take.
  int claimed(std::int64_t now_ps) const;
  // What a switch knows after it has been switched off and on: nothing.
  void forget();
  const Statistics& statistics() const { return statistics_; }
  int level() const override { return in_use_; }
  InNetworkStatistics counted() const override {
    const Statistics& s = statistics_;
    return {.seen = s.gradients,
            .aggregated = s.aggregated,
            .collisions = s.collisions,
            .malformed = s.malformed,
            .most_in_use = s.most_in_use};
  }

 private:
  struct Aggregator {
    std::int32_t flow = -1;  // free
    std::uint32_t sequence = 0;
    AtpBits bits = {};
    bool marked = false, overflow = false;
    std::int64_t touched_ps = 0;  // when a packet last came to it
    Payload sum = {};
  };

  bool sound(const AtpHeader& h) const;
  void on_gradient(Wire& wire, Datagram datagram, AtpHeader h);
  void on_resend(Wire& wire, Datagram datagram, AtpHeader h, Aggregator& aggregator);
  void pass(Wire& wire, Datagram datagram, AtpHeader h);
  void send_sum(Wire& wire, Datagram datagram, AtpHeader h, const Aggregator& aggregator, bool whole);
  void add(Aggregator& to, const Datagram& datagram, const AtpHeader& h);
  void free(Aggregator& aggregator);
  Aggregator& aggregator_of(std::int32_t flow, std::uint32_t sequence);
  bool stale(const Aggregator& a) const { return a.flow >= 0 && a.sequence < finished_[static_cast<std::size_t>(a.flow)]; }
  bool given_up(const Aggregator& a, std::int64_t now_ps) const { return now_ps - a.touched_ps > timeout_ps_; }
  bool holds(const Aggregator& a, const AtpHeader& h) const { return a.flow == h.flow && a.sequence == h.sequence; }

  std::vector<AtpWalk> walks_;  // by flow
  std::vector<Address> attached_;
  std::vector<Aggregator> aggregators_;
  std::vector<Address> origins_;         // by flow: the source address that full sums carry
  std::vector<std::uint32_t> finished_;  // by flow: nobody needs an aggregate of a sequence below this
  const std::int64_t timeout_ps_;        // of an aggregator
  std::int64_t now_ps_ = 0;              // when a datagram last came
  int in_use_ = 0;
  Statistics statistics_;
};

}  // namespace weft

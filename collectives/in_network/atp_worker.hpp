// ATP's worker: sends its gradients under a window, takes parameters as acknowledgements, and retransmits what was lost.
//
// The paper (section 3.5) takes three acknowledgements out of order for a loss of the oldest packet. Here this holds for each
// packet and each time it is sent: it is lost when what was sent three or more transmissions later has come back, so that many
// losses of one window are found in one round trip (as in RFC 8985). What was retransmitted is sent once more after what round
// trips take (RFC 6298). A loss halves the window, but not below its initial size: where switches mark what queues, a loss alone
// says little of queues (the authors' code ignores it: github.com/in-ATP/ATP, common/CC_manager.h).
#pragma once

#include "collectives/in_network/atp.hpp"
#include "collectives/in_network/open_rounds.hpp"

#include <string>
#include <vector>

namespace weft {

class AtpWorker final : public InNetworkAgent {
 public:
  struct Part {
    Address self = nobody, server = nobody;
    std::int32_t flow = 0;
    AtpMember member = {};
    std::uint32_t packets = 0;  // to send, and to get back, in each round; of an open task, in the largest
    bool open = false;          // rounds are added one by one
  };
  struct Statistics {
    std::int64_t sent = 0, resent = 0, timeouts = 0, marks = 0, duplicates = 0;
    int largest_window = 0, smallest_window = 0;
    std::int64_t finished_ps = 0;  // when the last sum came
    bool overflow = false;         // a sum did not fit: the result is wrong, and known to be
  };

  // Without values datagrams carry sizes only. The settings and the values must outlive the agent.
  AtpWorker(const AtpSettings& settings, const Part& part, PacketValues* values = nullptr);

  // Each start is that of a round, of the same values; the next comes when the one before has finished. Of an open task a start
  // without a round ahead does nothing.
  void start(Wire& wire) override;
  void add_round(std::uint32_t packets) override { rounds_.add(packets); }
  std::int64_t rounds_ended() const override { return rounds_.ended(una_); }
  void on_datagram(Wire& wire, Datagram datagram) override;
  void on_timer(Wire& wire, std::uint64_t name) override;
  bool finished() const override { return una_ == end_; }
  std::int64_t progress() const override { return una_; }
  std::string waiting() const override;
  const Statistics& statistics() const { return statistics_; }
  int level() const override { return window(); }
  InNetworkStatistics counted() const override {
    const Statistics& s = statistics_;
    return {.sent = s.sent,
            .resent = s.resent,
            .timeouts = s.timeouts,
            .marks = s.marks,
            .overflows = s.overflow,
            .largest_window = s.largest_window};
  }

 private:
  struct Flight {  // of a packet whose parameters have not come
    std::int64_t sent_ps = 0;
    std::uint64_t number = 0;  // of its last transmission
    std::uint32_t before = 0, after = 0;
    bool again = false, arrived = false;
    bool floats = false;  // asked for as floating point
  };

  void fill_window(Wire& wire);
  void send(Wire& wire, std::uint32_t sequence, bool again);
  bool forwarded(std::uint32_t sequence) const;
  void acknowledge(Wire& wire, std::uint32_t sequence, bool marked);
  void learn(const Flight& flight, std::int64_t now_ps);
  void send_lost(Wire& wire);
  void send_again(Wire& wire, std::uint32_t sequence);
  std::uint64_t patience() const;
  void grow();
  void shrink(std::int64_t floor_bytes);
  void link(std::uint32_t sequence);
  void unlink(std::uint32_t sequence);
  void arm(Wire& wire);
  std::int64_t timeout_ps() const;
  int window() const { return static_cast<int>(window_ / settings_.packet.count); }
  std::int64_t bytes(int packets) const { return std::int64_t{packets} * settings_.packet.count; }
  Flight& flight(std::uint32_t sequence) { return flights_[sequence & mask_]; }

  const AtpSettings& settings_;
  Part part_;
  PacketValues* values_;
  std::uint32_t una_ = 0, next_ = 0;  // the oldest without its parameters, the next to send
  std::uint32_t end_;                 // of the round
  OpenRounds rounds_;
  std::uint32_t recover_ = 0;        // the window has been halved for what was sent below this
  std::int64_t window_, threshold_;  // bytes
  int acknowledged_ = 0;             // since the window last grew
  int backoff_ = 0;
  std::int64_t progress_ps_ = 0;                       // when una_ last moved
  std::int64_t round_trip_ps_ = 0, deviation_ps_ = 0;  // smoothed; 0: none is known
  std::int64_t timer_ps_ = INT64_MAX;                  // when the latest timer fires
  std::uint64_t timer_ = 0;
  std::uint32_t mask_;
  std::vector<Flight> flights_;                     // by sequence, a ring; behind it the ends of a list by transmission
  std::uint64_t transmissions_ = 0, returned_ = 0;  // made; the latest known to have come back
  std::uint64_t resent_ = 0, suspect_ = 0;          // the latest of a packet retransmitted; before the latest timeout
  Statistics statistics_;
};

}  // namespace weft

// SwitchML (Sapio et al., NSDI 2021), the baseline of ATP: one switch aggregates everything in a pool of slots that is split
// between the jobs beforehand. No parameter server, no window: a worker has as many packets on their way as its job has slots.
#pragma once

#include "collectives/in_network/atp.hpp"
#include "collectives/in_network/open_rounds.hpp"

#include <optional>
#include <string>
#include <vector>

namespace weft {

struct SwitchmlSettings {
  // Of the switch, for all jobs, each with room for two packets: the sum that is being added up, and the one before, kept for workers that
  // have not received it (Sapio et al. 2021, algorithm 3). 0: as many as the switch has room for, at most 512.
  int slots = 0;
  Bytes payload{128};  // of a packet, 4 bytes a value (Lao et al. 2021, section 5)
  Bytes packet{180};   // on the wire (same place)
  Bytes framing{0};    // of each packet on a link besides: preamble, gap and FCS of Ethernet are 24 B
  HostCost host = {};  // of workers
  // None: 1 ms (same place), and where a whole pool is known to take longer than half of that, twice as long as it. Doubled from the
  // fourth of a packet in a row on, up to 64 times as long.
  std::optional<SimTime> timeout = {};

  // A pool's memory is that of two sets of its slots, as in the authors' program (github.com/microsoft/SwitchML).
  static constexpr int default_slots = 512, packets_per_slot = 2;
  int places() const { return slots > 0 ? slots : default_slots; }
  int values_per_packet() const { return static_cast<int>(payload.count / 4); }
  SimTime resend_after() const { return timeout.value_or(1_ms); }
  friend bool operator==(const SwitchmlSettings&, const SwitchmlSettings&) = default;
};

std::vector<Problem> problems(const SwitchmlSettings&);

// A job's share of the pool.
struct SwitchmlPool {
  int workers = 1;
  int slots = 0;
  Address group = nobody;  // of the workers
};

struct SwitchmlHeader {
  std::uint32_t packet = 0;
  std::int32_t job = 0;
  std::uint32_t slot = 0;
  std::uint16_t worker = 0;
  std::uint8_t version = 0;
  std::uint8_t overflow = 0;
};
static_assert(sizeof(SwitchmlHeader) == 16);

class SwitchmlWorker final : public InNetworkAgent {
 public:
  struct Part {
    Address self = nobody, at = nobody;  // the switch
    std::int32_t job = 0;
    int worker = 0;
    int slots = 0;              // of the job
    std::uint32_t packets = 0;  // in each round; of an open task, in the largest
    bool open = false;          // rounds are added one by one
  };
  struct Statistics {
    std::int64_t sent = 0, resent = 0, duplicates = 0, malformed = 0;
    std::int64_t finished_ps = 0;  // when the last sum came
    bool overflow = false;
  };

  SwitchmlWorker(const SwitchmlSettings& settings, const Part& part, PacketValues* values = nullptr);

  // Each start is that of a round, of the same values; the next comes when the one before has finished. Of an open task a start
  // without a round ahead does nothing.
  void start(Wire& wire) override;
  void add_round(std::uint32_t packets) override { rounds_.add(packets); }
  std::int64_t rounds_ended() const override { return rounds_.ended(whole_); }
  void on_datagram(Wire& wire, Datagram datagram) override;
  void on_timer(Wire& wire, std::uint64_t slot) override;
  bool finished() const override { return done_ == end_; }
  std::int64_t progress() const override { return done_; }
  std::string waiting() const override;
  const Statistics& statistics() const { return statistics_; }
  InNetworkStatistics counted() const override {
    const Statistics& s = statistics_;
    return {.sent = s.sent, .resent = s.resent, .timeouts = s.resent, .overflows = s.overflow, .malformed = s.malformed};
  }

 private:
  struct Slot {
    std::uint32_t packet = 0;  // on its way, or the next
    bool sent = false, timed = false;
    std::int64_t sent_ps = 0;
    int timeouts = 0;  // of the packet
  };
  void go_on(Wire& wire, std::uint32_t slot);
  void send(Wire& wire, std::uint32_t slot);
  void arm(Wire& wire, std::uint32_t slot, std::int64_t after_ps);
  std::int64_t timeout_ps(const Slot& slot) const;

  const SwitchmlSettings& settings_;
  Part part_;
  PacketValues* values_;
  std::vector<Slot> slots_;
  std::uint32_t done_ = 0, end_;  // packets that have come back; of the round
  OpenRounds rounds_;
  std::uint32_t whole_ = 0;  // all packets below this have come back
  Statistics statistics_;
};

class SwitchmlSwitch final : public InNetworkAgent {
 public:
  struct Statistics {
    std::int64_t aggregated = 0, duplicates = 0, answered = 0, completed = 0, malformed = 0;
    int most_in_use = 0;  // slots with a sum that is not whole
  };

  SwitchmlSwitch(const SwitchmlSettings& settings, Address self, std::vector<SwitchmlPool> jobs);

  void on_datagram(Wire& wire, Datagram datagram) override;
  void on_timer(Wire&, std::uint64_t) override {}
  const Statistics& statistics() const { return statistics_; }
  int level() const override { return in_use_; }
  InNetworkStatistics counted() const override {
    const Statistics& s = statistics_;
    return {.packets = s.completed,
            .whole = s.completed,
            .seen = s.aggregated,
            .aggregated = s.aggregated,
            .malformed = s.malformed,
            .most_in_use = s.most_in_use};
  }

 private:
  struct Version {
    bool started = false, overflow = false;
    std::uint32_t packet = 0;
    int count = 0;  // of workers that have been added
    Payload sum = {};
  };

  bool sound(const SwitchmlHeader& h) const;
  void reply(Wire& wire, const Version& v, SwitchmlHeader h, Address to);

  const SwitchmlSettings& settings_;
  Address self_;
  std::vector<SwitchmlPool> jobs_;
  std::vector<std::size_t> first_slot_, first_bit_;  // by job
  std::vector<Version> versions_;                    // slot * 2 + version
  std::vector<char> seen_;                           // of each version, by worker of its job
  int in_use_ = 0;
  Statistics statistics_;
};

}  // namespace weft

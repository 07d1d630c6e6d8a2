// ATP, best-effort in-network aggregation for several jobs (Lao et al., NSDI 2021): what its worker, parameter server and
// switch agree on. A flow is one job's traffic with one of its parameter servers; its packets are numbered from 0.
#pragma once

#include "collectives/in_network/agent.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/units.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace weft {

struct AtpSettings {
  Bytes payload{248};                  // of a packet, 4 bytes a value (paper, section 5)
  Bytes packet{306};                   // on the wire, all headers included (same place)
  int servers = 0;                     // 0: chosen by whoever deploys
  std::vector<int> server_nodes = {};  // the endpoint of each instead
  int aggregators = 0;                 // of each switch, shared by all jobs; 0: those that the switches have
  bool split = false;                  // the aggregators evenly between the jobs instead, beforehand
  int initial_window = 50;             // packets (section 3.5.2)
  int largest_window = 0;              // packets; 0: twice what fits into a round trip where that is known, else 1024
  Bytes mtu{1500};                     // by which windows grow (same place); a packet if that is more
  bool congestion_control = true;      // without: the largest window from the beginning, whatever is marked or lost
  double forwarded = 0;                // the share of packets that no switch aggregates (SetForceForward in the authors' code)
  Bytes framing{0};                    // of each packet on a link besides: preamble, gap and FCS of Ethernet are 24 B
  HostCost host = {};                  // of workers and servers
  bool floats = false;                 // a packet whose sum does not fit goes again as floating point, to the server (authors' code)
  SimTime timeout = 200_us;            // without progress; doubled each time in a row. The authors' code has 200 us
  // For which nothing has come to an aggregator before another packet may take it: several of a worker's timeouts, so that it is its
  // workers that have given up; the paper's aggregators have a timestamp for it.
  SimTime aggregator_timeout = 1_ms;

  int values_per_packet() const { return static_cast<int>(payload.count / 4); }
  int places() const { return aggregators > 0 ? aggregators : 4096; }
  int window_limit() const { return largest_window > 0 ? largest_window : std::max(1024, initial_window); }
  friend bool operator==(const AtpSettings&, const AtpSettings&) = default;
};

// Of a switch; 40 MiB of the simulating machine's memory.
inline constexpr int max_aggregators = 1 << 20;

constexpr int max_default_servers = 8;

// Every value that cannot be, with its place below the algorithm.
std::vector<Problem> problems(const AtpSettings&);
// What holds for the packets of any protocol.
void check_packet(Bytes payload, Bytes packet, SimTime timeout, std::vector<Problem>& out);
void check_host(Bytes framing, const HostCost& host, std::vector<Problem>& out);

// Who has added its values: workers of a rack at level 1; racks and workers without a programmable switch of their own at
// level 2.
struct AtpBits {
  static constexpr int capacity = 128;
  std::array<std::uint64_t, 2> words{};

  static AtpBits one(int bit) {
    AtpBits out;
    out.words[static_cast<std::size_t>(bit / 64)] = std::uint64_t{1} << (bit % 64);
    return out;
  }
  bool overlaps(const AtpBits& other) const { return (words[0] & other.words[0]) != 0 || (words[1] & other.words[1]) != 0; }
  void add(const AtpBits& other) { words[0] |= other.words[0], words[1] |= other.words[1]; }
  bool within(int first) const {  // none but the first so many is set
    for (int word = 0; word < 2; ++word) {
      const int bits = first - 64 * word;
      const std::uint64_t allowed = bits >= 64 ? UINT64_MAX : bits <= 0 ? 0 : (std::uint64_t{1} << bits) - 1;
      if ((words[static_cast<std::size_t>(word)] & ~allowed) != 0) return false;
    }
    return true;
  }
  int count() const { return std::popcount(words[0]) + std::popcount(words[1]); }
};

enum class AtpKind : std::uint8_t { gradient, parameter };

// Whether values and sums fitted into 32 bits. What did not is saturated; then all workers send the packet again as floating point,
// where they have that, past all switches.
enum class AtpFit : std::uint8_t { fits, overflow, floats };

struct AtpHeader {
  AtpBits bits = {};  // whose values these are
  std::int32_t flow = 0;
  std::uint32_t sequence = 0;
  std::uint32_t finished = 0;  // the sender knows that all sequences below this are
  std::uint16_t fan_in_1 = 0;  // workers below the switch of level 1
  std::uint16_t fan_in_2 = 0;  // racks and workers that meet at level 2; 0: nobody does
  std::uint16_t rack = 0;      // bit at level 2 of the sender's rack
  AtpKind kind = AtpKind::gradient;
  std::uint8_t level = 1;   // of `bits`
  std::uint8_t edge = 0;    // the next aggregation is that of level edge + 1; 2: there is none
  std::uint8_t resend = 0;  // retransmitted, or passed by a switch that had no aggregator for it: pass it on
  std::uint8_t marked = 0;  // congestion met by anything that went in here (ECN)
  AtpFit overflow = AtpFit::fits;
};
static_assert(sizeof(AtpHeader) == 40);

// The aggregators of a flow's packets. A job's packets take its places in turn, flow by flow; a key shuffles the places.
struct AtpWalk {
  std::uint64_t base = 0, count = 1;
  std::uint64_t first = 0, step = 1;  // of the flow's packets among the job's
  std::uint64_t key = 0;

  std::uint64_t at(std::uint32_t sequence) const;
};

// Which of how many: flows of a job take its packets in turn.
struct AtpTurn {
  int job = 0, jobs = 1;
  int flow = 0, flows = 1;
};

// A hash of job and packet: a permutation of the aggregators, so that other jobs' packets are met at random, and a job goes through all of
// them before it comes back to one: it never collides with itself while it has fewer packets on their way than there are aggregators.
// (The authors' hosts see to that with a table of distinct places: github.com/in-ATP/ATP, common/HashTable.cc. A stride for each job does
// not do: jobs that go at one pace then meet in the same packets turn after turn, or never, as the numbers have it.) Throws InputError
// where aggregators are split between more jobs than there are.
AtpWalk atp_walk(const AtpSettings&, const AtpTurn&);

// One member of a flow: what its worker writes into every gradient.
struct AtpMember {
  int level = 1, bit = 0, rack = 0;
  int edge = 0;
  int fan_in_1 = 0, fan_in_2 = 0;
};

// How a flow is added up: which of its workers meet at which switch. Built by plan_atp_flow().
struct AtpTree {
  std::vector<AtpMember> members;            // by worker
  std::vector<std::vector<int>> workers_of;  // by bit of level 2: the workers behind it
  std::vector<std::vector<int>> workers_at;  // by rack and bit of level 1
  int racks = 0;

  // Where all switches have aggregators free, the server receives one packet for those of all workers.
  bool one_sum() const {
    return std::ranges::any_of(members, [&](const AtpMember& m) { return m.fan_in_2 > 0 || (racks == 1 && m.fan_in_1 > 0); });
  }
};

// `worker_switch` and `server_switch` are edge switches by any numbers; `programmable` says which of them aggregate. Throws
// InputError where more meet at a switch than a packet has bits for.
AtpTree plan_atp_tree(std::span<const int> worker_switch, int server_switch, std::span<const int> programmable);

}  // namespace weft

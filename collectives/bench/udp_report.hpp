// What the nodes of a udp run counted while one size was measured.
#pragma once

#include "collectives/bench/settings/settings.hpp"
#include "collectives/bench/worlds/world.hpp"
#include "collectives/in_network/node_agents.hpp"
#include "collectives/transports/udp/udp_node.hpp"

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace weft::bench {

// Of one node, or the sum of several.
class UdpReport {
 public:
  // What is counted from here on is this node's.
  void begin(const UdpNode& udp) { before_ = counted(udp); }
  void end(const UdpNode& udp);
  void add(const InNetworkStatistics& agents) { agents_.add(agents); }
  void add(const UdpReport& other);

  // A line or two for people. The times are those of the runs that were counted.
  std::string note(const std::vector<double>& times_us) const;

 private:
  struct Counters {
    std::int64_t sent = 0, lost = 0, duplicated = 0, reordered = 0, malformed = 0, dropped = 0;
    void add(const Counters& o, int sign);
  };
  static Counters counted(const UdpNode& udp);

  InNetworkStatistics agents_ = {};
  Counters before_ = {}, network_ = {};
};
static_assert(std::is_trivially_copyable_v<UdpReport>);

// For the head of the table.
class UdpMedium final : public Medium {
 public:
  explicit UdpMedium(const Settings& settings) : settings_(settings) {}
  int ranks() const override { return settings_.ranks; }
  std::string about() const override;

 private:
  const Settings& settings_;
};

}  // namespace weft::bench

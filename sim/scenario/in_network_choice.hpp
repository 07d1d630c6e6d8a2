// The settings of algorithms that switches take part in, as a scenario gives them.
#pragma once

#include "collectives/in_network/atp.hpp"
#include "collectives/in_network/switchml.hpp"
#include "kernels/base/units.hpp"
#include "models/fabric/programmable.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct AtpChoice {
  int servers = 0;                     // 0: one where the fabric has a place without a rank, else most_default_servers among the ranks
  std::vector<int> server_nodes = {};  // the endpoint of each; none: chosen
  int aggregators = 0;                 // 0: as the fabric's switches have
  bool split = false;
  Bytes payload{248};  // of a packet: 62 values
  Bytes packet{306};
  int initial_window = 50;
  int largest_window = 0;  // 0: twice what fits into a round trip
  Bytes mtu{1500};
  SimTime timeout = 200_us;
  friend bool operator==(const AtpChoice&, const AtpChoice&) = default;
};

struct SwitchmlChoice {
  int slots = 512;
  Bytes payload{128};  // 32 values
  Bytes packet{180};
  std::optional<SimTime> timeout = {};  // none: 1 ms, and where a whole pool takes longer than half of that twice as long as it
  friend bool operator==(const SwitchmlChoice&, const SwitchmlChoice&) = default;
};

constexpr int most_default_servers = 8;

struct InNetworkAlgorithm {
  std::string_view name, description, source;
};
const std::vector<InNetworkAlgorithm>& in_network_algorithms();
bool is_in_network(std::string_view algorithm);

AtpSettings settings_of(const AtpChoice&, const ProgrammableSwitches&);
SwitchmlSettings settings_of(const SwitchmlChoice&);  // with the timeout of 1 ms where none is chosen

}  // namespace weft

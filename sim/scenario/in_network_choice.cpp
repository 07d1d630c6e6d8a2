#include "sim/scenario/in_network_choice.hpp"

#include <algorithm>

namespace weft {

const std::vector<InNetworkAlgorithm>& in_network_algorithms() {
  static const std::vector<InNetworkAlgorithm> all = {
      {"atp", "Edge switches add packets of gradients up where they have room; parameter servers finish the sums.", "Lao et al. 2021"},
      {"switchml", "One switch adds everything up in a pool of slots; no servers.", "Sapio et al. 2021"}};
  return all;
}

bool is_in_network(std::string_view algorithm) {
  return std::ranges::any_of(in_network_algorithms(), [&](const InNetworkAlgorithm& a) { return a.name == algorithm; });
}

AtpSettings settings_of(const AtpChoice& c, const ProgrammableSwitches& switches) {
  return {.values_per_packet = static_cast<int>(c.payload.count / 4),
          .packet_bytes = static_cast<int>(std::min<std::int64_t>(c.packet.count, INT32_MAX)),
          .aggregators = c.aggregators > 0 ? c.aggregators : switches.aggregators,
          .split = c.split,
          .initial_window = c.initial_window,
          .largest_window = c.largest_window > 0 ? c.largest_window : std::max(AtpSettings{}.largest_window, c.initial_window),
          .mtu_bytes = static_cast<int>(std::min<std::int64_t>(c.mtu.count, INT32_MAX)),
          .timeout_ps = c.timeout.ps};
}

SwitchmlSettings settings_of(const SwitchmlChoice& c) {
  return {.values_per_packet = static_cast<int>(c.payload.count / 4),
          .packet_bytes = static_cast<int>(std::min<std::int64_t>(c.packet.count, INT32_MAX)),
          .slots = c.slots,
          .timeout_ps = c.timeout.value_or(SimTime{SwitchmlSettings{}.timeout_ps}).ps};
}

}  // namespace weft

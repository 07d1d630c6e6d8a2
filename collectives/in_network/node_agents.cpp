#include "collectives/in_network/node_agents.hpp"

#include <algorithm>

namespace weft {

UdpDeployment::UdpDeployment(const InNetworkSettings& settings, const UdpLayout& layout, std::int64_t of) : elements(of) {
  InNetworkTask task{.settings = settings, .values = elements};
  for (int w = 0; w < layout.workers; ++w) task.workers_at.push_back(layout.at(w));
  for (int s = 0; s < layout.servers; ++s) task.servers_at.push_back(layout.at(layout.server_node(s)));
  const std::vector<int> adding = layout.adding();
  if (!adding.empty()) task.meets_at = adding.front();
  agents = deploy({&task, 1}, adding);
  map = udp_map(layout, agents);
}

NodeAgents::NodeAgents(const UdpDeployment& d, int node, const WorkerMemory& memory)
    : name_(d.map.layout.name(node)), floats_(d.agents.floats) {
  for (const InNetworkDeployment::Seat& seat : d.agents.seats) {
    if (d.map.node_of[static_cast<std::size_t>(seat.self)] != node) continue;
    GradientValues* values = nullptr;
    if (seat.role == InNetworkDeployment::Role::worker) {
      const auto offset = seat.first_value * static_cast<std::int64_t>(size_of(memory.dtype));
      const GradientValues::Share share{
          .worker = node, .first_element = seat.first_value, .elements = seat.values, .each = d.agents.values_per_packet};
      values = &values_.emplace_back(memory.dtype, static_cast<const std::byte*>(memory.gradients) + offset,
                                     static_cast<std::byte*>(memory.sums) + offset, d.point, share);
    }
    seats_.push_back({seat.self, agents_.emplace_back(seat.agent(values)).get()});
  }
}

bool NodeAgents::finished() const {
  return std::ranges::all_of(seats_, [](const Seat& s) { return s.agent->finished(); });
}

std::int64_t NodeAgents::progress() const {
  std::int64_t out = 0;
  for (const auto& agent : agents_) out += agent->progress();
  return out;
}

std::string NodeAgents::waiting() const {
  std::string out;
  for (const Seat& s : seats_)
    if (!s.agent->finished()) out += fmt::format("{}{} waits for {}", out.empty() ? "" : "\n", name_, s.agent->waiting());
  return out;
}

std::string NodeAgents::overflow() const {
  if (floats_) return {};
  for (const GradientValues& v : values_)
    if (!v.unfit_value().empty()) return v.unfit_value();
  if (statistics().overflows == 0) return {};
  for (const GradientValues& v : values_)
    if (!v.limit_sum().empty()) return v.limit_sum();
  return {};
}

InNetworkStatistics NodeAgents::statistics() const {
  InNetworkStatistics out;
  for (const auto& agent : agents_) out.add(agent->counted());
  return out;
}

}  // namespace weft

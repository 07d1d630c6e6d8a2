#include "collectives/in_network/node_agents.hpp"

#include <algorithm>
#include <numeric>

namespace weft {

InNetworkDeployment::InNetworkDeployment(const InNetworkProtocol& with, const UdpLayout& layout, std::int64_t of)
    : protocol(with), elements(of) {
  if (protocol.kind == InNetworkProtocol::Kind::atp) {
    const AtpJob job = atp_job(layout, elements);
    atp = deploy_atp(protocol.atp, std::span(&job, 1), layout.adding());
    map = udp_map(layout, atp);
  } else {
    const SwitchmlJob job{.workers = layout.workers, .at = layout.adding().front(), .values = elements};
    switchml = deploy_switchml(protocol.switchml, std::span(&job, 1));
    map = udp_map(layout, switchml);
  }
}

void InNetworkStatistics::add(const InNetworkStatistics& o) {
  sent += o.sent, resent += o.resent, timeouts += o.timeouts, marks += o.marks, overflows += o.overflows;
  packets += o.packets, whole += o.whole, merged += o.merged;
  seen += o.seen, aggregated += o.aggregated, collisions += o.collisions;
  malformed += o.malformed;
  largest_window = std::max(largest_window, o.largest_window);
  most_in_use = std::max(most_in_use, o.most_in_use);
}

NodeAgents::NodeAgents(const InNetworkDeployment& d, int node, const WorkerMemory& memory)
    : name_(d.map.layout.name(node)), point_(d.protocol.point) {
  const UdpLayout& layout = d.map.layout;
  const int each = d.protocol.values_per_packet();
  for (const AtpFlow& flow : d.atp.flows)
    if (layout.is_worker(node)) {
      add_worker(memory, {.worker = node, .first_element = flow.share.first_value, .elements = flow.share.values, .each = each});
      const AtpWorker::Place place = flow.worker_place(node);
      seats_.push_back({place.self, &atp_workers_.emplace_back(d.protocol.atp, place, &values_.back())});
    } else if (layout.server_node(flow.number) == node) {
      seats_.push_back({flow.server, &servers_.emplace_back(d.protocol.atp, flow.tree, flow.server_place())});
      server_packets_ += flow.packets;
    }
  for (const AtpSwitchPlace& place : d.atp.switches)
    if (layout.switch_node(place.at) == node)
      seats_.push_back({place.self, &switches_.emplace_back(d.protocol.atp, d.atp.walks(), place.attached)});
  for (const SwitchmlJobPlace& job : d.switchml.jobs)
    if (layout.is_worker(node)) {
      add_worker(memory, {.worker = node, .elements = d.elements, .each = each});
      const SwitchmlWorker::Place place = job.worker_place(node);
      seats_.push_back({place.self, &switchml_workers_.emplace_back(d.protocol.switchml, place, &values_.back())});
    }
  for (const SwitchmlSwitchPlace& place : d.switchml.switches)
    if (layout.switch_node(place.at) == node)
      seats_.push_back({place.self, &switchml_switches_.emplace_back(d.protocol.switchml, place.self, place.pools)});
}

void NodeAgents::add_worker(const WorkerMemory& memory, const GradientValues::Place& place) {
  const auto offset = place.first_element * static_cast<std::int64_t>(size_of(memory.dtype));
  values_.emplace_back(memory.dtype, static_cast<const std::byte*>(memory.gradients) + offset,
                       static_cast<std::byte*>(memory.sums) + offset, point_, place);
}

bool NodeAgents::finished() const {
  return std::ranges::all_of(seats_, [](const Seat& s) { return s.agent->finished(); });
}

std::int64_t NodeAgents::packets_written() const {
  return std::accumulate(values_.begin(), values_.end(), std::int64_t{0},
                         [](std::int64_t sum, const GradientValues& v) { return sum + v.packets_written(); });
}

std::string NodeAgents::waiting() const {
  std::string out;
  for (const Seat& s : seats_)
    if (!s.agent->finished()) out += fmt::format("{}{} waits for {}", out.empty() ? "" : "\n", name_, s.agent->waiting());
  return out;
}

std::string NodeAgents::overflow() const {
  for (const GradientValues& v : values_)
    if (!v.unfit_value().empty()) return v.unfit_value();
  if (statistics().overflows == 0) return {};
  for (const GradientValues& v : values_)
    if (!v.limit_sum().empty()) return v.limit_sum();
  return {};
}

InNetworkStatistics NodeAgents::statistics() const {
  InNetworkStatistics out{.packets = server_packets_};
  for (const AtpWorker& w : atp_workers_) {
    const AtpWorker::Statistics& s = w.statistics();
    out.add({.sent = s.sent, .resent = s.resent, .timeouts = s.timeouts, .marks = s.marks, .overflows = s.overflow});
    out.largest_window = std::max<std::int64_t>(out.largest_window, s.largest_window);
  }
  for (const SwitchmlWorker& w : switchml_workers_) {
    const SwitchmlWorker::Statistics& s = w.statistics();
    out.add({.sent = s.sent, .resent = s.resent, .timeouts = s.resent, .overflows = s.overflow, .malformed = s.malformed});
  }
  for (const AtpServer& server : servers_) {
    const AtpServer::Statistics& s = server.statistics();
    out.add({.whole = s.whole, .merged = s.merged, .malformed = s.malformed});
  }
  for (const AtpSwitch& program : switches_) {
    const AtpSwitch::Statistics& s = program.statistics();
    out.add({.seen = s.gradients,
             .aggregated = s.aggregated,
             .collisions = s.collisions,
             .malformed = s.malformed,
             .most_in_use = s.most_in_use});
  }
  for (const SwitchmlSwitch& program : switchml_switches_) {
    const SwitchmlSwitch::Statistics& s = program.statistics();
    out.add({.packets = s.completed, .whole = s.completed, .seen = s.aggregated, .aggregated = s.aggregated, .malformed = s.malformed});
  }
  return out;
}

}  // namespace weft

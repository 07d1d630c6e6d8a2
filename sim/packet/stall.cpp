// Why nothing moves.
#include "sim/packet/packet_network.hpp"

namespace weft {

std::string PacketNetwork::name_of_queue(std::uint32_t queue) const {
  return fmt::format("{} (priority {})", fabric_.link_name(static_cast<LinkId>(queue / classes_)), queue % classes_);
}

// By queue: a paused queue whose packets keep this one paused, because they came over its link; none where there is none.
std::vector<std::uint32_t> PacketNetwork::held_by() const {
  std::vector<std::uint32_t> held(queues_.size(), none);
  for (std::uint32_t i = 0; i < queues_.size(); ++i) {
    if ((ports_[i / classes_].paused >> (i % classes_) & 1) == 0) continue;
    const Ring<Packet>& packets = queues_[i].packets;
    for (std::uint32_t k = 0; k < packets.size(); ++k) {
      const std::uint32_t before = hops_[packets[k].hop].before;
      if (before == none) continue;
      std::uint32_t& holder = held[queue_index(hops_[before].link, hops_[before].priority)];
      if (holder == none) holder = i;
    }
  }
  return held;
}

std::string PacketNetwork::stall() const {
  const std::vector<std::uint32_t> held = held_by();
  std::vector<std::uint32_t> seen(queues_.size(), none);  // by queue: from where the walk that met it began
  for (std::uint32_t begin = 0; begin < queues_.size(); ++begin) {
    std::uint32_t at = begin;
    while (at != none && seen[at] == none) seen[at] = begin, at = held[at];
    if (at == none || seen[at] != begin) continue;
    std::string text = "deadlock: each of these queues is paused until the next one drains: " + name_of_queue(at);
    for (std::uint32_t i = held[at]; i != at; i = held[i]) text += " -> " + name_of_queue(i);
    return text + " -> back to " + fabric_.link_name(static_cast<LinkId>(at / classes_));
  }
  std::string text;
  for (std::uint32_t i = 0; i < queues_.size() && text.size() < 4000; ++i) {
    const Port& port = ports_[i / classes_];
    if (queues_[i].packets.empty() && queues_[i].first_flow == none) continue;
    const char* why = port.down ? "its link is down" : (port.paused >> (i % classes_) & 1) != 0 ? "it is paused" : nullptr;
    if (why) text += fmt::format("{}{} waits: {}", text.empty() ? "" : "; ", name_of_queue(i), why);
  }
  return text;
}

void PacketNetwork::give_up(const Flow& flow) const {
  const RouteState& route = routes_[flow.route];
  const auto link = [&](std::uint32_t hop) { return static_cast<LinkId>(hops_[route.first_hop + hop].link); };
  const std::string why = stall();
  throw RunError(fmt::format("{} gets no answer from {} after {} timeouts in a row, at {}{}{}", fabric_.device(fabric_.from(link(0))).name,
                             fabric_.device(fabric_.to(link(route.hops - 1))).name, settings_.retries + 1, to_string(SimTime{now_}),
                             why.empty() ? "" : "; ", why));
}

}  // namespace weft

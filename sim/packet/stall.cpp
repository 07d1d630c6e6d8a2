// Why nothing moves, and what will never move again.
#include "sim/packet/packet_network.hpp"

#include <algorithm>

namespace weft {

std::string PacketNetwork::name_of_queue(std::uint32_t queue) const {
  return fmt::format("{} (priority {})", fabric_.link_name(static_cast<LinkId>(queue / classes_)), queue % classes_);
}

// By queue: whether it is in a deadlock. Of all paused queues those are left out, again and again, that can be resumed when
// the others stay as they are; each of those that remain is paused because of what waits in them. None of them can be the first to
// move. A pause or resumption that is on its way, or a failure that will empty the queue, may still change that.
std::vector<char> PacketNetwork::standing() const {
  std::vector<char> stands(queues_.size());
  std::vector<std::int64_t> held(queues_.size());    // by queue: bytes that came over its link and wait in standing queues
  std::vector<std::int64_t> used(switches_.size());  // of their buffers, by standing queues
  const auto weigh = [&](std::uint32_t i, std::int64_t sign) {
    const Port& port = ports_[i / classes_];
    if (port.at_switch != none) used[port.at_switch] += sign * queues_[i].bytes;
    const Ring<Packet>& packets = queues_[i].packets;
    for (std::uint32_t k = 0; k < packets.size(); ++k) {
      const HopEntry& hop = hops_[packets[k].hop];
      if (hop.holds_back) held[ingress_of(hop)] += sign * packets[k].bytes;
    }
  };
  const auto can_resume = [&](std::uint32_t i) {
    const std::uint32_t at = switch_at_end(i / classes_);
    return held[i] <= resume_at(i, at, at == none ? 0 : used[at]);
  };
  for (std::uint32_t i = 0; i < queues_.size(); ++i) {
    const std::uint32_t link = i / classes_;
    if ((ports_[link].paused >> (i % classes_) & 1) == 0 || queues_[i].telling > 0 || faults_ahead_[link] > 0) continue;
    stands[i] = 1;
    weigh(i, 1);
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t i = 0; i < queues_.size(); ++i) {
      if (!stands[i] || !can_resume(i)) continue;
      stands[i] = 0;
      weigh(i, -1);
      moved = true;
    }
  }
  return stands;
}

// By standing queue: another whose packets keep it paused, because they came over its link; none for those that move.
std::vector<std::uint32_t> PacketNetwork::held_by(const std::vector<char>& stands) const {
  std::vector<std::uint32_t> held(queues_.size(), none);
  for (std::uint32_t i = 0; i < queues_.size(); ++i) {
    if (!stands[i]) continue;
    const Ring<Packet>& packets = queues_[i].packets;
    for (std::uint32_t k = 0; k < packets.size(); ++k) {
      const std::uint32_t before = hops_[packets[k].hop].before;
      if (before == none) continue;
      const std::uint32_t queue = queue_index(hops_[before].link, hops_[before].priority);
      if (stands[queue] && held[queue] == none) held[queue] = i;
    }
  }
  return held;
}

// The messages that cannot end while this queue stands: those with packets in it, and those that have never sent their last.
// Where something may be lost a packet may be a copy: then its message ends, or its sender gives up.
void PacketNetwork::add_blocked(std::uint32_t index, bool packets, std::vector<std::uint32_t>& flows) const {
  const Queue& queue = queues_[index];
  for (std::uint32_t k = 0; packets && k < queue.packets.size(); ++k) {
    const Packet& packet = queue.packets[k];
    if (packet.is() == PacketKind::datagram)
      datagrams_->stands(packet);
    else if (packet.is() == PacketKind::data && !order_matters_)
      flows.push_back(packet.flow);
  }
  for (std::uint32_t flow = queue.first_flow; flow != none; flow = flows_[flow].after)
    if (flows_[flow].highest < flows_[flow].packets) flows.push_back(flow);
}

std::vector<std::uint32_t> PacketNetwork::look_for_standing() {
  std::vector<std::uint32_t> flows;
  std::uint64_t walked = ports_.size();
  const std::vector<char> stands = standing();
  for (std::uint32_t i = 0; i < queues_.size(); ++i) {
    Port& port = ports_[i / classes_];
    const std::uint32_t priority = i % classes_;
    if ((port.paused >> priority & 1) != 0) walked += queues_[i].packets.size();
    if (stands[i]) {
      if (port.at_switch == none) port.standing = static_cast<std::uint8_t>(port.standing | 1u << priority);
      add_blocked(i, true, flows);
    } else if (port.down() && faults_ahead_[i / classes_] == 0) {
      add_blocked(i, false, flows);
    }
  }
  look_at_ = events_ + std::max<std::uint64_t>(look_interval, 32 * walked);
  std::ranges::sort(flows);
  flows.erase(std::unique(flows.begin(), flows.end()), flows.end());  // clang 14 knows no subranges
  return flows;
}

std::string PacketNetwork::stall() const {
  const std::vector<std::uint32_t> held = held_by(standing());
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
    const bool waits = !queues_[i].packets.empty() || queues_[i].first_flow != none;
    const bool paused = (port.paused >> (i % classes_) & 1) != 0;
    const char* why = port.down() && waits                    ? "waits: its link is down"
                      : port.down() && queues_[i].dropped > 0 ? "loses what it gets: its link is down"
                      : paused && waits                       ? "waits: it is paused"
                                                              : nullptr;
    if (why) text += fmt::format("{}{} {}", text.empty() ? "" : "; ", name_of_queue(i), why);
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

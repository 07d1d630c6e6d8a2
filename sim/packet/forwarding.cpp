// Links, queues and switches: how a packet gets from one end of its route to the other.
#include "sim/packet/packet_network.hpp"

#include <algorithm>

namespace weft {

void PacketNetwork::arrive(std::uint32_t index) {
  Port& port = ports_[index];
  const Packet packet = port.wire.pop().packet;
  if (!port.wire.empty()) schedule(port.wire.front().date, Event::arrive, index);
  const HopEntry& hop = hops_[packet.hop];
  if (packet.corrupt && (hop.nexts == 0 || settings_.switching == Switching::store_and_forward)) {
    ++corrupted_;
    return discard(packet);
  }
  if (packet.is() == PacketKind::datagram) return datagrams_->arrived(packet);
  if (hop.nexts == 0)
    return packet.is() == PacketKind::data ? received(packet, now_) : answered(packet.flow, packet.is(), packet.sequence, packet.marked);
  forward(packet, hop.next);
}

void PacketNetwork::forward(const Packet& packet, std::uint32_t hop_index) {
  const HopEntry& hop = hops_[hop_index];
  Port& port = ports_[hop.link];
  const bool idle = port.waiting == 0 && port.free_at <= now_ && !port.down() && (port.paused >> hop.priority & 1) == 0;
  if (idle)
    transmit(port, hop.link, packet, hop_index);
  else
    wait(packet, hop_index);
}

// Joins the queue of its next link, or is dropped.
void PacketNetwork::wait(const Packet& packet, std::uint32_t hop_index) {
  const HopEntry& hop = hops_[hop_index];
  Port& port = ports_[hop.link];
  Queue& queue = queues_[queue_index(hop.link, hop.priority)];
  // What an agent gives to a queue that is stuck would pile up there.
  const bool in_vain = port.standing != 0 && (port.standing >> hop.priority & 1) != 0 && packet.is() == PacketKind::datagram;
  if (port.down() || in_vain || !admits(port, hop, packet.bytes)) {
    ++queue.dropped;
    return discard(packet);
  }
  bool marked = false;
  if (buffered(port, hop)) {
    if (settings_.ecn.on && marks(queue, switches_[port.at_switch])) {
      marked = true;
      ++queue.marked;
    }
    Switch& at = switches_[port.at_switch];
    at.used += packet.bytes;
    at.high_water = std::max(at.high_water, at.used);
  }
  if (hop.holds_back) {
    const std::uint32_t index = ingress_of(hop);
    Queue& from = queues_[index];
    from.ingress += packet.bytes;
    if (!from.stopped && from.ingress > pause_above(index, port.at_switch, used_at(port))) tell(index, Event::pause);
  }
  queue.bytes += packet.bytes;
  queue.high_water = std::max(queue.high_water, queue.bytes);
  if (activity_) note_queue(hop, queue);
  Packet& place = queue.packets.add();
  place = packet;
  place.hop = hop_index;
  if (marked) place.marked = 1;
  ++port.waiting;
  if (hop.priority == control_) ++port.control_waiting;
  wake(hop.link);
}

// Of what came over a link and waits at its far end. In a switch one link may have as much as dynamic_threshold times what is free, so
// that the last to fill it are paused as early as the others (Choudhury & Hahne 1998).
std::int64_t PacketNetwork::pause_above(std::uint32_t queue, std::uint32_t at_switch, std::int64_t used) const {
  const std::int64_t most = kind_of(queue / classes_).pause_above;
  return at_switch == none ? most : std::min(most, share_of_free(switches_[at_switch], used));
}

// xon, or as far below an earlier pause in proportion.
std::int64_t PacketNetwork::resume_at(std::uint32_t queue, std::uint32_t at_switch, std::int64_t used) const {
  const LinkKind& kind = kind_of(queue / classes_);
  const std::int64_t limit = pause_above(queue, at_switch, used);
  if (limit == kind.pause_above) return kind.resume_at;
  return static_cast<std::int64_t>(static_cast<double>(limit) * static_cast<double>(kind.resume_at) /
                                   static_cast<double>(kind.pause_above));
}

std::int64_t PacketNetwork::share_of_free(const Switch& at, std::int64_t used) const {
  const double share = settings_.dynamic_threshold * static_cast<double>(std::max<std::int64_t>(0, at.shared - used));
  return static_cast<std::int64_t>(std::min(share, 9e18));
}

bool PacketNetwork::admits(const Port& port, const HopEntry& hop, std::uint32_t bytes) const {
  if (settings_.pfc.on || !buffered(port, hop)) return true;
  const std::int64_t free = settings_.switch_buffer.count - switches_[port.at_switch].used;
  const std::int64_t length = queues_[queue_index(hop.link, hop.priority)].bytes;
  return bytes <= free && static_cast<double>(length) < settings_.dynamic_threshold * static_cast<double>(free);
}

bool PacketNetwork::marks(Queue& queue, const Switch& at) {
  if (queue.bytes >= at.mark_from) return true;
  const EcnSettings& ecn = settings_.ecn;
  if (queue.bytes < ecn.min.count) return false;
  if (queue.bytes >= ecn.max.count) return true;
  const double share = static_cast<double>(queue.bytes - ecn.min.count) / static_cast<double>((ecn.max - ecn.min).count);
  return queue.chance.happens(Chance::of(share * ecn.probability));
}

// Something waits at the port: serves it now, or when it is free.
void PacketNetwork::wake(std::uint32_t index) {
  Port& port = ports_[index];
  if (port.serve_pending || port.down()) return;
  if (port.free_at <= now_) return serve(index);
  port.serve_pending = true;
  schedule(port.free_at, Event::serve, index);
}

// Sends the next packet of a free port: control first, then the priorities in turn.
void PacketNetwork::serve(std::uint32_t index) {
  Port& port = ports_[index];
  if (port.down() || port.free_at > now_) return;
  Packet packet;
  bool found = port.control_waiting > 0 && take_next(port, index, control_, packet);
  for (int i = 0; i < control_ && !found; ++i) {
    const int priority = port.turn + 1 < control_ ? port.turn + 1 : 0;
    port.turn = static_cast<std::uint8_t>(priority);
    if ((port.paused >> priority & 1) == 0) found = take_next(port, index, priority, packet);
  }
  if (!found) return;
  transmit(port, index, packet, packet.hop);
  if (port.waiting > 0 && !port.serve_pending) {
    port.serve_pending = true;
    schedule(port.free_at, Event::serve, index);
  }
}

// The next packet of one priority: what waits there and what messages have to send take turns.
bool PacketNetwork::take_next(Port& port, std::uint32_t index, int priority, Packet& packet) {
  Queue& queue = queues_[queue_index(index, priority)];
  if (queue.packets.empty() || (queue.flows_turn && queue.first_flow != none)) {
    queue.flows_turn = false;
    if (take_from_flow(queue, port, packet)) return true;
  }
  if (queue.packets.empty()) return false;
  queue.flows_turn = true;
  packet = take_packet(port, queue);
  return true;
}

Packet PacketNetwork::take_packet(Port& port, Queue& queue) {
  const Packet packet = queue.packets.pop();
  const HopEntry& hop = hops_[packet.hop];
  queue.bytes -= packet.bytes;
  if (activity_) note_queue(hop, queue);
  --port.waiting;
  if (hop.priority == control_) --port.control_waiting;
  const bool was_tight = buffered(port, hop) && is_tight(switches_[port.at_switch]);
  if (buffered(port, hop)) switches_[port.at_switch].used -= packet.bytes;
  if (hop.holds_back) {
    const std::uint32_t index = ingress_of(hop);
    Queue& from = queues_[index];
    from.ingress -= packet.bytes;
    if (from.stopped && from.ingress <= resume_at(index, port.at_switch, used_at(port))) tell(index, Event::resume);
  }
  if (was_tight) resume_where_possible(port.at_switch);
  return packet;
}

// There is more room in the switch: not only for the link that the packet came over.
void PacketNetwork::resume_where_possible(std::uint32_t at_switch) {
  const Switch& at = switches_[at_switch];
  for (std::size_t i = at.stopped.size(); i-- > 0;)
    if (const std::uint32_t queue = at.stopped[i]; queues_[queue].ingress <= resume_at(queue, at_switch, at.used))
      tell(queue, Event::resume);
}

void PacketNetwork::transmit(Port& port, std::uint32_t index, const Packet& packet, std::uint32_t hop_index) {
  const HopEntry& hop = hops_[hop_index];
  bool corrupt = packet.corrupt;
  const std::int64_t lasts = duration(port, packet.bytes);
  port.free_at = later(now_, lasts);
  port.carried += packet.bytes;
  if (activity_) activity_->used(index, {now_}, {port.free_at}, 8.0 * packet.bytes);
  ++packet_hops_;
  if (port.lossy) {
    if (losses_[index].happens(loss_)) {
      ++lost_;
      return discard(packet);
    }
    if (losses_[index].happens(corruption_)) corrupt = true;
  }
  std::int64_t date = later(now_, kind_of(port).delay_ps);
  if (hop.nexts == 0) {
    date = later(date, lasts);
    if (packet.is() == PacketKind::data && !corrupt && !answers(packet)) return received(packet, date);
  } else {
    date = later(date, hop.faster_next ? head_start(port, hop, packet.bytes, lasts) : std::min(lasts, kind_of(port).head_ps));
  }
  PacketOnWire& place = port.wire.add();
  place = {packet, date};
  place.packet.hop = hop_index;
  if (corrupt) place.packet.corrupt = 1;
  if (port.wire.size() == 1) schedule(date, Event::arrive, index);
}

// How long after its start a packet may be sent on by the fastest of the next links without running dry.
std::int64_t PacketNetwork::head_start(const Port& port, const HopEntry& hop, std::uint32_t bytes, std::int64_t lasts) const {
  std::int64_t least = lasts;
  for (std::uint32_t i = 0; i < hop.nexts; ++i) least = std::min(least, duration(ports_[hops_[hop.next + i].link], bytes));
  return std::min(lasts, std::max(kind_of(port).head_ps, lasts - least));
}

// The far end of a link tells its sender to stop or to go on.
void PacketNetwork::tell(std::uint32_t index, Event what) {
  Queue& queue = queues_[index];
  const std::uint32_t link = index / classes_, at_switch = switch_at_end(link);
  queue.stopped = what == Event::pause;
  ++queue.telling;
  if (at_switch != none) {
    std::vector<std::uint32_t>& stopped = switches_[at_switch].stopped;
    if (queue.stopped)
      stopped.push_back(index);
    else
      *std::ranges::find(stopped, index) = stopped.back(), stopped.pop_back();
  }
  schedule(later(now_, kind_of(link).delay_ps), what, link * max_priorities + index % classes_);
}

void PacketNetwork::paused(std::uint32_t index) {
  const std::uint32_t link = index / max_priorities, priority = index % max_priorities;
  Queue& queue = queues_[queue_index(link, static_cast<int>(priority))];
  ports_[link].paused = static_cast<std::uint8_t>(ports_[link].paused | 1u << priority);
  --queue.telling;
  if (!fabric_.link(static_cast<LinkId>(link)).in_server) ++queue.pauses;
  queue.paused_since = now_;
}

void PacketNetwork::resumed(std::uint32_t index) {
  const std::uint32_t link = index / max_priorities, priority = index % max_priorities;
  Queue& queue = queues_[queue_index(link, static_cast<int>(priority))];
  ports_[link].paused = static_cast<std::uint8_t>(ports_[link].paused & ~(1u << priority));
  --queue.telling;
  if (!fabric_.link(static_cast<LinkId>(link)).in_server) queue.paused_ps += now_ - queue.paused_since;
  if (ports_[link].waiting > 0) wake(link);
}

void PacketNetwork::fail(std::uint32_t index) {
  Port& port = ports_[index];
  --faults_left_;
  --faults_ahead_[index];
  ++port.failures;
  for (int priority = 0; priority <= control_; ++priority) {
    Queue& queue = queues_[queue_index(index, priority)];
    while (!queue.packets.empty()) {
      ++queue.dropped;
      discard(take_packet(port, queue));
    }
  }
}

void PacketNetwork::recover(std::uint32_t index) {
  --faults_left_;
  --faults_ahead_[index];
  if (--ports_[index].failures == 0 && ports_[index].waiting > 0) wake(index);
}

void PacketNetwork::note_queue(const HopEntry& hop, Queue& queue) {
  if (!queue.recorded) {
    const std::string link = fabric_.link_name(static_cast<LinkId>(hop.link));
    const bool only = hop.priority == 0 && control_ == 1;
    const std::string priority = hop.priority == control_ ? "control" : fmt::format("priority {}", hop.priority);
    queue.recorded = &activity_->level(only ? "queue " + link : fmt::format("queue {} {}", link, priority), "B");
  }
  queue.recorded->set({now_}, static_cast<double>(queue.bytes));
}

// The packet is no more: its end is told nothing.
void PacketNetwork::discard(const Packet& packet) {
  if (packet.is() == PacketKind::datagram) return datagrams_->discarded(packet);
  --flows_[packet.flow].outstanding;
  release_if_done(packet.flow);
}

}  // namespace weft

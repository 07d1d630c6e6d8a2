// Messages and their transports: what is sent when, what is answered, what is retransmitted.
#include "sim/packet/opposite_links.hpp"
#include "sim/packet/packet_network.hpp"

#include <algorithm>

namespace weft {

void PacketNetwork::start(RouteIndex route, std::int64_t bytes, SimTime at, std::uint32_t token) {
  const std::int64_t packet = settings_.packet.count;
  const std::int64_t packets = std::max<std::int64_t>(1, (bytes + packet - 1) / packet);
  constexpr std::int64_t most = INT32_MAX - 1;
  if (packets > most)
    throw InputError(
        fmt::format("packet: a message of {} is {} packets of {}, at most {} are possible: a larger \"packet\" (up to 64KiB) or "
                    "the network \"flow\" take it",
                    to_string(Bytes{bytes}), packets, to_string(settings_.packet), most));
  // A message of no bytes is one packet all the same.
  const std::int64_t last = std::max<std::int64_t>(1, bytes - (packets - 1) * packet + settings_.header.count);
  std::uint32_t index;
  if (free_flows_.empty()) {
    index = static_cast<std::uint32_t>(flows_.size());
    flows_.emplace_back();
  } else {
    index = free_flows_.back();
    free_flows_.pop_back();
  }
  Flow& flow = flows_[index];
  Flow fresh;
  fresh.route = route;
  fresh.first_hop = routes_[route].first_hop;
  fresh.rated = routes_[route].rate.count > 0;
  fresh.acknowledged = acknowledged_ || fresh.rated;
  fresh.token = token;
  fresh.packets = static_cast<std::uint32_t>(packets);
  fresh.last_bytes = static_cast<std::uint32_t>(last);
  fresh.pace_pending = flow.pace_pending;
  fresh.timer_at = flow.timer_at;
  flow = fresh;
  schedule(at.ps, Event::start, index);
}

void PacketNetwork::begin(std::uint32_t index) {
  Flow& flow = flows_[index];
  const RouteState& route = routes_[flow.route];
  if (route.memory != none) {
    flow.congestion = memories_[route.memory];
    std::visit([](auto& control) { control.next_message(); }, flow.congestion);
  } else {
    flow.congestion = congestion_control(settings_, static_cast<double>(kind_of(hops_[route.first_hop].link).bits_per_second));
  }
  flow.active = true;
  offer(index);
}

// Queues the message at its NIC if it has something that may be sent now; at the date of its pace if it may be sent then.
void PacketNetwork::offer(std::uint32_t index) {
  Flow& flow = flows_[index];
  if (!flow.active || flow.queued || !ready(flow)) return;
  if (flow.rated) flow.send_at = std::max(flow.send_at, routes_[flow.route].free_at);
  if (flow.send_at > now_) {
    if (!flow.pace_pending) schedule(flow.send_at, Event::pace, index);
    flow.pace_pending = true;
    return;
  }
  const HopEntry& hop = hops_[flow.first_hop];
  enqueue(flow, index, ports_[hop.link], queues_[queue_index(hop.link, hop.priority)]);
  wake(hop.link);
}

void PacketNetwork::enqueue(Flow& flow, std::uint32_t index, Port& port, Queue& queue) {
  flow.queued = true;
  flow.after = none;
  (queue.first_flow == none ? queue.first_flow : flows_[queue.last_flow].after) = index;
  queue.last_flow = index;
  ++port.waiting;
}

// The next packet of the message whose turn it is; the message goes to the end of the queue if it has more.
bool PacketNetwork::take_from_flow(Queue& queue, Port& port, Packet& packet) {
  while (queue.first_flow != none) {
    const std::uint32_t index = queue.first_flow;
    Flow& flow = flows_[index];
    queue.first_flow = flow.after;
    flow.queued = false;
    --port.waiting;
    if (!ready(flow)) {
      release_if_done(index);
      continue;
    }
    if (flow.rated && routes_[flow.route].free_at > now_) {  // another message of the connection has been faster
      offer(index);
      continue;
    }
    packet = {.flow = index,
              .sequence = flow.next,
              .hop = flow.first_hop,
              .bytes = packet_bytes(flow, flow.next) & 0xffffffu,
              .kind = static_cast<std::uint32_t>(PacketKind::data),
              .marked = 0,
              .corrupt = 0};
    ++packets_;
    const bool again = flow.next < flow.highest;
    resent_ += again ? 1 : 0;
    routes_[flow.route].beside += again ? packet.bytes : settings_.header.count;
    flow.highest = std::max(flow.highest, ++flow.next);
    ++flow.outstanding;
    if (order_matters_ && flow.deadline == never) arm(index, later(now_, timeout_of(flow, 0)));
    flow.send_at = later(now_, std::visit([&](auto& control) { return control.on_send(now_, packet.bytes); }, flow.congestion));
    if (flow.rated) {
      RouteState& route = routes_[flow.route];
      route.free_at = later(now_, ((Bytes{packet.bytes} - settings_.header) / route.rate).ps);
      flow.send_at = std::max(flow.send_at, route.free_at);
    }
    if (flow.send_at > now_)
      offer(index);
    else if (ready(flow))
      enqueue(flow, index, port, queue);
    return true;
  }
  return false;
}

// Whether something leaves the receiver because of this packet, so that it cannot be received before its date.
bool PacketNetwork::answers(const Packet& packet) const {
  return settings_.acknowledgement.count > 0 && (flows_[packet.flow].acknowledged || (packet.marked && echo_ == MarkEcho::notification));
}

// A data packet is at its end at `date`, now or later.
void PacketNetwork::received(const Packet& packet, std::int64_t date) {
  Flow& flow = flows_[packet.flow];
  --flow.outstanding;
  if (packet.marked && echo_ == MarkEcho::notification && date >= flow.notify_at) {
    flow.notify_at = later(date, settings_.dcqcn.notification_interval.ps);
    answer(packet.flow, PacketKind::notification, true, date);
  }
  if (!order_matters_ || packet.sequence == flow.expected) return received_in_order(packet, date);
  if (packet.sequence < flow.expected) return answer(packet.flow, PacketKind::acknowledgement, packet.marked, date);
  if (!flow.refused) answer(packet.flow, PacketKind::negative, packet.marked, date);
  flow.refused = true;
}

void PacketNetwork::received_in_order(const Packet& packet, std::int64_t date) {
  Flow& flow = flows_[packet.flow];
  const bool complete = ++flow.expected == flow.packets;
  flow.refused = false;
  flow.arrives_at = std::max(flow.arrives_at, date);
  if (complete) schedule(flow.arrives_at, Event::end, packet.flow);
  if (!flow.acknowledged) return;
  const bool at_once = complete || (packet.marked && echo_ == MarkEcho::acknowledgement);
  if (++flow.unanswered >= static_cast<std::uint32_t>(settings_.acknowledge_every) || at_once)
    answer(packet.flow, PacketKind::acknowledgement, packet.marked, date);
}

// Leaves the receiver at `date`, which is now for an answer that has a size.
void PacketNetwork::answer(std::uint32_t index, PacketKind kind, bool marked, std::int64_t date) {
  Flow& flow = flows_[index];
  if (kind != PacketKind::notification) flow.unanswered = 0;
  ++flow.outstanding;
  const std::uint32_t back = settings_.acknowledgement.count > 0 ? way_back(routes_[flow.route]) : none;
  if (back != none)
    return forward({.flow = index,
                    .sequence = flow.expected,
                    .hop = back,
                    .bytes = static_cast<std::uint32_t>(settings_.acknowledgement.count) & 0xffffffu,
                    .kind = static_cast<std::uint32_t>(kind) & 7u,
                    .marked = marked,
                    .corrupt = 0},
                   back);
  std::uint32_t record;
  if (free_feedback_.empty()) {
    record = static_cast<std::uint32_t>(feedback_.size());
    feedback_.emplace_back();
  } else {
    record = free_feedback_.back();
    free_feedback_.pop_back();
  }
  feedback_[record] = {index, flow.expected, kind, marked};
  schedule(later(date, routes_[flow.route].latency_ps), Event::feedback, record);
}

void PacketNetwork::give_feedback(std::uint32_t index) {
  const Feedback f = feedback_[index];
  free_feedback_.push_back(index);
  answered(f.flow, f.kind, f.sequence, f.marked);
}

// An answer has come back to the sender.
void PacketNetwork::answered(std::uint32_t index, PacketKind kind, std::uint32_t sequence, bool marked) {
  Flow& flow = flows_[index];
  --flow.outstanding;
  if (kind == PacketKind::notification) {
    ++notifications_;
    std::visit([&](auto& control) { control.on_mark(now_); }, flow.congestion);
  } else if (sequence >= flow.acked) {
    const std::uint32_t newly = sequence - flow.acked;
    flow.acked = sequence;
    flow.next = std::max(flow.next, sequence);
    if (newly > 0) flow.tries = 0;
    if (newly > 0 && order_matters_) arm(index, flow.next > flow.acked ? later(now_, timeout_of(flow, 0)) : never);
    if (newly > 0)
      std::visit([&](auto& control) { control.on_ack({.newly = newly, .upto = sequence, .next = flow.next, .marked = marked}); },
                 flow.congestion);
    if (kind == PacketKind::negative) {
      std::visit([&](auto& control) { control.on_loss(sequence, flow.next); }, flow.congestion);
      flow.next = sequence;
    }
  }
  if (activity_) note_window(flow);
  offer(index);
  release_if_done(index);
}

// The way of the answers: the links of the route backwards, in the control class; none where a cable has one direction only.
std::uint32_t PacketNetwork::way_back(RouteState& route) {
  if (route.back != unknown) return route.back;
  if (opposite_.empty()) opposite_ = opposite_links(fabric_);
  std::vector<Hop> hops;
  for (std::uint32_t i = route.hops; i-- > 0;) hops.push_back({opposite_[hops_[route.first_hop + i].link], control_});
  const bool whole = std::ranges::none_of(hops, [](const Hop& hop) { return hop.link < 0; });
  return route.back = whole ? add_hops(hops) : none;
}

// After so many timeouts in a row.
std::int64_t PacketNetwork::timeout_of(const Flow& flow, int tries) const {
  constexpr int round_trips = 2;
  const std::int64_t first = std::max(settings_.timeout.ps, 2 * round_trips * routes_[flow.route].latency_ps);
  return std::min(first, longest_timeout.ps >> tries) << tries;
}

void PacketNetwork::arm(std::uint32_t index, std::int64_t deadline) {
  Flow& flow = flows_[index];
  flow.deadline = deadline;
  if (deadline >= flow.timer_at) return;  // the pending event will look at it
  flow.timer_at = deadline;
  schedule(deadline, Event::timer, index);
}

void PacketNetwork::timer(std::uint32_t index) {
  Flow& flow = flows_[index];
  if (flow.timer_at != now_) return;  // an earlier one was set since
  flow.timer_at = never;
  if (!flow.active || flow.deadline == never) return;
  if (flow.deadline > now_) return arm(index, flow.deadline);
  ++timeouts_;
  if (++flow.tries > settings_.retries) give_up(flow);
  std::visit([](auto& control) { control.on_timeout(); }, flow.congestion);
  flow.next = flow.acked;
  arm(index, later(now_, timeout_of(flow, flow.tries)));
  offer(index);
}

// Where it holds the message back.
void PacketNetwork::note_window(const Flow& flow) {
  const std::uint32_t window = window_of(flow);
  RouteState& route = routes_[flow.route];
  if (!route.recorded) {
    if (window >= flow.packets) return;
    const auto link = [&](std::uint32_t hop) { return static_cast<LinkId>(hops_[hop].link); };
    const Device& from = fabric_.device(fabric_.from(link(route.first_hop)));
    const Device& to = fabric_.device(fabric_.to(link(route.first_hop + route.hops - 1)));
    route.recorded = &activity_->level(fmt::format("window {}->{}", from.name, to.name), "packets");
  }
  route.recorded->set({now_}, std::min(window, flow.packets));
}

void PacketNetwork::release_if_done(std::uint32_t index) {
  Flow& flow = flows_[index];
  if (!flow.active || !flow.ended || flow.queued || flow.outstanding > 0 || (flow.acknowledged && flow.acked < flow.packets)) return;
  flow.active = false;
  flow.deadline = never;
  free_flows_.push_back(index);
  RouteState& route = routes_[flow.route];
  const bool learned = std::visit([](const auto& control) { return control.learned(); }, flow.congestion);
  if (route.memory == none && !learned) return;
  if (route.memory == none) {
    route.memory = static_cast<std::uint32_t>(memories_.size());
    memories_.push_back(flow.congestion);
  }
  memories_[route.memory] = flow.congestion;
}

}  // namespace weft

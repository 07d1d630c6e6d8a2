#include "collectives/transports/udp/udp_node.hpp"

#include <algorithm>

namespace weft {
namespace {

constexpr int max_behind = 16;                           // a datagram that is reordered comes after up to so many later ones,
constexpr std::int64_t longest_held_ps = 1'000'000'000;  // or 1 ms later where there are none

}  // namespace

UdpNode::UdpNode(const Settings& settings, const UdpMap& map, const UdpSocket& socket, const std::vector<UdpPeer>& peers, PayloadPool& pool)
    : settings_(settings),
      at_switch_(map.layout.is_switch(settings.node)),
      routes_(map, settings.node),
      socket_(socket),
      pool_(pool),
      outbox_(socket, peers, pool.values()),
      inbox_(socket, pool),
      random_(settings.faults.seed * 1'000'003 + static_cast<std::uint64_t>(settings.node)),
      began_(std::chrono::steady_clock::now()) {}

void UdpNode::begin_round(std::uint32_t round, std::vector<NodeAgents::Seat> seats) {
  outbox_.flush();
  round_ = round;
  seats_ = std::move(seats);
  timers_.clear();
  held_.clear();
  began_ = std::chrono::steady_clock::now();
  now_ps_ = 0;
  for (current_ = 0; current_ < seats_.size(); ++current_) seats_[current_].agent->start(*this);
  outbox_.flush();
}

void UdpNode::look_at_clock() {
  now_ps_ = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - began_).count() * 1000;
}

bool UdpNode::turn(std::chrono::microseconds at_most) {
  const std::size_t came = inbox_.receive();
  look_at_clock();
  // Only who is behind pays for the question whether the queue is long.
  const bool congested = inbox_.more() && socket_.queue().long_;
  for (std::size_t i = 0; i < came; ++i) handle(i, congested);
  const bool fired = fire_timers();
  release_held();
  outbox_.flush();
  if (came > 0 || fired) return false;
  socket_.wait(until_due(at_most));
  return true;
}

void UdpNode::handle(std::size_t arrival, bool congested) {
  ++statistics_.received;
  const bool whole = inbox_.whole(arrival);
  const UdpHead head = whole ? inbox_.head(arrival) : UdpHead{};
  if (!whole || !head.ours() || head.run != settings_.run || !routes_.known(head.from, head.to)) {
    ++statistics_.malformed;
    return;
  }
  if (head.round > round_ && when_later_) when_later_(head.round);
  if (head.round != round_) {
    ++statistics_.stale;
    return;
  }
  Datagram d{.from = head.from,
             .to = head.to,
             .wire_bytes = udp_overhead_bytes + 4 * pool_.values(),
             .congested = congested || head.congested != 0,
             .payload = inbox_.payload(arrival)};
  d.header.bytes() = head.header;
  hand_over(std::move(d));
}

void UdpNode::hand_over(Datagram datagram) {
  if (at_switch_) {
    current_ = 0;
    if (seats_.empty()) return forward(datagram);
    return seats_[0].agent->on_datagram(*this, std::move(datagram));
  }
  const std::span<const Address> here = routes_.here(datagram.to);
  if (here.empty()) ++statistics_.malformed;
  for (const Address a : here)
    for (current_ = 0; current_ < seats_.size(); ++current_)
      if (seats_[current_].address == a) seats_[current_].agent->on_datagram(*this, datagram);
}

void UdpNode::send(Datagram datagram) { forward(datagram); }

void UdpNode::forward(const Datagram& datagram) {
  const UdpHead head = udp_head(settings_.run, round_, datagram);
  for (const int node : routes_.next(datagram.from, datagram.to)) {
    const UdpFaults& m = settings_.faults;
    if (chance(m.loss)) {
      ++statistics_.lost;
      continue;
    }
    if (chance(m.duplication)) {
      ++statistics_.duplicated;
      send_copy(head, datagram.payload, node);
    }
    if (chance(m.reordering)) {
      ++statistics_.reordered;
      held_.push_back({head, datagram.payload, node, 1 + static_cast<int>(random_() % max_behind), now_ps_ + longest_held_ps});
    } else {
      send_copy(head, datagram.payload, node);
    }
  }
}

void UdpNode::send_copy(const UdpHead& head, const Payload& payload, int node) {
  outbox_.put(head, payload, node);
  for (Held& h : held_) --h.behind;
}

void UdpNode::release_held() {
  std::erase_if(held_, [&](const Held& h) {
    const bool released = h.behind <= 0 || h.due_ps <= now_ps_;
    if (released) outbox_.put(h.head, h.payload, h.node);
    return released;
  });
}

void UdpNode::set_timer(std::int64_t after_ps, std::uint64_t name) {
  timers_.push_back({now_ps_ + std::max<std::int64_t>(after_ps, 0), ++order_, current_, name});
  std::push_heap(timers_.begin(), timers_.end());
}

bool UdpNode::fire_timers() {
  const std::uint64_t last = order_;  // those that are set meanwhile fire in a later turn
  bool fired = false;
  while (!timers_.empty() && timers_.front().due_ps <= now_ps_ && timers_.front().order <= last) {
    const Timer t = timers_.front();
    std::pop_heap(timers_.begin(), timers_.end());
    timers_.pop_back();
    current_ = t.seat;
    seats_[t.seat].agent->on_timer(*this, t.name);
    fired = true;
  }
  return fired;
}

std::chrono::microseconds UdpNode::until_due(std::chrono::microseconds at_most) const {
  std::int64_t due = INT64_MAX;
  if (!timers_.empty()) due = timers_.front().due_ps;
  for (const Held& h : held_) due = std::min(due, h.due_ps);
  const std::chrono::microseconds left{due == INT64_MAX ? INT64_MAX : std::max<std::int64_t>(due - now_ps_, 0) / 1'000'000 + 1};
  return std::min(left, at_most);
}

}  // namespace weft

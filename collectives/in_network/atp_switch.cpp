#include "collectives/in_network/atp_switch.hpp"

#include "kernels/compression/quantise.hpp"

#include <algorithm>

namespace weft {

AtpSwitch::AtpSwitch(const AtpSettings& settings, std::vector<AtpWalk> walks, std::vector<Address> attached)
    : walks_(std::move(walks)),
      attached_(std::move(attached)),
      aggregators_(static_cast<std::size_t>(settings.places())),
      origins_(walks_.size(), nobody),
      finished_(walks_.size(), 0),
      timeout_ps_(settings.aggregator_timeout.ps) {}

AtpSwitch::Aggregator& AtpSwitch::aggregator_of(std::int32_t flow, std::uint32_t sequence) {
  return aggregators_[walks_[static_cast<std::size_t>(flow)].at(sequence)];
}

int AtpSwitch::claimed(std::int64_t now_ps) const {
  return static_cast<int>(
      std::ranges::count_if(aggregators_, [&](const Aggregator& a) { return a.flow >= 0 && !stale(a) && !given_up(a, now_ps); }));
}

void AtpSwitch::forget() {
  std::ranges::fill(aggregators_, Aggregator{});
  std::ranges::fill(origins_, nobody);
  std::ranges::fill(finished_, 0);
  in_use_ = 0;
}

void AtpSwitch::on_datagram(Wire& wire, Datagram datagram) {
  auto h = datagram.header.as<AtpHeader>();
  if (!sound(h)) {
    ++statistics_.malformed;
    return;
  }
  now_ps_ = wire.now_ps();
  std::uint32_t& finished = finished_[static_cast<std::size_t>(h.flow)];
  finished = std::max(finished, h.finished);
  if (h.kind == AtpKind::parameter) {
    Aggregator& a = aggregator_of(h.flow, h.sequence);
    if (holds(a, h)) free(a);
    return wire.send(std::move(datagram));
  }
  h.marked |= datagram.congested;
  datagram.header.set(h);
  const bool here = h.edge == 0 || (h.edge == 1 && std::ranges::find(attached_, datagram.to) != attached_.end());
  if (!here) return wire.send(std::move(datagram));
  on_gradient(wire, std::move(datagram), h);
}

bool AtpSwitch::sound(const AtpHeader& h) const {
  if (h.flow < 0 || static_cast<std::size_t>(h.flow) >= finished_.size()) return false;
  if (h.kind == AtpKind::parameter) return true;
  return h.kind == AtpKind::gradient && (h.level == 1 || h.level == 2) && h.edge <= 2 && h.bits.count() > 0;
}

void AtpSwitch::on_gradient(Wire& wire, Datagram datagram, AtpHeader h) {
  ++statistics_.gradients;
  Aggregator& a = aggregator_of(h.flow, h.sequence);
  if (h.resend) {
    // Only where the sender meets its first aggregator; further up, what is retransmitted passes.
    if (h.level == h.edge + 1 && holds(a, h)) return on_resend(wire, std::move(datagram), h, a);
    return pass(wire, std::move(datagram), h);
  }
  if (h.sequence < finished_[static_cast<std::size_t>(h.flow)]) {  // an old copy: its result is on the way, or was there
    ++statistics_.duplicates;
    return;
  }
  if (a.flow >= 0 && !holds(a, h)) {
    if (!stale(a) && !given_up(a, now_ps_)) {
      ++statistics_.collisions;
      return pass(wire, std::move(datagram), h);
    }
    if (!stale(a)) ++statistics_.reclaimed;
    free(a);
  }
  if (a.flow < 0) {
    a.flow = h.flow, a.sequence = h.sequence;
    statistics_.most_in_use = std::max(statistics_.most_in_use, ++in_use_);
  } else if (a.bits.overlaps(h.bits)) {
    a.touched_ps = now_ps_;
    ++statistics_.duplicates;
    return;
  }
  add(a, datagram, h);
  if (a.bits.count() < (h.edge == 0 ? h.fan_in_1 : h.fan_in_2)) return;
  ++statistics_.completed;
  send_sum(wire, std::move(datagram), h, a, true);
}

void AtpSwitch::on_resend(Wire& wire, Datagram datagram, AtpHeader h, Aggregator& a) {
  if (a.bits.overlaps(h.bits)) {
    free(a);
    return pass(wire, std::move(datagram), h);
  }
  add(a, datagram, h);
  ++statistics_.flushed;
  send_sum(wire, std::move(datagram), h, a, false);
  free(a);
}

void AtpSwitch::pass(Wire& wire, Datagram datagram, AtpHeader h) {
  h.resend = 1;
  h.edge = static_cast<std::uint8_t>(h.edge == 0 ? 1 : 2);
  datagram.header.set(h);
  wire.send(std::move(datagram));
}

void AtpSwitch::send_sum(Wire& wire, Datagram datagram, AtpHeader h, const Aggregator& a, bool whole) {
  h.marked = a.marked;
  h.overflow = a.overflow ? AtpFit::overflow : AtpFit::fits;
  h.bits = a.bits;
  if (whole) datagram.from = origins_[static_cast<std::size_t>(h.flow)];
  // Where racks outnumber the bits, nothing is added at level 2: the server knows the sum by its workers.
  if (whole && h.edge == 0 && h.rack < AtpBits::capacity) h.bits = AtpBits::one(h.rack), h.level = 2;
  h.resend = !whole;
  h.edge = static_cast<std::uint8_t>(h.edge == 0 && h.fan_in_2 > 0 ? 1 : 2);
  datagram.header.set(h);
  datagram.payload = a.sum;
  wire.send(std::move(datagram));
}

// Where paths follow from who sends to whom, all sums of a flow take one, so that they do not overtake each other.
void AtpSwitch::add(Aggregator& to, const Datagram& datagram, const AtpHeader& h) {
  if (Address& origin = origins_[static_cast<std::size_t>(h.flow)]; origin == nobody) origin = datagram.from;
  ++statistics_.aggregated;
  to.touched_ps = now_ps_;
  to.marked |= h.marked != 0;
  to.overflow |= h.overflow != AtpFit::fits;
  if (!to.sum) {
    to.sum = datagram.payload;
  } else {
    to.sum.make_own();
    to.overflow |= add_saturating(to.sum.mutable_values(), datagram.payload.values()) > 0;
  }
  to.bits.add(h.bits);
}

void AtpSwitch::free(Aggregator& aggregator) {
  aggregator = {};
  --in_use_;
}

}  // namespace weft

#include "collectives/in_network/atp_worker.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace weft {
namespace {

constexpr std::uint64_t out_of_order_for_loss = 3;
constexpr int smallest_window = 4;  // packets, so that a loss is seen without a timeout
constexpr int max_backoff = 6;

}  // namespace

AtpWorker::AtpWorker(const AtpSettings& settings, const Part& part, PacketValues* values)
    : settings_(settings),
      part_(part),
      values_(values),
      end_(part.open ? 0 : part.packets),
      window_(bytes(settings.congestion_control ? settings.initial_window : settings.window_limit())),
      threshold_(bytes(settings.window_limit())),
      mask_(std::bit_ceil(static_cast<std::uint32_t>(settings.window_limit())) - 1),
      flights_(std::size_t{mask_} + 2) {
  flights_.back().before = flights_.back().after = mask_ + 1;
  statistics_.largest_window = statistics_.smallest_window = window();
}

void AtpWorker::start(Wire& wire) {
  if (part_.open) {
    if (!rounds_.any_ahead()) return;
    if (finished()) progress_ps_ = wire.now_ps();
    end_ = rounds_.begin(end_);
  } else {
    if (finished()) end_ += part_.packets;
    progress_ps_ = wire.now_ps();
  }
  fill_window(wire);
  arm(wire);
}

void AtpWorker::fill_window(Wire& wire) {
  while (next_ < end_ && next_ - una_ < static_cast<std::uint32_t>(window())) send(wire, next_++, false);
}

void AtpWorker::send(Wire& wire, std::uint32_t sequence, bool again) {
  const bool floats = again && flight(sequence).floats;
  flight(sequence) = {.sent_ps = wire.now_ps(), .number = ++transmissions_, .again = again, .floats = floats};
  link(sequence);
  const AtpMember& m = part_.member;
  Datagram d{.from = part_.self, .to = part_.server, .wire_bytes = static_cast<std::int32_t>(settings_.packet.count)};
  d.payload = wire.new_payload();
  AtpFit fit = floats ? AtpFit::floats : AtpFit::fits;
  if (values_ && d.payload) {
    if (floats) {
      values_->read_floats(sequence % part_.packets, d.payload.mutable_values());
    } else {
      values_->read(sequence % part_.packets, d.payload.mutable_values());
      if (values_->saturated()) fit = AtpFit::overflow;
    }
  }
  d.header.set(AtpHeader{.bits = AtpBits::one(m.bit),
                         .flow = part_.flow,
                         .sequence = sequence,
                         .finished = una_,
                         .fan_in_1 = static_cast<std::uint16_t>(m.fan_in_1),
                         .fan_in_2 = static_cast<std::uint16_t>(m.fan_in_2),
                         .rack = static_cast<std::uint16_t>(m.rack),
                         .kind = AtpKind::gradient,
                         .level = static_cast<std::uint8_t>(m.level),
                         .edge = static_cast<std::uint8_t>(floats ? 2 : m.edge),  // 2: past the switches
                         .resend = again || forwarded(sequence),
                         .overflow = fit});
  wire.send(std::move(d));
  ++(again ? statistics_.resent : statistics_.sent);
}

// The same of all workers, evenly among the packets.
bool AtpWorker::forwarded(std::uint32_t sequence) const {
  return std::floor((sequence + 1.0) * settings_.forwarded) > std::floor(sequence * settings_.forwarded);
}

void AtpWorker::on_datagram(Wire& wire, Datagram datagram) {
  const auto h = datagram.header.as<AtpHeader>();
  if (h.kind != AtpKind::parameter || h.flow != part_.flow) return;
  if (h.sequence < una_ || h.sequence >= next_ || flight(h.sequence).arrived) {
    ++statistics_.duplicates;
    return;
  }
  if (h.overflow == AtpFit::floats && !flight(h.sequence).floats) return;  // nobody has asked for them
  if (h.overflow == AtpFit::overflow && settings_.floats) {
    if (flight(h.sequence).floats) return;
    flight(h.sequence).floats = true;
    unlink(h.sequence);
    return send(wire, h.sequence, true);
  }
  if (values_ && datagram.payload) {
    if (h.overflow == AtpFit::floats)
      values_->write_floats(h.sequence % part_.packets, datagram.payload.values());
    else
      values_->write(h.sequence % part_.packets, datagram.payload.values());
  }
  statistics_.overflow |= h.overflow == AtpFit::overflow;
  acknowledge(wire, h.sequence, h.marked != 0 || datagram.congested);
}

void AtpWorker::acknowledge(Wire& wire, std::uint32_t sequence, bool marked) {
  Flight& f = flight(sequence);
  unlink(sequence);
  f.arrived = true;
  learn(f, wire.now_ps());
  if (marked) {
    ++statistics_.marks;
    if (sequence >= recover_) shrink(bytes(std::min(smallest_window, settings_.initial_window)));
  } else {
    grow();
  }
  if (sequence == una_) {
    while (una_ < next_ && flight(una_).arrived) ++una_;
    backoff_ = 0;
    progress_ps_ = wire.now_ps();
    if (finished()) statistics_.finished_ps = progress_ps_;
  }
  send_lost(wire);
  fill_window(wire);
  arm(wire);
}

// Of what was sent once. An acknowledgement is for all workers: of what was retransmitted it does not say which copy arrived.
void AtpWorker::learn(const Flight& f, std::int64_t now_ps) {
  if (f.again) return;
  returned_ = std::max(returned_, f.number);
  if (f.number < resent_) return;  // what was lost meanwhile held it up
  const std::int64_t round_trip = now_ps - f.sent_ps;
  if (round_trip_ps_ == 0) {
    round_trip_ps_ = round_trip;
    deviation_ps_ = round_trip / 2;
    return;
  }
  deviation_ps_ += (std::abs(round_trip - round_trip_ps_) - deviation_ps_) / 4;
  round_trip_ps_ += (round_trip - round_trip_ps_) / 8;
}

// In the order they were sent.
void AtpWorker::send_lost(Wire& wire) {
  const std::uint32_t end = mask_ + 1;
  while (flights_[end].after != end && flights_[flights_[end].after].number + patience() <= returned_) {
    const std::uint32_t slot = flights_[end].after;
    send_again(wire, una_ + ((slot - una_) & mask_));
  }
}

void AtpWorker::send_again(Wire& wire, std::uint32_t sequence) {
  if (sequence >= recover_) shrink(std::min(window_, bytes(settings_.initial_window)));
  unlink(sequence);
  send(wire, sequence, true);
  resent_ = transmissions_;
}

// Fewer where a small window leaves no more to come (early retransmit, RFC 5827).
std::uint64_t AtpWorker::patience() const { return std::clamp<std::uint64_t>(next_ - una_ - 1, 1, out_of_order_for_loss); }

void AtpWorker::grow() {
  if (!settings_.congestion_control) return;
  const std::int64_t step = std::max(settings_.mtu, settings_.packet).count;
  if (window_ < threshold_) {
    window_ += step;
  } else if (++acknowledged_ >= window()) {
    acknowledged_ = 0;
    window_ += step;
  }
  window_ = std::min(window_, bytes(settings_.window_limit()));
  statistics_.largest_window = std::max(statistics_.largest_window, window());
}

void AtpWorker::shrink(std::int64_t floor_bytes) {
  if (!settings_.congestion_control) return;
  window_ = threshold_ = std::max(window_ / 2, floor_bytes);
  acknowledged_ = 0;
  recover_ = next_;
  statistics_.smallest_window = std::min(statistics_.smallest_window, window());
}

void AtpWorker::link(std::uint32_t sequence) {
  const std::uint32_t slot = sequence & mask_, end = mask_ + 1;
  flights_[slot].before = flights_[end].before;
  flights_[slot].after = end;
  flights_[flights_[end].before].after = slot;
  flights_[end].before = slot;
}

void AtpWorker::unlink(std::uint32_t sequence) {
  const Flight& f = flight(sequence);
  flights_[f.before].after = f.after;
  flights_[f.after].before = f.before;
}

// Too early a timeout costs all workers what an aggregator has of the packet. What was retransmitted has none.
std::int64_t AtpWorker::timeout_ps() const {
  const std::int64_t known = round_trip_ps_ + std::max(round_trip_ps_, 4 * deviation_ps_);
  const Flight& oldest = flights_[una_ & mask_];
  const bool overdue = una_ < next_ && (oldest.again || oldest.number <= suspect_) && round_trip_ps_ > 0;
  return (overdue ? known : std::max(known, settings_.timeout.ps)) << backoff_;
}

// A timer is set where none fires before the next timeout. What has been acknowledged since moves the timeout on.
void AtpWorker::arm(Wire& wire) {
  const std::int64_t due = progress_ps_ + timeout_ps();
  if (finished() || timer_ps_ <= due) return;
  timer_ps_ = due;
  wire.set_timer(std::max<std::int64_t>(due - wire.now_ps(), 1), ++timer_);
}

// The oldest packet is sent, and what was retransmitted so long ago, for nothing says whether it was lost again. When that packet is
// there and those sent before it do not follow, they are lost too.
void AtpWorker::on_timer(Wire& wire, std::uint64_t name) {
  if (name != timer_) return;
  timer_ps_ = INT64_MAX;
  if (const std::int64_t timeout = timeout_ps(); !finished() && wire.now_ps() - progress_ps_ >= timeout) {
    ++statistics_.timeouts;
    const std::int64_t before = wire.now_ps() - timeout;
    const std::uint64_t lost = flight(una_).again ? 0 : suspect_;
    suspect_ = transmissions_;
    progress_ps_ = wire.now_ps();
    backoff_ = std::min(backoff_ + 1, max_backoff);
    for (std::uint32_t s = una_; s < next_; ++s)
      if (const Flight& f = flight(s); !f.arrived && (s == una_ || f.number <= lost || (f.again && f.sent_ps <= before)))
        send_again(wire, s);
  }
  arm(wire);
}

std::string AtpWorker::waiting() const {
  return fmt::format("packet {} of {} of flow {} to come back from its parameter server", una_ % part_.packets, part_.packets, part_.flow);
}

}  // namespace weft

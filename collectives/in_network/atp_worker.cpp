#include "collectives/in_network/atp_worker.hpp"

#include <algorithm>

namespace weft {
namespace {

constexpr int out_of_order_for_loss = 3;
constexpr int smallest_window = out_of_order_for_loss + 1;  // so that a loss is seen without a timeout
constexpr int most_backoff = 6;

}  // namespace

AtpWorker::AtpWorker(const AtpSettings& settings, const Place& place, PacketValues* values)
    : settings_(settings),
      place_(place),
      values_(values),
      window_(settings.initial_window),
      threshold_(settings.largest_window),
      arrived_(std::bit_ceil(static_cast<std::size_t>(settings.largest_window)), 0) {
  statistics_.largest_window = statistics_.smallest_window = window_;
}

void AtpWorker::start(Wire& wire) {
  progress_ps_ = wire.now_ps();
  fill_window(wire);
  arm(wire);
}

void AtpWorker::fill_window(Wire& wire) {
  while (next_ < place_.packets && next_ - una_ < static_cast<std::uint32_t>(window_)) send(wire, next_++, false);
}

void AtpWorker::send(Wire& wire, std::uint32_t sequence, bool again) {
  const AtpMember& m = place_.member;
  Datagram d{.from = place_.self, .to = place_.server, .wire_bytes = settings_.packet_bytes};
  d.header.set(AtpHeader{.bits = AtpBits::one(m.bit),
                         .flow = place_.flow,
                         .sequence = sequence,
                         .finished = una_,
                         .fan_in_1 = static_cast<std::uint16_t>(m.fan_in_1),
                         .fan_in_2 = static_cast<std::uint16_t>(m.fan_in_2),
                         .rack = static_cast<std::uint16_t>(m.rack),
                         .kind = AtpKind::gradient,
                         .level = static_cast<std::uint8_t>(m.level),
                         .edge = static_cast<std::uint8_t>(m.edge),
                         .resend = again});
  d.payload = wire.new_payload();
  if (values_ && d.payload) values_->read(sequence, d.payload.mutable_values());
  wire.send(std::move(d));
  ++(again ? statistics_.resent : statistics_.sent);
}

void AtpWorker::on_datagram(Wire& wire, Datagram datagram) {
  const auto h = datagram.header.as<AtpHeader>();
  if (h.kind != AtpKind::parameter || h.flow != place_.flow) return;
  if (h.sequence < una_ || h.sequence >= next_ || arrived_[slot(h.sequence)]) {
    ++statistics_.duplicates;
    return;
  }
  if (values_ && datagram.payload) values_->write(h.sequence, datagram.payload.values());
  statistics_.overflow |= h.overflow != 0;
  acknowledge(wire, h.sequence, h.marked != 0 || datagram.congested);
}

void AtpWorker::acknowledge(Wire& wire, std::uint32_t sequence, bool marked) {
  arrived_[slot(sequence)] = 1;
  highest_ = std::max(highest_, sequence);
  if (marked) {
    ++statistics_.marks;
    if (sequence >= recover_) shrink();
  } else {
    grow();
  }
  if (sequence == una_) {
    while (una_ < next_ && arrived_[slot(una_)]) arrived_[slot(una_++)] = 0;
    backoff_ = 0;
    progress_ps_ = wire.now_ps();
    if (finished()) statistics_.finished_ps = progress_ps_;
  }
  if (una_ < next_ && highest_ >= una_ + static_cast<std::uint32_t>(patience()) && filled_ <= una_) fill_hole(wire);
  fill_window(wire);
}

// The oldest packet is missing and later ones are there. A window is halved once for all that was lost of it.
void AtpWorker::fill_hole(Wire& wire) {
  if (una_ >= recover_) shrink();
  filled_ = una_ + 1;
  send(wire, una_, true);
}

// Fewer where a small window leaves no more to come (early retransmit, RFC 5827).
int AtpWorker::patience() const { return std::clamp(static_cast<int>(next_ - una_) - 1, 1, out_of_order_for_loss); }

void AtpWorker::grow() {
  if (window_ < threshold_) {
    ++window_;
  } else if (++acknowledged_ >= window_) {
    acknowledged_ = 0;
    ++window_;
  }
  window_ = std::min(window_, settings_.largest_window);
  statistics_.largest_window = std::max(statistics_.largest_window, window_);
}

void AtpWorker::shrink() {
  window_ = threshold_ = std::max(window_ / 2, std::min(smallest_window, settings_.initial_window));
  acknowledged_ = 0;
  recover_ = next_;
  statistics_.smallest_window = std::min(statistics_.smallest_window, window_);
}

// One timer is always on its way, and is set again from where progress was last made.
void AtpWorker::arm(Wire& wire) {
  if (armed_ || finished()) return;
  armed_ = true;
  const std::int64_t due = progress_ps_ + (settings_.timeout_ps << backoff_);
  wire.set_timer(std::max<std::int64_t>(due - wire.now_ps(), 1), 0);
}

void AtpWorker::on_timer(Wire& wire, std::uint64_t) {
  armed_ = false;
  if (!finished() && wire.now_ps() - progress_ps_ >= settings_.timeout_ps << backoff_) {
    ++statistics_.timeouts;
    progress_ps_ = wire.now_ps();
    backoff_ = std::min(backoff_ + 1, most_backoff);
    shrink();
    filled_ = una_ + 1;
    send(wire, una_, true);
  }
  arm(wire);
}

std::string AtpWorker::waiting() const {
  return fmt::format("packet {} of {} of flow {} to come back from its parameter server", una_, place_.packets, place_.flow);
}

}  // namespace weft

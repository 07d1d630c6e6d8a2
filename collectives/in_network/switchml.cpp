#include "collectives/in_network/switchml.hpp"

#include "kernels/compression/quantise.hpp"

#include <algorithm>
#include <span>

namespace weft {

std::vector<Problem> problems(const SwitchmlSettings& s) {
  std::vector<Problem> out;
  check_packet(s.payload, s.packet, s.resend_after(), out);
  check_host(s.framing, s.host, out);
  if (s.slots < 0) out.push_back({"/slots", fmt::format("must be at least 1, got {}", s.slots)});
  if (s.slots > 1 << 20) out.push_back({"/slots", fmt::format("must be at most {}, got {}", 1 << 20, s.slots)});
  return out;
}

SwitchmlWorker::SwitchmlWorker(const SwitchmlSettings& settings, const Part& part, PacketValues* values)
    : settings_(settings), part_(part), values_(values), slots_(static_cast<std::size_t>(part.slots)), end_(part.open ? 0 : part.packets) {
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) slots_[slot].packet = slot;
}

void SwitchmlWorker::start(Wire& wire) {
  if (part_.open) {
    if (!rounds_.any_ahead()) return;
    end_ = rounds_.begin(end_);
  } else if (finished()) {
    end_ += part_.packets;
  }
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot)
    if (!slots_[slot].sent) go_on(wire, slot);
}

void SwitchmlWorker::go_on(Wire& wire, std::uint32_t slot) {
  Slot& s = slots_[slot];
  if (s.packet >= end_) return;
  s.sent = true;
  s.timeouts = 0;
  ++statistics_.sent;
  send(wire, slot);
  if (!s.timed) arm(wire, slot, settings_.resend_after().ps);
}

void SwitchmlWorker::send(Wire& wire, std::uint32_t slot) {
  Slot& s = slots_[slot];
  s.sent_ps = wire.now_ps();
  Datagram d{.from = part_.self, .to = part_.at, .wire_bytes = static_cast<std::int32_t>(settings_.packet.count)};
  d.header.set(SwitchmlHeader{.packet = s.packet,
                              .job = part_.job,
                              .slot = slot,
                              .worker = static_cast<std::uint16_t>(part_.worker),
                              .version = static_cast<std::uint8_t>(s.packet / slots_.size() % 2)});
  d.payload = wire.new_payload();
  if (values_ && d.payload) values_->read(s.packet % part_.packets, d.payload.mutable_values());
  wire.send(std::move(d));
}

void SwitchmlWorker::on_datagram(Wire& wire, Datagram datagram) {
  const auto h = datagram.header.as<SwitchmlHeader>();
  if (h.job != part_.job || h.slot >= slots_.size() || h.packet >= end_) {
    ++statistics_.malformed;
    return;
  }
  if (!slots_[h.slot].sent || slots_[h.slot].packet != h.packet) {
    ++statistics_.duplicates;
    return;
  }
  Slot& s = slots_[h.slot];
  if (values_ && datagram.payload) values_->write(h.packet % part_.packets, datagram.payload.values());
  statistics_.overflow |= h.overflow != 0;
  ++done_;
  if (finished()) statistics_.finished_ps = wire.now_ps();
  s.sent = false;
  s.packet += static_cast<std::uint32_t>(slots_.size());
  while (whole_ < end_ && slots_[whole_ % slots_.size()].packet > whole_) ++whole_;
  go_on(wire, h.slot);
}

void SwitchmlWorker::arm(Wire& wire, std::uint32_t slot, std::int64_t after_ps) {
  slots_[slot].timed = true;
  wire.set_timer(after_ps, slot);
}

// One timer of each slot is on its way while it has something to send.
void SwitchmlWorker::on_timer(Wire& wire, std::uint64_t name) {
  const auto slot = static_cast<std::uint32_t>(name);
  Slot& s = slots_[slot];
  s.timed = false;
  if (!s.sent) return;
  const std::int64_t left = s.sent_ps + timeout_ps(s) - wire.now_ps();
  if (left > 0) return arm(wire, slot, left);
  ++statistics_.resent;
  ++s.timeouts;
  send(wire, slot);
  arm(wire, slot, timeout_ps(s));
}

// A packet that is lost now and then is retransmitted at the paper's pace. One that times out again and again waits in some queue, or
// for a worker that has not begun: at that pace its copies would fill the queue faster than it drains. A queue has an end, and so has the
// back-off: at the 64 times as long that TCP's timers may become (RFC 6298: from 1 s to 60 s). Without it, packets that are lost at random
// many times in a row would wait for minutes on an idle network.
std::int64_t SwitchmlWorker::timeout_ps(const Slot& slot) const {
  constexpr int at_the_same_pace = 3, max_backoff = 6;
  const int backoff = std::clamp(slot.timeouts - at_the_same_pace, 0, max_backoff);
  return settings_.resend_after().ps > (INT64_MAX >> backoff) ? INT64_MAX : settings_.resend_after().ps << backoff;
}

std::string SwitchmlWorker::waiting() const {
  if (slots_.empty()) return fmt::format("a share of the switch's slots for job {}", part_.job);
  return fmt::format("{} of {} packets of job {} to come back from the switch", end_ - done_, part_.packets, part_.job);
}

SwitchmlSwitch::SwitchmlSwitch(const SwitchmlSettings& settings, Address self, std::vector<SwitchmlPool> jobs)
    : settings_(settings), self_(self), jobs_(std::move(jobs)) {
  std::size_t slots = 0, bits = 0;
  for (const SwitchmlPool& job : jobs_) {
    first_slot_.push_back(slots);
    first_bit_.push_back(bits);
    slots += static_cast<std::size_t>(job.slots);
    bits += 2 * static_cast<std::size_t>(job.slots) * static_cast<std::size_t>(job.workers);
  }
  check(slots <= static_cast<std::size_t>(settings.places()), "{} slots are given out of {}", slots, settings.places());
  versions_.resize(2 * slots);
  seen_.resize(bits);
}

// Algorithm 3 of Sapio et al., with the packet's number kept beside each sum, so that copies from earlier rounds of a slot are
// told apart however late they come. A worker that sends in a version has the result of the other one, for which all
// workers had the result of this version's round before: so that may be overwritten.
void SwitchmlSwitch::on_datagram(Wire& wire, Datagram datagram) {
  if (datagram.to != self_) return wire.send(std::move(datagram));
  const auto h = datagram.header.as<SwitchmlHeader>();
  if (!sound(h)) {
    ++statistics_.malformed;
    return;
  }
  const auto job = static_cast<std::size_t>(h.job);
  const SwitchmlPool& pool = jobs_[job];
  const auto workers = static_cast<std::size_t>(pool.workers);
  const std::size_t own = 2 * std::size_t{h.slot} + h.version;  // among the versions of the job
  Version& v = versions_[2 * first_slot_[job] + own];
  const std::span<char> seen(seen_.data() + first_bit_[job] + own * workers, workers);
  if (v.started && h.packet < v.packet) {
    ++statistics_.duplicates;
    return;
  }
  if (!v.started || h.packet > v.packet) {
    v = {.started = true, .packet = h.packet};
    std::ranges::fill(seen, char{0});
  }
  if (seen[h.worker]) {
    ++statistics_.duplicates;
    if (v.count < pool.workers) return;
    ++statistics_.answered;
    return reply(wire, v, h, datagram.from);
  }
  seen[h.worker] = 1;
  ++statistics_.aggregated;
  if (v.count++ == 0) {
    statistics_.most_in_use = std::max(statistics_.most_in_use, ++in_use_);
    v.sum = std::move(datagram.payload);
  } else if (v.sum) {
    v.sum.make_own();
    v.overflow |= add_saturating(v.sum.mutable_values(), datagram.payload.values()) > 0;
  }
  if (v.count < pool.workers) return;
  --in_use_;
  ++statistics_.completed;
  reply(wire, v, h, pool.group);
}

// Of a worker and a slot of the job, and the packet's turn in the slot.
bool SwitchmlSwitch::sound(const SwitchmlHeader& h) const {
  if (h.job < 0 || static_cast<std::size_t>(h.job) >= jobs_.size()) return false;
  const SwitchmlPool& pool = jobs_[static_cast<std::size_t>(h.job)];
  const auto slots = static_cast<std::uint32_t>(pool.slots);
  return slots > 0 && h.worker < pool.workers && h.slot == h.packet % slots && h.version == h.packet / slots % 2;
}

void SwitchmlSwitch::reply(Wire& wire, const Version& v, SwitchmlHeader h, Address to) {
  h.overflow = v.overflow;
  Datagram d{.from = self_, .to = to, .wire_bytes = static_cast<std::int32_t>(settings_.packet.count)};
  d.header.set(h);
  d.payload = v.sum;
  wire.send(std::move(d));
}

}  // namespace weft

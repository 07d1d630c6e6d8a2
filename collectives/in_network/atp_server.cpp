#include "collectives/in_network/atp_server.hpp"

#include "kernels/compression/quantise.hpp"

#include <algorithm>

namespace weft {

// A worker is at most largest_window packets ahead of the oldest result it lacks, and a result needs all workers: so what
// any worker may still ask for is at most so far below base_, and what it may send at most so far above.
AtpServer::AtpServer(const AtpSettings& settings, const AtpTree& tree, const Part& part)
    : settings_(settings),
      tree_(tree),
      part_(part),
      words_((tree.members.size() + 63) / 64),
      behind_(tree.workers_of.size(), Words(words_, 0)),
      results_(2 * static_cast<std::size_t>(settings.window_limit())),
      counted_(results_.size() * words_, 0),
      workers_(words_, 0) {
  for (std::size_t bit = 0; bit < behind_.size(); ++bit)
    for (const int w : tree.workers_of[bit]) behind_[bit][static_cast<std::size_t>(w / 64)] |= std::uint64_t{1} << (w % 64);
}

void AtpServer::on_datagram(Wire& wire, Datagram datagram) {
  const auto h = datagram.header.as<AtpHeader>();
  if (!sound(h)) {
    ++statistics_.malformed;
    return;
  }
  ++statistics_.received;
  if (h.sequence < base_ || (result_of(h.sequence).sequence == h.sequence && result_of(h.sequence).missing == 0)) {
    if (result_of(h.sequence).sequence != h.sequence) {
      ++statistics_.late;
    } else if (h.resend) {
      ++statistics_.answered;
      send(wire, h.sequence, h.bits.count() == 1 && h.level <= 2 ? datagram.from : part_.workers);
    }
    return;
  }
  if (h.sequence - base_ >= results_.size() / 2) return;  // no worker of ours is so far ahead
  Result& r = result_of(h.sequence);
  if (r.missing < 0 || r.sequence != h.sequence) open(h.sequence);
  if (!r.parts.empty()) return add_floats(wire, std::move(datagram), h);
  if (h.overflow == AtpFit::floats) {  // nobody has asked for them
    ++statistics_.ignored;
    return;
  }
  datagram.congested |= h.marked != 0;
  if (h.level == 2 && h.bits.count() == tree_.racks) {  // all there is: whatever had come before is in it
    ++statistics_.whole;
    r.missing = 0;
    r.marked |= datagram.congested;
    r.fit = h.overflow;
    r.sum = std::move(datagram.payload);
  } else {
    add(r, datagram, h);
  }
  if (r.missing > 0) return;
  if (r.fit == AtpFit::overflow && settings_.floats) return ask_for_floats(wire, r);
  finish(wire, h.sequence);
}

void AtpServer::finish(Wire& wire, std::uint32_t sequence) {
  while (base_ < part_.packets && result_of(base_).sequence == base_ && result_of(base_).missing == 0) ++base_;
  send(wire, sequence, part_.workers);
}

void AtpServer::ask_for_floats(Wire& wire, Result& r) {
  send(wire, r.sequence, part_.workers);
  r.missing = static_cast<int>(tree_.members.size());
  r.parts.resize(tree_.members.size());
}

// Who retransmits anything else has not heard of it.
void AtpServer::add_floats(Wire& wire, Datagram datagram, const AtpHeader& h) {
  Result& r = result_of(h.sequence);
  read_workers(h);
  const auto word = std::ranges::find_if(workers_, [](std::uint64_t w) { return w != 0; });
  const auto worker = static_cast<std::size_t>(word - workers_.begin()) * 64 + static_cast<std::size_t>(std::countr_zero(*word));
  if (h.overflow != AtpFit::floats) {
    if (h.resend) send(wire, h.sequence, datagram.from);
    return;
  }
  if (h.bits.count() != 1 || r.parts[worker] || !datagram.payload) {
    ++statistics_.ignored;
    return;
  }
  r.parts[worker] = std::move(datagram.payload);
  r.marked |= datagram.congested;
  if (--r.missing > 0) return;
  r.sum.make_own();
  const std::span<std::int32_t> out = r.sum.mutable_values();
  for (std::size_t i = 0; i < out.size(); ++i) {
    double sum = 0;
    for (const Payload& part : r.parts) sum += static_cast<double>(std::bit_cast<float>(part.values()[i]));
    out[i] = std::bit_cast<std::int32_t>(static_cast<float>(sum));
  }
  r.parts.clear();
  r.fit = AtpFit::floats;
  ++statistics_.floats;
  finish(wire, h.sequence);
}

// A gradient of this flow, whose bits stand for workers of it.
bool AtpServer::sound(const AtpHeader& h) const {
  if (h.kind != AtpKind::gradient || h.flow != part_.flow || h.sequence >= part_.packets || h.bits.count() == 0) return false;
  if (h.level == 2) return h.bits.within(tree_.racks);
  return h.level == 1 && h.rack < tree_.workers_at.size() && h.bits.within(static_cast<int>(tree_.workers_at[h.rack].size()));
}

void AtpServer::open(std::uint32_t sequence) {
  result_of(sequence) = {.sequence = sequence, .missing = static_cast<int>(tree_.members.size())};
  std::ranges::fill(counted(sequence), 0);
}

void AtpServer::read_workers(const AtpHeader& h) {
  std::ranges::fill(workers_, 0);
  for (std::size_t word = 0; word < h.bits.words.size(); ++word)
    for (std::uint64_t bits = h.bits.words[word]; bits != 0; bits &= bits - 1) {
      const std::size_t bit = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      if (h.level == 2) {
        for (std::size_t i = 0; i < words_; ++i) workers_[i] |= behind_[bit][i];
      } else {
        const int w = tree_.workers_at[h.rack][bit];
        workers_[static_cast<std::size_t>(w / 64)] |= std::uint64_t{1} << (w % 64);
      }
    }
}

void AtpServer::add(Result& r, const Datagram& datagram, const AtpHeader& h) {
  read_workers(h);
  const std::span<std::uint64_t> have = counted(h.sequence);
  int more = 0;
  for (std::size_t i = 0; i < words_; ++i) {
    if ((have[i] & workers_[i]) != 0) {  // a sum cannot be taken apart: those of it that are missing will retransmit
      ++statistics_.ignored;
      return;
    }
    more += std::popcount(workers_[i]);
  }
  for (std::size_t i = 0; i < words_; ++i) have[i] |= workers_[i];
  ++statistics_.merged;
  r.missing -= more;
  r.marked |= datagram.congested;
  if (h.overflow != AtpFit::fits) r.fit = AtpFit::overflow;
  if (!r.sum) {
    r.sum = datagram.payload;
  } else {
    r.sum.make_own();
    if (add_saturating(r.sum.mutable_values(), datagram.payload.values()) > 0) r.fit = AtpFit::overflow;
  }
}

void AtpServer::send(Wire& wire, std::uint32_t sequence, Address to) {
  const Result& r = result_of(sequence);
  check(r.sequence == sequence && (r.missing == 0 || !r.parts.empty()), "packet {} of flow {} was asked for and is no longer kept",
        sequence, part_.flow);
  Datagram d{.from = part_.self, .to = to, .wire_bytes = static_cast<std::int32_t>(settings_.packet.count)};
  d.header.set(AtpHeader{
      .flow = part_.flow, .sequence = sequence, .finished = base_, .kind = AtpKind::parameter, .marked = r.marked, .overflow = r.fit});
  d.payload = r.sum;
  wire.send(std::move(d));
}

std::string AtpServer::waiting() const {
  std::string who = "all of its workers";
  const Result& r = results_[base_ % results_.size()];
  if (r.missing > 0 && r.sequence == base_) {
    who = "its workers ";
    const std::uint64_t* have = counted_.data() + base_ % results_.size() * words_;
    int named = 0;
    for (std::size_t w = 0; w < tree_.members.size() && named < 8; ++w)
      if ((have[w / 64] >> (w % 64) & 1) == 0) who += fmt::format("{}{}", named++ ? ", " : "", w);
    if (named < r.missing) who += ", ...";
  }
  return fmt::format("packet {} of {} of flow {} from {}", base_, part_.packets, part_.flow, who);
}

}  // namespace weft

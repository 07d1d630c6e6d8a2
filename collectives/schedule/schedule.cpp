#include "collectives/schedule/schedule.hpp"

#include "kernels/base/error.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace weft {

namespace {

constexpr std::array<std::string_view, 7> collective_names = {"allreduce", "reduce_scatter", "allgather", "broadcast",
                                                              "reduce",    "alltoall",       "barrier"};

std::string range(int first, int count) { return count == 1 ? fmt::format("{}", first) : fmt::format("{}..{}", first, first + count - 1); }

}  // namespace

std::string_view name_of(Collective collective) { return collective_names[static_cast<std::size_t>(collective)]; }

std::optional<Collective> collective_named(std::string_view name) {
  const auto found = std::find(collective_names.begin(), collective_names.end(), name);
  if (found == collective_names.end()) return std::nullopt;
  return static_cast<Collective>(found - collective_names.begin());
}

void Steps::produce(int step, Step& out) const {
  check(step >= 0 && step < count(), "step {} of a schedule of {} steps", step, count());
  out.clear();
  if (produce_)
    produce_(step, out);
  else
    out = held_[static_cast<std::size_t>(step)];
}

std::int64_t ChunkLayout::begin_of_piece(int c) const {
  const int part = c / last_piece.of, piece = c % last_piece.of, parts = chunks / last_piece.of;
  const std::int64_t begin = share(part, parts);
  if (piece == 0) return begin;
  const auto length = static_cast<double>(share(part + 1, parts) - begin);
  return begin + std::llround(length * piece / (last_piece.of - 1 + last_piece.part));
}

ChunkLayout layout_of(const Schedule& schedule, std::int64_t elements) { return {elements, schedule.chunks, schedule.last_piece}; }

int Schedule::steps() const {
  int longest = 0;
  for (const Steps& channel : channels) longest = std::max(longest, channel.count());
  return longest;
}

std::int64_t Schedule::messages() const {
  std::int64_t count = 0;
  Step step;
  for (const Steps& channel : channels)
    for (int k = 0; k < channel.count(); ++k) {
      channel.produce(k, step);
      for (const Transfer& t : step.transfers()) count += t.from != t.to;
    }
  return count;
}

std::string to_string(const Transfer& t) {
  std::string text = fmt::format("{}->{} {} {} {}", t.from, t.to, t.reduces ? "adds" : "copies", t.count == 1 ? "chunk" : "chunks",
                                 range(t.chunk, t.count));
  if (t.into != t.chunk && t.into != Transfer::same_chunk) text += fmt::format(" to {}", range(t.into, t.count));
  return text;
}

std::string to_string(const Schedule& s) {
  std::string text = fmt::format("{}: {}, {} ranks, {} chunks", s.name, name_of(s.collective), s.ranks, s.chunks);
  if (s.extra_chunks > 0) text += fmt::format(" + {} extra", s.extra_chunks);
  if (s.servers > 0) text += fmt::format(", the last {} of the ranks servers", s.servers);
  text += fmt::format(", {} steps", s.steps());
  if (s.collective == Collective::broadcast || s.collective == Collective::reduce) text += fmt::format(", root {}", s.root);
  if (s.channels.size() > 1) text += fmt::format(", {} channels", s.channels.size());
  text += '\n';
  Step step;
  for (std::size_t c = 0; c < s.channels.size(); ++c) {
    if (s.channels.size() > 1) text += fmt::format("channel {}:\n", c);
    for (int k = 0; k < s.channels[c].count(); ++k) {
      s.channels[c].produce(k, step);
      for (const Transfer& t : step.transfers()) fmt::format_to(std::back_inserter(text), "step {}: {}\n", k, to_string(t));
    }
  }
  return text;
}

}  // namespace weft

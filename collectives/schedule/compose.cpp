#include "collectives/schedule/compose.hpp"

#include "kernels/base/error.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace weft {

namespace {

Symmetry as_it_was(const Symmetry& symmetry) { return symmetry; }

// The same steps with every transfer changed in place, and what that makes of their symmetries.
template <class Change, class Rename>
Steps changed(const Steps& steps, Change change, const Rename& rename) {
  auto inner = std::make_shared<const Steps>(steps);
  Steps result(steps.count(), [inner, change = std::move(change)](int k, Step& out) {
    inner->produce(k, out);
    for (Transfer& t : out.mutable_transfers()) change(t);
  });
  for (const Symmetry& symmetry : steps.symmetries()) result.declare(rename(symmetry));
  return result;
}

template <class Change, class Rename>
Schedule with_each_transfer(const Schedule& schedule, const Change& change, const Rename& rename) {
  Schedule result = schedule;
  for (Steps& channel : result.channels) channel = changed(channel, change, rename);
  return result;
}

int multiplied(int a, int b) {
  int product = 0;
  check(!__builtin_mul_overflow(a, b, &product), "{} x {} chunks are too many to count", a, b);
  return product;
}

void append(Step& out, const Step& more) {
  std::vector<Transfer>& all = out.mutable_transfers();
  all.insert(all.end(), more.transfers().begin(), more.transfers().end());
}

// Brings all to one number of chunks, and checks that they speak of the same ranks.
std::vector<Schedule> on_common_chunks(const std::vector<Schedule>& schedules) {
  check(!schedules.empty(), "a composition of no schedules");
  int common = 1;
  for (const Schedule& s : schedules) {
    check(s.ranks == schedules.front().ranks, "{} has {} ranks but {} has {}", schedules.front().name, schedules.front().ranks, s.name,
          s.ranks);
    check(s.servers == schedules.front().servers, "{} has {} servers but {} has {}", schedules.front().name, schedules.front().servers,
          s.name, s.servers);
    common = multiplied(common / std::gcd(common, s.chunks), s.chunks);
  }
  std::vector<Schedule> result;
  for (const Schedule& s : schedules) result.push_back(refined(s, common / s.chunks));
  return result;
}

Schedule frame_of(const std::vector<Schedule>& schedules) {
  Schedule frame = schedules.front();
  frame.channels.clear();
  for (const Schedule& s : schedules) frame.extra_chunks = std::max(frame.extra_chunks, s.extra_chunks);
  return frame;
}

bool gives_blocks_to_ranks(Collective c) {
  return c == Collective::reduce_scatter || c == Collective::allgather || c == Collective::alltoall;
}

// The same schedule, of which any number of copies hold the steps only once.
Schedule shared(const Schedule& schedule) {
  return with_each_transfer(
      schedule, [](Transfer&) {}, as_it_was);
}

// Of all parts of a message cut into `parts` at once: of each block of `chunks`, or within each chunk that is cut.
Symmetry of_each_part(const Symmetry& symmetry, int chunks) {
  return {symmetry.rank, [=, chunk = symmetry.chunk](int c) { return c / chunks * chunks + chunk(c % chunks); }};
}
Symmetry of_each_piece(const Symmetry& symmetry, int parts) {
  return {symmetry.rank, [=, chunk = symmetry.chunk](int c) { return chunk(c / parts) * parts + c % parts; }};
}

// Part `part` of a message cut into `parts`.
Schedule part_of(const Schedule& schedule, int part, int parts) {
  const int chunks = multiplied(schedule.chunks, parts);
  if (!gives_blocks_to_ranks(schedule.collective)) return within(schedule, part * schedule.chunks, chunks);
  const auto change = [part, parts](Transfer& t) {
    if (t.count != 1) [[unlikely]]
      check(false, "cutting the chunks of a range ({}) would tear it apart", to_string(t));
    t.chunk = t.chunk * parts + part;
    t.into = t.into * parts + part;
  };
  Schedule result = with_each_transfer(schedule, change, [parts](const Symmetry& s) { return of_each_piece(s, parts); });
  result.chunks = chunks;
  result.extra_chunks = multiplied(schedule.extra_chunks, parts);
  return result;
}

// Of schedules on these ranks of many; the others stay who they are.
Symmetry among(const std::vector<Rank>& names, const Symmetry& symmetry) {
  std::unordered_map<Rank, Rank> images;
  for (std::size_t r = 0; r < names.size(); ++r)
    images.emplace(names[r], names[static_cast<std::size_t>(symmetry.rank(static_cast<Rank>(r)))]);
  const auto renamed = [images = std::move(images)](Rank r) {
    const auto image = images.find(r);
    return image == images.end() ? r : image->second;
  };
  return {.rank = renamed, .chunk = symmetry.chunk};
}

}  // namespace

Schedule over(const Schedule& schedule, const std::vector<Rank>& ranks_of_group, int total_ranks) {
  check(schedule.servers == 0, "{} has servers, which are the last of the ranks", schedule.name);
  check(static_cast<int>(ranks_of_group.size()) == schedule.ranks, "{} ranks for the {} of {}", ranks_of_group.size(), schedule.ranks,
        schedule.name);
  std::vector<char> taken(static_cast<std::size_t>(total_ranks));
  for (Rank r : ranks_of_group) {
    check(r >= 0 && r < total_ranks, "rank {} of a group is not one of {}", r, total_ranks);
    check(!taken[static_cast<std::size_t>(r)], "rank {} stands twice in a group", r);
    taken[static_cast<std::size_t>(r)] = 1;
  }
  auto names = std::make_shared<const std::vector<Rank>>(ranks_of_group);
  const auto change = [names](Transfer& t) {
    t.from = (*names)[static_cast<std::size_t>(t.from)];
    t.to = (*names)[static_cast<std::size_t>(t.to)];
  };
  Schedule result = with_each_transfer(schedule, change, [names](const Symmetry& s) { return among(*names, s); });
  result.ranks = total_ranks;
  result.root = ranks_of_group[static_cast<std::size_t>(schedule.root)];
  return result;
}

Schedule remap(const Schedule& schedule, const std::vector<Rank>& placement) { return over(schedule, placement, schedule.ranks); }

Schedule within(const Schedule& schedule, int first_chunk, int total_chunks) {
  const int chunks = schedule.chunks;
  check(first_chunk >= 0 && first_chunk + chunks <= total_chunks, "chunks {}..{} of {}", first_chunk, first_chunk + chunks - 1,
        total_chunks);
  if (first_chunk == 0 && total_chunks == chunks) return schedule;
  // Index i is chunk i mod chunks of block i / chunks; block 0 is the message, the others are extra space.
  const auto renamed = [=](int i) { return i / chunks * total_chunks + first_chunk + i % chunks; };
  const auto change = [=](Transfer& t) {
    if (t.chunk % chunks + t.count > chunks || t.into % chunks + t.count > chunks) [[unlikely]]
      check(false, "{} crosses from one block of {} chunks into the next", to_string(t), chunks);
    t.chunk = renamed(t.chunk);
    t.into = renamed(t.into);
  };
  Schedule result = with_each_transfer(schedule, change, [=](const Symmetry& s) {
    return Symmetry{s.rank, [=, chunk = s.chunk](int c) {
                      const int inside = c - first_chunk;
                      return inside >= 0 && inside < chunks ? first_chunk + chunk(inside) : c;
                    }};
  });
  result.chunks = total_chunks;
  result.extra_chunks = multiplied((schedule.extra_chunks + chunks - 1) / chunks, total_chunks);
  return result;
}

Schedule refined(const Schedule& schedule, int factor) {
  check(factor >= 1, "chunks cut into {}", factor);
  if (factor == 1) return schedule;
  const auto change = [factor](Transfer& t) {
    t.chunk *= factor;
    t.count *= factor;
    t.into *= factor;
  };
  Schedule result = with_each_transfer(schedule, change, [factor](const Symmetry& s) { return of_each_piece(s, factor); });
  result.chunks = multiplied(schedule.chunks, factor);
  result.extra_chunks = multiplied(schedule.extra_chunks, factor);
  return result;
}

Schedule then(const Schedule& first, const Schedule& second) {
  check(first.channels.size() == second.channels.size(), "{} channels cannot be followed by {}: their order would be open",
        first.channels.size(), second.channels.size());
  const std::vector<Schedule> parts = on_common_chunks({first, second});
  Schedule result = frame_of(parts);
  for (std::size_t c = 0; c < first.channels.size(); ++c) {
    auto a = std::make_shared<const Steps>(parts[0].channels[c]);
    auto b = std::make_shared<const Steps>(parts[1].channels[c]);
    result.channels.emplace_back(a->count() + b->count(), [a, b](int k, Step& out) {
      if (k < a->count())
        a->produce(k, out);
      else
        b->produce(k - a->count(), out);
    });
  }
  return result;
}

Schedule beside(const std::vector<Schedule>& schedules) {
  const std::vector<Schedule> parts = on_common_chunks(schedules);
  Schedule result = frame_of(parts);
  for (const Schedule& part : parts) result.channels.insert(result.channels.end(), part.channels.begin(), part.channels.end());
  return result;
}

Schedule together(const std::vector<Schedule>& schedules) {
  const std::vector<Schedule> parts = on_common_chunks(schedules);
  auto members = std::make_shared<std::vector<Steps>>();
  int longest = 0;
  for (const Schedule& part : parts) {
    check(part.channels.size() == 1, "{} has {} channels, which cannot share one", part.name, part.channels.size());
    members->push_back(part.channels.front());
    longest = std::max(longest, part.steps());
  }
  Schedule result = frame_of(parts);
  result.channels.emplace_back(longest, [members](int k, Step& out) {
    Step one;
    for (const Steps& steps : *members) {
      if (k >= steps.count()) continue;
      steps.produce(k, one);
      append(out, one);
    }
  });
  return result;
}

Schedule pipelined(const Schedule& schedule, int pieces) {
  check(pieces >= 1, "a message in {} pieces", pieces);
  if (pieces == 1) return schedule;
  const Schedule whole = shared(schedule);
  auto parts = std::make_shared<std::vector<Schedule>>();
  for (int p = 0; p < pieces; ++p) parts->push_back(part_of(whole, p, pieces));
  Schedule result = parts->front();
  result.channels.clear();
  for (std::size_t c = 0; c < schedule.channels.size(); ++c) {
    const int count = schedule.channels[c].count();
    result.channels.emplace_back(count == 0 ? 0 : count + pieces - 1, [parts, c, count, pieces](int k, Step& out) {
      Step one;
      for (int p = std::max(0, k - count + 1); p <= std::min(k, pieces - 1); ++p) {
        (*parts)[static_cast<std::size_t>(p)].channels[c].produce(k - p, one);
        append(out, one);
      }
    });
    for (const Symmetry& s : schedule.channels[c].symmetries())
      result.channels.back().declare(gives_blocks_to_ranks(schedule.collective) ? of_each_piece(s, pieces)
                                                                                : of_each_part(s, schedule.chunks));
  }
  return result;
}

Schedule channels(const Schedule& schedule, int n) {
  check(n >= 1, "a message in {} channels", n);
  if (n == 1) return schedule;
  const Schedule whole = shared(schedule);
  std::vector<Schedule> parts;
  for (int c = 0; c < n; ++c) parts.push_back(part_of(whole, c, n));
  return beside(parts);
}

Schedule staggered(const Schedule& schedule, int group) {
  check(group >= 1 && schedule.ranks % group == 0, "groups of {} do not divide {} ranks", group, schedule.ranks);
  check(!gives_blocks_to_ranks(schedule.collective), "{} gives blocks to ranks", schedule.name);
  Schedule result = schedule;
  const int n = static_cast<int>(schedule.channels.size());
  for (int c = 0; c < n; ++c) {
    const int turn = static_cast<int>(std::int64_t{c} * group / n);
    const auto turned_by = [=](Rank r, int by) { return r / group * group + (r % group + by) % group; };
    const auto turned = [=](Rank r) { return turned_by(r, turn); };
    const auto rename = [=](const Symmetry& s) {
      return Symmetry{[=, rank = s.rank](Rank r) { return turned(rank(turned_by(r, group - turn))); }, s.chunk};
    };
    Steps& channel = result.channels[static_cast<std::size_t>(c)];
    channel = changed(
        channel, [=](Transfer& t) { t.from = turned(t.from), t.to = turned(t.to); }, rename);
  }
  return result;
}

Schedule rotating(const Schedule& schedule) {
  check(schedule.chunks == schedule.ranks, "{} chunks do not turn with {} ranks", schedule.chunks, schedule.ranks);
  Schedule result = schedule;
  const auto next = [n = schedule.ranks](int i) { return i < n ? mod(i + 1, n) : i; };
  for (Steps& channel : result.channels) channel.declare({.rank = next, .chunk = next});
  return result;
}

}  // namespace weft

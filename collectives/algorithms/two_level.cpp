#include "collectives/algorithms/two_level.hpp"

#include "collectives/algorithms/fold.hpp"
#include "collectives/schedule/compose.hpp"

#include <algorithm>

namespace weft {
namespace {

struct Leading {
  Groups groups;
  int place = 0;  // of the leader in each group

  int count() const { return groups.ranks / groups.ranks_per_group; }
  Rank member(int group, int v) const { return group * groups.ranks_per_group + mod(place + v, groups.ranks_per_group); }
};

// A binomial tree in every group, neighbours first on the way up. Each(step, group, v, d): at distance d member v leads v + d.
template <class Each>
Schedule in_each_group(const Schedule& frame, const Leading& l, bool up, Each each) {
  const int g = l.groups.ranks_per_group, L = ceil_log2(g);
  Schedule s = frame;
  s.channels = {Steps(L, [=](int k, Step& step) {
    const int d = 1 << (up ? k : L - 1 - k);
    for (int group = 0; group < l.count(); ++group)
      for (int v = 0; v + d < g; v += 2 * d) each(step, group, v, d);
  })};
  return s;
}

Schedule sums_to_leaders(const Schedule& frame, const Leading& l) {
  return in_each_group(frame, l, true, [=](Step& step, int group, int v, int d) {
    step.reduce({.from = l.member(group, v + d), .to = l.member(group, v), .chunk = 0});
  });
}

Schedule copies_from_leaders(const Schedule& frame, const Leading& l) {
  return in_each_group(frame, l, false, [=, all = frame.chunks](Step& step, int group, int v, int d) {
    step.copy({.from = l.member(group, v), .to = l.member(group, v + d), .chunk = 0, .count = all});
  });
}

Schedule frame_of_all(const char* name, const Groups& groups, const Schedule& inner) {
  return {.name = name, .collective = inner.collective, .ranks = groups.ranks};
}

Schedule among_leaders(const Leading& l, const Schedule& inner) {
  std::vector<Rank> leaders;
  for (int group = 0; group < l.count(); ++group) leaders.push_back(l.member(group, 0));
  return over(inner, leaders, l.groups.ranks);
}

// The same in every group, all at once.
Schedule in_every_group(const Schedule& frame, const Leading& l, const Schedule& of_group) {
  std::vector<Schedule> all;
  for (int group = 0; group < l.count(); ++group) {
    std::vector<Rank> members;
    for (int v = 0; v < l.groups.ranks_per_group; ++v) members.push_back(l.member(group, v));
    all.push_back(over(of_group, members, l.groups.ranks));
  }
  Schedule s = together(all);
  s.name = frame.name;
  s.collective = frame.collective;
  return s;
}

Schedule to_leaders(const Schedule& frame, const Leading& l, const std::optional<Schedule>& up) {
  return up ? in_every_group(frame, l, *up) : sums_to_leaders(frame, l);
}
Schedule from_leaders(const Schedule& frame, const Leading& l, const std::optional<Schedule>& down) {
  return down ? in_every_group(frame, l, *down) : copies_from_leaders(frame, l);
}

}  // namespace

Schedule two_level_allreduce(const Groups& groups, const std::optional<Schedule>& up, const Schedule& inner,
                             const std::optional<Schedule>& down) {
  const Leading first{groups};
  const Schedule frame = frame_of_all("two_level_allreduce", groups, inner);
  return then(then(to_leaders(frame, first, up), among_leaders(first, inner)), from_leaders(frame, first, down));
}

Schedule two_level_barrier(const Groups& groups, const Schedule& inner) {
  const Leading first{groups};
  const Schedule frame = frame_of_all("two_level_barrier", groups, inner);
  return then(then(sums_to_leaders(frame, first), among_leaders(first, inner)), copies_from_leaders(frame, first));
}

Schedule two_level_allgather(const Groups& groups, const Schedule& inner) {
  const Leading first{groups};
  const int g = groups.ranks_per_group;
  Schedule frame = frame_of_all("two_level_allgather", groups, inner);
  frame.chunks = groups.ranks;
  const Schedule gather = in_each_group(frame, first, true, [=](Step& step, int group, int v, int d) {
    const Rank from = first.member(group, v + d);
    step.copy({.from = from, .to = first.member(group, v), .chunk = from, .count = std::min(d, g - v - d)});
  });
  return then(then(gather, among_leaders(first, inner)), copies_from_leaders(frame, first));
}

Schedule two_level_broadcast(const Groups& groups, Rank root, const Schedule& inner, const std::optional<Schedule>& down) {
  const Leading roots{groups, root % groups.ranks_per_group};
  Schedule s = then(among_leaders(roots, inner), from_leaders(frame_of_all("two_level_broadcast", groups, inner), roots, down));
  s.name = "two_level_broadcast";
  s.root = root;
  return s;
}

Schedule two_level_reduce(const Groups& groups, Rank root, const std::optional<Schedule>& up, const Schedule& inner) {
  const Leading roots{groups, root % groups.ranks_per_group};
  Schedule s = then(to_leaders(frame_of_all("two_level_reduce", groups, inner), roots, up), among_leaders(roots, inner));
  s.root = root;
  return s;
}

}  // namespace weft

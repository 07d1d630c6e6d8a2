#include "models/fabric/routes.hpp"

#include "kernels/base/error.hpp"
#include "kernels/base/hash.hpp"
#include "kernels/base/prefetch.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace weft {
namespace {

constexpr std::uint64_t pair_of(int from, int to) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(from)) << 32 | static_cast<std::uint32_t>(to);
}

}  // namespace

std::uint64_t hash_of(std::uint64_t seed, int from, int to) {
  return mixed(mixed(seed * golden_ratio + golden_ratio) + pair_of(from, to) * golden_ratio);
}

Routes::Routes(const Fabric& fabric, Ecmp ecmp) : fabric_(fabric), ecmp_(ecmp), slots_(64) {
  std::map<LinkKind, std::uint32_t> known;
  for (LinkId link = 0; link < fabric.links(); ++link) {
    const auto [at, fresh] = known.try_emplace(kind_of(fabric, link), static_cast<std::uint32_t>(kinds_.size()));
    if (fresh) kinds_.push_back(at->first);
    kind_of_link_.push_back(at->second);
  }
  if (ecmp.policy != EcmpPolicy::least_loaded) return;
  flows_.resize(static_cast<std::size_t>(fabric.links()));
  routes_of_others_.resize(static_cast<std::size_t>(fabric.links()));
}

int Routes::add_switches(std::span<const int> endpoints) {
  const auto number = static_cast<int>(trees_.size());
  trees_.push_back(std::make_shared<const SwitchTree>(switch_tree(fabric_, endpoints, number)));
  return fabric_.endpoints() + number;
}

Routes Routes::fresh() const {
  Routes out(fabric_, ecmp_);
  out.trees_ = trees_;
  return out;
}

RouteId Routes::of(int from, int to) {
  const std::uint64_t pair = pair_of(from, to);
  Slot* slot = &slot_of(pair);
  if (slot->route < 0) {
    if (2 * (latency_.size() + 1) > slots_.size()) {
      grow();
      slot = &slot_of(pair);
    }
    *slot = {pair, add_route(from, to)};
  }
  if (ecmp_.policy == EcmpPolicy::least_loaded) count_flow(slot->route);
  return slot->route;
}

void Routes::begin_step() {
  for (const LinkId link : loaded_) flows_[static_cast<std::size_t>(link)] = 0;
  loaded_.clear();
}

void Routes::begin_schedule() {
  begin_step();
  if (ecmp_.policy != EcmpPolicy::least_loaded) return;
  for (; first_own_ < size(); ++first_own_)
    for (const Hop& hop : hops(first_own_)) ++routes_of_others_[static_cast<std::size_t>(hop.link)];
}

std::size_t Routes::first_place(std::uint64_t pair) const { return mixed(pair) & (slots_.size() - 1); }

void Routes::fetch(int from, int to) const { prefetch(&slots_[first_place(pair_of(from, to))]); }

Routes::Slot& Routes::slot_of(std::uint64_t pair) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = first_place(pair);
  while (slots_[at].route >= 0 && slots_[at].pair != pair) at = (at + 1) & mask;
  return slots_[at];
}

void Routes::grow() {
  LargeTable<Slot> old(2 * slots_.size());
  old.swap(slots_);
  for (const Slot& slot : old)
    if (slot.route >= 0) slot_of(slot.pair) = slot;
}

RouteId Routes::add_route_of_tree(int from, int to) {
  const bool up = are_switches(to);
  const SwitchTree& tree = *trees_.at(static_cast<std::size_t>((up ? to : from) - fabric_.endpoints()));
  const auto way = tree.ways.find(up ? from : to);
  check(way != tree.ways.end(), "endpoint {} sends to switches that are not its own", up ? from : to);
  BitsPerSecond bandwidth{std::numeric_limits<std::int64_t>::max()};
  for (const Hop& hop : way->second.hops) bandwidth = std::min(bandwidth, fabric_.link(hop.link).bandwidth);
  hops_.insert(hops_.end(), way->second.hops.begin(), way->second.hops.end());
  first_hop_.push_back(hops_.size());
  latency_.push_back(up ? way->second.up : way->second.down);
  bandwidth_.push_back(bandwidth);
  path_class_.push_back(way->second.path_class);
  terms_.push_back(way->second.terms);
  of_switches_.push_back(1);
  return static_cast<RouteId>(latency_.size() - 1);
}

RouteId Routes::add_route(int from, int to) {
  if (are_switches(from) || are_switches(to)) return add_route_of_tree(from, to);
  check(from >= 0 && to >= 0 && from < fabric_.endpoints() && to < fabric_.endpoints() && from != to,
        "no route from endpoint {} to {} on a fabric of {}", from, to, fabric_.endpoints());
  const int choice = choose(from, to);
  candidate_.clear();
  fabric_.append_path(from, to, choice, candidate_);
  SimTime latency;
  BitsPerSecond bandwidth{std::numeric_limits<std::int64_t>::max()};
  PathClassifier way;
  for (const Hop& hop : candidate_) {
    const LinkKind& link = kinds_[kind_of_link_[static_cast<std::size_t>(hop.link)]];
    way.go_over(link);
    latency += link.latency;
    bandwidth = std::min(bandwidth, link.bandwidth);
  }
  hops_.insert(hops_.end(), candidate_.begin(), candidate_.end());
  first_hop_.push_back(hops_.size());
  latency_.push_back(latency);
  bandwidth_.push_back(bandwidth);
  path_class_.push_back(way.result());
  terms_.push_back(fabric_.terms(from, to));
  of_switches_.push_back(0);
  return static_cast<RouteId>(latency_.size() - 1);
}

int Routes::choose(int from, int to) {
  const int choices = fabric_.path_count(from, to);
  if (choices == 1) return 0;
  switch (ecmp_.policy) {
    case EcmpPolicy::hash:
      return static_cast<int>(hash_of(ecmp_.seed, from, to) % static_cast<std::uint64_t>(choices));
    case EcmpPolicy::d_mod_k:
      return to % choices;
    case EcmpPolicy::least_loaded:
      return least_loaded(from, to, choices);
  }
  return 0;
}

// Links of endpoints do not count: the choices share them, and where they are the busiest no choice would look better than
// another.
int Routes::least_loaded(int from, int to, int choices) {
  int best = 0;
  constexpr int most = std::numeric_limits<int>::max();
  std::pair fewest(most, most);  // flows of the step, routes of others
  for (int choice = 0; choice < choices && fewest > std::pair(0, 0); ++choice) {
    candidate_.clear();
    fabric_.append_path(from, to, choice, candidate_);
    std::pair busiest(0, 0);
    for (const Hop& hop : candidate_) {
      if (!fabric_.between_switches(hop.link)) continue;
      const auto link = static_cast<std::size_t>(hop.link);
      busiest = {std::max(busiest.first, flows_[link]), std::max(busiest.second, routes_of_others_[link])};
    }
    if (busiest < fewest) best = choice, fewest = busiest;
  }
  return best;
}

void Routes::count_flow(RouteId id) {
  for (const Hop& hop : hops(id))
    if (flows_[static_cast<std::size_t>(hop.link)]++ == 0) loaded_.push_back(hop.link);
}

}  // namespace weft

#include "sim/network/fluid.hpp"

#include "kernels/base/error.hpp"
#include "kernels/base/hash.hpp"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

// Rounded up; never() where a SimTime holds no more.
std::int64_t whole_ps(double ps) { return ps < 0x1p63 ? static_cast<std::int64_t>(std::ceil(ps)) : SimTime::never().ps; }

}  // namespace

FluidNetwork::FluidNetwork(std::vector<BitsPerSecond> capacity_of_link) {
  links_.reserve(capacity_of_link.size());
  for (const BitsPerSecond capacity : capacity_of_link) add_link(capacity);
}

LinkId FluidNetwork::add_link(BitsPerSecond capacity) {
  links_.push_back({.capacity = static_cast<double>(capacity.count), .head = none, .flows = 0, .left = 0, .unfrozen = 0});
  if (detour_) nominal_.push_back(static_cast<double>(capacity.count)), remaining_.push_back(1), carried_.push_back(0);
  if (claims_) unfrozen_weight_.resize(links_.size());
  return static_cast<LinkId>(links_.size() - 1);
}

void FluidNetwork::lose_two_way(LinkId id, TwoWayLoad load) {
  check(load.rate.count > 0 && load.opposite >= 0 && load.opposite != id, "two-way load of link {}", id);
  for (const auto& [one, other] : {std::pair{id, load.opposite}, std::pair{load.opposite, id}}) {
    LinkState& link = links_[static_cast<std::size_t>(one)];
    link.opposite = other;
    link.two_way = static_cast<double>(load.rate.count);
    link.alone = link.capacity;
  }
}

FluidNetwork::RouteIndex FluidNetwork::add_route(std::span<const Hop> hops, SimTime latency, FlowClaim claim, BitsPerSecond rate) {
  check(!hops.empty(), "a route needs a link");
  if (rate.count > 0) {  // a link of its own, which all of its flows share
    std::vector<Hop> with_own(hops.begin(), hops.end());
    with_own.push_back({.link = add_link(rate)});
    return add_route(with_own, latency, claim);
  }
  check(routes_.size() < most_routes, "{} routes", routes_.size());
  check(claim.weight > 0 && claim.ceiling.count >= 0, "a route of weight {} and ceiling {}", claim.weight, claim.ceiling.count);
  std::vector<LinkId> path;
  for (const Hop& hop : hops) path.push_back(hop.link);
  if (detour_) {
    first_paths_.push_back(path);
    path = detour_(path);
    rerouted_ += path != first_paths_.back() ? 1 : 0;
  }
  if (claim != FlowClaim{}) {
    claims_ = true;
    unfrozen_weight_.resize(links_.size());
  }
  routes_.push_back(route_over(path, {.latency_ps = latency.ps,
                                      .bits_per_second = 0,
                                      .weight = claim.weight,
                                      .ceiling = claim.ceiling.count > 0 ? static_cast<double>(claim.ceiling.count) : HUGE_VAL}));
  return static_cast<RouteIndex>(routes_.size() - 1);
}

// Its rate is found here.
FluidNetwork::Route FluidNetwork::route_over(std::span<const LinkId> path, RouteTerms terms) {
  check(path.size() < Route::by_ceiling, "a route of {} links", path.size());
  Route route{.terms = 0, .hops = static_cast<std::uint16_t>(path.size()), .narrowest = 0, .links = {}};
  terms.bits_per_second = INT64_MAX;
  for (std::size_t hop = 0; hop < path.size(); ++hop) {
    const auto at = static_cast<std::size_t>(path[hop]);
    const auto capacity = static_cast<std::int64_t>(detour_ ? nominal_[at] : links_[at].capacity);
    if (capacity < terms.bits_per_second) terms.bits_per_second = capacity, route.narrowest = static_cast<std::uint16_t>(hop);
  }
  if (static_cast<double>(terms.bits_per_second) > terms.ceiling)
    terms.bits_per_second = static_cast<std::int64_t>(terms.ceiling), route.narrowest = Route::by_ceiling;
  if (terms_.empty() || terms_.back() != terms) {
    const auto [known, fresh] = known_terms_.try_emplace(terms, static_cast<std::uint32_t>(terms_.size()));
    if (fresh) terms_.push_back(terms);
    route.terms = known->second;
  } else {
    route.terms = static_cast<std::uint32_t>(terms_.size() - 1);
  }
  hold_path(route, path);
  if (route.hops > stride_) widen_stride(route.hops);
  return route;
}

void FluidNetwork::hold_path(Route& route, std::span<const LinkId> path) {
  if (path.size() <= Route::most_held) {
    std::ranges::copy(path, route.links.begin());
  } else {
    route.links.front() = static_cast<LinkId>(long_paths_.size());
    long_paths_.insert(long_paths_.end(), path.begin(), path.end());
  }
}

// Entries are addressed by flow and hop; a longer route than any before moves them all.
void FluidNetwork::widen_stride(std::uint32_t hops) {
  const auto moved = [&](std::uint32_t entry) { return entry == none ? none : entry / stride_ * hops + entry % stride_; };
  LargeTable<Entry> wider(flows_.size() * hops);
  for (std::uint32_t entry = 0; entry < entries_.size(); ++entry)
    wider[moved(entry)] = {entries_[entry].link, moved(entries_[entry].next), moved(entries_[entry].previous)};
  for (LinkState& link : links_) link.head = moved(link.head);
  entries_ = std::move(wider);
  stride_ = hops;
}

void FluidNetwork::start(RouteIndex route, std::int64_t bytes, SimTime at, std::uint32_t token) {
  const std::uint32_t flow = new_flow(route, bytes, token);
  take_links(flow);
  queue_.push(later(at.ps, terms_of(routes_[route]).latency_ps), flow << 1);
}

void FluidNetwork::take_links(std::uint32_t flow) {
  const std::span<const LinkId> path = path_of(routes_[flows_[flow].route]);
  Entry* entry = &entries_[flow * stride_];
  for (const LinkId link : path) (entry++)->link = link;
  if (path.size() < stride_) entry->link = no_link;
}

std::uint32_t FluidNetwork::new_flow(RouteIndex route, std::int64_t bytes, std::uint32_t token) {
  std::uint32_t flow;
  if (free_flows_.empty()) {
    flow = static_cast<std::uint32_t>(flows_.size());
    flows_.emplace_back();
    entries_.resize(entries_.size() + stride_);
    if (recording_) decisions_.emplace_back();
  } else {
    flow = free_flows_.back();
    free_flows_.pop_back();
  }
  Flow& f = flows_[flow];
  f.bytes = bytes;
  f.rate = 0;
  f.route = route & no_route;
  f.token = token;
  f.problem = 0;
  f.bottleneck = no_link;
  f.active = 0;
  f.settled = 0;
  if (recording_) decisions_[flow] = {};
  return flow;
}

void FluidNetwork::join_links(std::uint32_t flow) {
  flows_[flow].updated_ps = now_;
  flows_[flow].remaining_bits = 8.0 * static_cast<double>(flows_[flow].bytes);
  if (detour_) {
    take_links(flow);  // its route may have another path than when it was started
    on_path_since_.resize(flows_.size());
    on_path_since_[flow] = flows_[flow].remaining_bits;
  }
  enter_links(flow);
}

void FluidNetwork::enter_links(std::uint32_t flow) {
  flows_[flow].active = 1;
  ++active_;
  for_hops_of(flow, [&](std::uint32_t entry) {
    const LinkId id = entries_[entry].link;
    LinkState& link = links_[static_cast<std::size_t>(id)];
    entries_[entry] = {.link = id, .next = link.head, .previous = none};
    if (link.head != none) entries_[link.head].previous = entry;
    link.head = entry;
    ++link.flows;
    if (link.opposite != no_link) two_way_.push_back(id);
  });
  joined_.push_back(flow);
}

void FluidNetwork::leave_links(std::uint32_t flow) {
  flows_[flow].active = 0;
  --active_;
  hold_back(flows_[flow], no_link);
  for_hops_of(flow, [&](std::uint32_t entry) {
    const Entry e = entries_[entry];
    LinkState& link = links_[static_cast<std::size_t>(e.link)];
    (e.previous == none ? link.head : entries_[e.previous].next) = e.next;
    if (e.next != none) entries_[e.next].previous = e.previous;
    if (--link.flows > 0) loosened_.push_back(e.link);
    if (link.opposite != no_link) two_way_.push_back(e.link);
  });
}

// From now on the flow's rate is decided by that link.
void FluidNetwork::hold_back(Flow& flow, LinkId bottleneck) {
  if (flow.bottleneck == bottleneck) return;
  if (flow.bottleneck != no_link) --links_[static_cast<std::size_t>(flow.bottleneck)].holds;
  if (bottleneck != no_link) ++links_[static_cast<std::size_t>(bottleneck)].holds;
  flow.bottleneck = bottleneck;
}

std::int64_t FluidNetwork::alone_ps(std::int64_t bytes, std::int64_t bits_per_second) {
  // Most messages of a run have one of a few sizes; the 128-bit division is worth remembering.
  Quotient& known = quotients_[static_cast<std::size_t>((static_cast<std::uint64_t>(bytes) * golden_ratio) >> 58)];
  if (known.bytes != bytes || known.bits_per_second != bits_per_second)
    known = {bytes, bits_per_second, (Bytes{bytes} / BitsPerSecond{bits_per_second}).ps};
  return known.ps;
}

void FluidNetwork::change_capacities() {
  for (const LinkId id : two_way_) {
    change_capacity(id);
    change_capacity(links_[static_cast<std::size_t>(id)].opposite);
  }
  two_way_.clear();
}

void FluidNetwork::change_capacity(LinkId id) {
  LinkState& link = links_[static_cast<std::size_t>(id)];
  const std::uint32_t opposite = links_[static_cast<std::size_t>(link.opposite)].flows;
  const double capacity = link.flows > 0 && opposite > 0 ? std::min(link.alone, link.two_way / (link.flows + opposite)) : link.alone;
  if (capacity == link.capacity) return;
  link.capacity = capacity;
  for (std::uint32_t entry = link.head; entry != none; entry = entries_[entry].next) admit(entry / stride_);
}

// Gives every flow that this date's comings and goings change its new rate.
void FluidNetwork::settle() {
  ++problem_;
  members_.clear();
  member_links_.clear();
  with_links_ = 0;
  change_capacities();
  for (const LinkId id : touched_)
    for (std::uint32_t entry = links_[static_cast<std::size_t>(id)].head; entry != none; entry = entries_[entry].next)
      admit(entry / stride_);
  touched_.clear();
  const auto alone_on_its_links = [&](std::uint32_t flow) {
    bool alone = true;
    for_links_of(flow, [&](const LinkState& link, LinkId) {
      alone = alone && link.flows == 1 && (link.opposite == no_link || link.capacity == link.alone);
    });
    return alone;
  };
  for (std::size_t i = 0; i < joined_.size(); ++i) {
    const std::uint32_t flow = joined_[i];
    if (i + 2 < joined_.size()) fetch_flow(joined_[i + 2]);
    if (i + 1 < joined_.size()) {
      fetch_links(joined_[i + 1]);
      fetch_route(flows_[joined_[i + 1]].route);
    }
    Flow& f = flows_[flow];
    if (!f.active) continue;
    if (altered_ == 0 && !f.settled && alone_on_its_links(flow)) {
      const Route& route = routes_[f.route];
      const std::int64_t bits_per_second = terms_of(route).bits_per_second;
      f.rate = static_cast<double>(bits_per_second);
      hold_back(f, narrowest_of(route));
      if (recording_) decisions_[flow].link = f.bottleneck;
      f.settled = 1;
      f.end_ps = later(now_, alone_ps(f.bytes, bits_per_second));
      expect_end(flow);
    } else {
      admit(flow);
    }
  }
  for (std::size_t i = 0, joined = members_.size(); i < joined; ++i) admit_slowed_by(members_[i]);
  joined_.clear();
  for (std::size_t i = 0; i < loosened_.size(); ++i) {
    const LinkId id = loosened_[i];
    LinkState& link = links_[static_cast<std::size_t>(id)];
    if (i + 2 < loosened_.size()) fetch_first_flow(links_[static_cast<std::size_t>(loosened_[i + 2])]);
    if (link.holds == 0 || link.loosened == problem_) continue;  // the latter where several have left it
    link.loosened = problem_;
    for (std::uint32_t entry = link.head; entry != none; entry = entries_[entry].next) {
      const std::uint32_t flow = entry / stride_;
      const bool newcomer = flows_[flow].updated_ps == now_;  // which has been looked at
      if (flows_[flow].rate > 0 && !newcomer && flows_[flow].bottleneck == id) admit(flow);
    }
  }
  loosened_.clear();
  if (members_.empty()) return;

  ++solves_;
  claims_ ? solve<true>() : solve<false>();
  for (const std::uint32_t flow : members_) set_rate(flow, flows_[flow].next_rate);
}

template <bool claims>
void FluidNetwork::solve() {
  for (int round = 0;; ++round) {
    share_out<claims>();
    if (!admit_unsettled<claims>()) break;
    // Changes that keep spreading are followed a whole neighbourhood at a time.
    if (round >= 4) admit_neighbours();
  }
}

void FluidNetwork::admit(std::uint32_t flow) {
  Flow& f = flows_[flow];
  if (f.problem == problem_) return;
  f.problem = problem_;
  members_.push_back(flow);
}

// Not at once as each is admitted: so what the next ones need can be asked for.
void FluidNetwork::add_links_of_members() {
  const std::size_t ahead = flows_.size() > flows_in_cache ? 2 : 0;
  for (std::size_t i = with_links_; i < std::min(with_links_ + ahead, members_.size()); ++i) fetch_links(members_[i]);
  for (; with_links_ < members_.size(); ++with_links_) {
    if (ahead > 0 && with_links_ + ahead < members_.size()) fetch_links(members_[with_links_ + ahead]);
    for_links_of(members_[with_links_], [&](LinkState& link, LinkId id) {
      if (link.flows == 1 || link.problem == problem_) return;
      link.problem = problem_;
      member_links_.push_back(id);
    });
  }
}

// Flows that a newcomer is likely to slow down: those above an equal share of a link it uses. Only a head start.
void FluidNetwork::admit_slowed_by(std::uint32_t newcomer) {
  for_links_of(newcomer, [&](LinkState& link, LinkId) {
    if (link.searched == problem_) return;
    link.searched = problem_;
    const double equal_share = link.capacity / link.flows;
    for (std::uint32_t entry = link.head; entry != none; entry = entries_[entry].next)
      if (const std::uint32_t flow = entry / stride_; flows_[flow].rate > equal_share) admit(flow);
  });
}

void FluidNetwork::admit_neighbours() {
  add_links_of_members();
  for (std::size_t i = 0, before = member_links_.size(); i < before; ++i)
    for (std::uint32_t entry = links_[static_cast<std::size_t>(member_links_[i])].head; entry != none; entry = entries_[entry].next)
      admit(entry / stride_);
}

// Progressive filling of what non-members leave of each link: the link with the smallest share fixes the rate of its
// members, which lowers what is left to others. Shares only grow while that goes on, so an outdated one in the heap is
// found out when it comes up. All shares are for each unit of weight.
template <bool claims>
void FluidNetwork::share_out() {
  add_links_of_members();
  solved_flows_ += members_.size();
  bottlenecks_.clear();
  others_.clear();
  for (const LinkId id : member_links_) {
    LinkState& link = links_[static_cast<std::size_t>(id)];
    link.left = link.capacity;
    link.unfrozen = 0;
    double weight = 0;
    for (std::uint32_t entry = link.head; entry != none; entry = entries_[entry].next) {
      const Flow& flow = flows_[entry / stride_];
      if (flow.problem != problem_) {
        link.left -= flow.rate;
        continue;
      }
      ++link.unfrozen;
      if constexpr (claims) weight += weight_of<claims>(flow);
    }
    link.left = std::max(0.0, link.left);
    others_.push_back(link.flows - link.unfrozen);
    if constexpr (claims) unfrozen_weight_[static_cast<std::size_t>(id)] = weight;
    bottlenecks_.push_back({link.left / unfrozen_weight<claims>(id), id, none});
  }
  for (const std::uint32_t flow : members_) {
    flows_[flow].frozen = 0;
    Bottleneck alone{HUGE_VAL, 0, flow};
    double most = HUGE_VAL;  // that its shared links can give it
    for_links_of(flow, [&](const LinkState& link, LinkId id) {
      if (link.flows > 1)
        most = std::min(most, link.left);
      else if (link.capacity < alone.share)
        alone.share = link.capacity, alone.link = id;
    });
    if constexpr (claims) {
      const RouteTerms& terms = terms_of(routes_[flows_[flow].route]);
      if (terms.ceiling < alone.share) alone.share = terms.ceiling, alone.link = no_link;
      if (alone.share >= most) continue;
      alone.share /= terms.weight;
      bottlenecks_.push_back(alone);
    } else if (alone.share < most) {
      bottlenecks_.push_back(alone);
    }
  }
  std::ranges::make_heap(bottlenecks_, LargerShare{});
  for (std::size_t to_freeze = members_.size(); to_freeze > 0;) {
    std::ranges::pop_heap(bottlenecks_, LargerShare{});
    const Bottleneck least = bottlenecks_.back();
    bottlenecks_.pop_back();
    if (least.flow != none) {
      if (flows_[least.flow].frozen) continue;
      give<claims>(least.flow, least.share, least.link);
      --to_freeze;
      continue;
    }
    const LinkState& link = links_[static_cast<std::size_t>(least.link)];
    if (link.unfrozen == 0) continue;
    const double share = link.left / unfrozen_weight<claims>(least.link);
    if (share > least.share) {
      bottlenecks_.push_back({share, least.link, none});
      std::ranges::push_heap(bottlenecks_, LargerShare{});
      continue;
    }
    for (std::uint32_t entry = link.head; entry != none; entry = entries_[entry].next) {
      const std::uint32_t flow = entry / stride_;
      if (flows_[flow].problem != problem_ || flows_[flow].frozen) continue;
      give<claims>(flow, least.share, least.link);
      --to_freeze;
    }
  }
}

template <bool claims>
void FluidNetwork::give(std::uint32_t flow, double share, LinkId bottleneck) {
  Flow& f = flows_[flow];
  const double rate = share * weight_of<claims>(f);
  f.frozen = 1;
  f.next_rate = rate;
  hold_back(f, bottleneck);
  for_links_of(flow, [&](LinkState& link, [[maybe_unused]] LinkId id) {
    link.left = std::max(0.0, link.left - rate);
    --link.unfrozen;
    if constexpr (claims) unfrozen_weight_[static_cast<std::size_t>(id)] -= weight_of<claims>(f);
  });
}

// Admits the non-members that the members' next rates leave without a bottleneck, or faster than a member on the
// member's bottleneck. False if there are none: then all rates together are max-min fair. With weights it is rates for each
// unit of weight that are compared.
template <bool claims>
bool FluidNetwork::admit_unsettled() {
  const std::size_t before = members_.size();
  for (std::size_t i = 0, links = member_links_.size(); i < links; ++i) {
    if (others_[i] == 0) continue;
    const LinkId id = member_links_[i];
    const LinkState& link = links_[static_cast<std::size_t>(id)];
    double load = 0, fastest_member = 0, slowest_held = HUGE_VAL;
    for (std::uint32_t entry = link.head; entry != none; entry = entries_[entry].next) {
      const Flow& flow = flows_[entry / stride_];
      if (flow.problem != problem_) {
        load += flow.rate;
        continue;
      }
      load += flow.next_rate;
      const double share = flow.next_rate / weight_of<claims>(flow);
      fastest_member = std::max(fastest_member, share);
      if (flow.bottleneck == id) slowest_held = std::min(slowest_held, share);
    }
    const bool saturated = load >= link.capacity * (1 - tolerance);
    for (std::uint32_t entry = link.head; entry != none; entry = entries_[entry].next) {
      const Flow& flow = flows_[entry / stride_];
      if (flow.problem == problem_) continue;
      const double share = flow.rate / weight_of<claims>(flow);
      const bool freed = flow.bottleneck == id && (!saturated || fastest_member > share * (1 + tolerance));
      const bool too_fast = share > slowest_held * (1 + tolerance);
      if (freed || too_fast) admit(entry / stride_);
    }
  }
  return members_.size() > before;
}

void FluidNetwork::set_rate(std::uint32_t flow, double rate) {
  Flow& f = flows_[flow];
  if (recording_) note_bottleneck(flow);
  const bool stood = f.settled && f.rate == 0;
  f.settled = 1;
  // What differs in the last bits only is the same rate reached by another order of subtractions.
  if (f.rate > 0 && std::abs(rate - f.rate) <= 1e-12 * f.rate) return;
  const double left = std::max(0.0, f.remaining_bits - f.rate * static_cast<double>(now_ - f.updated_ps) * 1e-12);
  if (activity_) note_use(f, f.remaining_bits - left);
  f.remaining_bits = left;
  f.updated_ps = now_;
  f.rate = rate;
  if (rate == 0) {  // a link of its path is down
    f.end_ps = SimTime::never().ps;
    if (!stood) standing_.push_back(flow), ++interrupted_;
    return;
  }
  const double ps = f.remaining_bits / rate * 1e12;
  // A quotient a rounding error above a whole picosecond is that picosecond.
  f.end_ps = later(now_, std::max<std::int64_t>(1, whole_ps(ps - ps * 1e-15)));
  if (active_ > exact_up_to) {
    const double grid =
        std::ldexp(1.0, std::ilogb(8.0 * static_cast<double>(f.bytes) / rate * 1e12 * coarseness * static_cast<double>(active_)));
    if (grid > 1) f.end_ps = whole_ps(std::ceil(static_cast<double>(f.end_ps) / grid) * grid);
  }
  expect_end(flow);
}

// Since its rate last changed.
void FluidNetwork::note_use(const Flow& f, double bits) {
  if (bits <= 0) return;
  for (const LinkId id : path_of(routes_[f.route])) activity_->used(static_cast<std::size_t>(id), {f.updated_ps}, {now_}, bits);
}

bool FluidNetwork::beyond_time() const {
  return queue_.next_date() == EventQueue::never && std::ranges::any_of(flows_, [](const Flow& f) { return f.active && f.rate > 0; });
}

void FluidNetwork::note_bottleneck(std::uint32_t flow) {
  const Flow& f = flows_[flow];
  Decision& decided = decisions_[flow];
  if (f.bottleneck == decided.link && f.settled) return;
  if (f.settled) {
    std::uint32_t change = free_change_;
    if (change == none) {
      change = static_cast<std::uint32_t>(changes_.size());
      changes_.emplace_back();
    } else {
      free_change_ = changes_[change].before;
    }
    changes_[change] = {.was = {decided.link, now_}, .before = decided.changes};
    decided.changes = change;
  }
  decided.link = f.bottleneck;
}

void FluidNetwork::recall_bottlenecks(std::uint32_t flow) {
  ending_ = flow;
  earlier_.clear();
  for (std::uint32_t change = decisions_[flow].changes; change != none;) {
    const std::uint32_t before = changes_[change].before;
    earlier_.push_back(changes_[change].was);
    changes_[change].before = free_change_;
    free_change_ = change;
    change = before;
  }
}

// A flow whose rate lets it end only beyond time may still become faster: it has no event until it does.
void FluidNetwork::expect_end(std::uint32_t flow) {
  if (flows_[flow].end_ps != SimTime::never().ps) queue_.push(flows_[flow].end_ps, flow << 1 | 1);
}

}  // namespace weft

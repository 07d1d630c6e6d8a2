// How flows share links: which of them a date's comings and goings can change, and the max-min fair rates of these.
#include "kernels/base/prefetch.hpp"
#include "sim/flow/fluid.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weft {

// From now on the flow's rate is decided by that link.
void FluidNetwork::hold_back(Flow& flow, LinkId bottleneck) {
  if (flow.bottleneck == bottleneck) return;
  if (flow.bottleneck != no_link) --links_[static_cast<std::size_t>(flow.bottleneck)].holds;
  if (bottleneck != no_link) ++links_[static_cast<std::size_t>(bottleneck)].holds;
  flow.bottleneck = bottleneck;
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
  const std::uint32_t flows = link.flows.size(), opposite = links_[static_cast<std::size_t>(link.opposite)].flows.size();
  const TwoWay& two_way = two_ways_[static_cast<std::size_t>(id)];
  const double shared = std::min(two_way.load / std::max(flows + opposite, 1U), two_way.duplex);
  const double capacity = flows > 0 && opposite > 0 ? std::min(two_way.alone, shared) : two_way.alone;
  if (capacity == link.capacity) return;
  link.capacity = capacity;
  for_flows_on(link, [&](std::uint32_t flow) { admit(flow); });
}

// Gives every flow that this date's comings and goings change its new rate.
void FluidNetwork::settle() {
  ++problem_;
  members_.clear();
  shares_.clear();
  shared_links_.clear();
  shared_by_members_.clear();
  members_on_links_.clear();
  change_capacities();
  for (const LinkId id : touched_) for_flows_on(links_[static_cast<std::size_t>(id)], [&](std::uint32_t flow) { admit(flow); });
  touched_.clear();
  const auto alone_on_its_links = [&](std::uint32_t flow) {
    bool alone = true;
    for_links_of(flow, [&](const LinkState& link, LinkId id) {
      alone =
          alone && link.flows.size() == 1 && (link.opposite == no_link || link.capacity == two_ways_[static_cast<std::size_t>(id)].alone);
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
  if (has_terms_ ? keep_bottlenecks<true>() : keep_bottlenecks<false>()) {
    joined_.clear();
    loosened_.clear();
    return;
  }
  ++walk_;
  for (std::size_t i = 0, joined = members_.size(); i < joined; ++i) admit_slowed_by(members_[i]);
  joined_.clear();
  for (std::size_t i = 0; i < loosened_.size(); ++i) {
    const LinkId id = loosened_[i];
    LinkState& link = links_[static_cast<std::size_t>(id)];
    if (i + 3 < loosened_.size()) lists_.fetch(links_[static_cast<std::size_t>(loosened_[i + 3])].flows);
    if (i + 1 < loosened_.size()) fetch_newest_flow(links_[static_cast<std::size_t>(loosened_[i + 1])]);
    if (link.holds == 0 || link.loosened == problem_) continue;  // the latter where several have left it
    link.loosened = problem_;
    for_flows_on(link, [&](std::uint32_t flow) {
      const bool newcomer = flows_[flow].updated_ps == now_;  // which has been looked at
      if (flows_[flow].rate > 0 && !newcomer && flows_[flow].bottleneck == id) admit(flow);
    });
  }
  loosened_.clear();
  if (members_.empty()) return;

  ++solves_;
  has_terms_ ? solve<true>() : solve<false>();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (recording_ && i + 4 < members_.size()) prefetch(&decisions_[members_[i + 4]]);
    set_rate(members_[i], shares_[i].next_rate);
  }
}

// Where many flows share a link, such as those of a socket's cores its memory, hardly any change gives one of them another bottleneck. So
// it is tried first whether those that a link holds back, and those that come to it, can have equal shares of what others leave of it.
// False if not: then nobody has another rate.
template <bool with_terms>
bool FluidNetwork::keep_bottlenecks() {
  if (failures_to_keep_ > 0 && problem_ % (1U << failures_to_keep_) != 0) return false;
  ++walk_;
  kept_.clear();
  const auto keep = [&](LinkId id) {
    LinkState& link = links_[static_cast<std::size_t>(id)];
    if (link.holds == 0 || link.walked == walk_) return;
    link.walked = walk_;
    link.shared = static_cast<std::uint32_t>(kept_.size());
    kept_.push_back({.link = id});
  };
  for (const std::uint32_t newcomer : members_) {
    if (flows_[newcomer].settled) return false;  // the capacity of one of its links has changed
    LinkId holder = no_link;
    int holders = 0;
    for_links_of(newcomer, [&](const LinkState& link, LinkId id) {
      if (link.holds > 0 && id != holder) holder = id, ++holders;
    });
    if (holders != 1) return false;  // of two, neither would be slack
    keep(holder);
    hold_back(flows_[newcomer], holder);  // which the solver changes if need be
  }
  for (const LinkId id : loosened_) keep(id);
  if (kept_.empty()) return true;
  if (!std::ranges::all_of(kept_, [&](Kept& kept) { return share_anew<with_terms>(kept); }) ||
      !std::ranges::all_of(kept_, [&](const Kept& kept) { return leaves_others_slack<with_terms>(kept); })) {
    failures_to_keep_ = std::min(failures_to_keep_ + 1, 6U);
    return false;
  }
  failures_to_keep_ = 0;
  ++solves_;
  for (const Kept& kept : kept_)
    for_flows_on(links_[static_cast<std::size_t>(kept.link)], [&](std::uint32_t number) {
      const Flow& flow = flows_[number];
      if (flow.bottleneck != kept.link) return;
      ++solved_flows_;
      set_rate(number, kept.share * weight_of<with_terms>(flow));
    });
  return true;
}

// Sets the share that the flows which a link holds back would have. False if another one is faster there.
template <bool with_terms>
bool FluidNetwork::share_anew(Kept& kept) const {
  const LinkState& link = links_[static_cast<std::size_t>(kept.link)];
  double left = link.capacity, weight = 0, share_before = 0, fastest_other = 0;
  for_flows_on(link, [&](std::uint32_t number) {
    const Flow& flow = flows_[number];
    const double own = weight_of<with_terms>(flow);
    if (flow.bottleneck == kept.link) {
      weight += own;
      share_before = std::max(share_before, flow.rate / own);
    } else {
      left -= flow.rate;
      fastest_other = std::max(fastest_other, flow.rate / own);
    }
  });
  kept.share = left / weight;
  kept.rises = kept.share > share_before;
  return fastest_other <= kept.share * (1 + tolerance);
}

// Whether, with the shares of all that are kept, no other link of those flows decides a rate.
template <bool with_terms>
bool FluidNetwork::leaves_others_slack(const Kept& kept) {
  const auto next_rate = [&](const Flow& flow) {
    if (flow.bottleneck == no_link) return flow.rate;
    const LinkState& holder = links_[static_cast<std::size_t>(flow.bottleneck)];
    return holder.walked == walk_ ? kept_[holder.shared].share * weight_of<with_terms>(flow) : flow.rate;
  };
  bool slack = true;
  for_flows_on(links_[static_cast<std::size_t>(kept.link)], [&](std::uint32_t number) {
    const Flow& flow = flows_[number];
    if (!slack || flow.bottleneck != kept.link) return;
    const double rate = kept.share * weight_of<with_terms>(flow);
    if constexpr (with_terms) slack = rate <= terms_[flow.terms].rate_cap;
    for_links_of(number, [&](LinkState& link, LinkId id) {
      if (id != kept.link && link.holds > 0) slack = false;
      if (!slack || link.walked == walk_ || (flow.settled && !kept.rises)) return;
      double load = rate;
      if (link.flows.size() > 1) {
        link.walked = walk_;
        load = 0;
        for_flows_on(link, [&](std::uint32_t other) { load += next_rate(flows_[other]); });
      }
      slack = load <= link.capacity * (1 + tolerance);
    });
  });
  return slack;
}

template <bool with_terms>
void FluidNetwork::solve() {
  add_links_of_members<with_terms>();
  admit_likely();
  std::size_t before = 0;  // members that have a next rate
  for (int round = 0;; ++round) {
    add_links_of_members<with_terms>();
    begin_round(before);
    share_out<with_terms>();
    before = members_.size();
    if (!admit_unsettled<with_terms>()) break;
    // Changes that keep spreading are followed a whole neighbourhood at a time.
    if (round >= 4) admit_neighbours<with_terms>();
  }
}

// Members that share no link with a new one, nor with one that does, and so on, have the next rates that they would get again.
void FluidNetwork::begin_round(std::size_t first_new) {
  all_links_ = first_new == 0;
  unfrozen_.resize(members_.size() - first_new);
  std::iota(unfrozen_.begin(), unfrozen_.end(), static_cast<std::uint32_t>(first_new));
  if (all_links_) return;
  ++walk_;
  for (std::size_t i = 0; i < unfrozen_.size(); ++i)
    for (const std::uint32_t at : shared_of(unfrozen_[i])) {
      SharedLink& link = shared_links_[at];
      if (link.walked == walk_) continue;
      link.walked = walk_;
      for (const std::uint32_t member : members_on(link)) {
        if (!shares_[member].frozen) continue;
        shares_[member].frozen = false;
        unfrozen_.push_back(member);
      }
    }
}

void FluidNetwork::admit(std::uint32_t flow) {
  Flow& f = flows_[flow];
  if (f.problem == problem_) return;
  f.problem = problem_;
  f.member = static_cast<std::uint32_t>(members_.size());
  members_.push_back(flow);
}

// Not at once as each is admitted: so what the next ones need can be asked for, first which links they use, then these.
template <bool with_terms>
void FluidNetwork::add_links_of_members() {
  const std::size_t flows_ahead = flows_.size() > flows_in_cache ? 16 : 0, links_ahead = flows_ahead / 2;
  const std::size_t known = shares_.size();
  for (std::size_t i = known; i < std::min(known + flows_ahead, members_.size()); ++i) fetch_flow(members_[i]);
  for (std::size_t i = known; i < std::min(known + links_ahead, members_.size()); ++i) fetch_links(members_[i]);
  for (std::size_t i = known; i < members_.size(); ++i) {
    if (flows_ahead > 0 && i + flows_ahead < members_.size()) fetch_flow(members_[i + flows_ahead]);
    if (links_ahead > 0 && i + links_ahead < members_.size()) fetch_links(members_[i + links_ahead]);
    Share share{.next_rate = 0,
                .alone = HUGE_VAL,
                .alone_link = 0,
                .first_shared = static_cast<std::uint32_t>(shared_by_members_.size()),
                .frozen = false};
    const LinkId bottleneck = flows_[members_[i]].bottleneck;
    for_links_of(members_[i], [&](LinkState& link, LinkId id) {
      if (link.flows.size() == 1) {
        if (link.capacity < share.alone) share.alone = link.capacity, share.alone_link = id;
        return;
      }
      if (link.problem != problem_) {
        link.problem = problem_;
        link.shared = static_cast<std::uint32_t>(shared_links_.size());
        lists_.fetch(link.flows);
        shared_links_.push_back({.id = id});
      }
      if (bottleneck == id) ++shared_links_[link.shared].held;
      shared_by_members_.push_back(link.shared);
    });
    if constexpr (with_terms)
      if (const double rate_cap = terms_[flows_[members_[i]].terms].rate_cap; rate_cap < share.alone)
        share.alone = rate_cap, share.alone_link = no_link;
    shares_.push_back(share);
  }
}

// Flows that a newcomer is likely to slow down: those above an equal share of a link it uses. Only a head start.
void FluidNetwork::admit_slowed_by(std::uint32_t newcomer) {
  for_links_of(newcomer, [&](LinkState& link, LinkId) {
    if (link.walked == walk_) return;
    link.walked = walk_;
    const double equal_share = link.capacity / link.flows.size();
    for_flows_on(link, [&](std::uint32_t flow) {
      if (flows_[flow].rate > equal_share) admit(flow);
    });
  });
}

// Flows that are held back by a link of a member whose own rate is about to change, which changes what is left to them. Only a head
// start, too: without it most problems of many members would be shared out twice.
void FluidNetwork::admit_likely() {
  for (const SharedLink& shared : shared_links_) {
    const LinkState& link = links_[static_cast<std::size_t>(shared.id)];
    if (link.holds == shared.held) continue;
    for_flows_on(link, [&](std::uint32_t flow) {
      if (flows_[flow].bottleneck == shared.id && flows_[flow].rate > 0) admit(flow);
    });
  }
}

template <bool with_terms>
void FluidNetwork::admit_neighbours() {
  add_links_of_members<with_terms>();
  for (const SharedLink& link : shared_links_)
    for_flows_on(links_[static_cast<std::size_t>(link.id)], [&](std::uint32_t flow) { admit(flow); });
}

// Progressive filling of what non-members leave of each link: the link with the smallest share fixes the rate of its
// members, which lowers what is left to others. Shares only grow while that goes on, so an outdated one in the heap is
// found out when it comes up. All shares are for each unit of weight.
template <bool with_terms>
void FluidNetwork::share_out() {
  solved_flows_ += unfrozen_.size();
  bottlenecks_.clear();
  for (std::uint32_t i = 0; i < shared_links_.size(); ++i) {
    SharedLink& shared = shared_links_[i];
    if (i + 1 < shared_links_.size()) fetch_newest_flow(links_[static_cast<std::size_t>(shared_links_[i + 1].id)]);
    if (!in_round(shared)) continue;
    const LinkState& link = links_[static_cast<std::size_t>(shared.id)];
    double left = link.capacity, weight = 0;
    shared.first_member = static_cast<std::uint32_t>(members_on_links_.size());
    for_flows_on(link, [&](std::uint32_t number) {
      const Flow& flow = flows_[number];
      if (flow.problem != problem_) {
        left -= flow.rate;
        return;
      }
      members_on_links_.push_back(flow.member);
      if constexpr (with_terms) weight += weight_of<with_terms>(flow);
    });
    shared.left = std::max(0.0, left);
    shared.members = shared.unfrozen = static_cast<std::uint32_t>(members_on_links_.size()) - shared.first_member;
    shared.others = link.flows.size() - shared.members;
    if constexpr (with_terms) shared.unfrozen_weight = weight;
    bottlenecks_.push_back({shared.left / unfrozen_weight<with_terms>(shared), shared.id, none, i});
  }
  for (const std::uint32_t member : unfrozen_) {
    const Share& share = shares_[member];
    double most = HUGE_VAL;  // that its shared links can give it
    for (const std::uint32_t at : shared_of(member)) most = std::min(most, shared_links_[at].left);
    if (share.alone >= most) continue;
    const std::uint32_t flow = members_[member];
    bottlenecks_.push_back({with_terms ? share.alone / weight_of<with_terms>(flows_[flow]) : share.alone, share.alone_link, flow, member});
  }
  std::ranges::make_heap(bottlenecks_, LargerShare{});
  for (std::size_t to_freeze = unfrozen_.size(); to_freeze > 0;) {
    std::ranges::pop_heap(bottlenecks_, LargerShare{});
    const Bottleneck least = bottlenecks_.back();
    bottlenecks_.pop_back();
    if (least.flow != none) {
      if (shares_[least.at].frozen) continue;
      give<with_terms>(least.at, least.share, least.link);
      --to_freeze;
      continue;
    }
    const SharedLink& link = shared_links_[least.at];
    if (link.unfrozen == 0) continue;
    const double share = link.left / unfrozen_weight<with_terms>(link);
    if (share > least.share) {
      bottlenecks_.push_back({share, least.link, none, least.at});
      std::ranges::push_heap(bottlenecks_, LargerShare{});
      continue;
    }
    for (const std::uint32_t member : members_on(link)) {
      if (shares_[member].frozen) continue;
      give<with_terms>(member, least.share, least.link);
      --to_freeze;
    }
  }
}

template <bool with_terms>
void FluidNetwork::give(std::uint32_t member, double share, LinkId bottleneck) {
  Flow& f = flows_[members_[member]];
  const double weight = weight_of<with_terms>(f), rate = share * weight;
  shares_[member].frozen = true;
  shares_[member].next_rate = rate;
  hold_back(f, bottleneck);
  for (const std::uint32_t at : shared_of(member)) {
    SharedLink& link = shared_links_[at];
    link.left = std::max(0.0, link.left - rate);
    --link.unfrozen;
    if constexpr (with_terms) link.unfrozen_weight -= weight;
  }
}

// Admits the non-members that the members' next rates leave without a bottleneck, or faster than a member on the
// member's bottleneck. False if there are none: then all rates together are max-min fair. With weights it is rates for each
// unit of weight that are compared.
template <bool with_terms>
bool FluidNetwork::admit_unsettled() {
  const std::size_t before = members_.size();
  for (const SharedLink& shared : shared_links_) {
    if (!in_round(shared) || shared.others == 0) continue;
    const LinkId id = shared.id;
    const LinkState& link = links_[static_cast<std::size_t>(id)];
    if (link.holds == 0) continue;  // it holds back none of them, and no member for whom they could be too fast
    double load = 0, fastest_member = 0, slowest_held = HUGE_VAL;
    for_flows_on(link, [&](std::uint32_t number) {
      const Flow& flow = flows_[number];
      if (!solved_for(flow)) {
        load += flow.rate;
        return;
      }
      const double next_rate = shares_[flow.member].next_rate;
      load += next_rate;
      const double share = next_rate / weight_of<with_terms>(flow);
      fastest_member = std::max(fastest_member, share);
      if (flow.bottleneck == id) slowest_held = std::min(slowest_held, share);
    });
    const bool saturated = load >= link.capacity * (1 - tolerance);
    for_flows_on(link, [&](std::uint32_t number) {
      const Flow& flow = flows_[number];
      if (flow.problem == problem_) return;
      const double share = flow.rate / weight_of<with_terms>(flow);
      const bool freed = flow.bottleneck == id && (!saturated || fastest_member > share * (1 + tolerance));
      const bool too_fast = share > slowest_held * (1 + tolerance);
      if (freed || too_fast) admit(number);
    });
  }
  return members_.size() > before;
}

}  // namespace weft

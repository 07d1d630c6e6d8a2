// How flows share links: which of them a date's comings and goings can change, and the max-min fair rates of these.
#include "kernels/base/prefetch.hpp"
#include "sim/network/fluid.hpp"

#include <algorithm>
#include <cmath>

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
  member_links_.clear();
  with_links_ = 0;
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
  claims_ ? solve<true>() : solve<false>();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (recording_ && i + 4 < members_.size()) prefetch(&decisions_[members_[i + 4]]);
    set_rate(members_[i], flows_[members_[i]].next_rate);
  }
}

template <bool claims>
void FluidNetwork::solve() {
  std::size_t before = 0;  // members that have a next rate
  for (int round = 0;; ++round) {
    add_links_of_members();
    begin_round(before);
    share_out<claims>();
    before = members_.size();
    if (!admit_unsettled<claims>()) break;
    // Changes that keep spreading are followed a whole neighbourhood at a time.
    if (round >= 4) admit_neighbours();
  }
}

// Members that share no link with a new one, nor with one that does, and so on, have the next rates that they would get again.
void FluidNetwork::begin_round(std::size_t first_new) {
  all_links_ = first_new == 0;
  unfrozen_.assign(members_.begin() + static_cast<std::ptrdiff_t>(first_new), members_.end());
  if (all_links_) return;
  ++walk_;
  for (const std::uint32_t flow : unfrozen_) flows_[flow].frozen = 0;
  for (std::size_t i = 0; i < unfrozen_.size(); ++i)
    for_links_of(unfrozen_[i], [&](LinkState& link, LinkId) {
      if (link.flows.size() == 1 || link.walked == walk_) return;
      link.walked = walk_;
      for_flows_on(link, [&](std::uint32_t flow) {
        if (flows_[flow].problem != problem_ || !flows_[flow].frozen) return;
        flows_[flow].frozen = 0;
        unfrozen_.push_back(flow);
      });
    });
}

void FluidNetwork::admit(std::uint32_t flow) {
  Flow& f = flows_[flow];
  if (f.problem == problem_) return;
  f.problem = problem_;
  members_.push_back(flow);
}

// Not at once as each is admitted: so what the next ones need can be asked for, first which links they use, then these.
void FluidNetwork::add_links_of_members() {
  const std::size_t flows_ahead = flows_.size() > flows_in_cache ? 16 : 0, links_ahead = flows_ahead / 2;
  for (std::size_t i = with_links_; i < std::min(with_links_ + flows_ahead, members_.size()); ++i) fetch_flow(members_[i]);
  for (std::size_t i = with_links_; i < std::min(with_links_ + links_ahead, members_.size()); ++i) fetch_links(members_[i]);
  for (; with_links_ < members_.size(); ++with_links_) {
    if (flows_ahead > 0 && with_links_ + flows_ahead < members_.size()) fetch_flow(members_[with_links_ + flows_ahead]);
    if (links_ahead > 0 && with_links_ + links_ahead < members_.size()) fetch_links(members_[with_links_ + links_ahead]);
    for_links_of(members_[with_links_], [&](LinkState& link, LinkId id) {
      if (link.flows.size() == 1 || link.problem == problem_) return;
      link.problem = problem_;
      lists_.fetch(link.flows);
      member_links_.push_back(id);
    });
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

void FluidNetwork::admit_neighbours() {
  add_links_of_members();
  for (std::size_t i = 0, before = member_links_.size(); i < before; ++i)
    for_flows_on(links_[static_cast<std::size_t>(member_links_[i])], [&](std::uint32_t flow) { admit(flow); });
}

// Progressive filling of what non-members leave of each link: the link with the smallest share fixes the rate of its
// members, which lowers what is left to others. Shares only grow while that goes on, so an outdated one in the heap is
// found out when it comes up. All shares are for each unit of weight.
template <bool claims>
void FluidNetwork::share_out() {
  solved_flows_ += unfrozen_.size();
  bottlenecks_.clear();
  others_.resize(member_links_.size());
  for (std::size_t i = 0; i < member_links_.size(); ++i) {
    if (i + 1 < member_links_.size()) fetch_newest_flow(links_[static_cast<std::size_t>(member_links_[i + 1])]);
    const LinkId id = member_links_[i];
    LinkState& link = links_[static_cast<std::size_t>(id)];
    if (!in_round(link)) continue;
    double left = link.capacity, weight = 0;
    std::uint32_t unfrozen = 0;
    for_flows_on(link, [&](std::uint32_t number) {
      const Flow& flow = flows_[number];
      if (flow.problem != problem_) {
        left -= flow.rate;
        return;
      }
      ++unfrozen;
      if constexpr (claims) weight += weight_of<claims>(flow);
    });
    link.left = std::max(0.0, left);
    link.unfrozen = unfrozen;
    others_[i] = link.flows.size() - unfrozen;
    if constexpr (claims) unfrozen_weight_[static_cast<std::size_t>(id)] = weight;
    bottlenecks_.push_back({link.left / unfrozen_weight<claims>(id), id, none});
  }
  for (const std::uint32_t flow : unfrozen_) {
    flows_[flow].frozen = 0;
    Bottleneck alone{HUGE_VAL, 0, flow};
    double most = HUGE_VAL;  // that its shared links can give it
    for_links_of(flow, [&](const LinkState& link, LinkId id) {
      if (link.flows.size() > 1)
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
  for (std::size_t to_freeze = unfrozen_.size(); to_freeze > 0;) {
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
    for_flows_on(link, [&](std::uint32_t flow) {
      if (flows_[flow].problem != problem_ || flows_[flow].frozen) return;
      give<claims>(flow, least.share, least.link);
      --to_freeze;
    });
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
    const LinkId id = member_links_[i];
    const LinkState& link = links_[static_cast<std::size_t>(id)];
    if (!in_round(link) || others_[i] == 0 || link.holds == 0)
      continue;  // it holds back none of them, and no member for whom they could be too fast
    double load = 0, fastest_member = 0, slowest_held = HUGE_VAL;
    for_flows_on(link, [&](std::uint32_t number) {
      const Flow& flow = flows_[number];
      if (flow.problem != problem_) {
        load += flow.rate;
        return;
      }
      load += flow.next_rate;
      const double share = flow.next_rate / weight_of<claims>(flow);
      fastest_member = std::max(fastest_member, share);
      if (flow.bottleneck == id) slowest_held = std::min(slowest_held, share);
    });
    const bool saturated = load >= link.capacity * (1 - tolerance);
    for_flows_on(link, [&](std::uint32_t number) {
      const Flow& flow = flows_[number];
      if (flow.problem == problem_) return;
      const double share = flow.rate / weight_of<claims>(flow);
      const bool freed = flow.bottleneck == id && (!saturated || fastest_member > share * (1 + tolerance));
      const bool too_fast = share > slowest_held * (1 + tolerance);
      if (freed || too_fast) admit(number);
    });
  }
  return members_.size() > before;
}

}  // namespace weft

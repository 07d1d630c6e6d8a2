// The max-min fluid model: flows on sets of links, each link shared so that no flow's rate can be raised without lowering
// that of a flow that is not faster (Bertsekas & Gallager 1992, section 6.5.2), all flows on equal terms.
//
// Events of one date are handled together and the sharing is solved once per date, only for the flows it may change: first
// those that came and those held back by a link that another has left, with the rates of all others taken as given; then
// the solution is tested against the condition that characterises max-min sharing (every flow has a saturated link on
// which nobody is faster), flows for which it no longer holds join the problem, and it is solved again. A flow alone on
// its links needs no solving, and its duration is the exact integer quotient, rounded up to a picosecond.
//
// Where many flows share a link, such as those of a socket's cores its memory, hardly any change gives one of them another bottleneck: it
// is tried first whether all can keep theirs, and then what others leave of the link is divided anew among those that it holds back.
//
// Where more than `exact_up_to` flows share links at once (all-to-all of more than 64 ranks), they would end at as many
// dates, nearly all at the end, each with a problem of thousands. There a flow ends at the next multiple of a power of two of
// picoseconds, which is at most `coarseness` for each flow, of the time that it takes at its rate: 0.01 % for 128 ranks, 0.04 % for 256.
#pragma once

#include "kernels/base/error.hpp"
#include "kernels/base/large_table.hpp"
#include "kernels/base/prefetch.hpp"
#include "kernels/base/units.hpp"
#include "models/fabric/fabric.hpp"
#include "sim/flow/event_queue.hpp"
#include "sim/flow/flow_lists.hpp"
#include "sim/network/critical_path.hpp"
#include "sim/network/timeline.hpp"

#include <array>
#include <cmath>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace weft {

class FluidNetwork {
 public:
  using RouteIndex = std::uint32_t;
  static constexpr int dates_at_once = 64;  // a turn of the engine costs as much as a date with a message or two
  static constexpr bool reaches_links_after_latency = true;
  static constexpr bool knows_paths_taken = true;
  static constexpr std::size_t exact_up_to = 1 << 12;  // flows that share links at once; more end at dates of a grid

  explicit FluidNetwork(std::vector<BitsPerSecond> capacity_of_link);

  // What flows share besides the links of a fabric, such as a switch's pipeline.
  LinkId add_link(BitsPerSecond capacity);

  // From now on the capacity of `link` and of load.opposite is at most rate / n and `duplex` while n flows cross them, some each way.
  void lose_two_way(LinkId link, TwoWayLoad load);

  // For links that fail: before any route is added. From then on routes remember the path they were added with, what links carry is
  // counted, and flows that stand still are known.
  using Detour = std::function<std::vector<LinkId>(std::span<const LinkId>)>;
  using LinkName = std::function<std::string(LinkId)>;
  void expect_faults(int changes, Detour detour, LinkName name);
  // One of those changes: this share of its rate is left of a link from now on. 0: it carries nothing, and what is on it stands.
  void set_remaining(LinkId link, double share);
  // One of them: from now on each route has the path that `detour` gives for its first one. What is under way goes on over that with
  // the bytes that are left; a route's latency stays what it was when it was added.
  void reroute();
  void changed() { --changes_ahead_; }                       // when all that it changes has been told
  std::int64_t rerouted() const { return rerouted_; }        // routes, once for each change of their path
  std::int64_t interrupted() const { return interrupted_; }  // flows that stood still
  // Of `bytes` that a route has carried, those on each link that it has gone over.
  template <class Each>
  void for_carried(RouteIndex route, std::int64_t bytes, const Each& each) const {
    if (!detour_ || carried_[route].size() < 2) {
      for (const LinkId link : !detour_ || carried_[route].empty() ? path(route) : std::span<const LinkId>(carried_[route].front().path))
        each(link, bytes);
      return;
    }
    double all = 0;
    for (const Carried& way : carried_[route]) all += way.bits;
    for (const Carried& way : carried_[route])
      for (const LinkId link : way.path) each(link, std::llround(static_cast<double>(bytes) * (way.bits / all)));
  }

  // Whether flows stand and no change is ahead that could move them; then `on_end` is told of each, once.
  bool look_due() const { return changes_ahead_ == 0 && !standing_.empty(); }
  template <class OnEnd>
  void look(OnEnd&& never_ends) {
    for (const std::uint32_t flow : standing_)
      if (stands(flows_[flow])) never_ends(flows_[flow].token);
    standing_.clear();
  }
  std::string stall() const;  // "spine0->leaf1 is down: 3 messages wait for it"

  // Routes are numbered in the order they are added. A link that stands among the hops several times carries every byte as often.
  // All flows on a route together get at most `rate`, where it is not 0.
  RouteIndex add_route(std::span<const Hop> hops, SimTime latency, FlowTerms terms = {}, BitsPerSecond rate = {});
  std::size_t routes() const { return routes_.size(); }

  // What a message on the route finds that is alone on its links: its rate, and which of them decides it; -1: its rate cap.
  std::int64_t rate_alone(RouteIndex route) const { return terms_of(routes_[route]).bits_per_second; }
  LinkId narrowest(RouteIndex route) const { return narrowest_of(routes_[route]); }
  std::span<const LinkId> path(RouteIndex route) const { return path_of(routes_[route]); }
  // One of the link and the opposite one, where flows on either slow down those on the other; or the link.
  LinkId of_both_ways(LinkId link) const {
    if (two_ways_.empty()) return link;
    const LinkId opposite = links_[static_cast<std::size_t>(link)].opposite;
    return opposite == no_link ? link : std::min(link, opposite);
  }
  std::size_t links() const { return links_.size(); }
  // For those who find that parts of the network are alike: of routes with the same number messages take as long and have the same
  // terms, and what links have, alone and while flows cross the opposite one (-1: there is none) too.
  std::uint32_t terms(RouteIndex route) const { return routes_[route].terms; }
  LinkId opposite(LinkId link) const { return links_[static_cast<std::size_t>(link)].opposite; }
  std::array<double, 3> rates(LinkId link) const;
  // From now on the route goes over onto[link], which is like it, in place of each of its links.
  void go_over(RouteIndex route, std::span<const LinkId> onto);
  // Nothing is under way: the clock stands at 0 once more.
  void begin_again() {
    check(next_date() == SimTime::never() && active_ == 0, "{} flows are under way", active_);
    now_ = 0;
  }
  // From now on flows end at exact dates, however many share links.
  void end_exactly() { max_exact_ = SIZE_MAX; }
  // Whether nothing is under way, nothing can fail, and nobody asks what happens on links.
  bool undisturbed() const { return queue_.next_date() == EventQueue::never && active_ == 0 && !detour_ && !activity_; }

  // `bytes` leave at `at`, use the links of the route from one path latency later (not before now), and end when they
  // have all passed; then `token` is handed to advance()'s `on_end`.
  void start(RouteIndex route, std::int64_t bytes, SimTime at, std::uint32_t token);

  // Hands `token` to `on_end` at `at` (not before now): a timer.
  void wake(SimTime at, std::uint32_t token) { queue_.push(at.ps, new_flow(no_route, 0, token) << 1); }

  SimTime now() const { return {now_}; }
  SimTime next_date() const { return {queue_.next_date()}; }
  void fetch_route(RouteIndex route) const { prefetch(&routes_[route]); }  // which a message will soon take
  SimTime latency(RouteIndex route) const { return {terms_of(routes_[route]).latency_ps}; }

  // Handles all events of the next date. on_end(token) may start new flows; on_end.fetch(4, token) and, after that, of 3 to 0,
  // are told, where it has them, what is likely to end soon.
  template <class OnEnd>
  void advance(OnEnd&& on_end) {
    now_ = queue_.next_date();
    const auto fetch = [&](int before, std::uint32_t event, std::int64_t date) {
      const std::uint32_t flow = event >> 1;
      if (before == 5) return fetch_flow(flow);
      if (before == 4) fetch_links(flow);
      if constexpr (requires { on_end.fetch(before, flows_[flow].token); })
        if ((event & 1) && flows_[flow].end_ps == date) on_end.fetch(before, flows_[flow].token);  // it is not known to end otherwise
    };
    const auto handle = [&](std::uint32_t event) {
      ++events_;
      const std::uint32_t flow = event >> 1;
      if (event & 1) {
        if (!flows_[flow].active || next_look_ps_[flow] != now_) return;  // there has been an earlier one
        if (flows_[flow].end_ps != now_) return look_again(flow);         // it has become slower since
        if (activity_) note_use(flows_[flow], flows_[flow].remaining_bits);
        if (detour_) carry(flow, 0);
        leave_links(flow);
        end(flow, on_end);
      } else if (flows_[flow].bytes == 0 && !is_cut(flows_[flow])) {
        end(flow, on_end);
      } else {
        join_links(flow);
      }
    };
    if (flows_.size() <= flows_in_cache) {
      queue_.pop_date(handle);
      return settle();
    }
    queue_.announce_later(fetch);
    queue_.pop_date(handle, fetch);
    settle();
  }

  // From now on it is known of every flow which links decided its rate, and until when: for those who ask while it ends.
  void record_bottlenecks() {
    recording_ = true;
    decisions_.resize(flows_.size());
  }
  LinkId last_bottleneck() const { return decisions_[ending_].link; }
  // Before that one, the latest first.
  std::span<const BottleneckSpan> earlier_bottlenecks() const { return earlier_; }

  // From now on the bits that cross each link of the fabric go there. Call before the first flow starts.
  void record_activity(NetworkActivity* activity) { activity_ = activity; }

  // Flows are on their links, and all of them would end only beyond the time that can be simulated.
  bool beyond_time() const;

  std::uint64_t events() const { return events_; }
  std::uint64_t solves() const { return solves_; }
  std::uint64_t solved_flows() const { return solved_flows_; }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  static constexpr LinkId no_link = -1;
  static constexpr double tolerance = 1e-9;               // relative, when rates are compared
  static constexpr std::size_t flows_in_cache = 1 << 11;  // so few are not asked for ahead: that would cost more than it saves
  static constexpr double coarseness = 1e-4 / (1 << 14);  // for each flow

  // What many routes have in common.
  struct Carried {  // over one path
    std::vector<LinkId> path;
    double bits = 0;
  };
  struct RouteTerms {
    std::int64_t latency_ps;
    std::int64_t bits_per_second;  // of its narrowest link, or its rate cap
    double weight;
    double rate_cap;  // bits per second; infinite if there is none
    friend auto operator<=>(const RouteTerms&, const RouteTerms&) = default;
  };
  // Half a cache line: there may be millions, asked for without order.
  struct alignas(32) Route {
    static constexpr std::uint16_t by_rate_cap = UINT16_MAX;
    static constexpr std::size_t max_held = 6;
    std::uint32_t terms;
    std::uint16_t hops;
    std::uint16_t narrowest;             // hop; by_rate_cap: the rate_cap is lower
    std::array<LinkId, max_held> links;  // or, where it has more, the first one's place in long_paths_
  };
  static constexpr std::size_t cache_line = 64;
  static constexpr std::uint32_t max_routes = (1U << 29) - 1, no_route = max_routes;
  struct alignas(cache_line) Flow {
    double remaining_bits;  // at updated_ps
    double rate;            // bits per second; 0 until first settled, and while it stands
    std::int64_t updated_ps;
    std::int64_t end_ps;
    std::int64_t bytes;
    std::uint32_t route : 29;   // no_route: a timer
    std::uint32_t settled : 1;  // it has had a rate
    std::uint32_t active : 1;
    std::uint32_t token;
    std::uint32_t problem;  // the last sharing problem it was part of
    std::uint32_t member;   // of that one: its place in members_ and shares_
    LinkId bottleneck;      // the saturated link that decides its rate; no_link: its rate cap does
    std::uint32_t terms;    // of its route: at hand for those who go through the flows of a link
  };
  static_assert(sizeof(Flow) == cache_line);
  // What decides a flow's rate, while they are recorded.
  struct Decision {
    LinkId link = no_link;         // its bottleneck, but while solving still that of the rate before
    std::uint32_t changes = none;  // of it, the latest
  };
  // A link that a flow uses, and the flow's place in the list of that link: entry = flow * stride_ + hop. Behind a flow's last hop
  // stands no_link, unless it has stride_ hops.
  struct Entry {
    LinkId link = no_link;
    std::uint32_t place = 0;
  };
  // A link that decided a flow's rate before; free ones are chained too.
  struct Change {
    BottleneckSpan was;
    std::uint32_t before;
  };
  struct alignas(cache_line) LinkState {
    double capacity;  // now
    FlowLists::List flows = {};
    std::uint32_t problem = 0;   // the last sharing problem it was part of
    std::uint32_t shared = 0;    // of that one: its place in shared_links_
    std::uint32_t loosened = 0;  // the last for which flows that it held back were looked for
    std::uint32_t walked = 0;    // the last walk over links that came to it
    std::uint32_t holds = 0;     // flows whose bottleneck it is
    LinkId opposite = no_link;   // it loses capacity while flows cross that one too
  };
  static_assert(sizeof(LinkState) == cache_line);
  // Of a link that has an opposite one.
  struct TwoWay {
    double load = 0;    // what the flows of both leave each, times their number
    double duplex = 0;  // the most it has while flows cross both
    double alone = 0;   // its capacity while none crosses the opposite one
  };
  // While solving: what a member of the problem is about to have, and what does not change meanwhile. Flows and their links lie without
  // order in large tables; who shares out goes through these side by side.
  struct Share {
    double next_rate;
    double alone;                // the least capacity of the links that it uses alone, or its rate cap
    LinkId alone_link;           // which; no_link: its rate cap
    std::uint32_t first_shared;  // of its links that others use too, in shared_by_members_: up to the next member's
    bool frozen;                 // next_rate is decided, as far as is known
  };
  // While solving: a link of members that more than one flow uses.
  struct SharedLink {
    double left = 0;             // capacity not yet given away
    double unfrozen_weight = 0;  // with terms: of its members without a rate
    LinkId id = no_link;
    std::uint32_t unfrozen = 0;                   // members without a rate
    std::uint32_t others = 0;                     // how many that are no members use it, when it was last shared out
    std::uint32_t first_member = 0, members = 0;  // those who use it, in members_on_links_, since then
    std::uint32_t walked = 0;                     // the last walk over links that came to it
    std::uint32_t held = 0;                       // members that it held back when they were admitted
  };
  struct Kept {  // a link that goes on holding back the same flows
    LinkId link;
    double share = 0;    // for each unit of weight
    bool rises = false;  // it is larger than before
  };
  struct Bottleneck {  // a link shared by several flows; or one used by `flow` alone, or its rate cap
    double share;      // for each unit of weight
    LinkId link;
    std::uint32_t flow;
    std::uint32_t at;  // in shared_links_; or in shares_
  };
  struct LargerShare {  // for a heap with the smallest share on top, ties in a fixed order
    bool operator()(const Bottleneck& a, const Bottleneck& b) const {
      if (a.share != b.share) return a.share > b.share;
      return a.link != b.link ? a.link > b.link : a.flow > b.flow;
    }
  };

  // each(entry) for each link of the flow.
  template <class Each>
  void for_hops_of(std::uint32_t flow, const Each& each) const {
    const std::uint32_t first = flow * stride_;
    for (std::uint32_t entry = first; entry < first + stride_ && entries_[entry].link != no_link; ++entry) each(entry);
  }
  // each(link, its id) for each link of the flow.
  template <class Each>
  void for_links_of(std::uint32_t flow, const Each& each) {
    for_hops_of(flow, [&](std::uint32_t entry) { each(links_[static_cast<std::size_t>(entries_[entry].link)], entries_[entry].link); });
  }

  // each(flow) for each flow on the link, the newest first.
  template <class Each>
  void for_flows_on(const LinkState& link, const Each& each) const {
    if (flows_.size() <= flows_in_cache) return lists_.for_each(link.flows, each);
    lists_.for_each(link.flows, each, [this](std::uint32_t flow) { prefetch(&flows_[flow]); });
  }

  // The events of a date are at places without order in memory, which is most of what they cost in large networks: what an event needs
  // is asked for while those before it are handled.
  void fetch_flow(std::uint32_t flow) const {
    prefetch(&flows_[flow]);
    prefetch(&next_look_ps_[flow]);
    prefetch(&entries_[flow * stride_]);
    prefetch(&entries_[flow * stride_ + stride_ - 1]);
    if (recording_) prefetch(&decisions_[flow]);
  }
  void fetch_links(std::uint32_t flow) const {
    for_hops_of(flow, [&](std::uint32_t entry) { prefetch(&links_[static_cast<std::size_t>(entries_[entry].link)]); });
  }

  void fetch_newest_flow(const LinkState& link) const {
    if (link.flows.size() > 0) prefetch(&flows_[lists_.newest(link.flows)]);
  }

  template <class OnEnd>
  void end(std::uint32_t flow, OnEnd& on_end) {
    const std::uint32_t token = flows_[flow].token;
    if (recording_) recall_bottlenecks(flow);
    free_flows_.push_back(flow);
    on_end(token);
  }

  static bool stands(const Flow& flow) { return flow.active && flow.settled && flow.rate == 0; }
  bool is_cut(const Flow& flow) const;  // a link of its route is down
  void carry(std::uint32_t flow, double left_bits);
  const RouteTerms& terms_of(const Route& route) const { return terms_[route.terms]; }
  std::span<const LinkId> path_of(const Route& route) const {
    if (route.hops <= Route::max_held) return {route.links.data(), route.hops};
    return std::span(long_paths_).subspan(static_cast<std::size_t>(route.links.front()), route.hops);
  }
  LinkId narrowest_of(const Route& route) const {
    return route.narrowest == Route::by_rate_cap ? no_link : path_of(route)[route.narrowest];
  }
  Route route_over(std::span<const LinkId> path, RouteTerms terms);
  void hold_path(Route& route, std::span<const LinkId> path);
  void enter_links(std::uint32_t flow);

  void take_links(std::uint32_t flow);  // those of its route
  std::uint32_t new_flow(RouteIndex route, std::int64_t bytes, std::uint32_t token);
  void join_links(std::uint32_t flow);
  void leave_links(std::uint32_t flow);
  void settle();
  void change_capacities();
  void change_capacity(LinkId id);
  void admit(std::uint32_t flow);
  template <bool with_terms>
  void add_links_of_members();
  void admit_slowed_by(std::uint32_t flow);
  void admit_likely();
  template <bool with_terms>
  void admit_neighbours();
  // `with_terms` says whether any route has terms of its own; without, weights and rate caps cost nothing.
  template <bool with_terms>
  bool keep_bottlenecks();
  template <bool with_terms>
  bool share_anew(Kept& kept) const;
  template <bool with_terms>
  bool leaves_others_slack(const Kept& kept);
  template <bool with_terms>
  void solve();
  void begin_round(std::size_t first_new);
  bool in_round(const SharedLink& link) const { return all_links_ || link.walked == walk_; }
  std::span<const std::uint32_t> shared_of(std::uint32_t member) const {
    const std::uint32_t first = shares_[member].first_shared;
    const std::size_t end = member + 1 < shares_.size() ? shares_[member + 1].first_shared : shared_by_members_.size();
    return std::span(shared_by_members_).subspan(first, end - first);
  }
  std::span<const std::uint32_t> members_on(const SharedLink& link) const {
    return std::span(members_on_links_).subspan(link.first_member, link.members);
  }
  bool solved_for(const Flow& flow) const { return flow.problem == problem_ && flow.member < shares_.size(); }
  template <bool with_terms>
  void share_out();
  template <bool with_terms>
  bool admit_unsettled();
  template <bool with_terms>
  void give(std::uint32_t member, double share, LinkId bottleneck);
  template <bool with_terms>
  double weight_of(const Flow& flow) const {
    if constexpr (with_terms) return terms_[flow.terms].weight;
    return 1.0;
  }
  template <bool with_terms>
  static double unfrozen_weight(const SharedLink& link) {
    if constexpr (with_terms) return link.unfrozen_weight;
    return link.unfrozen;
  }
  void set_rate(std::uint32_t flow, double rate);
  void note_use(const Flow& flow, double bits);
  void hold_back(Flow& flow, LinkId bottleneck);
  void note_bottleneck(std::uint32_t flow);
  void recall_bottlenecks(std::uint32_t flow);
  void expect_end(std::uint32_t flow);
  void look_again(std::uint32_t flow);
  void widen_stride(std::uint32_t hops);
  std::int64_t alone_ps(std::int64_t bytes, std::int64_t bits_per_second);

  std::int64_t now_ = 0;
  EventQueue queue_;  // payload: flow * 2 + (1 if it ends, 0 if it reaches its links)
  LargeTable<Route> routes_;
  std::vector<LinkId> long_paths_;
  std::vector<LinkId> path_;  // of the route that is being added: there may be millions
  std::vector<RouteTerms> terms_;
  std::map<RouteTerms, std::uint32_t> known_terms_;  // in terms_
  LargeTable<LinkState> links_;
  FlowLists lists_;               // of links
  std::vector<TwoWay> two_ways_;  // by link, up to the last that has an opposite one
  LargeTable<Flow> flows_;
  LargeTable<std::int64_t> next_look_ps_;  // by flow: the first event that will see whether it ends; never() if there is none
  std::vector<std::uint32_t> free_flows_;
  LargeTable<Entry> entries_;
  std::uint32_t stride_ = 4;

  std::vector<std::uint32_t> joined_;  // flows that reached their links at this date
  std::vector<LinkId> loosened_;       // links that a flow left at this date while others stay
  std::vector<LinkId> two_way_;        // links that flows joined or left at this date, whose capacity depends on how many they are
  std::size_t active_ = 0;             // flows on their links
  std::size_t max_exact_ = exact_up_to;
  std::uint32_t problem_ = 0;
  std::vector<std::uint32_t> members_;  // flows of the sharing problem at hand
  std::vector<Share> shares_;           // of the first of them: those whose links are known
  std::vector<SharedLink> shared_links_;
  std::vector<std::uint32_t> shared_by_members_, members_on_links_;
  std::vector<std::uint32_t> unfrozen_;  // members, by number, whose links are shared out in this round: all of them in the first
  bool all_links_ = true;                // all of shared_links_ are; otherwise those that walk_ has come to
  std::uint32_t walk_ = 0;
  std::vector<Bottleneck> bottlenecks_;
  std::vector<Kept> kept_;
  unsigned failures_to_keep_ = 0;  // bottlenecks, one after the other
  bool has_terms_ = false;         // some route has a weight or a rate cap

  struct Quotient {
    std::int64_t bytes = -1, bits_per_second = 0, ps = 0;
  };
  std::vector<Quotient> quotients_ = std::vector<Quotient>(64);
  LargeTable<double> nominal_;  // by link: its rate while nothing lowers it, side by side for those who add routes

  NetworkActivity* activity_ = nullptr;
  bool recording_ = false;
  std::uint32_t ending_ = 0;
  LargeTable<Decision> decisions_;       // by flow; empty where they are not recorded
  std::vector<BottleneckSpan> earlier_;  // of that flow
  std::vector<Change> changes_;
  std::uint32_t free_change_ = none;

  // Where links fail:
  Detour detour_;
  LinkName name_of_link_;
  int changes_ahead_ = 0;
  std::size_t altered_ = 0;                       // links of which less than all is left
  std::vector<double> remaining_;                 // by link: the share of its rate that is left
  std::vector<LinkId> touched_;                   // links whose rate has changed at this date
  std::vector<std::vector<LinkId>> first_paths_;  // by route
  std::vector<double> on_path_since_;             // by flow: bits that were left when it took its present path
  std::vector<std::vector<Carried>> carried_;     // by route, the present path last
  std::vector<std::uint32_t> standing_;           // flows that have come to stand since somebody asked
  std::int64_t rerouted_ = 0, interrupted_ = 0;

  std::uint64_t events_ = 0, solves_ = 0, solved_flows_ = 0;
};

}  // namespace weft

#include "sim/flow/fluid.hpp"

#include "kernels/base/error.hpp"
#include "kernels/base/hash.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace weft {
namespace {

// Rounded up; never() where a SimTime holds no more. What std::ceil gives, which is a call where the processor's own rounding is not
// counted on.
std::int64_t whole_ps(double ps) {
  if (!(ps < 0x1p63)) return SimTime::never().ps;
  const auto below = static_cast<std::int64_t>(ps);
  return below + (static_cast<double>(below) < ps ? 1 : 0);
}

// The greatest power of two that is not above it.
double power_of_two_within(double positive) {
  constexpr std::uint64_t exponent = 0x7ff0'0000'0000'0000;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(positive) & exponent);
}

}  // namespace

FluidNetwork::FluidNetwork(std::vector<BitsPerSecond> capacity_of_link) {
  links_.reserve(capacity_of_link.size());
  nominal_.reserve(capacity_of_link.size());
  for (const BitsPerSecond capacity : capacity_of_link) add_link(capacity);
}

LinkId FluidNetwork::add_link(BitsPerSecond capacity) {
  links_.push_back({.capacity = static_cast<double>(capacity.count)});
  nominal_.push_back(static_cast<double>(capacity.count));
  if (detour_) remaining_.push_back(1);
  return static_cast<LinkId>(links_.size() - 1);
}

void FluidNetwork::lose_two_way(LinkId id, TwoWayLoad load) {
  check(load.loses() && load.opposite >= 0 && load.opposite != id, "two-way load of link {}", id);
  for (const auto& [one, other] : {std::pair{id, load.opposite}, std::pair{load.opposite, id}}) {
    LinkState& link = links_[static_cast<std::size_t>(one)];
    link.opposite = other;
    constexpr double unlimited = std::numeric_limits<double>::infinity();
    two_ways_.resize(std::max(two_ways_.size(), static_cast<std::size_t>(one) + 1));
    two_ways_[static_cast<std::size_t>(one)] = {.load = load.rate.count > 0 ? static_cast<double>(load.rate.count) : unlimited,
                                                .duplex = load.duplex.count > 0 ? static_cast<double>(load.duplex.count) : unlimited,
                                                .alone = link.capacity};
  }
}

FluidNetwork::RouteIndex FluidNetwork::add_route(std::span<const Hop> hops, SimTime latency, FlowTerms terms, BitsPerSecond rate) {
  check(!hops.empty(), "a route needs a link");
  if (rate.count > 0) {  // a link of its own, which all of its flows share
    std::vector<Hop> with_own(hops.begin(), hops.end());
    with_own.push_back({.link = add_link(rate)});
    return add_route(with_own, latency, terms);
  }
  check(routes_.size() < max_routes, "{} routes", routes_.size());
  check(terms.weight > 0 && terms.rate_cap.count >= 0, "a route of weight {} and rate cap {}", terms.weight, terms.rate_cap.count);
  std::vector<LinkId>& path = path_;
  path.clear();
  for (const Hop& hop : hops) path.push_back(hop.link);
  if (detour_) {
    first_paths_.push_back(path);
    carried_.emplace_back();
    path = detour_(path);
    rerouted_ += path != first_paths_.back() ? 1 : 0;
  }
  if (terms != FlowTerms{}) has_terms_ = true;
  routes_.push_back(route_over(path, {.latency_ps = latency.ps,
                                      .bits_per_second = 0,
                                      .weight = terms.weight,
                                      .rate_cap = terms.rate_cap.count > 0 ? static_cast<double>(terms.rate_cap.count) : HUGE_VAL}));
  return static_cast<RouteIndex>(routes_.size() - 1);
}

// Its rate is found here.
FluidNetwork::Route FluidNetwork::route_over(std::span<const LinkId> path, RouteTerms terms) {
  check(path.size() < Route::by_rate_cap, "a route of {} links", path.size());
  Route route{.terms = 0, .hops = static_cast<std::uint16_t>(path.size()), .narrowest = 0, .links = {}};
  terms.bits_per_second = INT64_MAX;
  for (std::size_t hop = 0; hop < path.size(); ++hop) {
    const auto at = static_cast<std::size_t>(path[hop]);
    const auto capacity = static_cast<std::int64_t>(nominal_[at]);
    if (capacity < terms.bits_per_second) terms.bits_per_second = capacity, route.narrowest = static_cast<std::uint16_t>(hop);
  }
  if (static_cast<double>(terms.bits_per_second) > terms.rate_cap)
    terms.bits_per_second = static_cast<std::int64_t>(terms.rate_cap), route.narrowest = Route::by_rate_cap;
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
  if (path.size() <= Route::max_held) {
    std::ranges::copy(path, route.links.begin());
  } else {
    route.links.front() = static_cast<LinkId>(long_paths_.size());
    long_paths_.insert(long_paths_.end(), path.begin(), path.end());
  }
}

void FluidNetwork::go_over(RouteIndex route, std::span<const LinkId> onto) {
  Route& r = routes_[route];
  const auto links = r.hops <= Route::max_held ? std::span(r.links) : std::span(long_paths_).subspan(static_cast<std::size_t>(r.links[0]));
  for (LinkId& link : links.first(r.hops)) link = onto[static_cast<std::size_t>(link)];
}

std::array<double, 3> FluidNetwork::rates(LinkId link) const {
  const auto at = static_cast<std::size_t>(link);
  if (opposite(link) == no_link) return {nominal_[at]};
  return {nominal_[at], two_ways_[at].load, two_ways_[at].duplex};
}

// Entries are addressed by flow and hop; a longer route than any before moves them all.
void FluidNetwork::widen_stride(std::uint32_t hops) {
  LargeTable<Entry> wider(flows_.size() * hops);
  for (std::uint32_t entry = 0; entry < entries_.size(); ++entry) wider[entry / stride_ * hops + entry % stride_] = entries_[entry];
  entries_ = std::move(wider);
  stride_ = hops;
}

void FluidNetwork::start(RouteIndex route, std::int64_t bytes, SimTime at, std::uint32_t token) {
  const std::uint32_t flow = new_flow(route, bytes, token);
  take_links(flow);
  queue_.push(later(at.ps, terms_of(routes_[route]).latency_ps), flow << 1);
}

void FluidNetwork::take_links(std::uint32_t flow) {
  const Route& route = routes_[flows_[flow].route];
  flows_[flow].terms = route.terms;
  const std::span<const LinkId> path = path_of(route);
  Entry* entry = &entries_[flow * stride_];
  for (const LinkId link : path) (entry++)->link = link;
  if (path.size() < stride_) entry->link = no_link;
}

std::uint32_t FluidNetwork::new_flow(RouteIndex route, std::int64_t bytes, std::uint32_t token) {
  std::uint32_t flow;
  if (free_flows_.empty()) {
    flow = static_cast<std::uint32_t>(flows_.size());
    flows_.emplace_back();
    next_look_ps_.emplace_back();
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
  next_look_ps_[flow] = SimTime::never().ps;
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
    entries_[entry].place = lists_.add(link.flows, flow);
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
    lists_.remove(link.flows, e.place, [&](std::uint32_t other, std::uint32_t from, std::uint32_t to) {
      for_hops_of(other, [&](std::uint32_t hop) {  // a link may stand among them twice
        if (entries_[hop].link == e.link && entries_[hop].place == from) entries_[hop].place = to;
      });
    });
    if (link.flows.size() > 0) loosened_.push_back(e.link);
    if (link.opposite != no_link) two_way_.push_back(e.link);
  });
}

std::int64_t FluidNetwork::alone_ps(std::int64_t bytes, std::int64_t bits_per_second) {
  // Most messages of a run have one of a few sizes; the 128-bit division is worth remembering.
  Quotient& known = quotients_[static_cast<std::size_t>((static_cast<std::uint64_t>(bytes) * golden_ratio) >> 58)];
  if (known.bytes != bytes || known.bits_per_second != bits_per_second)
    known = {bytes, bits_per_second, (Bytes{bytes} / BitsPerSecond{bits_per_second}).ps};
  return known.ps;
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
  if (active_ > max_exact_) {
    const double grid = power_of_two_within(8.0 * static_cast<double>(f.bytes) / rate * 1e12 * coarseness * static_cast<double>(active_));
    if (grid > 1) f.end_ps = whole_ps(static_cast<double>(whole_ps(static_cast<double>(f.end_ps) / grid)) * grid);
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

// One event that comes before its end is enough, as it will be looked at then: most flows become slower and faster several times. A flow
// whose rate lets it end only beyond time may still become faster: it has no event until it does.
void FluidNetwork::expect_end(std::uint32_t flow) {
  if (flows_[flow].end_ps < next_look_ps_[flow]) look_again(flow);
}

void FluidNetwork::look_again(std::uint32_t flow) {
  const std::int64_t end_ps = flows_[flow].end_ps;
  next_look_ps_[flow] = end_ps;
  if (end_ps != SimTime::never().ps) queue_.push(end_ps, flow << 1 | 1);
}

}  // namespace weft

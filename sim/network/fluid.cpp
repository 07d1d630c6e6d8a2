#include "sim/network/fluid.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/error.hpp"

namespace weft {

FluidNetwork::FluidNetwork(std::vector<BitsPerSecond> capacity_of_link) {
  links_.reserve(capacity_of_link.size());
  for (const BitsPerSecond capacity : capacity_of_link)
    links_.push_back({.capacity = static_cast<double>(capacity.count), .head = none, .flows = 0, .left = 0, .unfrozen = 0, .component = 0});
}

FluidNetwork::RouteIndex FluidNetwork::add_route(std::span<const Hop> hops, SimTime latency) {
  check(!hops.empty(), "a route needs a link");
  Route route{.latency_ps = latency.ps,
              .bits_per_second = INT64_MAX,
              .first_hop = static_cast<std::uint32_t>(hops_.size()),
              .hops = static_cast<std::uint32_t>(hops.size())};
  for (const Hop& hop : hops) {
    hops_.push_back(hop.link);
    route.bits_per_second = std::min(route.bits_per_second, static_cast<std::int64_t>(links_[static_cast<std::size_t>(hop.link)].capacity));
  }
  if (route.hops > stride_) widen_stride(route.hops);
  routes_.push_back(route);
  return static_cast<RouteIndex>(routes_.size() - 1);
}

// Entries are addressed by flow and hop; a longer route than any before moves them all.
void FluidNetwork::widen_stride(std::uint32_t hops) {
  const auto moved = [&](std::uint32_t entry) { return entry == none ? none : entry / stride_ * hops + entry % stride_; };
  std::vector<Entry> wider(flows_.size() * hops, {none, none});
  for (std::uint32_t entry = 0; entry < entries_.size(); ++entry)
    wider[moved(entry)] = {moved(entries_[entry].next), moved(entries_[entry].previous)};
  for (LinkState& link : links_) link.head = moved(link.head);
  entries_ = std::move(wider);
  stride_ = hops;
}

void FluidNetwork::start(RouteIndex route, std::int64_t bytes, SimTime at, std::uint32_t token) {
  std::uint32_t flow;
  if (free_flows_.empty()) {
    flow = static_cast<std::uint32_t>(flows_.size());
    flows_.emplace_back();
    entries_.resize(entries_.size() + stride_);
  } else {
    flow = free_flows_.back();
    free_flows_.pop_back();
  }
  Flow& f = flows_[flow];
  f.bytes = bytes;
  f.rate = 0;
  f.route = route;
  f.token = token;
  f.component = 0;
  f.active = false;
  queue_.push(at.ps + routes_[route].latency_ps, flow << 1);
}

void FluidNetwork::join_links(std::uint32_t flow) {
  Flow& f = flows_[flow];
  f.active = true;
  f.updated_ps = now_;
  f.remaining_bits = 8.0 * static_cast<double>(f.bytes);
  std::uint32_t entry = flow * stride_;
  for (const LinkId id : links_of(f)) {
    LinkState& link = links_[static_cast<std::size_t>(id)];
    entries_[entry] = {.next = link.head, .previous = none};
    if (link.head != none) entries_[link.head].previous = entry;
    link.head = entry++;
    ++link.flows;
  }
  joined_.push_back(flow);
}

void FluidNetwork::leave_links(std::uint32_t flow) {
  Flow& f = flows_[flow];
  f.active = false;
  std::uint32_t entry = flow * stride_;
  for (const LinkId id : links_of(f)) {
    LinkState& link = links_[static_cast<std::size_t>(id)];
    const Entry e = entries_[entry];
    (e.previous == none ? link.head : entries_[e.previous].next) = e.next;
    if (e.next != none) entries_[e.next].previous = e.previous;
    if (--link.flows > 0) loosened_.push_back(id);
    ++entry;
  }
}

std::int64_t FluidNetwork::alone_ps(std::int64_t bytes, std::int64_t bits_per_second) {
  // Most messages of a run have one of a few sizes; the 128-bit division is worth remembering.
  Quotient& known = quotients_[static_cast<std::size_t>((static_cast<std::uint64_t>(bytes) * 0x9E3779B97F4A7C15ull) >> 58)];
  if (known.bytes != bytes || known.bits_per_second != bits_per_second)
    known = {bytes, bits_per_second, (Bytes{bytes} / BitsPerSecond{bits_per_second}).ps};
  return known.ps;
}

// Gives every flow whose links changed at this date its new rate.
void FluidNetwork::settle() {
  ++component_;
  for (const std::uint32_t flow : joined_) {
    Flow& f = flows_[flow];
    if (!f.active || f.component == component_) continue;
    const bool alone = std::ranges::all_of(links_of(f), [&](LinkId id) { return links_[static_cast<std::size_t>(id)].flows == 1; });
    if (alone) {
      const Route& route = routes_[f.route];
      f.component = component_;
      f.rate = static_cast<double>(route.bits_per_second);
      f.end_ps = now_ + alone_ps(f.bytes, route.bits_per_second);
      queue_.push(f.end_ps, flow << 1 | 1);
    } else {
      collect(flow);
      share_out();
    }
  }
  joined_.clear();
  for (const LinkId id : loosened_) {
    const LinkState& link = links_[static_cast<std::size_t>(id)];
    if (link.flows == 0 || flows_[link.head / stride_].component == component_) continue;
    collect(link.head / stride_);
    share_out();
  }
  loosened_.clear();
}

// Gathers all flows joined to this one through links that more than one flow uses. A link with a single flow joins nobody.
void FluidNetwork::collect(std::uint32_t first) {
  members_.assign(1, first);
  member_links_.clear();
  flows_[first].component = component_;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    for (const LinkId id : links_of(flows_[members_[i]])) {
      LinkState& link = links_[static_cast<std::size_t>(id)];
      if (link.flows == 1 || link.component == component_) continue;
      link.component = component_;
      link.left = link.capacity;
      link.unfrozen = link.flows;
      member_links_.push_back(id);
      for (std::uint32_t entry = link.head; entry != none; entry = entries_[entry].next) {
        Flow& other = flows_[entry / stride_];
        if (other.component == component_) continue;
        other.component = component_;
        members_.push_back(entry / stride_);
      }
    }
  }
}

// Progressive filling: the link with the smallest share fixes the rate of its flows, which lowers what is left to others.
// Shares only grow while that goes on, so an outdated one in the heap is found out when it comes up.
void FluidNetwork::share_out() {
  ++solves_;
  solved_flows_ += members_.size();
  bottlenecks_.clear();
  for (const LinkId id : member_links_) {
    const LinkState& link = links_[static_cast<std::size_t>(id)];
    bottlenecks_.push_back({link.capacity / link.flows, static_cast<std::uint32_t>(id), false});
  }
  for (const std::uint32_t flow : members_) {
    flows_[flow].frozen = false;
    double alone = HUGE_VAL;
    for (const LinkId id : links_of(flows_[flow])) {
      const LinkState& link = links_[static_cast<std::size_t>(id)];
      if (link.flows == 1) alone = std::min(alone, link.capacity);
    }
    if (alone < HUGE_VAL) bottlenecks_.push_back({alone, flow, true});
  }
  std::ranges::make_heap(bottlenecks_, &Bottleneck::after);
  for (std::size_t to_freeze = members_.size(); to_freeze > 0;) {
    std::ranges::pop_heap(bottlenecks_, &Bottleneck::after);
    const Bottleneck least = bottlenecks_.back();
    bottlenecks_.pop_back();
    if (least.is_flow) {
      if (flows_[least.index].frozen) continue;
      give(least.index, least.share);
      --to_freeze;
      continue;
    }
    const LinkState& link = links_[least.index];
    if (link.unfrozen == 0) continue;
    const double share = link.left / link.unfrozen;
    if (share > least.share) {
      bottlenecks_.push_back({share, least.index, false});
      std::ranges::push_heap(bottlenecks_, &Bottleneck::after);
      continue;
    }
    for (std::uint32_t entry = link.head; entry != none; entry = entries_[entry].next) {
      const std::uint32_t flow = entry / stride_;
      if (flows_[flow].frozen) continue;
      give(flow, least.share);
      --to_freeze;
    }
  }
}

void FluidNetwork::give(std::uint32_t flow, double rate) {
  Flow& f = flows_[flow];
  f.frozen = true;
  for (const LinkId id : links_of(f)) {
    LinkState& link = links_[static_cast<std::size_t>(id)];
    link.left = std::max(0.0, link.left - rate);
    --link.unfrozen;
  }
  set_rate(flow, rate);
}

void FluidNetwork::set_rate(std::uint32_t flow, double rate) {
  Flow& f = flows_[flow];
  // What differs in the last bits only is the same rate reached by another order of subtractions.
  if (f.rate > 0 && std::abs(rate - f.rate) <= 1e-12 * f.rate) return;
  f.remaining_bits = std::max(0.0, f.remaining_bits - f.rate * static_cast<double>(now_ - f.updated_ps) * 1e-12);
  f.updated_ps = now_;
  f.rate = rate;
  const double ps = f.remaining_bits / rate * 1e12;
  // A quotient a rounding error above a whole picosecond is that picosecond.
  f.end_ps = now_ + std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(ps - ps * 1e-15)));
  queue_.push(f.end_ps, flow << 1 | 1);
}

}  // namespace weft

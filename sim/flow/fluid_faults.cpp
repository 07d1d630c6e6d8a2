// Links that fail or slow down, and routes that change, while flows are on them.
#include "kernels/base/error.hpp"
#include "sim/flow/fluid.hpp"

#include <algorithm>
#include <map>

namespace weft {

void FluidNetwork::expect_faults(int changes, Detour detour, LinkName name) {
  check(routes_.empty() && !detour_, "faults are told of when {} routes are known", routes_.size());
  changes_ahead_ = changes;
  detour_ = std::move(detour);
  name_of_link_ = std::move(name);
  remaining_.assign(links_.size(), 1);
}

void FluidNetwork::set_remaining(LinkId id, double share) {
  const auto at = static_cast<std::size_t>(id);
  if (remaining_[at] == share) return;
  if (remaining_[at] == 1) ++altered_;
  if (share == 1) --altered_;
  remaining_[at] = share;
  LinkState& link = links_[at];
  if (link.opposite != no_link) {
    two_ways_[at].alone = nominal_[at] * share;
    two_way_.push_back(id);
  } else {
    link.capacity = nominal_[at] * share;
    touched_.push_back(id);
  }
}

bool FluidNetwork::is_cut(const Flow& flow) const {
  return altered_ > 0 && flow.route != no_route &&
         std::ranges::any_of(path_of(routes_[flow.route]), [&](LinkId id) { return remaining_[static_cast<std::size_t>(id)] == 0; });
}

// What it has carried over its present path, so many bits being left.
void FluidNetwork::carry(std::uint32_t flow, double left_bits) {
  const double bits = on_path_since_[flow] - left_bits;
  const std::uint32_t route = flows_[flow].route;
  const std::span<const LinkId> path = path_of(routes_[route]);
  std::vector<Carried>& ways = carried_[route];
  if (ways.empty() || !std::ranges::equal(ways.back().path, path)) ways.push_back({{path.begin(), path.end()}});
  ways.back().bits += bits;
  on_path_since_[flow] = left_bits;
}

void FluidNetwork::reroute() {
  std::map<std::uint32_t, std::vector<LinkId>> other;  // by route
  for (std::uint32_t r = 0; r < routes_.size(); ++r) {
    std::vector<LinkId> path = detour_(first_paths_[r]);
    if (!std::ranges::equal(path, path_of(routes_[r]))) other.emplace(r, std::move(path));
  }
  std::vector<std::uint32_t> moving;
  for (std::uint32_t flow = 0; flow < flows_.size(); ++flow) {
    Flow& f = flows_[flow];
    if (!f.active || !other.contains(f.route)) continue;
    const double left = std::max(0.0, f.remaining_bits - f.rate * static_cast<double>(now_ - f.updated_ps) * 1e-12);
    if (activity_) note_use(f, f.remaining_bits - left);
    f.remaining_bits = left;
    f.updated_ps = now_;
    carry(flow, f.remaining_bits);
    leave_links(flow);
    moving.push_back(flow);
  }
  for (const auto& [route, path] : other) routes_[route] = route_over(path, terms_of(routes_[route]));
  for (const std::uint32_t flow : moving) {
    take_links(flow);
    enter_links(flow);
  }
  rerouted_ += static_cast<std::int64_t>(other.size());
}

std::string FluidNetwork::stall() const {
  std::map<LinkId, int> waiting;
  for (const Flow& flow : flows_)
    if (stands(flow)) ++waiting[flow.bottleneck];
  std::string out;
  for (const auto& [link, flows] : waiting)
    out += fmt::format("{}{} is down: {} message{} wait{} for it", out.empty() ? "" : "\n", name_of_link_(link), flows,
                       flows == 1 ? "" : "s", flows == 1 ? "s" : "");
  return out;
}

}  // namespace weft

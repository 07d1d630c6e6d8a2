#include "models/server/nvlink_rings.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace weft {
namespace {

constexpr int max_steps = 100'000;  // of one search

// Lanes between GPUs; `split`: each counts as so many of a part of its rate.
class Lanes {
 public:
  Lanes(const Server& server, int gpus, int split = 1)
      : gpus_(gpus), of_pair_(static_cast<std::size_t>(gpus) * static_cast<std::size_t>(gpus)) {
    std::unordered_map<std::string, int> number;
    for (std::size_t gpu = 0; gpu < server.gpus.size(); ++gpu) number[server.gpus[gpu]] = static_cast<int>(gpu);
    std::vector<std::pair<std::pair<int, int>, BitsPerSecond>> joined;
    for (const ServerLink& link : server.links)
      if (number.contains(link.from) && number.contains(link.to)) {
        const BitsPerSecond rate = link.spec().bandwidth;
        joined.push_back({{number.at(link.from), number.at(link.to)}, rate});
        if (lane_.count == 0 || rate < lane_) lane_ = rate;
      }
    for (const auto& [pair, rate] : joined)
      if (std::max(pair.first, pair.second) < gpus && lane_.count > 0)
        take(pair.first, pair.second,
             -split * static_cast<int>(std::lround(static_cast<double>(rate.count) / static_cast<double>(lane_.count))));
    lane_.count /= split;
  }

  BitsPerSecond lane() const { return lane_; }
  int gpus() const { return gpus_; }
  int between(int a, int b) const { return of_pair_[at(a, b)]; }
  int of(int gpu) const {
    int sum = 0;
    for (int other = 0; other < gpus_; ++other) sum += between(gpu, other);
    return sum;
  }
  void take(int a, int b, int lanes = 1) { of_pair_[at(a, b)] -= lanes, of_pair_[at(b, a)] -= lanes; }

  int relay(int from, int to) const {
    if (between(from, to) > 0) return -1;
    int best = -1, most = 0;
    for (int gpu = 0; gpu < gpus_; ++gpu)
      if (const int through = std::min(between(from, gpu), between(gpu, to)); through > most) best = gpu, most = through;
    return best;
  }

  // No more undirected rings than this are left.
  int max_rings() const {
    int least = of(0) / 2;
    for (int gpu = 1; gpu < gpus_; ++gpu) least = std::min(least, of(gpu) / 2);
    return least;
  }

 private:
  std::size_t at(int a, int b) const { return static_cast<std::size_t>(a) * static_cast<std::size_t>(gpus_) + static_cast<std::size_t>(b); }
  int gpus_;
  BitsPerSecond lane_ = {};
  std::vector<int> of_pair_;
};

using Order = std::vector<int>;

// By pair of GPUs, the first of it first.
std::vector<int> relays_of(const Lanes& lanes) {
  std::vector<int> out;
  for (int from = 0; from < lanes.gpus(); ++from)
    for (int to = 0; to < lanes.gpus(); ++to) out.push_back(from == to ? -1 : lanes.relay(from, to));
  return out;
}

// Undirected rings through all GPUs from GPU 0 on, depth first, and behind each the rings of the lanes that are left.
class Search {
 public:
  // `relays`: by pair; empty: there are none.
  Search(std::vector<int> relays, Lanes lanes)
      : relays_(std::move(relays)), left_(std::move(lanes)), seen_(static_cast<std::size_t>(left_.gpus())) {
    go_on_from(0);
  }
  const std::vector<Order>& best() const { return best_; }

 private:
  void go_on_from(int gpu) {
    seen_[static_cast<std::size_t>(gpu)] = true;
    order_.push_back(gpu);
    if (static_cast<int>(order_.size()) == left_.gpus()) {
      along(gpu, 0, [&] { close(); });
    } else {
      for (int next = 1; next < left_.gpus() && !done(); ++next)
        if (!seen_[static_cast<std::size_t>(next)]) along(gpu, next, [&] { go_on_from(next); });
    }
    order_.pop_back();
    seen_[static_cast<std::size_t>(gpu)] = false;
  }

  // What is done while a lane from GPU to GPU is taken, or one there and one back of a relay.
  template <class Then>
  void along(int from, int to, const Then& then) {
    ++steps_;
    if (left_.between(from, to) > 0) {
      left_.take(from, to);
      then();
      return left_.take(from, to, -1);
    }
    const int relay = relays_.empty() ? -1 : relays_[static_cast<std::size_t>(from * left_.gpus() + to)];
    if (relay < 0 || left_.between(from, relay) == 0 || left_.between(relay, to) == 0) return;
    left_.take(from, relay), left_.take(relay, to);
    then();
    left_.take(from, relay, -1), left_.take(relay, to, -1);
  }

  void close() {
    if (order_[1] > order_.back()) return;  // the other way round
    rings_.push_back(order_);
    if (rings_.size() > best_.size()) best_ = rings_;
    const auto reachable = rings_.size() + static_cast<std::size_t>(left_.max_rings());
    if (reachable > best_.size() && !done()) {
      const Order ring = std::exchange(order_, {});
      const std::vector<bool> seen = std::exchange(seen_, std::vector<bool>(seen_.size()));
      go_on_from(0);
      order_ = ring, seen_ = seen;
    }
    rings_.pop_back();
  }

  bool done() const { return steps_ > max_steps || best_.size() == static_cast<std::size_t>(most_); }

  std::vector<int> relays_;
  Lanes left_;
  std::vector<bool> seen_;
  const int most_ = left_.max_rings();
  int steps_ = 0;
  Order order_;
  std::vector<Order> rings_, best_;
};

}  // namespace

NvlinkRings nvlink_rings(const Server& server, int gpus) {
  if (!server.nvswitches.empty() || gpus < 2 || gpus > static_cast<int>(server.gpus.size())) return {};
  const Lanes lanes(server, gpus);
  if (lanes.lane().count == 0) return {};
  if (gpus == 2) return {.orders = std::vector<Order>(static_cast<std::size_t>(lanes.between(0, 1)), Order{0, 1}), .lane = lanes.lane()};
  std::vector<Order> rings = Search({}, lanes).best();
  if (rings.empty() && server.policy == PeerPolicy::nvlink_relay) rings = Search(relays_of(lanes), lanes).best();
  NvlinkRings out{.orders = {}, .lane = lanes.lane()};
  const Lanes halves(server, gpus, 2);
  if (auto of_halves = Search({}, halves).best(); of_halves.size() > 2 * rings.size())
    rings = std::move(of_halves), out.lane = halves.lane();
  for (const Order& ring : rings) {
    out.orders.push_back(ring);
    out.orders.emplace_back(ring.rbegin(), ring.rend());
  }
  return out;
}

int nvlink_channels(const NvlinkRings& rings, int nics, BitsPerSecond nic) {
  const int orders = static_cast<int>(rings.orders.size());
  if (orders == 0) return nics;
  const auto carried = [&](int channels) {
    const auto each = [channels](BitsPerSecond rate, int shared_by) {
      return static_cast<double>(rate.count) / ((channels + shared_by - 1) / shared_by);
    };
    return channels * std::min(each(rings.lane, orders), each(nic, nics));
  };
  constexpr double worth_it = 1.02;
  int best = nics;
  for (int channels = nics + 1; channels <= std::lcm(orders, nics); ++channels)
    if (carried(channels) > worth_it * carried(best)) best = channels;
  return best;
}

bool nvlinks_join_all(const Server& server) {
  const auto linked = [&](const std::string& a, const std::string& b) {
    return std::ranges::any_of(
        server.links, [&](const ServerLink& link) { return (link.from == a && link.to == b) || (link.from == b && link.to == a); });
  };
  const auto joined = [&](const std::string& a, const std::string& b) {
    return a == b || linked(a, b) ||
           std::ranges::any_of(server.nvswitches, [&](const std::string& nvswitch) { return linked(a, nvswitch) && linked(b, nvswitch); });
  };
  return std::ranges::all_of(server.gpus, [&](const std::string& a) {
    return std::ranges::all_of(server.gpus, [&](const std::string& b) { return joined(a, b); });
  });
}

bool switch_adds(const Server& server) {
  return std::ranges::any_of(server.links, [&](const ServerLink& link) {
    const auto is_switch = [&](const std::string& device) { return std::ranges::count(server.nvswitches, device) > 0; };
    return (is_switch(link.from) || is_switch(link.to)) && link.spec().bandwidth > 300_GBps;
  });
}

std::vector<int> nvlink_relays(const Server& server) { return relays_of(Lanes(server, static_cast<int>(server.gpus.size()))); }

}  // namespace weft

#include "sim/in_network/cluster.hpp"

#include "sim/in_network/aggregation_paths.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace weft {

std::vector<BitsPerSecond> link_rates(const Fabric& fabric) {
  std::vector<BitsPerSecond> out;
  for (LinkId id = 0; id < fabric.links(); ++id) out.push_back(fabric.link(id).bandwidth);
  return out;
}

InNetworkCluster::InNetworkCluster(const Fabric& fabric, std::vector<int> workers, std::vector<int> others, int number)
    : fabric_(fabric),
      workers_(std::move(workers)),
      others_(std::move(others)),
      number_(number),
      up_(static_cast<std::size_t>(fabric.endpoints()), -1),
      down_(static_cast<std::size_t>(fabric.endpoints()), -1) {
  std::vector<int> endpoint_of(static_cast<std::size_t>(fabric.devices()), -1);
  for (int e = 0; e < fabric.endpoints(); ++e) endpoint_of[static_cast<std::size_t>(fabric.node_of(e))] = e;
  for (LinkId id = 0; id < fabric.links(); ++id) {
    const int from = endpoint_of[static_cast<std::size_t>(fabric.from(id))], to = endpoint_of[static_cast<std::size_t>(fabric.to(id))];
    if (from >= 0 && up_[static_cast<std::size_t>(from)] < 0) up_[static_cast<std::size_t>(from)] = id;
    if (to >= 0 && down_[static_cast<std::size_t>(to)] < 0) down_[static_cast<std::size_t>(to)] = id;
  }
}

std::vector<int> InNetworkCluster::worker_switches() const {
  std::vector<int> out;
  for (const int e : workers_) out.push_back(edge_switch(e));
  return out;
}

std::vector<int> InNetworkCluster::servers(const AtpSettings& settings) const {
  return settings.server_nodes.empty() ? chosen_servers(settings.servers) : settings.server_nodes;
}

std::vector<int> InNetworkCluster::chosen_servers(int count) const {
  std::vector<int> free(static_cast<std::size_t>(fabric_.endpoints()));
  std::iota(free.begin(), free.end(), 0);
  const auto holds = [](const std::vector<int>& set, int e) { return std::ranges::find(set, e) != set.end(); };
  std::erase_if(free, [&](int e) { return holds(workers_, e) || holds(others_, e); });
  if (!free.empty()) std::rotate(free.begin(), free.begin() + number_ % static_cast<std::ptrdiff_t>(free.size()), free.end());
  const int ranks = static_cast<int>(workers_.size());
  if (count == 0) count = free.empty() ? std::min(ranks, max_default_servers) : 1;
  std::vector<int> out;
  const int among = std::max(count - static_cast<int>(free.size()), 0);
  for (int s = 0; s < count; ++s) {
    const int i = s - (count - among);  // among the workers
    // Of as many equal parts of the workers, part i at its i-th fraction: at equal distances all would stand on switches of one kind,
    // where those are counted in turn, and their trees would meet.
    out.push_back(i < 0 ? free[static_cast<std::size_t>(s)]
                        : workers_[static_cast<std::size_t>(std::int64_t{i} * (among + 1) * ranks / (std::int64_t{among} * among))]);
  }
  return out;
}

std::vector<Hop> InNetworkCluster::path(int from, int to, Routes& routes) const {
  if (from == to) return {{up_link(from)}, {down_link(from)}};
  const auto hops = routes.hops(routes.of(from, to));
  return {hops.begin(), hops.end()};
}

int InNetworkCluster::endpoint_below(NodeId at) const {
  for (int e = 0; e < fabric_.endpoints(); ++e)
    if (up_[static_cast<std::size_t>(e)] >= 0 && edge_switch(e) == at) return e;
  return -1;
}

std::vector<Hop> InNetworkCluster::path_to_switch(int from, NodeId to, Routes& routes) const {
  if (edge_switch(from) == to) return {{up_link(from)}};
  std::vector<Hop> out = path(from, endpoint_below(to), routes);
  out.pop_back();
  return out;
}

std::vector<Hop> InNetworkCluster::path_from_switch(NodeId from, int to, Routes& routes) const {
  if (edge_switch(to) == from) return {{down_link(to)}};
  std::vector<Hop> out = path(endpoint_below(from), to, routes);
  out.erase(out.begin());
  return out;
}

SimTime one_way(std::span<const Hop> path, const Fabric& fabric, Bytes packet) {
  SimTime out;
  for (const Hop& hop : path) out = out + fabric.link(hop.link).latency + packet / fabric.link(hop.link).bandwidth;
  return out;
}

SimTime in_programs(std::span<const Hop> path, const Fabric& fabric, const std::vector<NodeId>& programmable, SimTime delay) {
  return std::ranges::count_if(path, [&](const Hop& hop) { return std::ranges::binary_search(programmable, fabric.to(hop.link)); }) * delay;
}

AtpRoundTrip atp_round_trip(const InNetworkCluster& cluster, std::span<const int> servers, const InNetworkSite& site, Bytes packet) {
  const Fabric& fabric = site.routes.fabric();
  const std::vector<NodeId> programmable = programmable_nodes(site.switches, fabric);
  SimTime longest, elsewhere;
  BitsPerSecond slowest{INT64_MAX};
  for (const int w : cluster.workers()) {
    slowest.count = std::min(slowest.count, fabric.link(cluster.up_link(w)).bandwidth.count);
    for (const int server : servers) {
      SimTime there_and_back;
      for (const auto& path : {cluster.path(w, server, site.routes), cluster.path(server, w, site.routes)})
        there_and_back += one_way(path, fabric, packet) + in_programs(path, fabric, programmable, site.switches.delay);
      if (there_and_back < longest) continue;
      longest = there_and_back;
      const Hop own[] = {{cluster.up_link(w)}, {cluster.down_link(w)}};
      elsewhere = one_way(own, fabric, packet) + in_programs(own, fabric, programmable, site.switches.delay);
    }
  }
  const SimTime held = longest - elsewhere;
  return {.held = held,
          .elsewhere = elsewhere,
          .packets = static_cast<double>(slowest.count) * (held + elsewhere).seconds() / 8 / static_cast<double>(packet.count)};
}

namespace {

// The first of its workers' switches that can be programmed, else the first with endpoints that can.
NodeId meeting_switch(const InNetworkCluster& cluster, const std::vector<NodeId>& programmable) {
  for (const NodeId at : cluster.worker_switches())
    if (std::ranges::binary_search(programmable, at)) return at;
  for (const NodeId at : programmable)
    if (cluster.has_endpoints(at)) return at;
  throw InputError("switchml adds up in a switch with endpoints, and none of them can be programmed (\"/fabric/programmable/switches\")");
}

// Of so many packets that a host sends, and gets back, one behind the other.
SimTime in_host(std::int64_t packets, const HostCost& host, Bytes packet) {
  const double ps = 2.0 * static_cast<double>(packets) * static_cast<double>((host.of(packet) + host.jitter).ps);
  return ps < static_cast<double>(longest_timeout.ps) ? SimTime{std::llround(ps)} : longest_timeout;
}

// The largest window is found where it is not given.
void place(AtpSettings settings, const InNetworkCluster& cluster, const InNetworkSite& site, PlacedTask& out) {
  out.servers = cluster.servers(settings);
  for (const int endpoint : out.servers) out.task.servers_at.push_back(cluster.edge_switch(endpoint));
  const AtpRoundTrip trip = atp_round_trip(cluster, out.servers, site, settings.packet);
  if (settings.largest_window == 0) {
    const double packets = 2 * trip.packets / static_cast<double>(out.servers.size());
    settings.initial_window = std::min(settings.initial_window, std::max(4, static_cast<int>(packets)));
    settings.largest_window = std::max(settings.initial_window, static_cast<int>(std::min(std::ceil(packets), 1048576.0)));
  }
  if (settings.timeout == AtpSettings{}.timeout) {
    const std::int64_t under_way = std::int64_t{settings.largest_window} * std::ssize(out.servers);
    settings.timeout = std::max(settings.timeout, 2 * (trip.held + trip.elsewhere + in_host(under_way, settings.host, settings.packet)));
  }
  // Not before whole windows of all workers, none of them added up, have passed the server's link.
  const double windows = static_cast<double>(settings.largest_window) * static_cast<double>(out.servers.size() * cluster.workers().size());
  const double queue_ps = windows / trip.packets * static_cast<double>((trip.held + trip.elsewhere).ps);
  settings.aggregator_timeout =
      std::max({settings.aggregator_timeout, 5 * settings.timeout, SimTime{static_cast<std::int64_t>(std::min(4 * queue_ps, 9e18))}});
  out.task.settings = std::move(settings);
}

// All slots' packets queue at the slowest of the links, at the switch and in a host. A timeout below what that takes finds nothing lost,
// and what is retransmitted queues too.
void place(SwitchmlSettings settings, const InNetworkCluster& cluster, const InNetworkSite& site, PlacedTask& out) {
  const NodeId at = meeting_switch(cluster, programmable_nodes(site.switches, site.routes.fabric()));
  out.task.meets_at = at;
  out.task.settings = settings;
  if (settings.timeout) return;
  const Fabric& fabric = site.routes.fabric();
  std::map<LinkId, std::int64_t> crossed;
  SimTime path, queue;
  for (const int w : cluster.workers()) {
    const auto up = cluster.path_to_switch(w, at, site.routes), down = cluster.path_from_switch(at, w, site.routes);
    path = std::max(path, one_way(up, fabric, settings.packet) + site.switches.delay + one_way(down, fabric, settings.packet));
    for (const Hop& hop : up) ++crossed[hop.link];
    queue = std::max(queue, settings.places() * settings.packet / fabric.link(cluster.down_link(w)).bandwidth);
  }
  for (const auto& [link, workers] : crossed)
    queue = std::max(queue, settings.places() * workers * settings.packet / fabric.link(link).bandwidth);
  if (const std::int64_t rate = site.switches.packets_per_second; rate > 0) {
    const auto packets = settings.places() * static_cast<std::int64_t>(cluster.workers().size());
    queue = std::max(queue, Bytes{packets} / BitsPerSecond{8 * std::min(rate, INT64_MAX / 8)});  // a packet like a byte
  }
  queue = std::max(queue, in_host(settings.places(), settings.host, settings.packet));
  settings.timeout = std::max(settings.resend_after(), 2 * (path + queue));
  out.task.settings = settings;
}

}  // namespace

PlacedTask place_task(const InNetworkCluster& cluster, const InNetworkSite& site, const InNetworkSettings& settings) {
  PlacedTask out;
  out.task.workers_at = cluster.worker_switches();
  std::visit(
      [&](auto s) {
        s.packet += s.framing;
        place(s, cluster, site, out);
      },
      settings);
  return out;
}

std::vector<PlacedTask> place_tasks(const std::vector<InNetworkCluster>& clusters, const InNetworkSite& site,
                                    const std::vector<PlacedAggregation>& jobs) {
  std::vector<PlacedTask> out;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    out.push_back(place_task(clusters[j], site, jobs[j].settings));
    out.back().task.values = jobs[j].elements;
    out.back().task.rounds = static_cast<std::uint32_t>(jobs[j].repetition.iterations);
    out.back().task.open = jobs[j].owner != nullptr;
  }
  return out;
}

std::vector<InNetworkTask> tasks_of(const std::vector<PlacedTask>& placed) {
  std::vector<InNetworkTask> out;
  for (const PlacedTask& p : placed) out.push_back(p.task);
  return out;
}

SimTime PlacedAggregation::first_start() const { return starts.empty() ? SimTime{} : *std::ranges::min_element(starts); }

BusiestLink busiest_between_switches(const InNetworkCluster& cluster, const PlacedTask& placed, const InNetworkSite& site) {
  std::map<LinkId, int> up, down;
  const auto cross = [](const std::vector<Hop>& path, std::map<LinkId, int>& flows) {
    for (const Hop& hop : path) ++flows[hop.link];
  };
  if (std::holds_alternative<AtpSettings>(placed.task.settings)) {
    const std::vector<AtpFlow> flows = atp_flows({&placed.task, 1}, programmable_nodes(site.switches, site.routes.fabric()));
    for (std::size_t f = 0; f < flows.size(); ++f) {
      std::vector<std::vector<Hop>> paths;
      LinkSet back;
      for (const int w : cluster.workers()) {
        paths.push_back(cluster.path(w, placed.servers[f], site.routes));
        back.add(cluster.path(placed.servers[f], w, site.routes));
      }
      const AggregationTree tree(paths, flows[f].tree);
      cross(tree.once.hops(), up);
      for (const std::vector<Hop>& again : tree.more) cross(again, up);
      cross(back.hops(), down);
    }
  } else {
    LinkSet back;
    for (const int w : cluster.workers()) {
      cross(cluster.path_to_switch(w, placed.task.meets_at, site.routes), up);
      back.add(cluster.path_from_switch(placed.task.meets_at, w, site.routes));
    }
    cross(back.hops(), down);
  }
  BusiestLink most;
  for (const auto& [step, flows] : {std::pair{0, &up}, std::pair{1, &down}})
    for (const auto& [link, count] : *flows)
      if (count > most.flows && site.routes.fabric().between_switches(link)) most = {count, link, step};
  return most;
}

std::vector<InNetworkCluster> clusters_of(const InNetworkSite& site, const std::vector<PlacedAggregation>& jobs) {
  std::vector<InNetworkCluster> out;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    std::vector<int> others = site.taken;
    for (std::size_t o = 0; o < jobs.size(); ++o)
      if (o != j) others.insert(others.end(), jobs[o].workers.begin(), jobs[o].workers.end());
    out.emplace_back(site.routes.fabric(), jobs[j].workers, std::move(others), static_cast<int>(j));
  }
  return out;
}

}  // namespace weft

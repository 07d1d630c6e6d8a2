#include "validation/lab/plan.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

namespace weft::lab {
namespace {

// What the links of the lab may be. Slower, a packet takes milliseconds; faster, processors and not buckets set the pace.
constexpr BitsPerSecond least_rate = 1_Mbps;
constexpr BitsPerSecond max_rate = 10_Gbps;

constexpr std::int64_t window_bytes = 8 << 20;        // more than Linux lets a connection have under way
constexpr std::int64_t first_window_bytes = 1 << 20;  // what a new connection may send at once

// A link sends for about this long on a packet: long enough for timers to keep up, short enough for a small message to be
// several packets.
constexpr SimTime packet_time = 200_us;
constexpr std::int64_t min_packet = 1500, max_packet = 9000;

struct Cable {
  LinkId there;
  std::optional<LinkId> back;
};

// Links are ends of cables two by two, the first one of a pair of devices with the first one back.
std::vector<Cable> cables_of(const Fabric& fabric) {
  std::vector<Cable> cables;
  std::map<std::pair<NodeId, NodeId>, std::vector<std::size_t>> open;  // cables without a way back, by the direction they lack
  for (LinkId link = 0; link < fabric.links(); ++link) {
    const NodeId from = fabric.from(link), to = fabric.to(link);
    auto& waiting = open[{from, to}];
    if (!waiting.empty()) {
      cables[waiting.front()].back = link;
      waiting.erase(waiting.begin());
    } else {
      open[{to, from}].push_back(cables.size());
      cables.push_back({link, {}});
    }
  }
  return cables;
}

// Where an endpoint has one cable.
LinkId up_link(const Fabric& fabric, int endpoint) {
  LinkId link = 0;
  while (fabric.from(link) != fabric.node_of(endpoint)) ++link;
  return link;
}
NodeId edge_switch(const Fabric& fabric, int endpoint) { return fabric.to(up_link(fabric, endpoint)); }

class Drawing {
 public:
  Drawing(const Fabric& fabric, Ecmp ecmp, std::string prefix, Programs programs)
      : fabric_(fabric), routes_(fabric, ecmp), prefix_(std::move(prefix)), out_{.packet_bytes = packet_bytes(fabric)} {
    endpoint_of_.assign(static_cast<std::size_t>(fabric.devices()), -1);
    for (int e = 0; e < fabric.endpoints(); ++e) endpoint_of_[static_cast<std::size_t>(fabric.node_of(e))] = e;
    if (programs == Programs::yes)
      for (int e = fabric.endpoints() - 1; e >= 0; --e) programs_[edge_switch(fabric, e)].endpoint = e;
  }

  Plan draw() {
    name_everything();
    add_bridges();
    add_cables();
    for (int e = 0; e < fabric_.endpoints(); ++e) add_host(e);
    for (const auto& [at, program] : programs_) add_program(at, program);
    for (const auto& [key, line] : tables_) add(Tool::bridge, out_.bridges_in, line);
    for (const std::string& in : out_.namespaces)
      for (LinkId link = 0; link < fabric_.links(); ++link)
        if (namespace_of(fabric_.from(link)) == in) add_bucket(link);
    return std::move(out_);
  }

 private:
  // Of a cable.
  struct End {
    std::string port;
    NodeId at;
  };
  // Of a switch.
  struct Program {
    int endpoint = 0;  // one below it
    std::string hardware_address = {};
  };

  template <class... Lines>
  void add(Tool tool, const std::string& in, Lines... lines) {
    (out_.commands.push_back({tool, in, std::move(lines)}), ...);
  }

  int endpoint(NodeId node) const { return endpoint_of_[static_cast<std::size_t>(node)]; }
  const std::string& namespace_of(NodeId node) const {
    return endpoint(node) < 0 ? out_.bridges_in : out_.hosts[static_cast<std::size_t>(endpoint(node))].in;
  }
  static std::string bridge_name(NodeId node) { return fmt::format("sw{}", node); }
  static std::string port_name(LinkId link) { return fmt::format("p{}", link); }  // where the link begins
  static std::string far_name(LinkId link) { return fmt::format("r{}", link); }   // where it ends, if nothing comes back
  static std::string bridge_port(NodeId at) { return fmt::format("c{}", at); }    // the cable of a switch's program, at its bridge
  static std::string program_port(NodeId at) { return fmt::format("q{}", at); }   // and in its namespace
  static std::string hardware_address(int endpoint) { return fmt::format("02:57:45:46:54:{:02x}", endpoint); }

  void name_everything() {
    out_.bridges_in = prefix_ + "-net";
    out_.namespaces.push_back(out_.bridges_in);
    for (int e = 0; e < fabric_.endpoints(); ++e) {
      // 198.18.0.0/15 is for measurements (RFC 2544); nothing of it leaves the namespaces.
      out_.hosts.push_back({fmt::format("{}-h{}", prefix_, e), fmt::format("198.18.0.{}", e + 1)});
      out_.namespaces.push_back(out_.hosts.back().in);
    }
    for (auto& [at, program] : programs_) {
      const std::size_t number = out_.programs.size();
      program.hardware_address = fmt::format("02:57:45:46:55:{:02x}", number);
      out_.programs[at] = {fmt::format("{}-s{}", prefix_, number), fmt::format("198.18.1.{}", number + 1)};
      out_.namespaces.push_back(out_.programs[at].in);
    }
    for (const std::string& name : out_.namespaces) add(Tool::ip, "", "netns add " + name);
  }

  void add_bridges() {
    for (NodeId node = 0; node < fabric_.devices(); ++node)
      if (endpoint(node) < 0)
        add(Tool::ip, out_.bridges_in, fmt::format("link add {} type bridge stp_state 0 mcast_snooping 0", bridge_name(node)),
            fmt::format("link set {} addrgenmode none up", bridge_name(node)));
  }

  // From the side of a switch, if there is one: so most of them are one batch.
  void add_cables() {
    for (const Cable& c : cables_of(fabric_)) {
      End near{port_name(c.there), fabric_.from(c.there)};
      End far{c.back ? port_name(*c.back) : far_name(c.there), fabric_.to(c.there)};
      if (endpoint(near.at) >= 0) std::swap(near, far);
      add(Tool::ip, namespace_of(near.at),
          fmt::format("link add {} mtu {} type veth peer name {} mtu {} netns {}", near.port, out_.packet_bytes, far.port,
                      out_.packet_bytes, namespace_of(far.at)));
      ends_.insert(ends_.end(), {near, far});
    }
    for (const auto& [at, host] : out_.programs)
      add(Tool::ip, out_.bridges_in,
          fmt::format("link add {} mtu {} type veth peer name {} mtu {} netns {}", bridge_port(at), out_.packet_bytes, program_port(at),
                      out_.packet_bytes, host.in));
    for (const End& end : ends_)
      if (endpoint(end.at) < 0) plug_into_bridge(end);
    for (const auto& entry : programs_) plug_into_bridge({bridge_port(entry.first), entry.first});
  }

  // Packets go one by one (gso_max_segs 1): a bucket would let several of them pass as one.
  void plug_into_bridge(const End& end) {
    add(Tool::ip, out_.bridges_in, fmt::format("link set {} gso_max_segs 1 addrgenmode none master {}", end.port, bridge_name(end.at)),
        fmt::format("link set {} type bridge_slave learning off flood off mcast_flood off bcast_flood off", end.port),
        fmt::format("link set {} up", end.port));
  }

  void add_host(int e) {
    const Host& host = out_.hosts[static_cast<std::size_t>(e)];
    add(Tool::ip, host.in, std::string("link set lo up"), fmt::format("addr add {}/32 dev lo", host.address));
    for (const End& end : ends_)
      if (endpoint(end.at) == e)
        add(Tool::ip, host.in,
            fmt::format("link set {} address {} gso_max_segs 1 addrgenmode none arp off up", end.port, hardware_address(e)));
    for (int to = 0; to < fabric_.endpoints(); ++to) {
      if (to == e) continue;
      const auto hops = routes_.hops(routes_.of(e, to));
      add_way(host, out_.hosts[static_cast<std::size_t>(to)], hardware_address(to), port_name(hops.front().link));
      add_to_tables(hardware_address(to), hops.subspan(1));
    }
    for (const auto& [at, program] : programs_) {
      add_way(host, out_.programs.at(at), program.hardware_address, port_name(up_link(fabric_, e)));
      if (edge_switch(fabric_, e) == at) continue;
      const auto hops = routes_.hops(routes_.of(e, program.endpoint));
      add_to_tables(program.hardware_address, hops.subspan(1, hops.size() - 2));
    }
  }

  // Everybody is reached by way of the bridge, which knows the paths of its endpoints.
  void add_program(NodeId at, const Program& program) {
    const Host& host = out_.programs.at(at);
    add(Tool::ip, host.in, std::string("link set lo up"), fmt::format("addr add {}/32 dev lo", host.address),
        fmt::format("link set {} address {} addrgenmode none arp off up", program_port(at), program.hardware_address));
    for (int to = 0; to < fabric_.endpoints(); ++to)
      add_way(host, out_.hosts[static_cast<std::size_t>(to)], hardware_address(to), program_port(at));
    for (const auto& [other, there] : programs_)
      if (other != at) add_way(host, out_.programs.at(other), there.hardware_address, program_port(at));
    add_to_table(at, program.hardware_address, bridge_port(at));
  }

  // No packet is lost in the lab, so there is nothing to probe for: the window is open from the start.
  void add_way(const Host& from, const Host& to, const std::string& hardware, const std::string& port) {
    add(Tool::ip, from.in, fmt::format("neigh replace {} lladdr {} dev {} nud permanent", to.address, hardware, port),
        fmt::format("route add {}/32 dev {} src {} initcwnd {} congctl reno", to.address, port, from.address,
                    first_window_bytes / out_.packet_bytes));
  }

  void add_to_tables(const std::string& hardware, std::span<const Hop> hops) {
    for (const Hop& hop : hops) add_to_table(fabric_.from(hop.link), hardware, port_name(hop.link));
  }
  void add_to_table(NodeId at, const std::string& hardware, const std::string& port) {
    tables_[{at, hardware}] = fmt::format("fdb replace {} dev {} master static", hardware, port);
  }

  // The bucket holds two packets: one that goes, and one in hand for a timer that is late. What waits is never dropped, as on
  // a fabric with flow control.
  void add_bucket(LinkId link) {
    const std::int64_t frame = out_.packet_bytes + ethernet_header_bytes;
    const std::int64_t room = std::min<std::int64_t>(window_bytes * fabric_.endpoints(), INT32_MAX);
    add(Tool::tc, namespace_of(fabric_.from(link)),
        fmt::format("qdisc add dev {} root tbf rate {}bit burst {} limit {}", port_name(link), fabric_.link(link).bandwidth.count,
                    frame * 5 / 4, room));
  }

  const Fabric& fabric_;
  Routes routes_;
  std::string prefix_;
  Plan out_;
  std::vector<int> endpoint_of_;
  std::vector<End> ends_;
  std::map<NodeId, Program> programs_;
  std::map<std::pair<NodeId, std::string>, std::string> tables_;  // by switch and hardware address
};

// A program's place is known by the one switch of an endpoint.
void find_several_cables(const Fabric& fabric, std::vector<Problem>& out) {
  for (int e = 0; e < fabric.endpoints(); ++e) {
    int cables = 0;
    for (LinkId link = 0; link < fabric.links(); ++link) cables += fabric.from(link) == fabric.node_of(e);
    if (cables == 1) continue;
    out.push_back({"/fabric", fmt::format("below switches that aggregate an endpoint has one cable, but {} has {}",
                                          fabric.device(fabric.node_of(e)).name, cables)});
    return;
  }
}

// Two paths to one endpoint that leave a switch by different links.
void find_forks(const Fabric& fabric, Ecmp ecmp, std::vector<Problem>& out) {
  struct Way {
    LinkId link;
    int from;
  };
  Routes routes(fabric, ecmp);
  for (int to = 0; to < fabric.endpoints(); ++to) {
    std::map<NodeId, Way> way;  // out of each switch
    for (int from = 0; from < fabric.endpoints(); ++from) {
      if (from == to) continue;
      for (const Hop& hop : routes.hops(routes.of(from, to)).subspan(1)) {
        const auto [at, fresh] = way.try_emplace(fabric.from(hop.link), Way{hop.link, from});
        if (fresh || at->second.link == hop.link) continue;
        const auto name = [&](int endpoint) { return fabric.device(fabric.node_of(endpoint)).name; };
        out.push_back(
            {"/fabric/ecmp",
             fmt::format("a switch of the lab knows a packet by its destination only, but to {} go {} and {}, from {} and from {}; "
                         "\"d_mod_k\" chooses by destination",
                         name(to), fabric.link_name(at->second.link), fabric.link_name(hop.link), name(at->second.from), name(from))});
        return;
      }
    }
  }
}

}  // namespace

std::string_view name_of(Tool tool) { return tool == Tool::ip ? "ip" : tool == Tool::tc ? "tc" : "bridge"; }

std::string to_string(const Command& c) {
  return c.in.empty() ? fmt::format("{} {}", name_of(c.tool), c.line) : fmt::format("{} -n {} {}", name_of(c.tool), c.in, c.line);
}

std::int64_t packet_bytes(const Fabric& fabric) {
  BitsPerSecond slowest = max_rate;
  for (LinkId link = 0; link < fabric.links(); ++link) slowest = std::min(slowest, fabric.link(link).bandwidth);
  return std::clamp(static_cast<std::int64_t>(slowest.bytes_per_second() * packet_time.seconds()), min_packet, max_packet);
}

std::vector<Problem> problems(const Fabric& fabric, Ecmp ecmp, Programs programs) {
  std::vector<Problem> out;
  if (fabric.endpoints() < 2 || fabric.endpoints() > max_hosts)
    out.push_back({"/fabric", fmt::format("the lab has 2 to {} hosts, got {}", max_hosts, fabric.endpoints())});
  if (out.empty() && ecmp.policy == EcmpPolicy::least_loaded)
    out.push_back({"/fabric/ecmp", "the lab's paths are fixed before anything runs, which \"least_loaded\" is not"});
  else if (out.empty())
    find_forks(fabric, ecmp, out);
  if (programs == Programs::yes) find_several_cables(fabric, out);
  for (LinkId link = 0; link < fabric.links(); ++link) {
    const BitsPerSecond rate = fabric.link(link).bandwidth;
    if (rate >= least_rate && rate <= max_rate) continue;
    out.push_back({"/fabric", fmt::format("the lab has links of {} to {}, but {} has {}; write --set /fabric/link/bandwidth=200Mbps",
                                          to_string(least_rate), to_string(max_rate), fabric.link_name(link), to_string(rate))});
    break;
  }
  return out;
}

Plan plan(const Fabric& fabric, Ecmp ecmp, const std::string& prefix, Programs programs) {
  if (const auto found = problems(fabric, ecmp, programs); !found.empty()) {
    std::vector<std::string> lines;
    for (const Problem& p : found) lines.push_back(fmt::format("{}: {}", p.where, p.what));
    throw InputError(std::move(lines));
  }
  return Drawing(fabric, ecmp, prefix, programs).draw();
}

}  // namespace weft::lab

#include "validation/lab/plan.hpp"

#include "models/fabric/fabric_spec.hpp"
#include "validation/lab/network.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <doctest/doctest.h>

namespace weft::lab {
namespace {

constexpr LinkSpec slow_link{200_Mbps, 20_us};

Plan plan_of(const FabricSpec& spec, Ecmp ecmp = {}, Programs programs = Programs::no) {
  return plan(*build(spec), ecmp, "weft-7", programs);
}

GraphFabric two_switches(BitsPerSecond trunk) {
  return {
      .nodes = {"a", "b", "c"},
      .switches = {"left", "right"},
      .links = {
          {"a", "left", 200_Mbps, 0_us}, {"b", "left", 200_Mbps, 0_us}, {"c", "right", 200_Mbps, 0_us}, {"left", "right", trunk, 0_us}}};
}

std::vector<std::string> lines_with(const Plan& p, const std::string& part) {
  std::vector<std::string> out;
  for (const Command& c : p.commands)
    if (to_string(c).find(part) != std::string::npos) out.push_back(to_string(c));
  return out;
}

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> out(1);
  for (const char c : line) {
    if (c == ' ')
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

NodeId switch_of(const Fabric& fabric, int endpoint) {
  LinkId up = 0;
  while (fabric.from(up) != fabric.node_of(endpoint)) ++up;
  return fabric.to(up);
}
int first_below(const Fabric& fabric, NodeId at) {
  int endpoint = 0;
  while (switch_of(fabric, endpoint) != at) ++endpoint;
  return endpoint;
}

// The network that a plan's commands make, as far as frames go.
class Walk {
 public:
  explicit Walk(const Plan& p) : plan_(p) {
    for (const Command& c : p.commands) {
      const auto w = words_of(c.line);
      if (c.line.starts_with("link add ") && w[6] == "veth") {
        peer_[w[2]] = w[9];
        peer_[w[9]] = w[2];
      }
      const auto master = std::ranges::find(w, "master");
      if (c.line.starts_with("link set ") && master != w.end()) bridge_[w[2]] = master[1];
      if (c.line.starts_with("link set ") && w[3] == "address") owner_[w[2]] = c.in;
      if (c.line.starts_with("neigh")) hardware_[{c.in, w[2]}] = w[4];
      if (c.line.starts_with("route")) way_[{c.in, w[2].substr(0, w[2].find('/'))}] = w[4];
      if (c.tool == Tool::bridge) table_[w[2]][w[4]] = 1;
    }
  }

  // The ports that frames from one host or program to another leave by.
  std::vector<std::string> path(int from, int to) const {
    return path(plan_.hosts[static_cast<std::size_t>(from)], plan_.hosts[static_cast<std::size_t>(to)]);
  }
  std::vector<std::string> path(const Host& a, const Host& b) const {
    const std::string& frame = hardware_.at({a.in, b.address});
    std::vector<std::string> out = {way_.at({a.in, b.address})};
    while (!owner_.contains(peer_.at(out.back()))) {
      const std::string& at = bridge_.at(peer_.at(out.back()));
      std::vector<std::string> ports;
      for (const auto& [port, unused] : table_.at(frame))
        if (bridge_.at(port) == at) ports.push_back(port);
      REQUIRE(ports.size() == 1);
      out.push_back(ports.front());
      REQUIRE(out.size() < 10);
    }
    REQUIRE(owner_.at(peer_.at(out.back())) == b.in);
    return out;
  }

 private:
  const Plan& plan_;
  std::map<std::string, std::string> peer_, bridge_, owner_;
  std::map<std::pair<std::string, std::string>, std::string> hardware_, way_;
  std::map<std::string, std::map<std::string, int>> table_;  // by address: ports
};

TEST_CASE("two hosts on a switch are three namespaces, two cables, four buckets") {
  const Plan p = plan_of(Star{.nodes = 2, .host_link = slow_link});
  CHECK(p.namespaces == std::vector<std::string>{"weft-7-net", "weft-7-h0", "weft-7-h1"});
  CHECK(p.packet_bytes == 5000);  // 200 us at 200 Mb/s
  CHECK(lines_with(p, "type veth") ==
        std::vector<std::string>{"ip -n weft-7-net link add p1 mtu 5000 type veth peer name p0 mtu 5000 netns weft-7-h0",
                                 "ip -n weft-7-net link add p3 mtu 5000 type veth peer name p2 mtu 5000 netns weft-7-h1"});
  CHECK(lines_with(p, "fdb") == std::vector<std::string>{"bridge -n weft-7-net fdb replace 02:57:45:46:54:00 dev p1 master static",
                                                         "bridge -n weft-7-net fdb replace 02:57:45:46:54:01 dev p3 master static"});
  // Five quarters of a frame of 5000 B and a header of 14 B; 8 MiB of room for each host.
  CHECK(lines_with(p, "tbf") ==
        std::vector<std::string>{"tc -n weft-7-net qdisc add dev p1 root tbf rate 200000000bit burst 6267 limit 16777216",
                                 "tc -n weft-7-net qdisc add dev p3 root tbf rate 200000000bit burst 6267 limit 16777216",
                                 "tc -n weft-7-h0 qdisc add dev p0 root tbf rate 200000000bit burst 6267 limit 16777216",
                                 "tc -n weft-7-h1 qdisc add dev p2 root tbf rate 200000000bit burst 6267 limit 16777216"});
  CHECK(lines_with(p, "-h1 route") ==
        std::vector<std::string>{"ip -n weft-7-h1 route add 198.18.0.1/32 dev p2 src 198.18.0.2 initcwnd 209 congctl reno"});
}

TEST_CASE("frames take the paths that the routes chose") {
  const std::vector<std::pair<FabricSpec, Ecmp>> fabrics = {
      {Star{.nodes = 5, .host_link = slow_link}, {}},
      {two_switches(100_Mbps), {}},
      {FatTree{.leaves = 3, .nodes_per_leaf = 2, .spines = 2, .host_link = slow_link, .fabric_link = slow_link},
       {.policy = EcmpPolicy::d_mod_k}},
      {BiGraph{.switches = 6, .nodes_per_switch = 2, .host_link = slow_link, .fabric_link = slow_link}, {.policy = EcmpPolicy::d_mod_k}},
  };
  for (const auto& [spec, ecmp] : fabrics) {
    const std::string type(type_name(spec));
    CAPTURE(type);
    const auto fabric = build(spec);
    const Plan p = plan(*fabric, ecmp, "weft-7");
    const Walk walk(p);
    Routes routes(*fabric, ecmp);
    for (int from = 0; from < fabric->endpoints(); ++from)
      for (int to = 0; to < fabric->endpoints(); ++to) {
        if (from == to) continue;
        CAPTURE(from);
        CAPTURE(to);
        std::vector<std::string> expected;
        for (const Hop& hop : routes.hops(routes.of(from, to))) expected.push_back(fmt::format("p{}", hop.link));
        CHECK(walk.path(from, to) == expected);
      }
  }
}

TEST_CASE("programs of switches are reached over the links of the fabric, and a cable of their own without a bucket") {
  const std::vector<FabricSpec> fabrics = {
      Star{.nodes = 3, .host_link = slow_link},
      two_switches(100_Mbps),
      FatTree{.leaves = 3, .nodes_per_leaf = 2, .spines = 2, .host_link = slow_link, .fabric_link = slow_link},
  };
  for (const FabricSpec& spec : fabrics) {
    const std::string type(type_name(spec));
    CAPTURE(type);
    const Ecmp ecmp{.policy = EcmpPolicy::d_mod_k};
    const auto fabric = build(spec);
    const Plan p = plan(*fabric, ecmp, "weft-7", Programs::yes);
    const Walk walk(p);
    Routes routes(*fabric, ecmp);
    const std::size_t edges = type == "star" ? 1 : type == "graph" ? 2 : 3;
    CHECK(p.programs.size() == edges);
    CHECK(lines_with(p, "tbf").size() == static_cast<std::size_t>(fabric->links()));
    for (int from = 0; from < fabric->endpoints(); ++from) {
      const Host& host = p.hosts[static_cast<std::size_t>(from)];
      for (int to = 0; to < fabric->endpoints(); ++to) {
        if (from == to) continue;
        CAPTURE(from);
        CAPTURE(to);
        std::vector<std::string> links;
        for (const Hop& hop : routes.hops(routes.of(from, to))) links.push_back(fmt::format("p{}", hop.link));
        const NodeId at = switch_of(*fabric, to), own = switch_of(*fabric, from);
        if (at == own || first_below(*fabric, at) == to) {
          std::vector<std::string> expected = links;
          expected.back() = fmt::format("c{}", at);
          CHECK(walk.path(host, p.programs.at(at)) == expected);
        }
        const std::vector<std::string> back = walk.path(p.programs.at(own), p.hosts[static_cast<std::size_t>(to)]);
        CHECK(back.front() == fmt::format("q{}", own));
        CHECK(back.back() == links.back());
        CHECK(back.size() == links.size());
        if (at == own) continue;
        const std::vector<std::string> across = walk.path(p.programs.at(own), p.programs.at(at));
        CHECK(across.front() == fmt::format("q{}", own));
        CHECK(across.back() == fmt::format("c{}", at));
        CHECK(across.size() == links.size());
      }
    }
  }
}

TEST_CASE("every direction of a cable has a bucket at its own rate") {
  const Plan p = plan_of(two_switches(100_Mbps));
  CHECK(lines_with(p, "tbf").size() == 8);
  CHECK(lines_with(p, "rate 100000000bit").size() == 2);
  CHECK(p.packet_bytes == 2500);  // of the slowest link
}

TEST_CASE("commands of one tool in one namespace stand together, so that a batch takes them all") {
  const Plan p = plan_of(two_switches(100_Mbps));
  std::size_t batches = 1;
  for (std::size_t i = 1; i < p.commands.size(); ++i)
    if (p.commands[i].tool != p.commands[i - 1].tool || p.commands[i].in != p.commands[i - 1].in) ++batches;
  CHECK(p.commands.size() > 60);
  CHECK(batches == 10);  // names, switches, 3 hosts, tables, buckets of the switches and of 3 hosts
}

TEST_CASE("what a lab cannot be is refused with the way out") {
  CHECK_THROWS_WITH_AS(plan_of(Star{.nodes = 200, .host_link = slow_link}), "/fabric: the lab has 2 to 128 hosts, got 200", InputError);
  CHECK_THROWS_WITH_AS(plan_of(Star{.nodes = 2, .host_link = {100_Gbps, 0_us}}),
                       "/fabric: the lab has links of 1Mbps to 10Gbps, but node0->switch has 100Gbps; write --set "
                       "/fabric/link/bandwidth=200Mbps",
                       InputError);
  const FatTree tree{.leaves = 3, .nodes_per_leaf = 2, .spines = 2, .host_link = slow_link, .fabric_link = slow_link};
  CHECK_THROWS_WITH_AS(plan_of(tree, {.policy = EcmpPolicy::least_loaded}),
                       "/fabric/ecmp: the lab's paths are fixed before anything runs, which \"least_loaded\" is not", InputError);
  CHECK_THROWS_WITH_AS(plan_of(tree, {.policy = EcmpPolicy::hash, .seed = 3}),
                       "/fabric/ecmp: a switch of the lab knows a packet by its destination only, but to leaf0/node0 go leaf1->spine1 and "
                       "leaf1->spine0, from leaf1/node0 and from leaf1/node1; \"d_mod_k\" chooses by destination",
                       InputError);
}

TEST_CASE("below switches that aggregate, endpoints have one cable") {
  GraphFabric twice = two_switches(100_Mbps);
  twice.links.push_back({"b", "right", 200_Mbps, 0_us});
  CHECK_THROWS_WITH_AS(plan_of(twice, {}, Programs::yes), "/fabric: below switches that aggregate an endpoint has one cable, but b has 2",
                       InputError);
  CHECK(plan_of(twice).programs.empty());
}

TEST_CASE("leftovers are the namespaces of labs whose process is gone") {
  const std::vector<std::string> there = {"weft-12-net", "weft-12-h0", "weft-13-net", "weft-net", "weft-12", "other-12-net"};
  const auto only_13_lives = [](pid_t process) { return process == 13; };
  CHECK(leftovers_among(there, only_13_lives) == std::vector<std::string>{"weft-12-net", "weft-12-h0"});
}

}  // namespace
}  // namespace weft::lab

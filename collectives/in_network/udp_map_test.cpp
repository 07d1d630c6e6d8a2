#include "collectives/in_network/udp_map.hpp"

#include "collectives/in_network/node_agents.hpp"

#include <algorithm>
#include <set>

#include <doctest/doctest.h>

namespace weft {
namespace {

std::vector<int> next(const UdpMap& map, int node, Address from, Address to) {
  const UdpRoutes routes(map, node);
  const auto span = routes.next(from, to);
  return {span.begin(), span.end()};
}

}  // namespace

TEST_CASE("udp map: workers hang below switches in blocks, servers one at each in turn") {
  const UdpLayout layout{5, 3, 2};
  std::vector<int> at;
  for (int node = 0; node < layout.nodes(); ++node) at.push_back(layout.at(node));
  CHECK(at == std::vector<int>{0, 0, 0, 1, 1, 0, 1, 0, 0, 1});
  CHECK(layout.names() == std::vector<std::string>{"worker 0", "worker 1", "worker 2", "worker 3", "worker 4", "server 0", "server 1",
                                                   "server 2", "switch 0", "switch 1"});
}

TEST_CASE("udp map: who hangs below which switch can be said, and switches can only pass on") {
  UdpLayout layout{3, 1, 3, {2, 0, 2, 1}};
  std::vector<int> at;
  for (int node = 0; node < layout.nodes(); ++node) at.push_back(layout.at(node));
  CHECK(at == std::vector<int>{2, 0, 2, 1, 0, 1, 2});
  CHECK(layout.adding() == std::vector<int>{0, 1, 2});
  layout.passing = {0, 2};
  CHECK(layout.adding() == std::vector<int>{1});
  const InNetworkDeployment atp({}, layout, 1000);
  CHECK(atp.atp.switches.size() == 1);
  CHECK(atp.atp.switches.front().at == 1);
  CHECK(next(atp.map, 0, atp.atp.flows[0].first_worker, atp.atp.flows[0].server) == std::vector{layout.switch_node(2)});
  const InNetworkDeployment switchml({.kind = InNetworkProtocol::Kind::switchml}, layout, 1000);
  CHECK(switchml.switchml.switches.front().at == 1);
}

TEST_CASE("udp map: a gradient goes to its switch, to the server's, to the server") {
  // Workers 0, 1 below switch 0 (node 6), 2, 3 below switch 1 (node 7); server 0 (node 4) below switch 0, server 1 (5) below 1.
  const InNetworkDeployment d({}, {4, 2, 2}, 1000);
  const AtpFlow& flow = d.atp.flows[0];
  CHECK(next(d.map, 2, flow.first_worker + 2, flow.server) == std::vector{7});
  CHECK(next(d.map, 7, flow.first_worker + 2, flow.server) == std::vector{6});
  CHECK(next(d.map, 6, flow.first_worker + 2, flow.server) == std::vector{4});
  CHECK(next(d.map, 0, flow.first_worker, flow.server) == std::vector{6});
}

TEST_CASE("udp map: a group's copies part at the sender's switch, one for each other switch, and every member gets one") {
  const InNetworkDeployment d({}, {4, 2, 2}, 1000);
  const AtpFlow& flow = d.atp.flows[0];
  CHECK(next(d.map, 4, flow.server, flow.group) == std::vector{6});
  CHECK(next(d.map, 6, flow.server, flow.group) == std::vector{0, 1, 7});
  CHECK(next(d.map, 7, flow.server, flow.group) == std::vector{2, 3});
  const UdpRoutes worker(d.map, 3);
  CHECK(std::ranges::equal(worker.here(flow.group), std::vector<Address>{flow.first_worker + 3}));
  CHECK(worker.here(flow.server).empty());
}

TEST_CASE("udp map: SwitchML's packets go to the first switch, whatever is on the way, and its sums to all") {
  const InNetworkDeployment d({.kind = InNetworkProtocol::Kind::switchml}, {4, 1, 2}, 1000);
  const SwitchmlJobPlace& job = d.switchml.jobs[0];
  const int first = d.map.layout.switch_node(0), second = d.map.layout.switch_node(1);
  CHECK(next(d.map, 3, 3, job.at) == std::vector{second});
  CHECK(next(d.map, second, 3, job.at) == std::vector{first});
  CHECK(next(d.map, first, 3, job.at).empty());  // its program's
  CHECK(next(d.map, first, job.at, job.group) == std::vector{0, 1, second});
}

TEST_CASE("udp map: only agents send, to agents and groups") {
  const InNetworkDeployment d({}, {2, 1, 1}, 10);
  const UdpRoutes routes(d.map, 0);
  const AtpFlow& flow = d.atp.flows[0];
  CHECK(routes.known(flow.server, flow.group));
  CHECK(routes.known(flow.first_worker, flow.server));
  CHECK_FALSE(routes.known(flow.group, flow.server));
  CHECK_FALSE(routes.known(nobody, flow.server));
  CHECK_FALSE(routes.known(flow.server, 1000));
  CHECK_FALSE(routes.known(INT32_MIN, INT32_MAX));
}

}  // namespace weft

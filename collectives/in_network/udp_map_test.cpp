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

using Role = InNetworkDeployment::Role;

// Of the first with this role and number.
Address address(const UdpDeployment& d, Role role, int number = 0) {
  return std::ranges::find_if(d.agents.seats, [&](const auto& seat) { return seat.role == role && seat.number == number; })->self;
}
int switch_of(const UdpDeployment& d) {
  CHECK(std::ranges::count(d.agents.seats, Role::program, &InNetworkDeployment::Seat::role) == 1);
  return std::ranges::find(d.agents.seats, Role::program, &InNetworkDeployment::Seat::role)->at;
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
  const UdpDeployment atp(AtpSettings{}, layout, 1000), switchml(SwitchmlSettings{}, layout, 1000);
  CHECK(switch_of(atp) == 1);
  CHECK(next(atp.map, 0, address(atp, Role::worker), address(atp, Role::server)) == std::vector{layout.switch_node(2)});
  CHECK(switch_of(switchml) == 1);
}

TEST_CASE("udp map: a gradient goes to its switch, to the server's, to the server") {
  // Workers 0, 1 below switch 0 (node 6), 2, 3 below switch 1 (node 7); server 0 (node 4) below switch 0, server 1 (5) below 1.
  const UdpDeployment d(AtpSettings{}, {4, 2, 2}, 1000);
  const Address first_worker = address(d, Role::worker), server = address(d, Role::server);
  CHECK(next(d.map, 2, first_worker + 2, server) == std::vector{7});
  CHECK(next(d.map, 7, first_worker + 2, server) == std::vector{6});
  CHECK(next(d.map, 6, first_worker + 2, server) == std::vector{4});
  CHECK(next(d.map, 0, first_worker, server) == std::vector{6});
}

TEST_CASE("udp map: a group's copies part at the sender's switch, one for each other switch, and every member gets one") {
  const UdpDeployment d(AtpSettings{}, {4, 2, 2}, 1000);
  const Address first_worker = address(d, Role::worker), server = address(d, Role::server), group = d.agents.groups[0].self;
  CHECK(next(d.map, 4, server, group) == std::vector{6});
  CHECK(next(d.map, 6, server, group) == std::vector{0, 1, 7});
  CHECK(next(d.map, 7, server, group) == std::vector{2, 3});
  const UdpRoutes worker(d.map, 3);
  CHECK(std::ranges::equal(worker.here(group), std::vector<Address>{first_worker + 3}));
  CHECK(worker.here(server).empty());
}

TEST_CASE("udp map: SwitchML's packets go to the first switch, whatever is on the way, and its sums to all") {
  const UdpDeployment d(SwitchmlSettings{}, {4, 1, 2}, 1000);
  const Address program = address(d, Role::program), group = d.agents.groups[0].self;
  const int first = d.map.layout.switch_node(0), second = d.map.layout.switch_node(1);
  CHECK(next(d.map, 3, 3, program) == std::vector{second});
  CHECK(next(d.map, second, 3, program) == std::vector{first});
  CHECK(next(d.map, first, 3, program).empty());  // its program's
  CHECK(next(d.map, first, program, group) == std::vector{0, 1, second});
}

TEST_CASE("udp map: only agents send, to agents and groups") {
  const UdpDeployment d(AtpSettings{}, {2, 1, 1}, 10);
  const UdpRoutes routes(d.map, 0);
  const Address first_worker = address(d, Role::worker), server = address(d, Role::server), group = d.agents.groups[0].self;
  CHECK(routes.known(server, group));
  CHECK(routes.known(first_worker, server));
  CHECK_FALSE(routes.known(group, server));
  CHECK_FALSE(routes.known(nobody, server));
  CHECK_FALSE(routes.known(server, 1000));
  CHECK_FALSE(routes.known(INT32_MIN, INT32_MAX));
}

}  // namespace weft

#include "collectives/in_network/deployment.hpp"

#include <set>

#include <doctest/doctest.h>

namespace weft {
namespace {

using Role = InNetworkDeployment::Role;
const AtpSettings ten_values{.payload = 40_B};

std::vector<InNetworkTask> two_jobs() {
  return {{.settings = ten_values, .workers_at = {0, 0, 1}, .servers_at = {1, 2}, .values = 100, .rounds = 3},
          {.settings = ten_values, .workers_at = {1, 1}, .servers_at = {0}}};
}

}  // namespace

TEST_CASE("deployment: every agent and group has one address, and together they are dense") {
  for (const InNetworkProtocol& protocol : in_network_protocols()) {
    CAPTURE(protocol.name);
    std::vector<InNetworkTask> tasks = two_jobs();
    for (InNetworkTask& task : tasks) task.settings = protocol.defaults, task.meets_at = 1;
    const InNetworkDeployment d = deploy(tasks, std::vector{0, 1});
    Address next = 0;
    int workers = 0;
    for (const InNetworkDeployment::Seat& seat : d.seats) {
      CHECK(seat.self == next++);
      workers += seat.role == Role::worker;
      CHECK(seat.agent(nullptr)->counted().sent == 0);
    }
    for (const InNetworkDeployment::Group& group : d.groups) {
      CHECK(group.self == next++);
      for (const Address a : group.members) CHECK(d.seats[static_cast<std::size_t>(a)].role == Role::worker);
      workers -= static_cast<int>(group.members.size());
    }
    CHECK(workers == 0);  // each in one group
    CHECK(&protocol_of(tasks.front().settings) == &protocol);
    CHECK(find_in_network(protocol.name) == &protocol);
  }
  CHECK(find_in_network("ring") == nullptr);
}

TEST_CASE("deployment: the servers of a job have equal parts of its message, and each round the same packets") {
  const std::vector<InNetworkTask> tasks = two_jobs();
  const InNetworkDeployment d = deploy(tasks, std::vector{1, 0});
  REQUIRE(d.jobs.size() == 2);
  CHECK(d.jobs[0].packets == 3 * 10);
  CHECK(d.jobs[0].servers == 2);
  CHECK(d.jobs[1].packets == 0);
  CHECK(d.seats[5].role == Role::worker);
  CHECK(d.seats[5].first_value == 50);
  CHECK(d.seats[5].values == 50);
  CHECK(d.seats[5].at == 0);
  CHECK(d.seats[7].role == Role::server);
  CHECK(d.seats[7].number == 1);
  CHECK(d.seats[7].at == 2);
  CHECK(d.values_per_packet == 10);
}

TEST_CASE("deployment: a flow's workers meet at their switch, and at the server's where it can be programmed") {
  const std::vector<InNetworkTask> tasks = two_jobs();
  const std::vector<AtpFlow> flows = atp_flows(tasks, std::vector{1, 0});
  REQUIRE(flows.size() == 3);
  CHECK(flows[0].packets == 5);
  CHECK(flows[2].packets == 0);
  CHECK(flows[1].job == 0);
  CHECK(flows[2].job == 1);
  const AtpWorker::Part w = flows[1].worker_part(2);
  CHECK(w.self == flows[1].first_worker + 2);
  CHECK(w.server == flows[1].server());
  CHECK(w.flow == 1);
  CHECK(w.packets == 5);
  CHECK(w.member.fan_in_1 == 1);  // alone below switch 1
  CHECK(w.member.fan_in_2 == 0);  // switch 2, the server's, does not aggregate
  CHECK(flows[0].worker_part(2).member.fan_in_2 == 2);
  CHECK(flows[0].server_part().workers == flows[0].group);
  CHECK(flows[0].server_part().packets == 15);
}

TEST_CASE("deployment: SwitchML's jobs share the slots of the switch they add up in") {
  std::vector<InNetworkTask> tasks = {{.workers_at = {0, 0, 0}, .meets_at = 7, .values = 64},
                                      {.workers_at = {0}, .meets_at = 4, .values = 33},
                                      {.workers_at = {0, 0}, .meets_at = 7}};
  for (InNetworkTask& task : tasks) task.settings = SwitchmlSettings{.slots = 9};
  const InNetworkDeployment d = deploy(tasks, {});
  CHECK(d.jobs[0].slots == 4);
  CHECK(d.jobs[1].slots == 9);
  CHECK(d.jobs[2].slots == 4);
  CHECK(d.jobs[0].packets == 2);
  CHECK(d.jobs[1].packets == 2);
  CHECK(d.jobs[2].packets == 0);
  CHECK(d.groups[2].members == std::vector<Address>{4, 5});
  REQUIRE(d.seats.size() == 8);
  CHECK(d.seats[6].role == Role::program);
  CHECK(d.seats[6].at == 7);
  CHECK(d.seats[7].at == 4);
}

TEST_CASE("deployment: what has no bits or numbers is refused") {
  const std::vector<InNetworkTask> crowd = {{.workers_at = std::vector<int>(129, 0), .servers_at = {1}, .values = 1}};
  CHECK_THROWS_WITH_AS(deploy(crowd, std::vector{0}), "129 workers meet at a switch, and a packet has bits for 128", InputError);
  const std::vector<InNetworkTask> endless = {
      {.settings = SwitchmlSettings{}, .workers_at = {0}, .meets_at = 0, .values = std::int64_t{1} << 40}};
  CHECK_THROWS_WITH_AS(deploy(endless, {}), "1 x 1099511627776 values are 34359738368 packets of 32, and there are numbers for 4293918719",
                       InputError);
}

}  // namespace weft

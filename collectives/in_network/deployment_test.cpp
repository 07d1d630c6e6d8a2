#include "collectives/in_network/deployment.hpp"

#include <set>

#include <doctest/doctest.h>

namespace weft {
namespace {

const AtpSettings ten_values{.values_per_packet = 10};

std::vector<AtpJob> two_jobs() {
  return {{{0, 0, 1}, {{.at = 1, .first_value = 0, .values = 95}, {.at = 2, .first_value = 95, .values = 5}}},
          {{1, 1}, {{.at = 0, .first_value = 0, .values = 0}}}};
}

}  // namespace

TEST_CASE("deployment: every agent, switch and group of ATP has one address, and together they are dense") {
  const std::vector<AtpJob> jobs = two_jobs();
  const AtpDeployment d = deploy_atp(ten_values, jobs, std::vector{0, 1});
  std::multiset<Address> all;
  for (const AtpFlow& flow : d.flows) {
    for (const Address a : flow.members()) all.insert(a);
    all.insert({flow.server, flow.group});
  }
  for (const AtpSwitchPlace& s : d.switches) all.insert(s.self);
  CHECK(all.size() == 4 + 4 + 3 + 2 + 3);
  CHECK(*all.begin() == 0);
  CHECK(*all.rbegin() == 15);
  CHECK(std::set<Address>(all.begin(), all.end()).size() == all.size());
}

TEST_CASE("deployment: flows have the packets of their share, and switches the servers below them") {
  const std::vector<AtpJob> jobs = two_jobs();
  const AtpDeployment d = deploy_atp(ten_values, jobs, std::vector{1, 0});
  REQUIRE(d.flows.size() == 3);
  CHECK(d.flows[0].packets == 10);
  CHECK(d.flows[1].packets == 1);
  CHECK(d.flows[2].packets == 0);
  CHECK(d.flows[1].job == 0);
  CHECK(d.flows[2].job == 1);
  REQUIRE(d.switches.size() == 2);
  CHECK(d.switches[0].at == 1);
  CHECK(d.switches[0].attached == std::vector<Address>{d.flows[0].server});
  CHECK(d.switches[1].attached == std::vector<Address>{d.flows[2].server});

  const AtpWorker::Place w = d.flows[1].worker_place(2);
  CHECK(w.self == d.flows[1].first_worker + 2);
  CHECK(w.server == d.flows[1].server);
  CHECK(w.flow == 1);
  CHECK(w.packets == 1);
  CHECK(w.member.fan_in_1 == 1);  // alone below switch 1
  CHECK(w.member.fan_in_2 == 0);  // switch 2, the server's, does not aggregate
  CHECK(d.flows[0].worker_place(2).member.fan_in_2 == 2);
  CHECK(d.flows[0].server_place().workers == d.flows[0].group);
}

TEST_CASE("deployment: SwitchML's jobs share the slots of the switch they add up in") {
  const std::vector<SwitchmlJob> jobs = {
      {.workers = 3, .at = 7, .values = 64}, {.workers = 1, .at = 4, .values = 33}, {.workers = 2, .at = 7}};
  const SwitchmlDeployment d = deploy_switchml({.slots = 9}, jobs);
  REQUIRE(d.switches.size() == 2);
  CHECK(d.switches[0].at == 7);
  CHECK(d.jobs[0].slots == 4);
  CHECK(d.jobs[1].slots == 9);
  CHECK(d.jobs[2].slots == 4);
  CHECK(d.jobs[0].packets == 2);
  CHECK(d.jobs[1].packets == 2);
  CHECK(d.jobs[2].packets == 0);
  CHECK(d.jobs[2].members() == std::vector<Address>{4, 5});
  CHECK(d.jobs[2].worker_place(1).self == 5);
  CHECK(d.jobs[2].at == d.switches[0].self);
  CHECK(d.jobs[1].at == d.switches[1].self);
  REQUIRE(d.switches[0].pools.size() == 3);
  CHECK(d.switches[0].pools[1].slots == 0);
  CHECK(d.switches[1].pools[1].slots == 9);
  CHECK(d.switches[1].pools[1].group == d.jobs[1].group);
}

TEST_CASE("deployment: what has no bits or numbers is refused") {
  const std::vector<AtpJob> crowd = {{std::vector<int>(129, 0), {{.at = 1, .values = 1}}}};
  CHECK_THROWS_WITH_AS(deploy_atp({}, crowd, std::vector{0}), "129 workers meet at a switch, and a packet has bits for 128", InputError);
  const std::vector<SwitchmlJob> endless = {{.values = std::int64_t{1} << 40}};
  CHECK_THROWS_WITH_AS(deploy_switchml({}, endless),
                       "1 x 1099511627776 values are 34359738368 packets of 32, and there are numbers for 4293918719", InputError);
}

}  // namespace weft

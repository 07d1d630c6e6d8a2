#include "sim/packet/datagram_network.hpp"

#include "models/fabric/fabric_test.hpp"
#include "models/fabric/fat_tree.hpp"
#include "models/fabric/star.hpp"
#include "sim/packet/testing.hpp"

#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;
using test::Wires;
using weft::test::link_100g;

namespace {

// What each test lets its agents do.
struct Scripted final : Agent {
  std::function<void(Wire&)> at_start = [](Wire&) {};
  std::function<void(Wire&, Datagram)> on_arrival = [](Wire&, Datagram) {};
  std::function<void(Wire&, std::uint64_t)> on_due = [](Wire&, std::uint64_t) {};
  std::function<bool()> is_finished = [] { return true; };
  std::vector<std::int64_t> dates_ps;  // of arrivals

  void start(Wire& w) override { at_start(w); }
  void on_datagram(Wire& w, Datagram d) override {
    dates_ps.push_back(w.now_ps());
    on_arrival(w, std::move(d));
  }
  void on_timer(Wire& w, std::uint64_t name) override { on_due(w, name); }
  bool finished() const override { return is_finished(); }
  std::string waiting() const override { return "waits for the test"; }
};

PacketSettings whole_packets() { return {.packet = 1_KB, .switching = Switching::store_and_forward}; }

Datagram datagram(Address from, Address to, std::int32_t bytes = 1'000) { return {.from = from, .to = to, .wire_bytes = bytes}; }

void run_out(Wires& wires, DatagramNetwork& net) {
  net.begin();
  wires.run();
}

}  // namespace

TEST_CASE("datagrams: one takes the time of a packet, and several queue behind one another") {
  const auto star = build(Star{.nodes = 2, .host_link = link_100g});
  Wires wires(*star, whole_packets());
  Scripted a, b;
  a.at_start = [](Wire& w) {
    for (int i = 0; i < 3; ++i) w.send(datagram(0, 1));
  };
  DatagramNetwork net(wires.network, wires.routes);
  net.attach(0, 0, a, 2_us);
  net.attach(1, 1, b);
  run_out(wires, net);
  const std::int64_t first = 2'000'000 + 1'000'000 + 2 * 80'000;
  CHECK(b.dates_ps == std::vector{first, first + 80'000, first + 160'000});
  CHECK(net.datagrams_in_flight() == 0);
}

TEST_CASE("datagrams: a programmable switch adds up what passes and sends one on, exactly") {
  const auto star = build(Star{.nodes = 4, .host_link = link_100g});
  Wires wires(*star, whole_packets());
  PayloadPool pool(2);
  std::vector<Scripted> workers(3);
  Scripted server, program;
  std::vector<std::int32_t> result;
  {
    DatagramNetwork net(wires.network, wires.routes, &pool);
    for (int i = 0; i < 3; ++i) {
      workers[static_cast<std::size_t>(i)].at_start = [i](Wire& w) {
        Datagram d = datagram(i, 3);
        d.payload = w.new_payload();
        d.payload.mutable_values()[0] = 1 << i;
        d.payload.mutable_values()[1] = -i;
        w.send(std::move(d));
      };
      net.attach(i, i, workers[static_cast<std::size_t>(i)]);
    }
    Datagram sum;
    int seen = 0;
    program.on_arrival = [&](Wire& w, Datagram d) {
      if (++seen == 1) return void(sum = std::move(d));
      for (std::size_t i = 0; i < 2; ++i) sum.payload.mutable_values()[i] += d.payload.values()[i];
      if (seen == 3) w.send(std::move(sum));
    };
    server.on_arrival = [&](Wire&, Datagram d) { result.assign(d.payload.values().begin(), d.payload.values().end()); };
    net.attach(3, 3, server);
    net.program(4, star->to(wires.link("node0->switch")), program);
    run_out(wires, net);
  }
  CHECK(result == std::vector<std::int32_t>{7, -3});
  CHECK(server.dates_ps.size() == 1);
  CHECK(wires.network.report().wire_bytes[static_cast<std::size_t>(wires.link("switch->node3"))] == 1'000);
  CHECK(pool.in_use() == 0);
}

TEST_CASE("datagrams: a multicast crosses each link of its tree once, and each member and switch sees it once") {
  const auto tree = build(FatTree{.leaves = 3, .nodes_per_leaf = 3, .spines = 2, .host_link = link_100g, .fabric_link = link_100g});
  Wires wires(*tree, whole_packets());
  std::vector<Scripted> hosts(9);
  Scripted leaf0, leaf1;
  DatagramNetwork net(wires.network, wires.routes);
  for (int i = 0; i < 9; ++i) net.attach(i, i, hosts[static_cast<std::size_t>(i)]);
  leaf0.on_arrival = leaf1.on_arrival = [](Wire& w, Datagram d) { w.send(std::move(d)); };
  net.program(9, tree->to(wires.link("leaf0/node0->leaf0")), leaf0);
  net.program(10, tree->to(wires.link("leaf1/node0->leaf1")), leaf1);
  const std::vector<Address> members{1, 3, 4, 5, 6, 8};
  net.group(11, members);
  hosts[0].at_start = [](Wire& w) { w.send(datagram(0, 11)); };
  run_out(wires, net);
  for (int i = 0; i < 9; ++i) {
    CAPTURE(i);
    CHECK(hosts[static_cast<std::size_t>(i)].dates_ps.size() == static_cast<std::size_t>(std::ranges::count(members, i)));
  }
  CHECK(leaf0.dates_ps.size() == 1);
  CHECK(leaf1.dates_ps.size() == 1);
  // Up, one or two to spines, one to each other leaf, six to members.
  const auto bytes = wires.network.report().wire_bytes;
  CHECK(std::ranges::all_of(bytes, [](std::int64_t b) { return b == 0 || b == 1'000; }));
  const std::int64_t links = std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}) / 1'000;
  CHECK(links >= 1 + 1 + 2 + 6);
  CHECK(links <= 1 + 2 + 2 + 6);
  CHECK(net.datagrams_in_flight() == 0);
}

TEST_CASE("datagrams: a switch has an address, and answers a group from where it is") {
  const auto star = build(Star{.nodes = 3, .host_link = link_100g});
  Wires wires(*star, whole_packets());
  std::vector<Scripted> hosts(3);
  Scripted program;
  DatagramNetwork net(wires.network, wires.routes);
  for (int i = 0; i < 3; ++i) net.attach(i, i, hosts[static_cast<std::size_t>(i)]);
  net.program(3, star->to(wires.link("node0->switch")), program);
  net.group(4, {0, 1, 2});
  hosts[0].at_start = [](Wire& w) { w.send(datagram(0, 3)); };
  program.on_arrival = [](Wire& w, Datagram) { w.send(datagram(3, 4)); };
  run_out(wires, net);
  for (const Scripted& host : hosts) CHECK(host.dates_ps == std::vector<std::int64_t>{1'000'000 + 2 * 80'000});
}

TEST_CASE("datagrams: two agents at one endpoint meet over their switch, a group of both included") {
  const auto star = build(Star{.nodes = 2, .host_link = link_100g});
  Wires wires(*star, whole_packets());
  Scripted a, b;
  DatagramNetwork net(wires.network, wires.routes);
  net.attach(0, 0, a);
  net.attach(1, 0, b);
  net.group(2, {0, 1});
  a.at_start = [](Wire& w) { w.send(datagram(0, 1)); };
  b.on_arrival = [&](Wire& w, Datagram d) {
    if (d.from == 0) w.send(datagram(1, 2));
  };
  run_out(wires, net);
  const std::int64_t once = 1'000'000 + 2 * 80'000;
  CHECK(b.dates_ps == std::vector{once, 2 * once});
  CHECK(a.dates_ps == std::vector{2 * once});
}

TEST_CASE("datagrams: an agent takes them at its own rate and after its own delay") {
  const auto star = build(Star{.nodes = 2, .host_link = link_100g});
  Wires wires(*star, whole_packets());
  Scripted a, b, program;
  DatagramNetwork net(wires.network, wires.routes);
  a.at_start = [](Wire& w) {
    for (int i = 0; i < 3; ++i) w.send(datagram(0, 1));
  };
  program.on_arrival = [](Wire& w, Datagram d) { w.send(std::move(d)); };
  net.attach(0, 0, a);
  net.attach(1, 1, b, {}, {.delay = 3_us});
  net.program(2, star->to(wires.link("node0->switch")), program, {.delay = 1_us, .packets_per_second = 1'000'000});
  run_out(wires, net);
  const std::int64_t at_switch = 500'000 + 80'000 + 1'000'000;
  CHECK(program.dates_ps == std::vector{at_switch, at_switch + 1'000'000, at_switch + 2'000'000});
  CHECK(b.dates_ps.front() == at_switch + 500'000 + 80'000 + 3'000'000);
}

TEST_CASE("datagrams: timers of one date come in the order they were set, and a stuck run says who waits") {
  const auto star = build(Star{.nodes = 2, .host_link = link_100g});
  Wires wires(*star, whole_packets());
  Scripted a, b;
  std::vector<std::uint64_t> order;
  a.at_start = [](Wire& w) {
    w.set_timer(5'000, 1);
    w.set_timer(4'000, 2);
    w.set_timer(5'000, 3);
    w.set_timer(0, 4);
  };
  a.on_due = [&](Wire&, std::uint64_t name) { order.push_back(name); };
  b.is_finished = [] { return false; };
  DatagramNetwork net(wires.network, wires.routes);
  net.attach(0, 0, a);
  net.attach(1, 1, b);
  CHECK_THROWS_WITH_AS(run_agents(wires.network, net), doctest::Contains("no progress is possible:\n  node1: waits for the test"),
                       RunError);
  CHECK(order == std::vector<std::uint64_t>{4, 2, 1, 3});
}

TEST_CASE("datagrams: what is lost, corrupted or dropped is given back, marks arrive with their datagram") {
  const auto tree = build(FatTree{.leaves = 2, .nodes_per_leaf = 4, .spines = 2, .host_link = link_100g, .fabric_link = link_100g});
  PacketSettings s = whole_packets();
  s.switching = Switching::cut_through;
  s.faults.loss = 0.02;
  s.faults.corruption = 0.02;
  s.pfc.on = false;
  s.switch_buffer = 50_KB;
  s.ecn = {.min = 10_KB, .max = 10_KB};
  Wires wires(*tree, s);
  PayloadPool pool(1);
  std::vector<Scripted> hosts(8);
  std::int64_t arrived = 0, marked = 0;
  {
    DatagramNetwork net(wires.network, wires.routes, &pool);
    for (int i = 0; i < 8; ++i) {
      hosts[static_cast<std::size_t>(i)].at_start = [i](Wire& w) {
        if (i == 0) return;
        for (int k = 0; k < 200; ++k) {
          Datagram d = datagram(i, k % 20 == 0 ? 8 : 0);
          d.payload = w.new_payload();
          w.send(std::move(d));
        }
      };
      hosts[static_cast<std::size_t>(i)].on_arrival = [&](Wire&, Datagram d) { ++arrived, marked += d.congested; };
      net.attach(i, i, hosts[static_cast<std::size_t>(i)]);
    }
    net.group(8, {0, 1, 2, 3, 4, 5, 6, 7});
    run_out(wires, net);
    CHECK(net.datagrams_in_flight() == 0);
    CHECK(pool.in_use() == 0);
  }
  const PacketReport r = wires.network.report();
  CHECK(r.lost > 20);
  CHECK(r.corrupted > 20);
  CHECK(r.dropped > 20);
  CHECK(marked > 20);
  CHECK(arrived < 7 * 190 + 7 * 10 * 8);
  CHECK(arrived > 500);
}

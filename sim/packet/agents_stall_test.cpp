// Agents that try again for ever: a run ends when nothing can come of it, and no sooner.
#include "models/fabric/fabric_spec.hpp"
#include "models/fabric/fabric_test.hpp"
#include "sim/network/background_flows.hpp"
#include "sim/packet/agent_driver.hpp"
#include "sim/packet/testing.hpp"

#include <deque>
#include <random>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;
using test::Wires;
using weft::test::link_100g;

namespace {

// Asks one question after the other, each again whenever `patience` has passed without an answer.
struct Asker final : Agent {
  Address self = 0, server = 1;
  int questions = 10, answered = 0;
  SimTime patience = 50_us;
  std::int32_t bytes = 1'000;

  void ask(Wire& w) {
    if (finished()) return;
    Datagram d{.from = self, .to = server, .wire_bytes = bytes};
    d.header.set(answered);
    w.send(std::move(d));
  }
  void start(Wire& w) override {
    ask(w);
    w.set_timer(patience.ps, static_cast<std::uint64_t>(answered));
  }
  void on_datagram(Wire& w, Datagram d) override {
    if (d.header.as<int>() != answered) return;
    ++answered;
    start(w);
  }
  void on_timer(Wire& w, std::uint64_t question) override {
    if (!finished() && question == static_cast<std::uint64_t>(answered)) start(w);
  }
  bool finished() const override { return answered == questions; }
  std::int64_t progress() const override { return answered; }
  std::string waiting() const override { return fmt::format("answer {} of {}", answered, questions); }
};

// Answers by a datagram of the same size.
struct Answerer final : Agent {
  void on_datagram(Wire& w, Datagram d) override {
    std::swap(d.from, d.to);
    w.send(std::move(d));
  }
  void on_timer(Wire&, std::uint64_t) override {}
};

PacketSettings plain() { return {.packet = 1_KB, .ecn = {.on = false}}; }

// One asker at node 0, and when it got its last answer.
struct Lone {
  std::unique_ptr<Fabric> fabric;
  Asker asker;
  Answerer answerer;
  SimTime start = {};
  AgentCost cost = {};

  explicit Lone(LinkSpec link = link_100g) : fabric(build(Star{.nodes = 2, .host_link = link})) {}
  SimTime run(const PacketSettings& settings) {
    Wires wires(*fabric, settings);
    DatagramNetwork net(wires.network, wires.routes);
    net.attach(0, 0, asker);
    net.attach(1, 1, answerer, start, cost);
    run_agents(wires.network, net);
    return wires.network.now();
  }
};

}  // namespace

TEST_CASE("agents: a link that stays down ends the run after many tries in vain, and the error says so") {
  PacketSettings s = plain();
  s.faults.failures = {{"node1->switch", 100_us}};
  const auto run = [&] {
    Lone lone;
    lone.asker.questions = 1'000'000;
    lone.run(s);
  };
  CHECK_THROWS_WITH_AS(
      run(), doctest::Contains("node0: answer 46 of 1000000\nnone of them is further than at 99.916 us: since then 100000 timers"),
      RunError);
  CHECK_THROWS_WITH_AS(run(),
                       doctest::Contains(" timers have fired, and 99978 times in a row all that was sent has arrived, got "
                                         "lost or stands in a deadlock\nnode1->switch (priority 0) loses what it gets: its link is down"),
                       RunError);
}

TEST_CASE("agents: of many that try again the error says since when, and all tries of a round count") {
  constexpr int many = 300;
  const auto star = build(Star{.nodes = many + 1, .host_link = link_100g});
  PacketSettings s = plain();
  s.faults.failures = {{"node300->switch", 100_us}};
  Wires wires(*star, s);
  DatagramNetwork net(wires.network, wires.routes);
  std::vector<Asker> askers(many);
  Answerer answerer;
  for (Address a = 0; a < many; ++a) {
    Asker& asker = askers[static_cast<std::size_t>(a)];
    asker.self = a, asker.server = many, asker.questions = 1'000'000;
    net.attach(a, a, asker);
  }
  net.attach(many, many, answerer);
  // 50 us a round, in which 300 timers fire: 100,000 are 334 rounds.
  CHECK_THROWS_WITH_AS(run_agents(wires.network, net), doctest::Contains("\n  ...\nnone of them is further than at 1"), RunError);
  CHECK(wires.network.now() > 16'700_us);
  CHECK(wires.network.now() < 17'000_us);
}

TEST_CASE("agents: what is slow is waited for, however often it is tried meanwhile") {
  {
    Lone lone({100_Gbps, 1_s});  // two hundred thousand times the patience, each way
    lone.asker.patience = 10_us;
    lone.asker.questions = 1;
    CHECK(lone.run(plain()) > 4_s);
  }
  {
    Lone lone;
    lone.cost = {.delay = 1_s};  // the server is
    lone.asker.questions = 1;
    lone.asker.patience = 5_us;
    CHECK(lone.run(plain()) > 1_s);
  }
  {
    Lone lone;  // a link that recovers after two hundred thousand tries
    PacketSettings s = plain();
    s.faults.failures = {{"node0->switch", 10_us, 200_ms}};
    lone.asker.patience = 1_us;
    CHECK(lone.run(s) > 200_ms);
  }
  {
    Lone lone({10_Mbps, 500_ns});  // a packet takes two hundred thousand times the patience: all tries queue up behind it
    lone.asker.bytes = 1'250'000;
    lone.asker.patience = 10_us;
    lone.asker.questions = 1;
    CHECK(lone.run(plain()) > 2_s);
  }
}

TEST_CASE("agents: a worker that comes late is waited for by those that try again") {
  struct Late final : Agent {  // answers nobody before it has started
    bool here = false;
    void start(Wire&) override { here = true; }
    void on_datagram(Wire& w, Datagram d) override {
      std::swap(d.from, d.to);
      if (here) w.send(std::move(d));
    }
    void on_timer(Wire&, std::uint64_t) override {}
  };
  const auto star = build(Star{.nodes = 2, .host_link = link_100g});
  Wires wires(*star, plain());
  Asker asker;
  asker.patience = 2_us;
  Late late;
  DatagramNetwork net(wires.network, wires.routes);
  net.attach(0, 0, asker);
  net.attach(1, 1, late, 500_ms);
  run_agents(wires.network, net);
  CHECK(wires.network.now() > 500_ms);
}

TEST_CASE("agents: most packets lost is not all packets lost") {
  // A question and its answer cross four links: they get through once in 16 times, at 75 % once in 256.
  for (const double loss : {0.5, 0.75})
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      CAPTURE(loss);
      CAPTURE(seed);
      Lone lone;
      PacketSettings s = plain();
      s.faults.loss = loss;
      s.seed = seed;
      lone.asker.questions = 1 + static_cast<int>(seed % 10);
      lone.run(s);
      CHECK(lone.asker.finished());
    }
}

namespace {

// Datagrams from each of the switches to the one after the next, around a ring of them that has one priority; with traffic
// inside of one switch as long as anybody else runs.
struct Around6 {
  static constexpr int switches = 6;
  std::unique_ptr<Fabric> fabric;
  Routes routes;
  SharedNetwork<PacketNetwork> network;
  DatagramNetwork datagrams;
  std::deque<Asker> askers;
  std::deque<Answerer> answerers;
  AgentDriver agents;
  BackgroundFlows<PacketNetwork> traffic;

  Around6(int priorities, int at_each)
      : fabric(build(
            Torus{.dims = {switches}, .nodes_per_switch = 4, .host_link = link_100g, .fabric_link = link_100g, .priorities = priorities})),
        routes(*fabric, {}),
        network(*fabric, goodput(), tight()),
        datagrams(network.model(), routes),
        agents(datagrams, network),
        traffic(network, BackgroundFlows<PacketNetwork>::Awaited::no) {
    Address next = 0;
    for (int s = 0; s < switches; ++s)
      for (int i = 0; i < at_each; ++i, next += 2) {
        Asker& asker = askers.emplace_back();
        asker.self = next, asker.server = next + 1;
        asker.bytes = 20'000;
        asker.questions = 40;
        datagrams.attach(next, 4 * s + i % 2, asker);
        datagrams.attach(next + 1, 4 * ((s + 2) % switches) + i % 2, answerers.emplace_back());
      }
    const RouteId route = routes.of(2, 3);
    traffic.add(routes.hops(route), routes.latency(route), {}, 64_KiB, {});
  }
  std::vector<BitsPerSecond> goodput() const { return std::vector<BitsPerSecond>(static_cast<std::size_t>(fabric->links()), 100_Gbps); }
  static PacketSettings tight() { return {.packet = 1_KB, .ecn = {.on = false}, .pfc = {.xoff = 40_KB, .xon = 20_KB}}; }
};

}  // namespace

TEST_CASE("agents: a deadlock of their datagrams is found and named, though they try again and traffic goes on") {
  Around6 unsafe(1, 6);
  CHECK_THROWS_WITH_AS(run_to_end(unsafe.network, Around::nothing), doctest::Contains("deadlock: each of these queues is paused until"),
                       RunError);
  CHECK(unsafe.agents.waiting().find("switch0/node0: answer ") != std::string::npos);
  CHECK(unsafe.datagrams.datagrams_in_flight() < 60'000);  // what is tried again piles up until the deadlock is found
  Around6 safe(2, 6);
  run_to_end(safe.network, Around::nothing);
  CHECK(safe.agents.state() == Driver::State::finished);
}

#include "sim/in_network/in_network.hpp"

#include "sim/in_network/testing.hpp"

#include <cmath>
#include <iterator>
#include <set>
#include <sstream>

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("in-network: the closed form of an uncongested star, on both networks") {
  // 4 MB are 1,000,000 values, 16130 packets of 62; 16130 x 306 B at 100 Gb/s are 394.86 us. A packet takes 2 links there and
  // 2 back, each 1 us and 24.48 ns. On the packet network the first packets also wait for the window to grow.
  const double wire = 16130 * 306 * 8 / 100e3, round_trip = 4 * (1 + 306 * 8 / 100e3);
  const double flow = us(star(9, 8, NetworkKind::flow), atp(1 << 20), 4_MB);
  CHECK(flow == doctest::Approx(wire + round_trip).epsilon(2e-3));
  const double packet = us(star(9, 8, NetworkKind::packet), atp(1 << 20), 4_MB);
  CHECK(packet >= wire);
  CHECK(packet <= wire + 3 * round_trip);
}

TEST_CASE("in-network: packet and flow agree to 10 % where nothing is lost or marked and windows fit the round trip") {
  // Of 64 aggregators two thirds of the packets find none. What then waits for the server's link, up to 300 KB, is above the 80 KB from
  // which switches with a program mark: windows would be halved and grow again, and flow has none that swing.
  Scenario unmarked = star(9, 8, NetworkKind::packet);
  unmarked.fabric.programmable.mark_above = {};
  const auto on = [&](NetworkKind network, const AlgorithmChoice& choice, Bytes size) {
    unmarked.network = network;
    return us(unmarked, choice, size);
  };
  for (const int aggregators : {64, 512, 4096, 1 << 20})
    for (const Bytes size : {1_MiB, 4_MB}) {
      CAPTURE(aggregators);
      CAPTURE(size.count);
      AlgorithmChoice choice = atp(aggregators);
      choice.atp.largest_window = 200;
      const double packet = on(NetworkKind::packet, choice, size), flow = on(NetworkKind::flow, choice, size);
      CHECK(flow == doctest::Approx(packet).epsilon(0.10));
    }
  const AlgorithmChoice switchml{"switchml"};
  CHECK(us(star(8, 8, NetworkKind::flow), switchml, 4_MB) ==
        doctest::Approx(us(star(8, 8, NetworkKind::packet), switchml, 4_MB)).epsilon(0.02));
}

TEST_CASE("in-network: with fewer aggregators than windows ask for flow takes what packet does, and the longer the fewer they are") {
  // A packet of 306 B holds its aggregator for 2 x (1 us and 24.48 ns) and 400 ns, 100 packets' time. Below that windows are halved and
  // grow again: those of packet meet the end of a run where they are, and on flow come and go as often as they do in the long run.
  const auto last_of = [](NetworkKind network, int jobs, int aggregators) {
    Scenario s = star(9 * jobs, 8, network);
    s.fabric.programmable.delay = 400_ns;
    for (int j = 1; j < jobs; ++j) s.jobs.push_back({.name = fmt::format("{}", j), .ranks = 8});
    return std::stod(in_child([&] {
             const Row row = simulate(s, atp(aggregators), 4_MiB);
             SimTime last = row.time;
             for (const JobResult& job : row.jobs) last = std::max(last, job.time);
             return std::to_string(last.ps);
           })) /
           1e6;
  };
  for (const int jobs : {1, 2}) {
    CAPTURE(jobs);
    for (const int aggregators : {8, 48, 84, 99, 128, 1000}) {
      CAPTURE(aggregators);
      CHECK(last_of(NetworkKind::flow, jobs, aggregators) ==
            doctest::Approx(last_of(NetworkKind::packet, jobs, aggregators)).epsilon(0.15));
    }
    double fewer = HUGE_VAL;
    for (const int aggregators : {1, 8, 32, 64, 80, 90, 95, 96, 97, 98, 99, 100, 101, 102, 112, 150, 200, 400, 1000, 4096}) {
      CAPTURE(aggregators);
      const double now = last_of(NetworkKind::flow, jobs, aggregators);
      CHECK(now <= fewer);
      fewer = now;
    }
  }
}

TEST_CASE("in-network: a message of no more packets than there are aggregators does not collide with itself, on both networks") {
  // 14 KB are 57 packets, a window 334.
  for (const NetworkKind network : {NetworkKind::flow, NetworkKind::packet}) {
    CAPTURE(name_of(network));
    CHECK(us(star(9, 8, network), atp(60), 14_KB) == us(star(9, 8, network), atp(1 << 20), 14_KB));
  }
}

TEST_CASE("in-network: SwitchML's last window goes at the rate of its links, however few slots, on both networks") {
  // A packet of 180 B takes 14.4 ns on a link, and is back 2 x 20 us and two links later: longer than the 7.37 us of all 512 slots. So
  // q windows take a round trip each, and the rest one more and 14.4 ns for each packet but the first.
  const auto closed_form = [](int packets, int slots) {
    const double each = 180 * 8 / 100e3, round_trip = 40 + 2 * each;
    return ((packets - 1) / slots + 1) * round_trip + (packets - 1) % slots * each;
  };
  AlgorithmChoice few{"switchml"};
  few.switchml.slots = 64;
  for (const NetworkKind network : {NetworkKind::flow, NetworkKind::packet}) {
    CAPTURE(name_of(network));
    Scenario s = star(4, 4, network);
    s.fabric.spec.emplace<Star>(Star{.nodes = 4, .host_link = {100_Gbps, 20_us}});
    for (const int packets : {1, 100, 512, 513, 1024, 3000}) {
      CAPTURE(packets);
      CHECK(us(s, AlgorithmChoice{"switchml"}, Bytes{packets * 128}) == doctest::Approx(closed_form(packets, 512)).epsilon(5e-3));
      CHECK(us(s, few, Bytes{packets * 128}) == doctest::Approx(closed_form(packets, 64)).epsilon(5e-3));
    }
    s.workload.iterations = 3;  // their mean
    CHECK(us(s, AlgorithmChoice{"switchml"}, 64_KiB) == doctest::Approx(closed_form(512, 512)).epsilon(5e-3));
  }
}

TEST_CASE("in-network: packets to a switch take the ECMP paths that flow takes, whatever the seed and the policy") {
  // Of five workers on other leaves two or more share one of the two cables to the switch that adds, or none do.
  Json json = Json::parse(R"({"schema": 1, "name": "racks", "fabric": {"type": "fat_tree", "leaves": 4, "nodes_per_leaf": 3, "spines": 2,
    "link": {"bandwidth": "100Gbps", "latency": "1us"}, "programmable": {"delay": "400ns"}, "ecmp": {"seed": 1}},
    "hardware": "ideal", "workload": {"algorithm": "switchml", "size": "1MB", "ranks": 8}})");
  std::set<double> seen;
  const auto compare = [&] {
    Scenario s = cases_of(json).front().scenario;
    s.network = NetworkKind::flow;
    const double flow = us(s, s.workload.algorithms.front(), 1_MB);
    s.network = NetworkKind::packet;
    CHECK(us(s, s.workload.algorithms.front(), 1_MB) == doctest::Approx(flow).epsilon(1e-2));
    seen.insert(flow);
  };
  for (const int seed : {1, 2, 3}) {
    CAPTURE(seed);
    json["fabric"]["ecmp"]["seed"] = seed;
    compare();
  }
  CHECK(seen.size() > 1);
  json["fabric"]["ecmp"] = {{"policy", "least_loaded"}};
  compare();
}

TEST_CASE("in-network: sums are right on racks, with several servers and with loss, or the run would fail") {
  const LinkSpec link{100_Gbps, 500_ns};
  Scenario s;
  s.network = NetworkKind::packet;
  s.fabric.spec.emplace<FatTree>(FatTree{.leaves = 3, .nodes_per_leaf = 3, .spines = 2, .host_link = link, .fabric_link = link});
  s.workload.ranks = 9;
  for (const double loss : {0.0, 0.002}) {
    s.packet.emplace().faults.loss = loss;
    for (const int servers : {0, 1, 3}) CHECK(us(s, atp(256, servers), 256_KiB) > 10);
    CHECK(us(s, {"switchml"}, 256_KiB) > 10);
  }
}

TEST_CASE("in-network: twice the message takes about twice as long, less memory and more loss take longer") {
  const Scenario s = star(9, 8, NetworkKind::packet);
  const double once = us(s, atp(4096), 4_MB), twice = us(s, atp(4096), 8_MB);
  CHECK(twice > 1.9 * once);
  CHECK(twice < 2.1 * once);
  CHECK(us(s, atp(64), 4_MB) > us(s, atp(1024), 4_MB));
  Scenario lossy = s;
  lossy.packet.emplace().faults.loss = 0.001;
  CHECK(us(lossy, atp(4096), 4_MB) > once);
}

TEST_CASE("in-network: a packet holds its aggregator through one delay of the switch, on both networks") {
  // Of 306 B: 24.48 ns on a cable, and from the switch to the server and back 2 x (1 us and 24.48 ns), and 1 us in the program: 125 of
  // them.
  Scenario s = star(9, 8, NetworkKind::flow);
  s.fabric.spec.emplace<Star>(Star{.nodes = 9, .host_link = {100_Gbps, 1_us}});
  s.fabric.programmable.delay = 1_us;
  for (const NetworkKind network : {NetworkKind::flow, NetworkKind::packet}) {
    CAPTURE(name_of(network));
    s.network = network;
    const double enough = us(s, atp(1 << 20), 4_MB);
    CHECK(us(s, atp(130), 4_MB) == doctest::Approx(enough).epsilon(0.01));
  }
}

TEST_CASE("in-network: where workers' nodes serve too, a window of packets needs aggregators, on both networks") {
  // 16 racks of 4, 8 servers among them: 43 packets of each are on their way, 344 in all.
  const LinkSpec link{100_Gbps, 500_ns};
  Scenario s;
  s.fabric.spec.emplace<BiGraph>(BiGraph{.switches = 16, .nodes_per_switch = 4, .host_link = link, .fabric_link = link});
  s.workload.ranks = 64;
  std::vector<double> packet, flow;
  for (const int aggregators : {320, 512}) {
    s.network = NetworkKind::packet;
    packet.push_back(us(s, atp(aggregators), 1_MiB));
    s.network = NetworkKind::flow;
    flow.push_back(us(s, atp(aggregators), 1_MiB));
  }
  CHECK(flow[1] == doctest::Approx(packet[1]).epsilon(0.1));
  CHECK(packet[0] > 3 * packet[1]);
  CHECK(flow[0] == doctest::Approx(packet[0]).epsilon(0.30));  // what is retransmitted is left out
}

TEST_CASE("in-network: below switches that cannot be programmed nothing is added, and the next that can adds it") {
  // Two leaves of 4 workers and one with the server, 400,000 B of values: 1613 packets of 306 B, 39.5 us on a cable, and six
  // links of 0.5 us and 24.48 ns there and back. What is not added, and the two racks' sums, meet on the cable to the server's leaf.
  const LinkSpec link{100_Gbps, 500_ns};
  const double once = 1613 * 306 * 8 / 100e3, round_trip = 8 * (0.5 + 306 * 8 / 100e3);
  struct Case {
    std::vector<std::string> programmable;
    double copies, whole;  // of a packet on a link; the share that comes to the server as one sum
  };
  for (const Case& c : {Case{{"leaf0", "leaf1", "leaf2"}, 2, 1}, Case{{"leaf2"}, 8, 1}, Case{{"leaf0", "leaf1"}, 2, 0},
                        Case{{"leaf0"}, 5, 0}, Case{{}, 8, 0}})
    for (const NetworkKind network : {NetworkKind::flow, NetworkKind::packet}) {
      CAPTURE(fmt::format("{}", fmt::join(c.programmable, ",")));
      CAPTURE(name_of(network));
      Scenario s;
      s.network = network;
      s.fabric.spec.emplace<FatTree>(FatTree{.leaves = 3, .nodes_per_leaf = 4, .spines = 1, .host_link = link, .fabric_link = link});
      s.fabric.programmable.switches = c.programmable;
      s.workload.ranks = 8;
      AlgorithmChoice choice = atp(0);
      choice.atp.server_nodes = {8};
      std::istringstream row(in_child([&] {
        const Row out = simulate(s, choice, 400_KB);
        return fmt::format("{} {}", out.time.ps, out.in_network->jobs.front().aggregated);
      }));
      double ps = 0, whole = 0;
      row >> ps >> whole;
      CHECK(ps / 1e6 > c.copies * once);
      CHECK(ps / 1e6 < c.copies * once + 3 * round_trip);
      CHECK(whole == c.whole);
    }
}

TEST_CASE("in-network: a packet spends the delay of a program in each switch that it passes, on both networks") {
  // A packet of a star passes one switch there and one back: 2 x 10 us more, as long as windows fill the round trip.
  for (const NetworkKind network : {NetworkKind::packet, NetworkKind::flow}) {
    CAPTURE(name_of(network));
    Scenario s = star(5, 4, network);
    const double without = us(s, atp(1 << 20), 8_KB);
    s.fabric.programmable.delay = 10_us;
    CHECK(us(s, atp(1 << 20), 8_KB) == doctest::Approx(without + 20).epsilon(1e-3));
  }
}

TEST_CASE("in-network: a switch that handles so many packets a second is the limit, on both networks") {
  // 8 gradients and the parameters of each of ATP's 1058 packets at a million a second; 8 of each of SwitchML's 2048.
  const auto times = [](const AlgorithmChoice& choice) {
    std::vector<double> out;
    for (const NetworkKind network : {NetworkKind::flow, NetworkKind::packet}) {
      Scenario s = star(9, 8, network);
      s.fabric.programmable.packets_per_second = 1'000'000;
      out.push_back(us(s, choice, 256_KiB));
    }
    return out;
  };
  const std::vector<double> added = times(atp(4096)), pooled = times({"switchml"});
  CHECK(added[0] == doctest::Approx(9 * 1058).epsilon(0.01));
  CHECK(added[0] == doctest::Approx(added[1]).epsilon(0.1));
  CHECK(pooled[0] == doctest::Approx(8 * 2048).epsilon(0.01));
  CHECK(pooled[0] == doctest::Approx(pooled[1]).epsilon(0.1));
}

TEST_CASE("in-network: SwitchML's packets spend a program's delay once, on both networks") {
  Scenario flow = star(9, 8, NetworkKind::flow), packet = star(9, 8, NetworkKind::packet);
  flow.fabric.programmable.delay = packet.fabric.programmable.delay = 10_us;
  CHECK(us(flow, {"switchml"}, 4_MiB) == doctest::Approx(us(packet, {"switchml"}, 4_MiB)).epsilon(0.1));
}

TEST_CASE("in-network: on flow a link is used as much with iterations as without, and expected collisions are said") {
  Scenario s = star(9, 8, NetworkKind::flow);
  const auto row = [&](const AlgorithmChoice& choice) {
    const std::string text = in_child([&] {
      const Row out = simulate(s, choice, 1_MiB);
      const InNetworkJobSummary& job = out.in_network->jobs.front();
      return fmt::format("{} {} {}", out.busiest_link_utilization, job.aggregated, job.packets);
    });
    std::istringstream in(text);
    return std::vector<double>(std::istream_iterator<double>(in), {});
  };
  const std::vector<double> once = row(atp(64));
  CHECK(once[1] > 0.1);
  CHECK(once[1] < 0.9);
  s.workload.iterations = 5;
  const std::vector<double> often = row(atp(64));
  CHECK(often[0] == doctest::Approx(once[0]).epsilon(0.01));
  CHECK(often[1] == doctest::Approx(once[1]));
  CHECK(often[2] == 5 * once[2]);
  CHECK(row(atp(1 << 20))[1] == doctest::Approx(1));
  s.fabric.programmable.switches = {};
  CHECK(row(atp(64))[1] == 0);
}

TEST_CASE("in-network: rows say how many flows share a link between switches, on both networks") {
  // Two leaves of four nodes and a spine; the server is on the second, beside three of seven workers. Of those of the first leaf one flow
  // is left above it, four where it cannot add, and the parameters come down as one. SwitchML adds in the first leaf: three flows from the
  // other.
  for (const NetworkKind network : {NetworkKind::flow, NetworkKind::packet}) {
    CAPTURE(name_of(network));
    Scenario s = star(8, 7, network);
    s.fabric.spec.emplace<FatTree>(
        FatTree{.leaves = 2, .nodes_per_leaf = 4, .spines = 1, .host_link = {100_Gbps, 1_us}, .fabric_link = {100_Gbps, 1_us}});
    const auto flows = [&](const AlgorithmChoice& choice) {
      return in_child([&] {
        const Row row = simulate(s, choice, 64_KiB);
        return fmt::format("{} {} {}", row.max_flows_per_link, row.most_shared_step, row.most_shared_link);
      });
    };
    CHECK(flows(atp(4096)) == "1 0 leaf0->spine0");
    CHECK(flows({"switchml"}) == "3 0 spine0->leaf0");
    s.fabric.programmable.switches = {"leaf1"};
    CHECK(flows(atp(4096)) == "4 0 leaf0->spine0");
  }
}

TEST_CASE("in-network: SwitchML has no more slots than its switch has memory for, on both networks") {
  // Two packets of a slot: 16 aggregators are 8 slots, each a round trip of 2 x 1 us and two links of 14.4 ns for a packet there and back.
  for (const NetworkKind network : {NetworkKind::flow, NetworkKind::packet}) {
    CAPTURE(name_of(network));
    Scenario s = star(9, 8, network);
    const double roomy = us(s, {"switchml"}, 256_KiB);
    for (const int slots : {8, 64}) {
      CAPTURE(slots);
      s.fabric.programmable.aggregators = 2 * slots;
      AlgorithmChoice given{"switchml"};
      given.switchml.slots = slots;
      CHECK(us(s, {"switchml"}, 256_KiB) == us(s, given, 256_KiB));
      if (slots == 8) CHECK(us(s, given, 256_KiB) > 4 * roomy);
    }
    s.fabric.programmable.aggregators = 1 << 20;
    CHECK(us(s, {"switchml"}, 256_KiB) == roomy);
  }
}

TEST_CASE("in-network: SwitchML under heavy random loss takes milliseconds, not minutes") {
  Scenario s = star(9, 8, NetworkKind::packet);
  s.packet = PacketSettings{};
  s.packet->faults.loss = 0.3;
  CHECK(us(s, {"switchml"}, 400_KB) < 2e6);
}

TEST_CASE("in-network: SwitchML by default waits for its pool's packets before it retransmits them") {
  // 512 slots of 180 B at 100 Mb/s are 7.4 ms; 4 MB are 31250 packets of 14.4 us.
  Scenario slow = star(9, 8, NetworkKind::packet);
  slow.fabric.spec.emplace<Star>(Star{.nodes = 9, .host_link = {100_Mbps, 1_us}});
  CHECK(us(slow, {"switchml"}, 4_MB) == doctest::Approx(31250 * 14.4).epsilon(0.01));
  // With a timeout of its own that is too short, copies wait behind copies, but ever fewer of them.
  AlgorithmChoice hasty{"switchml"};
  hasty.switchml.timeout = 1_ms;
  const double time = us(slow, hasty, 1_MB);
  CHECK(time > 7812 * 14.4);
  CHECK(time < 10 * 7812 * 14.4);
}

TEST_CASE("in-network: ATP by default waits for two round trips, so that long cables are no reason to retransmit") {
  Scenario far = star(9, 8, NetworkKind::packet);
  std::get<Star>(far.fabric.spec).host_link.latency = 100_us;
  CHECK(in_child([&] { return std::to_string(simulate(far, atp(1 << 20), 4_MB).in_network->jobs.at(0).timeouts); }) == "0");
}

TEST_CASE("in-network: datagrams that come faster than a switch handles them stop the run, which says where they wait") {
  Scenario s = star(40, 39, NetworkKind::packet);
  s.fabric.programmable.packets_per_second = 1'000;
  AlgorithmChoice choice{"switchml"};
  choice.switchml.slots = 1 << 16;
  choice.switchml.timeout = 1_ms;
  CHECK_THROWS_WITH_AS(us(s, choice, 8_MiB), doctest::Contains("wait for the pipeline of switch. They are sent"), RunError);
}

TEST_CASE("in-network: hosts that take time for each packet and byte set the rate, on both networks") {
  // 4 MB are 16130 packets of 62 values. With 24 B of framing each takes 330 B: 26.4 ns at 100 Gb/s, 425.8 us in all. A host that
  // takes 50 ns and goes through 330 B at 66 Gb/s (40 ns) takes 90 ns for what it sends and 90 ns for what it receives: 2903 us.
  for (const NetworkKind network : {NetworkKind::flow, NetworkKind::packet}) {
    CAPTURE(name_of(network));
    AlgorithmChoice choice = atp(1 << 20);
    choice.atp.framing = 24_B;
    const Scenario s = star(9, 8, network);
    CHECK(us(s, choice, 4_MB) == doctest::Approx(16130 * 0.0264).epsilon(0.03));
    choice.atp.host = {.per_packet = 50_ns, .bandwidth = {66'000'000'000}};
    CHECK(us(s, choice, 4_MB) == doctest::Approx(16130 * 0.180).epsilon(0.03));
    choice.atp.host.jitter = 40_ns;  // 20 ns on average, for each
    CHECK(us(s, choice, 4_MB) == doctest::Approx(16130 * 0.220).epsilon(0.05));
    AlgorithmChoice switchml{"switchml"};
    switchml.switchml.framing = 24_B;
    switchml.switchml.host = {.per_packet = 100_ns};  // 31250 packets of 32 values, sent and received
    CHECK(us(s, switchml, 4_MB) == doctest::Approx(31250 * 0.2).epsilon(0.03));
    // 512 slots of a host that takes 2 us for each packet and back are more than the 1 ms after which packets are usually retransmitted.
    switchml.switchml.host = {.per_packet = 1'000_ns};
    CHECK(us(s, switchml, 1_MB) == doctest::Approx(7813 * 2.0).epsilon(0.05));
    AlgorithmChoice slow = atp(1 << 20);
    slow.atp.host = {.bandwidth = {100'000'000}};  // 24.5 us for 306 B
    CHECK(us(s, slow, 100_KB) == doctest::Approx(404 * 2 * 24.48).epsilon(0.1));
  }
}

TEST_CASE("in-network: packets that are forwarded on purpose go to the server one by one") {
  // A quarter of them, by 8 workers: 0.75 + 0.25 * 8 packets on the server's link for each of the message.
  for (const NetworkKind network : {NetworkKind::flow, NetworkKind::packet}) {
    CAPTURE(name_of(network));
    AlgorithmChoice choice = atp(1 << 20);
    choice.atp.forwarded = 0.25;
    CHECK(us(star(9, 8, network), choice, 4_MB) == doctest::Approx(16130 * 306 * 8 / 100e3 * 2.75).epsilon(0.1));
  }
}

TEST_CASE("in-network: switches that run a program mark from their own threshold on, loss may be of one link only") {
  // Windows that stay at 40 packets of 306 B, none of them added up: they come eight at a time as one leaves, so at first 7 x 40 wait
  // for the server's link, 86 KB. From then on 8 x 40 but the 167 that a round trip of 4.1 us holds, 47 KB.
  Scenario s = star(9, 8, NetworkKind::packet);
  AlgorithmChoice constant = atp(0);
  constant.atp.forwarded = 1, constant.atp.congestion_control = false;
  constant.atp.initial_window = constant.atp.largest_window = 40;
  const auto marked = [&](Bytes threshold) {
    s.fabric.programmable.mark_above = threshold;
    return std::stoll(in_child([&] { return std::to_string(simulate(s, constant, 1_MB).in_network->jobs[0].marked); }));
  };
  CHECK(marked(20_KB) > 10 * marked(80_KB));
  CHECK(marked(80_KB) > 0);
  CHECK(marked(120_KB) == 0);
  s.fabric.programmable = {};
  const double without = us(s, atp(0), 4_MB);
  s.packet.emplace().faults = {.loss = 0.01};
  const double everywhere = us(s, atp(0), 4_MB);
  s.packet->faults.links = {"node0->switch"};
  const double one = us(s, atp(0), 4_MB);
  CHECK(one > without);
  CHECK(one < everywhere);
  s.packet->faults.links = {"nowhere"};
  CHECK_THROWS_WITH_AS(us(s, atp(0), 4_MB), doctest::Contains("the fabric has no link \"nowhere\""), InputError);
}

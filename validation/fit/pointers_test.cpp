#include "validation/fit/pointers.hpp"

#include "validation/fit/testing.hpp"

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("fit: a link's rate is a number as far as a fit goes") {
  const ScratchFolder folder;
  const auto file = folder.file("pair.json", pair_scenario);
  const OpenScenario open(file, {parse_setting(R"(/fabric/host_link={"bandwidth": "20000Gbps", "latency": "500ns"})")},
                          {"/fabric/host_link/bandwidth"});
  const FitParameter& rate = open.parameters()[0];
  CHECK(rate.text(rate.high) == "2000000Gbps");
  CHECK(open.scenario({rate.high}).hardware.name == open.scenario().hardware.name);  // read again
}

TEST_CASE("fit: a time of the scenario, by pointer") {
  const ScratchFolder folder;
  const OpenScenario open(folder.file("pair.json", pair_scenario), {}, {"/fabric/host_link/latency"});
  Simulator simulator(open.scenario());
  std::vector<Measurement> rows = measured_on({}, powers_of_two(3, 10));
  for (Measurement& row : rows) row.time_us += 4;  // two steps, two cables: 1 us more for each
  const FitResult result = fit(open, usable(rows, simulator, {}).points, {.folds = 0});
  CHECK(result.parameters[0].value == doctest::Approx(1.5e6).epsilon(0.02));
}

TEST_CASE("fit: links of one kind have one value, found from a matrix of pairs") {
  const ScratchFolder folder;
  const auto file = folder.file("pair.json", pair_scenario);
  const std::vector<Setting> settings = {parse_setting("/server=single_nic")};
  const OpenScenario open(file, settings, {"/server/links/*/bandwidth"});
  Lines names;
  for (const FitParameter& p : open.parameters()) names.push_back(p.name);
  CHECK(names == Lines{"/server/links/*/bandwidth (socket to socket)", "/server/links/*/bandwidth (pcie_switch to socket)",
                       "/server/links/*/bandwidth (gpu to pcie_switch)", "/server/links/*/bandwidth (nic to pcie_switch)"});
  CHECK(open.parameters()[2].places.size() == 4);
  // Measured: 8 GB/s below a switch, 5 GB/s from socket to socket.
  std::vector<Measurement> rows;
  for (int from = 0; from < 4; ++from)
    for (int to = 0; to < 4; ++to)
      if (from != to)
        rows.push_back({.ranks = 2,
                        .collective = "bandwidth",
                        .from = from,
                        .to = to,
                        .size_bytes = 160'000'000,
                        .time_us = from / 2 == to / 2 ? 20'000.0 : 32'000.0,
                        .where = "f:1"});
  Simulator simulator(open.scenario());
  const FitResult result = fit(open, usable(rows, simulator, {.hold_out = false}).points, {.folds = 0, .starts = 2});
  CHECK(result.parameters[2].value == doctest::Approx(64e9).epsilon(0.01));
  CHECK(result.fitted.p95 < 0.01);
}

TEST_CASE("fit: links of a host of cores have one value by kind, and the host stays one") {
  const ScratchFolder folder;
  const auto file = folder.file("pair.json", pair_scenario);
  const std::vector<Setting> settings = {parse_setting(R"(/server={"preset": "cpu_host", "cores": 4, "nics": 2})")};
  const OpenScenario open(file, settings, {"/server/links/*/bandwidth"});
  Lines names;
  std::vector<double> values;
  for (const FitParameter& p : open.parameters()) names.push_back(p.name), values.push_back(p.initial);
  CHECK(names == Lines{"/server/links/*/bandwidth (socket to socket)", "/server/links/*/bandwidth (nic to socket)",
                       "/server/links/*/bandwidth (core to socket)"});
  values[1] = 100e9;
  const Json written = open.left_open(values);
  CHECK(written["server"]["cores"] == 4);
  CHECK(written["server"]["nics"] == 2);
  const Server fitted = open.scenario(values).server;
  CHECK(fitted.cores == 4);
  CHECK(fitted.nic_count() == 2);
  CHECK(fitted.links[1].spec().bandwidth == 100_Gbps);
  CHECK(fitted.links[2].spec().bandwidth == 100_Gbps);
}

TEST_CASE("fit: of a matrix of pairs one copy at a time is on its way each way, and a star stands for the links that have the value") {
  const ScratchFolder folder;
  const auto file = folder.file("pair.json", pair_scenario);
  const std::vector<Setting> settings = {parse_setting(
      R"(/server={"preset": "single_nic", "policy": "pcie_upi", "links": [{"from": "socket0", "to": "socket1", "bandwidth": "10GBps", "contention": {"duplex_rate": "8GBps"}}]})")};
  const OpenScenario open(file, settings, {"/server/links/*/contention/duplex_rate"});
  REQUIRE(open.parameters().size() == 1);
  CHECK(open.parameters()[0].places.size() == 1);
  Simulator simulator(open.scenario());
  const MeasuredSetup one_way{.collective = "bandwidth", .algorithm = {}, .ranks = 2, .size = 160_MB, .from = 0, .to = 2, .window = 1};
  MeasuredSetup both_ways = one_way;
  both_ways.collective = "bidirectional_bandwidth";
  // 160 MB at 10 GB/s; both ways at once 8 GB/s each, of which a message's share is half of the time.
  CHECK(simulator.time_us(one_way, {}) == doctest::Approx(16'000).epsilon(0.001));
  CHECK(simulator.time_us(both_ways, {}) == doctest::Approx(10'000).epsilon(0.001));
}

TEST_CASE("fit: a wrong pointer with a star is told") {
  const ScratchFolder folder;
  const auto file = folder.file("pair.json", pair_scenario);
  CHECK(problems_of([&] { OpenScenario(file, {}, {"/fabric/links/*/latency"}); }) ==
        Lines{"--fit /fabric/links/*/latency: there is nothing at this place of the scenario as `weft show` prints it; times and rates "
              "there are /fabric/host_link/bandwidth, /fabric/host_link/latency, /fabric/programmable/delay"});
}

#include "sim/cases/sized.hpp"

#include "models/nccl_tuning.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/cases/testing.hpp"
#include "sim/experiment.hpp"

#include <numeric>

#include <doctest/doctest.h>

using namespace weft;

namespace {

const char* const two_servers =
    R"({"schema": 1, "name": "two", "fabric": {"type": "star", "nodes": 16, "link": {"bandwidth": "200Gbps", "latency": "500ns"}},
  "server": "dgx_a100", "hardware": "ideal", "workload": {"algorithm": "nccl", "size": "1MiB", "ranks": 16}})";

Scenario scenario_of(const Json& json) { return cases_of(json).front().scenario; }

SizedChoice sized(const Json& json, Bytes size) {
  const Scenario s = scenario_of(json);
  const auto fabric = build(s.fabric.spec, s.server);
  std::vector<int> placement(static_cast<std::size_t>(fabric->endpoints()));
  std::iota(placement.begin(), placement.end(), 0);
  return for_size({s, s.hardware, *fabric, placement, size}, s.workload.algorithms.front());
}

}  // namespace

TEST_CASE("sized: nccl's all-to-all relays what leaves the rail where NVLinks join all GPUs, and not where it is told otherwise") {
  Json json = Json::parse(two_servers);
  json["workload"]["collective"] = "alltoall";
  CHECK(label(sized(json, 64_MiB).choice).find("pxn=true") != std::string::npos);
  CHECK(sized(json, 64_MiB).choice.settings.pieces == 8);  // of 4 MiB for each rank
  CHECK(sized(json, 4_MiB).choice.settings.pieces == 2);
  CHECK(sized(json, 64_KiB).choice.settings.pieces == 1);
  Json far = json;  // 64 MiB: 28 MiB a GPU that are relayed take 79 us on NVLinks, and each turn waits for 27 us
  far["fabric"]["link"]["latency"] = "7.8us";
  CHECK(sized(far, 64_MiB).choice.settings.pieces == 2);
  CHECK(sized(far, 4_MiB).choice.settings.pieces == 1);
  json["workload"]["algorithm"] = Json::parse(R"({"name": "nccl", "segment": "1MiB"})");
  CHECK(sized(json, 64_MiB).choice.settings.pieces == 4);
  json["workload"]["algorithm"] = Json::parse(R"({"name": "nccl", "pxn": false})");
  CHECK(label(sized(json, 64_MiB).choice).find("pxn=false") != std::string::npos);
  json["workload"]["algorithm"] = "nccl";
  json["server"] = "v100_nvlink";  // a cube mesh, and one NIC
  CHECK(label(sized(json, 64_MiB).choice).find("pxn") == std::string::npos);
}

TEST_CASE("sized: nccl chooses by the rates of its links, whatever is left of them under load") {
  // Between two servers of 4 A100 rings on NICs of 25 GB/s are ahead of trees, which are ahead on the 19.25 that these NICs give under
  // load.
  const Json json = Json::parse(
      R"({"schema": 1, "name": "two", "fabric": {"type": "star", "nodes": 8, "link": {"bandwidth": "200Gbps", "latency": "900ns"}},
    "server": "hgx_a100_4", "hardware": "ideal", "workload": {"algorithm": "nccl", "size": "1MiB", "ranks": 8}})");
  CHECK(sized(json, 4_GiB).regime.pattern == NcclAlgorithm::ring);
}

TEST_CASE("sized: nccl makes no more channels for a cable than the NIC's own link carries") {
  Json json = Json::parse(
      R"({"schema": 1, "name": "two", "fabric": {"type": "star", "nodes": 8, "link": {"bandwidth": "250Gbps", "latency": "900ns"}},
    "server": "hgx_a100_4", "hardware": "ideal", "workload": {"algorithm": "nccl", "size": "1MiB", "ranks": 8}})");
  const AlgorithmSettings as_pcie = sized(json, 4_GiB).choice.settings;  // PCIe 4: 252 Gb/s
  json["fabric"]["link"]["bandwidth"] = "800Gbps";
  CHECK(sized(json, 4_GiB).choice.settings.channels == as_pcie.channels);
}

TEST_CASE("sized: nccl makes no more channels than the NVLinks of a GPU carry, however many NICs a rack has") {
  Json json = Json::parse(
      R"({"schema": 1, "name": "racks", "fabric": {"type": "star", "nodes": 144, "link": {"bandwidth": "400Gbps", "latency": "500ns"}},
    "server": "gb200_nvl72", "hardware": "ideal", "workload": {"algorithm": {"name": "nccl", "algorithm": "ring"}, "size": "1MiB", "ranks": 144}})");
  // NCCL's search: 721.8 GB/s hold 15 channels of 48 GB/s, or 16 of 45.1, which are more.
  CHECK(sized(json, 4_GiB).choice.settings.channels == 16);
  json["workload"]["algorithm"]["channels"] = 72;
  CHECK(sized(json, 4_GiB).choice.settings.channels == 72);
}

TEST_CASE("sized: where nccl's table chooses what the profile's costs make slower that is said, and nothing where one is forced") {
  Json json = Json::parse(
      R"({"schema": 1, "name": "eight", "fabric": {"type": "star", "nodes": 8, "link": {"bandwidth": "100Gbps", "latency": "500ns"}},
    "hardware": "ideal", "workload": {"algorithm": "nccl", "size": "1MiB"}})");
  const auto said = [&](Bytes size) {
    const Scenario s = scenario_of(json);
    Experiment experiment(s, s.workload.algorithms.front());
    return experiment.run(size).notes;
  };
  CHECK(said(1_MiB).find("NCCL's own table chooses ring with ll for 1MiB, though ring with simple takes about ") == 0);
  CHECK(said(64_MiB).empty());
  json["workload"]["algorithm"] = {{"name", "nccl"}, {"protocol", "ll"}, {"algorithm", "ring"}};
  CHECK(said(1_MiB).empty());
}

TEST_CASE("sized: between servers whose GPUs are joined all to all nccl makes channels for all of these links") {
  Json json = Json::parse(
      R"({"schema": 1, "name": "two", "fabric": {"type": "star", "nodes": 2, "link": {"bandwidth": "400Gbps", "latency": "1us"}},
    "server": {"sockets": ["s"], "gpus": [], "nics": [], "links": []},
    "hardware": "ideal", "workload": {"algorithm": {"name": "nccl", "algorithm": "ring"}, "size": "1MiB"}})");
  const auto join = [&](std::string a, std::string b, const char* rate) {
    json["server"]["links"].push_back({{"from", std::move(a)}, {"to", std::move(b)}, {"bandwidth", rate}, {"latency", "100ns"}});
  };
  for (int a = 0; a < 8; ++a) {
    json["server"]["gpus"].push_back("g" + std::to_string(a)), json["server"]["nics"].push_back("n" + std::to_string(a));
    for (int b = 0; b < a; ++b) join("g" + std::to_string(a), "g" + std::to_string(b), "50GBps");
    for (const char* device : {"g", "n"}) join("s", device + std::to_string(a), "60GBps");
  }
  // Seven rings there and back through halves of the 28 links: 14 channels of 25 GB/s over 8 NICs, where NCCL's search has one for each
  // NIC.
  CHECK(sized(json, 1_GiB).choice.settings.channels == 14);
}

TEST_CASE("sized: a tree gets no slower from faster NICs whose ports of PCIe lose something while bytes cross them both ways") {
  // Between two servers of 4 A100 with NICs of 200 Gb/s a tree's channels make 94.4 GB/s, 4 times 23.6, of the 177, 0.92 x 4 x 48, that
  // NCCL counts on: of each NIC 13.3 GB/s, more than one of 100 Gb/s has. Its port has 19.25 both ways.
  Json json = Json::parse(
      R"({"schema": 1, "name": "two", "fabric": {"type": "star", "nodes": 8, "link": {"bandwidth": "100Gbps", "latency": "500ns"}},
    "server": "hgx_a100_4", "hardware": "ideal", "workload": {"algorithm": {"name": "nccl", "algorithm": "tree"}, "size": "1MiB", "ranks": 8}})");
  const auto time = [&](Bytes size) {
    const Scenario s = scenario_of(json);
    return Experiment(s, s.workload.algorithms.front()).run(size).time;
  };
  for (const Bytes size : {16_MiB, 256_MiB}) {
    CAPTURE(to_string(size));
    json["fabric"]["link"]["bandwidth"] = "100Gbps";
    const SimTime slower = time(size);
    json["fabric"]["link"]["bandwidth"] = "200Gbps";
    CHECK(time(size) <= slower);
  }
}

TEST_CASE("sized: nccl takes trees and LL for small messages, rings and Simple for large ones, a channel for each NIC") {
  const Json json = Json::parse(two_servers);
  Json eight_servers = json;  // between two, a tree sends each byte once each way, and is ahead of a ring
  eight_servers["workload"]["ranks"] = 64;
  const SizedChoice small = sized(json, 1_KiB), large = sized(eight_servers, 4_GiB);
  CHECK(label(small.choice) == "nccl(group=8,algorithm=tree,protocol=ll,nics=8,pieces=1)");  // of one channel
  CHECK(small.regime == Regime{.protocol = NcclProtocol::ll,
                               .pattern = NcclAlgorithm::tree,
                               .between_servers = true,
                               .longer = SimTime{364'089},  // 1 KiB at 16 / 45 ns a byte
                               .gpus = 8,
                               .nvlink = true,
                               .of_rate = 0.9});
  CHECK(label(large.choice) == "nccl(group=8,algorithm=ring,protocol=simple,nics=8)");
  CHECK(large.regime.channels == 16);
  CHECK(large.regime == Regime{.protocol = NcclProtocol::simple,
                               .pattern = NcclAlgorithm::ring,
                               .between_servers = true,
                               .gpus = 8,
                               .nvlink = true,
                               .own = 64_MiB,
                               .channels = 16,
                               .connections = 2});
  eight_servers["workload"]["algorithm"] = Json::parse(R"({"name": "nccl", "channels": 4})");
  CHECK(sized(eight_servers, 4_GiB).regime.connections == 1);  // as it is told
}

TEST_CASE("sized: between servers each of nccl's NICs has two connections, whose rates add up") {
  // Two servers of one GPU: a ring sends half of 256 MiB twice, over two connections of 10 Gb/s.
  Json json = Json::parse(
      R"({"schema": 1, "name": "two", "fabric": {"type": "star", "nodes": 2, "link": {"bandwidth": "100Gbps", "latency": "1us"}},
    "hardware": {"profile": "ideal", "stream_rate": "10Gbps"}, "workload": {"algorithm": {"name": "nccl", "algorithm": "ring", "protocol": "simple"}, "size": "256MiB"}})");
  const Scenario s = scenario_of(json);
  const double us = Experiment(s, s.workload.algorithms.front()).run(256_MiB).time.microseconds();
  CHECK(us == doctest::Approx(8.0 * (256 << 20) / 20e3).epsilon(0.01));
}

TEST_CASE("sized: what is given stays, and a tree's pieces follow from the protocol's buffers") {
  Json json = Json::parse(two_servers);
  json["workload"]["algorithm"] = Json::parse(R"({"name": "nccl", "algorithm": "tree", "protocol": "simple", "channels": 2})");
  // 64 MiB in 2 channels of 2 trees are 16 MiB each: 128 pieces of 128 KiB, for 2 (2 + 8) hops want 8 chunks each.
  CHECK(label(sized(json, 64_MiB).choice) == "nccl(group=8,algorithm=tree,protocol=simple,nics=8,channels=2,pieces=128)");
}

TEST_CASE("sized: in a server of H100 the NVSwitch adds, and each GPU's links carry 9/8 of the message") {
  Json json = Json::parse(two_servers);
  json["server"] = "dgx_h100", json["fabric"]["nodes"] = 1, json["workload"]["ranks"] = 8;
  CHECK(label(sized(json, 1_GiB).choice) == "nccl(group=8,algorithm=nvls,protocol=simple,nics=1)");
  const Scenario s = scenario_of(json);
  const Row out = Experiment(s, s.workload.algorithms.front()).run(1_GiB);
  // Besides, a chunk of 128 KiB of 16 channels x 8 GPUs goes into a buffer and out of another.
  const double links_us = (1073.741824e6 + 2 * 16 * 8 * 131072) * 9 / 8 / 370.8e3 / 0.85;
  CHECK(out.time.microseconds() == doctest::Approx(links_us + 25).epsilon(0.01));
  json["workload"]["algorithm"] = Json::parse(R"({"name": "nccl", "algorithm": "nvls"})");
  json["fabric"]["nodes"] = 2, json["workload"]["ranks"] = 16;
  CHECK(
      lines_for(json) ==
      Lines{
          "f.json: /workload/algorithm: nvls adds in the NVSwitch of one server, and between servers only where the fabric has \"sharp\"; "
          "these are 16 ranks in servers of 8"});
}

TEST_CASE("sized: of two servers of H100 the switches add, and a tree goes on between the GPUs of equal number") {
  Json json = Json::parse(two_servers);
  json["server"] = "dgx_h100", json["fabric"]["nodes"] = 2, json["workload"]["ranks"] = 16;
  json["workload"]["algorithm"] = Json::parse(R"({"name": "nccl", "algorithm": "nvls_tree"})");
  const Scenario s = scenario_of(json);
  const Row out = Experiment(s, s.workload.algorithms.front()).run(1_GiB);
  // An eighth of the message on each NIC, and twice to the switch and once to the other server and back. A chunk, 128 KiB of 16 channels x
  // 8 GPUs, goes through three stages on NVLinks besides: 14/8 of it on each GPU's, which carry 14/9 of 0.85 times less.
  constexpr double turn = 16 * 8 * 131072.0, whole = 1073.741824e6, links_us = 14.0 / 8 / (14.0 / 9 * 0.85) / 370.8e3;
  CHECK(out.time.microseconds() == doctest::Approx(25 + 2 * 10.7 + whole / 200e3 + turn * 3 * links_us).epsilon(0.01));
  // On NICs of 100 GB/s each the switches take longer, and chunks go through the network besides.
  json["fabric"]["link"]["bandwidth"] = "100GBps";
  const Scenario fast = scenario_of(json);
  CHECK(Experiment(fast, fast.workload.algorithms.front()).run(1_GiB).time.microseconds() ==
        doctest::Approx(25 + 2 * 10.7 + whole * links_us + turn * (2 * links_us + 1 / 800e3)).epsilon(0.1));
  json["fabric"]["nodes"] = 1, json["workload"]["ranks"] = 8;
  CHECK(lines_for(json) == Lines{"f.json: /workload/algorithm: nvls_tree adds between servers; these are 8 ranks in one"});
}

TEST_CASE("sized: NVLS is refused where the servers have no NVSwitch that adds") {
  Json json = Json::parse(two_servers);
  json["workload"]["algorithm"] = Json::parse(R"({"name": "nccl", "algorithm": "nvls_tree"})");
  json["fabric"]["nodes"] = 2, json["workload"]["ranks"] = 16;
  const auto problem_with = [&](const char* server) {
    json["server"] = server;
    return lines_for(json);
  };
  CHECK(problem_with("dgx_h100").empty());
  CHECK(
      problem_with("dgx_a100") ==
      Lines{"f.json: /workload/algorithm: nvls_tree adds in NVSwitches, and those of the server cannot: those do whose GPUs have more than "
            "NVLink 3's 300 GB/s, as in \"dgx_h100\""});
  CHECK(
      problem_with("v100_nvlink") ==
      Lines{"f.json: /workload/algorithm: nvls_tree adds in NVSwitches, and the server has none: those do whose GPUs have more than NVLink "
            "3's 300 GB/s, as in \"dgx_h100\""});
}

TEST_CASE("sized: what the threads of a chain with LL take is of each of the messages that it is cut into") {
  Json json = Json::parse(two_servers);
  json["workload"]["collective"] = "broadcast";
  json["workload"]["algorithm"] = Json::parse(R"({"name": "nccl", "protocol": "ll"})");
  const SizedChoice chosen = sized(json, 64_KiB);
  const AlgorithmSettings& s = chosen.choice.settings;
  CHECK(chosen.regime.sending.ps > 0);
  CHECK(s.pieces == 16);  // 512 threads pass 4 KiB on at a time
  CHECK(chosen.regime.sending.ps == chosen.regime.turns.ps / s.pieces);
  json["workload"]["collective"] = "allreduce";
  CHECK(sized(json, 64_KiB).regime.sending.ps == 0);
}

TEST_CASE("sized: a chain passes on chunks of 512 KiB for each of its connections, through however many servers") {
  Json json = Json::parse(two_servers);
  json["workload"]["algorithm"] = Json::parse(R"({"name": "nccl", "algorithm": "ring", "protocol": "simple"})");
  json["workload"]["collective"] = "broadcast";
  for (const int servers : {2, 8}) {
    json["fabric"]["nodes"] = servers * 8;
    json["workload"]["ranks"] = servers * 8;
    const SizedChoice chosen = sized(json, 64_MiB);
    CHECK(chosen.choice.settings.channels == 8);  // of NICs of their own
    CHECK(chosen.regime.connections == 2);
    CHECK(chosen.choice.settings.pieces == 8);  // 8 MiB a channel
    CHECK(sized(json, 4_MiB).choice.settings.pieces == 1);
  }
}

TEST_CASE("sized: nccl's trees and chains send whole chunks and then what is left, and four bytes more take no less time") {
  Json json = Json::parse(two_servers);
  json["workload"]["ranks"] = 64;
  const auto settings = [&](Bytes size) { return sized(json, size).choice.settings; };
  const auto us = [&](Bytes size) {
    const Scenario s = scenario_of(json);
    return Experiment(s, s.workload.algorithms.front()).run(size).time.microseconds();
  };
  json["workload"]["collective"] = "broadcast";
  json["workload"]["algorithm"] = Json::parse(R"({"name": "nccl", "protocol": "simple"})");
  // Each of 8 channels passes on chunks of 1 MiB, of its two connections.
  CHECK(settings(8_MiB).pieces == 1);
  CHECK(settings(8_MiB).last_piece == 1);
  CHECK(settings(12_MiB).pieces == 2);
  CHECK(settings(12_MiB).last_piece == 0.5);
  CHECK(settings(24_MiB).last_piece == 1);
  CHECK(us(8_MiB + 4_B) > 0.999 * us(8_MiB));
  CHECK(us(8_MiB + 4_B) < 1.1 * us(8_MiB));
  json["workload"]["algorithm"]["segment"] = "2MiB";
  CHECK(settings(20_MiB).pieces == 2);
  CHECK(settings(20_MiB).last_piece == 0.25);
  json["workload"]["collective"] = "allreduce";
  json["workload"]["algorithm"] = Json::parse(R"({"name": "nccl", "algorithm": "tree", "protocol": "ll"})");
  CHECK(settings(512_KiB).pieces == 1);  // of 32 KiB, of two trees on each of 8 channels
  CHECK(settings(768_KiB).last_piece == 0.5);
  CHECK(us(512_KiB + 64_B) > 0.999 * us(512_KiB));
  CHECK(us(512_KiB + 64_B) < 1.1 * us(512_KiB));
}

TEST_CASE("sized: LL128 is not used between servers where the way to the NIC goes through a socket") {
  Json json = Json::parse(two_servers);
  const auto uses_ll128 = [&](const char* nic_at) {
    json["server"] = Json::parse(R"({"sockets": ["s"], "pcie_switches": ["p"], "gpus": ["a", "b"], "nics": ["n"], "nvswitches": ["v"],
      "links": [{"from": "s", "to": "p", "pcie": {"generation": 4}}, {"from": "p", "to": "a", "pcie": {"generation": 4}},
                {"from": "p", "to": "b", "pcie": {"generation": 4}}, {"from": "a", "to": "v", "bandwidth": "240GBps"},
                {"from": "b", "to": "v", "bandwidth": "240GBps"}]})");
    json["server"]["links"].push_back({{"from", nic_at}, {"to", "n"}, {"pcie", {{"generation", 4}}}});
    bool out = false;
    for (std::int64_t bytes = 1024; bytes <= (64_MiB).count; bytes *= 2)
      out |= sized(json, Bytes{bytes}).regime.protocol == NcclProtocol::ll128;
    return out;
  };
  CHECK(uses_ll128("p"));
  CHECK_FALSE(uses_ll128("s"));
}

TEST_CASE("sized: segments make pieces, by the size of a chunk, and never less than one") {
  Json json = Json::parse(two_servers);
  json["workload"]["algorithm"] = Json::parse(R"({"name": "ring", "segment": "64KiB"})");
  CHECK(label(sized(json, 16_MiB).choice) == "ring(pieces=16)");
  CHECK(label(sized(json, 1_KiB).choice) == "ring(pieces=1)");
}

TEST_CASE(
    "sized: trees and chains are cut into as many pieces as Hockney's model says; more than one piece where it was 3.7 times too slow") {
  Json json = Json::parse(two_servers);
  json["server"] = "sub_node";
  json["workload"]["algorithm"] = "double_binary_tree";
  const SizedChoice choice = sized(json, 64_MiB);
  CHECK(choice.choice.settings.pieces > 1);
  const Scenario automatic = scenario_of(json);
  json["workload"]["algorithm"] = Json::parse(R"({"name": "double_binary_tree", "pieces": 1})");
  const Scenario whole = scenario_of(json);
  const auto time = [](const Scenario& s) { return Experiment(s, s.workload.algorithms.front()).run(64_MiB).time; };
  CHECK(time(automatic).ps * 2 < time(whole).ps);
  CHECK(sized(json, 64_MiB).choice.settings.pieces == 1);
}

TEST_CASE("sized: so many segments as are asked for are simulated, or none") {
  Json json = Json::parse(two_servers);
  json["workload"]["collective"] = "broadcast";
  json["workload"]["algorithm"] = Json::parse(R"({"name": "chain", "segment": "1KiB"})");
  CHECK(sized(json, 64_MiB).choice.settings.pieces == 65'536);
  CHECK_THROWS_WITH_AS(sized(json, 128_MiB),
                       "a segment of 1KiB cuts 128MiB into 131072 pieces, and at most 65536 are simulated: write at least 2KiB",
                       InputError);
  json["workload"]["algorithm"] = Json::parse(R"({"name": "nccl", "protocol": "simple", "channels": 1, "segment": "64KiB"})");
  CHECK(sized(json, 64_MiB).choice.settings.pieces == 1024);
}

TEST_CASE("sized: segments that are too many are found before anything runs, of the workload and of jobs, each with its place") {
  Json json = Json::parse(
      R"({"schema": 1, "name": "star", "fabric": {"type": "star", "nodes": 4, "link": {"bandwidth": "100Gbps", "latency": "1us"}},
        "hardware": "ideal", "workload": {"algorithm": ["ring", {"name": "ring", "segment": "1B"}], "size": ["1KB", "1MB", "2MB"]}})");
  const auto too_many = [](const char* at, const char* segment, const char* part, int pieces, const char* least) {
    return fmt::format("f.json: {}: a segment of {} cuts {} into {} pieces, and at most 65536 are simulated: write at least {}", at,
                       segment, part, pieces, least);
  };
  CHECK(lines_for(json) == Lines{too_many("/workload/algorithm/1/segment", "1B", "500KB", 500'000, "8B")});
  json["workload"]["algorithm"][1]["segment"] = "100B";
  json["jobs"] = Json::parse(R"([{"share_endpoints": true, "algorithm": {"name": "ring", "segment": "1B"}, "size": "10MB"},
                                 {"share_endpoints": true, "size": "40MB"}])");
  CHECK(lines_for(json) == Lines{too_many("/jobs/0/algorithm/segment", "1B", "2.5MB", 2'500'000, "39B"),
                                 too_many("/jobs/1/size", "100B", "10MB", 100'000, "153B")});
  json.erase("jobs");
  CHECK(lines_for(json) == Lines{});
  Json nccl = Json::parse(two_servers);
  nccl["workload"] = Json::parse(
      R"({"collective": "broadcast", "algorithm": {"name": "nccl", "channels": 1, "segment": "4B"}, "size": "1MB", "ranks": 16})");
  CHECK(lines_for(nccl) == Lines{too_many("/workload/algorithm/segment", "4B", "1MB", 250'000, "16B")});
}

TEST_CASE("sized: nccl's channels that are given are those, also where it would have found as many") {
  Json json = Json::parse(two_servers);
  json["workload"]["algorithm"] = Json::parse(R"({"name": "nccl", "algorithm": "ring", "protocol": "ll", "channels": 8})");
  const SizedChoice given = sized(json, 32_KiB);
  CHECK(given.choice.settings.channels == 8);
  CHECK(given.regime.channels == 8);
  CHECK(given.regime.connections == 1);
  json["workload"]["algorithm"].erase("channels");
  CHECK(sized(json, 32_KiB).choice.settings.channels < 8);
  CHECK(to_json(scenario_of(to_json(scenario_of(json)))) == to_json(scenario_of(json)));
}

TEST_CASE("sized: segments that are too many are found before anything runs where a workload trains, compresses or is a program") {
  Json json = Json::parse(
      R"({"schema": 1, "fabric": {"type": "star", "nodes": 4, "link": {"bandwidth": "100Gbps", "latency": "1us"}}, "hardware": "ideal",
          "workload": {"algorithm": ["ring", {"name": "ring", "segment": "4B"}], "size": "64MiB", "compression": ["gs_sgd", "dense"]}})");
  const auto one = [&](const std::string& at, const std::string& begin) {
    const Lines lines = lines_for(json);
    CAPTURE(lines);
    return lines.size() == 1 && lines.front().starts_with(fmt::format("f.json: {}: a segment of 4B cuts {} into", at, begin));
  };
  CHECK(one("/workload/algorithm/1/segment", "16MiB"));
  json["workload"] = Json::parse(
      R"({"model": "resnet50", "device": "v100", "engine": "ddp", "algorithm": {"name": "ring", "segment": "4B"}, "dtype": "float16"})");
  CHECK(one("/workload/algorithm/segment", "12778516B"));  // a quarter of 25,557,032 values of two bytes
  json["workload"]["model_parallel"] = 2;
  CHECK(one("/workload/algorithm/segment", "12778516B"));  // a half of a half
  json["workload"]["algorithm"]["segment"] = "4KiB";
  CHECK(lines_for(json) == Lines{});
  json["workload"] = Json::parse(R"({"algorithm": ["ring", "direct"], "program": [
      {"id": "a", "collective": "allreduce", "size": "64MiB", "algorithm": {"name": "ring", "segment": "1KiB"}},
      {"id": "b", "collective": "allreduce", "size": "64MiB", "algorithm": {"name": "ring", "segment": "4B"}, "ranks": [0, 2]}]})");
  CHECK(one("/workload/program/1/algorithm/segment", "32MiB"));
}

TEST_CASE("sized: a segment and pieces together are refused, and a segment where nothing can be cut") {
  Json json = Json::parse(two_servers);
  json["workload"]["algorithm"] = Json::parse(R"({"name": "ring", "segment": "64KiB", "pieces": 2})");
  CHECK(lines_for(json) == Lines{"f.json: /workload/algorithm/segment: the pieces follow from it: leave \"pieces\" or it out"});
}

TEST_CASE("sized: nccl runs on flow and packet alike, and its time is near what its own model expects") {
  Json json = Json::parse(two_servers);
  for (const char* network : {"flow", "packet"}) {
    CAPTURE(network);
    json["network"] = network;
    const Scenario s = scenario_of(json);
    const Row out = Experiment(s, s.workload.algorithms.front()).run(1_MiB);
    CHECK(out.time > 20_us);
    CHECK(out.time < 300_us);
  }
}

TEST_CASE("sized: mpi is what Open MPI runs for the number of ranks and the size") {
  Json json = Json::parse(R"({"schema": 1, "name": "hosts", "fabric": {"type": "star", "nodes": 32, "link": {"bandwidth": "200Gbps",
    "latency": "500ns"}}, "hardware": "ideal", "workload": {"algorithm": "mpi", "size": "1MiB"}})");
  CHECK(depends_on_size(scenario_of(json), {"mpi"}));
  CHECK(label(sized(json, 127_B).choice) == "recursive_doubling");
  CHECK(label(sized(json, 128_B).choice) == "halving_doubling");
  CHECK(sized_name(sized(json, 1_MiB)) == "halving_doubling");
  json["fabric"]["nodes"] = 130;
  CHECK(label(sized(json, 1_KiB).choice) == "two_level(group=130)");  // a reduce, then a broadcast
  json["workload"]["collective"] = "broadcast";
  json["workload"]["ranks"] = 3;
  CHECK(label(sized(json, 200_KiB).choice) == "chain(pieces=1)");
}

TEST_CASE("sized: the hosts of a library that has leaders are no setting of the scenario's, so fewer ranks a host have their own") {
  const Scenario s = scenario_of(Json::parse(R"({"schema": 1, "name": "hosts", "fabric": {"type": "star", "nodes": 2, "link":
    {"bandwidth": "200Gbps", "latency": "500ns"}}, "server": {"preset": "cpu_host", "cores": 8}, "hardware": "ideal",
    "workload": {"algorithm": {"name": "mpi", "library": "mpich"}, "size": "1MiB"}})"));
  CHECK(s.workload.algorithms.front().settings.group == 8);
  const AlgorithmSettings said = without_server_defaults(s, s.workload.algorithms.front()).settings;
  CHECK(said.group == 0);
  CHECK(said.library == MpiLibrary::mpich);
}

TEST_CASE("sized: the leaders of two_level do what MPI runs for so many ranks, unless an algorithm is given") {
  Json json = Json::parse(R"({"schema": 1, "name": "hosts", "fabric": {"type": "star", "nodes": 64, "link": {"bandwidth": "200Gbps",
    "latency": "500ns"}}, "hardware": "ideal", "workload": {"algorithm": {"name": "two_level", "group": 16}, "size": "1MiB"}})");
  CHECK(label(sized(json, 4_KiB).choice) == "two_level(group=16,inner=recursive_doubling)");  // of 4 leaders, not of 64 ranks
  CHECK(label(sized(json, 1_MiB).choice) == "two_level(group=16,inner=halving_doubling)");
  json["workload"]["algorithm"]["segment"] = "64KiB";
  CHECK(label(sized(json, 1_MiB).choice) == "two_level(group=16,inner=halving_doubling,pieces=4)");  // chunks are a quarter
  json["workload"]["algorithm"] = Json::parse(R"({"name": "two_level", "group": 16, "inner": "ring"})");
  CHECK_FALSE(depends_on_size(scenario_of(json), scenario_of(json).workload.algorithms.front()));
  CHECK(label(sized(json, 1_MiB).choice) == "two_level(group=16,inner=ring)");
}

TEST_CASE("sized: mpi goes by the rules of the library that is named, with its segments and the leaders of its hosts") {
  Json json = Json::parse(two_servers);
  json["workload"]["algorithm"] = Json::parse(R"({"name": "mpi", "library": "open_mpi_4.0"})");
  CHECK(label(scenario_of(json).workload.algorithms.front()) == "mpi(library=open_mpi_4.0)");
  CHECK(label(sized(json, 64_KiB).choice) == "ring");
  json["workload"]["algorithm"]["library"] = "mpich";
  CHECK(label(sized(json, 64_KiB).choice) ==
        "two_level(group=8,inner=halving_doubling,up=halving_gather,down=scatter_doubling)");  // of 2 leaders
  json["workload"]["ranks"] = 12;                                                              // no whole servers
  CHECK(label(sized(json, 64_KiB).choice) == "halving_doubling");
  json["workload"]["collective"] = "broadcast";
  json["workload"]["algorithm"]["library"] = "open_mpi_4.0";
  CHECK(label(sized(json, 1_MiB).choice) == "binary_tree(pieces=128)");  // of 8 KiB
}

TEST_CASE("sized: a chain that mpi does not cut stays whole, whoever asks once more what it is for its size") {
  Json json = Json::parse(R"({"schema": 1, "name": "four", "fabric": {"type": "star", "nodes": 4, "link": {"bandwidth": "100Gbps"}},
    "hardware": "ideal", "workload": {"collective": "broadcast", "algorithm": {"name": "mpi", "library": "open_mpi"}, "size": "16MiB"}})");
  json["fabric"]["link"]["latency"] = "300ns";
  const SizedChoice mpi = sized(json, 16_MiB);
  CHECK(mpi.choice.name == "chain");
  json["workload"]["algorithm"] = {{"name", "chain"}, {"pieces", mpi.choice.settings.pieces}};
  CHECK(sized(json, 16_MiB).choice == mpi.choice);
}

TEST_CASE("sized: a row says what mpi chose") {
  const Scenario s = scenario_of(Json::parse(R"({"schema": 1, "name": "hosts", "fabric": {"type": "star", "nodes": 4, "link":
    {"bandwidth": "100Gbps", "latency": "500ns"}}, "hardware": "ideal", "workload": {"algorithm": "mpi", "size": "8KiB"}})"));
  Experiment experiment(s, {"mpi"});
  const Row row = experiment.run(8_KiB, {});
  CHECK(row.algorithm == "mpi");
  CHECK(row.chosen == "halving_doubling");
  CHECK(row.steps == 4);
  CHECK(row.time.ps == 4 * 1'000'000 + 2 * (327'680 + 163'840));  // two links' latency each, 4 KiB and 2 KiB at 100 Gb/s, twice
  CHECK(experiment.run(4_KiB, {}).chosen == "recursive_doubling");
}

#include "sim/scenario/server_fields.hpp"

#include "sim/cases/jobs.hpp"
#include "sim/cases/testing.hpp"

#include <fstream>

#include <unistd.h>

using namespace weft;

namespace {

// One described server: a socket with a GPU and a NIC.
Json described() {
  return Json::parse(R"({
    "sockets": ["s"], "gpus": ["g0", "g1"], "nics": ["n"],
    "links": [{"from": "s", "to": "g0", "pcie": {"generation": 4}, "latency": "100ns"}, {"from": "s", "to": "g1", "pcie": {"generation": 4, "width": 8}},
              {"from": "s", "to": "n", "bandwidth": "200Gbps", "latency": "100ns"}]})");
}

Json on_star(Json server) {
  Json out = with("/fabric", Json::parse(R"({"type": "star", "nodes": 4, "link": {"bandwidth": "100Gbps", "latency": "500ns"}})"));
  out["workload"]["algorithm"] = "ring";
  out["server"] = std::move(server);
  return out;
}

}  // namespace

TEST_CASE("a server is named, changed, or described, and written so that it reads back") {
  for (const Json& server : {Json("two_nic"), Json{{"preset", "dgx_a100"}, {"policy", "nic"}}, described()}) {
    CAPTURE(server.dump());
    const Scenario scenario = cases_of(on_star(server)).front().scenario;
    CHECK(scenario.workload.ranks == 4 * scenario.server.gpu_count());
    CHECK(cases_of(to_json(scenario)).front().scenario.server == scenario.server);
  }
  CHECK(cases_of(on_star("sub_node")).front().scenario.server == Server{});
  CHECK(to_json(cases_of(on_star("sub_node")).front().scenario).at("server") == "sub_node");
}

TEST_CASE("links of a preset are changed by their ends, and the change is written back") {
  Json json = on_star(Json::parse(R"({"preset": "single_nic", "links": [
    {"from": "socket1", "to": "socket0", "contention": {"two_way_rate": "5GBps"}},
    {"from": "switch0", "to": "nic0", "bandwidth": "25Gbps"}]})"));
  Scenario scenario = cases_of(json).front().scenario;
  const auto link = [&](const std::string& from, const std::string& to) {
    for (const ServerLink& l : scenario.server.links)
      if (l.from == from && l.to == to) return l;
    return ServerLink{};
  };
  CHECK(link("socket0", "socket1").contention == PeerContention{.nic_rate = {}, .two_way_rate = 5_GBps});
  CHECK(link("socket0", "socket1").bandwidth == 10_GBps);
  CHECK(link("switch0", "nic0").bandwidth == 25_Gbps);
  CHECK(!link("switch0", "nic0").pcie);
  CHECK(cases_of(to_json(scenario)).front().scenario.server == scenario.server);
  json["server"]["links"] = Json::parse(R"([{"from": "socket0", "to": "socket1", "contention": "none"}])");
  scenario = cases_of(json).front().scenario;
  CHECK(link("socket0", "socket1").contention == PeerContention{});
  CHECK(cases_of(to_json(scenario)).front().scenario.server == scenario.server);
  json["server"]["links"] = Json::parse(R"([{"from": "gpu0", "to": "gpu1", "contention": "none"},
                                           {"from": "socket0", "to": "socket1", "contention": {}}])");
  CHECK(lines_for(json) == Lines{"f.json: /server/links/0: must name the ends of a link that the server has, such as \"socket0\" and "
                                 "\"socket1\", got \"gpu0\" and \"gpu1\"",
                                 "f.json: /server/links/1/contention: says nothing: give \"nic_rate\", \"two_way_rate\", \"duplex_rate\" "
                                 "or \"nic_duplex_rate\", or write \"none\""});
}

TEST_CASE(
    "a NIC on a PCIe 4 port of a socket has 154 Gbps each way while both are used, unless its link says otherwise or a switch is between") {
  Json server =
      Json::parse(R"({"sockets": ["cpu"], "pcie_switches": ["switch"], "gpus": ["gpu"], "nics": ["near", "far", "old", "free"], "links": [
    {"from": "cpu", "to": "gpu", "pcie": {"generation": 4}}, {"from": "cpu", "to": "switch", "pcie": {"generation": 4}},
    {"from": "near", "to": "cpu", "pcie": {"generation": 4}}, {"from": "switch", "to": "far", "pcie": {"generation": 4}},
    {"from": "cpu", "to": "old", "pcie": {"generation": 3}}, {"from": "cpu", "to": "free", "pcie": {"generation": 4}, "contention": "none"}]})");
  const Server read = cases_of(on_star(server)).front().scenario.server;
  for (const ServerLink& link : read.links) {
    CAPTURE(link.from);
    CAPTURE(link.to);
    CHECK(link.contention.nic_duplex_rate == (link.from == "near" ? 154_Gbps : BitsPerSecond{}));
  }
  const Json written = ServerForm::write(read);
  CHECK(written["links"][2]["contention"]["nic_duplex_rate"] == "154Gbps");
  CHECK(written["links"][5]["contention"] == "none");
  CHECK(cases_of(on_star(written)).front().scenario.server == read);
}

TEST_CASE("what is wrong with a server is said at its place") {
  CHECK(
      lines_for(on_star("two_nik")) ==
      Lines{"f.json: /server: unknown server \"two_nik\" (did you mean \"two_nic\"?); allowed: \"sub_node\", \"single_nic\", \"two_nic\", "
            "\"congestionless\", \"v100_nvlink\", \"dgx_a100\", \"hgx_a100_4\", \"dgx_h100\", \"dgx_b200\", \"gb200_nvl72\", \"cpu_host\", "
            "\"shared_gpu\""});
  CHECK(lines_for(on_star(Json::object())) ==
        Lines{"f.json: /server: says nothing of its devices: give \"preset\", \"nccl_topology\", or a description with \"gpus\""});
  CHECK(lines_for(on_star(Json{{"preset", "two_nic"}, {"gpus", Json::array({"g"})}})) ==
        Lines{"f.json: /server/gpus: cannot stand beside \"preset\", which has its devices"});
  CHECK(lines_for(on_star(Json{{"preset", "sub_node"}, {"policy", "nic"}})) ==
        Lines{"f.json: /server/policy: means nothing for a sub_node, which has no devices inside"});
  Json server = described();
  server["links"][0]["pcie"]["generation"] = 7;
  server["links"][1]["to"] = "g7";
  server["links"][2]["bandwidth"] = 200;
  CHECK(
      lines_for(on_star(server)) ==
      Lines{"f.json: /server/links/0/pcie/generation: must be between 1 and 6, got 7",
            "f.json: /server/links/2/bandwidth: a bare number has no unit: write a rate with bps, Kbps, Mbps, Gbps, MBps or GBps, such as "
            "\"100Gbps\"; got 200"});
  server = described();
  server["links"][1]["to"] = "g7";
  CHECK(lines_for(on_star(server)) == Lines{"f.json: /server/links/1/to: must be a device of the server, got \"g7\""});
}

TEST_CASE("a host of MPI ranks has as many cores as it says, and no other preset has any") {
  Json json = on_star("cpu_host");
  CHECK(cases_of(json).front().scenario.server.gpu_count() == 64);
  json["server"] =
      Json::parse(R"({"preset": "cpu_host", "cores": 6, "links": [{"from": "socket0", "to": "nic0", "pcie": {"generation": 3}}]})");
  const Server host = cases_of(json).front().scenario.server;
  CHECK(host.gpus == std::vector<std::string>{"core0", "core1", "core2", "core3", "core4", "core5"});
  CHECK(host.links[1].pcie->generation == 3);
  CHECK(host.links[4].from == "socket0");
  CHECK(host.links[5].from == "socket1");
  // As it is written it is read again.
  Json again = json;
  again["server"] = ServerForm::write(host);
  CHECK(again["server"]["cores"] == 6);
  CHECK(cases_of(again).front().scenario.server == host);
  json["server"] = Json{{"preset", "dgx_h100"}, {"cores", 6}};
  CHECK(lines_for(json) == Lines{"f.json: /server/cores: only the preset \"cpu_host\" takes a number of cores"});
  json["server"] = Json{{"preset", "cpu_host"}, {"cores", 0}};
  CHECK(lines_for(json) == Lines{"f.json: /server/cores: must be between 1 and 1024, got 0"});
}

TEST_CASE("a host of MPI ranks has as many NICs as a number says, in sweeps and settings too, and is written so that it reads back") {
  Json json = on_star(Json{{"preset", "cpu_host"}, {"cores", 6}});
  CHECK(!to_json(cases_of(json).front().scenario)["server"].contains("nics"));  // one, which is not said
  json["server"]["nics"] = 2;
  json["server"]["links"] = Json::parse(R"([{"from": "socket1", "to": "nic1", "pcie": {"generation": 3}}])");
  const Scenario scenario = cases_of(json).front().scenario;
  CHECK(scenario.server.nics == std::vector<std::string>{"nic0", "nic1"});
  CHECK(scenario.server.gpu_count() == 6);
  CHECK(scenario.server.links[2].pcie->generation == 3);
  CHECK(to_json(scenario)["server"]["nics"] == 2);
  CHECK(cases_of(to_json(scenario)).front().scenario.server == scenario.server);
  json["server"] = "cpu_host";
  CHECK(cases_of(json, {{"/server/nics", 4}}).front().scenario.server == cpu_host({.nics = 4}));
  json["sweep"] = Json{{"/server/nics", {1, 2}}};
  const std::vector<Case> swept = cases_of(json);
  REQUIRE(swept.size() == 2);
  CHECK(swept[0].scenario.server == cpu_host({}));
  CHECK(swept[1].scenario.server == cpu_host({.nics = 2}));
}

TEST_CASE("a host of MPI ranks has as many cores to an L3 as it says, beside its cores and NICs, and no other preset has any") {
  Json json = on_star(Json{{"preset", "cpu_host"}, {"nics", 2}, {"cores_per_l3", 4}, {"cores", 16}});
  const Scenario scenario = cases_of(json).front().scenario;
  CHECK(scenario.server == cpu_host({.cores = 16, .nics = 2, .cores_per_l3 = 4}));
  CHECK(cases_of(to_json(scenario)).front().scenario.server == scenario.server);
  CHECK(!to_json(cases_of(on_star("cpu_host")).front().scenario)["server"].contains("cores_per_l3"));
  json["server"]["cores_per_l3"] = 0;
  CHECK(lines_for(json) == Lines{"f.json: /server/cores_per_l3: must be between 1 and 1024, got 0"});
  json["server"] = Json{{"preset", "dgx_h100"}, {"cores_per_l3", 4}};
  CHECK(lines_for(json) == Lines{"f.json: /server/cores_per_l3: only the preset \"cpu_host\" takes a number of cores_per_l3"});
}

TEST_CASE("a number of NICs is for the host of MPI ranks, which takes no list of their names") {
  const auto lines_for_nics = [](Json server, const Json& nics) {
    server["nics"] = nics;
    return lines_for(on_star(std::move(server)));
  };
  const Json host{{"preset", "cpu_host"}, {"cores", 4}};
  CHECK(lines_for_nics(host, 0) == Lines{"f.json: /server/nics: must be between 1 and 8, got 0"});
  CHECK(lines_for_nics(host, 9) == Lines{"f.json: /server/nics: must be between 1 and 8, got 9"});
  CHECK(lines_for_nics(host, "two") == Lines{"f.json: /server/nics: must be a whole number, got \"two\""});
  CHECK(lines_for_nics(host, Json::array({"nic0"})) ==
        Lines{"f.json: /server/nics: cannot stand beside \"preset\", which has its devices"});
  const Lines refused{
      "f.json: /server/nics: only the preset \"cpu_host\" takes a number of NICs, and a description lists their names; got 2"};
  for (const char* preset : {"two_nic", "sub_node", "shared_gpu"}) CHECK(lines_for_nics(Json{{"preset", preset}}, 2) == refused);
  CHECK(lines_for_nics(described(), 2) == refused);
  CHECK(lines_for_nics(Json{{"preset", "two_nic"}}, Json::array({"nic0"})) ==
        Lines{"f.json: /server/nics: cannot stand beside \"preset\", which has its devices"});
}

TEST_CASE("a GPU is shared by as many ranks as it says, and is a server by itself") {
  Json json =
      Json::parse(R"({"schema": 1, "name": "f", "fabric": {"type": "star", "nodes": 1, "link": {"bandwidth": "100Gbps", "latency": "0s"}},
      "server": {"preset": "shared_gpu", "ranks": 3}, "workload": {"collective": "allreduce", "algorithm": "ring", "size": "1MiB"}})");
  const Server shared = cases_of(json).front().scenario.server;
  CHECK(shared.gpus == std::vector<std::string>{"rank0", "rank1", "rank2"});
  Json again = json;
  again["server"] = ServerForm::write(shared);
  CHECK(again["server"]["ranks"] == 3);
  CHECK(cases_of(again).front().scenario.server == shared);
  json["fabric"]["nodes"] = 2;
  CHECK(lines_for(json).front().starts_with("f.json: /server: a server without NICs reaches no other"));
  json["fabric"]["nodes"] = 1;
  json["server"] = Json{{"preset", "cpu_host"}, {"ranks", 3}};
  CHECK(lines_for(json) == Lines{"f.json: /server/ranks: only the preset \"shared_gpu\" takes a number of ranks"});
}

TEST_CASE("algorithms see servers: groups are their GPUs, hdrm needs a NIC for each GPU") {
  Json json = on_star("two_nic");
  json["workload"]["algorithm"] = Json::parse(R"(["hierarchical_ring", {"name": "ring", "channels": 2}, "ring"])");
  const auto algorithms = cases_of(json).front().scenario.workload.algorithms;
  CHECK(label(algorithms[0]) == "hierarchical_ring(group=4)");
  CHECK(label(algorithms[1]) == "ring(group=4,channels=2)");
  CHECK(label(algorithms[2]) == "ring");
  json = with("/workload/algorithm", "hdrm");
  json["fabric"]["nodes_per_switch"] = 1;
  json["server"] = "congestionless";
  CHECK(cases_of(json).front().scenario.workload.ranks == 32);
  json["server"] = "two_nic";
  CHECK(lines_for(json) == Lines{"f.json: /workload/algorithm: hdrm needs a NIC for each GPU; the server has 4 GPUs and 2 NICs"});
}

TEST_CASE("parameter servers on extra hosts: each on another while there are empty ones") {
  const auto placed = [](int servers, int ranks) {
    Json json = on_star("two_nic");  // 4 servers of 4 GPUs
    json["workload"]["algorithm"] = Json{{"name", "parameter_server"}, {"servers", servers}, {"server_hosts", "extra"}};
    json["workload"]["ranks"] = ranks;
    const Scenario s = cases_of(json).front().scenario;
    const std::vector<int> all = placement_of_workload(s, s.workload.algorithms.front());
    return std::vector(all.begin() + ranks, all.end());
  };
  CHECK(placed(1, 6) == std::vector{8});
  CHECK(placed(2, 6) == std::vector{8, 12});
  CHECK(placed(4, 6) == std::vector{8, 12, 6, 9});
}

TEST_CASE("copies name GPUs that are there, need host memory, and run on the flow network") {
  Json json = on_star("two_nic");
  json["copies"] = Json::parse(R"([{"gpus": [0, 16], "bytes": "1MiB", "period": "1ms"}, {"gpus": "all", "bytes": "1MiB"}])");
  CHECK(lines_for(json) == Lines{"f.json: /copies/0/gpus/1: must be between 0 and 15, got 16"});
  json["copies"][0]["gpus"] = Json::array();
  CHECK(lines_for(json) == Lines{"f.json: /copies/0/gpus: names no GPU: write \"all\" or at least one"});
  json["copies"][0]["gpus"] = Json::array({1});
  json["network"] = "simgrid";
  CHECK(lines_for(json) == Lines{"f.json: /copies: run on \"flow\" only, got \"simgrid\""});
  json["network"] = "flow";
  CHECK(cases_of(json).front().scenario.copies.size() == 2);
  json["server"] = "sub_node";
  CHECK(lines_for(json) == Lines{"f.json: /copies: need a server with host memory; a sub_node has none"});
}

TEST_CASE("an NCCL topology file stands beside the scenario; what is wrong with it is said with its name") {
  const auto folder = std::filesystem::temp_directory_path() / ("weft_servers_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "topo.xml") << R"(<system version="1"><cpu numaid="0">
    <pci busid="1" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16"><gpu dev="0" sm="80"/></pci>
    <pci busid="2" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="16"><nic><net dev="0" speed="200000"/></nic></pci></cpu></system>)";
  std::ofstream(folder / "bad.xml") << "<system version=\"1\">";
  const auto read = [&](const char* file) {
    std::ofstream(folder / "s.json") << on_star(Json{{"nccl_topology", file}, {"policy", "nic"}}).dump();
    return load_cases(folder / "s.json").front().scenario;
  };
  const Scenario scenario = read("topo.xml");
  CHECK(scenario.server.gpus == std::vector<std::string>{"gpu0"});
  CHECK(scenario.server.policy == PeerPolicy::nic);
  CHECK(cases_of(to_json(scenario)).front().scenario.server == scenario.server);
  std::string message;
  for (const char* file : {"bad.xml", "none.xml"}) {
    try {
      read(file);
    } catch (const InputError& error) {
      message += std::string(error.what()) + "\n";
    }
  }
  CHECK(message.find("s.json: /server/nccl_topology: ") != std::string::npos);
  CHECK(message.find("bad.xml: line 1: is not XML") != std::string::npos);
  CHECK(message.find("none.xml: cannot be read: ") != std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a server described without NICs is one by itself: on a fabric of one node it runs, on more it is refused") {
  Json scenario = on_star(Json::parse(R"({"sockets": ["s"], "pcie_switches": ["w"], "gpus": ["a", "b"], "links": [
    {"from": "s", "to": "w", "pcie": {"generation": 3}}, {"from": "w", "to": "a", "pcie": {"generation": 3}},
    {"from": "w", "to": "b", "pcie": {"generation": 3}}]})"));
  scenario["fabric"]["nodes"] = 1;
  const Scenario read = cases_of(scenario).front().scenario;
  CHECK(read.workload.ranks == 2);
  CHECK(cases_of(to_json(read)).front().scenario.server == read.server);
  scenario["fabric"]["nodes"] = 2;
  CHECK(lines_for(scenario) ==
        Lines{"f.json: /server/nics: a server without NICs reaches no other, but the star has 2 nodes: give it NICs, or write 1 node"});
}

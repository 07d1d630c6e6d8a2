// What is wrong with a scenario is said with place, found and allowed, all of it at once.
#include "sim/cases/testing.hpp"
#include "sim/scenario/networks.hpp"

#include <algorithm>

using namespace weft;

TEST_CASE("a good scenario has no problems") { CHECK(lines_for(good_scenario()) == Lines{}); }

TEST_CASE("a bare number where a unit belongs says what to write") {
  CHECK(lines_for(with("/fabric/link/bandwidth", 100)) == Lines{"f.json: /fabric/link/bandwidth: a bare number has no unit: write a rate "
                                                                "with bps, Kbps, Mbps, Gbps, MBps or GBps, such as \"100Gbps\"; got 100"});
  CHECK(
      lines_for(with("/fabric/link/latency", 0.5)) ==
      Lines{"f.json: /fabric/link/latency: a bare number has no unit: write a time with s, ms, us, ns or ps, such as \"500ns\"; got 0.5"});
  CHECK(lines_for(with("/workload/size/1", 1024)) == Lines{"f.json: /workload/size/1: a bare number has no unit: write a size with B, KiB, "
                                                           "MiB, GiB, KB, MB or GB, such as \"256KiB\"; got 1024"});
}

TEST_CASE("a wrong unit is refused with those that are known") {
  CHECK(lines_for(with("/fabric/link/bandwidth", "100Gbit")) ==
        Lines{"f.json: /fabric/link/bandwidth: \"100Gbit\" has the unknown unit \"Gbit\": write one of Gbps Mbps Kbps bps GBps MBps, for "
              "example \"100Gbps\""});
  CHECK(
      lines_for(with("/fabric/link/latency", "100Gbps")) ==
      Lines{"f.json: /fabric/link/latency: \"100Gbps\" has the unknown unit \"Gbps\": write one of s ms us ns ps, for example \"100us\""});
  CHECK(lines_for(with("/fabric/link/bandwidth", "0Gbps")) ==
        Lines{"f.json: /fabric/link/bandwidth: must be at least \"1bps\", got \"0Gbps\""});
  CHECK(lines_for(with("/fabric/link/bandwidth", "-1Gbps")) ==
        Lines{"f.json: /fabric/link/bandwidth: must be at least \"1bps\", got \"-1Gbps\""});
  CHECK(lines_for(with("/fabric/link/bandwidth", "-1")) ==
        Lines{"f.json: /fabric/link/bandwidth: \"-1\" is negative: write a bandwidth of 0 or more"});
}

TEST_CASE("an unknown key near a known one is taken for it, and the known one is not also missing") {
  Json json = good_scenario();
  json["workload"].erase("algorithm");
  json["workload"]["algoritm"] = "ring";
  CHECK(lines_for(json) == Lines{"f.json: /workload/algoritm: unknown key (did you mean \"algorithm\"?)"});
  CHECK(lines_for(with("/fabric/colour", "red")) ==
        Lines{"f.json: /fabric/colour: unknown key; allowed here: \"type\", \"switches\", \"nodes_per_switch\", \"priorities\", \"link\", "
              "\"host_link\", \"fabric_link\", \"ecmp\", \"programmable\", \"sharp\""});
}

TEST_CASE("all errors are reported together, also those of parts that fit badly") {
  Json json = with("/fabric/nodes_per_switch", 6);
  json["workload"]["algoritm"] = 1;
  json["network"] = "flw";
  json["seed"] = -1;
  CHECK(lines_for(json) ==
        Lines{"f.json: /network: unknown network \"flw\" (did you mean \"flow\"?); allowed: \"flow\", \"packet\", \"simgrid\", \"ns3\"",
              "f.json: /workload/algoritm: unknown key (did you mean \"algorithm\"?)", "f.json: /seed: must be at least 0, got -1",
              "f.json: /fabric/nodes_per_switch: must be at most switches / 2 = 4 for a balanced BiGraph, got 6"});
}

TEST_CASE("a missing key says what to write") {
  CHECK(lines_for("{\"schema\": 1}") ==
        Lines{"f.json: /fabric: missing: write an object with \"type\": one of \"bigraph\", \"fat_tree\", \"star\", \"torus\", "
              "\"dragonfly\", \"graph\", \"simgrid\"",
              "f.json: /workload: missing: write an object"});
  Json json = good_scenario();
  json["fabric"].erase("switches");
  json["fabric"].erase("link");
  json["fabric"]["host_link"] = {{"bandwidth", "1Gbps"}};
  CHECK(lines_for(json) == Lines{"f.json: /fabric/switches: missing: write a whole number, at least 2",
                                 "f.json: /fabric/host_link/latency: missing: write a time such as \"500ns\"",
                                 "f.json: /fabric/fabric_link: missing: write {\"bandwidth\": \"100Gbps\", \"latency\": \"500ns\"}"});
  json["fabric"].erase("host_link");
  json["fabric"]["switches"] = 8;
  CHECK(
      lines_for(json) ==
      Lines{
          "f.json: /fabric/link: missing: write {\"bandwidth\": \"100Gbps\", \"latency\": \"500ns\"}, or give host_link and fabric_link"});
}

TEST_CASE("a bad link is told once, not again where one kind of cable takes its other keys from it") {
  Json json = good_scenario();
  json["fabric"]["link"]["bandwidth"] = "fast";
  const Lines of_link = lines_for(json);
  CHECK(of_link.size() == 1);
  json["fabric"]["host_link"] = {{"latency", "1us"}};
  json["fabric"]["fabric_link"] = {{"bandwidth", "400Gbps"}};
  CHECK(lines_for(json) == of_link);
}

TEST_CASE("wrong types and other JSON than an object are refused") {
  CHECK(lines_for("[]") == Lines{"f.json: must be an object, got []"});
  CHECK(lines_for("null") == Lines{"f.json: must be an object, got null"});
  CHECK(lines_for(with("/fabric/switches", "8")) == Lines{"f.json: /fabric/switches: must be a whole number, got \"8\""});
  CHECK(lines_for(with("/fabric/switches", 8.5)) == Lines{"f.json: /fabric/switches: must be a whole number, got 8.5"});
  CHECK(lines_for(with("/fabric/switches", 8.0)) == Lines{});  // JSON knows one kind of number
  CHECK(lines_for(with("/fabric/switches", 1e300)) == Lines{"f.json: /fabric/switches: must be a whole number, got 1e+300"});
  CHECK(lines_for(with("/schema", 2)) == Lines{"f.json: /schema: must be 1, got 2"});
  CHECK(lines_for(with("/workload/size", Json::array())) ==
        Lines{"f.json: /workload/size: an empty list asks for nothing: give at least one value"});
}

TEST_CASE("hdrm is refused on a fabric that is no bigraph") {
  const Json fat_tree = Json::parse(R"({"type": "fat_tree", "k": 8, "link": {"bandwidth": "100Gbps", "latency": "1us"}})");
  CHECK(lines_for(with("/fabric", fat_tree)) ==
        Lines{"f.json: /fabric/type: hdrm places ranks on a bigraph; on other fabrics use halving_doubling; got \"fat_tree\""});
  Json placed = with("/fabric", fat_tree);
  placed["workload"]["algorithm"] = "halving_doubling";
  placed["placement"] = "hdrm";
  CHECK(lines_for(placed).size() == 1);
  CHECK(lines_for(placed).front().starts_with("f.json: /placement: "));
}

TEST_CASE("a BiGraph out of balance or of the wrong size for hdrm is refused") {
  CHECK(lines_for(with("/fabric/nodes_per_switch", 5)) ==
        Lines{"f.json: /fabric/nodes_per_switch: must be at most switches / 2 = 4 for a balanced BiGraph, got 5"});
  CHECK(lines_for(with("/fabric/switches", 7)) == Lines{"f.json: /fabric/switches: must be even and at least 2, got 7"});
  const Lines twelve = lines_for(with("/fabric/switches", 12));
  REQUIRE(twelve.size() == 1);
  CHECK(twelve.front() == "f.json: /fabric/switches: must be a power of two (8 or 16), got 12 (for hdrm)");
  CHECK(lines_for(with("/fabric/nodes_per_switch", 3)).size() == 1);
}

TEST_CASE("a billion nodes are refused, not built") {
  const auto star = [](Json nodes) {
    Json json = with("/fabric", Json::parse(R"({"type": "star", "link": {"bandwidth": "100Gbps", "latency": "1us"}})"));
    json["fabric"]["nodes"] = std::move(nodes);
    json["workload"]["algorithm"] = "ring";
    return json;
  };
  CHECK(lines_for(star(1'000'000'000)) == Lines{"f.json: /fabric/nodes: must be between 1 and 1000000, got 1000000000"});
  CHECK(lines_for(star(10'000'000'000)) == Lines{"f.json: /fabric/nodes: must be between 1 and 1000000, got 10000000000"});
  CHECK(lines_for(star(-10'000'000'000)) == Lines{"f.json: /fabric/nodes: must be between 1 and 1000000, got -10000000000"});
  CHECK(lines_for(with("/fabric/switches", 1'000'000'000)) ==
        Lines{"f.json: /fabric: has 4000000000 endpoints, at most 1000000 are allowed",
              "f.json: /fabric: has 250000000000000000 cables between switches, at most 4000000 are allowed"});
}

TEST_CASE("a disconnected graph is refused with two ends that do not meet") {
  const Json graph = Json::parse(R"({"type": "graph", "nodes": ["a", "b"], "switches": ["s"],
      "links": [{"from": "a", "to": "s", "bandwidth": "100Gbps", "latency": "1us"}]})");
  Json json = with("/fabric", graph);
  json["workload"]["algorithm"] = "ring";
  CHECK(lines_for(json) == Lines{"f.json: /fabric/links: leave \"b\" without a path to \"a\" (endpoints do not forward)"});
}

TEST_CASE("the workload must fit the fabric") {
  CHECK(lines_for(with("/workload/ranks", 33)) ==
        Lines{"f.json: /workload/ranks: must be at most 32, the endpoints of the fabric, got 33"});
  CHECK(lines_for(with("/workload/root", 32)) == Lines{"f.json: /workload/root: must be a rank, 0 to 31, got 32"});
  CHECK(lines_for(with("/workload/size/0", "2B")) ==
        Lines{"f.json: /workload/size/0: must be a multiple of 4 bytes, the size of a float32, got \"2B\""});
  CHECK(lines_for(with("/workload/op", "band")) ==
        Lines{"f.json: /workload/op: \"band\" is not defined on float32; it is on integers only"});
  CHECK(lines_for(with("/placement", Json::parse(R"({"policy": "list", "nodes": [0, 1]})"))).size() == 1);
}

TEST_CASE("sizes and jobs have limits that are said before anything runs") {
  CHECK(lines_for(with("/workload/size/0", "1048577GiB")) ==
        Lines{"f.json: /workload/size/0: must be at most 1048576GiB, got \"1048577GiB\""});
  CHECK(lines_for(with("/workload/size/0", "1048576GiB")) == Lines{});
  CHECK(lines_for(with("/traffic", Json::parse(R"([{"pattern": "pairs", "pairs": [[0, 1]], "size": "8589934591GiB"}])"))) ==
        Lines{"f.json: /traffic/0/size: must be at most 1048576GiB, got 8589934591GiB"});
  Json json = with("/workload/ranks", 1);
  json["workload"]["algorithm"] = "ring";
  json["fabric"] = Json::parse(R"({"type": "star", "nodes": 64, "link": {"bandwidth": "100Gbps", "latency": "1us"}})");
  json["jobs"] = Json(std::vector<Json>(62, Json::object()));
  CHECK(lines_for(json) == Lines{"f.json: /jobs: must be at most 60 beside the workload, got 62"});
}

TEST_CASE("extra servers need endpoints without a rank") {
  const auto with_servers = [](int servers, int ranks) {
    Json json = with("/workload/algorithm", Json::array({"ring", {{"name", "parameter_server"}, {"server_hosts", "extra"}}}));
    json["workload"]["algorithm"][1]["servers"] = servers;
    if (ranks > 0) json["workload"]["ranks"] = ranks;
    return json;
  };
  CHECK(lines_for(with_servers(2, 30)) == Lines{});
  CHECK(lines_for(with_servers(3, 30)) ==
        Lines{"f.json: /workload/algorithm/1/servers: needs 3 endpoints without a rank; 2 of 32 are left"});
  CHECK(lines_for(with_servers(31, 0)) == Lines{});
  CHECK(lines_for(with_servers(32, 0)) ==
        Lines{"f.json: /workload/algorithm/1/servers: must leave one of the 32 endpoints of the fabric to a rank, got 32"});
  Json json = with_servers(1, 32);
  json["workload"]["algorithm"][1].erase("servers");
  CHECK(lines_for(json) == Lines{"f.json: /workload/algorithm/1/server_hosts: needs 1 endpoints without a rank; 0 of 32 are left"});
  json["workload"]["algorithm"][1]["server_hosts"] = "extr";
  CHECK(lines_for(json) ==
        Lines{"f.json: /workload/algorithm/1/server_hosts: unknown place for servers \"extr\" (did you mean \"extra\"?); "
              "allowed: \"workers\", \"extra\""});
  json["workload"]["algorithm"] = Json::array({{{"name", "ring"}, {"server_hosts", "extra"}}});
  CHECK(lines_for(json).front().starts_with("f.json: /workload/algorithm/0/server_hosts: unknown key"));
}

TEST_CASE("names of algorithms, networks, placements and profiles are suggested") {
  CHECK(lines_for(with("/workload/algorithm", "hrdm"))
            .front()
            .starts_with("f.json: /workload/algorithm/name: unknown name \"hrdm\" (did you mean \"hdrm\"?)"));
  CHECK(lines_for(with("/placement", "randm"))
            .front()
            .starts_with("f.json: /placement/policy: unknown policy \"randm\" (did you mean \"random\"?)"));
  CHECK(
      lines_for(with("/hardware", "eflops_simulatr"))
          .front()
          .starts_with("f.json: /hardware: unknown hardware profile \"eflops_simulatr\" (did you mean \"eflops_simulator\"?); allowed: "));
  CHECK(lines_for(with("/hardware", "../../etc/passwd")).size() == 1);
  CHECK(
      lines_for(with("/hardware", "out/mine.json")) ==
      Lines{"f.json: /hardware: must be the name of a hardware profile, not a file, got \"out/mine.json\": put the file into hardware and "
            "give its name without \".json\""});
  const Json in_file = {{"schema", 1}, {"send_overhead", {{"value", "3us"}, {"source", "a test"}}}};
  CHECK(
      lines_for(with("/hardware", in_file)) ==
      Lines{
          "f.json: /hardware: must be the name of a hardware profile, or an object with \"profile\" and overrides, got what stands in the "
          "file of a profile: put the file into \"hardware\" beside the scenario and give its name"});
  Json broadcast = with("/workload/algorithm", "hdrm");
  broadcast["workload"]["collective"] = "broadcast";
  CHECK(lines_for(broadcast) ==
        Lines{"f.json: /workload/algorithm: unknown broadcast algorithm \"hdrm\", must be one of binomial_tree, binomial_tree_at_once, "
              "scatter_allgather, "
              "chain, neighbour_tree, direct, knomial_tree, binary_tree, scatter_doubling, two_level, mpi, nccl, msccl"});
}

TEST_CASE("a library that mpi does not know is refused, and so is a group where no hosts have leaders") {
  CHECK(lines_for(with("/workload/algorithm", Json{{"name", "mpi"}, {"library", "openmpi"}})) ==
        Lines{"f.json: /workload/algorithm/library: unknown library \"openmpi\" (did you mean \"open_mpi\"?); allowed: \"open_mpi\", "
              "\"open_mpi_4.0\", \"mpich\", \"intel_mpi\""});
  CHECK(lines_for(with("/workload/algorithm", Json{{"name", "mpi"}, {"group", 4}})) ==
        Lines{"f.json: /workload/algorithm/group: is of the libraries mpich and intel_mpi, whose hosts have leaders; open_mpi sees ranks "
              "only, got 4"});
  CHECK(lines_for(with("/workload/algorithm", Json{{"name", "ring"}, {"library", "mpich"}}))
            .front()
            .starts_with("f.json: /workload/algorithm/library: unknown key"));
}

TEST_CASE("a network that this build has not is refused with those it has") {
  std::string available;
  for (const NetworkTraits& traits : networks())
    if (traits.in_this_build) available += fmt::format("{}\"{}\"", available.empty() ? "" : ", ", traits.name);
  for (const NetworkKind kind : {NetworkKind::flow, NetworkKind::packet, NetworkKind::simgrid, NetworkKind::ns3}) {
    const std::string name(name_of(kind));
    CAPTURE(name);
    const bool here = traits_of(kind).in_this_build;
    CHECK(lines_for(with("/network", name)) ==
          (here ? Lines{} : Lines{fmt::format("f.json: /network: \"{}\" is not in this build; available: {}", name, available)}));
  }
}

TEST_CASE("nothing and zero do not stand for everything: there is a word for that") {
  Json json = with("/traffic", Json::parse(R"([{"pattern": "incast", "to": 0, "endpoints": [], "size": "64KiB"}])"));
  CHECK(lines_for(json) == Lines{"f.json: /traffic/0/endpoints: must be a list of at least one value or \"all\", got []"});
  json["traffic"][0]["endpoints"] = "all";
  CHECK(lines_for(json) == Lines{});
  CHECK(lines_for(with("/workload/ranks", 0)) == Lines{"f.json: /workload/ranks: must be a whole number, at least 1, or \"all\", got 0"});
  CHECK(lines_for(with("/workload/ranks", -1)) == Lines{"f.json: /workload/ranks: must be at least 1, got -1"});
  CHECK(lines_for(with("/jobs", Json::parse(R"([{"ranks": 0}])"))).front() ==
        "f.json: /jobs/0/ranks: must be a whole number, at least 1, or \"as_workload\", got 0");
  CHECK(lines_for(with("/hardware", Json{{"reduce_rate", "0bps"}})) ==
        Lines{"f.json: /hardware/reduce_rate: must be a rate such as \"100Gbps\" above zero or \"unlimited\", got \"0bps\""});
  CHECK(lines_for(with("/hardware", Json{{"reduce_rate", "unlimited"}})) == Lines{});
  CHECK(lines_for(with("/fabric/programmable", Json{{"packets_per_second", 0}})) ==
        Lines{"f.json: /fabric/programmable/packets_per_second: must be a whole number, at least 1, or \"as_they_come\", got 0"});
  CHECK(lines_for(with("/fabric/programmable", Json{{"packets_per_second", -1}})) ==
        Lines{"f.json: /fabric/programmable/packets_per_second: must be at least 1, got -1"});
  CHECK(lines_for(with("/server", Json{{"gpus", Json::array()}})) ==
        Lines{"f.json: /server/gpus: has no GPU, and endpoints are GPUs; a node that is an endpoint by itself is the server \"sub_node\""});
}

TEST_CASE("names have no control characters, which would reach terminals and tables") {
  CHECK(lines_for(with("/name", "\x1b[31mred")) == Lines{"f.json: /name: must not contain control characters, got \"\\u001b[31mred\""});
  CHECK(lines_for(with("/description", "two\nlines")) == Lines{});
}

TEST_CASE("the list of all-reduces has those that switches take part in") {
  CHECK(lines_for(with("/workload/algorithm", "chain")) ==
        Lines{"f.json: /workload/algorithm: unknown allreduce algorithm \"chain\", must be one of ring, halving_doubling, hdrm, "
              "recursive_doubling, hierarchical_ring, double_binary_tree, direct, parameter_server, two_level, mpi, nccl, msccl, atp, "
              "switchml"});
}

TEST_CASE("a fat tree has the keys of one of its two shapes") {
  const auto tree = [](const char* text) { return lines_for(with("/fabric", Json::parse(text))); };
  CHECK(tree(R"({"type": "fat_tree", "k": 4, "leaves": 2, "link": {"bandwidth": "100Gbps", "latency": "500ns"}})") ==
        Lines{"f.json: /fabric/k: a fat_tree has either \"leaves\", \"nodes_per_leaf\", \"spines\" or \"k\": leave one of them out"});
  CHECK(tree(R"({"type": "fat_tree", "link": {"bandwidth": "100Gbps", "latency": "500ns"}})") ==
        Lines{"f.json: /fabric: a fat_tree needs either \"leaves\", \"nodes_per_leaf\", \"spines\" or \"k\""});
}

TEST_CASE("a barrier has no payload") {
  Json json = good_scenario();
  json["workload"] = Json::parse(R"({"collective": "barrier", "algorithm": "dissemination"})");
  CHECK(cases_of(json).front().scenario.workload.sizes == std::vector<Bytes>{Bytes{0}});
  json["workload"]["size"] = "4B";
  CHECK(lines_for(json) == Lines{"f.json: /workload/size: a barrier has no bytes: leave the size out, got \"4B\""});
  json["workload"] = Json::parse(R"({"program": [{"id": "a", "collective": "barrier", "algorithm": "dissemination", "size": "4B"}]})");
  CHECK(lines_for(json) == Lines{"f.json: /workload/program/0/size: a barrier has no bytes: leave the size out, got \"4B\""});
  json["workload"] = Json::parse(R"({"algorithm": "ring"})");
  CHECK(lines_for(json).front().starts_with("f.json: /workload/size: missing: write "));
}

TEST_CASE("an empty program is refused, and so is one beside a model") {
  Json json = good_scenario();
  json["workload"] = Json::parse(R"({"program": []})");
  CHECK(lines_for(json) == Lines{"f.json: /workload/program: an empty list says nothing: give at least one value, or leave it out"});
  json["workload"] = Json::parse(R"({"model": "resnet50", "batch_per_gpu": 32, "device": "v100", "engine": "none", "algorithm": "ring",
                                     "program": [{"id": "a", "compute": "1ms"}]})");
  CHECK(lines_for(json) == Lines{"f.json: /workload/program: the model says what ranks do: leave out \"program\" or \"model\""});
}

TEST_CASE("links that lose packets are those of the fabric") {
  Json json = with("/network", "packet");
  json["packet"] = Json::parse(R"({"faults": {"loss": 0.01, "links": ["lower0->upper1", "lower0->uper1"]}})");
  CHECK(lines_for(json) ==
        Lines{"f.json: /packet/faults/links/1: the fabric has no link \"lower0->uper1\" (did you mean \"lower0->upper1\"?)"});
}

TEST_CASE("what does not depend on a wrong key is still judged") {
  Json json = with("/workload/dtype", "float8");
  json["workload"]["ranks"] = 99;
  const Lines both = lines_for(json);
  REQUIRE(both.size() == 2);
  CHECK(both[0].starts_with("f.json: /workload/dtype: unknown dtype \"float8\""));
  CHECK(both[1] == "f.json: /workload/ranks: must be at most 32, the endpoints of the fabric, got 99");

  CHECK(lines_for(with("/traffic",
                       Json::parse(R"([{"pattern": "pairs"}, {"pattern": "pairs", "pairs": [[0, 0], [0, 99], [1]], "size": "1MiB"}])"))) ==
        Lines{"f.json: /traffic/0/pairs: missing: write a list", "f.json: /traffic/0/size: missing: write a size such as \"256KiB\"",
              "f.json: /traffic/1/pairs/0: endpoint 0 sends to itself", "f.json: /traffic/1/pairs/1: must be between 0 and 31, got 99",
              "f.json: /traffic/1/pairs/2: must be a sender and a receiver, got 1 endpoints"});

  json = with("/server", "single_nic");
  json["workload"]["algorithm"] = "ring";
  json["copies"] = Json::parse(R"([{"gpus": [0, 9999], "bytes": "0B", "period": "0s"}, {"gpus": [2, 2], "bytes": "1MiB"}])");
  const Lines copies = lines_for(json);
  CHECK(std::ranges::count_if(
            copies, [](const std::string& line) { return line.starts_with("f.json: /copies/0/gpus/1: must be between 0 and "); }) == 1);
  CHECK(std::ranges::count_if(copies, [](const std::string& line) { return line.starts_with("f.json: /copies/0/bytes: "); }) == 1);
  CHECK(std::ranges::count(copies, "f.json: /copies/1/gpus/1: GPU 2 is named already: each has one copy at a time") == 1);
}

TEST_CASE("a size that is too large is shown as it was written") {
  CHECK(lines_for(with("/workload/size", "8000000GiB")).front().ends_with(", got \"8000000GiB\""));
}

TEST_CASE("what does not depend on a wrong fabric or on too many ranks is still judged") {
  const auto starts = [](const Lines& lines, const std::string& start) {
    return std::ranges::count_if(lines, [&](const std::string& line) { return line.starts_with("f.json: " + start); });
  };
  Json json = with("/fabric/nodes_per_switch", 6);  // at most 4
  json["workload"] = Json::parse(
      R"({"algorithm": ["ring", {"name": "hierarchical_ring", "group": 3}, "chain", {"name": "ring", "segment": "1KiB", "pieces": 2}],
          "size": ["1MiB", "2B"], "op": "band", "ranks": 4})");
  json["placement"] = Json::parse(R"({"policy": "list", "nodes": [0, 1, 1, 3]})");
  json["jobs"] =
      Json::parse(R"([{"collective": "broadcast", "algorithm": "halving_doubling"}, {"name": "a", "dtype": "uint8"}, {"name": "a"}])");
  json["traffic"] = Json::parse(R"([{"pattern": "pairs", "pairs": [[0, 0]], "size": "1MiB"}])");
  json["repeat"] = Json::parse(R"({"runs": 3, "vary": ["stragglers"]})");
  json["hardware"] = Json::parse(R"({"stream_rate": "1Gbps"})");
  json["network"] = "simgrid";
  Lines lines = lines_for(json);
  CAPTURE(lines);
  CHECK(starts(lines, "/fabric/nodes_per_switch: must be at most switches / 2 = 4") == 1);
  CHECK(starts(lines, "/workload/algorithm/1/group: ") == 1);
  CHECK(starts(lines, "/workload/algorithm/2: unknown allreduce algorithm \"chain\"") == 1);
  CHECK(starts(lines, "/workload/algorithm/3/segment: the pieces follow from it") == 1);
  CHECK(starts(lines, "/workload/size/1: must be a multiple of 4 bytes") == 1);
  CHECK(starts(lines, "/workload/op: \"band\" is not defined on float32") == 1);
  CHECK(starts(lines, "/placement/nodes/2: ") == 1);
  CHECK(starts(lines, "/traffic/0/pairs/0: endpoint 0 sends to itself") == 1);
  CHECK(starts(lines, "/repeat/vary/0: \"stragglers\" would change nothing") == 1);
  CHECK(starts(lines, "/hardware/stream_rate: ") == 1);
  CHECK(lines.size() == 11);  // and traffic on "simgrid"

  json["placement"] = "linear";
  json["network"] = "flow";
  json["fabric"] = Json::parse(R"({"type": "torus"})");
  lines = lines_for(json);
  CHECK(starts(lines, "/fabric/") > 0);
  CHECK(starts(lines, "/workload/algorithm/1/group: ") == 1);
  CHECK(starts(lines, "/jobs/0/algorithm: unknown broadcast algorithm \"halving_doubling\"") == 1);
  CHECK(starts(lines, "/jobs/2/name: \"a\" is the name of another job") == 1);
  CHECK(starts(lines, "/jobs") == 2);

  json["fabric"] = good_scenario()["fabric"];
  json["workload"]["ranks"] = 99;
  lines = lines_for(json);
  CHECK(starts(lines, "/fabric") == 0);
  CHECK(starts(lines, "/workload/ranks: must be at most 32, the endpoints of the fabric, got 99") == 1);
  CHECK(starts(lines, "/workload/algorithm/2: unknown allreduce algorithm \"chain\"") == 1);
  CHECK(starts(lines, "/jobs/0/algorithm: ") == 1);

  json["workload"]["ranks"] = "many";
  CHECK(starts(lines_for(json), "/workload/algorithm/1/group: ") == 0);  // 3 may divide them
  CHECK(starts(lines_for(json), "/workload/algorithm/2: ") == 1);
  CHECK(starts(lines_for(json), "/jobs/0/algorithm: ") == 1);
}

TEST_CASE("of an algorithm that could not be read nothing else is said") {
  const Lines lines =
      lines_for(with("/workload/algorithm", Json::array({"ring", {{"name", "hierarchical_ring"}, {"group", "x"}}, "rings"})));
  CAPTURE(lines);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].starts_with("f.json: /workload/algorithm/1/group: must be "));
  CHECK(lines[1].starts_with("f.json: /workload/algorithm/2/name: unknown name \"rings\""));
}

TEST_CASE("what a wrong fabric decides is not guessed") {
  Json json = with("/fabric/nodes_per_switch", 6);
  json["workload"] = Json::parse(R"({"algorithm": ["hdrm", "switchml", "atp", {"name": "nccl", "algorithm": "nvls"}], "size": "1MiB",
                                     "root": 20})");
  json["placement"] = "hdrm";
  json["traffic"] = Json::parse(R"([{"pattern": "pairs", "pairs": [[0, 4000]], "size": "1MiB"}])");
  json["faults"] = Json::parse(R"({"failures": [{"link": "lower0->upper0", "at": "1us"}]})");
  json["jobs"] = Json::parse(R"([{"ranks": 3000}])");
  const Lines fabric = {"f.json: /fabric/nodes_per_switch: must be at most switches / 2 = 4 for a balanced BiGraph, got 6"};
  Lines lines = lines_for(json);
  std::erase_if(lines, [](const std::string& line) { return line.starts_with("f.json: /faults: "); });  // none with trees of flows
  CHECK(lines == fabric);
}

TEST_CASE("what trains is judged beside a wrong fabric, and beside wrong keys that it does not depend on") {
  Json json = with("/workload", Json::parse(R"({"model": "resnet50", "device": "v100", "engine": "ddp", "dtype": "float64", "size": "1MiB",
                                                "algorithm": {"name": "ring", "channels": -1}, "ranks": 4, "model_parallel": 3})"));
  const auto found = [&](const std::string& start) {
    return std::ranges::count_if(lines_for(json), [&](const std::string& line) { return line.starts_with("f.json: " + start); });
  };
  for (const int nodes : {4, 6}) {
    CAPTURE(nodes);
    json["fabric"]["nodes_per_switch"] = nodes;
    CHECK(found("/workload/size: the model gives it") == 1);
    CHECK(found("/workload/dtype: device \"v100\" computes in ") == 1);
    CHECK(found("/workload/algorithm/channels: ") == 1);
    CHECK(found("/workload/model_parallel: must divide the 4 ranks, got 3") == 1);
    CHECK(lines_for(json).size() == (nodes == 4 ? 4 : 5));
  }
}

TEST_CASE("a failure, a rank that straggles or a link that loses packets that is listed twice is refused, however it is written") {
  Json json = with("/faults", Json::parse(R"({"failures": [{"switch": "upper0", "at": "1us"}, {"switch": "upper0"},
                                                           {"switch": "upper0", "at": "1000ns"}]})"));
  json["packet"] = Json::parse(R"({"faults": {"loss": 0.01, "links": ["upper0->lower0", "upper0->lower0", "upper0->lower0"]}})");
  CHECK(lines_for(json) == Lines{"f.json: /faults/failures/2: stands at /faults/failures/0 already",
                                 "f.json: /packet/faults/links/1: stands at /packet/faults/links/0 already",
                                 "f.json: /packet/faults/links/2: stands at /packet/faults/links/0 already"});
  json = good_scenario();
  json["workload"] = Json::parse(R"({"model": "resnet50", "batch_per_gpu": 64, "device": "v100", "algorithm": "ring", "engine": "ddp",
                                     "stragglers": {"spread": 0.1, "ranks": [3, 1, 3]}})");
  CHECK(lines_for(json) == Lines{"f.json: /workload/stragglers/ranks/2: stands at /workload/stragglers/ranks/0 already"});
}

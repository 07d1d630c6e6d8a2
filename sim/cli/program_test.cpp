// The program as its users meet it: what it prints and its exit status.
#include "kernels/testing/scratch_folder.hpp"
#include "kernels/testing/shell.hpp"
#include "sim/cases/testing.hpp"
#include "sim/scenario/networks.hpp"

#include <algorithm>
#include <fstream>

using namespace weft;

namespace {

Ran weft_program(const std::string& arguments) { return shell(fmt::format("{} {} 2>&1", WEFT_BINARY, arguments)); }

std::string small_scenario() {
  Json json = good_scenario();
  json["workload"]["size"] = "64KiB";
  return json.dump();
}

// results.json without what depends on the machine's speed.
Json but_for_wall_time(const std::filesystem::path& file) {
  Json out = Json::parse(read_file(file));
  for (Json& row : out["rows"]) row.erase("wall_s");
  return out;
}

}  // namespace

TEST_CASE("what is more than simulating is another program, and without it only that is missing") {
  const ScratchFolder folder;
  const std::string alone = (folder / "weft").string();
  std::filesystem::copy_file(WEFT_BINARY, alone);
  const std::string scenario = folder.file("small.json", small_scenario());
  CHECK(shell(alone + " run --quiet " + scenario + " 2>&1").status == 0);
  CHECK(shell(alone + " --version").printed == weft_program("--version").printed);
  const Ran calibrate = shell(alone + " calibrate 2>&1");
  CHECK(calibrate.status == 2);
  CHECK(calibrate.printed == fmt::format("weft: cannot start {}_tools: No such file or directory\n", alone));
  CHECK(weft_program("calibrat").printed.find("did you mean \"calibrate\"") != std::string::npos);
}

TEST_CASE("run prints a table, writes the files and exits with 0") {
  const ScratchFolder folder;
  const std::string file = folder.file("small.json", small_scenario());
  const Ran ran = weft_program("run " + file + " --trace --quiet -o " + (folder / "out").string());
  CAPTURE(ran.printed);
  CHECK(ran.status == 0);
  CHECK(ran.printed.find("busbw") != std::string::npos);
  CHECK(ran.printed.find(" hdrm ") != std::string::npos);
  CHECK(read_file(folder / "out/results.csv").starts_with("scenario,fabric,network,"));
  CHECK(Json::parse(read_file(folder / "out/trace.json"))["traceEvents"].size() > 32);
  CHECK(but_for_wall_time(folder / "out/results.json")["rows"].size() == 2);
}

TEST_CASE("a run may be repeated into its folder; another scenario's results and other files are replaced only by force") {
  const ScratchFolder folder;
  const std::string first = folder.file("first.json", small_scenario()), out = " --quiet -o " + (folder / "out").string();
  REQUIRE(weft_program("run " + first + out + " --trace").status == 0);
  CHECK(weft_program("run " + first + out).status == 0);
  CHECK(!std::filesystem::exists(folder / "out/trace.json"));
  const Ran other = weft_program("run " + first + " --set /name=second" + out);
  CHECK(other.status == 2);
  CHECK(other.printed.find("results.json exists and is not a result of weft run on \"second\"; write to another place, or give --force") !=
        std::string::npos);
  CHECK(weft_program("run " + first + " --set /name=second --force" + out).status == 0);
}

TEST_CASE("results that cannot be written cost neither the rows nor the table, and leave nothing behind") {
  const ScratchFolder folder;
  const std::string file = folder.file("small.json", small_scenario()), out = (folder / "out").string();
  const Ran ran = shell("trap '' XFSZ; ulimit -f 0; " + std::string(WEFT_BINARY) + " run " + file + " -o " + out + " 2>&1");
  CAPTURE(ran.printed);
  CHECK(ran.status == 1);
  CHECK(ran.printed.find(" hdrm ") != std::string::npos);
  CHECK(ran.printed.ends_with("weft: " + out + "/results.csv: cannot be written: File too large; the table has the rows\n"));
  CHECK(std::filesystem::is_empty(folder / "out"));
}

TEST_CASE("what cannot be printed fails the command, whichever it is") {
  const ScratchFolder folder;
  const std::string file = folder.file("small.json", small_scenario());
  for (const std::string& command :
       {"run " + file, "show " + file, "check " + file, "topo " + file, std::string("schema"), std::string("list")}) {
    CAPTURE(command);
    const Ran ran = shell(fmt::format("{} {} 2>&1 >/dev/full", WEFT_BINARY, command));
    CHECK(ran.status == 1);
    CHECK(ran.printed == "weft: standard output: cannot be written (is the disk full?)\n");
  }
}

TEST_CASE("what ns-3 cannot carry is refused before anything runs") {
  if (!traits_of(NetworkKind::ns3).in_this_build) return;
  const ScratchFolder folder;
  const std::string file = folder.file("small.json", small_scenario());
  for (const char* command : {"run", "check"}) {
    CAPTURE(command);
    const Ran ran = weft_program(fmt::format("{} {} --network ns3 --set /fabric/switches=64", command, file));
    CHECK(ran.status == 2);
    CHECK(ran.printed.starts_with("first: ring, 64KiB: /network: ns3 is for small runs: at most 256 nodes and switches, got 320\n"));
  }
}

TEST_CASE("links that packets cannot pass are found before anything runs, where messages of the workload or of a job pass them") {
  const ScratchFolder folder;
  Json json = Json::parse(
      R"({"schema": 1, "name": "p", "fabric": {"type": "star", "nodes": 2, "link": {"bandwidth": "100Gbps", "latency": "1us"}},
        "server": "single_nic", "hardware": "ideal", "network": "packet", "workload": {"algorithm": "ring", "size": "64KiB", "ranks": 8}})");
  const char* what =
      "network \"packet\" serves every link at one rate, but server0/socket0-socket1->server0/socket1#2 has \"contention\" with a "
      "\"two_way_rate\" in the server: use network \"flow\", or set the link's contention to \"none\"\n";
  const std::string file = folder.file("p.json", json.dump());
  for (const char* command : {"run", "check"}) {
    const Ran ran = weft_program(fmt::format("{} {}", command, file));
    CHECK(ran.status == 2);
    CHECK(ran.printed == fmt::format("p: ring, 64KiB: /network: {}", what));
    CHECK(weft_program(fmt::format("{} {} --set /workload/ranks=2", command, file)).status == 0);
    CHECK(weft_program(fmt::format("{} {} --network flow", command, file)).status == 0);
  }
  json["workload"]["ranks"] = 2;
  json["jobs"] = Json::parse(R"([{"ranks": 4, "share_endpoints": true}])");
  CHECK(weft_program("run " + folder.file("p.json", json.dump()).string()).printed == fmt::format("p: ring, 64KiB: /jobs/0: {}", what));
  json.erase("jobs");
  const auto refused = [&](const char* workload) {
    json["workload"] = Json::parse(workload);
    const Ran ran = weft_program("check " + folder.file("p.json", json.dump()).string());
    CAPTURE(ran.printed);
    const auto lines = std::ranges::count(ran.printed, '\n');
    return ran.status == 2 && ran.printed.find("/network: network \"packet\" serves every link at one rate") != ran.printed.npos ? lines
                                                                                                                                 : 0;
  };
  CHECK(refused(R"({"model": "resnet50", "device": "v100", "engine": ["ddp", "byteps"], "algorithm": "ring"})") == 2);
  CHECK(refused(R"({"algorithm": "ring", "size": "64KiB", "compression": ["gs_sgd", "dense"]})") == 2);
  CHECK(refused(R"({"program": [{"id": "a", "collective": "allreduce", "size": "64KiB", "ranks": [0, 1]},
                                {"id": "b", "send": "64KiB", "from": 1, "to": 2}]})") == 1);
  CHECK(refused(R"({"program": [{"id": "a", "collective": "allreduce", "size": "64KiB", "ranks": [0, 1]}]})") == 0);
}

TEST_CASE("the same scenario twice gives the same results, but for wall time") {
  const ScratchFolder folder;
  Json json = Json::parse(small_scenario());
  json["placement"] = "random";
  json["start_skew"] = {{"max", "10us"}};
  const std::string file = folder.file("small.json", json.dump());
  REQUIRE(weft_program("run " + file + " -o " + (folder / "a").string()).status == 0);
  REQUIRE(weft_program("run " + file + " -o " + (folder / "b").string()).status == 0);
  CHECK(but_for_wall_time(folder / "a/results.json") == but_for_wall_time(folder / "b/results.json"));
  REQUIRE(weft_program("run " + file + " --set /seed=2 -o " + (folder / "c").string()).status == 0);
  CHECK(but_for_wall_time(folder / "a/results.json")["rows"] != but_for_wall_time(folder / "c/results.json")["rows"]);
}

TEST_CASE("bad input exits with 2 and says where, before anything runs") {
  const ScratchFolder folder;
  const std::string good = folder.file("good.json", small_scenario()), empty = folder.file("empty.json", ""),
                    cut = folder.file("cut.json", small_scenario().substr(0, 40));
  const std::vector<std::pair<std::string, std::string>> commands = {
      {"run " + empty, empty + ": the text is empty; a JSON object was expected\n"},
      {"check " + cut, cut + ": line 1, column 41: the text ends in the middle of the JSON (truncated?)\n"},
      {"show /nowhere.json", "/nowhere.json: cannot be read: No such file or directory\n"},
      {"show /", "/: cannot be read: it is a folder\n"},
      {"run " + good + " -o /proc/weft", "-o /proc/weft: cannot be written to: No such file or directory\n"},
      {"run " + good + " -o " + good, "-o " + good + ": cannot be written to: Not a directory\n"},
      {"run " + good + " --trace", "--trace: needs -o DIR, where trace.json goes\n"},
      {"run " + cut + " --trace --format cvs --set x",
       "--trace: needs -o DIR, where trace.json goes\n"
       "--format: unknown format \"cvs\" (did you mean \"csv\"?); allowed: \"table\", \"csv\", \"json\", \"markdown\"\n"
       "--set: must be /pointer=value, such as /workload/size=1MiB, got \"x\"\n" +
           cut + ": line 1, column 41: the text ends in the middle of the JSON (truncated?)\n"},
      {"run " + good + " --force", "--force: needs -o DIR, where it replaces files\n"},
      {"run " + good + " -o \"\"", "-o: must name a folder, got \"\"\n"},
      {"run " + good + " --network simgrid --trace -o " + (folder / "out").string(),
       "--trace: the network \"simgrid\" does not record messages; \"flow\" and \"packet\" do\n"},
      {"run " + good + " --set x", "--set: must be /pointer=value, such as /workload/size=1MiB, got \"x\"\n"},
      {"run " + good + " --network flw",
       good + ": /network: unknown network \"flw\" (did you mean \"flow\"?); allowed: \"flow\", \"packet\", \"simgrid\", \"ns3\"\n"},
      {"run", "FILE: is missing: name a scenario\n"},
      {"rnu x.json",
       "weft: unknown command \"rnu\" (did you mean \"run\"?); allowed: "
       "\"run\", \"report\", \"check\", \"topo\", \"list\", \"schema\", \"show\", \"advise\", \"bench\", \"calibrate\", "
       "\"export\", \"lab\", \"plot\", \"replay\", \"timeline\", \"train\", \"tune\", \"validate\", \"help\", \"completion\"\n"},
      {"",
       "weft: a command is missing; write one of "
       "\"run\", \"report\", \"check\", \"topo\", \"list\", \"schema\", \"show\", \"advise\", \"bench\", \"calibrate\", "
       "\"export\", \"lab\", \"plot\", \"replay\", \"timeline\", \"train\", \"tune\", \"validate\", \"help\", \"completion\"\n"},
      {"topo " + good + " --dto",
       "weft topo: unknown argument \"--dto\" (did you mean \"--dot\"?); allowed: \"--help\", \"--set\", \"--network\", \"--dot\", "
       "\"--svg\", \"--json\", \"--simgrid\", \"--nccl\", \"-h\"\n"},
      {"lab " + good + " -- --algorithm ring", "weft lab: --algorithm is the scenario's to say, or the lab's\n"},
      {"run " + good + " --what-if=0", "weft: --what-if: must be a whole number from 1 to 16, got 0\n"},
      {"run " + good + " --what-if=abc", "weft: --what-if: must be a whole number from 1 to 16, got abc\n"},
      {"tune " + good + " --seed abc", "weft tune: --seed: must be a whole number that is not negative, got abc\n"},
      {"tune " + good + " --seed -1", "weft tune: --seed: must be a whole number that is not negative, got -1\n"},
      {"train --seed -1", "weft train: --seed: must be a whole number that is not negative, got -1\n"},
      {"calibrate " + good + " --scenario " + good + " --seed -1",
       "weft calibrate: --seed: must be a whole number that is not negative, got -1\n"},
      {"train --momentum abc", "weft train: --momentum: must be a number, got abc\n"},
      {"lab " + good + " --time 0", "weft: --time: must be a number of more than 0, got 0\n"},
      {"run --program " + good, "--program: names no trace: " + good + " is a scenario\n"},
      {"topo " + good + " --dot --json", "weft topo: give one of --dot, --svg, --json, --simgrid and --nccl\n"},
  };
  for (const auto& one : commands) {
    CAPTURE(one.first);
    const Ran ran = weft_program(one.first);
    CHECK(ran.status == 2);
    CHECK(ran.printed == one.second);
  }
}

TEST_CASE("the problems of several files come together") {
  const ScratchFolder folder;
  const std::string a = folder.file("a.json", ""), b = folder.file("b.json", "[]");
  CHECK(weft_program("check " + a + " " + b).printed ==
        a + ": the text is empty; a JSON object was expected\n" + b + ": must be an object, got []\n");
}

TEST_CASE("check proves what it can, and fails for a fabric that can deadlock") {
  const ScratchFolder folder;
  const std::string good = folder.file("good.json", small_scenario());
  const Ran ran = weft_program("check " + good);
  CAPTURE(ran.printed);
  CHECK(ran.status == 0);
  CHECK(ran.printed.find("ok      hdrm: a correct allreduce; 10 steps and 320 messages, as its formula says; at most 1 flow a step") !=
        std::string::npos);
  const Ran unsafe = weft_program("check " + good + " --set /fabric/priorities=1");
  CHECK(unsafe.status == 1);
  CHECK(unsafe.printed.find("FAILED  routes: a lossless fabric can deadlock: ") != std::string::npos);
  // Where switches drop nobody is paused.
  const Ran lossy = weft_program("check " + good + " --network packet --set /fabric/priorities=1 --set /packet/pfc/on=false");
  CHECK(lossy.status == 0);
  CHECK(lossy.printed.find("ok      routes: no deadlock: \"pfc\" is off, so that switches drop packets and pause nobody") !=
        std::string::npos);
}

TEST_CASE("a run that cannot end stops with 1, and says who waits for whom, whatever else goes on") {
  const ScratchFolder folder;
  // Switches in a ring, two nodes of each in an all-to-all, two others that send to each other for ever.
  const std::string deadlock = folder.file("deadlock.json", R"({
    "schema": 1, "name": "deadlock", "network": "packet",
    "fabric": { "type": "torus", "dims": [6], "nodes_per_switch": 4, "priorities": 1, "link": { "bandwidth": "100Gbps", "latency": "500ns" } },
    "workload": { "collective": "alltoall", "algorithm": "direct", "size": "4MiB", "ranks": 12 },
    "placement": { "policy": "list", "nodes": [0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21] },
    "traffic": [{ "pattern": "pairs", "pairs": [[2, 3]], "size": "64KiB" }],
    "packet": { "packet": "1KiB", "pfc": { "xoff": "16KiB", "xon": "8KiB" } } })");
  const Ran named = weft_program("run " + deadlock);
  CAPTURE(named.printed);
  CHECK(named.status == 1);
  CHECK(named.printed.find("job workload: no progress is possible:\n  rank 0 in step 0 (channel 0) waits for ") != std::string::npos);
  CHECK(named.printed.find("deadlock: each of these queues is paused until the next one drains: switch0->switch5 (priority 0) -> ") !=
        std::string::npos);
  // A worker of ATP whose cable has failed: all others try again for ever.
  const std::string lost = folder.file("lost.json", R"({
    "schema": 1, "name": "lost", "network": "packet",
    "fabric": { "type": "star", "nodes": 5, "link": { "bandwidth": "100Gbps", "latency": "1us" } },
    "workload": { "algorithm": ["atp", "switchml"], "size": "256KiB", "ranks": 4 },
    "packet": { "faults": { "failures": [{ "link": "node3->switch", "at": "5us" }] } } })");
  const Ran tried = weft_program("run " + lost);
  CAPTURE(tried.printed);
  CHECK(tried.status == 1);
  CHECK(tried.printed.find("of flow 0 from its workers 3\nnone of them is further than at ") != std::string::npos);
  CHECK(tried.printed.find("of job 0 to come back from the switch\nnone of them is further than at ") != std::string::npos);
  CHECK(tried.printed.find("node3->switch (priority 0) loses what it gets: its link is down") != std::string::npos);
}

TEST_CASE("topo writes the one fabric that all cases of a sweep have, and names those with several") {
  const ScratchFolder folder;
  Json json = Json::parse(small_scenario());
  const std::string plain = folder.file("plain.json", json.dump());
  json["sweep"] = {{"/placement", {"linear", "round_robin"}}};
  const std::string same = folder.file("same.json", json.dump());
  json["sweep"] = {{"/fabric/link/latency", {"500ns", "1us"}}};
  const std::string several = folder.file("several.json", json.dump());
  CHECK(weft_program("topo --svg " + same).printed == weft_program("topo --svg " + plain).printed);
  const Ran refused = weft_program("topo --svg " + several);
  CHECK(refused.status == 2);
  CHECK(refused.printed == several +
                               ": its 2 cases differ in fabric or server, and one can be written; write --set /sweep={} and the "
                               "values of one case\n");
}

TEST_CASE("topo writes a graph that a scenario can hold") {
  const ScratchFolder folder;
  const std::string good = folder.file("good.json", small_scenario());
  const Ran graph = weft_program("topo --json " + good);
  REQUIRE(graph.status == 0);
  Json json = good_scenario();
  json["fabric"] = Json::parse(graph.printed);
  json["workload"]["algorithm"] = "ring";
  CHECK(lines_for(json) == Lines{});
  CHECK(!json["fabric"].contains("ecmp"));
  CHECK(Json::parse(weft_program("topo --json " + good + " --set /fabric/ecmp/seed=5").printed)["ecmp"] ==
        Json{{"policy", "hash"}, {"seed", 5}});
  CHECK(weft_program("topo --dot " + good).printed.find("upper0") != std::string::npos);
  CHECK(weft_program("topo --simgrid " + good).printed.starts_with("<?xml"));
  CHECK(weft_program("topo --simgrid " + good + " --set /fabric/ecmp/policy=least_loaded")
            .printed.find("weft topo: ecmp least_loaded chooses paths as messages need them: ") != std::string::npos);
  CHECK(
      weft_program("topo " + good).printed.find("32 endpoints, 8 switches, 96 directed links of which 32 between switches, 2 priorities") !=
      std::string::npos);
}

TEST_CASE("topo makes up no devices of a SimGrid platform, and says what a graph cannot carry") {
  const ScratchFolder folder;
  // Four hosts on a router with a cable each, up and down.
  folder.file(
      "p.xml",
      R"(<platform version="4.1"><cluster id="c" prefix="n" suffix="" radical="0-3" speed="1Gf" bw="1GBps" lat="1us"/></platform>)");
  const std::string platform = folder.file("platform.json", R"({"schema": 1, "name": "p", "hardware": "ideal",
      "fabric": {"type": "simgrid", "file": "p.xml"}, "workload": {"algorithm": "ring", "size": "1MiB"}})");
  CHECK(weft_program("topo " + platform).printed.find("  4 endpoints, 8 links, 1 priority\n") != std::string::npos);
  for (const char* format : {"--json", "--dot", "--svg", "--simgrid"}) {
    CAPTURE(format);
    const Ran refused = weft_program("topo " + platform + " " + format);
    CHECK(refused.status == 2);
    CHECK(refused.printed ==
          platform +
              ": /fabric: a SimGrid platform says which links messages pass, and not what they join: it cannot be drawn or written\n");
  }
  Json json = good_scenario();
  json["fabric"] = Json::parse(R"({"type": "star", "nodes": 2, "link": {"bandwidth": "100Gbps", "latency": "1us"}})");
  json["server"] = "dgx_a100";
  json["workload"]["algorithm"] = "ring";
  const std::string servers = folder.file("servers.json", json.dump());
  CHECK(weft_program("topo --json " + servers).printed.find("but not which NIC a GPU uses") != std::string::npos);
  json.erase("server");
  json["fabric"] = Json::parse(R"({"type": "fat_tree", "k": 4, "link": {"bandwidth": "100Gbps", "latency": "1us"}})");
  CHECK(weft_program("topo --json " + folder.file("tree.json", json.dump()).string()).printed.find("in another order") !=
        std::string::npos);
  json["fabric"] =
      Json::parse(R"({"type": "torus", "dims": [3, 4], "nodes_per_switch": 1, "link": {"bandwidth": "100Gbps", "latency": "1us"}})");
  CHECK(weft_program("topo --json " + folder.file("torus.json", json.dump()).string()).printed.find("not its rules for paths") !=
        std::string::npos);
  const Ran two = weft_program("topo --json " + folder.file("two.json", good_scenario().dump()).string() + " --network packet");
  CHECK(two.printed.find("a graph has one priority, the bigraph has 2") != std::string::npos);
}

TEST_CASE("show, schema, list and version print what they promise") {
  const ScratchFolder folder;
  const std::string good = folder.file("good.json", small_scenario());
  const Ran shown_once = weft_program("show " + good);
  REQUIRE(shown_once.status == 0);
  CHECK(weft_program("show " + folder.file("good.json", shown_once.printed).string()).printed == shown_once.printed);
  CHECK(weft_program("schema").printed == scenario_schema().dump(2) + "\n");
  const std::string list = weft_program("list").printed;
  for (const char* name : {"halving_doubling", "dragonfly", "simgrid", "eflops_testbed", "bfloat16", "bor"})
    CHECK_MESSAGE(list.find(name) != list.npos, name);
  CHECK(list.find("  aws_p5                 Fitted to NCCL all-reduce, one server of 8 H100 (AWS p5)\n") != list.npos);
  CHECK(weft_program("--version").printed.starts_with("weft "));
  CHECK(weft_program("--version").status == 0);
  CHECK(weft_program("run --help").status == 0);
}

TEST_CASE("help for a command that is not there is no help, but says so") {
  const Ran without = weft_program("sweep"), with = weft_program("sweep --help");
  CHECK(with.status == 2);
  CHECK(with.printed == without.printed);
  CHECK(with.printed.starts_with("weft: unknown command \"sweep\""));
  CHECK(weft_program("--help").status == 0);
}

TEST_CASE("that weft bench runs a scenario's training steps is found in its help, the manual page and the completion") {
  for (const char* command : {"bench --help", "bench -h", "help bench"}) {
    CAPTURE(command);
    const Ran ran = weft_program(command);
    CHECK(ran.status == 0);
    CHECK(ran.printed.find("weft bench --workload FILE --help") != std::string::npos);
  }
  CHECK(weft_program("help --man").printed.find("\\fB\\-\\-workload\\fR \\fIFILE\\fR") != std::string::npos);
  CHECK(weft_program("completion bash").printed.find(" --workload ") != std::string::npos);
  CHECK(weft_program("bench --workload x.json --help").printed.find("--stream-rate") != std::string::npos);
}

TEST_CASE("help explains each command, the manual page and the completion know all of them") {
  const Ran all = weft_program("help"), man = weft_program("help --man"), bash = weft_program("completion bash");
  for (const char* command : {"run", "bench", "calibrate", "check", "completion", "help", "lab", "list", "replay", "schema", "show", "topo",
                              "train", "tune", "validate"}) {
    CAPTURE(command);
    const Ran one = weft_program(std::string("help ") + command);
    CHECK(one.status == 0);
    CHECK(one.printed.find(fmt::format("weft {}", command)) != std::string::npos);
    CHECK(all.printed.find(fmt::format("  {} ", command)) != std::string::npos);
    CHECK(man.printed.find(fmt::format(".SS \"weft {}\"\n", command)) != std::string::npos);
    CHECK(bash.printed.find(fmt::format("    {}) flags=", command)) != std::string::npos);
  }
  CHECK(man.printed.find("\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIDIR\\fR\n") != std::string::npos);
  CHECK(man.printed.find("\\fB\\-\\-transport\\fR") != std::string::npos);  // of weft bench, another program
  CHECK(shell(fmt::format("{} completion bash | bash -n 2>&1", WEFT_BINARY)).printed.empty());
  const Ran wrong = weft_program("help calibrat"), shells = weft_program("completion fish");
  CHECK(wrong.status == 2);
  CHECK(wrong.printed.find("did you mean \"calibrate\"") != std::string::npos);
  CHECK(shells.status == 2);
}

TEST_CASE("what ships is found above the program, or where WEFT_DATA_DIR says") {
  const ScratchFolder folder;
  std::filesystem::create_directories(folder / "data/scenarios/hardware");
  std::ofstream(folder / "data/scenarios/hardware/mine.json") << R"({"schema": 1, "send_overhead": {"value": "2us", "source": "a test"}})";
  CHECK(weft_program("list").printed.find(" eflops_testbed ") != std::string::npos);
  const Ran named = shell(fmt::format("WEFT_DATA_DIR={} {} list 2>&1", (folder / "data").string(), WEFT_BINARY));
  CHECK(named.printed.find(" mine\n") != std::string::npos);
  CHECK(named.printed.find("eflops_testbed") == std::string::npos);
  std::ofstream(folder / "scenario.json") << R"({"schema": 1, "hardware": "h100_servers"})";
  const std::string scenario = (folder / "scenario.json").string();
  for (const auto& command_and_folder : {std::pair<std::string, std::string>{"list", "scenarios"},
                                         {"run " + scenario, "scenarios"},
                                         {"topo " + scenario, "scenarios"},
                                         {"check " + scenario, "scenarios"},
                                         {"validate", "validation"},
                                         {"train", "validation"}}) {
    const std::string &command = command_and_folder.first, &folder_of = command_and_folder.second;
    CAPTURE(command);
    const Ran nothing = shell(fmt::format("WEFT_DATA_DIR=/nowhere {} {} 2>&1", WEFT_BINARY, command));
    CHECK(nothing.status == (command == "list" ? 0 : 2));
    CHECK(nothing.printed.find(fmt::format(
              "/nowhere/{0}: what ships with Weft is not there; WEFT_DATA_DIR may name the folder that holds \"{0}\"", folder_of)) !=
          nothing.printed.npos);
  }
}

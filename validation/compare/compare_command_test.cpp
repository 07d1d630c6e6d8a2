#include "validation/compare/compare_command.hpp"

#include "kernels/testing/scratch_folder.hpp"
#include "kernels/testing/shell.hpp"
#include "sim/cases/testing.hpp"
#include "validation/measurements/trace.hpp"

#include <filesystem>

using namespace weft;

namespace {

Ran ran(const std::string& command) { return shell(command + " 2>&1"); }

const std::string weft_bench = std::string(WEFT_BINARY) + "_bench";
const std::string weft_program = WEFT_BINARY;

// A scenario file that lasts as long as this.
class ScenarioFile {
 public:
  explicit ScenarioFile(const Json& json) : path_(folder_.file("s.json", json.dump())) {}
  std::string path() const { return path_.string(); }

 private:
  ScratchFolder folder_;
  std::filesystem::path path_;
};

Json star_of_four() {
  return Json::parse(R"({"schema": 1, "name": "star_of_four", "hardware": "ideal",
    "fabric": {"type": "star", "nodes": 4, "link": {"bandwidth": "80Gbps", "latency": "0ns"}}})");
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("bench --compare prints a simulated time beside every measured one") {
  const ScenarioFile file(star_of_four());
  for (const std::string flag : {"--compare ", "--compare="}) {
    CAPTURE(flag);
    const Ran out = ran(weft_program + " bench " + flag + file.path() +
                        " --algorithm ring,recursive_doubling -n 4 -b 64K -e 256K -f 4 --dtype uint8 --iterations 2 --channels 2");
    CAPTURE(out.printed);
    CHECK(out.status == 0);
    const auto at = out.printed.find("# measured here over threads, simulated on " + file.path() + " (star_of_four)");
    REQUIRE(at != std::string::npos);
    CHECK(out.printed.find("Collective test concluded") < at);  // weft_bench's own table first
    const std::string table = out.printed.substr(at);
    CHECK(table.find("allreduce of uint8 on 4 ranks, channels 2, pieces 1") != std::string::npos);
    CHECK(count(table, "\n       65536  ") == 2);
    CHECK(count(table, "\n      262144  ") == 2);
    // At 10 GB/s a ring sends 2 x 3/4 of the message, recursive doubling all of it twice.
    for (const char* simulated_us : {" 9.83 ", " 39.32 ", " 13.11 ", " 52.43 "})
      CHECK_MESSAGE(count(table, simulated_us) == 1, simulated_us);
    CHECK(count(table, "# error of the simulation: median ") == 1);
  }
}

TEST_CASE("bench --compare names the servers that it simulates") {
  Json json = star_of_four();
  json["fabric"]["nodes"] = 1;
  json["server"] = Json{{"preset", "shared_gpu"}, {"ranks", 2}};
  const ScenarioFile file(json);
  const Ran out = ran(weft_program + " bench --compare " + file.path() + " --algorithm ring -n 2 -b 64K --iterations 2");
  CAPTURE(out.printed);
  CHECK(out.status == 0);
  CHECK(out.printed.find("simulated: fabric star, 1 node; servers shared_gpu: 2 ranks; ") != std::string::npos);
}

TEST_CASE("bench --compare keeps the trace that was asked for") {
  const ScenarioFile file(star_of_four());
  const std::string trace = file.path() + ".trace";
  const Ran out = ran(weft_program + " bench --trace " + trace + " -b 1K --iterations 1 --compare " + file.path());
  CAPTURE(out.printed);
  CHECK(out.status == 0);
  CHECK(read_trace(trace).runs.at(0).operations.size() == 8);
  std::filesystem::remove(trace);
}

TEST_CASE("bench --compare: what is wrong with the command line and with the scenario is said at once, before anything runs") {
  Json wrong = star_of_four();
  wrong["seeed"] = 1;
  const ScenarioFile file(wrong);
  const Ran out = ran(weft_program + " bench -f 1 --iterations 0 --compare " + file.path());
  CHECK(out.status == 2);
  CHECK(out.printed == "weft bench: -f: must be 2 to 1048576, got 1\nweft bench: --iterations: must be at least 1, got 0\nweft bench: " +
                           file.path() + ": /seeed: unknown key (did you mean \"seed\"?)\n");
}

TEST_CASE("bench --compare refuses what the scenario cannot hold") {
  Json swept = star_of_four();
  swept["sweep"] = {{"/fabric/nodes", {4, 8}}};
  const ScratchFolder folder;
  const std::string path = folder / "s.json";
  const std::vector<std::tuple<Json, std::string, std::string>> wrong = {
      {star_of_four(), "-n 5", path + ": /workload/ranks: must be at most 4, the endpoints of the fabric, got 5\n"},
      {star_of_four(), "--algorithm mpi", "--compare: mpi is a library's own, so there is no schedule to simulate\n"},
      {swept, "", path + ": /sweep: one cluster is to be simulated, and this stands for 2 cases\n"},
      {good_scenario(), "--switches 4", path + ": /fabric/switches: must be those of --switches, 4, got 8\n"},
      {Json::array(), "", path + ": must be an object, got []\n"},
  };
  for (const auto& one : wrong) {
    const auto& [scenario, flags, message] = one;
    INFO(std::get<2>(one));
    folder.file("s.json", scenario.dump());
    const Ran out = ran(weft_program + " bench " + flags + " --compare " + path);
    CHECK(out.status == 2);
    CHECK(out.printed == "weft bench: " + message);
  }
  const Ran unknown = ran(weft_program + " bench --algorithm rink --compare " + ScenarioFile(star_of_four()).path());
  CHECK(unknown.status == 2);
  CHECK(unknown.printed.find("weft bench: --algorithm: unknown algorithm \"rink\" (did you mean \"ring\"?)") == 0);
}

TEST_CASE("bench --compare: a trace is not written over the scenario") {
  const ScenarioFile file(star_of_four());
  const Ran out = ran(weft_program + " bench -n 2 --compare " + file.path() + " --trace " + file.path());
  CHECK(out.status == 2);
  CHECK(out.printed == fmt::format("weft bench: --trace {0}: {0} is read by this command; write to another file\n", file.path()));
}

TEST_CASE("bench --compare: the status of a failed measurement is kept, and nothing is simulated") {
  const ScenarioFile file(good_scenario());  // hdrm fits the scenario; without --switches it cannot be measured
  const Ran out = ran(weft_program + " bench --algorithm hdrm -n 32 --compare " + file.path());
  CAPTURE(out.printed);
  CHECK(out.status == 2);
  CHECK(out.printed.find("simulated") == std::string::npos);
}

TEST_CASE("weft_bench by itself says where --compare is, and the help names it") {
  const Ran direct = ran(weft_bench + " --compare any.json");
  CHECK(direct.status == 2);
  CHECK(
      direct.printed ==
      "weft bench: --compare: there is no simulator in this program; use `weft bench` of a build with the simulator (WEFT_SIMULATOR=ON)\n");
  CHECK(ran(weft_program + " bench --help").printed.find("--compare SCENARIO") != std::string::npos);
}

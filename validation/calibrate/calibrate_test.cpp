#include "validation/calibrate/calibrate.hpp"

#include "sim/cases/cases.hpp"
#include "sim/scenario/algorithms.hpp"
#include "sim/scenario/profiles.hpp"
#include "validation/fit/simulator.hpp"
#include "validation/fit/testing.hpp"

#include <algorithm>
#include <sstream>

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("calibrate: from a file of measurements to a profile that a scenario can name") {
  const ScratchFolder folder;
  std::ostringstream out, err;
  const CalibrateArguments arguments{.data = {folder.file("data.csv", pair_csv()).string()},
                                     .scenario = folder.file("pair.json", pair_scenario).string(),
                                     .fit = {"send_overhead", "wire_efficiency", "rendezvous"},
                                     .output = (folder / "made.json").string(),
                                     .folds = 3};
  CHECK(calibrate_command(arguments, out, err) == 0);
  CHECK(out.str().find("rendezvous") != std::string::npos);
  CHECK(out.str().find("does not determine it") != std::string::npos);

  const HardwareProfile profile = read_profile(folder / "made.json");
  CHECK(profile.send_overhead.microseconds() == doctest::Approx(5).epsilon(0.02));
  CHECK(profile.wire_efficiency == doctest::Approx(0.8).epsilon(0.01));
  CHECK(profile.sources.at("send_overhead") == "fitted, see calibration");
  CHECK(profile.sources.at("rendezvous") == "the data does not determine it; from profile ideal");
  CHECK(profile.sources.at("reduce_rate") == "not fitted; from profile ideal");

  const Json written = Json::parse(read_file(folder / "made.json"));
  const Json& calibration = written.at("calibration");
  CHECK(calibration.at("valid_for").at("size") == Json({"8B", "8MiB"}));
  CHECK(calibration.at("residuals").size() == 11);
  CHECK(calibration.at("held_out_error").at("points") == 5);
  CHECK(calibration.at("command").get<std::string>().find("--fit send_overhead,wire_efficiency,rendezvous") != std::string::npos);
  CHECK(read_file(folder / "made.svg").starts_with("<svg"));
}

TEST_CASE("calibrate: where mpi names no library, the one whose rules made the measurements is found, and goes into the profile") {
  const ScratchFolder folder;
  const auto scenario = folder.file("star.json", star_scenario(8)).string();
  HardwareProfile truth;
  truth.send_overhead = 3_us, truth.wire_efficiency = 0.7;
  const auto measured_with = [&](MpiLibrary library) {
    Simulator simulator(OpenScenario(scenario, {}, {}).scenario());
    std::string csv = "collective,ranks,size_bytes,time_us\n";
    for (std::int64_t size = 8; size <= 1 << 20; size *= 4)
      csv += fmt::format("allreduce,8,{},{:.4f}\n", size,
                         simulator.time_us({"allreduce", {.name = "mpi", .settings = {.library = library}}, 8, Bytes{size}}, truth));
    return csv;
  };
  std::filesystem::create_directories(folder / "hardware");
  const std::filesystem::path profile = folder / "hardware" / "mine.json";
  const auto said = [&](MpiLibrary library, const std::string& algorithm) {
    std::ostringstream out, err;
    calibrate_command({.data = {folder.file("data.csv", measured_with(library)).string()},
                       .scenario = scenario,
                       .set = {"/workload/algorithm=" + algorithm},
                       .fit = {"send_overhead", "wire_efficiency"},
                       .output = profile.string(),
                       .folds = 0,
                       .starts = 1,
                       .force = true},
                      out, err);
    return out.str();
  };
  // Open MPI 4.0 has a ring from 10,000 B on, later releases none for 8 ranks below 1 MiB.
  CHECK(said(MpiLibrary::open_mpi_4_0, "mpi").find("runs by the rules of open_mpi_4.0") != std::string::npos);
  CHECK(read_profile(profile).mpi_library == MpiLibrary::open_mpi_4_0);
  CHECK(read_profile(profile).send_overhead.microseconds() == doctest::Approx(3).epsilon(0.02));
  const auto chosen = [&](const std::string& algorithm) {
    auto cases = load_cases(scenario, {parse_setting("/hardware=mine"), parse_setting("/workload/algorithm=" + algorithm)});
    return with_server_defaults(cases.front().scenario, cases.front().scenario.workload.algorithms.front()).settings.library;
  };
  CHECK(chosen("mpi") == MpiLibrary::open_mpi_4_0);
  CHECK(chosen(R"({"name": "mpi", "library": "mpich"})") == MpiLibrary::mpich);

  CHECK(said(MpiLibrary::open_mpi, "mpi").find("runs by the rules of open_mpi,") != std::string::npos);
  CHECK_FALSE(read_profile(profile).mpi_library);
  CHECK(said(MpiLibrary::open_mpi_4_0, R"({"name": "mpi", "library": "open_mpi"})").find("by the rules of") == std::string::npos);
  CHECK(said(MpiLibrary::open_mpi, "recursive_doubling").find("by the rules of") == std::string::npos);

  std::ostringstream out, err;  // no library has rules for a message between two
  calibrate_command(
      {.data = {folder.file("latency.csv", "collective,ranks,size_bytes,time_us\nlatency,2,8,4\nlatency,2,65536,12\n").string()},
       .scenario = scenario,
       .set = {"/workload/algorithm=mpi"},
       .fit = {"send_overhead"},
       .all = true,
       .folds = 0,
       .starts = 1},
      out, err);
  CHECK(out.str().find("by the rules of") == std::string::npos);
}

TEST_CASE("calibrate: rules of leaders on hosts are told from others where hosts have several ranks, and are one where they have one") {
  const ScratchFolder folder;
  const auto scenario = folder.file("star.json", star_scenario(4)).string();
  const auto said = [&](int on_host, const std::string& server) {
    const std::vector<std::string> set = {"/server=" + server, "/workload/algorithm=mpi"};
    HardwareProfile truth;
    truth.send_overhead = 3_us;
    Simulator simulator(OpenScenario(scenario, {parse_setting(set.front()), parse_setting(set.back())}, {}).scenario());
    std::string csv = "collective,ranks,size_bytes,time_us\n";
    for (std::int64_t size = 8; size <= 1 << 20; size *= 4)
      for (const char* collective : {"allreduce", "broadcast"}) {
        const MeasuredSetup call{.collective = collective,
                                 .algorithm = {.name = "mpi", .settings = {.library = MpiLibrary::intel_mpi}},
                                 .ranks = 4 * on_host,
                                 .size = Bytes{size},
                                 .nodes = 4,
                                 .of_each_node = on_host};
        csv += fmt::format("{},{},{},{:.4f}\n", collective, 4 * on_host, size, simulator.time_us(call, truth));
      }
    std::ostringstream out, err;
    calibrate_command({.data = {folder.file("data.csv", csv).string() + ":nodes=4"},
                       .scenario = scenario,
                       .set = set,
                       .fit = {"send_overhead"},
                       .folds = 0,
                       .starts = 1},
                      out, err);
    return out.str() + err.str();
  };
  const std::string several = said(4, R"({"preset": "cpu_host", "cores": 4})");
  CHECK(several.find("runs by the rules of intel_mpi") != std::string::npos);
  CHECK(several.find("no fit can follow") == std::string::npos);  // by the rules that are found, not by those of Open MPI
  const std::string alone = said(1, R"({"preset": "cpu_host", "cores": 1})");
  CHECK(alone.find("runs by the rules of mpich") != std::string::npos);
  CHECK(alone.find("intel_mpi") == std::string::npos);
}

TEST_CASE("calibrate: times that are a hundred times as long as the links need are doubted") {
  const ScratchFolder folder;
  const auto scenario = folder.file("pair.json", pair_scenario).string();
  const auto said_of = [&](double times) {
    std::string csv = "ranks,collective,algorithm,size_bytes,time_us\n";
    for (std::int64_t size = 1 << 10; size <= 64 << 20; size *= 4)
      csv += fmt::format("2,allreduce,ring,{},{}\n", size, times * (12 + 1e-4 * static_cast<double>(size)));
    std::ostringstream out, err;
    calibrate_command({.data = {folder.file("data.csv", csv).string()}, .scenario = scenario, .fit = {"send_overhead"}, .folds = 0}, out,
                      err);
    return err.str();
  };
  CHECK(said_of(1).find("microseconds?") == std::string::npos);
  CHECK(said_of(1000).find("are the times in microseconds?") != std::string::npos);
}

TEST_CASE("calibrate: what is wrong is told") {
  const ScratchFolder folder;
  const auto scenario = folder.file("pair.json", pair_scenario).string();
  const auto data = folder.file("data.csv", pair_csv()).string();
  std::ostringstream out, err;
  const auto problems = [&](CalibrateArguments arguments) { return problems_of([&] { calibrate_command(arguments, out, err); }); };
  CHECK(problems({.data = {data}, .scenario = scenario, .only = {"tree"}}) ==
        Lines{data + ": none of its 11 measurements is selected; algorithms that it names: ring"});
  CHECK(problems({.data = {data}, .scenario = scenario, .system = "T"}) ==
        Lines{data + ": none of its 11 measurements is selected; systems that it names: S"});
  CHECK(problems({.data = {data}, .scenario = scenario, .only = {"ring", "tree"}}) ==
        Lines{"--only tree: no measurement is of it; algorithms that are named: ring"});
  CHECK(problems({.data = {data}, .scenario = scenario, .rename = {"foo=ring"}}) ==
        Lines{"--rename foo=ring: no measurement is of \"foo\"; algorithms of those selected: ring"});
  const auto unnamed = folder.file("unnamed.csv", "ranks,collective,size_bytes,time_us\n2,allreduce,1024,20\n").string();
  CHECK(problems({.data = {unnamed}, .scenario = scenario, .rename = {"nccl=ring"}}) ==
        Lines{"--rename nccl=ring: no measurement is of \"nccl\"; algorithms of those selected: none; some name none, which --rename "
              "\"=ring\" names"});
  const auto servers = folder
                           .file("servers.json", R"({"schema": 1, "name": "two", "server": "dgx_a100", "hardware": "ideal",
    "fabric": {"type": "star", "nodes": 2, "link": {"bandwidth": "200Gbps", "latency": "500ns"}},
    "workload": {"algorithm": "ring", "size": "1MiB"}})")
                           .string();
  CHECK(problems({.data = {data}, .scenario = servers, .flat = true}) ==
        Lines{"--flat: the scenario's servers have 8 GPUs, on which ranks of one node sit: leave it out"});
  CHECK(problems({.data = {data}, .scenario = scenario, .exclude = {data + ":999"}}) ==
        Lines{fmt::format("--exclude {}:999: there is no measurement in this line", data)});
  CHECK(problems({.data = {data}, .scenario = scenario, .collective = "broadcast"}) ==
        Lines{"--collective broadcast: the files say themselves that allreduce was measured; leave it out"});
  CHECK(problems({.data = {data}, .scenario = scenario, .rename = {"ring=two_level"}}) ==
        Lines{data + ":2: two_level/group: two_level needs the ranks of a group: one of 1, 2"});
  CHECK(problems({.data = {data}, .scenario = scenario, .rename = {"x"}}) == Lines{"--rename x: must be MEASURED=OURS"});
  const auto copies =
      folder
          .file("copies.csv",
                "matrix,timer,from_gpu,to_gpu,value\nUnidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s),,0,1,10\n")
          .string();
  CHECK(problems({.data = {copies}, .scenario = scenario, .rename = {"p2p_enabled=ring"}}) ==
        Lines{"--rename p2p_enabled=ring: \"p2p_enabled\" is of copies between two GPUs, which run no algorithm: leave it out"});
  const Lines of_sweep = problems({.data = {data}, .scenario = scenario, .set = {R"(/sweep={"/seed": [1, 2]})"}, .fit = {"send_overhaed"}});
  REQUIRE(of_sweep.size() == 2);
  CHECK(of_sweep[0] == scenario + ": a scenario of one case is needed here, its sweep makes 2");
  const std::string nowhere = (folder / "nowhere.csv").string();
  CHECK(problems({.data = {nowhere, folder.file("empty.csv", "\n").string()}, .scenario = scenario}).size() == 2);
  CHECK(problems({.data = {data}, .scenario = nowhere}).size() == 1);
  const auto at_once =
      problems({.data = {data}, .scenario = scenario, .set = {"x"}, .fit = {"send_overhaed"}, .rename = {"x"}, .exclude = {"other.csv:3"}});
  CHECK(at_once.size() == 4);
  for (const char* found : {"--set: ", "--fit: ", "--rename x: ", "--exclude other.csv:3: "})
    CHECK(std::ranges::any_of(at_once, [&](const std::string& line) { return line.starts_with(found); }));
}

TEST_CASE("calibrate: what cannot be written is told before the fit, and nothing is left behind") {
  const ScratchFolder folder;
  const auto scenario = folder.file("pair.json", pair_scenario).string();
  const auto data = folder.file("data.csv", pair_csv()).string();
  const auto in_file = (std::filesystem::path(data) / "x.json").string();
  std::ostringstream out, err;
  const Lines problems = problems_of([&] {
    calibrate_command({.data = {data}, .scenario = scenario, .output = in_file, .scenario_output = (folder / "new/sc.json").string()}, out,
                      err);
  });
  REQUIRE(problems.size() == 2);  // the profile and its plot
  CHECK(problems[0] == fmt::format("-o {}: cannot be written: Not a directory", in_file));
  CHECK(out.str().empty());
  CHECK_FALSE(std::filesystem::exists(folder / "new"));
}

TEST_CASE("calibrate: in-place times alone are named as such") {
  const ScratchFolder folder;
  const auto scenario = folder.file("pair.json", pair_scenario).string();
  const auto data = folder.file("data.csv", "collective,ranks,size_bytes,time_us,inplace_time_us\nallreduce,2,8,,12\n").string();
  std::ostringstream out, err;
  CHECK(problems_of([&] { calibrate_command({.data = {data}, .scenario = scenario}, out, err); }) ==
        Lines{data + ": none of its 1 measurements is selected; they are in-place times, which --in-place uses"});
}

TEST_CASE("calibrate: lines are excluded by their place in a file that is read") {
  const ScratchFolder folder;
  const auto scenario = folder.file("pair.json", pair_scenario).string();
  const auto data = folder.file("data.csv", pair_csv() + "S,2,allreduce,ring,8,bad\n").string();
  std::ostringstream out, err;
  CalibrateArguments arguments{.data = {data}, .scenario = scenario, .fit = {"send_overhead"}, .folds = 0, .starts = 1};
  CHECK(problems_of([&] { calibrate_command(arguments, out, err); }) ==
        Lines{data + ":13: time_us must be a number, got \"bad\"", "add --skip-bad to go on without lines that cannot be used"});
  arguments.exclude = {data + ":13"};
  CHECK(calibrate_command(arguments, out, err) == 0);
  for (const std::string& place : {data, data + ":", data + ":x", std::string("other.csv:3")}) {
    CAPTURE(place);
    arguments.exclude = {place};
    CHECK(problems_of([&] { calibrate_command(arguments, out, err); }) ==
          Lines{fmt::format("--exclude {}: must be FILE:LINE, the file one of those to read ({})", place, data)});
  }
}

TEST_CASE("calibrate: neither the plot nor the profile replaces what it must not") {
  const ScratchFolder folder;
  const auto scenario = folder.file("pair.json", pair_scenario).string();
  const auto data = folder.file("data.csv", pair_csv()).string();
  const auto notes = folder.file("notes.svg", "my drawing").string();
  std::ostringstream out, err;
  CalibrateArguments arguments{.data = {data}, .scenario = scenario, .fit = {"send_overhead"}, .folds = 0, .starts = 1};
  const auto problems = [&](const std::string& output) {
    arguments.output = output;
    return problems_of([&] { calibrate_command(arguments, out, err); });
  };
  const std::string plot = (folder / "p.svg").string();
  CHECK(problems(plot) == Lines{fmt::format("the plot of -o {0}: {0} would be written twice: -o {0} asks for it too", plot)});
  CHECK(problems(data).size() == 1);
  CHECK(problems(scenario).size() == 1);
  CHECK(problems((folder / "notes.json").string()).size() == 1);
  CHECK(read_file(notes) == "my drawing");
  CHECK(read_file(data) == pair_csv());
  CHECK(problems((folder / "p.json").string()).empty());
  CHECK(problems((folder / "p.json").string()).empty());  // its own are replaced
  arguments.force = true;
  CHECK(problems((folder / "notes.json").string()).empty());
}

TEST_CASE("calibrate: two servers of eight GPUs are the cluster that is fitted, with NVLink inside them") {
  const ScratchFolder folder;
  const auto scenario = folder.file("pair.json", pair_scenario).string();
  // 16 ranks, and 8 that stay inside one server; on cables alone the second could not be so fast.
  const auto data = folder
                        .file("data.csv",
                              "collective,ranks,size_bytes,time_us\n"
                              "allreduce,16,67108864,14000\nallreduce,16,134217728,28000\n"
                              "allreduce,8,67108864,450\nallreduce,8,134217728,860\n")
                        .string();
  const auto profile = (folder / "fitted.json").string();
  std::ostringstream out, err;
  CHECK(calibrate_command(
            {.data = {data}, .scenario = scenario, .set = {"/server=dgx_h100"}, .fit = {"wire_efficiency"}, .output = profile, .all = true},
            out, err) == 0);
  CAPTURE(out.str() + err.str());
  CHECK(err.str().find("do not fit") == std::string::npos);
  CHECK(read_file(profile).find("wire_efficiency") != std::string::npos);
}

TEST_CASE("calibrate: the scenario is written with what was fitted, and names the profile that stands beside it") {
  const ScratchFolder folder;
  const auto scenario = folder.file("pair.json", pair_scenario).string();
  const auto data = folder.file("data.csv", pair_csv()).string();
  const auto written = (folder / "fitted.json").string();
  std::ostringstream out, err;
  CalibrateArguments arguments{.data = {data},
                               .scenario = scenario,
                               .fit = {"/fabric/host_link/latency", "wire_efficiency"},
                               .output = (folder / "hardware" / "mine.json").string(),
                               .folds = 0,
                               .starts = 2,
                               .scenario_output = written};
  CHECK(calibrate_command(arguments, out, err) == 0);
  const Scenario read = load_cases(written).front().scenario;
  CHECK(read.hardware.name == "mine");
  CHECK(load_cases(written, {parse_setting("/fabric/nodes=5")}).front().scenario.workload.ranks == 5);  // all that there are
  CHECK(std::get<Star>(read.fabric.spec).host_link.latency.microseconds() ==
        doctest::Approx(3).epsilon(0.02));  // 12 us are two steps of two cables
  const Json valid = Json::parse(read_file(folder / "hardware" / "mine.json")).at("calibration").at("valid_for");
  CHECK(valid.at("paths") == Json({"network"}));
  CHECK(valid.at("nodes") == Json({2}));
  CHECK(valid.at("servers") == Json({"sub_node"}));
  CHECK(valid.at("networks") == Json({"flow"}));
  CHECK(valid.at("links").at(0) == valid.at("links").at(1));
  CHECK(out.str().find("has the fitted values themselves") == std::string::npos);
  arguments.output = (folder / "mine.json").string();
  CHECK(calibrate_command(arguments, out, err) == 0);  // its own is replaced
  CHECK(out.str().find("has the fitted values themselves; with -o " + (folder / "hardware" / "mine.json").string()) != std::string::npos);
  arguments.output.clear();
  CHECK(calibrate_command(arguments, out, err) == 0);
  CHECK(load_cases(written).front().scenario.hardware.wire_efficiency == doctest::Approx(0.8).epsilon(0.02));
  CHECK_FALSE(Json::parse(read_file(written)).at("hardware").contains("profile"));  // it may stand anywhere, and has no old calibration
  arguments.scenario_output = scenario;
  CHECK(problems_of([&] { calibrate_command(arguments, out, err); }).size() == 1);
}

TEST_CASE("calibrate: a star is written with as many nodes as the largest scale that was fitted, and its profile knows of one switch") {
  const ScratchFolder folder;
  const auto scenario = folder.file("pair.json", pair_scenario).string();
  std::string csv = "ranks,collective,algorithm,size_bytes,time_us\n";
  for (const int ranks : {2, 8})
    for (std::int64_t size = 1 << 10; size <= 1 << 20; size *= 4)
      csv += fmt::format("{},allreduce,ring,{},{}\n", ranks, size, ranks * (6 + 1e-4 * static_cast<double>(size)));
  const std::string written = (folder / "fitted.json").string(), profile = (folder / "hardware" / "mine.json").string();
  std::ostringstream out, err;
  calibrate_command({.data = {folder.file("data.csv", csv).string()},
                     .scenario = scenario,
                     .fit = {"send_overhead"},
                     .output = profile,
                     .folds = 0,
                     .starts = 1,
                     .scenario_output = written},
                    out, err);
  const Scenario read = load_cases(written).front().scenario;
  CHECK(std::get<Star>(read.fabric.spec).nodes == 8);
  CHECK(read.workload.ranks == 8);
  const Json valid = Json::parse(read_file(profile)).at("calibration").at("valid_for");
  CHECK(valid.at("switches") == Json({1, 1}));
  CHECK_FALSE(valid.contains("switch_links"));
}

TEST_CASE("calibrate: what the scenario leaves open stays open in the one that is written") {
  const ScratchFolder folder;
  const auto scenario = folder.file("pair.json", R"({"schema": 1, "name": "pair",
      "fabric": {"type": "star", "nodes": 4, "link": {"bandwidth": "100Gbps", "latency": "1us"}}, "server": "dgx_a100",
      "hardware": "ideal", "workload": {"collective": "allreduce", "algorithm": "nccl", "size": "1MiB"}})");
  const auto data = folder.file("data.csv",
                                "collective,algorithm,nodes,ranks,size_bytes,time_us\n"
                                "allreduce,nccl,2,16,8,30\nallreduce,nccl,2,16,1048576,120\n");
  const auto written = (folder / "fitted.json").string();
  std::ostringstream out, err;
  calibrate_command({.data = {data.string()},
                     .scenario = scenario.string(),
                     .set = {"/workload/size=2MiB"},
                     .fit = {"nccl_base", "ll_bias"},
                     .folds = 0,
                     .starts = 1,
                     .scenario_output = written},
                    out, err);
  const std::vector<Setting> asked = {parse_setting("/workload/ranks=12"), parse_setting("/fabric/link/bandwidth=200Gbps")};
  const Scenario read = load_cases(written, asked).front().scenario;  // eight GPUs a server do not divide twelve ranks
  CHECK(read.workload.ranks == 12);
  CHECK(std::get<Star>(read.fabric.spec).host_link.bandwidth == 200_Gbps);
  CHECK(read.workload.sizes == std::vector{2_MiB});
  CHECK(read.hardware.biases_of == BiasesOf::calls_between_servers);  // which is all that was measured
}

namespace {

// An all-reduce of OSU on so many ranks, a step of whose ring takes so long.
std::string osu_table(int ranks, double step_us) {
  std::string out = "# OSU MPI Allreduce Latency Test v7.2\n# Size       Avg Latency(us)\n";
  for (int size = 8; size <= 1 << 20; size *= 2) out += fmt::format("{} {:.6f}\n", size, 2 * (ranks - 1) * (step_us + 8e-5 * size / ranks));
  return out;
}

}  // namespace

TEST_CASE("calibrate: files of several scales say theirs behind their names") {
  const ScratchFolder folder;
  const auto scenario = folder.file("pair.json", pair_scenario).string();
  const auto two = folder.file("two.txt", osu_table(2, 6)).string(), four = folder.file("four.txt", osu_table(4, 6)).string();
  std::ostringstream out, err;
  CalibrateArguments arguments{
      .data = {two, four + ":ranks=4"}, .scenario = scenario, .fit = {"send_overhead"}, .folds = 0, .starts = 1, .exclude = {four + ":3"}};
  arguments.output = (folder / "made.json").string();
  CHECK(calibrate_command(arguments, out, err) == 0);
  CHECK(err.str().starts_with(fmt::format(
      "weft: {}: does not say how many ranks were measured; taken for the scenario's 2 (FILE:ranks=N,nodes=N says it)\n", two)));
  const std::string told = err.str();
  CHECK(std::ranges::count(told, '\n') == 3);  // the other is of the start
  const Json calibration = Json::parse(read_file(folder / "made.json")).at("calibration");
  CHECK(calibration.at("valid_for").at("ranks") == Json({2, 4}));
  CHECK(calibration.at("residuals").size() == 35);
  CHECK(calibration.at("command").get<std::string>().find("four.txt:ranks=4 ") != std::string::npos);
  arguments.data = {two + ":ranks=two"};
  CHECK(problems_of([&] { calibrate_command(arguments, out, err); }) ==
        Lines{two + ":ranks=two: ranks must be between 1 and 1048576, got \"two\""});
  const std::string unnamed = folder.file("unnamed.csv", "ranks,size_bytes,time_us\n2,1000,20\n2,2000,21\n2,4000,23\n").string();
  arguments.data = {unnamed}, arguments.exclude = {};
  CHECK(problems_of([&] { calibrate_command(arguments, out, err); }).front().ends_with(unnamed + ":collective=NAME"));
  arguments.data = {unnamed + ":collective=bcast"};
  arguments.collective = "allreduce";  // of files that are not told by themselves
  CHECK(calibrate_command(arguments, out, err) == 0);
  CHECK(Json::parse(read_file(folder / "made.json")).at("calibration").at("valid_for").at("collectives") == Json({"broadcast"}));
  arguments.data = {two + ":ranks=2"};
  arguments.output = two;
  CHECK(problems_of([&] { calibrate_command(arguments, out, err); }).size() == 1);  // read, and so not replaced
}

TEST_CASE("calibrate: a series that the scenario's algorithm cannot be as fast as is told once, with the least that it takes") {
  const ScratchFolder folder;
  const auto scenario = folder.file("pair.json", pair_scenario).string();
  // A ring of two ranks is two steps of two cables, 2 us.
  const auto quick = folder.file("quick.txt", osu_table(2, 0.7)).string(), slow = folder.file("slow.txt", osu_table(2, 1.1)).string();
  std::ostringstream out, err;
  CalibrateArguments arguments{.data = {quick + ":ranks=2"}, .scenario = scenario, .fit = {"send_overhead"}, .folds = 0, .starts = 1};
  CHECK(calibrate_command(arguments, out, err) == 0);
  const std::string said = fmt::format(
      "weft: {}:3: 8 bytes in 1.401 us, but allreduce by ring among 2 ranks takes 2.001 us at least in this scenario, with every cost of "
      "the profile at zero: no fit can follow 16 of the 18 points of this series.",  // 0.6 us is 2 % of what 512 KiB and more take
      quick);
  CHECK(err.str().starts_with(said));
  CHECK(err.str().find("hcoll") == std::string::npos);
  arguments.set = {R"(/workload/algorithm={"name": "mpi", "library": "mpich"})"};
  std::ostringstream said_of_mpi;
  CHECK(calibrate_command(arguments, out, said_of_mpi) == 0);
  CHECK(said_of_mpi.str().find("--rename; of MPI, hcoll, ucc or the module han may have chosen another)") != std::string::npos);
  arguments.set.clear();
  // 64 KiB take 5.2 us of wire and two steps of 1 us of cable: not the shortest time of its series, but the one that cannot be.
  const std::string header = "ranks,collective,size_bytes,time_us\n";
  const auto behind = folder.file("behind.csv", header + "2,allreduce,8,4\n2,allreduce,65536,6\n2,allreduce,131072,15\n").string();
  std::ostringstream said_of_behind;
  arguments.data = {behind};
  CHECK(calibrate_command(arguments, out, said_of_behind) == 0);
  CHECK(said_of_behind.str().starts_with(
      fmt::format("weft: {}:3: 65536 bytes in 6 us, but allreduce by ring among 2 ranks takes 7.243 us", behind)));
  CHECK(said_of_behind.str().find("no fit can follow 1 of the 3 points of this series. Look at the algorithm (/workload/algorithm, "
                                  "--rename), and at the rate of ") != std::string::npos);
  // NCCL's call of 512 bytes takes its time for latencies, which it has among its overheads.
  std::string far = pair_scenario;
  far.replace(far.find("\"ring\""), 6, R"({"name": "nccl", "protocol": "simple"})");
  far.replace(far.find("500ns"), 5, "8us");
  arguments.scenario = folder.file("far.json", far).string();
  arguments.data = {folder.file("near.csv", header + "2,allreduce,512,5\n2,allreduce,1024,6\n").string()};
  std::ostringstream said_of_near;
  CHECK(calibrate_command(arguments, out, said_of_near) == 0);
  CHECK(said_of_near.str().find("Look at the algorithm (/workload/algorithm, --rename), at the latencies of the links") !=
        std::string::npos);
  arguments.scenario = scenario;
  arguments.data = {quick + ":ranks=2"};
  const std::string told = err.str();
  CHECK(std::ranges::count(told, '\n') == 3);  // the other is of the start
  err.str("");
  arguments.fit = {"/fabric/host_link/latency"};
  CHECK(calibrate_command(arguments, out, err) == 0);
  CHECK(err.str().find("at least") == std::string::npos);
  arguments.data = {slow + ":ranks=2"};
  arguments.fit = {"send_overhead"};
  CHECK(calibrate_command(arguments, out, err) == 0);
  CHECK(err.str().find("at least") == std::string::npos);
}

#include "validation/calibrate/fit_text.hpp"

#include "validation/calibrate/calibrate.hpp"
#include "validation/fit/testing.hpp"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("calibrate: the table says on how many nodes a call ran, where as many ranks ran on others too") {
  const ScratchFolder folder;
  const auto scenario = folder.file("pair.json", R"({"schema": 1, "name": "pair",
      "fabric": {"type": "star", "nodes": 2, "link": {"bandwidth": "100Gbps", "latency": "1us"}}, "server": "dgx_a100",
      "hardware": "ideal", "workload": {"collective": "allreduce", "algorithm": "nccl", "size": "1MiB"}})");
  const auto data = folder.file("data.csv",
                                "collective,algorithm,nodes,ranks,size_bytes,time_us\nallreduce,nccl,1,8,8,20\n"
                                "allreduce,nccl,2,8,8,30\nallreduce,nccl,2,16,8,40\n");
  std::ostringstream out, err;
  calibrate_command({.data = {data.string()}, .scenario = scenario.string(), .fit = {"nccl_base"}, .all = true, .folds = 0, .starts = 1},
                    out, err);
  const auto lines_with = [&](const char* text) {
    std::istringstream in(out.str());
    int lines = 0;
    for (std::string line; std::getline(in, line);) lines += line.find(text) != std::string::npos ? 1 : 0;
    return lines;
  };
  CHECK(lines_with("  on 1 node") == 1);
  CHECK(lines_with("  on 2 nodes") == 1);  // sixteen ranks were on no other number of them
}

TEST_CASE("calibrate: a measurement that stands alone is named, and spoils none beside it") {
  const ScratchFolder folder;
  std::string csv = "ranks,collective,algorithm,size_bytes,time_us\n";
  for (std::int64_t size = 8; size <= 1 << 24; size *= 2)
    csv += fmt::format("2,allreduce,ring,{},{:.4f}\n", size, (size == 1 << 15 ? 8 : 1) * (12 + 1e-4 * static_cast<double>(size)));
  std::ostringstream out, err;
  calibrate_command(
      {.data = {folder.file("data.csv", csv).string()}, .scenario = folder.file("pair.json", pair_scenario).string(), .folds = 0}, out,
      err);
  std::istringstream lines(out.str());
  std::vector<std::string> alone;
  int beside = 0;
  for (std::string line; std::getline(lines, line);) {
    std::string collective, algorithm, ranks, size, measured, simulated;
    std::istringstream(line) >> collective >> algorithm >> ranks >> size >> measured >> simulated;
    if (line.ends_with("stands alone")) alone.push_back(size);
    if (size != "16384" && size != "65536") continue;
    ++beside;
    CHECK(std::stod(simulated) == doctest::Approx(std::stod(measured)).epsilon(0.05));
  }
  CHECK(alone == Lines{"32768"});
  CHECK(beside == 2);
}

TEST_CASE("calibrate: repeated measurements are averaged, and the table and the profile say so") {
  const ScratchFolder folder;
  const auto scenario = folder.file("pair.json", pair_scenario).string();
  const auto data = folder.file("data.csv", pair_csv() + "S,2,allreduce,ring,8,14.0008\n").string();
  std::ostringstream out, err;
  const std::string profile = (folder / "made.json").string();
  CHECK(calibrate_command({.data = {data}, .scenario = scenario, .fit = {"send_overhead"}, .output = profile, .folds = 0, .starts = 1}, out,
                          err) == 0);
  CHECK(out.str().find("mean of 2, standard deviation 10.9 %") != std::string::npos);
  const Json first = Json::parse(read_file(profile)).at("calibration").at("residuals").front();
  CHECK(first.at("repeats") == 2);
  CHECK(first.at("spread_us").get<double>() == doctest::Approx(1.414).epsilon(0.001));
}

TEST_CASE("calibrate: caches that cannot be are told where one of them was fitted") {
  const ScratchFolder folder;
  const auto data = folder.file("data.csv", pair_csv()).string();
  CalibrateArguments arguments{
      .data = {data},
      .scenario = folder.file("pair.json", pair_scenario).string(),
      .set = {R"(/hardware={"reduce_cache": "128MiB", "last_level_cache": "32MiB"})"},
      .fit = {"send_overhead"},
      .folds = 0,
      .starts = 1,
  };
  std::ostringstream out, err;
  calibrate_command(arguments, out, err);
  CHECK(out.str().find("last_level_cache") == std::string::npos);
  arguments.fit.emplace_back("last_level_cache");
  calibrate_command(arguments, out, err);
  CHECK(out.str().find("# reduce_cache (128MiB) is above last_level_cache (") != std::string::npos);
}

TEST_CASE("calibrate: whose rules an mpi runs by is told, and that no library's are close where none is") {
  CHECK(said_of_libraries({}).empty());
  CHECK(said_of_libraries({{MpiLibrary::open_mpi, 0.1}}).empty());
  const std::string near = said_of_libraries({{MpiLibrary::mpich, 0.152}, {MpiLibrary::open_mpi, 0.208}});
  CHECK(near.find("by the rules of mpich, 15.2 % off (mean, by parameters alone; open_mpi 20.8 %); if you know") != std::string::npos);
  const std::string far = said_of_libraries({{MpiLibrary::mpich, 0.562}, {MpiLibrary::open_mpi, 0.8}});
  CHECK(far.find("which no library's are close to: other code may have chosen, such as hcoll or ucc") != std::string::npos);
}

#include "collectives/bench/table.hpp"

#include "collectives/bench/testing.hpp"

#include <iterator>
#include <sstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace weft;
using namespace weft::bench;

namespace {

std::vector<std::string> tokens(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

}  // namespace

TEST_CASE("bench: a table has both buffers, and -J writes them with their runs as nccl-tests does") {
  const Settings s = settings_of({"-n", "4", "-b", "1M", "-i", "1M", "-e", "2M", "--dtype", "float16", "-I", "1"});
  std::ostringstream out;
  Table table(out, s);
  table.row(
      {.algorithm = "ring", .size_bytes = 1'000'000, .count = 500'000, .times_us = {100, 90, 130}, .out_of_place_us = {200, 100, 400}});
  std::istringstream lines(out.str());
  std::string line;
  std::getline(lines, line);
  // 1 MB in the medians of 200 and 100 us: 5 and 10 GB/s; busbw is 1.5 times that
  CHECK(tokens(line) == std::vector<std::string>{"1000000", "500000", "float16", "sum",    "-1",     "200.00", "5.00",
                                                 "7.50",    "0",      "100.00",  "400.00", "N/A",    "53.5",   "100.00",
                                                 "10.00",   "15.00",  "0",       "90.00",  "130.00", "N/A",    "15.9"});
  const auto json = nlohmann::json::parse(table.json());
  CHECK(json["version"] == 3);
  CHECK(json["args"][0] == "all_reduce_perf");
  CHECK(json["args"][1] == "-n");
  CHECK(json["config"]["step_bytes"] == 1 << 20);
  CHECK(json["config"]["devices"].size() == 4);
  const auto& result = json["results"].at(0);
  CHECK(result["type"] == "half");
  CHECK(result["root"] == "    -1");
  CHECK(result["out_of_place"]["time"] == 200);
  CHECK(result["out_of_place"]["bus_bw"] == 7.5);
  CHECK(result["in_place"]["alg_bw"] == 10);
  CHECK(result["in_place_per_iter"]["times_us"] == std::vector<double>{100, 90, 130});
  CHECK(json["average_bus_bandwidth"]["bandwidth"] == 11.25);
  CHECK(json["out_of_bounds"]["okay"] == "true");
}

TEST_CASE("bench: busbw factors are those of nccl-tests") {
  CHECK(bus_factor(Collective::allreduce, 4) == 1.5);
  CHECK(bus_factor(Collective::alltoall, 4) == 0.75);
  CHECK(bus_factor(Collective::broadcast, 4) == 1);
}

TEST_CASE("bench: back to back a row has the 13 fields of nccl-tests, and the header says what its time is") {
  const Settings s = settings_of({"-n", "4", "-b", "1M", "--iters", "7"});
  std::ostringstream out;
  Table table(out, s);
  table.begin("ring");
  table.row({.algorithm = "ring", .size_bytes = 1'000'000, .count = 250'000, .times_us = {100}, .out_of_place_us = {200}});
  std::istringstream lines(out.str());
  std::vector<std::string> last;
  for (std::string line; std::getline(lines, line);) last = tokens(line);
  CHECK(last == std::vector<std::string>{"1000000", "250000", "float32", "sum", "-1", "200.00", "5.00", "7.50", "0", "100.00", "10.00",
                                         "15.00", "0"});
  CHECK(out.str().find("i_min") == std::string::npos);
  const auto json = nlohmann::json::parse(table.json());
  CHECK(json["config"]["per_iter_timing"] == "false");
  CHECK(!json["results"].at(0).contains("in_place_per_iter"));
  CHECK(times_each_iteration(settings_of({"-b", "1M", "--trace", "unused.json"})));
  CHECK(!times_each_iteration(s));
  CHECK(timed_runs(s) == 1);
}

TEST_CASE("bench: a row reads like nccl-tests' with -I 1, and wrong data make the footer fail") {
  const Settings s = settings_of({"-n", "4", "-b", "1M", "-I", "1"});
  std::ostringstream out;
  Table table(out, s);
  table.row(
      {.algorithm = "ring", .size_bytes = 1'000'000, .count = 250'000, .times_us = {130, 100, 90}, .wrong = 2, .first_wrong = "rank 1"});
  table.footer();
  std::istringstream lines(out.str());
  std::string line;
  std::getline(lines, line);
  // 1 MB in the median time of 100 us is 10 GB/s; the mean is 106.67, the standard deviation 17.0
  CHECK(tokens(line) == std::vector<std::string>{"1000000", "250000", "float32", "sum", "-1", "100.00", "10.00", "15.00", "2", "90.00",
                                                 "130.00", "N/A", "15.9"});  // of three times none is the 99th percentile
  CHECK(out.str().find("# rank 1\n") != std::string::npos);
  CHECK(out.str().find("# Out of bounds values : 2 FAILED\n") != std::string::npos);
  CHECK(out.str().find("# Avg bus bandwidth    : 15\n") != std::string::npos);
  CHECK(table.wrong() == 2);
}

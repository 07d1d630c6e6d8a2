// Traces through the whole simulator.
#include "sim/program_of_trace.hpp"

#include "kernels/files/files.hpp"
#include "sim/cases/cases.hpp"
#include "sim/engine/in_child.hpp"
#include "sim/experiment.hpp"
#include "sim/scenario/profiles.hpp"

#include <filesystem>

#include <doctest/doctest.h>
#include <unistd.h>

using namespace weft;

namespace {

namespace fs = std::filesystem;

class TraceFolder {
 public:
  TraceFolder() : folder_(fs::temp_directory_path() / fmt::format("weft-traces-{}-{}", ::getpid(), ++folders_)) {
    fs::create_directories(folder_);
  }
  ~TraceFolder() { fs::remove_all(folder_); }
  TraceFolder(const TraceFolder&) = delete;
  TraceFolder& operator=(const TraceFolder&) = delete;

  void add(const std::string& name, const std::string& text) {
    write_file(folder_ / name, text);
    files_.push_back((folder_ / name).string());
  }
  const std::vector<std::string>& files() const { return files_; }

 private:
  inline static int folders_ = 0;
  fs::path folder_;
  std::vector<std::string> files_;
};

// On a switch with 100 Gb/s and half a microsecond a cable.
std::vector<Case> cases_of_files(const ProgramFiles& program) { return cases_of_program(program, {}); }

Row row_of_files(const ProgramFiles& program) {
  const auto cases = cases_of_files(program);
  const Scenario& s = cases.front().scenario;
  Experiment experiment(s, s.workload.algorithms.front());
  return experiment.run(s.workload.sizes.front());
}

// First, beside the collective, last: microseconds.
std::string step(int first, int beside, int last, const char* more = "") {
  return fmt::format(R"({{"workload_graph": [
    {{"Id": 1, "NodeType": 4, "data_deps": [], "runtime": {}, "is_cpu_op": false}},
    {{"Id": 2, "NodeType": 7, "data_deps": [1], "comm_type": 0, "comm_size": 1000000{}}},
    {{"Id": 3, "NodeType": 4, "data_deps": [1], "runtime": {}, "is_cpu_op": false}},
    {{"Id": 4, "NodeType": 4, "data_deps": [2, 3], "runtime": {}, "is_cpu_op": false}}]}})",
                     first, more, beside, last);
}

}  // namespace

TEST_CASE("program of a trace: computation beside a collective costs what the critical path costs") {
  // The all-reduce of 1 MB between two ranks: 2 steps of 1 us (two cables) and 500 KB / 100 Gb/s = 40 us: 82 us.
  TraceFolder hidden_compute, hidden_collective, late_rank;
  for (const char* rank : {"0", "1"}) {
    hidden_compute.add(fmt::format("t.{}.json", rank), step(100, 50, 10));
    hidden_collective.add(fmt::format("t.{}.json", rank), step(100, 120, 10));
  }
  CHECK(row_of_files({.files = hidden_compute.files()}).time == 100_us + 82_us + 10_us);
  CHECK(row_of_files({.files = hidden_collective.files()}).time == 100_us + 120_us + 10_us);
  late_rank.add("t.0.json", step(100, 50, 10));
  late_rank.add("t.1.json", step(130, 50, 10));
  CHECK(row_of_files({.files = late_rank.files()}).time == 130_us + 82_us + 10_us);
}

TEST_CASE("program of a trace: one computation at a time on a GPU, whoever is ready first") {
  TraceFolder folder;
  folder.add("t.0.json", R"({"workload_graph": [
    {"Id": 1, "NodeType": 4, "data_deps": [], "runtime": 30, "is_cpu_op": false},
    {"Id": 2, "NodeType": 4, "data_deps": [], "runtime": 20, "is_cpu_op": false},
    {"Id": 3, "NodeType": 4, "data_deps": [], "runtime": 45, "is_cpu_op": true}]})");
  CHECK(row_of_files({.files = folder.files(), .ranks = 2}).time == 50_us);
}

TEST_CASE("program of a trace: one rank's trace is spread to as many as are asked for, and the row says how") {
  TraceFolder folder;
  folder.add("t.0.json", step(100, 50, 10));
  // 2 (n - 1) steps of 1 us and 1 MB / n.
  const Row four = row_of_files({.files = folder.files(), .ranks = 4});
  CHECK(four.time == 110_us + 6 * 21_us);
  CHECK(four.ranks == 4);
  CHECK(four.notes.starts_with("the trace of rank 0 is that of all 4 ranks"));
  CHECK(row_of_files({.files = folder.files(), .ranks = 8}).time == 110_us + 14 * 11_us);
}

TEST_CASE("program of a trace: groups of ranks run their collectives beside one another") {
  TraceFolder folder;
  folder.add("t.0.json", step(100, 50, 10, R"(, "pg_name": "tp")"));
  folder.add("groups.json", R"({"tp": [0, 1], "of others": [2, 3]})");
  CHECK(row_of_files({.files = folder.files(), .ranks = 8}).time == 100_us + 82_us + 10_us);
}

TEST_CASE("program of a trace: a message between two ranks, and what GOAL computes") {
  TraceFolder folder;
  // 1 us of calculation, 1 MB over two cables: 1 us + 80 us, and 2 us more.
  folder.add("s.goal",
             "num_ranks 2\nrank 0 {\na: calc 1000\nb: send 1000000b to 1\nb requires a\n}\n"
             "rank 1 {\na: recv 1000000b from 0\nb: calc 2000\nb requires a\n}\n");
  CHECK(row_of_files({.files = folder.files()}).time == 84_us);
}

TEST_CASE("program of a trace: ranks that each receive before they send stop, and it is said who waits for whom, line by line") {
  TraceFolder folder;
  folder.add("s.goal",
             "num_ranks 2\nrank 0 {\nr: recv 10b from 1\ns: send 10b to 1\ns requires r\n}\n"
             "rank 1 {\nr: recv 10b from 0\ns: send 10b to 0\ns requires r\n}\n");
  std::string said;
  try {
    row_of_files({.files = folder.files()});
  } catch (const RunError& error) {
    said = error.what();
  }
  CHECK(said ==
        "job workload: no progress is possible:\n"
        "  rank 1 waits for a message of rank 0 (line 8); rank 0 has not sent it (line 4): it waits for line 3\n"
        "  rank 0 waits for a message of rank 1 (line 3); rank 1 has not sent it (line 9): it waits for line 8");
}

TEST_CASE("program of a trace: what is not said is refused, and taken as the message says where that is allowed") {
  TraceFolder folder;
  folder.add("t.0.json", R"({"workload_graph": [{"Id": 1, "NodeType": 7, "runtime": 70, "comm_type": 0}]})");
  std::string refused;
  try {
    cases_of_files({.files = folder.files(), .ranks = 2});
  } catch (const InputError& error) {
    refused = error.what();
  }
  CHECK(refused.find("node 1: the allreduce has no \"comm_size\"; taken as a computation of the time it took") != std::string::npos);
  CHECK(refused.find("--lenient") != std::string::npos);
  const Row row = row_of_files({.files = folder.files(), .ranks = 2, .lenient = true});
  CHECK(row.time == 70_us);
  CHECK(row.notes.find("not said: ") != std::string::npos);
}

TEST_CASE("program of a trace: collectives that the row's algorithm does not do are done by another, which the row names") {
  TraceFolder folder;
  folder.add("t.0.json", R"({"workload_graph": [{"Id": 1, "NodeType": 7, "comm_type": 6, "comm_size": 4000000},
                                                {"Id": 2, "NodeType": 7, "comm_type": 9, "data_deps": [1]},
                                                {"Id": 3, "NodeType": 7, "comm_type": 4, "comm_size": 4000000, "data_deps": [2]}]})");
  const Row row = row_of_files({.files = folder.files(), .ranks = 4});
  CHECK(row.notes.find("ring does no alltoall: ") != std::string::npos);
  CHECK(row.notes.find("ring does no barrier: ") != std::string::npos);
  // Each sends three blocks of 1 MB, 80 us each; so does the root of the scatter.
  CHECK(row.time >= 480_us);
  CHECK(row.time <= 500_us);
}

// Traces of other projects' test suites (models/traces/data/SOURCE.md), read and simulated on a switch with 100 Gb/s a rank.
#include "sim/cases/cases.hpp"
#include "sim/experiment.hpp"

#include <algorithm>
#include <filesystem>

#include <doctest/doctest.h>

using namespace weft;

namespace {

std::vector<std::string> files(const std::string& folder, const std::string& part) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(WEFT_TRACES_DIR) + "/" + folder))
    if (entry.path().filename().string().find(part) != std::string::npos) out.push_back(entry.path().string());
  std::ranges::sort(out);
  REQUIRE(!out.empty());
  return out;
}

Row row_of_trace(const ProgramFiles& program) {
  const auto cases = cases_of_program(program, {});
  const Scenario& s = cases.front().scenario;
  Experiment experiment(s, s.workload.algorithms.front());
  return experiment.run(s.workload.sizes.front());
}

std::string refused(const ProgramFiles& program) {
  try {
    row_of_trace(program);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("real traces: ASTRA-sim's all-reduce of 1 MiB on 4 ranks takes what a ring takes") {
  // 6 steps, each of 1 us (two cables) and 262,144 B / 100 Gb/s = 20,971.52 ns.
  CHECK(row_of_trace({.files = files("astra_sim", "all_reduce.")}).time == SimTime{6 * (1'000'000 + 20'971'520)});
}

TEST_CASE("real traces: ASTRA-sim's ring of sends and receives on 8 ranks takes what Weft's ring takes") {
  // Of 1 MiB: 14 steps of 1 us and 131,072 B / 100 Gb/s = 10,485.76 ns; in the first seven a rank then computes for 7 us.
  const Row row = row_of_trace({.files = files("astra_sim", "custom_allreduce.")});
  CHECK(row.messages == 8 * 14);
  CHECK(row.time == SimTime{14 * (1'000'000 + 10'485'760)} + 49_us);
}

TEST_CASE("real traces: Chakra's JSON, and the execution trace of PyTorch that it converts, need leniency") {
  CHECK(refused({.files = files("chakra", "small_chakra"), .ranks = 8}).find("the collective has no \"comm_type\"") != std::string::npos);
  // CPU: broadcasts 85 and 79 us after 318, 28 and 153 us on one thread; the kernels wait for theirs.
  CHECK(row_of_trace({.files = files("chakra", "small_chakra"), .ranks = 8, .lenient = true}).time >= 663_us);
  CHECK(refused({.files = files("chakra", "1.0.2"), .ranks = 8}).find("an execution trace has no times") != std::string::npos);
  CHECK(row_of_trace({.files = files("chakra", "1.0.2"), .ranks = 8, .lenient = true}).messages > 0);
}

TEST_CASE("real traces: PARAM's ResNet on two GPUs communicates what its process group communicates") {
  const Row row = row_of_trace({.files = files("param", "resnet_2gpu"), .lenient = true});
  CHECK(row.ranks == 2);
  CHECK(row.messages > 0);
  CHECK(row.notes.find("an execution trace has no times") != std::string::npos);
}

TEST_CASE("real traces: PARAM's DLRM of eight ranks in Kineto's form, all-to-alls and all-reduces between kernels") {
  const Row row = row_of_trace({.files = files("param", "_dlrm")});
  CHECK(row.ranks == 8);
  CHECK(row.time > 1_ms);
  CHECK(row.notes.find("ring does no alltoall") != std::string::npos);
}

TEST_CASE("real traces: one rank of a Kineto trace stands for all that its process group names") {
  const Row two = row_of_trace({.files = files("hta", "nccl_data")});
  CHECK(two.ranks == 2);
  CHECK(two.messages > 0);
  CHECK(row_of_trace({.files = files("hta", "nccl_data"), .ranks = 16}).time > two.time);  // its rings have more steps
}

TEST_CASE("real traces: two ranks of 128 are refused, and stand for the others where that is allowed") {
  CHECK(refused({.files = files("hta", "sampled_rank")}).find("2 of 128 ranks have a trace") != std::string::npos);
  CHECK(row_of_trace({.files = files("hta", "sampled_rank"), .lenient = true}).ranks == 128);
}

TEST_CASE("real traces: ATLAHS' schedule of recursive halving and doubling takes its six rounds") {
  // 2048, 1024, 512, 512, 1024 and 2048 bytes to and from the partner of the round, at 12.5 B/ns, over two cables each.
  CHECK(row_of_trace({.files = files("atlahs", "allreduce_recdoub")}).time == SimTime{6 * 1'000'000 + 2 * (163'840 + 81'920 + 40'960)});
}

TEST_CASE("real traces: LogGOPSim's binary tree and dissemination") {
  // One byte in 5 generations of children, sent in turn: 31 messages; the dissemination of 16 ranks has 4 rounds.
  const Row tree = row_of_trace({.files = files("loggopsim", "binary_tree")}),
            rounds = row_of_trace({.files = files("loggopsim", "dissemination")});
  CHECK(tree.messages == 31);
  CHECK(rounds.messages == 16 * 4);
  CHECK(rounds.time == SimTime{4 * 1'000'080});  // a byte and two cables each
}

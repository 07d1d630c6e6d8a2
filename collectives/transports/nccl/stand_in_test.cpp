// One process per GPU, and what NCCL does when a rank is lost: on the stand-in, with a process for each rank.
#include "collectives/executors/reference.hpp"
#include "collectives/registry/registry.hpp"
#include "collectives/transports/nccl/nccl.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace weft;

namespace {

constexpr std::chrono::milliseconds patience{20'000};

// Runs every rank in a process of its own, which says in the end what went wrong, "" for nothing.
std::vector<std::string> in_processes(int ranks, const std::function<std::string(Rank)>& run) {
  std::vector<std::pair<pid_t, int>> children;
  for (Rank r = 0; r < ranks; ++r) {
    std::array<int, 2> pipe{};
    REQUIRE(::pipe(pipe.data()) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      std::string said;
      try {
        said = run(r);
      } catch (const std::exception& e) {
        said = e.what();
      }
      const bool told = ::write(pipe[1], said.data(), said.size()) == static_cast<ssize_t>(said.size());
      ::_exit(told ? 0 : 1);
    }
    ::close(pipe[1]);
    children.emplace_back(child, pipe[0]);
  }
  std::vector<std::string> said(children.size());
  for (std::size_t r = 0; r < children.size(); ++r) {
    std::array<char, 4096> some{};
    for (ssize_t got; (got = ::read(children[r].second, some.data(), some.size())) > 0;)
      said[r].append(some.data(), static_cast<std::size_t>(got));
    ::close(children[r].second);
    int status = 0;
    ::waitpid(children[r].first, &status, 0);
    if (WEXITSTATUS(status) != 0) said[r] = fmt::format("exit {}", WEXITSTATUS(status));
  }
  return said;
}

// A rank's part of an all-reduce of four ranks, checked; by NCCL's own collective, then by a schedule, then by its graph.
std::string all_reduce(Rank rank, NcclMember member) {
  member.rank = rank;
  member.ranks = 4;
  member.device = rank;
  std::vector<int> devices(4, cuda::elsewhere);
  devices[static_cast<std::size_t>(rank)] = rank;
  NcclWorld nccl(member);
  cuda::Executor executor({.devices = devices, .messenger = &nccl, .patience = member.patience});
  const Schedule s = build({.algorithm = "ring", .ranks = 4});
  std::vector<std::byte> memory(buffer_bytes(s, 1003, DType::int32));
  const Buffer buffer{{.elements = 1003, .chunks = s.chunks}, DType::int32, memory.data()};
  executor.prepare(plan_streams(s, {.elements = 1003, .dtype = DType::int32, .carriage = StreamPlanSettings::Carriage::messages}));
  const auto fault = [&] {
    fill(s, ReduceOp::sum, {}, rank, buffer);
    executor.write(rank, memory);
    executor.run();
    executor.read(rank, memory);
    const RankResult result{rank, buffer};
    return verify(s, ReduceOp::sum, {}, std::span(&result, 1)).first_wrong;
  };
  std::string wrong = fault();
  executor.capture();
  wrong += fault();
  executor.replace([&] { nccl.run(s, DType::int32, ReduceOp::sum, 1003, executor); });
  return wrong + fault();
}

// What ranks that ended early leave behind is removed.
struct Meeting {
  std::string id = NcclWorld::make_id();
  Meeting() = default;
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;
  ~Meeting() { std::filesystem::remove_all(id.c_str()); }  // the stand-in's id is its folder
};

class Fault {
 public:
  explicit Fault(const char* fault) { setenv("WEFT_STAND_IN_NCCL_FAULT", fault, 1); }
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;
  ~Fault() { unsetenv("WEFT_STAND_IN_NCCL_FAULT"); }
};

bool too_few_devices() {
  if (cuda::device_count() >= 4) return false;
  MESSAGE("skipped: needs 4 devices");
  return true;
}

}  // namespace

TEST_CASE("nccl: ranks in processes of their own reduce, by messages, by their graph and by NCCL's collective") {
  if (too_few_devices()) return;
  const Meeting meeting;
  for (const std::string& said : in_processes(4, [&](Rank r) { return all_reduce(r, {.id = meeting.id, .patience = patience}); }))
    CHECK(said == "");
}

TEST_CASE("nccl: two ranks on one device are refused, in processes too") {
  const Meeting meeting;
  const auto said = in_processes(2, [&](Rank r) -> std::string {
    const NcclWorld nccl({.rank = r, .ranks = 2, .device = 0, .id = meeting.id, .patience = patience});
    return "";
  });
  for (const std::string& s : said) CHECK(s.find("Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 0") != std::string::npos);
}

TEST_CASE("nccl: a rank that never comes ends the meeting after a while") {
  const Fault silent("silent:1:0");
  const Meeting meeting;
  const auto said = in_processes(2, [&](Rank r) -> std::string {
    const NcclWorld nccl({.rank = r, .ranks = 2, .device = 0, .id = meeting.id, .patience = std::chrono::milliseconds{50}});
    return "";
  });
  CHECK(said[0] == "nccl: ncclCommInitRankConfig: rank 0 has waited 50 ms for the other ranks");
}

TEST_CASE("nccl: what the meeting says of a lost rank ends what waits for it, and is what is reported") {
  if (too_few_devices()) return;
  const Fault exit("exit:2:3");
  const Meeting meeting;
  const std::string end = (std::filesystem::temp_directory_path() / fmt::format("weft_stand_in_{}", ::getpid())).string();
  const auto look = [&] {
    if (std::filesystem::exists(end)) throw RunError("rank 2 is gone");
  };
  const auto said = in_processes(5, [&](Rank r) -> std::string {
    if (r < 4) return all_reduce(r, {.id = meeting.id, .patience = patience, .look = look});
    ::usleep(200'000);  // the others wait for rank 2 by then
    std::ofstream(end) << "gone";
    return "";
  });
  std::filesystem::remove(end);
  CHECK(said[2] == "exit 9");
  for (const std::size_t r : {0, 1, 3}) CHECK(said[r] == "rank 2 is gone");
}

TEST_CASE("nccl: an asynchronous error is reported where nobody knows who is lost, and nothing waits for ever") {
  if (too_few_devices()) return;
  const Fault error("error:1:2");
  const Meeting meeting;
  const auto said = in_processes(4, [&](Rank r) { return all_reduce(r, {.id = meeting.id, .patience = std::chrono::milliseconds{1000}}); });
  CHECK(said[1] == "nccl: rank 1: remote process exited or there was a network error");
  for (const std::size_t r : {0, 2, 3}) CHECK(said[r].find("after 1000 ms") != std::string::npos);
}

#include "sim/farm/farm.hpp"

#include "kernels/base/error.hpp"
#include "kernels/testing/scratch_folder.hpp"

#include <cstdlib>
#include <future>
#include <thread>

#include <doctest/doctest.h>

using namespace weft;
using namespace std::chrono_literals;

namespace {

JobRanks rank_of(int rank, int ranks) { return {.rank = rank, .ranks = ranks, .here = ranks, .name = "test"}; }

// Does every task at once: squares its number.
FarmWorker::Tasks squares(std::vector<std::pair<std::size_t, std::string>>& ended) {
  return {.slots = 2,
          .start = [&](std::size_t task) { ended.emplace_back(task, std::to_string(task * task)); },
          .waiting = [] { return std::vector<pollfd>(); },
          .ended = [&] { return std::exchange(ended, {}); },
          .interrupted = [] { return false; }};
}

// What a rank gets of batches of these fingerprints.
std::vector<std::optional<std::string>> serve(const JobRanks& job, const ScratchFolder& folder,
                                              const std::vector<std::string>& fingerprints, const std::string& command = "weft") {
  FarmWorker worker(job, folder.path(), command, 20s);
  std::vector<std::pair<std::size_t, std::string>> ended;
  std::vector<std::optional<std::string>> out;
  for (const std::string& fingerprint : fingerprints) out.push_back(worker.serve(fingerprint, squares(ended)));
  return out;
}

// A batch of tasks, none of which rank 0 does itself.
std::vector<std::string> lead(FarmLeader& leader, const std::string& fingerprint, std::size_t tasks) {
  std::vector<std::string> outcomes(tasks);
  std::vector<std::size_t> todo;
  for (std::size_t i = tasks; i-- > 0;) todo.push_back(i);
  std::size_t done = 0;
  leader.begin(fingerprint, {.done = [&](std::size_t task, std::string outcome) { outcomes[task] = std::move(outcome), ++done; },
                             .lost = [&](std::size_t task) { todo.push_back(task); }});
  while (done < tasks) {
    while (!todo.empty() && leader.give(todo.back())) todo.pop_back();
    std::vector<pollfd> fds = leader.waiting();
    ::poll(fds.data(), fds.size(), 20);
    leader.attend();
  }
  return outcomes;
}

}  // namespace

TEST_CASE("tasks are done by all ranks, and every rank gets the results of each batch") {
  const ScratchFolder folder;
  std::vector<std::future<std::vector<std::optional<std::string>>>> others;
  std::vector<std::string> first, second;
  {
    FarmLeader leader(rank_of(0, 3), folder.path(), "weft");
    for (int r = 1; r < 3; ++r)
      others.push_back(std::async(std::launch::async, [&, r] { return serve(rank_of(r, 3), folder, {"one", "two"}); }));
    first = lead(leader, "one", 50);
    leader.end("first");
    second = lead(leader, "two", 3);
    leader.end("second");
    CHECK(leader.warnings().empty());
  }
  CHECK(first[49] == "2401");
  CHECK(second == std::vector<std::string>{"0", "1", "4"});
  for (auto& other : others) CHECK(other.get() == std::vector<std::optional<std::string>>{"first", "second"});
  CHECK(std::filesystem::is_empty(folder.path()));  // no trace of the meeting
}

TEST_CASE("a rank that comes late gets what is over, and one that comes too late is told so") {
  const ScratchFolder folder;
  std::future<std::vector<std::optional<std::string>>> other;
  {
    FarmLeader leader(rank_of(0, 2), folder.path(), "weft");
    leader.begin("one", {});
    leader.end("first");
    other = std::async(std::launch::async, [&] { return serve(rank_of(1, 2), folder, {"one", "two"}); });
  }
  CHECK(other.get() == std::vector<std::optional<std::string>>{"first", std::nullopt});
}

TEST_CASE("what a lost rank was doing is done by another") {
  const ScratchFolder folder;
  FarmLeader leader(rank_of(0, 3), folder.path(), "weft");
  auto goes = std::async(std::launch::async, [&] {
    FarmWorker worker(rank_of(1, 3), folder.path(), "weft", 20s);
    FarmWorker::Tasks never_done = {.slots = 1,
                                    .start = [](std::size_t) { throw RunError("gone"); },
                                    .waiting = [] { return std::vector<pollfd>(); },
                                    .ended = [] { return std::vector<std::pair<std::size_t, std::string>>(); },
                                    .interrupted = [] { return false; }};
    CHECK_THROWS_AS(worker.serve("one", never_done), RunError);
  });
  auto stays = std::async(std::launch::async, [&] {
    goes.wait();
    return serve(rank_of(2, 3), folder, {"one"});
  });
  CHECK(lead(leader, "one", 3) == std::vector<std::string>{"0", "1", "4"});
  leader.end("");
  CHECK(stays.get() == std::vector<std::optional<std::string>>{""});
  REQUIRE(leader.warnings().size() == 1);
  CHECK(leader.warnings().front() == "rank 1 is lost; what it was simulating is simulated again");
}

TEST_CASE("a rank with other tasks, or another program, takes no part and is named") {
  const ScratchFolder folder;
  FarmLeader leader(rank_of(0, 4), folder.path(), "weft 1");
  auto other_rows = std::async(std::launch::async, [&] { return serve(rank_of(1, 4), folder, {"three"}, "weft 1"); });
  auto right = std::async(std::launch::async, [&] {
    other_rows.wait();
    return serve(rank_of(2, 4), folder, {"one"}, "weft 1");
  });
  CHECK(lead(leader, "one", 2) == std::vector<std::string>{"0", "1"});
  leader.end("");
  CHECK(other_rows.get() == std::vector<std::optional<std::string>>{std::nullopt});
  right.get();
  auto other_program = std::async(std::launch::async, [&] {
    FarmWorker worker(rank_of(3, 4), folder.path(), "weft 2", 20s);
    std::vector<std::pair<std::size_t, std::string>> ended;
    CHECK_THROWS_AS(worker.serve("one", squares(ended)), RunError);
  });
  while (other_program.wait_for(10ms) != std::future_status::ready) leader.attend();
  REQUIRE(leader.warnings().size() == 2);
  CHECK(leader.warnings()[0].starts_with("rank 1 takes no part: it has other rows than rank 0"));
  CHECK(leader.warnings()[1] == "rank 3 was asked for something else and takes no part: weft 2, and rank 0 for: weft 1");
}

TEST_CASE("who cannot read the meeting's file, or made one that others can read, does not meet") {
  const ScratchFolder folder;
  const auto file = meeting_file(rank_of(1, 2), folder.path());
  announce(file, {.secret = "abc", .addresses = {"127.0.0.1:9"}});
  REQUIRE(find_meeting(file));
  CHECK(find_meeting(file)->secret == "abc");
  CHECK(find_meeting(file)->addresses == std::vector<std::string>{"127.0.0.1:9"});
  std::filesystem::permissions(file, std::filesystem::perms::others_read, std::filesystem::perm_options::add);
  CHECK(!find_meeting(file));
  CHECK_THROWS_WITH_AS(FarmWorker(rank_of(1, 2), folder.path(), "weft", 0s), doctest::Contains("rank 1 has not found rank 0 through "),
                       RunError);

  FarmLeader leader(rank_of(0, 2), folder.path(), "weft");  // what is left of others is removed
  const auto place = find_meeting(file);
  REQUIRE(place);
  announce(file, {.secret = "guessed", .addresses = place->addresses});
  auto stranger = std::async(std::launch::async, [&] { CHECK_THROWS_AS(FarmWorker(rank_of(1, 2), folder.path(), "weft", 0s), RunError); });
  while (stranger.wait_for(10ms) != std::future_status::ready) leader.attend();
}

TEST_CASE("the environment of mpirun and of srun says which rank this is; a batch script and one process are none") {
  const std::vector<const char*> all = {"OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "OMPI_COMM_WORLD_LOCAL_SIZE",
                                        "OMPI_MCA_ess_base_jobid",
                                        "PMIX_NAMESPACE",
                                        "SLURM_PROCID",
                                        "SLURM_STEP_NUM_TASKS",
                                        "SLURM_STEP_TASKS_PER_NODE",
                                        "SLURM_JOB_ID",
                                        "SLURM_STEP_ID",
                                        "SLURM_NTASKS"};
  const auto in = [&](const std::vector<std::pair<const char*, const char*>>& environment) {
    for (const char* name : all) ::unsetenv(name);
    for (const auto& [name, value] : environment) ::setenv(name, value, 1);
    const auto job = job_ranks();
    for (const char* name : all) ::unsetenv(name);
    return job ? fmt::format("{} of {}, {} here, {}", job->rank, job->ranks, job->here, job->name) : "none";
  };
  CHECK(in({}) == "none");
  CHECK(in({{"OMPI_COMM_WORLD_RANK", "3"},
            {"OMPI_COMM_WORLD_SIZE", "8"},
            {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
            {"PMIX_NAMESPACE", "prterun-host-1@1"}}) == "3 of 8, 4 here, mpi_prterun_host_1_1");
  CHECK(in({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}, {"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}}) == "none");
  CHECK(in({{"SLURM_PROCID", "5"},
            {"SLURM_STEP_NUM_TASKS", "6"},
            {"SLURM_STEP_TASKS_PER_NODE", "3(x2)"},
            {"SLURM_JOB_ID", "77"},
            {"SLURM_STEP_ID", "0"}}) == "5 of 6, 3 here, slurm_77.0");
  CHECK(in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "6"}, {"SLURM_JOB_ID", "77"}}) == "none");
  CHECK(in({{"OMPI_COMM_WORLD_RANK", "9"}, {"OMPI_COMM_WORLD_SIZE", "8"}}) == "none");
}

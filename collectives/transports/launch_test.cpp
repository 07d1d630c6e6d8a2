#include "collectives/transports/launch.hpp"

#include <map>

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace weft;

namespace {

std::string in(const std::map<std::string, std::string>& variables) {
  const auto launch = launched([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
  if (!launch) return "none";
  return fmt::format("{}: {} of {}, {} here, at {}", launch->by, launch->rank, launch->ranks, launch->local_rank, launch->meeting);
}

}  // namespace

TEST_CASE("launch: torchrun, mpirun and srun say which rank this is and where rank 0 listens") {
  CHECK(in({}) == "none");
  CHECK(in({{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}, {"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}}) ==
        "torchrun: 3 of 8, 1 here, at node7:29500");
  // Its agent listens on the port itself.
  CHECK(in({{"RANK", "3"},
            {"WORLD_SIZE", "8"},
            {"LOCAL_RANK", "1"},
            {"MASTER_ADDR", "fe80::1"},
            {"MASTER_PORT", "29500"},
            {"TORCHELASTIC_USE_AGENT_STORE", "True"}}) == "torchrun: 3 of 8, 1 here, at [fe80::1]:29501");
  CHECK(in({{"OMPI_COMM_WORLD_RANK", "5"}, {"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}}) ==
        "mpirun: 5 of 8, 1 here, at ");
  CHECK(in({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}, {"PMIX_NAMESPACE", "a"}})
            .starts_with("mpirun: 1 of 2, -1 here, at 127.0.0.1:2"));
  const std::string slurm = in({{"SLURM_PROCID", "5"},
                                {"SLURM_STEP_NUM_TASKS", "6"},
                                {"SLURM_LOCALID", "2"},
                                {"SLURM_STEP_NODELIST", "gpu[07-09]"},
                                {"SLURM_JOB_ID", "77"},
                                {"SLURM_STEP_ID", "0"}});
  CHECK(slurm.starts_with("srun: 5 of 6, 2 here, at gpu07:2"));
}

TEST_CASE("launch: one process, a batch job's script and contradictions are no job of several") {
  CHECK(in({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}}) == "none");
  CHECK(in({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}, {"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}}) == "none");
  CHECK(in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "6"}, {"SLURM_JOB_ID", "77"}}) == "none");
  CHECK(in({{"RANK", "8"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}}) == "none");
  CHECK(in({{"RANK", "one"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}}) == "none");
}

TEST_CASE("launch: the first of Slurm's nodes") {
  CHECK(first_host("a") == "a");
  CHECK(first_host("a,b") == "a");
  CHECK(first_host("gpu[07-09,12],login") == "gpu07");
  CHECK(first_host("gpu[3,5-9]") == "gpu3");
  CHECK(first_host("rack[1-2]gpu[08-09].site,x") == "rack1gpu08.site");
}

TEST_CASE("launch: a job has a name, and ranks on this machine; who is no job of PyTorch looks past torchrun") {
  const std::map<std::string, std::string> variables = {{"RANK", "3"},
                                                        {"WORLD_SIZE", "8"},
                                                        {"LOCAL_WORLD_SIZE", "4"},
                                                        {"TORCHELASTIC_RUN_ID", "night"},
                                                        {"MASTER_ADDR", "a"},
                                                        {"MASTER_PORT", "1"},
                                                        {"SLURM_PROCID", "1"},
                                                        {"SLURM_STEP_NUM_TASKS", "6"},
                                                        {"SLURM_STEP_TASKS_PER_NODE", "3(x2)"},
                                                        {"SLURM_JOB_ID", "77"},
                                                        {"SLURM_STEP_ID", "0"}};
  const Environment environment = [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  const auto said = [](const std::optional<Launch>& l) { return l ? fmt::format("{} {}, {} here", l->by, l->job, l->here) : "none"; };
  CHECK(said(launched(environment)) == "torchrun night, 4 here");
  CHECK(said(launched_by_mpirun_or_srun(environment)) == "srun 77.0, 3 here");
}

#include "collectives/transports/launch.hpp"

#include "kernels/base/text_hash.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

namespace weft {
namespace {

constexpr int first_port = 20'000, ports = 10'000;  // below those that systems give out themselves

class Reader {
 public:
  explicit Reader(const Environment& environment) : environment_(environment) {}

  std::string text(const char* variable) const {
    const char* value = environment_(variable);
    return value == nullptr ? "" : value;
  }
  std::optional<int> number(const char* variable) const {
    const std::string value = text(variable);
    int out = 0;
    const char* const end = value.data() + value.size();
    return !value.empty() && std::from_chars(value.data(), end, out) == std::from_chars_result{end, {}} ? std::optional(out) : std::nullopt;
  }
  std::optional<Launch> launch(const char* by, const char* rank, const char* ranks, const char* local_rank) const {
    const auto r = number(rank), n = number(ranks);
    if (!r || !n || *n < 2 || *r < 0 || *r >= *n) return std::nullopt;
    return Launch{.by = by, .rank = *r, .ranks = *n, .local_rank = number(local_rank).value_or(-1)};
  }
  // Where PyTorch's variables say so: its agent keeps the port itself for a store of its own where it says that too.
  std::string master() const {
    const std::string host = text("MASTER_ADDR");
    const auto port = number("MASTER_PORT");
    if (host.empty() || !port) return {};
    return address(host, *port + (text("TORCHELASTIC_USE_AGENT_STORE") == "True" ? 1 : 0));
  }
  static std::string address(const std::string& host, int port) {
    return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
  }

 private:
  const Environment& environment_;
};

// The same on all ranks of a job, and seldom that of another.
int port_of_job(const Launch& launch) { return first_port + static_cast<int>(hash_of(launch.job) % ports); }

}  // namespace

std::string first_host(std::string_view list) {
  const std::size_t end = list.find_first_of(",[");
  std::string host(list.substr(0, end));
  if (end == std::string_view::npos || list[end] == ',') return host;
  const std::string_view numbers = list.substr(end + 1);
  const std::size_t close = numbers.find(']');
  host += numbers.substr(0, numbers.find_first_of(",-]"));
  if (close == std::string_view::npos) return host;
  const std::string_view rest = numbers.substr(close + 1);
  return host + (rest.empty() || rest.front() == ',' ? std::string() : first_host(rest));
}

Environment own_environment() {
  return [](const char* variable) { return std::getenv(variable); };
}

std::optional<Launch> launched(const Environment& environment) {
  const Reader in(environment);
  auto job = in.launch("torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK");
  if (!job || in.master().empty()) return launched_by_mpirun_or_srun(environment);
  job->here = in.number("LOCAL_WORLD_SIZE").value_or(1);
  job->job = in.text("TORCHELASTIC_RUN_ID");
  job->meeting = in.master();
  return job;
}

std::optional<Launch> launched_by_mpirun_or_srun(const Environment& environment) {
  const Reader in(environment);
  if (auto job = in.launch("mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK")) {
    const std::string space = in.text("PMIX_NAMESPACE");
    job->here = in.number("OMPI_COMM_WORLD_LOCAL_SIZE").value_or(1);
    job->job = space.empty() ? in.text("OMPI_MCA_ess_base_jobid") : space;
    job->meeting = in.master();
    if (job->meeting.empty() && job->here == job->ranks) job->meeting = Reader::address("127.0.0.1", port_of_job(*job));
    return job;
  }
  if (in.number("OMPI_COMM_WORLD_SIZE")) return std::nullopt;  // one process, whatever Slurm started mpirun for
  // Only srun says how many tasks a step has: in the script of a batch job there is one.
  if (auto job = in.launch("srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID")) {
    // "4", "2(x3)" or "2(x3),1": tasks on each node in turn. All are taken to have as many as the first.
    job->here = std::max(1, std::atoi(in.text("SLURM_STEP_TASKS_PER_NODE").c_str()));
    job->job = in.text("SLURM_JOB_ID") + "." + in.text("SLURM_STEP_ID");
    job->meeting = in.master();
    const std::string nodes = in.text("SLURM_STEP_NODELIST");
    if (job->meeting.empty() && !nodes.empty()) job->meeting = Reader::address(first_host(nodes), port_of_job(*job));
    return job;
  }
  return std::nullopt;
}

}  // namespace weft

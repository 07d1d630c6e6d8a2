#include "sim/cases/jobs.hpp"

#include "models/server/server_fabric.hpp"
#include "sim/cases/sized.hpp"
#include "sim/scenario/algorithms.hpp"
#include "sim/scenario/networks.hpp"
#include "sim/scenario/ranks_by_server.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace weft {
namespace {

constexpr int nobody = -1, the_workload = 0;

std::string name_of_job(const Scenario& scenario, int job) {
  if (job == the_workload) return "the workload";
  const std::string& name = scenario.jobs[static_cast<std::size_t>(job - 1)].name;
  return name.empty() ? fmt::format("job{}", job) : fmt::format("job \"{}\"", name);
}

// By endpoint: what round_robin takes in turn.
std::vector<int> groups_of(const Scenario& scenario) {
  if (scenario.server.is_sub_node()) return switch_of_endpoint(scenario.fabric.spec);
  std::vector<int> out;
  for (int e = 0; e < static_cast<int>(endpoints(scenario.fabric.spec, scenario.server)); ++e)
    out.push_back(e / scenario.server.gpu_count());
  return out;
}

// Who sits where, filled job by job.
class Seats {
 public:
  explicit Seats(const Scenario& scenario)
      : scenario_(scenario), taken_by_(static_cast<std::size_t>(endpoints(scenario.fabric.spec, scenario.server)), nobody) {}

  std::vector<int> free() const {
    std::vector<int> out;
    for (std::size_t e = 0; e < taken_by_.size(); ++e)
      if (taken_by_[e] == nobody) out.push_back(static_cast<int>(e));
    return out;
  }

  std::size_t size() const { return taken_by_.size(); }

  void take(const std::vector<int>& places, int job) {
    for (const int e : places) taken_by_[static_cast<std::size_t>(e)] = job;
  }

  std::vector<Problem> problems(const JobChoice& job, int ranks, const std::string& at) const {
    const Placement& placement = job.placement;
    std::vector<Problem> out;
    if (placement.policy == PlacementPolicy::hdrm) return {{at + "/placement", "hdrm fills the whole fabric; only the workload can"}};
    if (placement.policy != PlacementPolicy::list) {
      if (job.share_endpoints && static_cast<std::size_t>(ranks) > size())
        return {{at + "/ranks", fmt::format("must be at most {}, the endpoints of the fabric, got {}", size(), ranks)}};
      if (const auto left = free().size(); !job.share_endpoints && static_cast<std::size_t>(ranks) > left)
        out.push_back({at + "/ranks", fmt::format("needs {} endpoints; {} of {} are free beside the workload and the jobs before it", ranks,
                                                  left, taken_by_.size())});
      return out;
    }
    for (Problem& problem : weft::problems(placement, ranks, scenario_.fabric.spec, scenario_.server))
      out.push_back({at + "/placement" + problem.where, std::move(problem.what)});
    if (!out.empty() || job.share_endpoints) return out;
    for (std::size_t r = 0; r < placement.nodes.size(); ++r)
      if (const int by = taken_by_[static_cast<std::size_t>(placement.nodes[r])]; by != nobody)
        out.push_back({fmt::format("{}/placement/nodes/{}", at, r),
                       fmt::format("endpoint {} is taken by {}", placement.nodes[r], name_of_job(scenario_, by))});
    return out;
  }

  // On one endpoint of each host in turn, hosts where nobody is first.
  std::vector<int> place_servers(int count) const {
    std::vector<int> places = free(), host_of, on_host;
    for (std::size_t e = 0; e < taken_by_.size(); ++e) {
      host_of.push_back(static_cast<int>(e) / scenario_.server.gpu_count());
      on_host.resize(static_cast<std::size_t>(host_of.back()) + 1);
      if (taken_by_[e] != nobody) ++on_host.back();
    }
    const auto is_empty = [&](int e) { return on_host[static_cast<std::size_t>(host_of[static_cast<std::size_t>(e)])] == 0; };
    std::stable_partition(places.begin(), places.end(), is_empty);
    if (count > static_cast<int>(places.size()))
      throw InputError(fmt::format("{} parameter servers need endpoints; {} of {} are left", count, places.size(), size()));
    return place_among({.policy = PlacementPolicy::round_robin}, count, std::move(places), host_of);
  }

  // The job sits there from now on.
  std::vector<int> place(const JobChoice& job, int ranks, int number) {
    if (job.placement.policy == PlacementPolicy::round_robin && groups_.empty()) groups_ = groups_of(scenario_);
    std::vector<int> places = free();
    if (job.share_endpoints) {
      places.resize(size());
      std::iota(places.begin(), places.end(), 0);
    }
    std::vector<int> out = place_among(job.placement, ranks, std::move(places), groups_);
    for (const int e : out)
      if (int& by = taken_by_[static_cast<std::size_t>(e)]; by == nobody) by = number;
    return out;
  }

 private:
  const Scenario& scenario_;
  std::vector<int> taken_by_;
  std::vector<int> groups_;
};

int ranks_of(const Scenario& scenario, const AlgorithmChoice& algorithm, const JobChoice& job) {
  return job.ranks > 0 ? job.ranks : request_of(scenario, algorithm).ranks;
}

// Of the workload, or of a job beside it.
const AlgorithmChoice& algorithm_of(const Scenario& scenario, const AlgorithmChoice& row, std::size_t job) {
  if (job == the_workload || !scenario.jobs[job - 1].algorithm) return row;
  return *scenario.jobs[job - 1].algorithm;
}

std::vector<int> ranks_of_workload(const Scenario& scenario, const AlgorithmChoice& algorithm) {
  // The ranks of HDRM's schedule are ports already.
  if (algorithm.name == "hdrm") return endpoints_of_ports(scenario.fabric.spec, scenario.server);
  return place(scenario.placement, request_of(scenario, algorithm).ranks, scenario.fabric.spec, scenario.server);
}

// Where all ranks are seated: problems of the extra servers' seats.
std::vector<Problem> server_problems(const Scenario& scenario, std::size_t row, Seats& seats) {
  const std::vector<AlgorithmChoice>& rows = scenario.workload.algorithms;
  for (std::size_t job = 0; job <= scenario.jobs.size(); ++job) {
    const AlgorithmSettings& settings = algorithm_of(scenario, rows[row], job).settings;
    const bool has_own = job > 0 && scenario.jobs[job - 1].algorithm;
    std::string at = job > 0           ? fmt::format("/jobs/{}", job - 1)
                     : rows.size() > 1 ? fmt::format("/workload/algorithm/{}", row)
                                       : "/workload/algorithm";
    if (has_own) at += "/algorithm";
    if (has_own || job == 0) at += key_of_servers(settings);
    const int servers = extra_servers(settings), left = static_cast<int>(seats.free().size());
    if (servers > left)
      return {{at, fmt::format("needs {} endpoints for servers; {} of {} are left by the ranks of all jobs and the servers before", servers,
                               left, seats.size())}};
    seats.take(seats.place_servers(servers), static_cast<int>(job));
  }
  return {};
}

// What the job cannot do, wherever it sits.
std::vector<Problem> problems_alone(const Scenario& scenario, const AlgorithmChoice& row, Bytes size, const JobChoice& job,
                                    const std::string& at) {
  const Scenario alone = scenario_of_job(scenario, row, size, job);
  const AlgorithmChoice& choice = alone.workload.algorithms.front();
  if (choice.name == "hdrm") return {{at + "/algorithm", "hdrm fills the whole fabric; only the workload can"}};
  std::vector<Problem> out = algorithm_problems(alone, choice, at + "/algorithm");
  if (job.share_endpoints && is_in_network(choice.name))
    out.push_back({at + "/share_endpoints", fmt::format("{} needs endpoints of its own for its workers", choice.name)});
  if (out.empty() && weft::problems(alone.placement, alone.workload.ranks, alone.fabric.spec, alone.server).empty())
    if (std::string why = too_many_segments(alone, choice); !why.empty())
      out.push_back({at + (job.algorithm ? "/algorithm/segment" : job.size ? "/size" : ""), std::move(why)});
  for (Problem& problem : out)
    if (problem.where.starts_with("/workload")) problem.where = at + problem.where.substr(std::string_view("/workload").size());
  const auto element = static_cast<std::int64_t>(size_of(alone.workload.dtype));
  if (const Bytes bytes = alone.workload.sizes.front(); bytes.count % element != 0)
    out.push_back({at + "/size", fmt::format("must be a multiple of {} bytes, the size of a {}, got \"{}\"", element,
                                             name_of(alone.workload.dtype), to_string(bytes))});
  else if (bytes > max_message)
    out.push_back({at + "/size", fmt::format("must be at most {}, got \"{}\"", to_string(max_message), to_string(bytes))});
  if (!defined(alone.workload.op, alone.workload.dtype))
    out.push_back({at + "/dtype", fmt::format("\"{}\" is not defined on {}; it is on integers only", name_of(alone.workload.op),
                                              name_of(alone.workload.dtype))});
  return out;
}

// Programmable switches run one program: what all in-network jobs of a row must have in common.
std::vector<Problem> different_programs(const Scenario& scenario, const AlgorithmChoice& row) {
  std::vector<Problem> out;
  std::optional<AlgorithmChoice> first;
  if (is_in_network(row.name)) first = row;
  for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
    const AlgorithmChoice choice = scenario.jobs[i].algorithm.value_or(row);
    if (!is_in_network(choice.name)) continue;
    if (!first) first = choice;
    const std::string at = fmt::format("/jobs/{}/algorithm", i);
    const AtpSettings &a = choice.atp, &b = first->atp;
    const SwitchmlSettings &c = choice.switchml, &d = first->switchml;
    if (choice.name != first->name)
      out.push_back(
          {at, fmt::format("programmable switches run one program at a time: {} cannot run beside {}", choice.name, first->name)});
    else if (a.aggregators != b.aggregators || a.split != b.split || a.payload != b.payload || a.packet != b.packet || c.slots != d.slots ||
             c.payload != d.payload || c.packet != d.packet)
      out.push_back({at, fmt::format("jobs share the switches: {} and {} must not differ in aggregators, split, slots, payload and packet",
                                     label(choice), label(*first))});
    else if ((a.framing != b.framing || c.framing != d.framing) && scenario.network == NetworkKind::flow &&
             scenario.fabric.programmable.packets_per_second > 0)
      out.push_back(
          {at, fmt::format("on flow jobs that share switches of so many \"packets_per_second\" must not differ in framing, as {} and "
                           "{} do; packet simulates them",
                           label(choice), label(*first))});
  }
  return out;
}

void add_new(std::vector<Problem>& out, std::vector<Problem> more) {
  for (Problem& problem : more)
    if (std::find(out.begin(), out.end(), problem) == out.end()) out.push_back(std::move(problem));
}

}  // namespace

bool is_shared(const Scenario& s) {
  return !s.jobs.empty() || !s.traffic.empty() || (s.workload.iterations > 1 && !s.workload.training.given());
}

Scenario scenario_of_job(const Scenario& scenario, const AlgorithmChoice& algorithm, Bytes size, const JobChoice& job,
                         std::span<const int> seats) {
  Scenario out = scenario;
  Workload& workload = out.workload;
  workload.collective = job.collective.value_or(workload.collective);
  workload.sizes = {job.size.value_or(size)};
  workload.dtype = job.dtype.value_or(workload.dtype);
  workload.ranks = ranks_of(scenario, algorithm, job);
  workload.root = workload.root < workload.ranks ? workload.root : 0;
  workload.iterations = job.iterations;
  workload.compute = job.compute;
  workload.training = {};
  workload.compressions.clear();
  out.placement = seats.empty() ? job.placement : listed(seats.first(static_cast<std::size_t>(workload.ranks)));
  workload.algorithms = {with_server_defaults(out, job.algorithm ? *job.algorithm : without_server_defaults(scenario, algorithm))};
  out.start_skew.reset();
  out.copies.clear();
  out.jobs.clear();
  out.traffic.clear();
  return out;
}

std::vector<int> placement_of_workload(const Scenario& scenario, const AlgorithmChoice& algorithm) {
  if (extra_servers(algorithm.settings) + extra_servers_of_engine(scenario) == 0) return ranks_of_workload(scenario, algorithm);
  return placements_of_jobs(scenario, algorithm).front();
}

std::vector<std::vector<int>> placements_of_jobs(const Scenario& scenario, const AlgorithmChoice& algorithm) {
  std::vector<std::vector<int>> out = {ranks_of_workload(scenario, algorithm)};
  Seats seats(scenario);
  seats.take(out.front(), the_workload);
  for (const JobChoice& job : scenario.jobs) {
    out.push_back(seats.place(job, ranks_of(scenario, algorithm, job), static_cast<int>(out.size())));
  }
  for (std::size_t job = 0; job < out.size(); ++job) {
    int extra = extra_servers(algorithm_of(scenario, algorithm, job).settings);
    if (job == the_workload) extra += extra_servers_of_engine(scenario);
    const std::vector<int> servers = seats.place_servers(extra);
    seats.take(servers, static_cast<int>(job));
    out[job].insert(out[job].end(), servers.begin(), servers.end());
  }
  return out;
}

std::vector<Problem> traffic_problems(const Scenario& scenario) {
  if (scenario.traffic.empty()) return {};
  std::vector<Problem> out;
  if (!traits_of(scenario.network).shared)
    out.push_back({"/traffic", fmt::format("runs on the networks {} only, got \"{}\"", networks_that(&NetworkTraits::shared),
                                           name_of(scenario.network))});
  const auto places = endpoints(scenario.fabric.spec, scenario.server);
  for (std::size_t i = 0; i < scenario.traffic.size(); ++i)
    for (Problem& problem : problems(scenario.traffic[i], places))
      out.push_back({fmt::format("/traffic/{}{}", i, problem.where), std::move(problem.what)});
  return out;
}

std::vector<Problem> job_problems(const Scenario& scenario, const std::vector<std::size_t>& rows) {
  std::vector<Problem> out;
  if (!traits_of(scenario.network).shared) {
    const auto only = [&](const char* where) {
      out.push_back(
          {where, fmt::format("on the networks {} only, got \"{}\"", networks_that(&NetworkTraits::shared), name_of(scenario.network))});
    };
    if (!scenario.jobs.empty()) only("/jobs");
    if (scenario.workload.iterations > 1 && !scenario.workload.training.given()) only("/workload/iterations");
    return out;
  }
  if (scenario.jobs.size() > max_jobs)
    out.push_back({"/jobs", fmt::format("must be at most {} beside the workload, got {}", max_jobs, scenario.jobs.size())});
  std::set<std::string> names = {"workload"};
  for (std::size_t i = 0; i < scenario.jobs.size(); ++i)
    if (const std::string& name = scenario.jobs[i].name; !name.empty() && !names.insert(name).second)
      out.push_back({fmt::format("/jobs/{}/name", i), fmt::format("\"{}\" is the name of another job", name)});
  if (scenario.jobs.empty()) return out;
  for (const std::size_t row : rows) {
    const AlgorithmChoice& algorithm = scenario.workload.algorithms[row];
    add_new(out, different_programs(scenario, algorithm));
    Seats seats(scenario);
    seats.take(ranks_of_workload(scenario, algorithm), the_workload);
    bool seated = true;
    for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
      const JobChoice& job = scenario.jobs[i];
      const std::string at = fmt::format("/jobs/{}", i);
      const int ranks = ranks_of(scenario, algorithm, job);
      const bool trains = scenario.workload.training.given();  // and has no size of a message
      if (trains && !job.size)
        add_new(out, {{at + "/size",
                       "missing: a job beside a workload that trains is one collective, of a size of its own: write such as "
                       "\"64MiB\""}});
      const std::vector<Bytes>& sizes = scenario.workload.sizes;
      for (const Bytes size : trains || sizes.empty() ? std::vector{job.size.value_or(Bytes{})} : sizes)
        add_new(out, problems_alone(scenario, algorithm, size, job, at));
      if (!seated) continue;  // what the one before leaves is not known
      std::vector<Problem> seating = seats.problems(job, ranks, at);
      seated = seating.empty();
      add_new(out, std::move(seating));
      if (seated) seats.place(job, ranks, static_cast<int>(i) + 1);
    }
    if (out.empty()) add_new(out, server_problems(scenario, row, seats));
  }
  return out;
}

}  // namespace weft

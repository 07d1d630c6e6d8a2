#include "sim/what_if.hpp"

#include "kernels/base/error.hpp"
#include "models/fabric/analysis/faster_links.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/blame.hpp"
#include "sim/cases/jobs.hpp"
#include "sim/cases/sized.hpp"
#include "sim/experiment.hpp"
#include "sim/network/run_progress.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace weft {
namespace {

constexpr int factor = 2;

// What is made faster together.
struct Speedup {
  std::string name;
  FasterParts parts = {};
  bool reduce_engines = false;
  bool memories = false;  // of sockets, as what their cores copy together
};

void speed_up(HardwareProfile& hardware, const Speedup& speedup) {
  const auto faster = [](BitsPerSecond& rate) { rate.count *= factor; };
  if (speedup.parts.rate_caps) faster(hardware.stream_rate);
  if (speedup.memories) faster(hardware.copy_rate_of_socket);
  if (!speedup.reduce_engines) return;
  for (BitsPerSecond* rate : {&hardware.reduce_rate, &hardware.reduce_rate_beyond_cache, &hardware.reduce_rate_in_memory,
                              &hardware.copy_rate, &hardware.copy_rate_beyond_cache, &hardware.copy_rate_in_memory})
    faster(*rate);
}

std::vector<std::string> limits_of(const Row& row) {
  std::vector<std::string> out;
  if (row.critical_path)
    for (const LimitingResource& limit : row.critical_path->limits) out.push_back(limit.name);
  else if (!row.busiest_link.empty())
    out.push_back(row.busiest_link);
  return out;
}

bool is_memory(const Fabric& fabric, NodeId device) { return fabric.device(device).kind == DeviceKind::memory; }

std::vector<Speedup> speedups(const Row& row, const Fabric& fabric, const HardwareProfile& hardware, int resources) {
  std::vector<Speedup> out;
  std::set<std::string> asked;
  const auto add = [&](Speedup one) {
    if (asked.insert(one.name).second) out.push_back(std::move(one));
  };
  bool any_link = false;
  std::vector<std::string> limits = limits_of(row);
  limits.resize(std::min(limits.size(), static_cast<std::size_t>(resources)));
  for (const std::string& limit : limits) {
    if (limit == rate_cap_of_a_flow) {
      add({.name = "all rate caps of flows", .parts = {.rate_caps = true}});
      any_link |= hardware.stream_rate.count == 0;  // then only links cap rates
    } else if (limit.ends_with(reduce_engine_of_endpoint)) {
      add({.name = "all reduce engines", .reduce_engines = true});
    } else {
      LinkId link = 0;
      while (link < fabric.links() && fabric.link_name(link) != limit) ++link;
      check(link < fabric.links(), "the row is limited by {}, which the fabric does not have", limit);
      const std::vector<LinkId> alike = links_like(fabric, link);
      const bool of_memory = is_memory(fabric, fabric.from(link)) || is_memory(fabric, fabric.to(link));
      if (!of_memory || hardware.copy_rate_of_socket.count == 0) add({.name = limit, .parts = {.links = {link}}});
      if (alike.size() > 1 && std::ssize(alike) < fabric.links())
        add({.name = "all " + describe_alike(fabric, alike), .parts = {.links = alike}, .memories = of_memory});
      any_link = true;
    }
  }
  if (!any_link) return out;
  std::vector<LinkId> all(static_cast<std::size_t>(fabric.links()));
  std::iota(all.begin(), all.end(), 0);
  add({.name = fmt::format("all {} links", all.size()), .parts = {.links = std::move(all)}, .memories = true});
  return out;
}

// What NCCL chose for the row stays as it is: faster links would make it choose something else, which says nothing of the links.
AlgorithmChoice held(const Scenario& scenario, const AlgorithmChoice& algorithm, Bytes size, const Fabric& fabric) {
  const Workload& w = scenario.workload;
  if (algorithm.name != "nccl" || w.has_program() || w.training.given() || !w.compressions.empty()) return algorithm;
  const AlgorithmSettings chosen =
      for_size({scenario, scenario.hardware, fabric, placement_of_workload(scenario, algorithm), size}, algorithm).choice.settings;
  AlgorithmChoice out = algorithm;
  out.settings.nccl = chosen.nccl, out.settings.protocol = chosen.protocol;
  return out;
}

}  // namespace

void add_what_if(const Scenario& scenario, const AlgorithmChoice& algorithm, Bytes size, const WhatIfOptions& options, Row& row) {
  const std::shared_ptr<const Fabric> fabric = build(scenario.fabric.spec, scenario.server);
  const AlgorithmChoice as_chosen = held(scenario, algorithm, size, *fabric);
  int run = 0;
  for (const Speedup& speedup : speedups(row, *fabric, scenario.hardware, options.resources)) {
    Scenario changed = scenario;
    speed_up(changed.hardware, speedup);
    const std::shared_ptr<const Fabric> cluster = with_faster(fabric, speedup.parts, factor);
    SimTime time;
    if (scenario.repeat) {
      time = median_of_runs(changed, as_chosen, size, options.runs, cluster);
    } else {
      run_progress().next_run(++run, runs_of_what_if(options.resources));
      Experiment experiment(changed, as_chosen, cluster, Prover(options.runs.unprovable));
      time = time_of(experiment, size, changed.hardware);
    }
    const double change = row.time.ps > 0 ? static_cast<double>((time - row.time).ps) / static_cast<double>(row.time.ps) : 0;
    row.what_if.push_back({.twice_as_fast = speedup.name, .time = time, .change = change});
  }
}

}  // namespace weft

#include "collectives/bench/nccl_json.hpp"

#include "collectives/registry/measured_label.hpp"
#include "collectives/transports/socket_address.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace weft::bench {
namespace {

using Json = nlohmann::ordered_json;

const char* yes_or_no(bool b) { return b ? "true" : "false"; }

std::string program_of(Collective collective) {
  switch (collective) {
    case Collective::allreduce:
      return "all_reduce_perf";
    case Collective::reduce_scatter:
      return "reduce_scatter_perf";
    case Collective::allgather:
      return "all_gather_perf";
    case Collective::alltoall:
      return "alltoall_perf";
    default:  // broadcast_perf, reduce_perf; nccl-tests has no barrier
      return fmt::format("{}_perf", name_of(collective));
  }
}

std::string nccl_name_of(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return "half";
    case DType::float32:
      return "float";
    case DType::float64:
      return "double";
    default:
      return std::string(name_of(dtype));
  }
}

Json block(const Settings& s, const Row& row, const std::vector<double>& times_us, std::int64_t wrong) {
  const double time_us = quantile_of(times_us, 0.5), algbw = time_us > 0 ? static_cast<double>(row.size_bytes) / 1000 / time_us : 0;
  Json out = {{"time", time_us}, {"alg_bw", algbw}, {"bus_bw", algbw * bus_factor(s.collective, s.ranks)}};
  if (s.check)
    out["nwrong"] = wrong;
  else
    out["nwrong"] = "N/A";
  return out;
}

Json per_iteration(const std::vector<double>& times_us) {
  const double mean = std::accumulate(times_us.begin(), times_us.end(), 0.0) / static_cast<double>(times_us.size());
  const double cv = variation_percent(times_us);
  return {{"skipped_iterations", 0},
          {"min_us", quantile_of(times_us, 0)},
          {"max_us", quantile_of(times_us, 1)},
          {"avg_us", mean},
          {"p50_us", quantile_of(times_us, 0.5)},
          {"p95_us", quantile_of(times_us, 0.95)},
          {"p99_us", quantile_of(times_us, 0.99)},
          {"stdev_us", cv / 100 * mean},
          {"cv_pct", cv},
          {"times_us", times_us}};
}

Json result_of(const Settings& s, const Row& row) {
  const bool reduces =
      s.collective == Collective::allreduce || s.collective == Collective::reduce || s.collective == Collective::reduce_scatter;
  const bool rooted = s.collective == Collective::broadcast || s.collective == Collective::reduce;
  Json out = {{"size", row.size_bytes},
              {"count", row.count},
              {"type", nccl_name_of(s.dtype)},
              {"redop", reduces ? name_of(s.op) : "none"},
              {"root", fmt::format("{:>6}", rooted ? s.root : -1)},
              {"algorithm", measured_label(s.collective, row.algorithm, s.cut)}};
  if (s.compression) out["compression"] = label(*s.compression);
  if (!row.out_of_place_us.empty()) out["out_of_place"] = block(s, row, row.out_of_place_us, row.out_of_place_wrong);
  out["in_place"] = block(s, row, row.times_us, row.wrong);
  out["actual_iterations"] = s.iterations;
  out["experiment_name"] = row.algorithm;
  if (!times_each_iteration(s)) return out;
  if (!row.out_of_place_us.empty()) out["out_of_place_per_iter"] = per_iteration(row.out_of_place_us);
  out["in_place_per_iter"] = per_iteration(row.times_us);
  return out;
}

Json config_of(const Settings& s, const RunWritten& written) {
  Json devices = Json::array();
  for (Rank r = 0; r < s.ranks; ++r) {
    const auto at = static_cast<std::size_t>(r);
    const std::string host = at < s.hosts.size() ? host_in(s.hosts[at]) : written.host;
    devices.push_back({{"rank", r},
                       {"group", 0},
                       {"pid", static_cast<std::int64_t>(::getpid())},
                       {"hostname", host},
                       {"device", r},
                       {"device_hex", fmt::format("{:#04x}", r)},
                       {"device_info", written.about.empty() ? s.transport : written.about}});
  }
  Json out = {{"nthreads", 1}, {"ngpus", s.ranks}, {"minimum_bytes", s.first_bytes}, {"maximum_bytes", s.last_bytes}};
  if (s.step_bytes > 0)
    out["step_bytes"] = s.step_bytes;
  else
    out["step_factor"] = s.factor;
  out.update({{"warmup_iters", s.warmup},
              {"iterations", s.iterations},
              {"aggregated_iterations", s.aggregated},
              {"validation", s.check ? 1 : 0},
              {"graph", s.graph ? 1 : 0},
              {"blocking_collectives", yes_or_no(false)},
              {"per_iter_timing", yes_or_no(times_each_iteration(s))},
              {"per_iter_skip", 0},
              {"parallel_init", yes_or_no(false)},
              {"devices", std::move(devices)}});
  return out;
}

}  // namespace

std::string nccl_json(const Settings& s, const std::vector<Row>& rows, const RunWritten& written) {
  Json args = Json::array({program_of(s.collective)}), results = Json::array();
  for (const std::string& argument : s.arguments) args.push_back(argument);
  for (const Row& row : rows) results.push_back(result_of(s, row));
  const Json all = {{"version", 3},
                    {"tool", "weft bench"},
                    {"start_time", written.began},
                    {"args", std::move(args)},
                    {"env", Json::array()},
                    {"nccl_version", 0},
                    {"config", config_of(s, written)},
                    {"results", std::move(results)},
                    {"out_of_bounds", {{"count", written.wrong}, {"okay", yes_or_no(written.wrong == 0)}}},
                    {"average_bus_bandwidth", {{"bandwidth", written.busbw_average}, {"okay", yes_or_no(true)}}},
                    {"errors", Json::array()},
                    {"end_time", written.ended}};
  return all.dump(2) + "\n";
}

}  // namespace weft::bench

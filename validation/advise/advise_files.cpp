#include "validation/advise/advise_files.hpp"

#include "sim/report/plot.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weft {
namespace {

// As NCCL's variables have it.
std::string of_nccl(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != '_') out += c;
  return out;
}

bool on_switches(const AlgorithmChoice& choice) {
  return is_nccl(choice) && choice.settings.nccl != NcclAlgorithm::ring && choice.settings.nccl != NcclAlgorithm::tree;
}

// NCCL's tuner is asked of these, and its variables name them; what it sends from rank to rank it does not choose.
bool is_tuned_by_nccl(Collective collective) { return collective != Collective::alltoall && collective != Collective::barrier; }

std::string said_of_untuned(Collective collective) {
  return fmt::format(
      "# NCCL sends {} from rank to rank: neither its tuner nor NCCL_ALGO and NCCL_PROTO say how. They are of allreduce, reducescatter,\n"
      "# allgather, broadcast and reduce only, so there is nothing to set here.\n",
      name_of(collective));
}

std::vector<AdvisedRange> ranges_of(const Advice& a, bool (*counts)(const AlgorithmChoice&)) {
  return advised_ranges(a.times, [&](std::size_t candidate) { return counts(a.candidates[candidate]); });
}

// As short as a figure wants it.
std::string short_label(const AlgorithmChoice& choice) {
  const AlgorithmSettings& s = choice.settings;
  if (is_nccl(choice)) return fmt::format("nccl {} {}", name_of(s.nccl), name_of(s.protocol));
  std::string out = choice.name;
  if (s.channels > 1) out += fmt::format(", {} channels", s.channels);
  if (s.pieces > 1) out += fmt::format(", {} pieces", s.pieces);
  return out;
}

}  // namespace

bool is_nccl(const AlgorithmChoice& choice) { return choice.name == "nccl"; }

bool runs_for_real(const AlgorithmChoice& choice) { return choice.name != "hdrm" && !on_switches(choice); }

std::string advice_csv(const Advice& a) {
  std::string out = "collective,ranks,size_bytes,algorithm,time_us\n";
  for (const auto& [size, times] : a.times)
    for (const auto& [candidate, time] : times)
      out += fmt::format("{},{},{},\"{}\",{:.6f}\n", name_of(a.scenario.workload.collective), a.scenario.workload.ranks, size.count,
                         label(a.candidates[candidate]), static_cast<double>(time.ps) / 1e6);
  return out;
}

std::string advice_plot(const Advice& a) {
  std::set<std::size_t> shown;
  for (const AdvisedRange& range : advised_ranges(a.times, [](std::size_t) { return true; })) {
    shown.insert(range.candidate);
    if (!range.alone) shown.insert(range.runner_up);
  }
  CsvTable table{.header = {"size_bytes", "algorithm", "time over that of the first"}};
  for (const auto& [size, times] : a.times) {
    const auto first = std::ranges::min_element(times, {}, [](const auto& one) { return one.second; });
    for (const std::size_t candidate : shown)
      if (const auto found = times.find(candidate); found != times.end() && first->second.ps > 0)
        table.lines.push_back({std::to_string(size.count), short_label(a.candidates[candidate]),
                               fmt::format("{:.6f}", static_cast<double>(found->second.ps) / static_cast<double>(first->second.ps))});
  }
  return plot_script(table,
                     {.x = "size_bytes",
                      .y = "time over that of the first",
                      .by = {"algorithm"},
                      .title = fmt::format("{} of {} ranks", name_of(a.scenario.workload.collective), a.scenario.workload.ranks),
                      .log_x = true,
                      .max_series = table.lines.size()},
                     PlotFormat::svg);
}

std::string nccl_tuner_conf(const Advice& a) {
  const Scenario& s = a.scenario;
  const int gpus = s.server.gpu_count(), nodes = (s.workload.ranks + gpus - 1) / gpus;
  std::string out = "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff\n";
  if (!is_tuned_by_nccl(s.workload.collective)) return out + said_of_untuned(s.workload.collective);
  const std::vector<AdvisedRange> ranges = ranges_of(a, is_nccl);
  constexpr std::int64_t no_end = std::numeric_limits<std::int64_t>::max();  // the plugin has 64 bits too
  constexpr int own_channels = -1;                                           // fewer for fewer bytes, as they were simulated
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const AlgorithmChoice& choice = a.candidates[ranges[i].candidate];
    const AlgorithmSettings& settings = choice.settings;
    out += fmt::format("{},{},{},{},{},{},{},{},-1,-1\n", of_nccl(name_of(s.workload.collective)), i == 0 ? 0 : ranges[i].from.count,
                       i + 1 == ranges.size() ? no_end : ranges[i].to.count, name_of(settings.nccl), name_of(settings.protocol),
                       on_switches(choice) || settings.channels_follow ? own_channels : settings.channels, nodes, s.workload.ranks);
  }
  return out;
}

std::string nccl_settings(const Advice& a) {
  if (!is_tuned_by_nccl(a.scenario.workload.collective)) return said_of_untuned(a.scenario.workload.collective);
  std::set<std::string> algorithms, protocols;
  bool collnet = false;
  for (const AdvisedRange& range : ranges_of(a, is_nccl)) {
    const AlgorithmChoice& choice = a.candidates[range.candidate];
    algorithms.insert(of_nccl(name_of(choice.settings.nccl)));
    protocols.emplace(name_of(choice.settings.protocol));
    collnet |= a.scenario.fabric.sharp && on_switches(choice) && choice.settings.nccl != NcclAlgorithm::nvls_tree;
  }
  const std::string collective = of_nccl(name_of(a.scenario.workload.collective));
  return fmt::format(
      "# What is first at some size; NCCL chooses among these by itself. nccl_tuner.conf says which at which size.\n"
      "export NCCL_ALGO=\"{}:{}\"\nexport NCCL_PROTO=\"{}:{}\"\n{}",
      collective, fmt::join(algorithms, ","), collective, fmt::join(protocols, ","), collnet ? "export NCCL_COLLNET_ENABLE=1\n" : "");
}

std::string selection_table(const Advice& a) {
  std::string out = "collective,ranks,min_bytes,max_bytes,algorithm,channels,pieces,group,nics,nccl_algorithm\n";
  const std::vector<AdvisedRange> ranges = ranges_of(a, runs_for_real);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const AlgorithmChoice& choice = a.candidates[ranges[i].candidate];
    const AlgorithmSettings& s = choice.settings;
    out += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", name_of(a.scenario.workload.collective), a.scenario.workload.ranks,
                       i == 0 ? 0 : ranges[i].from.count, i + 1 == ranges.size() ? std::int64_t{1} << 50 : ranges[i].to.count, choice.name,
                       std::max(s.channels, 1), std::max(s.pieces, 1), s.group, s.nics, is_nccl(choice) ? name_of(s.nccl) : "auto");
  }
  return out;
}

}  // namespace weft

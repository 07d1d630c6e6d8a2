#include "sim/results/table.hpp"

#include "kernels/base/plural.hpp"
#include "models/nccl_tuning.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/cases/describe.hpp"
#include "sim/results/comparison.hpp"
#include "sim/results/row_notes.hpp"
#include "sim/results/version.hpp"
#include "sim/scenario/fault_fields.hpp"
#include "sim/scenario/repeat_fields.hpp"

#include <algorithm>
#include <set>
#include <sstream>

namespace weft {
namespace {

std::string what_runs(const Workload& w) {
  if (w.has_program()) return describe_program(w);
  if (w.collective == Collective::barrier) return std::string(name_of(w.collective));
  const bool reduces =
      w.collective == Collective::allreduce || w.collective == Collective::reduce || w.collective == Collective::reduce_scatter;
  return fmt::format("{} of {}{}", name_of(w.collective), name_of(w.dtype), reduces ? fmt::format(" ({})", name_of(w.op)) : "");
}

// Behind the line on the collective.
std::string training_in_effect(const Workload& w) {
  const Model& model = *w.training.model.table;
  const std::string sample = model.sample.empty() ? "" : ", sample: " + model.sample;
  std::string out = fmt::format("\n#   training {}: {} parameters in {} gradients{}; {} a GPU on {}, optimizer {}, {}", model.name,
                                model.parameters(), model.tensors(), sample, counted(w.training.batch_per_gpu, "sample"),
                                w.training.device.profile->name, name_of(w.training.optimizer), counted(w.iterations, "step"));
  const TrainingChoice& t = w.training;
  const DType on_wire = t.gradient_dtype.value_or(w.dtype);
  if (on_wire != w.dtype) out += fmt::format(", gradients as {} on the wire", name_of(on_wire));
  if (t.model_parallel > 1)
    out += fmt::format("; {} ranks share each model, and what these send one another is left out", t.model_parallel);
  const auto sizes_as = [&](DType type) {
    std::vector<Bytes> sizes;
    for (const ModelGradient& g : gradients(model, Bytes{static_cast<std::int64_t>(size_of(type))})) sizes.push_back(g.size);
    return sizes;
  };
  for (const EngineChoice& engine : w.training.engines)
    for (const std::string& remark :
         remarks(engine.settings, sizes_as(std::holds_alternative<DdpSettings>(engine.settings) ? w.dtype : on_wire)))
      out += fmt::format("\n#   {}: {}", label(engine), remark);
  return out;
}

std::string what_was_in_effect(const Case& one, std::size_t number, std::size_t cases) {
  const Scenario& s = one.scenario;
  std::string out;
  const std::string axes = axes_label(one);
  out += fmt::format("# {}{}{}\n", s.name, cases > 1 ? fmt::format(", case {} of {}", number + 1, cases) : "",
                     axes.empty() ? "" : ": " + axes);
  const std::string links = describe_links(s.fabric.spec);
  out += fmt::format("#   fabric {}{}{}; ecmp {}\n", describe(s.fabric.spec, s.server), links.empty() ? "" : "; ", links,
                     describe(s.fabric.ecmp));
  if (const std::string text = describe(s.fabric.programmable); !text.empty()) out += fmt::format("#   programmable switches: {}\n", text);
  if (s.fabric.sharp) out += "#   in-network aggregation for NCCL (SHARP)\n";
  for (const TrafficSpec& traffic : s.traffic) out += fmt::format("#   traffic {}\n", describe(traffic));
  for (const HostCopies& copies : s.copies) out += fmt::format("#   copies of {}\n", describe(copies));
  out += fmt::format("#   {} on {} of {} endpoints, placement {}", what_runs(s.workload), s.workload.ranks,
                     endpoints(s.fabric.spec, s.server), describe(s.placement));
  if (s.workload.training.given()) out += training_in_effect(s.workload);
  if (s.start_skew) out += fmt::format(", starts within {} (seed {})", to_string(s.start_skew->max), s.start_skew->seed);
  out += fmt::format("\n#   hardware {}, network {}, order {}, seed {}\n", describe(s.hardware), name_of(s.network), order_policy, s.seed);
  if (s.faults.any()) out += fmt::format("#   failures: {}\n", describe(s.faults));
  if (s.repeat) out += fmt::format("#   repeated: {}\n", describe(*s.repeat, s));
  return out;
}

// As name_of() says of its request.
std::string name_of_row(const Row& row) {
  return (row.training ? row.training->engine + ", " : "") + row.algorithm + (row.compressed ? ", " + row.compressed->compression : "");
}

// At the size: "mpi: ring", "two_level(inner=ring)".
std::string chosen_name(const Row& row) {
  if (row.chosen.empty()) return name_of_row(row);
  return row.chosen.starts_with(row.algorithm.substr(0, row.algorithm.find('('))) ? row.chosen : name_of_row(row) + ": " + row.chosen;
}

// How traces and servers were taken, each line once.
std::string notes_on(const std::vector<const Result*>& group) {
  std::vector<std::string> lines;
  for (const Result* result : group) {
    if (!result->row) continue;
    std::istringstream in(result->row->notes);
    for (std::string line; std::getline(in, line);)
      if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
  std::string out;
  for (const std::string& line : lines) out += fmt::format("# {}\n", line);
  return out;
}

// In which bandwidths of a table are given: GB/s, unless all are far below.
struct BandwidthUnit {
  double GBps = 1;
  const char* name = "GB/s";
  int decimals = 3;
};

BandwidthUnit bandwidth_unit(const std::vector<const Result*>& group) {
  double most = 0;
  for (const Result* result : group)
    if (result->row) most = std::max({most, algbw_GBps(*result->row), busbw_GBps(*result->row)});
  return most > 0 && most < 0.1 ? BandwidthUnit{.GBps = 1e-3, .name = "MB/s"} : BandwidthUnit{};
}

// Exact where that is short.
std::string size_text(Bytes size) {
  std::string exact = to_string(size);
  return exact.size() <= 8 ? exact : rounded_size(size);
}

// Columns of nccl-tests, then what Weft adds.
TextTable table_of(const std::vector<const Result*>& group) {
  const TimeUnit time = time_unit(group);
  const BandwidthUnit bandwidth = bandwidth_unit(group);
  const bool repeated = std::ranges::any_of(group, [](const Result* result) { return result->row && result->row->runs > 1; });
  TextTable out;
  out.columns = {{.title = "size"}, {.title = "algorithm", .left = true}, {.title = "time", .unit = time.name, .constant_moves = false}};
  out.mark_behind = 2;
  if (repeated) out.columns.push_back({.title = "p05 to p95", .unit = time.name, .constant_moves = false});
  for (const char* title : {"algbw", "busbw"}) out.columns.push_back({.title = title, .unit = bandwidth.name, .constant_moves = false});
  out.columns.push_back({.title = "NIC sends", .optional = true});
  out.columns.push_back({.title = "flows", .optional = true});
  out.columns.push_back({.title = "busiest link", .left = true, .optional = true});
  for (const Result* result : group) {
    if (!result->row) continue;
    const Row& row = *result->row;
    const auto rate = [&](double GBps) { return fmt::format("{:.{}f}", GBps / bandwidth.GBps, bandwidth.decimals); };
    TableRow line{.cells = {size_text(row.size), chosen_name(row), time.text(row.time)}, .marked = fastest(*result, group)};
    if (repeated) line.cells.push_back(fmt::format("{} to {}", time.text(row.time_p05), time.text(row.time_p95)));
    line.cells.push_back(rate(algbw_GBps(row)));
    line.cells.push_back(has_busbw(row) ? rate(busbw_GBps(row)) : "-");
    line.cells.push_back(rounded_size(row.wire_bytes_per_rank));
    line.cells.push_back(std::to_string(row.max_flows_per_link));
    line.cells.push_back(row.busiest_link.empty() ? "-"
                                                  : fmt::format("{} {:.1f} %", row.busiest_link, 100.0 * row.busiest_link_utilization));
    line.notes = notes_of(row);
    out.rows.push_back(std::move(line));
  }
  return out;
}

// Where flows meet, once for each algorithm of a case: it does not depend on the size.
std::string congestion(const std::vector<const Result*>& group) {
  std::vector<std::string> notes;
  for (const Result* result : group) {
    if (!result->row || result->row->max_flows_per_link < 2) continue;
    const Row& row = *result->row;
    std::string note = fmt::format("# {}: step {} puts {} flows on {}\n", row.algorithm, row.most_shared_step, row.max_flows_per_link,
                                   row.most_shared_link);
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
  }
  return fmt::format("{}", fmt::join(notes, ""));
}

// With the next one, where it announces a list: "no progress is possible: rank 0 in step 3 waits for ...". The rest of who waits for whom
// goes to stderr.
std::string first_line(const std::string& failure) {
  const std::size_t end = failure.find('\n');
  std::string out = failure.substr(0, end);
  if (!out.ends_with(':') || end == failure.npos) return out;
  const std::size_t next = failure.find_first_not_of(" \n", end);
  return next == failure.npos ? out : out + " " + failure.substr(next, failure.find('\n', next) - next);
}

std::string failures_of(const std::vector<const Result*>& group, const std::vector<Case>& cases) {
  std::string out;
  for (const Result* result : group)
    if (!result->row) out += fmt::format("# {}: {}\n", label(result->request, cases), first_line(result->failure));
  return out;
}

std::vector<const Result*> group_of(const std::vector<Result>& results, std::size_t case_index) {
  std::vector<const Result*> out;
  for (const Result& result : results)
    if (result.request.case_index == case_index) out.push_back(&result);
  return out;
}

// Whether several rows of a case are compared, and whether any stands for several runs.
bool compares(const std::vector<Case>& cases) {
  return std::any_of(cases.begin(), cases.end(), [](const Case& one) {
    const Workload& w = one.scenario.workload;
    return w.algorithms.size() > 1 || w.training.engines.size() > 1 || w.compressions.size() > 1;
  });
}
bool repeats(const std::vector<Case>& cases) {
  return std::any_of(cases.begin(), cases.end(), [](const Case& one) { return one.scenario.repeat.has_value(); });
}

std::string legend(const std::vector<Case>& cases) {
  std::string out =
      "#\n# flows: the most that one step puts on a link between switches; busiest link: the one with the most bytes carried over capacity "
      "x "
      "time, and that ratio; not always what limits the time, which the critical path says\n";
  if (repeats(cases))
    out += "# time: the median of the runs; p05, p95: its 5th and 95th percentile; notes: of the run nearest to the median\n";
  if (compares(cases))
    out += repeats(cases) ? "# * fastest of its case and size: its p95 lies below the p05 of all others\n"
                          : "# * fastest of its case and size\n";
  std::set<std::string> of_nccl;
  for (const Case& one : cases) {
    const auto is_nccl = [](const AlgorithmChoice& a) { return a.name == "nccl"; };
    const std::vector<AlgorithmChoice>& algorithms = one.scenario.workload.algorithms;
    const bool are_mixed = std::ranges::any_of(algorithms, is_nccl) && !std::ranges::all_of(algorithms, is_nccl);
    if (are_mixed && only_nccl_has_latencies(one.scenario.hardware)) of_nccl.insert(one.scenario.hardware.name);
  }
  if (!of_nccl.empty()) out += fmt::format("# {}\n", no_latencies_beside_nccl(fmt::to_string(fmt::join(of_nccl, ", "))));
  return out;
}

}  // namespace

std::string no_latencies_beside_nccl(std::string_view hardware) {
  return fmt::format(
      "hardware {} has latencies for NCCL only: messages of other algorithms cost nothing besides their links, and look faster than they "
      "are",
      hardware);
}

std::string rounded_size(Bytes size) {
  static constexpr std::pair<double, const char*> byte_units[] = {{0x1p30, "GiB"}, {0x1p20, "MiB"}, {0x1p10, "KiB"}};
  const auto bytes = static_cast<double>(size.count);
  for (const auto& [unit, name] : byte_units)
    if (bytes >= unit) return fmt::format("{:.4g}{}", bytes / unit, name);
  return to_string(size);
}

std::string to_table(const std::vector<Result>& results, const std::vector<Case>& cases, const TableStyle& style) {
  std::string out = fmt::format("# weft {} ({}), simulated\n", version(), commit());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::vector<const Result*> group = group_of(results, i);
    if (group.empty()) continue;
    out += "#\n" + wrapped(what_was_in_effect(cases[i], i, cases.size()), style.width) + to_text(table_of(group), style);
    out += wrapped(failures_of(group, cases) + notes_on(group) + congestion(group), style.width);
  }
  if (cases.size() > 1) out += comparison(results, cases, style);
  return out + wrapped(legend(cases), style.width);
}

std::string to_markdown(const std::vector<Result>& results, const std::vector<Case>& cases) {
  std::string out;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::vector<const Result*> group = group_of(results, i);
    if (group.empty()) continue;
    const std::string effect = what_was_in_effect(cases[i], i, cases.size());
    for (std::size_t begin = 0; begin < effect.size();) {
      const std::size_t end = effect.find('\n', begin);
      const std::string line = effect.substr(begin, end - begin);
      const std::size_t text = line.find_first_not_of("# ");
      out += begin == 0 ? fmt::format("{}### {}\n\n", i > 0 ? "\n" : "", line.substr(text)) : fmt::format("- {}\n", line.substr(text));
      begin = end + 1;
    }
    if (const TextTable table = table_of(group); !table.rows.empty()) out += "\n" + to_markdown(table);
    for (const Result* result : group)
      if (!result->row) out += fmt::format("\n{}: {}\n", label(result->request, cases), first_line(result->failure));
  }
  return out;
}

}  // namespace weft

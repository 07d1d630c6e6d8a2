#include "validation/advise/advise.hpp"

#include "kernels/files/files.hpp"
#include "kernels/files/output_files.hpp"
#include "models/nccl_tuning.hpp"
#include "sim/cases/describe.hpp"
#include "sim/cli/calibrated.hpp"
#include "sim/cli/commands.hpp"
#include "sim/report/plot.hpp"
#include "sim/results/table.hpp"
#include "sim/scenario/algorithms.hpp"
#include "sim/scenario/fault_fields.hpp"
#include "sim/scenario/profiles.hpp"
#include "sim/scenario/repeat_fields.hpp"
#include "validation/advise/advise_files.hpp"
#include "validation/advise/search.hpp"
#include "validation/advise/simulations.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <ostream>

namespace weft {
namespace {

// The candidates of a scenario, and what was found of them.
class Advisor {
 public:
  Advisor(Scenario scenario, std::ostream& err) : scenario_(std::move(scenario)), err_(err) {
    if (scenario_.workload.collective == Collective::barrier)
      throw InputError(
          "weft advise says which algorithm is fastest at which size, and a barrier has no bytes; weft run compares its algorithms");
    candidates_ = advise_candidates(scenario_);
    say_what_is_no_candidate();
    if (candidates_.empty()) throw InputError(fmt::format("no algorithm does {} on this cluster", name_of(scenario_.workload.collective)));
    leave_out_the_crowded();
    scenario_.workload.algorithms = candidates_;
  }

  void simulate() {
    AdviseSearch search(
        candidates_.size(), static_cast<std::int64_t>(size_of(scenario_.workload.dtype)),
        [this](std::size_t c) { return is_nccl(candidates_[c]); },
        [this](const std::vector<AdviseTask>& tasks) { return simulate_tasks(scenario_, tasks); });
    const std::vector<Bytes> sizes = sizes_asked();
    asked_ = {sizes.begin(), sizes.end()};
    search.run(sizes);
    times_ = search.times();
    points_ = search.points();
    for (const auto& [candidate, why] : search.failures())
      err_ << fmt::format("weft: {} is left out: {}\n", label(candidates_[candidate]), why);
  }

  const Scenario& scenario() const { return scenario_; }
  const std::vector<AlgorithmChoice>& candidates() const { return candidates_; }
  const AdviseTimes& times() const { return times_; }
  std::size_t points() const { return points_; }
  template <class Counts>
  std::vector<AdvisedRange> ranges(const Counts& counts) const {
    return advised_ranges(
        times_, [&](std::size_t c) { return counts(candidates_[c]); }, asked_);
  }

 private:
  // Says which of the scenario's list are no candidates.
  void say_what_is_no_candidate() const {
    const std::vector<AlgorithmChoice>& listed = scenario_.workload.algorithms;
    if (listed.size() < 2) return;
    for (const AlgorithmChoice& own : listed)
      if (std::ranges::find(candidates_, own.name, &AlgorithmChoice::name) == candidates_.end())
        err_ << fmt::format(
            "weft: {} is left out: weft advise compares none that chooses among others itself, or that needs servers or switches "
            "besides the ranks\n",
            label(own));
  }

  // What is under way at once makes a simulation long. One of them stays where there is nothing else.
  void leave_out_the_crowded() {
    const auto crowded = [this](const AlgorithmChoice& c) { return messages_at_once(scenario_, c) > max_messages_at_once; };
    if (std::ranges::all_of(candidates_, crowded)) return;
    for (const AlgorithmChoice& c : candidates_)
      if (crowded(c))
        err_ << fmt::format("weft: {} is left out: {} messages in one step, and weft advise simulates at most {}\n", label(c),
                            messages_at_once(scenario_, c), max_messages_at_once);
    std::erase_if(candidates_, crowded);
  }

  // Those of the scenario where it has several, else from 8 B to 8 GiB.
  std::vector<Bytes> sizes_asked() const {
    std::vector<Bytes> out = scenario_.workload.sizes;
    if (out.size() == 1) {
      out.clear();
      for (Bytes size{8}; size.count <= std::int64_t{8} << 30; size = Bytes{2 * size.count}) out.push_back(size);
    }
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  Scenario scenario_;
  std::ostream& err_;
  std::vector<AlgorithmChoice> candidates_;
  AdviseTimes times_;
  std::set<Bytes> asked_;
  std::size_t points_ = 0;
};

std::string rounded_percent(double share) { return fmt::format("{:.{}f} %", 100 * share, share < 0.1 ? 1 : 0); }

// Whether the profile was fitted to measurements of this algorithm's like: of the collective, on as many ranks and servers.
bool is_fitted(const Calibration& calibration, const Scenario& scenario, const AlgorithmChoice& algorithm) {
  const auto has = [](const std::vector<std::string>& list, std::string_view name) { return std::ranges::find(list, name) != list.end(); };
  const std::string_view collective = name_of(scenario.workload.collective);
  return has(calibration.algorithms, algorithm.name) && has(calibration.collectives, collective) &&
         beyond_scale(calibration, scenario, collective, scenario.workload.ranks).empty();
}

// How far the lead is beyond what the profile's own errors may explain: of algorithms that it was not fitted to they say nothing.
std::string how_sure(const Advisor& a, const AdvisedRange& range, const std::optional<Calibration>& calibration) {
  if (range.alone) return "alone";
  if (!calibration || calibration->held_out == 0) return "by the model";
  const Workload& workload = a.scenario().workload;
  for (const auto& [ranks, sizes] : calibration->sizes_near(name_of(workload.collective), workload.ranks))
    if (range.to < sizes.smallest || range.from > sizes.largest) return "by the model";
  for (const std::size_t each : {range.candidate, range.runner_up})
    if (!is_fitted(*calibration, a.scenario(), a.candidates()[each])) return "by the model";
  if (range.ahead > calibration->p95) return "sure";
  return range.ahead > calibration->median ? "likely" : "open";
}

std::string table_of(const Advisor& a, const std::vector<AdvisedRange>& ranges, const std::optional<Calibration>& calibration) {
  const auto name_of_candidate = [&](std::size_t c) { return label(without_server_defaults(a.scenario(), a.candidates()[c])); };
  std::size_t width = 9, other = 9;
  for (const AdvisedRange& r : ranges) {
    width = std::max(width, name_of_candidate(r.candidate).size());
    other = std::max(other, name_of_candidate(r.runner_up).size());
  }
  std::string out = fmt::format("# {:>10} {:>12}  {:<{}}  {:>21}  {:>15}  {:<{}}  {}\n", "from", "to", "algorithm", width, "time (us)",
                                "ahead", "of", other, "sure");
  for (const AdvisedRange& r : ranges)
    out += fmt::format("{:>12} {:>12}  {:<{}}  {:>21}  {:>15}  {:<{}}  {}\n", rounded_size(r.from), rounded_size(r.to),
                       name_of_candidate(r.candidate), width,
                       fmt::format("{:.1f} to {:.1f}", static_cast<double>(r.first.ps) / 1e6, static_cast<double>(r.last.ps) / 1e6),
                       r.alone ? "" : fmt::format("{} ({})", rounded_percent(r.ahead), rounded_percent(r.min_ahead)),
                       r.alone ? "" : name_of_candidate(r.runner_up), other, how_sure(a, r, calibration));
  return out;
}

constexpr std::array file_names = {"advice.csv", "selection.csv", "nccl_tuner.conf", "nccl_settings.sh", "advice.svg"};

// The figure last: what was simulated is not lost where there is no gnuplot. Files of other advice do not stay beside this one's.
void write_files(const Advisor& a, const AdviseArguments& arguments, std::ostream& err) {
  const std::filesystem::path folder = *arguments.output;
  const Advice advice{a.scenario(), a.candidates(), a.times()};
  std::vector<std::pair<std::string, std::string>> files = {{"advice.csv", advice_csv(advice)}, {"selection.csv", selection_table(advice)}};
  if (std::ranges::any_of(a.candidates(), is_nccl)) {
    files.emplace_back("nccl_tuner.conf", nccl_tuner_conf(advice));
    files.emplace_back("nccl_settings.sh", nccl_settings(advice));
  }
  for (const char* name : file_names)
    if (std::filesystem::remove(folder / name) && std::string_view(name).starts_with("nccl_") && files.size() == 2)
      err << fmt::format("weft: {} of older advice is removed: NCCL is no candidate here\n", (folder / name).string());
  for (const auto& [name, text] : files) write_file(folder / name, text);
  write_file(folder / "advice.svg", drawn_by_gnuplot(advice_plot(advice)));
}

void refuse_what_it_has(const AdviseArguments& arguments) {
  if (!arguments.output || arguments.force) return;
  std::vector<std::string> problems;
  for (const char* name : file_names)
    if (std::filesystem::exists(std::filesystem::path(*arguments.output) / name))
      problems.push_back(fmt::format("{}: has {} already; --force replaces it", *arguments.output, name));
  if (!problems.empty()) throw InputError(std::move(problems));
}

void make_folder(const std::string& folder) {
  refuse_empty_name("-o", folder, "a folder");
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw InputError(fmt::format("-o {}: cannot be written to: {}", folder, failed.message()));
}

Case case_of(const AdviseArguments& arguments) {
  std::vector<Case> cases = load_cases(arguments.scenario, parse_settings(arguments.set));
  if (cases.size() != 1)
    throw InputError(
        fmt::format("{}: /sweep: weft advise takes one cluster, got {} cases: --set /sweep={{}}", arguments.scenario, cases.size()));
  const Workload& w = cases.front().scenario.workload;
  if (w.has_program() || w.training.given() || !w.compressions.empty())
    throw InputError(
        fmt::format("{}: /workload: weft advise compares algorithms of one collective; a program, a model or compression has several",
                    arguments.scenario));
  return std::move(cases.front());
}

// Of NCCL's, which the profile says that it does not have on these ranks.
std::string said_of_protocols_left_out(const Scenario& s) {
  std::string lines;
  for (const NcclProtocol protocol : protocols_left_out(s)) {
    const bool is_ll = protocol == NcclProtocol::ll;
    lines += fmt::format("# NCCL's {} is left out: by its \"{}_bias\" of {:g}, hardware {} says that NCCL does not have it here\n#\n",
                         is_ll ? "LL" : "LL128", name_of(protocol), is_ll ? s.hardware.ll_bias : s.hardware.ll128_bias, s.hardware.name);
  }
  return lines;
}

// What else there is on the fabric, without which other algorithms may come first.
std::string conditions_of(const Scenario& s) {
  std::vector<std::string> out;
  if (s.placement.policy != PlacementPolicy::linear) out.push_back("placement " + describe(s.placement));
  if (s.start_skew) out.push_back("starts within " + to_string(s.start_skew->max));
  for (const JobChoice& job : s.jobs) out.push_back("beside job " + job.name);
  for (const TrafficSpec& traffic : s.traffic) out.push_back("traffic " + describe(traffic));
  for (const HostCopies& copies : s.copies) out.push_back("copies of " + describe(copies));
  if (s.faults.any()) out.push_back("failures: " + describe(s.faults));
  if (s.repeat) out.push_back("times are medians; repeated: " + describe(*s.repeat, s));
  std::string lines;
  for (const std::string& line : out) lines += fmt::format("#   {}\n", line);
  return lines;
}

}  // namespace

int advise_command(const AdviseArguments& arguments, std::ostream& out, std::ostream& err) {
  refuse_what_it_has(arguments);
  Advisor advisor(case_of(arguments).scenario, err);
  if (arguments.output) make_folder(*arguments.output);
  advisor.simulate();
  const Scenario& s = advisor.scenario();
  const auto calibration = calibration_in(ProfileLibrary::beside(arguments.scenario).calibration(s.hardware.name));
  const auto ranges = advisor.ranges([](const AlgorithmChoice&) { return true; });
  if (ranges.empty()) throw RunError("no algorithm could be simulated");
  out << fmt::format(
      "# weft advise: {} of {} ranks on {}, hardware {}, network {}\n{}#   {} algorithms with their settings, {} simulations\n#\n",
      name_of(s.workload.collective), s.workload.ranks, describe(s.fabric.spec, s.server), describe(s.hardware), name_of(s.network),
      conditions_of(s), advisor.candidates().size(), advisor.points());
  const std::vector<AlgorithmChoice>& candidates = advisor.candidates();
  if (only_nccl_has_latencies(s.hardware) && std::ranges::any_of(candidates, is_nccl) && !std::ranges::all_of(candidates, is_nccl))
    out << "# " << no_latencies_beside_nccl(s.hardware.name) << "\n#\n";
  out << said_of_protocols_left_out(s);
  const std::string table = table_of(advisor, ranges, calibration);
  out << table;
  if (const auto own = advisor.ranges(is_nccl); !own.empty()) {
    const std::string of_nccl = table_of(advisor, own, calibration);
    out << "#\n# among NCCL's own" << (of_nccl == table ? ": the same\n" : "\n" + of_nccl);
  }
  out << "#\n# ahead: the median over the sizes of a range (and the minimum); the ends of ranges are known to 5 % where another follows\n";
  if (calibration && calibration->held_out > 0)
    out << fmt::format(
        "# sure: ahead by more than the profile's error on what was held out, 95th percentile {}; likely: than its median, {}\n",
        rounded_percent(calibration->p95), rounded_percent(calibration->median));
  if (calibration && calibration->held_out > 0 &&
      !std::ranges::all_of(advisor.candidates(), [&](const AlgorithmChoice& c) { return is_fitted(*calibration, s, c); }))
    out << fmt::format(
        "# by the model: hardware {} was fitted to measurements of {} by {} on {} ranks{} only; what others cost was not measured\n",
        s.hardware.name, fmt::join(calibration->collectives, ", "), fmt::join(calibration->algorithms, ", "),
        fmt::join(calibration->ranks, ", "),
        calibration->nodes.empty() ? "" : fmt::format(" of {} servers", fmt::join(calibration->nodes, ", ")));
  if (!calibration || calibration->held_out == 0)
    out << fmt::format("# hardware {} was not fitted to measurements with points held out: how sure this is, nobody has measured\n",
                       s.hardware.name);
  if (arguments.output) write_files(advisor, arguments, err);
  return exit_ok;
}

}  // namespace weft

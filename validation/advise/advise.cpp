#include "validation/advise/advise.hpp"

#include "sim/cli/calibrated.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/runner.hpp"
#include "sim/scenario/describe.hpp"
#include "sim/scenario/files.hpp"
#include "sim/scenario/networks.hpp"
#include "sim/scenario/profiles.hpp"
#include "validation/advise/advise_files.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <ostream>
#include <set>

namespace weft {
namespace {

class Advisor {
 public:
  Advisor(Case one, std::ostream& err) : cases_{std::move(one)}, err_(err) {
    Scenario& s = cases_.front().scenario;
    candidates_ = advise_candidates(s);
    if (candidates_.empty()) throw InputError(fmt::format("no algorithm does {} on this cluster", name_of(s.workload.collective)));
    s.workload.algorithms = candidates_;
  }

  void simulate() {
    const std::vector<Bytes> sizes = sizes_asked();
    std::set<Bytes> all(sizes.begin(), sizes.end()), coarse;
    constexpr std::size_t every = 6;
    for (std::size_t i = 0; i < sizes.size(); i += every) coarse.insert(sizes[i]);
    coarse.insert(sizes.back());
    std::vector<Wanted> wanted;
    for (const Bytes size : coarse)
      for (std::size_t c = 0; c < candidates_.size(); ++c) wanted.push_back({c, size});
    run(wanted);
    wanted.clear();
    constexpr double near = 1.5;  // who is further behind at both neighbours is not first between them
    for (const Bytes size : all)
      if (!times_.contains(size))
        for (const std::size_t c : close_around(size, near)) wanted.push_back({c, size});
    run(wanted);
    refine();
  }

  const Scenario& scenario() const { return cases_.front().scenario; }
  const std::vector<AlgorithmChoice>& candidates() const { return candidates_; }
  const AdviseTimes& times() const { return times_; }
  std::size_t points() const { return points_; }

 private:
  struct Wanted {
    std::size_t candidate;
    Bytes size;
  };

  // Those of the scenario where it has several, else from 8 B to 8 GiB.
  std::vector<Bytes> sizes_asked() const {
    std::vector<Bytes> out = scenario().workload.sizes;
    if (out.size() == 1) {
      out.clear();
      for (Bytes size{8}; size.count <= std::int64_t{8} << 30; size = Bytes{2 * size.count}) out.push_back(size);
    }
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  void run(const std::vector<Wanted>& wanted) {
    std::vector<RowRequest> requests;
    for (const Wanted& w : wanted)
      requests.push_back({.scenario = &scenario(), .algorithm = &scenario().workload.algorithms[w.candidate], .size = w.size});
    const std::vector<Result> results = run_rows(requests, cases_, simulated_row, {});
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i].failure == interrupted_row) throw RunError("interrupted");
      if (results[i].row) {
        times_[wanted[i].size][wanted[i].candidate] = results[i].row->time;
        ++points_;
      } else if (failed_.insert(wanted[i].candidate).second) {
        err_ << fmt::format("weft: {} is left out: {}\n", label(candidates_[wanted[i].candidate]), results[i].failure);
      }
    }
  }

  std::set<std::size_t> close_at(Bytes size, double near) const {
    const auto& here = times_.at(size);
    SimTime best = SimTime::never();
    for (const auto& [candidate, time] : here) best = std::min(best, time);
    std::set<std::size_t> out;
    for (const auto& [candidate, time] : here)
      if (static_cast<double>(time.ps) <= near * static_cast<double>(best.ps)) out.insert(candidate);
    // The first of NCCL's own is always among them: its tuner asks for no other.
    std::optional<std::size_t> own;
    for (const auto& [candidate, time] : here)
      if (is_nccl(candidates_[candidate]) && (!own || time < here.at(*own))) own = candidate;
    if (own) out.insert(*own);
    return out;
  }

  std::set<std::size_t> close_around(Bytes size, double near) const {
    std::set<std::size_t> out;
    const auto above = times_.upper_bound(size);
    if (above != times_.end()) out = close_at(above->first, near);
    if (above != times_.begin()) out.merge(close_at(std::prev(above)->first, near));
    return out;
  }

  // Sizes between two at which others are first, until the crossing is known to a twentieth.
  void refine() {
    constexpr double known = 1.05;
    const auto element = static_cast<std::int64_t>(size_of(scenario().workload.dtype));
    for (int round = 0; round < 6; ++round) {
      std::set<Bytes> between;
      for (const auto counts : {+[](const AlgorithmChoice&) { return true; }, &is_nccl}) {
        const auto ranges = advised_ranges(times_, [&](std::size_t c) { return counts(candidates_[c]); });
        for (std::size_t i = 0; i + 1 < ranges.size(); ++i) {
          const auto above = times_.upper_bound(ranges[i].to);
          if (above == times_.end() || above == times_.begin()) continue;
          const Bytes low = std::prev(above)->first, high = above->first;
          const Bytes middle{ranges[i].to.count / element * element};
          if (static_cast<double>(high.count) > known * static_cast<double>(low.count) && middle > low && middle < high)
            between.insert(middle);
        }
      }
      std::vector<Wanted> wanted;
      for (const Bytes size : between)
        for (const std::size_t c : close_around(size, 1.1)) wanted.push_back({c, size});
      if (wanted.empty()) return;
      run(wanted);
    }
  }

  std::vector<Case> cases_;
  std::ostream& err_;
  std::vector<AlgorithmChoice> candidates_;
  AdviseTimes times_;
  std::set<std::size_t> failed_;
  std::size_t points_ = 0;
};

std::string percent(double share) { return fmt::format("{:.{}f} %", 100 * share, share < 0.1 ? 1 : 0); }

// Whether the profile was fitted to measurements of this algorithm.
bool is_fitted(const Calibration& calibration, const AlgorithmChoice& algorithm) {
  return std::ranges::find(calibration.algorithms, algorithm.name) != calibration.algorithms.end();
}

// How far the lead is beyond what the profile's own errors may explain: of algorithms that it was not fitted to they say nothing.
std::string how_sure(const Advisor& a, const AdvisedRange& range, const std::optional<Calibration>& calibration) {
  if (range.alone) return "alone";
  if (!calibration || calibration->held_out == 0) return "by the model";
  if (!is_fitted(*calibration, a.candidates()[range.candidate]) || !is_fitted(*calibration, a.candidates()[range.runner_up]))
    return "by the model";
  if (range.ahead > calibration->p95) return "sure";
  return range.ahead > calibration->median ? "likely" : "open";
}

std::string table_of(const Advisor& a, const std::vector<AdvisedRange>& ranges, const std::optional<Calibration>& calibration) {
  std::size_t width = 9, other = 9;
  for (const AdvisedRange& r : ranges) {
    width = std::max(width, label(a.candidates()[r.candidate]).size());
    other = std::max(other, label(a.candidates()[r.runner_up]).size());
  }
  std::string out = fmt::format("# {:>10} {:>12}  {:<{}}  {:>21}  {:>15}  {:<{}}  {}\n", "from", "to", "algorithm", width, "time (us)",
                                "ahead", "of", other, "sure");
  for (const AdvisedRange& r : ranges)
    out += fmt::format("{:>12} {:>12}  {:<{}}  {:>21}  {:>15}  {:<{}}  {}\n", to_string(r.from), to_string(r.to),
                       label(a.candidates()[r.candidate]), width,
                       fmt::format("{:.1f} to {:.1f}", static_cast<double>(r.first.ps) / 1e6, static_cast<double>(r.last.ps) / 1e6),
                       r.alone ? "" : fmt::format("{} ({})", percent(r.ahead), percent(r.least_ahead)),
                       r.alone ? "" : label(a.candidates()[r.runner_up]), other, how_sure(a, r, calibration));
  return out;
}

void write_files(const Advisor& a, const AdviseArguments& arguments) {
  const std::filesystem::path folder = *arguments.output;
  const Advice advice{a.scenario(), a.candidates(), a.times()};
  std::vector<std::pair<std::string, std::string>> files = {{"advice.csv", advice_csv(advice)}, {"selection.csv", selection_table(advice)}};
  if (std::ranges::any_of(a.candidates(), is_nccl)) {
    files.emplace_back("nccl_tuner.conf", nccl_tuner_conf(advice));
    files.emplace_back("nccl_settings.sh", nccl_settings(advice));
  }
  std::filesystem::create_directories(folder);
  for (const auto& [name, text] : files) write_file(folder / name, text);
}

void refuse_what_it_has(const AdviseArguments& arguments) {
  if (!arguments.output || arguments.force) return;
  std::vector<std::string> problems;
  for (const char* name : {"advice.csv", "selection.csv", "nccl_tuner.conf", "nccl_settings.sh"})
    if (std::filesystem::exists(std::filesystem::path(*arguments.output) / name))
      problems.push_back(fmt::format("{}: has {} already; --force replaces it", *arguments.output, name));
  if (!problems.empty()) throw InputError(std::move(problems));
}

Case case_of(const AdviseArguments& arguments) {
  std::vector<Setting> settings;
  for (const std::string& text : arguments.set) settings.push_back(parse_setting(text));
  std::vector<Case> cases = load_cases(arguments.scenario, settings);
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

}  // namespace

int advise_command(const AdviseArguments& arguments, std::ostream& out, std::ostream& err) {
  refuse_what_it_has(arguments);
  Advisor advisor(case_of(arguments), err);
  advisor.simulate();
  const Scenario& s = advisor.scenario();
  const auto calibration = calibration_in(ProfileLibrary::beside(arguments.scenario).calibration(s.hardware.name));
  const auto ranges = advised_ranges(advisor.times(), [](std::size_t) { return true; });
  if (ranges.empty()) throw RunError("no algorithm could be simulated");
  out << fmt::format(
             "# weft advise: {} of {} ranks on {}, hardware {}, network {}\n#   {} algorithms with their settings, {} simulations\n#\n",
             name_of(s.workload.collective), s.workload.ranks, describe(s.fabric.spec, s.server), s.hardware.name, name_of(s.network),
             advisor.candidates().size(), advisor.points())
      << table_of(advisor, ranges, calibration);
  const auto of_nccl = advised_ranges(advisor.times(), [&](std::size_t c) { return is_nccl(advisor.candidates()[c]); });
  if (!of_nccl.empty()) out << "#\n# among NCCL's own\n" << table_of(advisor, of_nccl, calibration);
  out << "#\n# ahead: the median over the sizes of a range (and the least); the ends of ranges are known to 5 % where another follows\n";
  if (calibration && calibration->held_out > 0)
    out << fmt::format(
        "# sure: ahead by more than the profile's error on what was held out, 95th percentile {}; likely: than its median, {}\n",
        percent(calibration->p95), percent(calibration->median));
  if (calibration && calibration->held_out > 0 &&
      !std::ranges::all_of(advisor.candidates(), [&](const AlgorithmChoice& c) { return is_fitted(*calibration, c); }))
    out << fmt::format(
        "# by the model: hardware {} was fitted to measurements of {} only; what the messages of other algorithms cost was not measured\n",
        s.hardware.name, fmt::join(calibration->algorithms, ", "));
  if (!calibration || calibration->held_out == 0)
    out << fmt::format("# hardware {} was not fitted to measurements with points held out: how sure this is, nobody has measured\n",
                       s.hardware.name);
  if (arguments.output) write_files(advisor, arguments);
  return exit_ok;
}

}  // namespace weft

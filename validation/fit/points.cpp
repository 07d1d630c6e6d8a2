#include "kernels/base/plural.hpp"
#include "kernels/base/statistics.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/results/row.hpp"
#include "sim/scenario/algorithms.hpp"
#include "validation/fit/algorithm_measured.hpp"
#include "validation/fit/fit.hpp"
#include "validation/fit/repeated_runs.hpp"
#include "validation/fit/series.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace weft {
namespace {

// More of all that are too fast say that the scenario's links are wrong, fewer that a switch added in between.
constexpr std::size_t one_in = 4;

std::string unknown_algorithm(const Measurement& m) {
  if (m.algorithm.empty()) return fmt::format("{} is no collective of Weft's", m.collective);
  const auto collective = collective_named(m.collective);
  if (!collective) return fmt::format("{} of {} is no algorithm of Weft's", m.algorithm, m.collective);
  return fmt::format("{} of {} is no algorithm of Weft's; name one of these with --rename: {}", m.algorithm, m.collective,
                     fmt::join(algorithm_names(*collective), ", "));
}

std::string file_of(const Measurement& m) { return m.where.substr(0, m.where.rfind(':')); }

// Every second size, or pair, of each call.
void hold_out(std::vector<FitPoint>& points) {
  std::map<decltype(call_of(points.front())), std::map<decltype(place_in_series(points.front())), bool>> fitted;
  for (const FitPoint& p : points) fitted[call_of(p)][place_in_series(p)] = false;
  for (auto& [call, places] : fitted)
    for (bool next = true; auto& [place, is_fitted] : places) is_fitted = std::exchange(next, !next);
  for (FitPoint& p : points) p.fitted = fitted[call_of(p)][place_in_series(p)];
}

// Of the points of one series that are fitted, from those of them that are near in size.
void set_undisturbed(std::span<FitPoint> series) {
  constexpr std::size_t near = 5;  // so many say what usually is between the buffers
  std::vector<FitPoint*> both;
  for (FitPoint& p : series)
    if (p.fitted && p.measured.other_buffer_us > 0) both.push_back(&p);
  for (std::size_t i = 0; i < both.size() && both.size() >= near; ++i) {
    const std::size_t first = std::min(i - std::min(i, near / 2), both.size() - near);
    std::vector<double> ratios;
    for (std::size_t k = first; k < first + near; ++k) ratios.push_back(both[k]->measured.time_us / both[k]->measured.other_buffer_us);
    const Measurement& m = both[i]->measured;
    both[i]->undisturbed_us = std::clamp(median(std::move(ratios)) * m.other_buffer_us, std::min(m.time_us, m.other_buffer_us), m.time_us);
  }
}

// Makes points of rows, one after the other.
class Points {
 public:
  Points(Simulator& simulator, const Selection& selection)
      : simulator_(simulator), selection_(selection), workload_(simulator.scenario().workload), gpus_(simulator.gpus_of_a_node()) {
    for (const AlgorithmChoice& choice : workload_.algorithms) algorithms_.push_back(without_server_defaults(simulator.scenario(), choice));
  }

  void add(Measurement row) {
    auto algorithm = algorithm_measured(row, selection_.renames, algorithms_);
    if (!algorithm && row.algorithm.empty() && collective_named(row.collective)) {
      algorithm = AlgorithmChoice{algorithm_names(*collective_named(row.collective)).front()};
      assume(row, fmt::format("the scenario has no algorithm that does {}; taken for {} (--rename =NAME says otherwise)", row.collective,
                              algorithm->name));
    }
    if (!algorithm) return leave_out(row, unknown_algorithm(row));
    constexpr const char* alone = "one rank has nobody to talk to";
    if (row.ranks == 1) return leave_out(row, alone);
    const auto seats = seats_of(row);
    if (!seats) return;
    const int ranks = seats->ranks;
    if (ranks < 2) return leave_out(row, alone);
    if (row.told_ranks && (ranks < row.told_ranks->least || ranks > row.told_ranks->most)) contradict(row, ranks);
    if (row.size_of_a_rank) {
      if (row.size_bytes > largest_bytes / ranks)
        return leave_out(row, fmt::format("{} blocks of {} bytes are more than {} bytes", ranks, row.size_bytes, largest_bytes));
      row.size_bytes *= ranks;
      row.size_of_a_rank = false;
    }
    FitPoint point{row,
                   {.collective = row.collective,
                    .algorithm = *algorithm,
                    .ranks = ranks,
                    .size = Bytes{row.size_bytes},
                    .nodes = seats->nodes,
                    .of_each_node = seats->of_each_node,
                    .from = seats->from,
                    .to = seats->to,
                    .window = seats->window,
                    .back_to_back = calls_of(row, *algorithm),
                    .of_rank_0 = row.of_rank_0,
                    .mean_of_ranks = row.mean_of_ranks,
                    .gpus_of_a_process = row.gpus_of_a_process}};
    if (const std::vector<Problem> problems = simulator_.problems(point.setup); !problems.empty()) {
      for (const Problem& p : problems) refuse(row, fmt::format("{}{}: {}", label(*algorithm), p.where, p.what));
      return;
    }
    if (const double cables = simulator_.path_latency_us(point.setup); row.time_us < cables)
      assume(row, fmt::format("has latencies below the {:.3g} us that the scenario's cables alone take: give /fabric lower latencies; or "
                              "were both ranks on one node (FILE:nodes=1)?",
                              cables));
    const double limit = selection_.wire_is_known ? simulator_.wire_limit_us(point.setup) : 0;
    if (row.time_us < tolerance_of_links * limit)
      too_fast_.push_back(
          fmt::format("{}: {} of {} ranks, {} bytes in {:g} us, is faster than the scenario's wire allows, {:.4g} us at least without "
                      "aggregation in the "
                      "network",
                      row.where, point.setup.collective, point.setup.ranks, row.size_bytes, row.time_us, limit));
    else
      out_.points.push_back(std::move(point));
  }

  UsedMeasurements finish() {
    for (const LineProblem& line : grouped(left_out_)) out_.left_out.push_back(told(line));
    const bool between_servers = std::ranges::any_of(out_.points, [](const FitPoint& p) { return p.setup.nodes > 1; });
    if (std::string said = said_of_idle_nics(simulator_.scenario().server); between_servers && !said.empty())
      out_.assumed.push_back(fmt::format("{}: {}", simulator_.scenario().name, said));
    if (one_in * too_fast_.size() > too_fast_.size() + out_.points.size())
      refused_.insert(refused_.end(), too_fast_.begin(), too_fast_.end());
    else
      out_.left_out.insert(out_.left_out.end(), too_fast_.begin(), too_fast_.end());
    refuse_contradicted();
    if (!refused_.empty()) throw InputError(std::move(refused_));
    std::ranges::stable_sort(out_.points, [](const FitPoint& a, const FitPoint& b) { return place_of(a) < place_of(b); });
    std::vector<FitPoint> points;
    for (std::size_t begin = 0, end = 0; begin < out_.points.size(); begin = end) {
      while (end < out_.points.size() && place_of(out_.points[end]) == place_of(out_.points[begin])) ++end;
      see_whether_files_differ(std::span(out_.points).subspan(begin, end - begin));
      points.push_back(mean_of(std::span(out_.points).subspan(begin, end - begin)));
    }
    refuse_files_that_differ();
    if (!refused_.empty()) throw InputError(std::move(refused_));
    tell_scattered(points);
    if (selection_.hold_out) hold_out(points);
    for (auto begin = points.begin(), end = begin; begin != points.end(); begin = end) {
      end = std::find_if(begin, points.end(), [&](const FitPoint& p) { return series_of(p) != series_of(*begin); });
      set_undisturbed({begin, end});
    }
    out_.points = std::move(points);
    return std::move(out_);
  }

 private:
  void leave_out(const Measurement& row, const std::string& why) { left_out_.push_back({row.where, why}); }
  // How NCCL is measured where nobody says how.
  int calls_of(const Measurement& row, const AlgorithmChoice& algorithm) {
    if (row.back_to_back > 0) return row.back_to_back;
    if (algorithm.name != "nccl") return 1;
    if (has_root(row.collective))
      assume(row, fmt::format("the times of {} are taken for means of {} calls back to back, as nccl-tests makes them (the column "
                              "back_to_back says how many)",
                              row.collective, nccl_iterations));
    return nccl_iterations;
  }

  void assume(const Measurement& row, const std::string& what) {
    std::string text = fmt::format("{}: {}", file_of(row), what);
    if (std::ranges::find(out_.assumed, text) == out_.assumed.end()) out_.assumed.push_back(std::move(text));
  }

  // Means that may be of nothing that ever was, by the file that the first of their measurements is in.
  void tell_scattered(const std::vector<FitPoint>& points) {
    constexpr double wide = 0.3;
    struct Scattered {
      int points = 0;
      const FitPoint* most = nullptr;
      double spread = 0;
    };
    std::map<std::string, Scattered> by_file;
    for (const FitPoint& p : points) {
      const double spread = p.measured.spread_us / p.measured.time_us;
      if (p.measured.repeats < 2 || spread < wide) continue;
      Scattered& of = by_file[file_of(p.measured)];
      ++of.points;
      if (spread > of.spread) of.most = &p, of.spread = spread;
    }
    for (const auto& [file, of] : by_file)
      assume(
          of.most->measured,
          fmt::format("{} of its points {} mean of repeated measurements that differ by more than {:.0f} % (standard deviation; {} of {} "
                      "bytes by {:.0f} %): look whether these measured the same thing (--exclude FILE:LINE leaves some out)",
                      of.points, of.points == 1 ? "is the" : "are each the", 100 * wide, of.most->setup.collective,
                      of.most->measured.size_bytes, 100 * of.spread));
  }

  // Files of which none says how many ranks were measured, with the same calls in them: runs of one thing, or of different ones.
  struct Untold {
    int calls = 0, apart = 0;
    std::string example;
  };
  // `same`: measurements of one call.
  void see_whether_files_differ(std::span<const FitPoint> same) {
    constexpr double far = 1.5;
    std::map<std::string, std::pair<double, int>> by_file;
    for (const FitPoint& p : same) {
      if (p.measured.ranks > 0 || p.measured.nodes > 0) return;
      auto& [sum, count] = by_file[file_of(p.measured)];
      sum += p.measured.time_us, ++count;
    }
    if (by_file.size() < 2) return;
    const auto mean = [](const auto& of) { return of.second.first / of.second.second; };
    const auto [least, most] = std::ranges::minmax_element(by_file, {}, mean);
    Untold& of = untold_[{least->first, most->first}];
    ++of.calls;
    if (mean(*most) < far * mean(*least) || of.apart++ > 0) return;
    of.example = fmt::format("{} of {} bytes takes {:.4g} and {:.4g} us", same.front().setup.collective, same.front().measured.size_bytes,
                             mean(*least), mean(*most));
  }
  void refuse_files_that_differ() {
    for (const auto& [files, of] : untold_)
      if (2 * of.apart > of.calls)
        refused_.push_back(
            fmt::format("{} and {} do not say how many ranks were measured, and are no runs of the same: {}; say it behind each "
                        "name, FILE:ranks=N,nodes=N",
                        files.first, files.second, of.example));
  }

  void refuse(const Measurement& row, const std::string& what) {
    if (said_.insert(what).second) refused_.push_back(fmt::format("{}: {}", row.where, what));
  }

  // A number of ranks that bandwidths of a file exclude: by which row most clearly, and what all such rows allow.
  struct Contradicted {
    Measurement row;
    int least = 0, most = 0;
  };

  void contradict(const Measurement& row, int ranks) {
    const RanksTold& told = *row.told_ranks;
    const auto [at, is_first] = contradicted_.try_emplace({file_of(row), ranks}, Contradicted{row, told.least, told.most});
    Contradicted& all = at->second;
    const int least = std::max(all.least, told.least), most = std::min(all.most, told.most);
    if (is_first || least > most) return;
    all.least = least, all.most = most;
    if (told.most - told.least < all.row.told_ranks->most - all.row.told_ranks->least) all.row = row;
  }

  void refuse_contradicted() {
    for (const auto& [key, found] : contradicted_) {
      const int ranks = key.second;
      const std::string told = found.least == found.most                       ? fmt::format("{} ranks", found.least)
                               : found.most == std::numeric_limits<int>::max() ? fmt::format("at least {} ranks", found.least)
                                                                               : fmt::format("{} to {} ranks", found.least, found.most);
      refused_.push_back(fmt::format(
          "{}: busbw is {:.4g} of algbw, which means {}, but {} are taken, of which it would be {:.4g}: the file's header, FILE:ranks=N or "
          "the scenario's ranks must say how many were measured, or --exclude leaves these lines out",
          found.row.where, found.row.told_ranks->ratio, told, ranks, busbw_factor(*collective_named(found.row.collective), ranks)));
    }
  }

  // Where the ranks of a measurement sit.
  struct Seats {
    int ranks = 0, nodes = 0, of_each_node = 0, from = -1, to = -1, window = bandwidth_window;
  };

  std::optional<Seats> seats_of(const Measurement& row) {
    if (is_point_to_point(row.collective)) return seats_of_pair(row);
    Seats out{.ranks = row.ranks, .nodes = row.nodes, .of_each_node = row.gpus};
    if (row.ranks > 0 && row.nodes > 0) {
      const bool is_flat = selection_.flat && gpus_ == 1;  // every rank is a node
      if (row.fewest_of_a_node != row.most_of_a_node && !is_flat)
        return refuse(row, fmt::format("{} ranks on {} nodes, of which one had {} and another {}: a measurement must have equally many "
                                       "on every node",
                                       row.ranks, row.nodes, row.most_of_a_node, row.fewest_of_a_node)),
               std::nullopt;
      if (row.ranks % row.nodes != 0)
        return refuse(row, fmt::format("{} ranks are no multiple of {} nodes", row.ranks, row.nodes)), std::nullopt;
      out.of_each_node = row.ranks / row.nodes;
      const bool of_all = row.gpus == row.ranks;  // as PICO counts them
      if (row.gpus > 0 && row.gpus != out.of_each_node && !of_all)
        return refuse(row, fmt::format("{} ranks on {} nodes are {} of each, but {} of each are given: gpus, ranks_per_node or ppn must be "
                                       "those of a node that were measured",
                                       row.ranks, row.nodes, out.of_each_node, row.gpus)),
               std::nullopt;
    } else if (row.nodes > 0) {
      if (row.gpus == 0) {
        out.of_each_node = gpus_;
        assume(row, fmt::format("says how many nodes were measured, not how many ranks; taken for {} of each node, as many as the "
                                "scenario's servers have {}s (FILE:ranks=N,nodes=N says it)",
                                gpus_, name_of_endpoint(simulator_.scenario().server)));
      }
      out.ranks = out.nodes * out.of_each_node;
    } else if (row.ranks == 0) {
      out.ranks = workload_.ranks, out.of_each_node = 0;
      assume(row, fmt::format("does not say how many ranks were measured; taken for the scenario's {} (FILE:ranks=N,nodes=N says it)",
                              workload_.ranks));
    } else {
      out.of_each_node = 0;
    }
    if (out.of_each_node > gpus_) {
      if (!selection_.flat || gpus_ > 1) return refuse(row, more_than_a_server_has(out.of_each_node)), std::nullopt;
      out.nodes = out.ranks, out.of_each_node = 1;
      assume(row, "ranks of one node are taken for ranks with an endpoint of the network each");
    }
    if (out.nodes == 0) {  // one full server after the other
      out.nodes = (out.ranks + gpus_ - 1) / gpus_;
      if (out.ranks % gpus_ == 0) out.of_each_node = gpus_;
    }
    if (!simulator_.has_nodes(out.nodes)) return refuse(row, more_nodes_than(out.nodes)), std::nullopt;
    return out;
  }

  // Of those of different nodes the first GPUs of two servers.
  std::optional<Seats> seats_of_pair(const Measurement& row) {
    Seats out{.ranks = 2, .nodes = 0, .from = row.from, .to = row.to};
    if (row.from >= 0) out.window = 1;  // matrices of pairs (p2pBandwidthLatencyTest): one copy at a time, each way
    const bool linear = simulator_.scenario().placement.policy == PlacementPolicy::linear;
    if (row.from < 0 && linear && row.nodes > 1 && gpus_ > 1) out.from = 0, out.to = gpus_;
    const bool same_server = linear && gpus_ > 1 && std::max(out.from, 0) / gpus_ == std::max(out.to, 1) / gpus_;
    out.nodes = same_server ? 1 : 2;
    if (same_server && row.from < 0 && row.nodes == 0 && simulator_.nodes() > 1)
      assume(row,
             "does not say on how many nodes its two ranks were; taken for two ranks of one server (FILE:nodes=2 says that each had a "
             "server of its own)");
    const int last = std::max(out.from, out.to);
    if (last >= gpus_ * simulator_.nodes())
      return refuse(row, fmt::format("GPU {} was measured, but the scenario has {} endpoints", last, gpus_ * simulator_.nodes())),
             std::nullopt;
    return out;
  }

  std::string more_than_a_server_has(int measured) const {
    const Server& server = simulator_.scenario().server;
    const std::string text =
        fmt::format("measured with {} ranks of each server, but the scenario's server{} has {}: set /server to what was measured", measured,
                    server.preset.empty() ? "" : fmt::format(" \"{}\"", server.preset), counted(gpus_, name_of_endpoint(server)));
    return gpus_ > 1 ? text : text + ", or take every rank for a node of its own with --flat";
  }
  std::string more_nodes_than(int measured) const {
    return fmt::format(
        "measured on {} nodes, but the scenario's {} has {}: set /fabric to one that holds the largest measured (only a star grows "
        "by itself)",
        measured, type_name(simulator_.scenario().fabric.spec), simulator_.nodes());
  }

  Simulator& simulator_;
  const Selection& selection_;
  const Workload& workload_;
  const int gpus_;
  std::vector<AlgorithmChoice> algorithms_;  // of the scenario, for ranks of any number
  UsedMeasurements out_;
  std::vector<LineProblem> left_out_;
  std::vector<std::string> refused_, too_fast_;
  std::set<std::string> said_;
  std::map<std::pair<std::string, std::string>, Untold> untold_;      // by the files with the least and the largest time of a call
  std::map<std::pair<std::string, int>, Contradicted> contradicted_;  // by file and number of ranks
};

}  // namespace

UsedMeasurements usable(const std::vector<Measurement>& rows, Simulator& simulator, const Selection& selection) {
  Points points(simulator, selection);
  for (const Measurement& row : rows) points.add(row);
  return points.finish();
}

std::set<PathClass> ways_between_servers(const std::vector<FitPoint>& points, Simulator& simulator) {
  std::set<PathClass> out;
  std::set<std::tuple<int, int, int, int, int>> seen;
  for (const FitPoint& p : points) {
    const MeasuredSetup& e = p.setup;
    if (p.fitted && seen.emplace(e.ranks, e.nodes, e.of_each_node, e.from, e.to).second) out.merge(simulator.ways_between_servers(e));
  }
  return out;
}

BiasesOf calls_of_nccl(const std::vector<FitPoint>& points, Simulator& simulator) {
  bool in_a_server = false, between_servers = false;
  for (const FitPoint& p : points) {
    if (!p.fitted) continue;
    for (const Regime& regime : simulator.nccl_choices(p.setup)) (regime.between_servers ? between_servers : in_a_server) = true;
  }
  if (in_a_server == between_servers) return BiasesOf::all_calls;
  return in_a_server ? BiasesOf::calls_in_a_server : BiasesOf::calls_between_servers;
}

std::string what_ran(const FitPoint& point) {
  const Measurement& m = point.measured;
  std::string out = m.algorithm.empty() ? label(point.setup.algorithm) : m.algorithm;
  if (m.from >= 0) out += fmt::format(", {} to {}", m.from, m.to);
  return out;
}

ErrorSummary summarise(std::vector<double> errors) {
  if (errors.empty()) return {};
  for (double& e : errors) e = std::abs(e);
  std::ranges::sort(errors);
  const std::size_t n = errors.size();
  const auto rank = static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(n)));
  return {static_cast<int>(n), n % 2 ? errors[n / 2] : (errors[n / 2 - 1] + errors[n / 2]) / 2, errors[rank - 1]};
}

}  // namespace weft

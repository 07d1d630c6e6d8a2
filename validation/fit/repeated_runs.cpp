#include "validation/fit/repeated_runs.hpp"

#include "kernels/base/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace weft {
namespace {

// Moves to the end those of repeated measurements in which something else went on, as in one of ten barriers that took 1086 us where the
// others took 60, and returns how many are left.
std::size_t move_apart(std::span<FitPoint> runs) {
  constexpr std::size_t fewest = 5, one_apart_in = 4;
  constexpr double far = 2;
  if (runs.size() < fewest) return runs.size();
  std::vector<double> times;
  for (const FitPoint& run : runs) times.push_back(run.measured.time_us);
  const double middle = median(std::move(times));
  const auto near = [&](const FitPoint& run) { return run.measured.time_us < far * middle && middle < far * run.measured.time_us; };
  const auto apart = static_cast<std::size_t>(std::ranges::count_if(runs, std::not_fn(near)));
  if (apart * one_apart_in > runs.size()) return runs.size();
  std::stable_partition(runs.begin(), runs.end(), near);
  return runs.size() - apart;
}

}  // namespace

FitPoint mean_of(std::span<FitPoint> all) {
  const std::span<const FitPoint> runs = all.first(move_apart(all));
  FitPoint out = runs.front();
  out.measured.runs_apart = static_cast<int>(all.size() - runs.size());
  const auto n = static_cast<double>(runs.size());
  if (runs.size() == 1) return out;
  double sum = 0, squares = 0;
  for (const FitPoint& run : runs) sum += run.measured.time_us;
  if (std::ranges::all_of(runs, [](const FitPoint& run) { return run.measured.other_buffer_us > 0; })) {
    out.measured.other_buffer_us = 0;
    for (const FitPoint& run : runs) out.measured.other_buffer_us += run.measured.other_buffer_us / n;
  }
  for (const FitPoint& run : runs) squares += std::pow(run.measured.time_us - sum / n, 2);
  out.measured.time_us = sum / n;
  out.measured.spread_us = std::sqrt(squares / (n - 1));
  out.measured.repeats = static_cast<int>(runs.size());
  return out;
}

}  // namespace weft

#include "validation/fit/library_that_ran.hpp"

#include "collectives/libraries/mpi.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

namespace weft {
namespace {

bool names_no_library(const FitPoint& point) { return point.setup.algorithm.name == "mpi" && !point.setup.algorithm.settings.library; }

// Whether the rules of its library allow all calls.
bool can_run(const OpenScenario& open, const std::vector<FitPoint>& points) {
  Simulator simulator(open.scenario());
  return std::ranges::all_of(points, [&](const FitPoint& p) { return simulator.problems(p.setup).empty(); });
}

// Whether two libraries choose differently for it; `on_host`: ranks, where its file does not say.
bool tells_apart(const FitPoint& point, int on_host, MpiLibrary one, MpiLibrary other) {
  const MeasuredSetup& e = point.setup;
  const auto collective = collective_named(e.collective);  // none: a message between two
  if (!collective || !names_no_library(point)) return false;
  const MpiQuestion q{.collective = *collective, .ranks = e.ranks, .size = e.size, .group = e.of_each_node > 0 ? e.of_each_node : on_host};
  return mpi_choice(one, q) != mpi_choice(other, q);
}
bool tells_libraries_apart(const FitPoint& point, int on_host) {
  return std::ranges::any_of(mpi_libraries,
                             [&](MpiLibrary library) { return tells_apart(point, on_host, library, mpi_libraries.front()); });
}

// Whether a library before it chooses the same for all of them.
bool is_like_another(MpiLibrary library, const std::vector<FitPoint>& points, int on_host) {
  for (const MpiLibrary* before = mpi_libraries.begin(); *before != library; ++before)
    if (std::ranges::none_of(points, [&](const FitPoint& p) { return tells_apart(p, on_host, library, *before); })) return true;
  return false;
}

// So many of them, or all, from one end to the other.
void take_some(const std::vector<const FitPoint*>& from, std::size_t most, std::vector<FitPoint>& out) {
  const std::size_t count = std::min(most, from.size());
  for (std::size_t i = 0; i < count; ++i) out.push_back(*from[i * from.size() / count]);
}

// Of those that are fitted to: more that tell libraries apart than others.
std::vector<FitPoint> some_of(const std::vector<FitPoint>& points, int on_host) {
  constexpr std::size_t max_telling = 16, max_others = 6;
  std::vector<const FitPoint*> telling, others;
  for (const FitPoint& p : points)
    if (p.fitted) (tells_libraries_apart(p, on_host) ? telling : others).push_back(&p);
  std::vector<FitPoint> out;
  take_some(telling, max_telling, out);
  take_some(others, max_others, out);
  return out;
}

// Without those that take longest to simulate, as long as the rest takes more than `max_work` and says something of several calls.
std::vector<FitPoint> without_long_ones(std::vector<FitPoint> points, const OpenScenario& open, std::int64_t max_work) {
  constexpr std::size_t fewest = 8;
  Simulator simulator(open.scenario());
  std::vector<std::pair<std::int64_t, std::size_t>> works;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < points.size(); ++i) works.emplace_back(simulator.work_of(points[i].setup), i), sum += works.back().first;
  std::ranges::sort(works, std::greater<>());
  std::set<std::size_t> out;
  for (const auto& [work, i] : works) {
    if (sum <= max_work || points.size() - out.size() <= fewest) break;
    out.insert(i), sum -= work;
  }
  std::vector<FitPoint> left;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (!out.contains(i)) left.push_back(std::move(points[i]));
  return left;
}

double error_of(const FitResult& result, const std::vector<FitPoint>& points) {
  double sum = 0;
  for (std::size_t i = 0; i < points.size(); ++i) sum += std::abs(std::log(std::max(result.simulated_us[i], 1e-6) / points[i].wanted_us()));
  return std::expm1(sum / static_cast<double>(points.size()));
}

}  // namespace

std::vector<LibraryFit> libraries_that_may_have_run(const OpenScenario& asked, const std::vector<FitPoint>& points,
                                                    const FitOptions& options) {
  constexpr int part_of_budget = 16;  // for each library
  constexpr double clearly = 0.8;     // of the error
  constexpr double noise = 0.02;      // errors below that say nothing: so well do calls repeat
  const int on_host = asked.scenario().server.gpu_count();
  const auto tells = [&](const FitPoint& p) { return p.fitted && tells_libraries_apart(p, on_host); };
  if (asked.scenario().hardware.mpi_library || std::ranges::none_of(points, tells)) return {};
  const OpenScenario open = asked.without_costs();  // by size, which would make up for the wrong rules
  constexpr int evaluations = 100;                  // that a search takes at least
  const std::vector<FitPoint> some = without_long_ones(some_of(points, on_host), open, options.budget / part_of_budget / evaluations);
  const FitOptions little{.folds = 0, .starts = 1, .seed = options.seed, .leaves_out = false, .budget = options.budget / part_of_budget};
  std::vector<LibraryFit> out;
  for (const MpiLibrary library : mpi_libraries)
    if (const OpenScenario with = open.with_library(library); !is_like_another(library, points, on_host) && can_run(with, points))
      out.push_back({library, error_of(fit(with, some, little), some)});
  std::ranges::stable_sort(out, {}, [&](const LibraryFit& f) {
    const double error = std::max(f.error, noise);
    return f.library == mpi_libraries.front() ? clearly * error : error;
  });
  return out;
}

OpenScenario with_library_that_ran(const OpenScenario& open, const std::vector<LibraryFit>& libraries) {
  const bool is_told = !libraries.empty() && libraries.front().library != mpi_libraries.front();
  return is_told ? open.with_library(libraries.front().library) : open;
}

}  // namespace weft

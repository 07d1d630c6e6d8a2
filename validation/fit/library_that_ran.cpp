#include "validation/fit/library_that_ran.hpp"

#include "collectives/algorithms/mpi.hpp"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

bool names_no_library(const FitPoint& point) { return point.setup.algorithm.name == "mpi" && !point.setup.algorithm.settings.library; }

// Whether the rules of its library allow all calls.
bool can_run(const OpenScenario& open, const std::vector<FitPoint>& points) {
  Simulator simulator(open.scenario());
  return std::ranges::all_of(points, [&](const FitPoint& p) { return simulator.problems(p.setup).empty(); });
}

// Whether libraries choose differently for it.
bool tells_libraries_apart(const FitPoint& point) {
  const MeasuredSetup& e = point.setup;
  const auto collective = collective_named(e.collective);  // none: a message between two
  if (!collective || !names_no_library(point)) return false;
  const MpiQuestion q{.collective = *collective, .ranks = e.ranks, .size = e.size, .group = e.of_each_node};
  const auto chosen = [&](MpiLibrary library) { return mpi_choice(library, q).algorithm; };
  return std::ranges::any_of(mpi_libraries, [&](MpiLibrary library) { return chosen(library) != chosen(mpi_libraries.front()); });
}

// So many of them, or all, from one end to the other.
void take_some(const std::vector<const FitPoint*>& from, std::size_t most, std::vector<FitPoint>& out) {
  const std::size_t count = std::min(most, from.size());
  for (std::size_t i = 0; i < count; ++i) out.push_back(*from[i * from.size() / count]);
}

// Of those that are fitted to: more that tell libraries apart than others.
std::vector<FitPoint> some_of(const std::vector<FitPoint>& points) {
  constexpr std::size_t most_telling = 16, most_others = 6;
  std::vector<const FitPoint*> telling, others;
  for (const FitPoint& p : points)
    if (p.fitted) (tells_libraries_apart(p) ? telling : others).push_back(&p);
  std::vector<FitPoint> out;
  take_some(telling, most_telling, out);
  take_some(others, most_others, out);
  return out;
}

double error_of(const FitResult& result, const std::vector<FitPoint>& points) {
  double sum = 0;
  for (std::size_t i = 0; i < points.size(); ++i) sum += std::abs(std::log(std::max(result.simulated_us[i], 1e-6) / points[i].wanted_us()));
  return std::expm1(sum / static_cast<double>(points.size()));
}

}  // namespace

std::vector<LibraryFit> libraries_that_may_have_run(const OpenScenario& asked, const std::vector<FitPoint>& points,
                                                    const FitOptions& options) {
  constexpr int part_of_budget = 32;  // for each library
  constexpr double clearly = 0.8;     // of the error
  const auto tells = [](const FitPoint& p) { return p.fitted && tells_libraries_apart(p); };
  if (asked.scenario().hardware.mpi_library || std::ranges::none_of(points, tells)) return {};
  const OpenScenario open = asked.without_costs();  // by size, which would make up for the wrong rules
  const std::vector<FitPoint> some = some_of(points);
  const FitOptions little{.folds = 0, .starts = 1, .seed = options.seed, .budget = options.budget / part_of_budget};
  std::vector<LibraryFit> out;
  for (const MpiLibrary library : mpi_libraries)
    if (const OpenScenario with = open.with_library(library); can_run(with, points))
      out.push_back({library, error_of(fit(with, some, little), some)});
  std::ranges::stable_sort(out, {}, [&](const LibraryFit& f) { return f.error * (f.library == mpi_libraries.front() ? clearly : 1); });
  return out;
}

OpenScenario with_library_that_ran(const OpenScenario& open, const std::vector<LibraryFit>& libraries) {
  const bool is_told = !libraries.empty() && libraries.front().library != mpi_libraries.front();
  return is_told ? open.with_library(libraries.front().library) : open;
}

}  // namespace weft

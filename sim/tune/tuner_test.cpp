#include "sim/tune/tuner.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <doctest/doctest.h>

namespace weft {
namespace {

using Cost = double (*)(const Point&);

struct Landscape {
  const char* name;
  Space space;
  Cost cost;
};

// A step of training: units of a granularity (256 KiB to 128 MiB) over streams (2 to 24), two algorithms, four numbers of channels.
double step_time(const Point& p) {
  const double unit = 0.25 * std::pow(2, p[0]), streams = 2 + 2 * p[1], channels = std::pow(2, p[3]);
  const double megabytes = 400, units = std::ceil(megabytes / unit);
  const double rate = std::min(30.0, 6 * std::min(streams, 1 + units / 2) * (1 + 0.1 * channels)) / 8;  // GB/s
  const double start = units / streams * (p[2] == 0 ? 0.35 : 0.8);                                      // ms
  const double wire = megabytes / rate * (p[2] == 0 ? 1 : 0.93), tail = unit / rate, taken = 1 + 0.006 * streams + 0.01 * channels;
  return 90 * taken + std::max(0.0, start + wire - 70) + tail;
}

// Many local minima on a bowl (Rastrigin), away from the middle.
double egg_box(const Point& p) {
  double sum = 20;
  for (const double x : {(p[0] - 19) / 4, (p[1] - 8) / 4}) sum += x * x + 2 * (1 - std::cos(2 * x));
  return sum;
}

// A bent valley (Rosenbrock) whose floor falls gently.
double valley(const Point& p) {
  const double x = (p[0] - 8) / 6, y = (p[1] - 4) / 8;
  return 10 + 20 * (y - x * x) * (y - x * x) + (1 - x) * (1 - x);
}

std::vector<Landscape> landscapes() {
  std::vector<Landscape> all;
  all.push_back({"training step",
                 Space({{"granularity", 10}, {"streams", 12}, {.name = "algorithm", .choices = 2, .ordered = false}, {"channels", 4}}),
                 step_time});
  all.push_back({"egg box", Space({{"x", 30}, {"y", 30}}), egg_box});
  all.push_back({"valley", Space({{"x", 24}, {"y", 24}}), valley});
  return all;
}

double least_of(const Landscape& l) {
  double least = INFINITY;
  for (std::int64_t i = 0; i < l.space.size(); ++i) least = std::min(least, l.cost(l.space.at(i)));
  return least;
}

TuneResult tuned(const Landscape& l, const TunerSettings& settings, const TuneBudget& budget) {
  Tuner tuner(l.space, settings);
  return minimise(tuner, budget, [&](std::span<const Trial> trials) {
    std::vector<double> costs;
    for (const Trial& t : trials) costs.push_back(l.cost(t.point));
    return costs;
  });
}

// Evaluations until one was within 5 % of the least; one more than there were if none.
int needed(const TuneResult& result, double least) {
  for (std::size_t i = 0; i < result.evaluations.size(); ++i)
    if (result.evaluations[i].cost <= 1.05 * least) return static_cast<int>(i) + 1;
  return static_cast<int>(result.evaluations.size()) + 1;
}

struct Row {
  int found = 0, median = 0, worst = 0;
};
Row twenty_seeds(const Landscape& l, const std::string& method, int budget) {
  std::vector<int> counts;
  const double least = least_of(l);
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    counts.push_back(needed(tuned(l, {.method = method, .seed = seed}, {.evaluations = budget}), least));
  std::ranges::sort(counts);
  return {static_cast<int>(std::ranges::count_if(counts, [&](int c) { return c <= budget; })), counts[10], counts.back()};
}

}  // namespace

TEST_CASE("tuner: the ensemble comes within 5 % of exhaustive search with at most a fifth of its evaluations, 20 seeds of 20") {
  for (const Landscape& l : landscapes()) {
    CAPTURE(l.name);
    const int fifth = static_cast<int>(l.space.size() / 5);
    const Row row = twenty_seeds(l, "ensemble", std::min(fifth, 100));
    CHECK(row.found == 20);
    CHECK(row.worst <= fifth);
  }
}

TEST_CASE("tuner: table of methods, evaluations to within 5 % (run with --no-skip)" * doctest::skip()) {
  for (const Landscape& l : landscapes())
    for (const std::string& method : tuning_methods()) {
      const Row row = twenty_seeds(l, method, std::min(100, static_cast<int>(l.space.size() / 5)));
      MESSAGE(fmt::format("{:14} {:5} points  {:11} found by {:2} of 20 seeds, median {:3}, worst {:3}", l.name, l.space.size(), method,
                          row.found, row.median, row.worst));
    }
}

TEST_CASE("tuner: every method visits every point of a small space once, and then stops") {
  const Landscape l{"small", Space({{"a", 4}, {.name = "b", .choices = 3, .ordered = false}}),
                    [](const Point& p) { return 1 + p[0] + p[1]; }};
  for (const std::string& method : tuning_methods()) {
    CAPTURE(method);
    const TuneResult r = tuned(l, {.method = method, .seed = 3}, {.evaluations = 100, .batch = 2});
    std::set<Point> points;
    for (const Evaluated& e : r.evaluations) points.insert(e.trial.point);
    CHECK(points.size() == 12);
    CHECK(r.evaluations.size() == 12);
    CHECK(r.best == Point{0, 0});
    CHECK(r.cost == 1);
  }
}

TEST_CASE("tuner: the same seed asks for the same trials, another for others") {
  const auto all = landscapes();
  const auto points = [&](std::uint64_t seed, int batch) {
    std::vector<Point> list;
    for (const Evaluated& e : tuned(all[0], {.seed = seed}, {.evaluations = 40, .batch = batch}).evaluations) list.push_back(e.trial.point);
    return list;
  };
  CHECK(points(5, 4) == points(5, 4));
  CHECK(points(5, 1) == points(5, 1));
  CHECK(points(5, 4) != points(6, 4));
}

TEST_CASE("tuner: trials of a batch differ, and batches of eight find the best nearly as well") {
  const auto all = landscapes();
  const double least = least_of(all[0]);
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Tuner tuner(all[0].space, {.seed = seed});
    const auto trials = tuner.ask(8);
    REQUIRE(trials.size() == 8);
    std::set<Point> points;
    for (const Trial& t : trials) points.insert(t.point);
    CHECK(points.size() == 8);
    CHECK(tuned(all[0], {.seed = seed}, {.evaluations = 96, .batch = 8}).cost <= 1.05 * least);
  }
}

TEST_CASE("tuner: an interval is searched too, also on a logarithmic scale") {
  const Landscape l{"interval", Space({{.name = "x", .least = -1, .most = 1}, {.name = "y", .least = 1, .most = 1e6, .logarithmic = true}}),
                    [](const Point& p) { return 1 + (p[0] - 0.3) * (p[0] - 0.3) + std::pow(std::log10(p[1]) - 4.2, 2); }};
  for (const char* method : {"ensemble", "bayesian", "population"}) {
    CAPTURE(method);
    CHECK(tuned(l, {.method = method}, {.evaluations = 80}).cost < 1.05);
  }
}

TEST_CASE("tuner: evaluations that fail are survived") {
  const auto all = landscapes();
  Tuner tuner(all[0].space, {.seed = 2});
  const TuneResult r = minimise(tuner, {.evaluations = 60}, [&](std::span<const Trial> trials) {
    return std::vector<double>(trials.size(), trials[0].id % 3 == 0 ? NAN : all[0].cost(trials[0].point));
  });
  CHECK(std::isfinite(r.cost));
  Tuner hopeless(all[0].space, {});
  CHECK_THROWS_WITH_AS(
      minimise(hopeless, {.evaluations = 5}, [](std::span<const Trial> t) { return std::vector<double>(t.size(), INFINITY); }),
      "tune: none of 5 evaluations succeeded", RunError);
}

TEST_CASE("tuner: what is remembered is not asked for again, and counts as found") {
  const Space space({{"a", 5}});
  Tuner tuner(space, {.method = "grid"});
  tuner.remember({2}, 7);
  tuner.remember({3}, 9);
  CHECK(tuner.best()->point == Point{2});
  std::set<double> asked;
  for (const Trial& t : tuner.ask(10)) asked.insert(t.point[0]);
  CHECK(asked == std::set<double>{0, 1, 4});
}

TEST_CASE("tuner: Hyperband halves: many short evaluations, few long ones") {
  const Space space({{"x", 1000}});
  Tuner tuner(space, {.method = "hyperband", .min_fidelity = 1.0 / 9});
  std::map<double, int> count;
  // Short evaluations are noisy; the noise follows from the point.
  const auto cost = [](const Trial& t) {
    return 1 + std::abs(t.point[0] - 400) / 1000 + 0.05 * (1 - t.fidelity) * std::sin(t.point[0] * 12.9);
  };
  const TuneResult r = minimise(tuner, {.evaluations = 22}, [&](std::span<const Trial> trials) {
    std::vector<double> costs;
    for (const Trial& t : trials) {
      ++count[std::round(9 * t.fidelity)];
      costs.push_back(cost(t));
    }
    return costs;
  });
  // Brackets of Li et al. for R = 9, eta = 3: 9, 3, 1; then 5, 1; then 3.
  CHECK(count == std::map<double, int>{{1, 9}, {3, 3 + 5}, {9, 1 + 1 + 3}});
  CHECK(r.cost < 1.25);
}

TEST_CASE("bandit: credit is the area under the curve of new bests, exploration grows with neglect") {
  CreditBandit bandit(2, 4, 0.2);
  const std::vector<int> none{0, 0};
  CHECK(bandit.order(none) == std::vector<std::size_t>{0, 1});
  bandit.record(0, true);
  CHECK(bandit.order(none).front() == 1);  // not used yet
  bandit.record(1, false);
  bandit.record(0, false);
  bandit.record(0, true);
  // Uses of 0: up, flat, up: heights 1, 1, 2 of 1 + 2 + 3.
  CHECK(bandit.area(0) == doctest::Approx(4.0 / 6));
  CHECK(bandit.area(1) == 0);
  CHECK(bandit.order(none).front() == 0);  // 0.67 + 0.2 sqrt(2 log 4 / 3) = 0.86 against 0.2 sqrt(2 log 4) = 0.33
  bandit.record(1, false);                 // the window holds four: the first use has left it
  CHECK(bandit.area(0) == doctest::Approx(1.0 / 3));
  CHECK(bandit.order(std::vector<int>{300, 0}).front() == 1);  // what is under way counts
}

TEST_CASE("tuner: settings that make no sense are refused, all at once") {
  CHECK(problems(TunerSettings{.method = "bayesan", .window = 0, .exploration = -1, .min_fidelity = 2}) ==
        std::vector<Problem>{
            {"method", "must be one of ensemble, grid, population, bayesian, hyperband, got \"bayesan\" (did you mean \"bayesian\"?)"},
            {"window", "must be at least 1, got 0"},
            {"exploration", "must not be negative, got -1"},
            {"least_fidelity", "must be more than 0 and at most 1, got 2"}});
  CHECK_THROWS_WITH_AS(Space({{.name = "x", .least = 2, .most = 1}, {.name = "y", .least = 0, .most = 1, .logarithmic = true}}),
                       "tune: x: must be an interval, got 2 to 1\ntune: y: must be an interval above 0, got 0 to 1", InputError);
  CHECK_THROWS_WITH_AS(Space({}), "tune: there is nothing to choose: name at least one axis", InputError);
  Tuner tuner(Space({{"a", 2}}), {});
  CHECK_THROWS_WITH_AS(minimise(tuner, {.evaluations = 0}, nullptr), "tune: budget: must be at least 1, got 0", InputError);
}

}  // namespace weft

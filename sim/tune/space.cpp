#include "sim/tune/space.hpp"

#include "kernels/base/hash.hpp"

#include <algorithm>
#include <cmath>

namespace weft {

std::uint64_t TuneRandom::next() { return mixed(state_ += golden_ratio); }
double TuneRandom::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

Space::Space(std::vector<Axis> axes) : axes_(std::move(axes)) {
  std::vector<std::string> wrong;
  if (axes_.empty()) wrong.emplace_back("tune: there is nothing to choose: name at least one axis");
  for (const Axis& a : axes_) {
    if (a.choices < 0) wrong.push_back(fmt::format("tune: {}: must have at least one choice, got {}", a.name, a.choices));
    if (a.choices == 0 && !(a.least < a.most && (!a.logarithmic || a.least > 0)))
      wrong.push_back(
          fmt::format("tune: {}: must be an interval{}, got {} to {}", a.name, a.logarithmic ? " above 0" : "", a.least, a.most));
  }
  if (!wrong.empty()) throw InputError(wrong);
}

bool Space::finite() const {
  return std::ranges::all_of(axes_, [](const Axis& a) { return a.choices > 0; });
}

std::int64_t Space::size(int levels) const {
  std::int64_t product = 1;
  for (const Axis& a : axes_) {
    const int n = a.choices > 0 ? a.choices : levels;
    product = product > INT64_MAX / n ? INT64_MAX : product * n;
  }
  return product;
}

Point Space::at(std::int64_t index, int levels) const {
  Point point;
  for (const Axis& a : axes_) {
    const int n = a.choices > 0 ? a.choices : levels;
    const auto i = static_cast<double>(index % n);
    point.push_back(a.choices > 0 ? i : value(a, i / (levels - 1)));
    index /= n;
  }
  return point;
}

double Space::value(const Axis& a, double u) const {
  if (a.choices > 0) return std::min(std::floor(u * a.choices), a.choices - 1.0);
  if (a.logarithmic) return a.least * std::pow(a.most / a.least, u);
  return a.least + u * (a.most - a.least);
}

double Space::unit(const Axis& a, double v) const {
  if (a.choices > 0) return a.choices == 1 ? 0 : v / (a.choices - 1);
  if (a.logarithmic) return std::log(v / a.least) / std::log(a.most / a.least);
  return (v - a.least) / (a.most - a.least);
}

Point Space::random(TuneRandom& random) const {
  Point point;
  for (const Axis& a : axes_) point.push_back(value(a, random.uniform()));
  return point;
}

double Space::moved(const Axis& a, double v, TuneRandom& random) const {
  if (a.choices == 1) return v;
  if (a.choices > 0 && !a.ordered) {
    const int other = random.below(a.choices - 1);
    return other < static_cast<int>(v) ? other : other + 1;
  }
  const double sign = random.uniform() < 0.5 ? -1 : 1;
  if (a.choices == 0) return value(a, std::clamp(unit(a, v) + sign * 0.2 * random.uniform(), 0.0, 1.0));
  const double step = sign * (random.uniform() < 0.7 ? 1 : 2);
  const double there = std::clamp(v + step, 0.0, a.choices - 1.0);
  return there != v ? there : v - sign;  // at the border, back
}

Point Space::neighbour(const Point& point, TuneRandom& random) const {
  Point other = point;
  const auto moves = static_cast<std::size_t>(random.below(static_cast<int>(axes_.size())));
  for (std::size_t i = 0; i < axes_.size(); ++i)
    if (i == moves || random.uniform() < 0.5 / static_cast<double>(axes_.size())) other[i] = moved(axes_[i], point[i], random);
  return other;
}

std::vector<double> Space::features(const Point& point) const {
  std::vector<double> all;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const Axis& a = axes_[i];
    if (a.choices == 0 || a.ordered) {
      all.push_back(unit(a, point[i]));
      continue;
    }
    for (int c = 0; c < a.choices; ++c) all.push_back(c == static_cast<int>(point[i]) ? 0.7 : 0);  // 1 apart, about
  }
  return all;
}

}  // namespace weft

// What a tuner searches: a product of axes, each of choices or of an interval.
#pragma once

#include "kernels/base/error.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft {

// The same numbers on every machine, unlike the distributions of the standard library.
class TuneRandom {
 public:
  explicit TuneRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  double uniform();  // in [0, 1)
  int below(int n) { return static_cast<int>(uniform() * n); }

 private:
  std::uint64_t state_;
};

struct Axis {
  std::string name;
  int choices = 0;      // 0: any value between least and most
  bool ordered = true;  // neighbouring choices are alike, as sizes are; names of algorithms are not
  double least = 0, most = 1;
  bool logarithmic = false;  // of an interval
};

// By axis: the choice's number, or the value.
using Point = std::vector<double>;

class Space {
 public:
  // Throws InputError: no axes, an interval that is empty or, if logarithmic, not positive.
  explicit Space(std::vector<Axis> axes);

  const std::vector<Axis>& axes() const { return axes_; }
  bool finite() const;
  // Points, an interval taken at so many levels.
  std::int64_t size(int levels = 5) const;
  Point at(std::int64_t index, int levels = 5) const;
  Point random(TuneRandom& random) const;
  // Another point near by: at least one axis has moved, a step or two where it is ordered.
  Point neighbour(const Point& point, TuneRandom& random) const;
  // Coordinates between 0 and 1 for a model of the landscape; an axis without order has one for each choice.
  std::vector<double> features(const Point& point) const;

 private:
  Axis const& axis(std::size_t i) const { return axes_[i]; }
  double value(const Axis& axis, double unit) const;
  double unit(const Axis& axis, double value) const;
  double moved(const Axis& axis, double value, TuneRandom& random) const;

  std::vector<Axis> axes_;
};

}  // namespace weft

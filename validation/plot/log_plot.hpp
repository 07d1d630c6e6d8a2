// A plot of times over sizes, both axes logarithmic, as SVG: measured points (filled: fitted to, hollow: held out), simulated
// lines, and below them the relative errors.
#pragma once

#include <string>
#include <vector>

namespace weft {

struct PlotPoint {
  double size_bytes = 0;
  double measured_us = 0;
  double simulated_us = 0;
  bool fitted = true;
};
struct PlotSeries {
  std::string name;
  std::vector<PlotPoint> points;  // in the order of their sizes
};

// An empty plot is an error of the caller's.
std::string to_svg(const std::string& title, const std::vector<PlotSeries>& series);

}  // namespace weft

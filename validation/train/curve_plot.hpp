// Accuracy over time, as SVG: a line for each series, and the spread around it.
#pragma once

#include <string>
#include <vector>

namespace weft::train {

struct CurvePoint {
  double x = 0;  // more than 0
  double y = 0;  // a share, as are least and most
  double least = 0, most = 0;
};
struct CurveLine {
  std::string name;
  std::vector<CurvePoint> points;
};

// The x axis is logarithmic where it spans more than a factor of 20, so that series of very different lengths can be compared. No points
// are an error of the caller's.
std::string to_svg(const std::string& title, const std::string& x_label, const std::vector<CurveLine>& lines);

}  // namespace weft::train

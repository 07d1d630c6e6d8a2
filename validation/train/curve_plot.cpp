#include "validation/train/curve_plot.hpp"

#include "kernels/base/error.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace weft::train {
namespace {

// Distinguishable for the colour-blind (Okabe & Ito 2008).
constexpr std::array colours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};
constexpr double left = 70, right = 700, top = 50, bottom = 400;

struct Axes {
  double x_low, x_high, y_low;  // y ends at 1

  double x(double value) const { return left + (right - left) * std::log(value / x_low) / std::log(x_high / x_low); }
  double y(double value) const { return bottom + (top - bottom) * (value - y_low) / (1 - y_low); }
};

Axes axes_over(const std::vector<CurveLine>& lines) {
  double least = INFINITY, most = 0, lowest = 1;
  for (const CurveLine& line : lines)
    for (const CurvePoint& p : line.points) {
      least = std::min(least, p.x);
      most = std::max(most, p.x);
      lowest = std::min(lowest, p.least);
    }
  check(most > 0 && least > 0, "a plot from {} to {}", least, most);
  return {.x_low = least, .x_high = most > least ? most : 2 * least, .y_low = std::min(std::floor(lowest * 10) / 10, 0.9)};
}

std::string text(double x, double y, const char* anchor, const std::string& what) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"12\">{}</text>\n", x, y, anchor, what);
}

std::string grid(const Axes& axes, const std::string& x_label) {
  std::string svg;
  const auto line = [&svg](double x1, double y1, double x2, double y2) {
    svg += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#dddddd\"/>\n", x1, y1, x2, y2);
  };
  for (int i = 0; i <= 5; ++i) {
    const double share = axes.y_low + (1 - axes.y_low) * i / 5, value = axes.x_low * std::pow(axes.x_high / axes.x_low, i / 5.0);
    line(left, axes.y(share), right, axes.y(share));
    svg += text(left - 8, axes.y(share) + 4, "end", fmt::format("{:.0f}%", 100 * share));
    line(axes.x(value), top, axes.x(value), bottom);
    svg += text(axes.x(value), bottom + 18, "middle", fmt::format("{:.3g}", value));
  }
  return svg + text((left + right) / 2, bottom + 38, "middle", x_label);
}

}  // namespace

std::string to_svg(const std::string& title, const std::string& x_label, const std::vector<CurveLine>& lines) {
  const Axes axes = axes_over(lines);
  const double height = bottom + 60 + 18 * static_cast<double>(lines.size());
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"730\" height=\"{0:.0f}\" font-family=\"sans-serif\">\n"
      "<rect width=\"730\" height=\"{0:.0f}\" fill=\"white\"/>\n",
      height);
  svg += text((left + right) / 2, 28, "middle", title) + grid(axes, x_label);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const char* colour = colours[i % colours.size()];
    std::string middle, band, back;
    for (const CurvePoint& p : lines[i].points) {
      middle += fmt::format("{:.1f},{:.1f} ", axes.x(p.x), axes.y(p.y));
      band += fmt::format("{:.1f},{:.1f} ", axes.x(p.x), axes.y(p.most));
      back = fmt::format("{:.1f},{:.1f} ", axes.x(p.x), axes.y(p.least)) + back;
    }
    svg += fmt::format("<polygon fill=\"{}\" fill-opacity=\"0.15\" points=\"{}{}\"/>\n", colour, band, back);
    svg += fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\" points=\"{}\"/>\n", colour, middle);
    const double y = bottom + 60 + 18 * static_cast<double>(i);
    svg += fmt::format("<rect x=\"{:.0f}\" y=\"{:.1f}\" width=\"14\" height=\"4\" fill=\"{}\"/>\n", left, y - 6, colour);
    svg += text(left + 22, y, "start", lines[i].name);
  }
  return svg + "</svg>\n";
}

}  // namespace weft::train

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
  bool logarithmic = false;     // along x
  bool whole = true;            // x, everywhere: epochs

  double x(double value) const {
    const double share = logarithmic ? std::log(value / x_low) / std::log(x_high / x_low) : (value - x_low) / (x_high - x_low);
    return left + (right - left) * share;
  }
  double y(double value) const { return bottom + (top - bottom) * (value - y_low) / (1 - y_low); }
};

Axes axes_over(const std::vector<CurveLine>& lines) {
  double least = INFINITY, most = 0, lowest = 1;
  bool whole = true;
  for (const CurveLine& line : lines)
    for (const CurvePoint& p : line.points) {
      whole = whole && p.x == std::round(p.x);
      least = std::min(least, p.x);
      most = std::max(most, p.x);
      lowest = std::min(lowest, p.least);
    }
  check(most > 0 && least > 0, "a plot from {} to {}", least, most);
  Axes out{.x_low = least, .x_high = most, .y_low = std::min(std::floor(lowest * 10) / 10, 0.9)};
  constexpr double far = 20;
  out.logarithmic = most > far * least, out.whole = whole;
  if (!out.logarithmic && most < 2 * least) out.x_low = 0, out.x_high = most > least ? most : 2 * least;
  return out;
}

// 1, 2 and 5 times a power of ten; on a straight axis at equal distances, some five of them.
std::vector<double> ticks(const Axes& axes) {
  std::vector<double> out;
  constexpr std::array leads = {1.0, 2.0, 5.0, 10.0};
  if (axes.logarithmic) {
    const bool all = axes.x_high / axes.x_low < 1000;
    for (double power = std::pow(10, std::floor(std::log10(axes.x_low))); power <= axes.x_high; power *= 10)
      for (std::size_t i = 0; i < (all ? 3U : 1U); ++i)
        if (const double value = leads[i] * power; value >= axes.x_low && value <= axes.x_high) out.push_back(value);
    return out;
  }
  const double step = (axes.x_high - axes.x_low) / 5, power = std::pow(10, std::floor(std::log10(step)));
  const double lead = *std::ranges::find_if(leads, [&](double l) { return l * power >= step * (1 - 1e-9); });
  const double each = axes.whole ? std::max(1.0, std::round(lead * power)) : lead * power;
  for (double k = std::ceil(axes.x_low / each); k * each <= axes.x_high * (1 + 1e-9); ++k) out.push_back(k * each);
  return out;
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
    const double share = axes.y_low + (1 - axes.y_low) * i / 5;
    line(left, axes.y(share), right, axes.y(share));
    svg += text(left - 8, axes.y(share) + 4, "end", fmt::format("{:.0f}%", 100 * share));
  }
  for (const double value : ticks(axes)) {
    line(axes.x(value), top, axes.x(value), bottom);
    svg += text(axes.x(value), bottom + 18, "middle", fmt::format("{:.6g}", value));
  }
  return svg + text((left + right) / 2, bottom + 38, "middle", x_label + (axes.logarithmic ? " (logarithmic)" : ""));
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
    for (const CurvePoint& p : lines[i].points)
      svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"{}\"/>\n", axes.x(p.x), axes.y(p.y), colour);
    const double y = bottom + 60 + 18 * static_cast<double>(i);
    svg += fmt::format("<rect x=\"{:.0f}\" y=\"{:.1f}\" width=\"14\" height=\"4\" fill=\"{}\"/>\n", left, y - 6, colour);
    svg += text(left + 22, y, "start", lines[i].name);
  }
  return svg + "</svg>\n";
}

}  // namespace weft::train

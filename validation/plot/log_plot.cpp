#include "validation/plot/log_plot.hpp"

#include "kernels/base/error.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace weft {
namespace {

// Distinguishable for the colour-blind (Okabe & Ito 2008).
constexpr std::array colours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};

constexpr double left = 80, right = 700, top = 50, split = 400, error_top = 430, bottom = 540;

// From values to pixels, by logarithm.
struct Axis {
  double low, high;  // values
  double from, to;   // pixels
  double operator()(double value) const { return from + (to - from) * std::log(value / low) / std::log(high / low); }
};

Axis axis_over(double low, double high, double base, double from, double to) {
  const auto power = [base](double value, double (*round)(double)) { return std::pow(base, round(std::log(value) / std::log(base))); };
  Axis axis{power(low * 0.999, [](double x) { return std::floor(x); }), power(high * 1.001, [](double x) { return std::ceil(x); }), from,
            to};
  if (axis.low == axis.high) axis.high *= base;
  return axis;
}

std::string size_label(double bytes) {
  constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < units.size(); bytes /= 1024) ++unit;
  return fmt::format("{:g} {}", bytes, units[unit]);
}

std::string time_label(double us) {
  if (us >= 1e6) return fmt::format("{:g} s", us / 1e6);
  if (us >= 1e3) return fmt::format("{:g} ms", us / 1e3);
  if (us >= 1) return fmt::format("{:g} us", us);
  return fmt::format("{:g} ns", us * 1e3);
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

class Drawing {
 public:
  void line(double x1, double y1, double x2, double y2, const char* stroke = "#dddddd") {
    svg_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1, y1, x2, y2, stroke);
  }
  void text(double x, double y, const char* anchor, const std::string& what, int size = 12) {
    svg_ +=
        fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\">{}</text>\n", x, y, anchor, size, escaped(what));
  }
  void dot(double x, double y, const char* colour, bool filled) {
    svg_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" stroke=\"{}\" stroke-width=\"1.5\" fill=\"{}\"/>\n", x, y, colour,
                        filled ? colour : "white");
  }
  void path(const std::vector<std::pair<double, double>>& points, const char* colour) {
    svg_ += fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\" points=\"", colour);
    for (const auto& [x, y] : points) svg_ += fmt::format("{:.1f},{:.1f} ", x, y);
    svg_ += "\"/>\n";
  }
  std::string finish(double width, double height) const {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\">\n"
        "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n{2}</svg>\n",
        width, height, svg_);
  }

 private:
  std::string svg_;
};

}  // namespace

std::string to_svg(const std::string& title, const std::vector<PlotSeries>& series) {
  double size_low = std::numeric_limits<double>::infinity(), size_high = 0, time_low = size_low, time_high = 0, worst = 0.1;
  for (const PlotSeries& s : series)
    for (const PlotPoint& p : s.points) {
      const double size = std::max(1.0, p.size_bytes);  // a message of no bytes stands at the edge
      size_low = std::min(size_low, size), size_high = std::max(size_high, size);
      time_low = std::min({time_low, p.measured_us, p.simulated_us}), time_high = std::max({time_high, p.measured_us, p.simulated_us});
      worst = std::max(worst, std::abs(p.simulated_us / p.measured_us - 1));
    }
  check(size_high > 0 && time_low > 0, "a plot without points");
  const Axis x = axis_over(size_low, size_high, 2, left, right), y = axis_over(time_low, time_high, 10, split, top);
  const double error_scale = std::min(1.0, std::ceil(worst * 10) / 10), middle = (error_top + bottom) / 2;
  const auto error_y = [&](double error) { return middle - (bottom - error_top) / 2 * std::clamp(error / error_scale, -1.0, 1.0); };

  Drawing d;
  d.text(left, 24, "start", title, 15);
  d.text(left, 42, "start", "filled: fitted to, hollow: held out, lines: simulated");
  const int size_steps = static_cast<int>(std::lround(std::log2(x.high / x.low)));
  for (int i = 0; i <= size_steps; i += std::max(1, (size_steps + 7) / 8)) {
    const double value = x.low * std::pow(2, i);
    d.line(x(value), top, x(value), split);
    d.line(x(value), error_top, x(value), bottom);
    d.text(x(value), bottom + 18, "middle", size_label(value));
  }
  for (double value = y.low; value <= y.high * 1.001; value *= 10) {
    d.line(left, y(value), right, y(value));
    d.text(left - 6, y(value) + 4, "end", time_label(value));
  }
  for (const double error : {-error_scale, 0.0, error_scale}) {
    d.line(left, error_y(error), right, error_y(error), error == 0 ? "#888888" : "#dddddd");
    d.text(left - 6, error_y(error) + 4, "end", fmt::format("{:+.0f} %", 100 * error));
  }
  d.text(left, error_top - 8, "start", "simulated / measured - 1");
  for (std::size_t i = 0; i < series.size(); ++i) {
    const char* colour = colours[i % colours.size()];
    std::vector<std::pair<double, double>> line;
    for (const PlotPoint& p : series[i].points) line.emplace_back(x(std::max(1.0, p.size_bytes)), y(p.simulated_us));
    d.path(line, colour);
    for (const PlotPoint& p : series[i].points) {
      const double at = x(std::max(1.0, p.size_bytes));
      d.dot(at, y(p.measured_us), colour, p.fitted);
      d.dot(at, error_y(p.simulated_us / p.measured_us - 1), colour, p.fitted);
    }
    const double row = top + 10 + 18 * static_cast<double>(i);
    d.dot(left + 14, row, colour, true);
    d.text(left + 24, row + 4, "start", series[i].name);
  }
  return d.finish(right + 30, bottom + 36);
}

}  // namespace weft

#include "sim/report/plot.hpp"

#include "kernels/base/error.hpp"
#include "kernels/files/files.hpp"
#include "sim/json/form.hpp"
#include "sim/report/short_names.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft {
namespace {

std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

// For gnuplot, which in double quotes would run what stands between backquotes as a command of the shell.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += '\'';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out + "'";
}

// In what a reader wants to see it.
struct Unit {
  double size = 1;
  const char* name = "";
};
Unit unit_of(const std::string& column, double typical) {
  static constexpr std::array times = {Unit{1e6, "s"}, Unit{1e3, "ms"}, Unit{1, "\xc2\xb5s"}, Unit{1e-3, "ns"}};
  static constexpr std::array bytes = {Unit{1 << 30, "GiB"}, Unit{1 << 20, "MiB"}, Unit{1 << 10, "KiB"}, Unit{1, "B"}};
  const auto fitting = [&](const auto& units) {
    const auto at = std::ranges::find_if(units, [&](const Unit& u) { return typical >= u.size; });
    return at == units.end() ? units.back() : *at;
  };
  if (column.find("_us") != column.npos) return fitting(times);
  if (column.find("bytes") != column.npos) return fitting(bytes);
  return {1, column.find("GBps") != column.npos ? "GB/s" : ""};
}

std::string with_unit(double value, const std::string& column) {
  const Unit unit = unit_of(column, std::abs(value));
  return *unit.name ? fmt::format("{:.4g} {}", value / unit.size, unit.name) : fmt::format("{:.6g}", value);
}

struct Point {
  double x = 0, y = 0, low = 0, high = 0;
  std::string name = {};  // of x, where it is a word
};

class Figure {
 public:
  Figure(const CsvTable& table, const PlotChoice& choice) : table_(table), choice_(choice) {
    choose_lines();
    std::vector<std::string> pointers;
    std::ranges::copy_if(table.header, std::back_inserter(pointers), [](const std::string& name) { return name.starts_with("/"); });
    pointer_names_ = names_of_pointers(pointers);
    x_ = column("--x", choice.x);
    y_ = column("--y", choice.y);
    for (const std::string& name : choice.by) by_.push_back(column("--by", name));
    stop_on_problems();
    if (choice.by.empty()) by_ = what_differs();
    words_ = std::ranges::any_of(lines_, [&](const auto* line) { return !(*line)[x_].empty() && !number_in((*line)[x_]); });
    refuse_other_values();
    collect();
    stop_on_problems();
    refuse_logarithms();
    stop_on_problems();
  }

  std::string script(PlotFormat format) const {
    std::string out = "# Written by weft plot.\n";
    const Page page = page_size();
    constexpr double cm = 14.0 / 720;  // a pixel
    if (format == PlotFormat::pdf)
      out += fmt::format("set terminal pdfcairo noenhanced size {:.4g}cm,{:.4g}cm font 'Helvetica,10' linewidth 1.4\n", page.width * cm,
                         page.height * cm);
    if (format == PlotFormat::svg)
      out += fmt::format("set terminal svg noenhanced size {},{} font 'Helvetica,Arial,sans-serif,12' linewidth 1.4 background '#ffffff'\n",
                         page.width, page.height);
    out +=
        "set border 3 linecolor '#555555'\nset tics nomirror out textcolor '#222222'\nset grid ytics linecolor '#dddddd' linewidth 0.6 "
        "linetype 1 dashtype 1\nset style fill solid 0.85 border -1\n";
    constexpr double letter_of_margin = 8;
    if (page.left > 0) out += fmt::format("set lmargin {:.0f}\n", 9 + page.left / letter_of_margin);
    out += fmt::format("set key below center Left reverse samplen 3.2 spacing 1.15 maxcols {}\n", page.columns_of_key);
    if (!choice_.title.empty()) out += fmt::format("set title {}\n", quoted(choice_.title));
    out += styles();
    return out + (words_ ? bars() : lines());
  }

 private:
  // In pixels of the SVG. The series are named below, so that their names take no width; bars get some, as far as a page goes.
  struct Page {
    int width = 720, height = 400, columns_of_key = 1, left = 0;
  };
  Page page_size() const {
    Page out;
    if (words_) out.width = std::clamp<int>(static_cast<int>(places_.size() * (2 * series_.size() + 3)) * 5 + 90, 720, 1600);
    std::size_t longest = 0;
    for (const auto& [name, points] : series_) longest = std::max(longest, name.size());
    constexpr int letter = 7, sample = 70, line = 17;
    out.columns_of_key = std::clamp((out.width - 80) / (static_cast<int>(longest) * letter + sample), 1, static_cast<int>(series_.size()));
    if (are_turned()) {
      // As long as a label goes down at 45 degrees and, beyond what is left of its bars, to the left.
      const auto goes = [&](const std::string& place) { return static_cast<int>(0.71 * letter * static_cast<double>(place.size())); };
      const int between = (out.width - 90) / static_cast<int>(places_.size() + 1);
      for (std::size_t i = 0; i < places_.size(); ++i) {
        out.left = std::max(out.left, goes(places_[i]) - between * static_cast<int>(i + 1) - 80);
        out.height = std::max(out.height, 400 + goes(places_[i]));
      }
      out.width += out.left;
    }
    out.height += 10 + line * ((static_cast<int>(series_.size()) - 1) / out.columns_of_key + 1);
    return out;
  }
  // Labels of bars lie beside each other where there are few.
  bool are_turned() const { return words_ && places_.size() > 4; }

  std::size_t column(const char* flag, const std::string& name) {
    if (const auto at = table_.column(name)) return *at;
    problems_.push_back(fmt::format("{}: {}", flag, unknown_name("column", name, table_.header)));
    return 0;
  }

  void choose_lines() {
    std::vector<std::pair<std::size_t, std::string>> wanted;
    for (const std::string& text : choice_.where) {
      const auto equals = text.find('=');
      if (equals == text.npos)
        problems_.push_back(fmt::format("--where: must be column=value, got \"{}\"", text));
      else
        wanted.emplace_back(column("--where", text.substr(0, equals)), text.substr(equals + 1));
    }
    stop_on_problems();
    for (const auto& line : table_.lines)
      if (std::ranges::all_of(wanted, [&](const auto& w) { return line[w.first] == w.second; })) lines_.push_back(&line);
    if (!lines_.empty()) return;
    problems_.emplace_back("--where: no line has these values");
    for (const auto& [at, value] : wanted) {
      std::set<std::string> there;
      for (const auto& line : table_.lines) there.insert(line[at]);
      problems_.push_back(fmt::format("--where: {} is {}", table_.header[at], fmt::join(there, ", ")));
    }
    stop_on_problems();
  }

  // Whether a column says what was asked for, as opposed to what came out; swept pointers do, but for those that a column says already.
  bool was_asked_for(std::size_t at) const {
    static const std::set<std::string> asked = {"scenario", "fabric", "network", "algorithm",   "collective",    "size_bytes",
                                                "dtype",    "model",  "engine",  "compression", "batch_per_gpu", "job"};
    static const std::set<std::string> told = {"/network",         "/workload/algorithm",   "/workload/size",
                                               "/workload/engine", "/workload/compression", "/workload/collective",
                                               "/workload/dtype",  "/workload/model",       "/workload/batch_per_gpu"};
    const std::string& name = table_.header[at];
    return asked.contains(name) || (name.starts_with("/") && !told.contains(name));
  }
  std::vector<std::size_t> what_differs() const {
    std::vector<std::size_t> out;
    std::vector<std::size_t> columns;  // a model says more than its size, which comes before it
    for (std::size_t at = 0; at < table_.header.size(); ++at)
      columns.insert(table_.header[at] == "model" ? columns.begin() : columns.end(), at);
    for (const std::size_t at : columns) {
      if (at == x_ || at == y_ || !was_asked_for(at)) continue;
      if (follows_from(x_, at)) continue;
      if (std::ranges::any_of(out, [&](std::size_t known) { return follows_from(known, at) && follows_from(at, known); })) continue;
      out.push_back(at);
    }
    return out;
  }
  // "; what differs is job, /placement/seed": what could be named too.
  std::string what_differs_between(const std::vector<std::string>& one, const std::vector<std::string>& other) const {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < table_.header.size(); ++at)
      if (was_asked_for(at) && one[at] != other[at]) out.push_back(table_.header[at]);
    return out.empty() ? "" : fmt::format("; what differs is {}", fmt::join(out, ", "));
  }
  // Whether a column has one value wherever another has one: then it tells no lines apart.
  bool follows_from(std::size_t known, std::size_t at) const {
    std::map<std::string, std::string> seen;
    return std::ranges::all_of(
        lines_, [&](const auto* line) { return seen.try_emplace((*line)[known], (*line)[at]).first->second == (*line)[at]; });
  }

  std::string series_of(const std::vector<std::string>& line) const {
    std::vector<std::string> parts;
    for (const std::size_t at : by_) {
      if (line[at].empty()) continue;
      const auto number = number_in(line[at]);
      const std::string& name = table_.header[at];
      std::string part = shown(at, line[at]);
      if (part == "none") part = title_of(name) + " none";
      const bool quantity = name.starts_with("/") && std::isdigit(static_cast<unsigned char>(line[at].front()));  // "25Gbps"
      if (line[at] == "true" || line[at] == "false" || (quantity && !number))
        part = fmt::format("{} {}", title_of(name), line[at]);
      else if (number)
        part = name == "size_bytes" ? with_unit(*number, name) : fmt::format("{} {:.6g}", title_of(name), *number);
      if (std::ranges::find(parts, part) == parts.end()) parts.push_back(part);
    }
    return parts.empty() ? title_of(choice_.y) : fmt::format("{}", fmt::join(parts, ", "));
  }

  std::string title_of(const std::string& column) const {
    static const std::map<std::string, std::string> known = {{"size_bytes", "message size"},          {"time_us", "time"},
                                                             {"busbw_GBps", "bus bandwidth"},         {"algbw_GBps", "algorithm bandwidth"},
                                                             {"samples_per_s", "samples per second"}, {"batch_per_gpu", "samples per GPU"}};
    if (const auto at = known.find(column); at != known.end()) return at->second;
    const auto pointer = pointer_names_.find(column);
    std::string out = pointer == pointer_names_.end() ? column : pointer->second;
    for (const char* end : {"_us", "_bytes", "_GBps"})
      if (out.ends_with(end)) out.erase(out.size() - std::string_view(end).size());
    std::ranges::replace(out, '_', ' ');
    return out;
  }

  // What is written of a value in a column.
  std::string shown(std::size_t at, const std::string& value) const {
    const auto names = short_names_.find(at);
    return names == short_names_.end() ? value : names->second.at(value);
  }

  void collect() {
    for (std::size_t at = 0; at < table_.header.size(); ++at) {
      const std::string& name = table_.header[at];
      const bool label = name == "algorithm" || name == "engine" || name == "compression";
      if (!label && !name.starts_with("/")) continue;
      std::set<std::string> values;
      for (const auto* line : lines_) values.insert((*line)[at]);
      short_names_[at] = label ? short_labels(values) : names_of_values(values);
    }
    const auto low = table_.column(choice_.y + "_p05"), high = table_.column(choice_.y + "_p95");
    std::map<std::string, std::size_t> number_of;
    std::map<std::string, double> place_of;
    std::map<std::pair<std::string, std::string>, const std::vector<std::string>*> line_of;
    for (const auto* line : lines_) {
      const auto y = number_in((*line)[y_]), x = number_in((*line)[x_]);
      if (!y || (!words_ && !x)) continue;
      const std::string name = series_of(*line), &word = (*line)[x_];
      const auto [at, fresh] = number_of.try_emplace(name, series_.size());
      if (fresh) series_.push_back({name, {}});
      Point point{.x = words_ ? place_of.try_emplace(word, static_cast<double>(place_of.size())).first->second : *x,
                  .y = *y,
                  .low = *y,
                  .high = *y,
                  .name = word};
      if (low && high) {
        point.low = std::min(*y, number_in((*line)[*low]).value_or(*y));
        point.high = std::max(*y, number_in((*line)[*high]).value_or(*y));
      }
      auto& points = series_[at->second].second;
      const auto [other, first_there] = line_of.try_emplace({name, word}, line);
      if (!first_there && reported_.insert(name).second)
        problems_.push_back(
            fmt::format("{} has several values of {} at {} = {}: tell them apart with --by COLUMN, or choose with --where COLUMN=VALUE{}",
                        name, choice_.y, choice_.x, word, what_differs_between(*other->second, *line)));
      points.push_back(point);
    }
    for (auto& [name, points] : series_) std::ranges::sort(points, {}, &Point::x);
    if (series_.size() > choice_.max_series) problems_.push_back(too_many());
    if (series_.empty()) problems_.push_back(fmt::format("--y: the column {} has no numbers in these lines", choice_.y));
    places_.resize(place_of.size());
    for (const auto& [word, place] : place_of) places_[static_cast<std::size_t>(place)] = shown(x_, word);
  }

  // What could be chosen from.
  std::string too_many() const {
    std::vector<std::string> columns;
    for (const std::size_t at : by_) {
      std::set<std::string> values;
      for (const auto* line : lines_) values.insert((*line)[at]);
      if (values.size() > 1) columns.push_back(fmt::format("{} ({} values)", table_.header[at], values.size()));
    }
    return fmt::format("these are {} series, and at most {} can be told apart: choose with --where COLUMN=VALUE from {}", series_.size(),
                       choice_.max_series, fmt::join(columns, ", "));
  }

  // A point that is missing is seen by nobody, so a value that is neither a number nor empty is not left out.
  void refuse_other_values() {
    const auto is_other = [&](const auto* line) { return !(*line)[y_].empty() && !number_in((*line)[y_]); };
    const auto others = std::ranges::count_if(lines_, is_other);
    if (others == 0 || std::ranges::none_of(lines_, [&](const auto* line) { return number_in((*line)[y_]).has_value(); })) return;
    problems_.push_back(fmt::format("--y: {} must be a number or empty, got \"{}\" in {} of {} lines: choose others with --where",
                                    choice_.y, (**std::ranges::find_if(lines_, is_other))[y_], others, lines_.size()));
  }

  // 0 has a place along the figure (see lines), none upwards.
  void refuse_logarithms() {
    const double x = words_ ? 0 : all([](const Point&p) { return p.x; }).front(), y = all([](const Point&p) { return p.low; }).front();
    if (choice_.log_x.value_or(false) && words_)
      problems_.push_back(fmt::format("--log-x: the column {} has words", choice_.x));
    else if (choice_.log_x.value_or(false) && x < 0)
      problems_.push_back(fmt::format("--log-x: the column {} must not be negative, got {:.6g}", choice_.x, x));
    if (choice_.log_y.value_or(false) && y <= 0)
      problems_.push_back(fmt::format("--log-y: the column {} must be above 0 everywhere, got {:.6g}", choice_.y, y));
  }

  void stop_on_problems() const {
    if (!problems_.empty()) throw InputError(problems_);
  }

  template <class Get>
  std::vector<double> all(Get get) const {
    std::vector<double> out;
    for (const auto& [name, points] : series_)
      for (const Point& p : points) out.push_back(get(p));
    std::ranges::sort(out);
    return out;
  }
  static bool logarithmic(const std::vector<double>& sorted, std::optional<bool> asked) {
    if (sorted.front() <= 0) return false;
    return asked.value_or(sorted.back() / sorted.front() > 20);
  }

  // Colours after Okabe and Ito, dashes and points: of up to eight series each tells them apart by itself, of more the colour and the dash
  // together, or the colour and the hatches.
  std::string styles() const {
    static constexpr std::array colours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444", "#7a4fbf"};
    static constexpr std::array dashes = {"1", "'-'", "'.'", "'-.'", "'_'", "'..-'", "'--.'"};
    std::string out;
    for (std::size_t i = 0; i < series_.size(); ++i)
      out += fmt::format("set style line {} linecolor '{}' linewidth 1.6 dashtype {} pointtype {} pointsize 0.7\n", i + 1, colours[i % 8],
                         dashes[(i + i / 8) % 7], std::array{7, 5, 9, 13, 11, 4, 6, 8}[(i + 3 * (i / 8)) % 8]);
    return out;
  }

  std::string label(const std::string& column, const Unit& unit) const {
    return quoted(*unit.name ? fmt::format("{} ({})", title_of(column), unit.name) : title_of(column));
  }

  std::string y_axis(const Unit& unit) const {
    std::string out = fmt::format("set ylabel {}\n", label(choice_.y, unit));
    const auto values = all([](const Point& p) { return p.low; });
    const bool may_be = choice_.log_y.value_or(!words_);  // bars begin at nothing
    if (may_be && logarithmic(values, choice_.log_y)) return out + "set logscale y\nset format y '%g'\n";
    return out + (values.front() >= 0 ? "set yrange [0:*]\n" : "");
  }

  // Those that a label fits beside: the first, and then what is a sixth of the axis away from the one before, or a twelfth where there are
  // few.
  static std::vector<double> apart(const std::vector<double>& values, bool by_logarithm) {
    const auto at = [&](double x) { return by_logarithm ? std::log(x) : x; };
    const std::set<double> places(values.begin(), values.end());
    constexpr std::size_t few = 9;
    const double least = (at(*places.rbegin()) - at(*places.begin())) / (places.size() <= few ? 12 : 6) * (1 - 1e-9);
    std::vector<double> out;
    for (const double x : places)
      if (out.empty() || at(x) - at(out.back()) >= least) out.push_back(x);
    return out;
  }

  std::string lines() const {
    const auto ys = all([](const Point& p) { return p.y; });
    auto xs = all([](const Point& p) { return p.x; });
    // On a logarithmic axis 0 stands a decade before the least of the others, and is called 0.
    const auto positive = std::ranges::upper_bound(xs, 0.0);
    const bool apart_from_zero = xs.front() == 0 && positive != xs.end() && logarithmic({positive, xs.end()}, choice_.log_x);
    const double zero = apart_from_zero ? *positive / 10 : 0;
    const auto placed = [&](double x) { return x == 0 ? zero : x; };
    for (double& x : xs) x = placed(x);
    const Unit unit = unit_of(choice_.y, ys[ys.size() / 2]);
    std::string out = fmt::format("set xlabel {} offset 0,0.4\n", quoted(title_of(choice_.x))) + y_axis(unit);
    if (logarithmic(xs, choice_.log_x)) out += fmt::format("set logscale x {}\n", choice_.x.find("bytes") != choice_.x.npos ? 2 : 10);
    std::string tics;
    for (const double x : apart(xs, logarithmic(xs, choice_.log_x)))
      tics += fmt::format("{}{} {:.17g}", tics.empty() ? "" : ", ", quoted(with_unit(apart_from_zero && x == zero ? 0 : x, choice_.x)), x);
    out += fmt::format("set xtics ({})\n", tics);
    if (const double only = xs.front(); only == xs.back())
      out += only > 0 ? fmt::format("set xrange [{:.17g}:{:.17g}]\n", only / 2, only * 2)
                      : fmt::format("set xrange [{}:{}]\n", only - 1, only + 1);
    else
      out += "set autoscale xfix\nset offsets graph 0.02, graph 0.02, 0, 0\n";
    std::string plot;
    for (std::size_t s = 0; s < series_.size(); ++s) {
      const auto& [name, points] = series_[s];
      out += fmt::format("$series{} << EOD\n", s + 1);
      bool spread = false;
      for (const Point& p : points) {
        out += fmt::format("{:.17g} {:.10g} {:.10g} {:.10g}\n", placed(p.x), p.y / unit.size, p.low / unit.size, p.high / unit.size);
        spread = spread || p.high > p.low;
      }
      out += "EOD\n";
      plot += fmt::format("{}$series{} using 1:2 with linespoints linestyle {} title {}", plot.empty() ? "plot " : ", \\\n     ", s + 1,
                          s + 1, quoted(name));
      if (spread) plot += fmt::format(", \\\n     $series{} using 1:2:3:4 with yerrorbars linestyle {} dashtype 1 notitle", s + 1, s + 1);
    }
    return out + plot + "\n";
  }

  std::string bars() const {
    const auto ys = all([](const Point& p) { return p.y; });
    const Unit unit = unit_of(choice_.y, ys[ys.size() / 2]);
    bool spread = false;
    for (const auto& [name, points] : series_)
      spread = spread || std::ranges::any_of(points, [](const Point& p) { return p.high > p.low; });
    std::string out = fmt::format("set xlabel {} offset 0,0.4\n", quoted(title_of(choice_.x))) + y_axis(unit) +
                      fmt::format("set style data histogram\nset style histogram {} gap 1.5{}\nset boxwidth 0.9\n",
                                  spread ? "errorbars" : "clustered", spread ? " linewidth 1" : "");
    std::string tics;  // labels in a block of data could hold no quotes
    for (std::size_t place = 0; place < places_.size(); ++place)
      tics += fmt::format("{}{} {}", tics.empty() ? "" : ", ", quoted(places_[place]), place);
    out += fmt::format("set xtics {}({})\n", are_turned() ? "rotate by 45 right " : "", tics);
    std::string plot;
    for (std::size_t s = 0; s < series_.size(); ++s) {
      out += fmt::format("$series{} << EOD\n", s + 1);
      for (std::size_t place = 0; place < places_.size(); ++place) {
        const auto& points = series_[s].second;
        const auto at = std::ranges::find(points, static_cast<double>(place), &Point::x);
        out += at == points.end() ? "NaN NaN NaN\n"
                                  : fmt::format("{:.10g} {:.10g} {:.10g}\n", at->y / unit.size, at->low / unit.size, at->high / unit.size);
      }
      out += "EOD\n";
      plot += fmt::format("{}$series{} using {} linestyle {} linewidth 0.7 dashtype 1 fillstyle pattern {} title {}",
                          plot.empty() ? "plot " : ", \\\n     ", s + 1, spread ? "1:2:3" : "1", s + 1,
                          std::array{3, 1, 2, 6, 4, 5, 7}[s % 7], quoted(series_[s].first));
    }
    return out + plot + "\n";
  }

  const CsvTable& table_;
  const PlotChoice& choice_;
  std::vector<std::string> problems_;
  std::set<std::string> reported_;
  std::vector<const std::vector<std::string>*> lines_;
  std::size_t x_ = 0, y_ = 0;
  std::vector<std::size_t> by_;
  std::map<std::size_t, std::map<std::string, std::string>> short_names_;  // by column
  std::map<std::string, std::string> pointer_names_;
  bool words_ = false;
  std::vector<std::string> places_;  // on the horizontal axis, where it has words
  std::vector<std::pair<std::string, std::vector<Point>>> series_;
};

}  // namespace

std::string plot_script(const CsvTable& table, const PlotChoice& choice, PlotFormat format) { return Figure(table, choice).script(format); }

std::string drawn_by_gnuplot(const std::string& script) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / fmt::format("weft_plot_{}.gp", ::getpid());
  write_file(file, script);
  std::string out;
  std::array<char, 1 << 16> buffer;
  // What it warns of, as that it has little room, is not for whoever asked for a figure.
  const std::string said = file.string() + ".err";
  FILE* gnuplot = ::popen(fmt::format("gnuplot '{}' 2>'{}'", file.string(), said).c_str(), "r");
  if (!gnuplot) throw RunError("gnuplot cannot be started");
  for (std::size_t got; (got = std::fread(buffer.data(), 1, buffer.size(), gnuplot)) > 0;) out.append(buffer.data(), got);
  const int status = ::pclose(gnuplot);
  const std::string why = read_file(said);
  std::filesystem::remove(file);
  std::filesystem::remove(said);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    throw RunError("there is no gnuplot, which draws the figure: install gnuplot-nox, or write its script with -o FILE.gp");
  if (status != 0 || out.empty()) throw RunError("gnuplot could not draw the figure: " + why);
  // Same inputs, same bytes: a PDF would say when it was made.
  const std::string date = "/CreationDate (D:";
  if (const auto at = out.find(date); at != out.npos)
    for (std::size_t i = at + date.size(); i < out.size() && out[i] >= '0' && out[i] <= '9'; ++i)
      out[i] = i < at + date.size() + 4 ? "2000"[i - at - date.size()] : '1';
  return out;
}

}  // namespace weft

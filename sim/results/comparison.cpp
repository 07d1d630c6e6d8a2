#include "sim/results/comparison.hpp"

#include "sim/cases/describe.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace weft {
namespace {

constexpr TimeUnit units[] = {{"s", 1e12, 4}, {"ms", 1e9, 3}, {"us", 1e6, 2}, {"ns", 1e3, 2}};

// The column of an algorithm: its label, or its name only where a sweep changes its settings from case to case.
std::string column_of(const std::vector<Case>& cases, std::size_t case_index, const std::string& algorithm) {
  const auto& mine = cases[case_index].scenario.workload.algorithms;
  const auto at = static_cast<std::size_t>(std::ranges::find(mine, algorithm, [](const auto& a) { return label(a); }) - mine.begin());
  const std::string& name = mine[at].name;
  if (std::ranges::count(mine, name, &AlgorithmChoice::name) > 1) return algorithm;
  const auto differs = [&](const Case& one) {
    const auto& theirs = one.scenario.workload.algorithms;
    return theirs.size() == mine.size() && theirs[at].name == name && label(theirs[at]) != algorithm;
  };
  return std::ranges::any_of(cases, differs) ? name : algorithm;
}

// The results by size, case and column.
struct Matrix {
  std::vector<std::string> columns = {};
  std::vector<Bytes> sizes = {};
  std::map<std::tuple<Bytes, std::size_t, std::string>, const Result*> cells = {};

  const Result* at(Bytes size, std::size_t case_index, const std::string& column) const {
    const auto cell = cells.find({size, case_index, column});
    return cell == cells.end() ? nullptr : cell->second;
  }
  // Of one line.
  std::vector<const Result*> line(Bytes size, std::size_t case_index) const {
    std::vector<const Result*> out;
    for (const std::string& column : columns)
      if (const Result* cell = at(size, case_index, column)) out.push_back(cell);
    return out;
  }
};

template <class T>
void add_new(std::vector<T>& list, const T& value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

Matrix matrix_of(const std::vector<Result>& results, const std::vector<Case>& cases) {
  Matrix out;
  for (const Result& result : results) {
    const std::string column = (result.request.engine ? label(*result.request.engine) + ", " : "") +
                               column_of(cases, result.request.case_index, label(*result.request.algorithm)) +
                               (result.request.compression ? ", " + label(*result.request.compression) : "");
    add_new(out.columns, column);
    add_new(out.sizes, result.request.size);
    out.cells[{result.request.size, result.request.case_index, column}] = &result;
  }
  return out;
}

// "a, b" in parts.
std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find(", ", begin), name.size());
    out.push_back(name.substr(begin, end - begin));
    begin = end + 2;
  }
  return out;
}

// Without what they all say.
std::vector<std::string> differences(const std::vector<std::string>& names) {
  std::map<std::string, std::size_t> in_names;
  for (const std::string& name : names) {
    const std::vector<std::string> parts = parts_of(name);
    for (const std::string& part : std::set<std::string>(parts.begin(), parts.end())) ++in_names[part];
  }
  std::vector<std::string> out;
  for (const std::string& name : names) {
    std::vector<std::string> parts = parts_of(name);
    std::erase_if(parts, [&](const std::string& part) { return in_names[part] == names.size(); });
    out.push_back(parts.empty() ? name : fmt::format("{}", fmt::join(parts, ", ")));
  }
  return out;
}

// What the lines are called. Where that would be too long for them they are numbered, and lines above say what the numbers stand for.
struct CaseNames {
  std::vector<std::string> of_lines = {};
  std::string above = {};
};

CaseNames names_of_cases(const std::vector<Case>& cases, const TableStyle& style) {
  std::vector<std::string> names;
  for (const Case& one : cases) {
    const std::string axes = axes_label(one);
    names.push_back(axes.empty() ? describe(one.scenario.fabric.spec) : axes);
  }
  const std::size_t most = style.width / 2;
  const auto fits = [&](const std::string& name) { return most == 0 || name.size() <= most; };
  if (std::ranges::all_of(names, fits)) return {names};
  names = differences(names);
  if (std::ranges::all_of(names, fits)) return {names};
  CaseNames out{.above = "#\n"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    out.of_lines.push_back(fmt::format("case {}", i + 1));
    out.above += fmt::format("# {}: {}\n", out.of_lines.back(), names[i]);
  }
  out.above = wrapped(out.above, style.width);
  return out;
}

}  // namespace

bool fastest(const Result& result, const std::vector<const Result*>& group) {
  if (!result.row) return false;
  const auto same_size = [&](const Result* other) { return other->row && other->request.size == result.request.size; };
  return std::count_if(group.begin(), group.end(), same_size) > 1 && std::none_of(group.begin(), group.end(), [&](const Result* other) {
           return same_size(other) && other != &result &&
                  (other->row->runs > 1 || result.row->runs > 1 ? other->row->time_p05 <= result.row->time_p95
                                                                : other->row->time < result.row->time);
         });
}

std::string TimeUnit::text(SimTime time) const { return fmt::format("{:.{}f}", static_cast<double>(time.ps) / ps, decimals); }

TimeUnit time_unit(const std::vector<const Result*>& group) {
  std::int64_t least = INT64_MAX;
  for (const Result* result : group)
    if (result->row && result->row->time.ps > 0) least = std::min(least, result->row->time.ps);
  for (const TimeUnit& unit : units)
    if (least != INT64_MAX && static_cast<double>(least) >= unit.ps) return unit;
  return {};
}

std::string comparison(const std::vector<Result>& results, const std::vector<Case>& cases, const TableStyle& style) {
  const Matrix matrix = matrix_of(results, cases);
  const auto [names, above] = names_of_cases(cases, style);
  std::size_t first = 4;
  for (const std::string& name : names) first = std::max(first, name.size());
  const auto width_of = [](const std::string& column) { return std::max<std::size_t>(12, column.size()); };
  std::string out = above;
  for (const Bytes size : matrix.sizes) {
    std::vector<const Result*> of_size;
    for (const Result& result : results)
      if (result.request.size == size) of_size.push_back(&result);
    const TimeUnit unit = time_unit(of_size);
    out += fmt::format("#\n# time ({}), {}\n", unit.name, to_string(size));
    for (std::size_t begin = 0; begin < matrix.columns.size();) {
      std::size_t end = begin, width = 2 + first;
      while (end < matrix.columns.size() && (end == begin || style.width == 0 || width + 3 + width_of(matrix.columns[end]) <= style.width))
        width += 3 + width_of(matrix.columns[end++]);
      std::string head = fmt::format("# {:<{}}", "case", first);
      for (std::size_t c = begin; c < end; ++c) head += fmt::format("  {:>{}} ", matrix.columns[c], width_of(matrix.columns[c]));
      head.erase(head.find_last_not_of(' ') + 1);
      out += head + "\n";
      for (std::size_t i = 0; i < cases.size(); ++i) {
        const std::vector<const Result*> here = matrix.line(size, i);
        if (here.empty()) continue;
        std::string line = fmt::format("  {:<{}}", names[i], first);
        for (std::size_t c = begin; c < end; ++c) {
          const Result* cell = matrix.at(size, i, matrix.columns[c]);
          const bool best = cell && fastest(*cell, here);
          const std::string text =
              fmt::format("{:>{}}{}", cell && cell->row ? unit.text(cell->row->time) : "-", width_of(matrix.columns[c]), best ? '*' : ' ');
          line += "  " + (best ? coloured(text, "1;32", style) : text);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
      }
      begin = end;
    }
  }
  return out;
}

}  // namespace weft

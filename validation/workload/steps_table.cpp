#include "validation/workload/steps_table.hpp"

#include "kernels/base/error.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

namespace weft {
namespace {

constexpr std::size_t columns = 7;  // behind the name, which has spaces of its own

double number_in(const std::string& word, const std::string& line) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) throw RunError(fmt::format("no row of a table of steps: {}", line));
  return value;
}

std::string name_of(const Row& row) {
  return row.training->engine + ", " + row.algorithm + (row.compressed ? ", " + row.compressed->compression : "");
}

}  // namespace

std::string to_table(const std::vector<Row>& rows, const StepsRun& run) {
  const Row& first = rows.front();
  std::string out =
      fmt::format("# measured: {} of {}, {} ranks over {}, batch {} a rank; median of {} steps; every gradient was right\n", first.scenario,
                  first.training->model, first.ranks, run.transport, first.training->batch_per_gpu, run.iterations);
  std::size_t width = 14;
  for (const Row& row : rows) width = std::max(width, name_of(row).size());
  out += fmt::format("# {:<{}}  {:>12}  {:>12}  {:>12}  {:>12}  {:>11}  {:>10}  {:>14}\n", "engine", width, "step (us)", "compute (us)",
                     "exposed (us)", "kernels (us)", "samples/s", "efficiency", "sent a rank (B)");
  for (const Row& row : rows)
    out += fmt::format("  {:<{}}  {:>12.2f}  {:>12.2f}  {:>12.2f}  {:>12.2f}  {:>11.1f}  {:>9.1f}%  {:>14}\n", name_of(row), width,
                       row.time.microseconds(), row.training->compute.microseconds(), row.training->exposed.microseconds(),
                       row.compressed ? row.compressed->kernels.microseconds() : 0, row.training->samples_per_s,
                       100 * row.training->scaling_efficiency, row.wire_bytes_per_rank.count);
  return out;
}

std::vector<MeasuredStep> read_steps(std::string_view table) {
  std::vector<MeasuredStep> out;
  std::istringstream lines{std::string(table)};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream in(line);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    if (words.size() <= columns) throw RunError(fmt::format("no row of a table of steps: {}", line));
    const std::size_t first = words.size() - columns;
    out.push_back({number_in(words[first], line), number_in(words[first + 1], line)});
  }
  return out;
}

}  // namespace weft

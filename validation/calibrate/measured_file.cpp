#include "validation/calibrate/measured_file.hpp"

#include "kernels/base/error.hpp"
#include "validation/measurements/lines.hpp"
#include "validation/measurements/renames.hpp"

#include <filesystem>
#include <set>

#include <fmt/ranges.h>

namespace weft {
namespace {

constexpr int max_ranks = 1 << 20;

// One "ranks=64"; says what is wrong with it, or nothing.
std::string read_value(std::string_view text, MeasuredFile& file) {
  const auto equals = text.find('=');
  const std::string_view key = text.substr(0, equals);
  const bool counts = key == "ranks" || key == "nodes" || key == "back_to_back";
  if (equals == text.npos || (!counts && key != "collective" && key != "algorithm"))
    return fmt::format("must be ranks=N, nodes=N, collective=NAME, algorithm=NAME or back_to_back=N, got \"{}\"", text);
  const std::string_view value = text.substr(equals + 1);
  if (key == "collective") {
    file.collective = collective_spelled(value);
    return is_measured_collective(file.collective) ? "" : fmt::format("\"{}\" is no collective that Weft simulates", value);
  }
  if (key == "algorithm") {
    file.algorithm = value;
    try {
      parse_algorithm(file.algorithm);
    } catch (const InputError& error) {
      return fmt::format("algorithm {}: {}", value, fmt::join(error.problems(), "; "));
    }
    return {};
  }
  const auto number = whole_number_in(value);
  if (!number || *number < 1 || *number > max_ranks) return fmt::format("{} must be between 1 and {}, got \"{}\"", key, max_ranks, value);
  (key == "ranks" ? file.ranks : key == "nodes" ? file.nodes : file.back_to_back) = static_cast<int>(*number);
  return {};
}

// The comma behind the first value, which may have commas in parentheses.
std::size_t end_of_value(std::string_view text) {
  int open = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',' && open == 0) return i;
    open += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
  }
  return text.npos;
}

MeasuredFile measured_file(const std::string& argument, std::vector<std::string>& problems) {
  const auto colon = argument.rfind(':');
  if (colon == argument.npos || argument.find('=', colon) == argument.npos || std::filesystem::exists(argument)) return {.name = argument};
  MeasuredFile out{.name = argument.substr(0, colon)};
  std::string_view rest = std::string_view(argument).substr(colon + 1);
  std::set<std::string_view> keys;
  for (;;) {
    const auto comma = end_of_value(rest);
    if (const std::string_view key = rest.substr(0, rest.find('=')); !keys.insert(key).second)
      problems.push_back(fmt::format("{}: {} is given twice", argument, key));
    if (const std::string found = read_value(rest.substr(0, comma), out); !found.empty())
      problems.push_back(fmt::format("{}: {}", argument, found));
    if (comma == rest.npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (out.ranks > 0 && out.nodes > 0 && out.ranks % out.nodes != 0)
    problems.push_back(fmt::format("{}: ranks must be a multiple of nodes", argument));
  return out;
}

}  // namespace

Measurements read_measurements(const MeasuredFile& file, ReadOptions options) {
  if (!file.collective.empty()) options.collective = file.collective;
  options.algorithm = file.algorithm;
  options.ranks = file.ranks;
  options.nodes = file.nodes;
  options.back_to_back = file.back_to_back;
  Measurements out = read_measurements(file.name, options);
  if (!file.collective.empty())
    if (const std::string said = contradicted(file.collective, out.rows); !said.empty())
      throw InputError(fmt::format("{0}:collective={1}: {0} says itself that {2} was measured; leave out :collective={1}", file.name,
                                   file.collective, said));
  return out;
}

std::string contradicted(const std::string& collective, const std::vector<Measurement>& rows) {
  std::set<std::string> said;
  for (const Measurement& row : rows) said.insert(row.collective);
  return said.contains(collective) ? "" : fmt::format("{}", fmt::join(said, ", "));
}

std::vector<MeasuredFile> measured_files(const std::vector<std::string>& arguments) {
  std::vector<MeasuredFile> out;
  std::vector<std::string> problems;
  for (const std::string& argument : arguments) out.push_back(measured_file(argument, problems));
  if (!problems.empty()) throw InputError(std::move(problems));
  return out;
}

}  // namespace weft

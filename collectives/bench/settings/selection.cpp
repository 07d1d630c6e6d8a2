#include "collectives/bench/settings/selection.hpp"

#include "kernels/base/error.hpp"

#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

namespace weft::bench {
namespace {

constexpr std::string_view header = "collective,ranks,min_bytes,max_bytes,algorithm,channels,pieces,group,nics,nccl_algorithm";

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> out(1);
  for (const char c : line)
    if (c == ',')
      out.emplace_back();
    else
      out.back() += c;
  return out;
}

Selected selected_of(const std::string& line) {
  const std::vector<std::string> fields = fields_of(line);
  const std::vector<std::string> names = fields_of(std::string(header));
  if (fields.size() != names.size()) throw InputError(fmt::format("must have {} fields, got {}", names.size(), fields.size()));
  const auto whole = [&](std::size_t i, std::int64_t low, std::int64_t high) {
    std::int64_t value = 0;
    const std::string& text = fields[i];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high)
      throw InputError(fmt::format("{} must be a whole number from {} to {}, got \"{}\"", names[i], low, high, text));
    return value;
  };
  const auto collective = collective_named(fields[0]);
  if (!collective) throw InputError(fmt::format("collective: unknown \"{}\"", fields[0]));
  constexpr std::int64_t max_bytes = std::int64_t{1} << 50, most = 1 << 20;
  Selected out{.collective = *collective,
               .ranks = static_cast<int>(whole(1, 1, most)),
               .min_bytes = whole(2, 0, max_bytes),
               .max_bytes = whole(3, 0, max_bytes),
               .algorithm = fields[4]};
  if (out.max_bytes < out.min_bytes)
    throw InputError(fmt::format("max_bytes must be at least min_bytes = {}, got {}", out.min_bytes, out.max_bytes));
  const Algorithm* algorithm = find_algorithm(*collective, out.algorithm);
  if (!algorithm) throw InputError(fmt::format("algorithm: no {} is called \"{}\"", fields[0], out.algorithm));
  if (algorithm->chooses) throw InputError(fmt::format("algorithm: {} chooses by size among others; name one of them", out.algorithm));
  out.settings.channels = static_cast<int>(whole(5, 1, 1024));
  out.settings.pieces = static_cast<int>(whole(6, 1, most));
  out.settings.group = static_cast<int>(whole(7, 0, most));
  out.settings.nics = static_cast<int>(whole(8, 0, most));
  bool known = false;
  for (const NcclAlgorithm pattern : {NcclAlgorithm::ring, NcclAlgorithm::tree, NcclAlgorithm::automatic})
    if (fields[9] == name_of(pattern)) out.settings.nccl = pattern, known = true;
  if (!known) throw InputError(fmt::format("nccl_algorithm must be ring, tree or auto, got \"{}\"", fields[9]));
  return out;
}

}  // namespace

const Selected* selected_for(const std::vector<Selected>& table, Collective collective, int ranks, std::int64_t bytes) {
  for (const Selected& row : table)
    if (row.collective == collective && row.ranks == ranks && row.min_bytes <= bytes && bytes <= row.max_bytes) return &row;
  return nullptr;
}

std::vector<Selected> parse_selection(std::string_view text, const std::string& file) {
  std::vector<Selected> out;
  std::vector<std::string> problems;
  std::istringstream in{std::string(text)};
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || line.front() == '#' || line == header) continue;
    try {
      out.push_back(selected_of(line));
    } catch (const InputError& error) {
      problems.push_back(fmt::format("{}:{}: {}", file, number, error.what()));
    }
  }
  if (problems.empty() && out.empty()) problems.push_back(fmt::format("{}: selects nothing: lines must be {}", file, header));
  if (!problems.empty()) throw InputError(std::move(problems));
  return out;
}

std::vector<Selected> read_selection(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw InputError(fmt::format("{}: cannot be read", file));
  return parse_selection(std::string(std::istreambuf_iterator<char>(in), {}), file);
}

}  // namespace weft::bench

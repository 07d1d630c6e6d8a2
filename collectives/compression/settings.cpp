#include "collectives/compression/settings.hpp"

#include "kernels/base/nearest_name.hpp"
#include "kernels/compression/count_sketch.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cmath>
#include <cstdint>

namespace weft {
namespace {

constexpr std::array<std::string_view, 5> compressions = {"gs_sgd", "gtopk", "sketched_sgd", "topk_allgather", "dense"};

Problem unknown_name(const std::string& name) {
  const std::vector<std::string> known(compressions.begin(), compressions.end());
  std::string what = fmt::format("unknown compression \"{}\", must be one of {}", name, fmt::join(known, ", "));
  if (const auto near = nearest_name(name, known)) what += fmt::format(" (did you mean \"{}\"?)", *near);
  return {"/name", what};
}

std::string found(const Amount& amount, std::int64_t count) {
  return amount.share != 0 ? fmt::format("{}, which are {}", to_string(amount), count) : fmt::format("{}", count);
}

void check_amount(const char* where, const Amount& amount, std::int64_t elements, std::int64_t most, std::vector<Problem>& problems) {
  if (amount.share < 0 || amount.share > 1 || std::isnan(amount.share)) {
    problems.push_back({where, fmt::format("must be more than 0% and at most 100%, got {}", to_string(amount))});
    return;
  }
  const std::int64_t count = amount.of(elements);
  if (count < 1 || count > most)
    problems.push_back(
        {where, fmt::format("must be {}, got {}", most == INT64_MAX ? "at least 1" : fmt::format("1 to {}", most), found(amount, count))});
}

}  // namespace

std::int64_t Amount::of(std::int64_t elements) const {
  if (share == 0) return count;
  return std::max<std::int64_t>(std::llround(share * static_cast<double>(elements)), 1);
}

Amount parse_amount(std::string_view text) {
  const bool percent = text.ends_with('%');
  const std::string_view number = percent ? text.substr(0, text.size() - 1) : text;
  const char* end = number.data() + number.size();
  Amount amount;
  double percents = 0;
  const auto read =
      percent ? std::from_chars(number.data(), end, percents, std::chars_format::fixed) : std::from_chars(number.data(), end, amount.count);
  if (number.empty() || read.ec != std::errc{} || read.ptr != end || !std::isfinite(percents))
    throw InputError(fmt::format("\"{}\": write a count (1000) or a share of the elements (1%)", text));
  amount.share = percents / 100;
  return amount;
}

std::string to_string(const Amount& amount) {
  return amount.share != 0 ? fmt::format("{:.6g}%", amount.share * 100) : fmt::format("{}", amount.count);
}

std::string_view name_of(ErrorMemory memory) { return memory == ErrorMemory::sketch ? "sketch" : "dense"; }

std::span<const std::string_view> compression_names() { return compressions; }

bool sends_sketches(std::string_view name) { return name == "gs_sgd" || name == "sketched_sgd"; }

bool is_sparse(std::string_view name) { return name != "dense"; }

std::string label(const CompressionSettings& s) {
  std::vector<std::string> parts;
  if (sends_sketches(s.name)) parts.push_back(fmt::format("rows={}, columns={}", s.rows, to_string(s.columns)));
  if (is_sparse(s.name)) parts.push_back("k=" + to_string(s.k));
  if (s.momentum != 0) parts.push_back(fmt::format("momentum={:.6g}", s.momentum));
  if (s.memory == ErrorMemory::sketch) parts.push_back("memory=sketch");
  return parts.empty() ? s.name : fmt::format("{}({})", s.name, fmt::join(parts, ", "));
}

std::vector<Problem> problems(const CompressionSettings& s, std::int64_t elements) {
  constexpr std::int64_t max_elements = std::int64_t{1} << 32;  // indices are of 32 bits
  std::vector<Problem> problems;
  if (std::find(compressions.begin(), compressions.end(), s.name) == compressions.end()) problems.push_back(unknown_name(s.name));
  if (elements < 1 || elements > max_elements) {
    problems.push_back({"/elements", fmt::format("must be 1 to {}, got {}", max_elements, elements)});
    elements = std::clamp<std::int64_t>(elements, 1, max_elements);
  }
  if (is_sparse(s.name)) check_amount("/k", s.k, elements, INT64_MAX, problems);
  if (sends_sketches(s.name)) {
    if (s.rows < 1 || s.rows > SketchShape::max_rows)
      problems.push_back({"/rows", fmt::format("must be 1 to {}, got {}", SketchShape::max_rows, s.rows)});
    check_amount("/columns", s.columns, elements, INT_MAX, problems);
    if (problems.empty() && s.memory == ErrorMemory::sketch && std::min(s.k.of(elements), elements) > s.columns.of(elements))
      problems.push_back(
          {"/k", fmt::format("must be at most the columns, {}, where errors are kept in the sketch, because the values sent are "
                             "its estimates; got {}",
                             s.columns.of(elements), found(s.k, s.k.of(elements)))});
  } else if (s.memory == ErrorMemory::sketch) {
    problems.push_back({"/memory", fmt::format("{} has no sketch to keep errors in, must be \"dense\"", s.name)});
  }
  if (!(s.momentum >= 0 && s.momentum < 1))
    problems.push_back({"/momentum", fmt::format("must be at least 0 and less than 1, got {:.6g}", s.momentum)});
  return problems;
}

void require_sound(const CompressionSettings& settings, std::int64_t elements) {
  std::vector<std::string> lines;
  for (const Problem& p : problems(settings, elements)) lines.push_back(fmt::format("compression: {}: {}", p.where, p.what));
  if (!lines.empty()) throw InputError(lines);
}

}  // namespace weft

#include "validation/measurements/osu_titles.hpp"

#include "validation/measurements/lines.hpp"

#include <algorithm>
#include <array>

namespace weft {
namespace {

constexpr std::array osu_tables = {OsuBenchmark{"osu_latency", "Latency", "latency"},
                                   OsuBenchmark{"osu_bw", "Bandwidth", "bandwidth"},
                                   OsuBenchmark{"osu_bibw", "Bi-Directional Bandwidth", "bidirectional_bandwidth"},
                                   OsuBenchmark{"osu_allreduce", "Allreduce Latency", "allreduce"},
                                   OsuBenchmark{"osu_reduce_scatter", "Reduce_scatter Latency", "reduce_scatter"},
                                   OsuBenchmark{"osu_allgather", "Allgather Latency", "allgather", true},
                                   OsuBenchmark{"osu_alltoall", "All-to-All Personalized Exchange Latency", "alltoall", true},
                                   OsuBenchmark{"osu_alltoall", "Alltoall Latency", "alltoall", true},
                                   OsuBenchmark{"osu_bcast", "Broadcast Latency", "broadcast"},
                                   OsuBenchmark{"osu_reduce", "Reduce Latency", "reduce"},
                                   OsuBenchmark{"osu_barrier", "Barrier Latency", "barrier"}};

}  // namespace

std::string osu_name_in(std::string_view title) {
  std::string name;
  const auto words = words_in(title);
  for (std::size_t i = 1; i < words.size() && words[i] != "Test"; ++i)
    if (i > 1 || words[i].find('_') != words[i].npos) name += fmt::format("{}{}", name.empty() ? "" : " ", words[i]);
  return name;
}

bool is_of_device_library(std::string_view title) {
  const auto words = words_in(title);
  return words.size() > 1 && (words[1].find('-') != words[1].npos || words[1].ends_with("CCL"));
}

const OsuBenchmark* osu_benchmark_titled(std::string_view title) {
  const std::string name = osu_name_in(title);
  const auto found = std::ranges::find(osu_tables, name == title_of_pairs ? "Bandwidth" : name, &OsuBenchmark::title);
  return found == osu_tables.end() ? nullptr : &*found;
}

bool names_osu_columns(std::string_view line) {
  return line.starts_with("# Size") || (line.starts_with('#') && line.find("Avg Latency") != line.npos);
}

bool is_osu_title(std::span<const std::string_view> lines, std::size_t line) {
  const std::string_view text = trimmed(lines[line]);
  if (!text.starts_with(osu_title)) return false;
  const auto words = words_in(text);
  if (std::ranges::find(words, "Test") != words.end() || osu_benchmark_titled(trimmed(text.substr(1)))) return true;
  for (const std::string_view below : lines.subspan(line + 1)) {
    if (names_osu_columns(trimmed(below))) return true;
    if (!trimmed(below).starts_with('#') || trimmed(below).starts_with(osu_title)) return false;
  }
  return false;
}

std::span<const OsuBenchmark> osu_benchmarks() { return osu_tables; }

std::string unknown_osu_benchmark(std::string_view found) {
  std::vector<std::string_view> known;
  for (const OsuBenchmark& b : osu_tables)
    if (known.empty() || known.back() != b.program) known.push_back(b.program);
  return fmt::format("\"{}\" is none of the OSU benchmarks that Weft simulates: {}", found, fmt::join(known, ", "));
}

}  // namespace weft

// The tables of the OSU micro-benchmarks: "# OSU MPI Latency Test v7.1", "# Size  Latency (us)", then size and value.
#include "validation/measurements/lines.hpp"

#include <array>

namespace weft {
namespace {

struct Title {
  std::string_view words;  // in the title
  std::string_view collective;
};
// The first that matches; "" is one that Weft does not simulate.
constexpr std::array titles = {Title{"Bi-Directional", ""},     Title{"Multiple", ""},
                               Title{"Allreduce", "allreduce"}, Title{"Reduce_scatter", "reduce_scatter"},
                               Title{"Allgatherv", ""},         Title{"Allgather", "allgather"},
                               Title{"Alltoallv", ""},          Title{"Alltoall", "alltoall"},
                               Title{"Broadcast", "broadcast"}, Title{"Bcast", "broadcast"},
                               Title{"Reduce", "reduce"},       Title{"Barrier", "barrier"},
                               Title{"Bandwidth", "bandwidth"}, Title{"Latency", "latency"}};

std::string_view collective_titled(std::string_view title, std::size_t line, RowSink& sink) {
  for (const Title& known : titles) {
    if (title.find(known.words) == title.npos) continue;
    if (known.collective.empty()) sink.problem(line, fmt::format("\"{}\" is not a test that Weft simulates", title));
    return known.collective;
  }
  sink.problem(line, fmt::format("\"{}\" is not a known OSU test", title));
  return {};
}

}  // namespace

void read_osu(std::string_view text, RowSink& sink) {
  Measurement row;
  bool is_bandwidth = false;
  const auto lines = lines_in(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = trimmed(lines[i]);
    if (line.starts_with("# OSU")) {
      row.collective = collective_titled(trimmed(line.substr(1)), i + 1, sink);
      if (row.collective.empty()) return;
      is_bandwidth = row.collective == "bandwidth";
      row.ranks = is_bandwidth || row.collective == "latency" ? 2 : 0;
    } else if (line.starts_with("# Size") || (line.starts_with('#') && line.find("Avg Latency") != line.npos)) {
      const std::string_view unit = is_bandwidth ? "(MB/s)" : "(us)";
      if (line.find(unit) == line.npos)
        return sink.problem(i + 1, fmt::format("the values must be in {}, the columns are \"{}\"", unit, trimmed(line.substr(1))));
    } else if (!line.empty() && !line.starts_with('#')) {
      const auto words = words_in(line);
      if (!number_in(words[0])) continue;  // what MPI prints in between
      const bool has_size = row.collective != "barrier";
      const auto size = has_size ? whole_number_in(words[0]) : 0;
      const auto value = words.size() > (has_size ? 1 : 0) ? number_in(words[has_size ? 1 : 0]) : std::nullopt;
      if (!size || !value) {
        sink.problem(i + 1, fmt::format("must be a size in bytes and a number, got \"{}\"", line));
        continue;
      }
      if (is_bandwidth && !(*value > 0)) {
        sink.problem(i + 1, fmt::format("the bandwidth must be more than 0 MB/s, got {:g}", *value));
        continue;
      }
      row.size_bytes = *size;
      row.time_us = is_bandwidth ? static_cast<double>(*size) / *value : *value;
      sink.add(i + 1, row);
    }
  }
}

}  // namespace weft

#include "validation/measurements/measurement.hpp"

#include "kernels/files/files.hpp"
#include "sim/files/utf8.hpp"
#include "validation/measurements/lines.hpp"
#include "validation/measurements/prefixes.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace weft {
namespace {

struct Format {
  std::string_view name;
  bool (*matches)(std::string_view text);
  void (*read)(std::string_view text, RowSink& sink);
};

std::string_view first_line_of_data(std::string_view text) {
  for (const std::string_view line : lines_in(text))
    if (!trimmed(line).empty() && !line.starts_with('#')) return line;
  return {};
}

// The first that matches. JSON that is no trace is taken for nccl-tests', whose reader then says what it misses.
constexpr std::array formats = {
    Format{"a Weft trace",
           [](std::string_view t) { return t.starts_with('{') && t.substr(0, t.find('\n')).find("\"weft trace\"") != t.npos; },
           read_trace_times},
    Format{"nccl-tests JSON",
           [](std::string_view t) { return t.starts_with('{') && !t.starts_with("{'"); },  // Python's dictionaries begin some logs
           read_nccl_json},
    Format{"an OSU table", [](std::string_view t) { return t.find("# OSU") != t.npos; }, read_osu},
    Format{"Intel MPI Benchmarks", holds_imb, read_imb},
    Format{"an nccl-tests table",
           [](std::string_view t) {
             return t.find("busbw") != t.npos &&
                    (t.find("(elements)") != t.npos || t.find("nThread") != t.npos || t.find("#wrong") != t.npos);
           },
           read_nccl_text},
    Format{"matrices of pairs", holds_pairs, read_pairs},
    Format{"CSV", [](std::string_view t) { return first_line_of_data(t).find(',') != std::string_view::npos; }, read_csv},
};

constexpr std::size_t titled = formats.size() - 1;  // all but CSV, for which any comma passes

bool holds_titled_table(std::string_view text) {
  return std::ranges::any_of(std::span(formats).first(titled), [&](const Format& format) { return format.matches(trimmed(text)); });
}

}  // namespace

Measurements parse_measurements(std::string_view with_prefixes, const std::string& file, const ReadOptions& options) {
  const std::string text = without_prefixes(without_colours(as_utf8(std::string(with_prefixes))), holds_titled_table);
  const std::string_view content = trimmed(text);
  if (content.empty()) throw InputError(fmt::format("{}: is empty", file));
  RowSink sink(file, options);
  for (const Format& format : formats) {
    if (!format.matches(content)) continue;
    format.read(text, sink);
    return sink.finish(std::string(format.name));
  }
  throw InputError(
      fmt::format("{}: is none of: nccl-tests table (with the lines of # above its rows) or JSON, OSU table, Intel MPI Benchmarks, "
                  "matrices of p2pBandwidthLatencyTest, CSV "
                  "with size_bytes and "
                  "time_us, Weft trace",
                  file));
}

Measurements read_measurements(const std::filesystem::path& file, const ReadOptions& options) {
  return parse_measurements(read_file(file), file.string(), options);
}

}  // namespace weft

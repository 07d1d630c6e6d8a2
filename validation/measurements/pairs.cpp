// Matrices of messages between two GPUs of one server, as p2pBandwidthLatencyTest of NVIDIA's cuda-samples prints them: a title
// ("Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)"), a line of column numbers behind "D\D", "GPU" or "CPU", then a
// line for each GPU. The same as CSV: matrix,timer,from_gpu,to_gpu,value. A copy of a GPU to itself says nothing of links.
#include "validation/measurements/lines.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace weft {
namespace {

// Copies of 40,000,000 integers, and of one int4, in the sample's source.
constexpr std::int64_t bandwidth_bytes = 160'000'000, latency_bytes = 16;

constexpr std::string_view csv_columns = "matrix,timer,from_gpu,to_gpu,value";

// What the rows of one matrix have in common; nothing if the text is no title of one.
std::optional<Measurement> matrix_titled(std::string_view title) {
  const auto has = [&](std::string_view word) { return title.find(word) != title.npos; };
  if (!has("Matrix") || !has("P2P=")) return {};
  Measurement out;
  if (has("Latency") && has("(us)"))
    out.collective = "latency", out.size_bytes = latency_bytes;
  else if (has("Bandwidth") && has("(GB/s)"))
    out.collective = has("Bidirectional") ? "bidirectional_bandwidth" : "bandwidth", out.size_bytes = bandwidth_bytes;
  else
    return {};
  out.algorithm = has("P2P=Enabled") ? "p2p_enabled" : "p2p_disabled";
  if (has("(P2P Reads)")) out.algorithm += "_reads";
  out.ranks = 2;
  return out;
}

// Latencies by the clock of the host stand apart from those of the GPU.
Measurement timed_by(Measurement row, std::string_view timer) {
  if (row.collective == "latency" && timer == "CPU") row.algorithm += "_cpu";
  return row;
}

void add(std::size_t line, Measurement row, std::string_view value, RowSink& sink) {
  if (row.from == row.to || !sink.wants(line, row)) return;
  const auto number = number_in(value);
  if (!number || !(*number > 0)) return sink.problem(line, fmt::format("must be a number, more than 0, got \"{}\"", value));
  row.time_us = row.collective == "latency" ? *number : static_cast<double>(row.size_bytes) / *number * 1e-3;
  sink.add(line, std::move(row));
}

std::optional<int> gpu_in(std::string_view word) {
  const auto number = whole_number_in(word);
  if (!number || *number < 0 || *number >= 1 << 20) return {};
  return static_cast<int>(*number);
}

void read_csv_row(std::size_t line, std::string_view text, RowSink& sink) {
  std::array<std::string_view, 5> fields;
  for (std::size_t i = 5; i-- > 0;) {  // from the end: the title may hold commas
    const auto comma = i > 0 ? text.rfind(',') : text.npos;
    if (i > 0 && comma == text.npos) return sink.problem(line, fmt::format("must have 5 fields: {}", csv_columns));
    fields[i] = trimmed(comma == text.npos ? text : text.substr(comma + 1));
    text = text.substr(0, comma == text.npos ? 0 : comma);
  }
  auto row = matrix_titled(fields[0]);
  const auto from = gpu_in(fields[2]), to = gpu_in(fields[3]);
  if (!row) return sink.problem(line, fmt::format("\"{}\" is no matrix of p2pBandwidthLatencyTest", fields[0]));
  if (!from || !to) return sink.problem(line, fmt::format("must name two GPUs by number, got \"{}\" and \"{}\"", fields[2], fields[3]));
  row->from = *from, row->to = *to;
  add(line, timed_by(std::move(*row), fields[1]), fields[4], sink);
}

void read_printed(std::span<const std::string_view> lines, RowSink& sink) {
  std::optional<Measurement> matrix, rows;
  std::vector<int> columns;
  std::size_t header = 0, count = 0;  // of `rows`: the line of its columns, and how many there were
  const auto end_rows = [&] {
    if (rows && count != columns.size())
      sink.problem(header, fmt::format("must have {} lines below, one for each GPU, got {}", columns.size(), count));
    rows.reset();
  };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto words = words_in(lines[i]);
    if (words.empty()) continue;
    if (lines[i].find("Matrix") != lines[i].npos) {
      end_rows();
      matrix = matrix_titled(lines[i]);
      if (!matrix && lines[i].find("P2P=") != lines[i].npos)
        sink.problem(i + 1, fmt::format("must be a matrix of bandwidths in GB/s or of latencies in us, got \"{}\"", trimmed(lines[i])));
    } else if (matrix && (words[0] == "D\\D" || words[0] == "GPU" || words[0] == "CPU")) {
      end_rows();
      rows = timed_by(*matrix, words[0]);
      columns.clear();
      header = i + 1, count = 0;
      for (std::size_t k = 1; k < words.size(); ++k)
        if (const auto gpu = gpu_in(words[k])) columns.push_back(*gpu);
    } else if (const auto from = rows ? gpu_in(words[0]) : std::nullopt) {
      ++count;
      if (words.size() != columns.size() + 1) {
        sink.problem(i + 1, fmt::format("must have {} values, one for each GPU, got {}", columns.size(), words.size() - 1));
        continue;
      }
      for (std::size_t k = 0; k < columns.size(); ++k) {
        Measurement row = *rows;
        row.from = *from, row.to = columns[k];
        add(i + 1, std::move(row), words[k + 1], sink);
      }
    } else {
      end_rows();
    }
  }
  end_rows();
}

}  // namespace

bool holds_pairs(std::string_view text) {
  return text.find(csv_columns) != text.npos || (text.find("P2P=") != text.npos && text.find("Matrix") != text.npos);
}

void read_pairs(std::string_view text, RowSink& sink) {
  const auto lines = lines_in(text);
  const auto header = std::ranges::find(lines, csv_columns, trimmed);
  if (header == lines.end()) return read_printed(lines, sink);
  for (auto line = header + 1; line != lines.end(); ++line)
    if (!trimmed(*line).empty() && !line->starts_with('#')) read_csv_row(static_cast<std::size_t>(line - lines.begin()) + 1, *line, sink);
}

}  // namespace weft

// What the readers of measurements share: lines with numbers, strict numbers, and the good and bad rows so far.
#pragma once

#include "validation/measurements/measurement.hpp"

#include <map>
#include <optional>
#include <tuple>

namespace weft {

std::vector<std::string_view> lines_in(std::string_view text);  // without line ends, CR included
std::vector<std::string_view> words_in(std::string_view line);  // at blanks and tabs
std::string_view trimmed(std::string_view text);
std::optional<double> number_in(std::string_view text);  // the whole text is one finite number
std::optional<std::int64_t> whole_number_in(std::string_view text);

// Gathers rows; what is wrong with one goes to `problems` as "FILE:LINE: text".
class RowSink {
 public:
  RowSink(std::string file, const ReadOptions& options) : file_(std::move(file)), options_(options) {}

  void problem(std::size_t line, std::string_view text);
  void skip(std::string problem) { problems_.push_back(std::move(problem)); }  // one that says its place
  // Refuses impossible values and a second row of the same key.
  void add(std::size_t line, Measurement row);
  // A bandwidth that the file prints must be size / time; a file in other units is found here.
  bool agrees(std::size_t line, const Measurement& row, std::optional<double> printed_gbps);

  const std::string& file() const { return file_; }
  const ReadOptions& options() const { return options_; }
  std::vector<Measurement>& rows() { return out_.rows; }

  // Throws as read_measurements says.
  Measurements finish(std::string format);

 private:
  using Key = std::tuple<std::string, int, int, int, std::string, std::string, std::int64_t, bool>;

  std::string file_;
  const ReadOptions options_;
  Measurements out_;
  std::vector<std::string> problems_;
  std::map<Key, std::string> seen_;  // where
};

void read_nccl_text(std::string_view text, RowSink& sink);
void read_nccl_json(std::string_view text, RowSink& sink);
void read_osu(std::string_view text, RowSink& sink);
void read_csv(std::string_view text, RowSink& sink);
void read_trace_times(std::string_view text, RowSink& sink);

// "all_reduce_perf" (with any path) is "allreduce"; empty if it is none that is known.
std::string collective_of_nccl_program(std::string_view program);

}  // namespace weft

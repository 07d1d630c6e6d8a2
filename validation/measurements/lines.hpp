// What the readers of measurements share: lines with numbers, strict numbers, and the good and bad rows so far.
#pragma once

#include "validation/measurements/measurement.hpp"

#include <map>
#include <optional>
#include <span>

namespace weft {

std::vector<std::string_view> lines_in(std::string_view text);  // without line ends, CR included
std::vector<std::string_view> words_in(std::string_view line);  // at blanks and tabs
std::string_view trimmed(std::string_view text);
// Fields of a line of CSV; a field in double quotes may hold commas, and "" is a quote in it. Nothing if a quote is left open.
std::optional<std::vector<std::string>> csv_fields(std::string_view line);
std::optional<double> number_in(std::string_view text);  // the whole text is one finite number
std::optional<std::int64_t> whole_number_in(std::string_view text);
std::size_t decimals_in(std::string_view number);
// A row that stands behind something else, as the name of a host that a launcher puts there.
struct RowBehindPrefix {
  std::string prefix;
  std::vector<std::string_view> words;  // of the row
};
// The last `count` words of a line that has something before them, which the first of them may touch ("12:1048576").
std::optional<RowBehindPrefix> behind_prefix(std::string_view line, std::size_t count);
std::string row_behind(const RowBehindPrefix& found);  // what a refusal says of it
// What stands before the title of a table in this line, where a line soon below has `next` behind as many characters, as where every
// line of the table stands behind something. Nothing where the title begins its line, or is in somebody's text.
std::optional<std::string> before_title(std::span<const std::string_view> lines, std::size_t line, std::string_view title,
                                        std::string_view next);
std::string title_behind(std::string_view prefix);  // what a refusal says of it
// Whether a line of these words is a row of a table of numbers, be it cut off or garbled: the first and two of three words begin as a
// number does and are no time, name or share. What programs, MPI and schedulers print between rows is not.
bool are_mostly_numbers(std::span<const std::string_view> words);

// Gathers rows; what is wrong with one goes to `problems` as "FILE:LINE: text". Lines that are excluded have no problems.
class RowSink {
 public:
  RowSink(std::string file, const ReadOptions& options) : file_(std::move(file)), options_(options) {}

  // `place` instead of the line, where the file has none, as in JSON.
  void problem(std::size_t line, std::string_view text, std::string_view place = {});
  void skip(std::string problem) { problems_.push_back({"", std::move(problem)}); }  // one that says its place
  // What keeps the file from being used, whatever lines may be skipped.
  void refuse(std::string_view text) { refusal_ = text; }
  // What is taken for granted of the whole file, or left alone; told once.
  void note(std::string_view text);
  // Whether the selection wants a row of this line, algorithm, system and buffer; where not, it is counted as left out. To be
  // asked before anything is demanded of the row's numbers.
  bool wants(std::size_t line, const Measurement& row);
  // What the same line says of the buffer that the selection does not want.
  void add_other_buffer(std::size_t line, double time_us) { other_buffer_us_[line] = time_us; }
  // Leaves out a row whose size the selection does not want; refuses impossible values, and a bandwidth that the file prints and
  // that is not size / time: a file in other units is found so.
  void add(std::size_t line, Measurement row, std::optional<double> printed_gbps = {}, std::string_view place_in_file = {});

  const std::string& file() const { return file_; }
  const ReadOptions& options() const { return options_; }
  const std::vector<Measurement>& rows() const { return out_.rows; }  // so far

  // Throws as read_measurements says.
  Measurements finish(std::string format);

 private:
  bool is_excluded(std::size_t line);
  // Sets the ranks and nodes that the options give.
  void place(Measurement& row) const;
  // A line that does not say its collective: told once, with how many there are.
  void miss_collective(std::size_t line);
  // Says what is wrong with the row, or nothing.
  std::string problem_of(const Measurement& row, std::optional<double> printed_gbps) const;

  std::string file_;
  const ReadOptions options_;
  Measurements out_;
  std::vector<std::size_t> lines_;  // of its rows
  std::map<std::size_t, double> other_buffer_us_;
  std::vector<LineProblem> problems_;
  std::string refusal_;  // empty: none
  struct {
    std::size_t lines = 0, first = 0, last = 0;
    std::size_t told_at = 0;  // in problems_
  } without_collective_;
};

// As nccl-tests, OSU and PyTorch write it ("all_gather_perf", "all_gather", "bcast", "Reduce-Scatter") to as Weft does; as it is where it
// is none.
std::string collective_spelled(std::string_view name);
// Including latencies and bandwidths.
bool is_measured_collective(std::string_view name);

// Of bandwidths as they are printed, with their last digits; nothing where these are too few, or no number of ranks makes them.
std::optional<RanksTold> ranks_told(std::string_view collective, std::string_view algbw, std::string_view busbw);

void read_nccl_text(std::string_view text, RowSink& sink);
void read_nccl_json(std::string_view text, RowSink& sink);
void read_osu(std::string_view text, RowSink& sink);
void read_imb(std::string_view text, RowSink& sink);
bool holds_imb(std::string_view text);
void read_csv(std::string_view text, RowSink& sink);
void read_pairs(std::string_view text, RowSink& sink);
bool holds_pairs(std::string_view text);
void read_trace_times(std::string_view text, RowSink& sink);

// The fewest and the most ranks of a node, from the node of each rank that is listed: of all, or of the first of each process.
void set_ranks_of_nodes(const std::map<int, std::string>& node_of, Measurement& row);

// A program of nccl-tests ("all_reduce_perf", with any path, and also as "all_reduce_perf_mpi"): the collective that it
// measures, empty if Weft does not simulate it. Nothing if it is no program of nccl-tests.
std::optional<std::string_view> collective_of_nccl_program(std::string_view program);
std::string unknown_nccl_program(std::string_view program);  // what a refusal says of one that Weft does not simulate
// The same of what its tables and its JSON both may hold.
std::string several_groups(std::size_t count);
std::string cpu_time_is_none(std::string_view found);
std::string wrong_somewhere(std::int64_t results);
std::string compressed_is_none(std::string_view compression);
std::string elements_of(std::string_view type, std::string_view operation);  // as in Measurement

}  // namespace weft

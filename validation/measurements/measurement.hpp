// A time that somebody measured, from whatever file it came.
#pragma once

#include "kernels/base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// What SimTime holds (106 days) and what is accepted of a size.
constexpr double longest_us = 9.2e12;
constexpr std::int64_t largest_bytes = std::int64_t{1} << 50;
constexpr int nccl_iterations = 20;  // that nccl-tests makes of every size when nobody says how many

// "FILE:LINE: what is wrong there"; the place is empty where the text says it.
struct LineProblem {
  std::string place, text;
  bool operator==(const LineProblem&) const = default;
};
std::string told(const LineProblem& problem);
// The same text of several lines once, at the first of them: "... (and 59 more lines)".
std::vector<LineProblem> grouped(const std::vector<LineProblem>& problems);

// "latency", "bandwidth", "bidirectional_bandwidth": messages between two ranks. Of all else OSU prints the mean of what its ranks took.
inline bool is_point_to_point(std::string_view collective) {
  return collective == "latency" || collective == "bandwidth" || collective == "bidirectional_bandwidth";
}

// "broadcast" and "reduce": calls that follow one another overlap, as the root begins the next while the others pass on the last, and ranks
// end one call at different times.
inline bool has_root(std::string_view collective) { return collective == "broadcast" || collective == "reduce"; }

// Numbers of ranks that the printed digits of two bandwidths allow: nccl-tests' busbw is 2(n-1)/n of algbw for an all-reduce of n ranks,
// (n-1)/n for an all-gather, a reduce-scatter and an all-to-all.
struct RanksTold {
  double ratio = 0;  // busbw / algbw
  int least = 0, most = 0;
};

struct Measurement {
  std::string source = {};  // as the file says, or the file
  std::string system = {};
  int nodes = 0;  // 0: the file does not say, as for gpus (of a node) and ranks
  int gpus = 0;
  int ranks = 0;
  int fewest_of_a_node = 0, most_of_a_node = 0;  // ranks, where the file lists those of each node; 0: it does not
  // As in collectives/schedule/schedule.hpp, or "latency" (one way), "bandwidth" or "bidirectional_bandwidth" (one message of a window).
  std::string collective = {};
  std::string algorithm = {};  // in the file's own words; empty: whatever the library chose
  int from = -1, to = -1;      // endpoints, of a message between two of them (a matrix of pairs); -1: the first two
  std::int64_t size_bytes = 0;
  bool size_of_a_rank = false;  // the size is of one rank's block (OSU's all-gather and all-to-all), not of the whole message
  double time_us = 0;           // of repeated measurements the mean
  int back_to_back = 1;         // calls of one timing, without a barrier between them; the time is their mean. 0: not said
  bool mean_of_ranks = false;   // the time is the mean of what it took each rank, not what it took all
  bool of_rank_0 = false;       // of calls back to back the time is that of rank 0 alone: nccl-tests before July 2021
  int gpus_of_a_process = 1;    // ranks that one process launches for, one after the other
  std::string elements = {};    // their type and what is done with them, as in "float sum"; empty: not said
  std::optional<RanksTold> told_ranks = {};
  int repeats = 1;       // of which the time is the mean
  int runs_apart = 0;    // besides these, and left out of the mean
  double spread_us = 0;  // standard deviation of repeated measurements
  bool in_place = false;
  double other_buffer_us = 0;  // the same call's time in place, or out of place where this one is in place; 0: not measured
  std::string where = {};      // FILE:LINE
};

// Which measurements of a file are used. Nothing is asked of the others, not even that they are possible.
struct RowSelection {
  std::vector<std::string> only = {};        // measured algorithms; empty: all
  std::string system = {};                   // a part of its name; empty: all
  bool in_place = false;                     // the in-place times instead of the others
  double smallest_bytes = 0;                 // of the size as the file has it
  std::optional<double> largest_bytes = {};  // nothing: any
  std::vector<std::string> exclude = {};     // FILE:LINE
};

struct ReadOptions {
  bool skip_bad = false;                    // go on without the lines that cannot be used
  std::string collective = {};              // for files that do not say
  std::string algorithm = {};               // for rows that name none
  int ranks = 0;                            // the same; a row of another number is refused; 0: as the file says
  int nodes = 0;                            // whatever the file says: names of hosts may be missing or made the same; 0: as it says
  int back_to_back = 0;                     // calls of one timing; 0: as the format does it
  std::optional<RowSelection> select = {};  // nothing: every measurement
};

struct Measurements {
  std::string format;  // what the file was taken for
  std::vector<Measurement> rows;
  std::vector<std::string> skipped;           // with skip_bad: "FILE:LINE: found, allowed"
  std::vector<std::string> notes;             // "FILE: what was taken for granted, or left alone"
  std::set<std::string> algorithms, systems;  // of all measurements, selected or not
  std::set<std::string> excluded;             // FILE:LINE of RowSelection::exclude, where there was something to exclude
  int not_selected = 0;                       // measurements that the selection left out,
  int of_other_buffer = 0;                    // those among them that only `in_place` kept from being used
};

// "ring" of "ring(channels=2)".
inline std::string without_settings(const std::string& algorithm) { return algorithm.substr(0, algorithm.find('(')); }

// Reads one file of any known format, told by its content: nccl-tests text or JSON (-J), an OSU table, matrices of pairs
// (p2pBandwidthLatencyTest), our CSV, our trace.
// Throws InputError with every bad line; with skip_bad only when no line is good.
Measurements read_measurements(const std::filesystem::path& file, const ReadOptions& options = {});
Measurements parse_measurements(std::string_view text, const std::string& file, const ReadOptions& options = {});

}  // namespace weft

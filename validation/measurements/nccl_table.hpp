// The table that nccl-tests prints, and what its readers share: what stands above the rows, and the columns of a row.
#pragma once

#include "validation/measurements/lines.hpp"

#include <map>
#include <set>

namespace weft {

// A program of nccl-tests that a line above the rows names.
struct NcclName {
  std::size_t line = 0;
  std::string program, collective = {};  // empty if Weft does not simulate it
  bool is_alone = false;                 // in its line, as in a folder's listing
};

// What stands above the rows of one run. A file may hold several, each with a header of its own.
struct NcclHeader {
  std::string collective;            // as weft bench says; from the first row on whatever the run is of
  std::vector<NcclName> named = {};  // as where the job's script stands above the rows
  std::string algorithm;             // as weft bench says, whose table this is too
  std::set<std::string, std::less<>> hosts;
  std::map<int, std::string> processes = {};  // by rank
  std::map<int, std::string> host_of = {};    // of each rank that is listed with one
  std::size_t listed_at = 0;                  // last line of that list
  std::size_t second_run_at = 0;              // line where a rank is listed again, as one of another process; 0: none
  int ranks = 0;
  int iterations = nccl_iterations;
  int gpus_of_a_process = 1;
  std::set<std::string, std::less<>> groups;  // of ranks, each of which calls its own collective at the same time
  std::size_t second_group_at = 0;            // line
  std::size_t lead = 5;                       // columns before the first time
  bool has_type = true, has_redop = true, has_root = true;
  bool has_columns = false;                               // their names stand above the rows
  bool has_differences = false;                           // "error" instead of "#wrong"
  bool has_wrong = true;                                  // some scripts cut #wrong off
  bool has_statistics = false;                            // -I: four more fields behind each #wrong
  bool has_two_blocks = false;                            // some row
  std::ptrdiff_t blocks_named = 0;                        // in the line of column names
  bool says_out_of_place = false, says_in_place = false;  // above these
  bool is_in_place_first = false;                         // of the two blocks
  bool is_blocking = false;                               // -z: a barrier behind each call
  bool has_rows = false;                                  // what is above the next rows is of the next run
  bool is_refused = false;                                // it has no collective that Weft simulates, or no times in us
};

// One "time algbw busbw #wrong" of a row.
struct NcclBlock {
  double time_us = 0;
  std::optional<double> algbw, busbw;
};

// One row of the table, cut into its columns.
struct NcclRow {
  std::string_view size, count, type, redop = "none", root = "-1";
  std::vector<std::span<const std::string_view>> blocks;
  std::optional<double> max_error;  // where the table tells differences
};

// The first lines that a run prints, or the command line that a shell or scheduler printed.
bool begins_a_run(std::span<const std::string_view> words, std::string_view text);
void read_header_line(std::size_t line, std::string_view text, NcclHeader& header, RowSink& sink);

std::vector<std::string_view> fields_in(std::string_view text);
// Of size and count at least, or of numbers mostly; NCCL, MPI and schedulers print other lines in between.
bool is_row(std::span<const std::string_view> words);
// Fields of what was measured with one buffer.
std::size_t block_of(const NcclHeader& header);
// Nothing if the words are not as many as the columns.
std::optional<NcclRow> row_in(std::span<const std::string_view> words, const NcclHeader& header);
// A row of all columns that stands behind something else.
std::optional<RowBehindPrefix> row_behind_prefix(std::string_view line, const NcclHeader& header);
// Whether rows of one block are of the in-place buffer; nothing where the header does not say it. Of the programs, nccl-tests and weft
// bench leave out none but the out-of-place block.
std::optional<bool> is_one_block_in_place(const NcclHeader& header);
// With "error" of at most so much instead of #wrong, or without the last; says what is wrong with it, or nothing.
std::string read_block(std::span<const std::string_view> words, std::optional<double> max_error, NcclBlock& out);
// Before nccl-tests' commit ec1b5e2 (June 2020) algbw of all_gather_perf and reduce_scatter_perf counted the (n-1)/n of the bytes that
// busbw counts, so that both were the same; the size was the whole message's, as it is now.
bool has_old_algbw(std::int64_t bytes, const NcclBlock& block);
// As it is counted now; of an unknown number of ranks, 0, by the number that comes nearest.
double algbw_of_all_bytes(std::int64_t bytes, const NcclBlock& block, int ranks);

// What is known of a run beside its table: how many ranks it had, 0 if nobody says it, and what the user says was measured, or nothing.
struct KnownOfNcclRun {
  int ranks = 0;
  std::string collective = {};
};

// Empty if nothing says it, or if the run cannot be used for what a line says.
struct NcclAnswer {
  std::string collective;
  std::size_t refused_at = 0;  // line
  std::string refusal = {};
};

// What was measured by the run whose first row is the first of these lines: by the program's name where the rows allow it, else what the
// user says where they allow it, else what the columns say.
NcclAnswer collective_of(std::span<const std::string_view> lines, const NcclHeader& header, const KnownOfNcclRun& asked);

}  // namespace weft

// Rows as they are done: rows.jsonl of an output folder, a line each, written at once, so that a run that is killed can go on.
#pragma once

#include "sim/results/result.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

class RowJournal {
 public:
  // Of a run on scenarios of these names. `resume`: rows that are there may be used, and new ones come behind them. Without it new ones
  // go to a file beside, which takes the old one's place when it has as many rows. `what_if`: of how many resources each row says what
  // would be gained; rows that say more or less are others.
  RowJournal(const std::filesystem::path& folder, const std::vector<std::string>& names, bool resume, int what_if = 0);
  ~RowJournal();
  RowJournal(const RowJournal&) = delete;
  RowJournal& operator=(const RowJournal&) = delete;

  // What a row must have besides: a timeline, which says which row it is of, and what a report shows.
  struct Wanted {
    bool trace = false, details = false;
  };
  // Of the requests those that are there with all that is wanted; the others have no row.
  std::vector<Result> known(const std::vector<RowRequest>& requests, Wanted wanted) const;

  // The row of this place among the requests. Throws RunError where nothing can be written, from the beginning or now.
  void add(std::size_t place, const Result& result);
  // All rows of the run are there: it takes the old one's place, however many rows that had. Its lines are then in the order of the
  // requests, those of other requests behind them, so that the same rows are the same bytes whoever was done first.
  void finish(const std::vector<RowRequest>& requests);

 private:
  void open(const std::filesystem::path& file, const std::string& head);
  void replace_old();

  const std::vector<std::string> names_;
  std::filesystem::path file_, beside_;
  std::map<std::string, std::string> lines_;  // of the earlier run, by key
  std::size_t old_rows_ = 0, rows_ = 0;
  const int what_if_;
  bool is_beside_ = false;
  int fd_ = -1;
  std::string why_not_;  // there is no file to write to
};

// Whether a file that begins with this text is one of scenarios of these names.
bool is_journal_of(std::string_view text, const std::vector<std::string>& names);

}  // namespace weft

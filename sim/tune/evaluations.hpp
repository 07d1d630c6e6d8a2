// What a tuning run has tried: the table that is written, and read again when the run goes on.
#pragma once

#include "sim/json/json_text.hpp"
#include "sim/results/row.hpp"

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// One point, simulated: a row for each size of the workload.
struct Evaluation {
  std::vector<std::string> values;                  // of the pointers, as text
  double share = 1;                                 // of a full evaluation
  std::string technique = {};                       // that asked for it
  double objective = NAN;                           // samples/s, or microseconds; not a number where it failed
  std::string failure = {};                         // why
  std::vector<std::vector<std::string>> rows = {};  // the cells of its rows
};

// The value as a cell of a table.
std::string cell_of(const Json& value);
// The columns of results.csv, less the time that the simulation took: the same scenario and seed give the same table.
std::vector<std::string> row_columns();
std::vector<std::string> row_cells(const Row& row);

// CSV: evaluation, technique, share, objective, best (so far), failure, the columns of results.csv, and a column for each pointer.
std::string to_csv(const std::vector<Evaluation>& evaluations, const std::vector<std::string>& pointers, bool larger_is_better);
// Throws InputError with the line that is not of such a table with these pointers.
std::vector<Evaluation> evaluations_from_csv(std::string_view text, const std::string& where, const std::vector<std::string>& pointers);
// Whether a file that begins with this text is such a table.
bool is_evaluations_csv(std::string_view text);

}  // namespace weft

// details.json of a result folder: what the report shows of a row besides its result. Bounded, however large the run: many
// messages become shares of time, many hosts become one, and of links, queues and windows the ones used most stay.
#pragma once

#include "sim/json/json_text.hpp"
#include "sim/network/timeline.hpp"
#include "sim/results/row.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Of one row: {"fabric", "series", "ranks", "slices", ...}, as sim/report/README.md describes.
Json row_details(const Timeline&, const Row&);

struct DetailsOfRun {
  std::vector<std::string> scenarios;  // their names
  std::vector<std::string> arguments;  // of `weft run`: files and settings, without where results go
};

// `rows`: the text of row_details() of each row that results.json has, in order.
std::string to_details(const DetailsOfRun& run, const std::vector<std::string>& rows);

// Whether a file that begins with this text is one of to_details() for scenarios of these names.
bool is_details_of(std::string_view text, const std::vector<std::string>& scenarios);

}  // namespace weft

// report.html: one page that shows the results of a folder, with all that it needs inside (sim/report/README.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Throws RunError where this build has no charts.
void require_report();

// `results`: the text of results.json. `details`: that of details.json, or nothing.
std::string report_page(std::string_view results, std::string_view details);

// Whether a file that begins with this text is a report on scenarios of these names.
bool is_report_of(std::string_view text, const std::vector<std::string>& scenarios);

}  // namespace weft

// Times and rates of a scenario that can be fitted, by pointer.
#pragma once

#include "models/server/server.hpp"
#include "sim/json/json_text.hpp"
#include "validation/fit/parameters.hpp"

#include <string>
#include <vector>

namespace weft {

// The server device by device, so that pointers lead to its links.
Json described(const Server& server);

// What stands at a pointer of a resolved scenario; with "*" for an index, one parameter for each kind of link. Throws InputError: nothing
// is there, or no time and no rate.
std::vector<FitParameter> open_pointer(const std::string& pointer, const Json& scenario);

// Sets a value that open_pointer found. The bandwidth of a PCIe link takes the place of its generation and width.
void set_at(Json& scenario, const std::string& pointer, const std::string& value);

}  // namespace weft

// Settings by JSON pointer, for sweeps and --set: any key that a scenario may have, written in the file or not.
#pragma once

#include "sim/json/json_text.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace weft {

// Sets the value at `pointer`, making the objects on the way. A shorthand on the way is written out ("random" becomes
// {"policy": "random"}). `schema` is the JSON Schema of the whole. Returns what is wrong with the pointer, if anything:
// `"/fabric/swiches" points to nothing (did you mean "/fabric/switches"?)`.
std::optional<std::string> set_at(Json& whole, std::string_view pointer, Json value, const Json& schema);

}  // namespace weft

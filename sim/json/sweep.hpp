// The sweep of a scenario: which keys take which values, and the settings of each case that follows from it.
#pragma once

#include "sim/json/form.hpp"

#include <string>
#include <vector>

namespace weft {

// A value that a sweep or --set gives to the key at a pointer.
struct Setting {
  std::string pointer;
  Json value;
};

constexpr std::size_t max_cases = 10'000;

// A pointer and the values that it takes.
struct SweepAxis {
  std::string pointer;
  std::vector<Json> values;
};

// {"/pointer": [values], ...}, or instead of a list a range: {"from": 2, "to": 24, "step": 2}, {"from": "1MiB", "to": "64MiB", "factor":
// 2}.
std::vector<SweepAxis> axes_of(const Json& sweep, const JsonPath& where, Input& in);

// The settings of each case: the product of axes, of which the last changes fastest, or [{"/pointer": value, ...}, ...], one case each.
std::vector<std::vector<Setting>> settings_of(const Json& sweep, const JsonPath& where, Input& in);

// JSON Schema of "sweep".
Json sweep_schema();

// Whether a value at `outer` replaces the one at `inner`.
bool covers(const std::string& outer, const std::string& inner);

// Each setting of a case must be in effect, for rows are labelled with it: a problem where one undoes another.
bool keeps_settings(const std::vector<Setting>& axes, const JsonPath& where, Input& in);

// The sweep comes last, so it would undo what is set: a problem for each such setting.
void refuse_swept(const std::vector<Setting>& settings, const std::vector<std::vector<Setting>>& cases, Input& in);

}  // namespace weft

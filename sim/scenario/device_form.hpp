// A GPU by its name, wherever a scenario names one.
#pragma once

#include "sim/json/form.hpp"
#include "sim/scenario/scenario.hpp"

#include <filesystem>
#include <vector>

namespace weft {

// A profile of the folder devices/, beside the scenario or the project's.
struct DeviceForm {
  static std::string wanted();
  static Json schema();
  static Json write(const DeviceChoice& device);
  static bool read(const Json& json, const JsonPath& where, Input& in, DeviceChoice& out);
  static std::vector<std::string> names(const std::filesystem::path& folder);
};

}  // namespace weft

// What the scenario tests share: a good scenario to spoil, and the lines that reading one prints.
#pragma once

#include "kernels/files/files.hpp"
#include "sim/cases/cases.hpp"
#include "sim/scenario/profiles.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace weft {

inline Json good_scenario() {
  return Json::parse(R"({
    "schema": 1, "name": "first",
    "fabric": {"type": "bigraph", "switches": 8, "nodes_per_switch": 4, "link": {"bandwidth": "100Gbps", "latency": "500ns"}},
    "workload": {"collective": "allreduce", "algorithm": ["ring", "hdrm"], "size": ["256KiB", "256MiB"]}})");
}

inline const ProfileLibrary& project_profiles() {
  static const ProfileLibrary library = ProfileLibrary::beside("");
  return library;
}

inline std::vector<std::string> lines_for(const std::string& text, const std::vector<Setting>& settings = {}) {
  Input in{.profiles = &project_profiles()};
  Json json = parse_json(text, in.problems);
  if (in.problems.empty() || !json.is_null()) expand(std::move(json), settings, "f", in);
  return lines_of("f.json", in.problems);
}
inline std::vector<std::string> lines_for(const char* text) { return lines_for(std::string(text)); }
inline std::vector<std::string> lines_for(const Json& json, const std::vector<Setting>& settings = {}) {
  return lines_for(json.dump(), settings);
}

inline std::vector<Case> cases_of(const Json& json, const std::vector<Setting>& settings = {}) {
  Input in{.profiles = &project_profiles()};
  auto cases = expand(json, settings, "f", in);
  if (!in.problems.empty()) throw InputError(lines_of("f.json", in.problems));
  return cases;
}

// The good scenario with one value changed.
inline Json with(const std::string& pointer, Json value) {
  Json out = good_scenario();
  out[Json::json_pointer(pointer)] = std::move(value);
  return out;
}

using Lines = std::vector<std::string>;

}  // namespace weft

namespace doctest {
template <>
struct StringMaker<std::vector<std::string>> {
  static String convert(const std::vector<std::string>& lines) {
    std::string out = "\n";
    for (const auto& line : lines) out += "  " + line + "\n";
    return out.c_str();
  }
};
}  // namespace doctest

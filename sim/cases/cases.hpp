// From a scenario file to the cases it stands for: the sweep applied, everything checked, every default filled in.
#pragma once

#include "sim/json/form.hpp"
#include "sim/json/sweep.hpp"
#include "sim/scenario/scenario.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft {

struct Case {
  Scenario scenario;
  std::vector<Setting> axes;  // what the sweep set, in its order
};

// Every case of the scenario, `settings` applied before the sweep. Problems of all cases go to `in`, and then the result
// is not to be used. `name` is the scenario's when it gives none.
std::vector<Case> expand(Json scenario, const std::vector<Setting>& settings, const std::string& name, Input& in);

// Trace files that are run instead of a scenario's workload (weft run --program).
struct ProgramFiles {
  std::vector<std::string> files = {};
  int ranks = 0;  // 0: as many as were traced, or all endpoints where the files do not say
  bool lenient = false;
};

// Reads and expands a file; throws InputError with one line "FILE: /pointer: text" for each problem.
std::vector<Case> load_cases(const std::filesystem::path& file, const std::vector<Setting>& settings = {},
                             const ProgramFiles& program = {});

// The program on a switch with a cable of 100 Gb/s to each rank.
std::vector<Case> cases_of_program(const ProgramFiles& program, const std::vector<Setting>& settings);

// "/pointer=value": the value is JSON, or else a string. Throws InputError.
Setting parse_setting(const std::string& text);
// All of them, or all that is wrong with any of them; or those that can be read, and what is wrong with others.
std::vector<Setting> parse_settings(const std::vector<std::string>& texts);
std::vector<Setting> parse_settings(const std::vector<std::string>& texts, std::vector<std::string>& problems);

// The scenario as JSON that reads back as the same scenario, every default written out.
Json to_json(const Scenario&);

// One scenario that stands for the same cases: of several, the first with a sweep over whole keys in which they differ.
Json to_json(const std::vector<Case>&);

// What `weft schema` prints.
Json scenario_schema();

}  // namespace weft

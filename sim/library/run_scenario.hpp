// Weft inside another program: scenarios run from JSON values, on fabrics that the program may build itself. Algorithms of its own come
// in by add_algorithm() (collectives/registry/registry.hpp).
#pragma once

#include "collectives/schedule/schedule.hpp"
#include "models/fabric/fabric.hpp"
#include "sim/cases/cases.hpp"
#include "sim/json/json_text.hpp"
#include "sim/results/row.hpp"

#include <filesystem>
#include <memory>
#include <vector>

namespace weft {

struct ScenarioSettings {
  std::vector<Setting> set = {};      // before the sweep, as --set does: parse_setting("/workload/size=1MiB")
  std::filesystem::path folder = {};  // that files which the scenario names are in, and hardware/ with profiles; "": the current one
  std::shared_ptr<const Fabric> fabric = {};  // instead of the scenario's, with routes of its own
  unsigned workers = 0;                       // rows simulated at once, a process each; 0: one for each core
};

struct ScenarioRow {
  std::vector<Setting> axes;  // what the sweep set
  Row row;
};

// SIGINT, SIGTERM or SIGHUP came while rows were under way.
class Interrupted : public RunError {
 public:
  using RunError::RunError;
};

// The rows of `weft run`, in its order. Throws InputError with everything that is wrong with the scenario before anything runs, RunError
// with every row that failed. Processes are forked: other threads of the program go on, and are not in them.
std::vector<ScenarioRow> run_scenario(const Json& scenario, const ScenarioSettings& settings = {});

// What results.csv has in the row's line, by column, and the sweep's values by pointer; null where a column does not apply.
Json columns(const ScenarioRow& row);

// The schedule of the scenario's first case and algorithm, proved right. Throws InputError, RunError.
Schedule schedule_of(const Json& scenario, const ScenarioSettings& settings = {});

}  // namespace weft

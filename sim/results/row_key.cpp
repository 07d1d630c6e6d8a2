#include "sim/results/row_key.hpp"

#include "sim/cases/text_key.hpp"
#include "sim/results/version.hpp"

namespace weft {

std::string row_key(const RowRequest& request) {
  Scenario one = scenario_of(request);
  one.workload.algorithms = {*request.algorithm};
  one.workload.sizes = {request.size};
  return key_of(fmt::format("{} {}\n{}\n{}", version(), commit(), one.read_from, to_json(one).dump()));
}

}  // namespace weft

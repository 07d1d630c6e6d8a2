#include "sim/results/row_key.hpp"

#include "collectives/transports/job_secret.hpp"
#include "sim/results/version.hpp"

#include <span>

namespace weft {

std::string key_of(std::string_view text) {
  std::string out;
  for (const std::byte b : keyed_hash({}, std::as_bytes(std::span(text)))) out += fmt::format("{:02x}", std::to_integer<unsigned>(b));
  return out;
}

std::string row_key(const RowRequest& request) {
  Scenario one = scenario_of(request);
  one.workload.algorithms = {*request.algorithm};
  one.workload.sizes = {request.size};
  return key_of(fmt::format("{} {}\n{}", version(), commit(), to_json(one).dump()));
}

}  // namespace weft

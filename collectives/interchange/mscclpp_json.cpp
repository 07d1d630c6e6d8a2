#include "collectives/interchange/mscclpp_json.hpp"

#include "collectives/interchange/mscclpp_lowering.hpp"

namespace weft {

Schedule read_mscclpp_json(std::string_view text) {
  const MscclppPlan plan = parse_mscclpp(text);
  std::vector<MemoryChoice> choices = {{}, {.via_scratch = true}};
  if (!plan.map.in_place && plan.map.collective != Collective::alltoall) {
    choices.push_back({.own_output = true});
    choices.push_back({.own_output = true, .via_scratch = true});
  }
  return first_proved(choices, [&](MemoryChoice choice) {
    BufferMap map = plan.map;
    map.choice = choice;
    return lowered(plan, map);
  });
}

}  // namespace weft

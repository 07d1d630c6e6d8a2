#include "collectives/schedule/message.hpp"

namespace weft {

std::shared_ptr<const Schedule> message_schedule() {
  auto schedule = std::make_shared<Schedule>(Schedule{.name = "message", .collective = Collective::broadcast, .ranks = 2});
  schedule->add_step().copy({.from = 0, .to = 1, .chunk = 0});
  return schedule;
}

}  // namespace weft

// What a scenario may say and the simulations beside measurements (fit/simulator.hpp, replay) do not do.
#pragma once

#include "sim/scenario/scenario.hpp"

#include <vector>

namespace weft {

struct Honours {
  bool in_network_on_packet = true;  // the network "packet", where switches take part in every algorithm
};

// Each in its place, with the reason. They are to be refused: what is fitted or predicted without them would be wrong, and
// nothing would show it.
std::vector<Problem> not_honoured(const Scenario& scenario, const Honours& honours = {});

// Throws InputError "FILE: /pointer: text" with all of them.
void refuse_not_honoured(const std::string& file, const Scenario& scenario, const Honours& honours = {});

}  // namespace weft

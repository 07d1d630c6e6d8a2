// What `weft calibrate` prints of a fit.
#pragma once

#include "validation/fit/fit.hpp"
#include "validation/fit/library_that_ran.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace weft {

// The parameters, each point, and the errors. `hardware` has what was fitted, `server` is the scenario's.
void print_fit(const FitResult&, const std::vector<FitPoint>&, const HardwareProfile& hardware, const Server&, std::ostream& out);

// By whose rules the calls of an `mpi` without a library were taken to be, and how well those of the others fit; nothing if that was not
// asked.
std::string said_of_libraries(const std::vector<LibraryFit>&);

}  // namespace weft

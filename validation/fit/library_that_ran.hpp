// Which MPI library's rules the measurements are of, where nobody says it.
#pragma once

#include "validation/fit/fit.hpp"

#include <optional>
#include <vector>

namespace weft {

struct LibraryFit {
  MpiLibrary library = MpiLibrary::open_mpi;
  double error = 0;  // geometric mean of how many times too long or too short the calls are that it was fitted to, less 1
};

// Each library whose rules these calls can have followed, fitted in a short search to some of them: the one of the least error first, but
// Open MPI's, which `mpi` means, where that of no other is clearly less. Empty where every call of an `mpi` has a library, of its own or
// the scenario's hardware profile's, or all libraries choose alike for what is fitted to.
std::vector<LibraryFit> libraries_that_may_have_run(const OpenScenario& open, const std::vector<FitPoint>& points,
                                                    const FitOptions& options);

// The scenario with the first of them, where that is not what `mpi` means.
OpenScenario with_library_that_ran(const OpenScenario& open, const std::vector<LibraryFit>& libraries);

}  // namespace weft

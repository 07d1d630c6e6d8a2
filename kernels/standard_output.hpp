// The end of what a program prints.
#pragma once

namespace weft {

// Hands over what has been printed so far. Throws RunError where not all of it could be written, now or before: whoever reads
// standard output would take a part for the whole.
void finish_standard_output();

}  // namespace weft

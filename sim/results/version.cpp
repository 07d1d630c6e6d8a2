#include "sim/results/version.hpp"

#include "weft_commit.hpp"  // written by the build

namespace weft {

std::string version() { return WEFT_VERSION; }
std::string commit() { return WEFT_COMMIT; }

}  // namespace weft

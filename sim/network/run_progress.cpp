#include "sim/network/run_progress.hpp"

namespace weft {
namespace {

RunProgress own;
RunProgress* current = &own;

}  // namespace

RunProgress& run_progress() { return *current; }
void report_progress_to(RunProgress& shared) { current = &shared; }

}  // namespace weft

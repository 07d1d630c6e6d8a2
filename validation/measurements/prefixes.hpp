// What launchers, schedulers and collectors of logs put before each line that a program prints.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace weft {

// The text without them: "[1,0]<stdout>:" (mpirun --tag-output), "0: " (srun --label), "[0] " (mpirun -l), "[default0]:" (torchrun),
// "[pod/NAME/CONTAINER] " (kubectl logs --prefix), and times such as "2026-01-02T03:04:05.678Z " (kubectl logs --timestamps, CI; with
// "stdout F " in a node's files); tags of mpirun also inside of lines that were printed in several writes. Where they name several ranks or
// pods, the lines of all but one are left empty, and so keep their numbers: that of the first, by number, whose lines `hold_table`, or the
// first.
std::string without_prefixes(std::string_view text, const std::function<bool(std::string_view)>& hold_table);

// And without what makes terminals colour it (ESC [ ... letter).
std::string without_colours(std::string_view text);

}  // namespace weft

// The command that a shell or a script printed above a table: which program it started, and on how many ranks and nodes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft {

struct LaunchLine {
  std::string program;       // without its folder
  int ranks = 0, nodes = 0;  // 0: the line does not say
};

// Of mpirun, mpiexec, prterun, srun, jsrun, aprun and flux, of a program whose name begins so. Nothing of other lines, and of those that
// start several programs.
std::optional<LaunchLine> launch_in(std::string_view line, std::string_view begin_of_program);

}  // namespace weft

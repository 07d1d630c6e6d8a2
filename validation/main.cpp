// The program `weft_tools`: the commands of sim/cli and those of this folder. `weft` starts it.
#include "sim/cli/run_weft.hpp"
#include "validation/commands.hpp"

int main(int argc, char** argv) { return weft::run_weft_tools(argc, argv, weft::validation_commands()); }

// The program `weft`: the commands of sim/cli and those of this folder.
#include "sim/cli/program.hpp"
#include "validation/commands.hpp"

int main(int argc, char** argv) { return weft::run_program(argc, argv, weft::validation_commands()); }

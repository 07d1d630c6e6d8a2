// The program `weft`: what simulates, and the way to all other commands.
#include "sim/cli/run_weft.hpp"

int main(int argc, char** argv) { return weft::run_weft(argc, argv); }

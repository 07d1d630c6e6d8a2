// What a program gets of Weft by find_package(weft COMPONENTS simulator), besides <weft/collectives.hpp>: fabrics, and the simulator.
#pragma once

#include "models/fabric/fabric.hpp"       // what a fabric is: derive one of your own
#include "models/fabric/fabric_spec.hpp"  // those that Weft has
#include "models/hardware.hpp"            // what a message costs besides the wire
#include "sim/library/run_scenario.hpp"   // scenarios in, rows out
#include "weft/collectives.hpp"

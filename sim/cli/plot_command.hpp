// `weft plot`: a figure from a table of results.
#pragma once

#include "sim/report/plot.hpp"

#include <iosfwd>
#include <string>

#include <CLI/CLI.hpp>

namespace weft {

struct PlotArguments {
  std::string file = {}, output = {};
  PlotChoice choice = {};
  bool log_x = false, log_y = false, linear_x = false, linear_y = false;
  bool force = false;
};

void declare_plot(CLI::App& command, PlotArguments& arguments);
int plot_command(const PlotArguments&, std::ostream& out);

}  // namespace weft

// A figure for a paper from a table of results: lines or bars, as a script for gnuplot, which makes SVG or PDF of it.
#pragma once

#include "sim/report/csv_table.hpp"

#include <optional>
#include <string>
#include <vector>

namespace weft {

struct PlotChoice {
  std::string x = {};                   // a column; numbers give lines, words bars
  std::string y = "time_us";            // a column of numbers
  std::vector<std::string> by = {};     // columns that tell series apart; empty: those that differ and were asked for
  std::vector<std::string> where = {};  // "column=value": only these lines
  std::string title = {};
  std::optional<bool> log_x = {}, log_y = {};  // not given: where values span more than a factor of 20
  std::size_t max_series = 24;                 // more are refused: they could not be told apart
};

enum class PlotFormat { svg, pdf, script };

// The script. Throws InputError with what cannot be drawn: unknown columns, no numbers, several values at one place of a series, too many
// series.
std::string plot_script(const CsvTable& table, const PlotChoice& choice, PlotFormat format);

// What gnuplot makes of a script. Throws RunError where there is no gnuplot.
std::string drawn_by_gnuplot(const std::string& script);

}  // namespace weft

// What `weft train` says of its runs: a table of epochs, a summary over seeds, CSV, and a plot's lines.
#pragma once

#include "validation/train/curve_plot.hpp"
#include "validation/train/run.hpp"
#include "validation/train/step_time.hpp"

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::train {

struct Cluster {
  std::string name;  // what the scenario's sweep sets
  std::vector<StepTime> steps;
};

struct Run {
  TrainingSettings settings;
  Medium medium = Medium::threads;
  Curve curve;
  std::vector<StepTime> steps = {};  // of each epoch, on the scenario's cluster; none without a scenario
  std::vector<Cluster> others = {};  // where the scenario is several clusters: the same on each of them

  // Simulated, from the start to the end of this epoch.
  double seconds_until(std::size_t epoch) const;
  double seconds_on(const std::vector<StepTime>& cluster, std::size_t epoch) const;
};

void print_epochs(const Run&, std::ostream&);

// One line for each compression: accuracy after the last epoch, and when this accuracy was reached first.
void print_summary(const std::vector<Run>&, double target, std::ostream&);

// What a page and a table begin with.
inline constexpr std::string_view begin_of_page = "# Time to accuracy\n\nWritten by `./weft train ",
                                  begin_of_csv = "compression,transport,ranks,seed,epoch,";

// Markdown: accuracy epoch by epoch with its spread over seeds, and when `target` was reached on each of the clusters.
std::string to_page(const std::vector<Run>&, double target, const std::string& command);

// All columns but the last three, which are measured, are the same in every run.
std::string to_csv(const std::vector<Run>&);

// Accuracy, the mean over seeds, over simulated seconds or else over epochs; one line for each compression.
std::vector<CurveLine> lines_of(const std::vector<Run>&);

}  // namespace weft::train

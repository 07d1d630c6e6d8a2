// `weft train`: a small model trained for real with compressed all-reduces.
#pragma once

#include "validation/train/run.hpp"

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace weft {

struct TrainArguments {
  std::vector<std::string> compressions = {"gs_sgd"};
  int rows = 5;
  std::string columns = "10%";
  std::string k = "1%";
  double momentum = 0;
  std::string memory = "dense";
  std::string algorithm = "halving_doubling";  // of all-reduces of what is not compressed
  std::string transport = "threads";
  int ranks = 4;
  std::string model = "mlp";
  std::vector<int> hidden = {256};
  int epochs = 12;
  int batch = 8;
  std::vector<double> learning_rates = {0.1, 0.03, 0.01};
  std::vector<std::string> warm_up = {"25%", "7.25%", "1.5%", "0.4%"};  // or none
  std::uint64_t seed = 1;
  int seeds = 1;                             // this one and so many less one after it
  std::string target = "95%";                // accuracy, of the summary
  std::string scenario = {};                 // the cluster that steps are simulated on
  std::vector<std::string> set = {};         // "/pointer=value"
  std::optional<std::string> gradient = {};  // time of forward and backward, of a simulated step; 0s
  double timeout_s = 30;
  std::string data = {};    // the digits that ship
  std::string output = {};  // CSV; the plot stands beside it as .svg
  bool force = false;       // replace other files
};

// Prints a table of epochs, or of several runs a summary; returns the exit status. Throws InputError.
int train_command(const TrainArguments&, std::ostream& out);

}  // namespace weft

// What Weft is judged against: measured series and published claims, each with the scenario that it is compared with.
#pragma once

#include "sim/scenario/cases.hpp"
#include "validation/fit/fit.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace weft {

// One thing to simulate, on the reference's scenario with some of its values set.
struct ClaimSide {
  std::vector<Setting> set = {};
  AlgorithmChoice algorithm = {};
  int ranks = 0;                   // 0: all
  std::optional<Bytes> size = {};  // instead of the claim's
  SimTime besides = {};            // what a step takes besides the collective
};

// Times `against` compared with times `of`, size by size: a ratio, or a difference in microseconds. It must lie in [at_least, at_most] at
// every size and for every seed; of a published "up to", at the size where it is largest. Of `of` alone: how far its busiest link is used, or how evenly
// its jobs are slowed down (Jain's index).
struct Claim {
  enum class Quantity { ratio, difference_us, utilization_percent, fairness };
  std::string what;
  std::string published;  // as the source says it
  Quantity quantity = Quantity::ratio;
  std::string collective = "allreduce";
  std::filesystem::path scenario = {};  // the reference's if not given
  ClaimSide of;
  std::optional<ClaimSide> against;
  // What the ratio is divided by: that of the times of these two.
  std::optional<ClaimSide> than_of, than_against;
  std::vector<Bytes> sizes;
  std::vector<int> seeds = {};  // of the scenario, each simulated; none: its own
  bool largest_only = false;
  std::optional<double> at_least, at_most;
};

// Which measurements of the files, and what their algorithms are called here.
struct ReferenceRows {
  RowSelection rows = {};
  Renames rename = {};
};

struct Reference {
  std::string name;
  std::string about;
  std::string note;  // what the model lacks, where the errors are large
  std::filesystem::path scenario;
  std::vector<std::filesystem::path> measurements;  // every second size is held out, if `held_out` is empty
  std::vector<std::filesystem::path> held_out;
  ReferenceRows select = {};
  std::vector<Claim> claims = {};
};

// Throws InputError with every problem of the file.
Reference read_reference(const std::filesystem::path& file);

// The references that ship, in the order of their names.
std::vector<std::filesystem::path> shipped_references();
std::filesystem::path validation_folder();

}  // namespace weft

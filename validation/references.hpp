// What Weft is judged against: measured series and published claims, each with the scenario that it is compared with.
#pragma once

#include "sim/cases/cases.hpp"
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
  int samples = 0;                 // of a rank in a step
};

// Times `against` compared with times `of`, size by size: a ratio, or a difference in microseconds. It must lie in [at_least, at_most] at
// every size and for every seed; of a published "up to", at the size where it is largest. Of `of` alone: how far its busiest link is
// used, how evenly its jobs are slowed down (Jain's index), how many of its `samples` a rank gets through in a second, or the scaling
// efficiency of training. `best`: the value of `over` for which `of` takes the least time; `best_difference`: less that of `against`.
struct Claim {
  enum class Quantity { ratio, difference_us, utilization_percent, fairness, samples_per_s, scaling_percent, best, best_difference };
  std::string what;
  std::string published;  // as the source says it
  std::string working;    // how the number follows, by hand
  Quantity quantity = Quantity::ratio;
  std::string collective = "allreduce";
  std::filesystem::path scenario = {};  // the reference's if not given
  ClaimSide of;
  std::optional<ClaimSide> against;
  // What the ratio is divided by: that of the times of these two.
  std::optional<ClaimSide> than_of, than_against;
  std::vector<Bytes> sizes = {};                 // empty where the workload has a size of its own
  std::vector<std::vector<Setting>> cases = {};  // settings of both sides, one claim each
  std::string over = {};                         // a pointer of the scenario, and its values
  std::vector<double> values = {};
  std::vector<int> seeds = {};  // of the scenario, each simulated; none: its own
  bool largest_only = false;
  std::optional<double> at_least, at_most;
  std::optional<double> value = {};  // as published, where that is a number: the error is shown
  bool fitted = false;               // a setting of the scenario was chosen for it
};

// Which measurements of the files, and what their algorithms are called here.
struct ReferenceRows {
  RowSelection rows = {};
  Renames rename = {};
};

// What of a reference's measurements nothing was fitted to, besides `held_out` files: whole scales, algorithms or collectives. Nothing
// given: every second size of each series.
struct HeldOutRule {
  std::vector<int> nodes = {}, ranks = {};
  std::vector<std::string> algorithms = {}, collectives = {};  // as measured
  std::vector<std::string> systems = {};                       // parts of their names
  std::vector<std::string> models = {};                        // of backward passes
  bool given() const {
    return !nodes.empty() || !ranks.empty() || !algorithms.empty() || !collectives.empty() || !systems.empty() || !models.empty();
  }
  bool holds_out(const Measurement& m) const;
  bool holds_out(const std::string& model) const;
};

// How the profile of a reference was come by, so that `weft validate --refit` can do it again.
struct ReferenceFit {
  std::vector<std::string> parameters = {};  // empty: what weft calibrate fits (validation/fit/defaults.hpp); of a device always some
  Json start = "ideal";                      // the scenario's "hardware" where the fit starts
};

// A backward pass of which a file says when gradients became ready (validation/layers/ready_gradients.hpp).
struct MeasuredLayers {
  std::filesystem::path file;
  std::string model;
  std::string measured = {};  // what the file calls it; empty: the same
  int batch = 1;
  std::string dtype = "float32";
};

struct Reference {
  std::string name;
  std::string about;
  std::string note;                // what the model lacks, where the errors are large
  std::filesystem::path scenario;  // none where only backward passes were measured
  // As weft calibrate takes them (validation/calibrate/measured_file.hpp). Every second size is held out, if `held_out` is empty.
  std::vector<std::filesystem::path> measurements;
  std::vector<std::filesystem::path> held_out;
  ReferenceRows select = {};
  std::vector<MeasuredLayers> layers = {};  // instead of measurements: `profile` is that of a device
  HeldOutRule hold_out = {};
  std::filesystem::path profile = {};    // instead of the scenario's hardware
  std::optional<ReferenceFit> fit = {};  // nothing: its profile is not fitted
  std::string server_class = {};         // systems of one class are each predicted from the others' profiles
  std::vector<Claim> claims = {};
  bool skip_bad = false;  // lines of the measurements that cannot be used; not of the file, but of who reads it
};

// Throws InputError with every problem of the file.
Reference read_reference(const std::filesystem::path& file);

// The references that ship, in the order of their names.
std::vector<std::filesystem::path> shipped_references();
std::filesystem::path validation_folder();

}  // namespace weft

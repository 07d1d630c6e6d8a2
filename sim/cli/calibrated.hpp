// How sure a row is: whether the measurements that its hardware profile was fitted to cover it, and how wrong the profile was on those
// that were held out.
#pragma once

#include "sim/cases/cases.hpp"
#include "sim/cli/fitted_cluster.hpp"
#include "sim/results/result.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// What `weft calibrate` wrote into a profile.
struct Calibration {
  std::vector<std::string> collectives, algorithms;
  std::vector<std::string> libraries;          // of MPI, whose choices were simulated; empty: no measurement asked for any
  std::vector<std::string> patterns;           // that NCCL's calls ran, "ring"; empty: not known
  std::vector<std::string> paths;              // "server" (between GPUs of one), "network"
  std::vector<std::string> servers, networks;  // name_of_links, name_of; empty: not known
  std::optional<std::pair<BitsPerSecond, BitsPerSecond>> links = {};  // of servers to the network: the slowest and the fastest
  std::vector<int> ranks, nodes;                                      // nodes empty: not known
  std::map<std::string, std::vector<int>> ranks_of;  // by collective; of those that are not there `ranks` are all that is known
  std::optional<WaysBetweenServers> ways = {};       // nothing: not known
  struct Sizes {
    Bytes smallest, largest;
    friend bool operator==(const Sizes&, const Sizes&) = default;
  };
  Sizes sizes;
  std::map<std::string, Sizes> sizes_of;                      // likewise
  std::map<std::string, std::map<int, Sizes>> sizes_on = {};  // by collective and ranks, of the points that the profile has
  int held_out = 0;                                           // points
  double median = 0, p95 = 0;

  const std::vector<int>& ranks_for(std::string_view collective) const;
  const Sizes& sizes_for(std::string_view collective) const;
  // Those on as many ranks, and between two numbers of ranks those on each of both, by ranks. Where the points do not say it, those of
  // the collective, by 0.
  std::map<int, Sizes> sizes_near(std::string_view collective, int ranks) const;
};

// Of the object "calibration" of a profile; nothing if it does not say what it is valid for.
std::optional<Calibration> calibration_in(const Json& json);

// "16 ranks (fitted: 2)", "8 servers (fitted: 1, 2)", ...: what of the cluster that the scenario places so many ranks on.
std::vector<std::string> beyond_scale(const Calibration& calibration, const Scenario& scenario, std::string_view collective, int ranks);

// The same of the row, and its size, algorithm, ...: what of it the calibration does not cover. Sizes and ranks between those fitted are
// covered.
std::vector<std::string> beyond(const Calibration& calibration, const Row& row, const Scenario& scenario);

// What goes below the table: for each case its profile's calibration, and the rows beyond it. `calibration_of`: by a profile's name.
std::string calibration_notes(const std::vector<Result>& results, const std::vector<Case>& cases,
                              const std::function<Json(const std::string&)>& calibration_of);

}  // namespace weft

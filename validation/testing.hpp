// What the tests of this folder share: scenarios and other files in a folder of their own, gone at the end.
#pragma once

#include "kernels/base/error.hpp"
#include "kernels/files/files.hpp"
#include "kernels/testing/problems_of.hpp"
#include "kernels/testing/scratch_folder.hpp"

#include <string>
#include <vector>

namespace weft {

// Two nodes on 100 Gb/s, half a microsecond a cable.
inline const std::string pair_scenario = R"({
  "schema": 1, "name": "pair", "fabric": {"type": "star", "nodes": 2, "link": {"bandwidth": "100Gbps", "latency": "500ns"}}, "hardware": "ideal",
  "workload": {"collective": "allreduce", "algorithm": "ring", "size": "1MiB"}})";

inline std::string star_scenario(int nodes) {
  std::string text = pair_scenario;
  text.replace(text.find("\"nodes\": 2"), 10, "\"nodes\": " + std::to_string(nodes));
  return text;
}

using Lines = std::vector<std::string>;

}  // namespace weft

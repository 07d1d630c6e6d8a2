// Which algorithm `--algorithm auto` takes at which size: a table that `weft advise` writes.
#pragma once

#include "collectives/registry/registry.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::bench {

// For sizes from min_bytes to max_bytes, both included.
struct Selected {
  Collective collective = Collective::allreduce;
  int ranks = 0;
  std::int64_t min_bytes = 0, max_bytes = 0;
  std::string algorithm = {};
  AlgorithmSettings settings = {};
};

// The first that fits, or null.
const Selected* selected_for(const std::vector<Selected>&, Collective, int ranks, std::int64_t bytes);

// Throws InputError with every bad line as "FILE:LINE: ...".
std::vector<Selected> parse_selection(std::string_view text, const std::string& file);
std::vector<Selected> read_selection(const std::string& file);

}  // namespace weft::bench

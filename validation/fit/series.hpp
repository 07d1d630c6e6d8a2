// What points have in common: the call that was made, and the series, of sizes or of pairs, in which it was measured.
#pragma once

#include "sim/scenario/algorithms.hpp"
#include "validation/fit/fit.hpp"

#include <string>
#include <tuple>

namespace weft {

inline constexpr double tolerance_of_links = 0.98;  // of the least time that they allow: their rates are rounded numbers

// What the file calls an algorithm, where these are words of its own: two programs that do the same are measured apart.
inline std::string own_name(const FitPoint& p) {
  const std::string &measured = p.measured.algorithm, &ours = p.setup.algorithm.name;
  return measured == ours || measured.starts_with(ours + "(") ? "" : measured;
}

// What was called and where, whatever files call it and however they say it. Of measurements alike in this a simulation knows one if it
// knows the other: all of a size are fitted, or none.
inline auto call_of(const FitPoint& p) {
  const MeasuredSetup& e = p.setup;
  return std::tuple(e.collective, label(e.algorithm), e.nodes, e.nodes == 1 ? e.ranks : e.of_each_node, e.ranks);
}

// Where a measurement stands in its series, of sizes or of pairs; those of the same size and pair there measured the same thing.
inline auto series_of(const FitPoint& p) {
  const Measurement& m = p.measured;
  const MeasuredSetup& e = p.setup;
  return std::tuple(e.collective, own_name(p), m.system, call_of(p), m.in_place, e.mean_of_ranks, e.back_to_back, e.of_rank_0,
                    e.gpus_of_a_process, m.elements);
}
inline auto place_in_series(const FitPoint& p) { return std::tuple(p.measured.size_bytes, p.measured.from, p.measured.to); }
inline auto place_of(const FitPoint& p) { return std::tuple(series_of(p), place_in_series(p)); }

}  // namespace weft

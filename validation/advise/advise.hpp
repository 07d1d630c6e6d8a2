// `weft advise`: which algorithm is the fastest at which size, among all that the scenario's collective has.
#pragma once

#include "sim/cases/cases.hpp"

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace weft {

// A candidate at a size: when it is done.
using AdviseTimes = std::map<Bytes, std::map<std::size_t, SimTime>>;  // by size and number of the candidate

// Sizes from one to another at which a candidate is the fastest.
struct AdvisedRange {
  Bytes from, to;
  std::size_t candidate = 0;
  std::size_t runner_up = 0;        // the second at the size where it is ahead by as much as in the middle of the sizes asked
  double min_ahead = 0, ahead = 0;  // by how much of its time the second is later: at the least, and in the middle of the sizes asked
  SimTime first, last;              // of the candidate at the smallest and the largest size that was simulated
  bool alone = false;               // nobody else was simulated there
};

// All algorithms of the collective that the cluster allows, or those of the scenario's list where it has several, with one channel and one
// for each NIC of a server, pieces, and NCCL's protocols, and as they are listed. None that chooses among others itself, or that needs
// servers or switches besides the ranks.
std::vector<AlgorithmChoice> advise_candidates(const Scenario&);

// Those of NCCL's that are no candidates, as the profile's fit found them not to be there.
std::set<NcclProtocol> protocols_left_out(const Scenario&);

// The messages of one step, on average; of algorithms that cut themselves 0.
inline constexpr std::int64_t max_messages_at_once = std::int64_t{1} << 16;
std::int64_t messages_at_once(const Scenario&, const AlgorithmChoice&);

// Of the candidates that `counts`, who is first where; the one before stays first where another is ahead by less than half a percent, and
// of equals that close the one of the smallest number is. `asked`: the sizes that say how far ahead it is, where a range has any of them,
// as those between were looked for close to crossings; empty: all.
std::vector<AdvisedRange> advised_ranges(const AdviseTimes&, const std::function<bool(std::size_t)>& counts,
                                         const std::set<Bytes>& asked = {});

struct AdviseArguments {
  std::string scenario;
  std::vector<std::string> set;  // "/pointer=value"
  std::optional<std::string> output = {};
  bool force = false;
};

int advise_command(const AdviseArguments&, std::ostream& out, std::ostream& err);

}  // namespace weft

// Which trace each rank follows, and what the ranks of groups and messages in it are called then.
#pragma once

#include "models/traces/traced_program.hpp"

#include <string>
#include <vector>

namespace weft {

class Spread {
 public:
  // Throws InputError where the traces cannot be had on so many ranks.
  Spread(const TracedProgram&, int ranks);

  int source(Rank rank) const { return source_[static_cast<std::size_t>(rank)]; }  // in the program's ranks
  // The group that `rank` has in the place of one that its trace names. Throws InputError.
  std::vector<Rank> members(Rank rank, const TracedGroup& group) const;
  Rank peer(Rank rank, Rank of_trace) const;

  const std::vector<int>& sources() const { return source_; }
  bool one_for_all() const { return mode_ == Mode::shifted && program_.ranks.size() == 1; }
  std::vector<std::string> missing, notes;

 private:
  enum class Mode { as_traced, copies, shifted };

  std::vector<Rank> shifted(Rank rank, const TracedGroup& group) const;
  Rank traced_rank(Rank rank) const;

  const TracedProgram& program_;
  const int ranks_, world_;
  Mode mode_ = Mode::as_traced;
  std::vector<int> source_;
};

}  // namespace weft

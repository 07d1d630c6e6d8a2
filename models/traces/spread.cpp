#include "models/traces/spread.hpp"

#include "kernels/base/error.hpp"
#include "models/traces/traced_job.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weft {
namespace {

// Ranks start, start + stride, ... in order.
struct Progression {
  Rank start = 0;
  int stride = 1;
};

std::optional<Progression> progression(const std::vector<Rank>& ranks) {
  if (ranks.empty()) return std::nullopt;
  const int stride = ranks.size() > 1 ? ranks[1] - ranks[0] : 1;
  if (stride < 1) return std::nullopt;
  for (std::size_t i = 1; i < ranks.size(); ++i)
    if (ranks[i] - ranks[i - 1] != stride) return std::nullopt;
  return Progression{ranks.front(), stride};
}

}  // namespace

Spread::Spread(const TracedProgram& program, int ranks)
    : program_(program),
      ranks_(ranks),
      world_(world_of(program) > 0 ? world_of(program) : ranks),
      source_(static_cast<std::size_t>(ranks)) {
  const auto traced = static_cast<int>(program.ranks.size());
  if (ranks < world_) throw InputError(fmt::format("the trace is of {} ranks: it cannot be had on {}", world_, ranks));
  if (traced == world_) {
    mode_ = ranks == world_ ? Mode::as_traced : Mode::copies;
    if (ranks % world_ != 0)
      throw InputError(
          fmt::format("the trace is of {} ranks, each with its own file: it can be had on a multiple of that, got {}", world_, ranks));
    for (int r = 0; r < ranks; ++r) source_[static_cast<std::size_t>(r)] = r % world_;
    if (traced == 1 && ranks > 1) mode_ = Mode::shifted;
  } else {
    mode_ = Mode::shifted;
    for (int r = 0; r < ranks; ++r) {
      const auto own = std::ranges::find(program.ranks, r % world_, &TracedRank::rank);
      source_[static_cast<std::size_t>(r)] = own == program.ranks.end() ? r % traced : static_cast<int>(own - program.ranks.begin());
    }
  }
  if (mode_ == Mode::copies)
    notes.push_back(
        fmt::format("{} ranks are {} copies of the {} that were traced; collectives of all ranks are of all {}, other groups and "
                    "messages stay within a copy, and sizes are as traced",
                    ranks, ranks / world_, world_, ranks));
  if (mode_ == Mode::shifted && traced == 1 && ranks > 1)
    notes.push_back(
        fmt::format("the trace of rank {} is that of all {} ranks: collectives of all ranks are of all {}, smaller groups and messages are "
                    "shifted with the rank, and sizes are as traced",
                    program.ranks.front().rank, ranks, ranks));
  if (mode_ == Mode::shifted && traced > 1)
    missing.push_back(fmt::format("{} of {} ranks have a trace; the others are taken to do as these do", traced, world_));
}

Rank Spread::traced_rank(Rank rank) const { return program_.ranks[static_cast<std::size_t>(source(rank))].rank; }

std::vector<Rank> Spread::members(Rank rank, const TracedGroup& group) const {
  std::vector<Rank> out = group.ranks;
  if (group.all || std::cmp_equal(group.ranks.size(), world_)) {
    out.resize(static_cast<std::size_t>(ranks_));
    std::iota(out.begin(), out.end(), 0);
    return out;
  }
  for (const Rank member : group.ranks)
    if (member < 0 || member >= world_)
      throw InputError(fmt::format("{}: group \"{}\" has rank {}, of {} ranks", program_.ranks[static_cast<std::size_t>(source(rank))].file,
                                   group.name, member, world_));
  if (mode_ == Mode::copies)
    for (Rank& member : out) member += rank / world_ * world_;
  return mode_ == Mode::shifted ? shifted(rank, group) : out;
}

// A group of every `stride`-th rank that reaches through all of them does so on more ranks too; one within a block of
// neighbours is within each block.
std::vector<Rank> Spread::shifted(Rank rank, const TracedGroup& group) const {
  const auto size = static_cast<int>(group.ranks.size());
  const auto regular = progression(group.ranks);
  if (!regular || std::ranges::find(group.ranks, traced_rank(rank)) == group.ranks.end())
    throw InputError(fmt::format("{}: group \"{}\" of ranks {} says nothing about the groups of other ranks: give the traces of all ranks",
                                 program_.ranks[static_cast<std::size_t>(source(rank))].file, group.name, fmt::join(group.ranks, ", ")));
  const int stride = regular->stride, block = stride * size >= world_ ? ranks_ : stride * size;
  if (ranks_ % block != 0 || block % stride != 0)
    throw InputError(fmt::format("{}: group \"{}\" of {} ranks, every {}: {} ranks are no multiple of that",
                                 program_.ranks[static_cast<std::size_t>(source(rank))].file, group.name, size, stride, ranks_));
  std::vector<Rank> out;
  for (Rank member = rank / block * block + rank % stride; member < (rank / block + 1) * block; member += stride) out.push_back(member);
  return out;
}

Rank Spread::peer(Rank rank, Rank of_trace) const {
  if (of_trace == TracedOperation::any_rank) return of_trace;
  if (mode_ == Mode::as_traced) return of_trace;
  if (mode_ == Mode::copies) return of_trace + rank / world_ * world_;
  return mod(rank + of_trace - traced_rank(rank), ranks_);
}

}  // namespace weft

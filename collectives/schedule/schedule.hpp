// A schedule says what every rank does in a collective: steps of transfers, one record being both ends. It knows no
// transport, no buffer and no clock; executors run it, verify.hpp proves it, compose.hpp builds larger ones from it.
//
// Order ("own_step", the same in every executor): a rank posts its receives and sends of a step, waits until all of them
// are done, applies what it received in the order of the step, and goes on. Nobody waits for the whole step. Reads of a
// step come before its writes: a rank may send a chunk in the step in which it receives into it. A copy may begin the sum
// that transfers behind it in the step add to.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

using Rank = int;

enum class Collective { allreduce, reduce_scatter, allgather, broadcast, reduce, alltoall, barrier };
constexpr bool has_root(Collective c) { return c == Collective::broadcast || c == Collective::reduce; }
std::string_view name_of(Collective);
std::optional<Collective> collective_named(std::string_view);

// `from` sends its chunks [chunk, chunk + count); `to` copies them to, or adds them into, its [into, into + count).
// from == to is a local operation and crosses no wire.
struct Transfer {
  Rank from = 0;
  Rank to = 0;
  int chunk = 0;
  int count = 1;
  int into = same_chunk;
  bool reduces = false;

  static constexpr int same_chunk = -1;  // as written by algorithms; steps hold the resolved index
  friend bool operator==(const Transfer&, const Transfer&) = default;
};

class Step {
 public:
  void copy(Transfer t) { add(t, false); }
  void reduce(Transfer t) { add(t, true); }
  void clear() { transfers_.clear(); }
  std::span<const Transfer> transfers() const { return transfers_; }
  std::vector<Transfer>& mutable_transfers() { return transfers_; }  // for compositions

 private:
  void add(Transfer t, bool reduces) {
    if (t.into == Transfer::same_chunk) t.into = t.chunk;
    t.reduces = reduces;
    transfers_.push_back(t);
  }
  std::vector<Transfer> transfers_;
};

// New names for ranks and chunks, both one to one, under which every step stays the same set of transfers.
struct Symmetry {
  std::function<Rank(Rank)> rank;
  std::function<int(int)> chunk;  // also of chunks that the steps do not touch
};

// A sequence of steps: held, or produced one at a time by a pure function of the step number.
class Steps {
 public:
  using Produce = std::function<void(int step, Step& out)>;  // appends to `out`, which is empty

  Steps() = default;
  Steps(int count, Produce produce) : count_(count), produce_(std::move(produce)) {}

  // What produces them, where it is a P.
  template <class P>
  const P* made_by() const {
    return produce_.target<P>();
  }

  int count() const { return produce_ ? count_ : static_cast<int>(held_.size()); }
  void produce(int step, Step& out) const;  // clears `out`, then fills it
  Step& add() { return held_.emplace_back(); }

  // What the algorithm knows of its steps. A proof checks it and then follows one chunk of each orbit (symmetry.hpp).
  void declare(Symmetry symmetry) { symmetries_.push_back(std::move(symmetry)); }
  const std::vector<Symmetry>& symmetries() const { return symmetries_; }

 private:
  int count_ = 0;
  Produce produce_;
  std::vector<Step> held_;
  std::vector<Symmetry> symmetries_;
};

// The message is in parts of `of` chunks each, its pieces. All pieces of a part are of one size but the last, which is `part` of that.
struct LastPiece {
  int of = 1;
  double part = 1;  // in (0, 1]; 1: all chunks of the message are alike
  friend bool operator==(const LastPiece&, const LastPiece&) = default;
};

// Channels run side by side, each rank keeping its own place in each. Most schedules have one.
//
// The message is cut into `chunks` nearly equal pieces, or whole ones and a last one in each part (ChunkLayout); chunk indices from
// `chunks` on are extra space of each rank, chunk c of it having the size of chunk c mod `chunks`. What holds before and after, block r
// standing for
// chunks [r * chunks / ranks, (r + 1) * chunks / ranks):
//   allreduce       all ranks hold all chunks           -> all hold the sum of all
//   reduce_scatter  all ranks hold all chunks           -> rank r holds the sum of block r
//   allgather       rank r holds block r                -> all hold all blocks
//   broadcast       the root holds all chunks           -> all hold them
//   reduce          all ranks hold all chunks           -> the root holds the sum
//   alltoall        rank r holds all chunks             -> rank r's extra block s is rank s's block r (equal blocks only)
//   barrier         nothing; one chunk of no bytes      -> every rank has heard, directly or not, of every other
// Servers, the last `servers` of the ranks, only help: they hold nothing before, their share is in no sum, and what they hold
// after is left open. "All" are the others, the workers. Only an allreduce has servers.
struct Schedule {
  std::string name = {};
  Collective collective = Collective::allreduce;
  int ranks = 0;
  int chunks = 1;
  int extra_chunks = 0;
  int servers = 0;
  Rank root = 0;
  LastPiece last_piece = {};
  std::vector<Steps> channels = std::vector<Steps>(1);

  Step& add_step() { return channels.front().add(); }
  int workers() const { return ranks - servers; }
  int all_chunks() const { return chunks + extra_chunks; }
  int steps() const;              // of the longest channel
  std::int64_t messages() const;  // transfers between different ranks; walks the schedule
};

// Cuts `elements` into `chunks` pieces that differ by at most one element, but for the last ones of their parts.
struct ChunkLayout {
  std::int64_t elements = 0;
  int chunks = 1;
  LastPiece last_piece = {};

  // First element of chunk c: elements * c / chunks rounded down, written so that it cannot overflow. Chunks from `chunks`
  // on continue behind the message with the same sizes.
  std::int64_t begin(int c) const { return last_piece.part == 1 ? share(c, chunks) : begin_of_piece(c); }
  std::int64_t size(int first, int count) const { return begin(first + count) - begin(first); }

 private:
  std::int64_t share(int c, int of) const { return elements / of * c + elements % of * c / of; }
  std::int64_t begin_of_piece(int c) const;
};
ChunkLayout layout_of(const Schedule& schedule, std::int64_t elements);

// As many of the elements as make equal blocks: of an all-to-all one for each rank, whose chunks are then alike in all of them.
inline std::int64_t in_equal_blocks(const Schedule& s, std::int64_t elements) {
  return s.collective == Collective::alltoall ? elements - elements % s.workers() : elements;
}

// Mathematical modulo: the result is in [0, n).
constexpr int mod(int a, int n) {
  const int rest = a % n;
  return rest < 0 ? rest + n : rest;
}

// A line of sizes, then one line a transfer: "step 2: 1->2 adds chunk 0", "step 5: 0->3 copies chunks 4..7 to 8..11";
// with several channels each is announced by a line "channel 1:". Steps count from 0.
std::string to_string(const Schedule&);
std::string to_string(const Transfer&);

}  // namespace weft

#include "collectives/schedule/one_hop.hpp"

#include "collectives/schedule/conditions.hpp"
#include "collectives/schedule/fingerprint.hpp"
#include "collectives/schedule/replay.hpp"

#include <optional>
#include <vector>

namespace weft {

namespace {

// The number of a place is the product of those of its rank and its chunk: then the sum of all is a product too.
class Places {
 public:
  explicit Places(const Schedule& s) {
    for (int r = 0; r < s.ranks; ++r) of_rank_.push_back(random_fingerprint(3, static_cast<std::uint64_t>(r)));
    for (int c = 0; c < s.all_chunks(); ++c) of_chunk_.push_back(random_fingerprint(4, static_cast<std::uint64_t>(c)));
  }
  Fingerprint of(Rank rank, int chunk) const {
    return of_rank_[static_cast<std::size_t>(rank)] * of_chunk_[static_cast<std::size_t>(chunk)];
  }
  // Of all ranks and the chunks that one of them, like all others, is due something in.
  Fingerprint due(const Schedule& s) const {
    Fingerprint ranks, chunks;
    for (const Fingerprint& one : of_rank_) ranks += one;
    for (int c = 0; c < s.all_chunks(); ++c)
      if (due_at_end(s, 0, c)) chunks += of_chunk_[static_cast<std::size_t>(c)];
    return ranks * chunks;
  }

 private:
  std::vector<Fingerprint> of_rank_, of_chunk_;
};

bool brings_what_is_due(const Schedule& s, const Transfer& t) {
  for (int i = 0; i < t.count; ++i) {
    const std::optional<Content> due = due_at_end(s, t.to, t.into + i);
    if (!due || due->whose != t.from || due->chunk != t.chunk + i || !holds_at_start(s, t.from, t.chunk + i)) return false;
  }
  return true;
}

}  // namespace

bool right_in_one_hop(const Schedule& s) {
  if (s.collective != Collective::alltoall || s.channels.size() != 1) return false;
  const Places places(s);
  Fingerprint copied;
  Step step;
  for (int k = 0; k < s.steps(); ++k) {
    s.channels.front().produce(k, step);
    for (const Transfer& t : step.transfers()) {
      // What is due is due behind the message, which is all that brings_what_is_due() lets anybody send.
      if (!in_range(s, t) || t.reduces || !brings_what_is_due(s, t)) return false;
      for (int i = 0; i < t.count; ++i) copied += places.of(t.to, t.into + i);
    }
  }
  return copied == places.due(s);
}

}  // namespace weft

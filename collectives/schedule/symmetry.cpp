#include "collectives/schedule/symmetry.hpp"

#include "collectives/schedule/conditions.hpp"
#include "collectives/schedule/fingerprint.hpp"
#include "collectives/schedule/repeated_steps.hpp"
#include "collectives/schedule/replay.hpp"

#include <algorithm>

namespace weft {

namespace {

// f(0) .. f(n - 1); empty if they are not 0 .. n - 1 in some order.
template <class Map>
std::vector<int> one_to_one(int n, const Map& f) {
  std::vector<int> images(static_cast<std::size_t>(n));
  std::vector<char> taken(images.size());
  for (int i = 0; i < n; ++i) {
    const int image = f(i);
    if (image < 0 || image >= n || taken[static_cast<std::size_t>(image)]) return {};
    taken[static_cast<std::size_t>(image)] = 1;
    images[static_cast<std::size_t>(i)] = image;
  }
  return images;
}

// Ranks and chunks as the identity or a symmetry renames them, and the sum over the moves of a step so renamed.
class Renaming {
 public:
  Renaming(std::vector<int> ranks, std::vector<int> chunks) : ranks_(std::move(ranks)), chunks_(std::move(chunks)), before_(1) {
    for (const int c : chunks_) {
      before_.push_back(before_.back());
      before_.back() += random_fingerprint(2, static_cast<std::uint64_t>(c));
    }
  }

  int rank(Rank r) const { return ranks_[static_cast<std::size_t>(r)]; }
  int chunk(int c) const { return chunks_[static_cast<std::size_t>(c)]; }

  void clear() { sum_ = {}; }
  void add(const Transfer& t) {
    const auto from = static_cast<std::uint64_t>(rank(t.from)), to = static_cast<std::uint64_t>(rank(t.to));
    const std::uint64_t ranks = from << 32 | to << 1 | (t.reduces ? 1U : 0U);
    const auto first = static_cast<std::size_t>(t.chunk), last = first + static_cast<std::size_t>(t.count);
    sum_ += Fingerprint{mixed(golden_ratio + ranks), mixed(golden_ratio + ~ranks)} * (before_[last] - before_[first]);
  }
  const Fingerprint& sum() const { return sum_; }

 private:
  std::vector<int> ranks_, chunks_;
  std::vector<Fingerprint> before_;  // by chunk: the sum of the numbers that stand for the images of those before it
  Fingerprint sum_;
};

bool keeps_what_is_promised(const Schedule& s, const Renaming& renamed) {
  for (int r = 0; r < s.ranks; ++r)
    if ((r < s.workers()) != (renamed.rank(r) < s.workers())) return false;
  for (int c = 0; c < s.all_chunks(); ++c)
    if ((c < s.chunks) != (renamed.chunk(c) < s.chunks)) return false;
  switch (s.collective) {
    case Collective::allreduce:
      return true;
    case Collective::broadcast:
    case Collective::reduce:
      return renamed.rank(s.root) == s.root;
    case Collective::reduce_scatter:
    case Collective::allgather:
      for (int c = 0; c < s.chunks; ++c)
        if (owner_of(s, renamed.chunk(c)) != renamed.rank(owner_of(s, c))) return false;
      return true;
    case Collective::alltoall:
    case Collective::barrier:
      break;
  }
  return false;
}

// In moves of which no order counts and none leads to another chunk.
bool follows_chunks(const Schedule& s, const Step& step) {
  bool added = false;
  for (const Transfer& t : step.transfers()) {
    if (!in_range(s, t) || t.into != t.chunk || (added && !t.reduces)) return false;
    added = added || t.reduces;
  }
  return true;
}

bool keep_step(const Schedule& s, const Step& step, Renaming& as_they_are, std::vector<Renaming>& symmetries) {
  if (!follows_chunks(s, step)) return false;
  as_they_are.clear();
  for (const Transfer& t : step.transfers()) as_they_are.add(t);
  for (Renaming& renamed : symmetries) {
    renamed.clear();
    for (const Transfer& t : step.transfers()) renamed.add(t);
    if (renamed.sum() != as_they_are.sum()) return false;
  }
  return true;
}

// A symmetry that keeps the first of repeated steps keeps them all, if it makes no difference whether chunks are renamed or turned first.
bool keep_repeated(const Schedule& s, const RepeatedStep& repeated, Renaming& as_they_are, std::vector<Renaming>& symmetries) {
  if (!keep_step(s, repeated.first, as_they_are, symmetries)) return false;
  for (const Renaming& renamed : symmetries)
    for (int c = 0; c < s.chunks; ++c)
      if (renamed.chunk(repeated.turned(c, 1)) != repeated.turned(renamed.chunk(c), 1)) return false;
  return true;
}

bool keep_every_step(const Schedule& s, const Steps& steps, std::vector<Renaming>& symmetries) {
  const auto itself = [](int i) { return i; };
  Renaming as_they_are(one_to_one(s.ranks, itself), one_to_one(s.all_chunks(), itself));
  if (const auto* repeated = steps.made_by<RepeatedSteps>(); repeated && s.extra_chunks == 0)
    return std::ranges::all_of(repeated->all(), [&](const RepeatedStep& each) { return keep_repeated(s, each, as_they_are, symmetries); });
  Step step;
  for (int k = 0; k < steps.count(); ++k) {
    steps.produce(k, step);
    if (!keep_step(s, step, as_they_are, symmetries)) return false;
  }
  return true;
}

std::optional<std::vector<int>> first_of_orbits(const std::vector<Renaming>& symmetries, const ChunkSet& chunks) {
  const auto has = [&](int chunk) {
    const int slot = chunks.slot(chunk);
    return slot < chunks.size() && chunks.chunk(slot) == chunk;
  };
  std::vector<char> seen(static_cast<std::size_t>(chunks.size()));
  std::vector<int> firsts, reached;
  for (int slot = 0; slot < chunks.size(); ++slot) {
    if (seen[static_cast<std::size_t>(slot)]) continue;
    firsts.push_back(chunks.chunk(slot));
    seen[static_cast<std::size_t>(slot)] = 1;
    for (reached = {chunks.chunk(slot)}; !reached.empty();) {
      const int chunk = reached.back();
      reached.pop_back();
      for (const Renaming& renamed : symmetries) {
        const int image = renamed.chunk(chunk);
        if (!has(image)) return std::nullopt;
        char& known = seen[static_cast<std::size_t>(chunks.slot(image))];
        if (!known) reached.push_back(image);
        known = 1;
      }
    }
  }
  return firsts;
}

}  // namespace

std::optional<std::vector<int>> one_of_each_orbit(const Schedule& schedule, std::size_t channel, const ChunkSet& chunks) {
  const Steps& steps = schedule.channels[channel];
  if (steps.symmetries().empty()) return std::nullopt;
  std::vector<Renaming> symmetries;
  for (const Symmetry& declared : steps.symmetries()) {
    std::vector<int> of_ranks = one_to_one(schedule.ranks, declared.rank), of_chunks = one_to_one(schedule.all_chunks(), declared.chunk);
    if (of_ranks.empty() || of_chunks.empty()) return std::nullopt;
    symmetries.emplace_back(std::move(of_ranks), std::move(of_chunks));
    if (!keeps_what_is_promised(schedule, symmetries.back())) return std::nullopt;
  }
  const auto firsts = first_of_orbits(symmetries, chunks);
  if (!firsts || !keep_every_step(schedule, steps, symmetries)) return std::nullopt;
  return firsts;
}

}  // namespace weft

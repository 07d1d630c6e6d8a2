#include "collectives/algorithms/bruck.hpp"

#include "collectives/algorithms/fold.hpp"
#include "collectives/schedule/compose.hpp"

#include <algorithm>
#include <bit>

namespace weft {

Schedule bruck_allgather(int n) {
  Schedule s{.name = "bruck_allgather", .collective = Collective::allgather, .ranks = n, .chunks = n};
  s.channels = {Steps(ceil_log2(n), [n](int k, Step& step) {
    const int distance = 1 << k;
    const int blocks = std::min(distance, n - distance);
    for (int r = 0; r < n; ++r) {
      const int to = mod(r - distance, n);
      const int before_end = std::min(blocks, n - r);
      step.copy({.from = r, .to = to, .chunk = r, .count = before_end});
      if (blocks > before_end) step.copy({.from = r, .to = to, .chunk = 0, .count = blocks - before_end});
    }
  })};
  return rotating(s);
}

Cost bruck_allgather_cost(int n) {
  const int L = ceil_log2(n);
  return {.steps = L, .messages = std::int64_t{n - 1} * (L + 1), .max_chunks_sent = n - 1, .chunks = n};
}

namespace {

// Where a rank keeps what, in chunks. The result area is filled by the last step; until then what moves is packed into its
// first half and received into its second.
struct AlltoallSpace {
  int n;
  int result() const { return n; }
  int packed() const { return n; }
  int received() const { return n + n / 2; }
  int travelling() const { return 2 * n; }  // block i has distance i still to go when the algorithm starts
};

// The blocks that move at distance 2^k, those with bit k in their distance, are runs of up to 2^k.
// Calls each(first block of the run, blocks, blocks of the runs before it); returns the blocks of all.
template <class Each>
int for_each_run(int n, int k, Each each) {
  const int length = 1 << k;
  int before = 0;
  for (int first = length; first < n; first += 2 * length) {
    const int blocks = std::min(length, n - first);
    each(first, blocks, before);
    before += blocks;
  }
  return before;
}

void pack(const AlltoallSpace& at, int k, Step& step) {
  for (int r = 0; r < at.n; ++r)
    for_each_run(at.n, k, [&](int first, int blocks, int before) {
      step.copy({.from = r, .to = r, .chunk = at.travelling() + first, .count = blocks, .into = at.packed() + before});
    });
}

void exchange(const AlltoallSpace& at, int k, Step& step) {
  const int blocks = for_each_run(at.n, k, [](int, int, int) {});
  for (int r = 0; r < at.n; ++r)
    step.copy({.from = r, .to = mod(r + (1 << k), at.n), .chunk = at.packed(), .count = blocks, .into = at.received()});
}

void unpack(const AlltoallSpace& at, int k, Step& step) {
  for (int r = 0; r < at.n; ++r)
    for_each_run(at.n, k, [&](int first, int blocks, int before) {
      step.copy({.from = r, .to = r, .chunk = at.received() + before, .count = blocks, .into = at.travelling() + first});
    });
}

}  // namespace

Schedule bruck_alltoall(int n) {
  const int rounds = ceil_log2(n);
  const AlltoallSpace at{n};
  Schedule s{.name = "bruck_alltoall", .collective = Collective::alltoall, .ranks = n, .chunks = n, .extra_chunks = 2 * n};
  s.channels = {Steps(3 * rounds + 2, [=](int k, Step& step) {
    if (k == 0) {  // sort the blocks by the distance they have to go
      for (int r = 0; r < n; ++r) {
        step.copy({.from = r, .to = r, .chunk = r, .count = n - r, .into = at.travelling()});
        if (r > 0) step.copy({.from = r, .to = r, .chunk = 0, .count = r, .into = at.travelling() + n - r});
      }
    } else if (k == 3 * rounds + 1) {  // what came over distance i came from rank r - i
      for (int r = 0; r < n; ++r)
        for (int i = 0; i < n; ++i) step.copy({.from = r, .to = r, .chunk = at.travelling() + i, .into = at.result() + mod(r - i, n)});
    } else {
      const int round = (k - 1) / 3;
      if ((k - 1) % 3 == 0) pack(at, round, step);
      if ((k - 1) % 3 == 1) exchange(at, round, step);
      if ((k - 1) % 3 == 2) unpack(at, round, step);
    }
  })};
  return s;
}

Cost bruck_alltoall_cost(int n) {
  const int L = ceil_log2(n);
  std::int64_t moves = 0;
  for (int i = 0; i < n; ++i) moves += std::popcount(static_cast<unsigned>(i));
  return {.steps = 3 * L + 2, .messages = std::int64_t{n} * L, .max_chunks_sent = moves, .chunks = n};
}

}  // namespace weft

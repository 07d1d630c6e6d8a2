// For tests: runs a schedule on the threads transport with test data and judges what it leaves.
#pragma once

#include "collectives/executors/reference.hpp"
#include "collectives/transports/threads.hpp"

#include <cstring>
#include <string>
#include <vector>

namespace weft {

// One buffer per rank, filled for the collective.
class TestBuffers {
 public:
  TestBuffers(const Schedule& s, ReduceOp op, DType dtype, std::int64_t elements, TestData data)
      : memory_(static_cast<std::size_t>(s.ranks), std::vector<std::byte>(buffer_bytes(s, elements, dtype))) {
    for (Rank r = 0; r < s.ranks; ++r) {
      buffers_.push_back({layout_of(s, elements), dtype, memory_[static_cast<std::size_t>(r)].data()});
      fill(s, op, data, r, buffers_.back());
      results_.push_back({r, buffers_.back()});
    }
  }
  std::span<const Buffer> buffers() const { return buffers_; }
  std::span<const RankResult> results() const { return results_; }
  std::byte* data(Rank r) { return memory_[static_cast<std::size_t>(r)].data(); }
  // Those of the first ranks, as many as these.
  bool equal_on(int ranks) const {
    for (Rank r = 1; r < ranks; ++r)
      if (memory_[static_cast<std::size_t>(r)] != memory_[0]) return false;
    return true;
  }

 private:
  std::vector<std::vector<std::byte>> memory_;
  std::vector<Buffer> buffers_;
  std::vector<RankResult> results_;
};

// Empty if every rank holds what it should, and after an all-reduce all workers the same to the bit.
inline std::string fault_on_threads(const Schedule& s, ReduceOp op, DType dtype, std::int64_t elements, TestData data = {}) {
  TestBuffers memory(s, op, dtype, elements, data);
  run_threads(s, op, memory.buffers());
  const Verdict verdict = verify(s, op, data, memory.results());
  if (verdict.wrong > 0) return verdict.first_wrong;
  if (s.collective == Collective::allreduce && s.extra_chunks == 0 && !memory.equal_on(s.workers())) return "ranks differ";
  return {};
}

}  // namespace weft

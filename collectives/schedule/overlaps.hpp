// Of what one rank reads and writes in a step: what touches the same chunks. Reads of a step come before its writes, so only
// a write that is alone may happen before the step's reads are over, and only a local read that is alone may wait until its
// turn among the writes.
#pragma once

#include "collectives/schedule/schedule.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace weft {

class Overlaps {
 public:
  using Indices = std::span<const std::uint32_t>;  // of the step's transfers

  void find(std::span<const Transfer> transfers, Indices sends, Indices receives, Indices locals) {
    accesses_.clear();
    for (const auto i : sends) add_read(transfers, i);
    for (const auto i : locals) add_read(transfers, i), add_write(transfers, i);
    for (const auto i : receives) add_write(transfers, i);
    std::sort(accesses_.begin(), accesses_.end(), [](const Access& a, const Access& b) { return a.begin < b.begin; });
    shared_writes_.clear();
    shared_reads_.clear();
    int reach = 0;
    for (std::size_t a = 0; a < accesses_.size(); ++a) {
      const Access& access = accesses_[a];
      const bool meets_next = a + 1 < accesses_.size() && accesses_[a + 1].begin < access.end;
      if (access.begin < reach || meets_next) (access.write ? shared_writes_ : shared_reads_).push_back(access.transfer);
      reach = std::max(reach, access.end);
    }
    std::sort(shared_writes_.begin(), shared_writes_.end());
    std::sort(shared_reads_.begin(), shared_reads_.end());
  }
  bool writes_alone(std::uint32_t i) const { return !std::binary_search(shared_writes_.begin(), shared_writes_.end(), i); }
  bool reads_alone(std::uint32_t i) const { return !std::binary_search(shared_reads_.begin(), shared_reads_.end(), i); }

 private:
  // Chunks [begin, end).
  struct Access {
    int begin, end;
    std::uint32_t transfer;
    bool write;
  };

  void add_read(std::span<const Transfer> transfers, std::uint32_t i) {
    const Transfer& t = transfers[i];
    accesses_.push_back({t.chunk, t.chunk + t.count, i, false});
  }
  void add_write(std::span<const Transfer> transfers, std::uint32_t i) {
    const Transfer& t = transfers[i];
    accesses_.push_back({t.into, t.into + t.count, i, true});
  }

  std::vector<Access> accesses_;
  std::vector<std::uint32_t> shared_writes_, shared_reads_;
};

}  // namespace weft

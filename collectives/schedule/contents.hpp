// What one rank holds, as ranges of chunks that hold the same: halving-doubling needs a handful of them where a cell for each
// chunk would need ranks x chunks.
#pragma once

#include "collectives/schedule/fingerprint.hpp"
#include "kernels/base/prefetch.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weft {

// Chunks in ascending order and their places among them, called slots: a range of the message, or a list.
class ChunkSet {
 public:
  ChunkSet(int first, int last) : first_(first), last_(last) {}
  explicit ChunkSet(std::vector<int> chunks);

  int size() const { return last_ - first_; }
  int chunk(int slot) const { return list_.empty() ? first_ + slot : list_[static_cast<std::size_t>(slot)]; }
  // The chunk's slot, or that of the first one behind it, or size().
  int slot(int chunk) const { return list_.empty() ? std::clamp(chunk, first_, last_) - first_ : slot_in_list(chunk); }
  ChunkSet some(int first_slot, int last_slot) const;

 private:
  int slot_in_list(int chunk) const;
  int first_, last_;  // of a list: 0 and its size
  std::vector<int> list_;
};

class Contents {
 public:
  enum class Written : std::uint32_t { no, added, copied };  // in the step that is being applied

  struct Range {
    int begin = 0;  // up to the next one's begin
    std::uint32_t written : 2 = 0;
    std::uint32_t channel : 30 = no_channel;  // that touches it
    Fingerprint holds = {};
  };
  static constexpr std::uint32_t no_channel = (1U << 30) - 1;

  Contents() = default;
  explicit Contents(int slots) : slots_(slots) {
    ranges_.reserve(static_cast<std::size_t>(std::min(slots, 8)));
    if (slots > 0) ranges_.emplace_back();
  }

  int ranges() const { return static_cast<int>(ranges_.size()); }
  // Asks for the memory of the ranges, or of the first ones of many.
  void fetch() const {
    const auto* bytes = reinterpret_cast<const char*>(ranges_.data());
    const std::size_t size = std::min<std::size_t>(ranges_.size() * sizeof(Range), 512);
    for (std::size_t at = 0; at < size; at += 64) prefetch(bytes + at);
  }
  Range& range(int i) { return ranges_[static_cast<std::size_t>(i)]; }
  int end(int i) const { return i + 1 < ranges() ? ranges_[static_cast<std::size_t>(i) + 1].begin : slots_; }

  // The range that the slot is in.
  int find(int slot) const;
  // Makes a range begin at the slot and one end before `last`; returns the first one. Others get other numbers.
  int cut(int first, int last);
  // The ranges that [first, last) touches are no longer written in this step, and those that hold the same become one.
  void settle(int first, int last);

 private:
  // So many ranges are worth a range for every slot, which is found without a search and never moved.
  bool dense() const { return ranges() == slots_; }
  void make_dense();
  void split(int i, int slot);

  int slots_ = 0;
  std::vector<Range> ranges_;
};

}  // namespace weft

#include "collectives/schedule/contents.hpp"

#include <algorithm>
#include <utility>

namespace weft {

ChunkSet::ChunkSet(std::vector<int> chunks) : first_(0), last_(static_cast<int>(chunks.size())) {
  if (chunks.empty()) return;
  if (chunks.back() - chunks.front() + 1 == last_)
    first_ = chunks.front(), last_ = chunks.back() + 1;
  else
    list_ = std::move(chunks);
}

ChunkSet ChunkSet::some(int first_slot, int last_slot) const {
  if (list_.empty()) return {first_ + first_slot, first_ + last_slot};
  return ChunkSet(std::vector<int>(list_.begin() + first_slot, list_.begin() + last_slot));
}

int ChunkSet::slot_in_list(int chunk) const { return static_cast<int>(std::ranges::lower_bound(list_, chunk) - list_.begin()); }

int Contents::find(int slot) const {
  if (dense()) return slot;
  const auto after = std::ranges::upper_bound(ranges_, slot, {}, &Range::begin);
  return static_cast<int>(after - ranges_.begin()) - 1;
}

int Contents::cut(int first, int last) {
  if (dense()) return first;
  constexpr int always_few = 64;
  if (ranges() > std::max(always_few, slots_ / 16)) {
    make_dense();
    return first;
  }
  int i = find(first);
  if (range(i).begin < first) split(i++, first);
  int j = i;  // the ranges up to `last` are walked over next anyway
  while (end(j) < last) ++j;
  if (end(j) > last) split(j, last);
  return i;
}

void Contents::split(int i, int slot) {
  Range rest = range(i);
  rest.begin = slot;
  ranges_.insert(ranges_.begin() + i + 1, rest);
}

void Contents::make_dense() {
  std::vector<Range> all(static_cast<std::size_t>(slots_));
  for (int i = 0; i < ranges(); ++i)
    for (int slot = range(i).begin; slot < end(i); ++slot) {
      Range& one = all[static_cast<std::size_t>(slot)];
      one = range(i);
      one.begin = slot;
    }
  ranges_.swap(all);
}

void Contents::settle(int first, int last) {
  if (dense()) {
    for (int i = first; i < last; ++i) range(i).written = 0;
    return;
  }
  const int before = std::max(find(first) - 1, 0);
  int kept = before, i = before;
  for (; i < ranges() && range(i).begin <= last; ++i) {
    Range& one = range(i);
    if (one.begin < last && end(i) > first) one.written = 0;
    if (i > before && one.holds == range(kept).holds && one.channel == range(kept).channel && one.written == range(kept).written) continue;
    if (i > before) ++kept;
    range(kept) = one;
  }
  ranges_.erase(ranges_.begin() + kept + 1, ranges_.begin() + i);
}

}  // namespace weft

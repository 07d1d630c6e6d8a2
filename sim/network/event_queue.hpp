// Pending events ordered by date, then by insertion. Events of one date share a bucket, so a date that thousands of
// events have in common costs one heap operation; nothing is allocated once the queue has reached its working size.
#pragma once

#include "kernels/base/hash.hpp"
#include "kernels/base/prefetch.hpp"
#include "kernels/base/units.hpp"
#include "sim/network/large_table.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace weft {

class EventQueue {
 public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  EventQueue() : heap_(before_root) { recent_.fill({-1, none}); }

  std::int64_t next_date() const { return near_begin_ == near_end_ ? never : near_[near_begin_].date; }

  void push(std::int64_t date, std::uint32_t payload) {
    require_in_time(date);
    Recent& recent = recent_of(date);
    if (recent.date == date) return append(recent.bucket, payload);
    const std::uint32_t bucket = new_bucket(date);
    recent = {date, bucket};
    append(bucket, payload);
    add({date, next_sequence_++, bucket});
  }

  // Hands every event of the first date to `handle`, those pushed for that same date meanwhile included.
  template <class Handle>
  void pop_date(Handle&& handle) {
    pop_date(handle, [](int, std::uint32_t, std::int64_t) {});
  }
  // Most are handed to `fetch` before, so that what they need can be fetched: fetch(5, event, date), ..., fetch(0, event, date), each
  // when fewer others stand before them.
  template <class Handle, class Fetch>
  void pop_date(Handle&& handle, Fetch&& fetch) {
    const std::int64_t date = next_date();
    while (near_begin_ < near_end_ && near_[near_begin_].date == date) {
      const std::uint32_t bucket = near_[near_begin_].bucket;
      // The bucket stays findable while it is emptied: what is pushed for this date goes to its end.
      Reader reader{bucket};
      std::array<std::uint32_t, 16> ahead{};  // events read, by their number modulo its size
      std::uint32_t read = 0;
      for (std::uint32_t i = 0; i < buckets_[bucket].count; ++i) {
        while (read < buckets_[bucket].count && read <= i + furthest) {
          ahead[read % ahead.size()] = next(reader);
          ++read;
        }
        for (int stage = 0; stage < stages; ++stage)
          if (const std::uint32_t at = i + distance[static_cast<std::size_t>(stage)]; at < read)
            fetch(stage, ahead[at % ahead.size()], date);
        handle(ahead[i % ahead.size()]);
      }
      remove(bucket);
    }
  }
  // Hands the first events of the dates after the next one to `fetch`, as pop_date() would: the same stages, dates instead of events
  // standing before them. Where dates have few events, that is most of them.
  template <class Fetch>
  void announce_later(Fetch&& fetch) const {
    if (near_begin_ + farthest_date < near_end_) prefetch(&buckets_[near_[near_begin_ + farthest_date].bucket]);
    for (int stage = stages; stage-- > 0;) {
      const std::uint32_t at = near_begin_ + dates_before[static_cast<std::size_t>(stage)];
      if (at >= near_end_) continue;
      const Bucket& bucket = buckets_[near_[at].bucket];
      for (std::uint32_t i = 0; i < std::min<std::uint32_t>(bucket.count, firsts); ++i) fetch(stage, bucket.first[i], bucket.date);
    }
  }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  static constexpr int recent_bits = 11;
  static constexpr int stages = 6;
  static constexpr std::array<std::uint32_t, stages> distance{1, 3, 5, 7, 10, 13};  // 1: the one that is handed out next
  static constexpr std::uint32_t furthest = distance.back();
  static constexpr std::array<std::uint32_t, stages> dates_before{1, 2, 3, 4, 6, 8};
  static constexpr std::uint32_t farthest_date = 11;
  static constexpr std::uint32_t firsts = 3, in_chunk = 15;

  // The events of a date: the first ones here, the others in a chain of chunks.
  struct alignas(32) Bucket {
    std::int64_t date;
    std::uint32_t count;
    std::array<std::uint32_t, firsts> first;
    std::uint32_t head, tail;
  };
  struct alignas(64) Chunk {
    std::array<std::uint32_t, in_chunk> events;
    std::uint32_t next;
  };
  struct Item {
    std::int64_t date;
    std::uint32_t sequence, bucket;
    // Two buckets can share a date when one was pushed out of `recent_`; the older holds the older events.
    bool before(const Item& other) const { return date < other.date || (date == other.date && sequence < other.sequence); }
  };
  struct Recent {
    std::int64_t date;
    std::uint32_t bucket;
  };
  // Goes through the events of a bucket, to which more may be added meanwhile.
  struct Reader {
    std::uint32_t bucket, number = 0, chunk = none;
  };

  std::uint32_t next(Reader& reader) const {
    const std::uint32_t i = reader.number++;
    if (i < firsts) return buckets_[reader.bucket].first[i];
    if ((i - firsts) % in_chunk == 0) {
      reader.chunk = reader.chunk == none ? buckets_[reader.bucket].head : chunks_[reader.chunk].next;
      if (const std::uint32_t later = chunks_[reader.chunk].next; later != none) prefetch(&chunks_[later]);
    }
    return chunks_[reader.chunk].events[(i - firsts) % in_chunk];
  }

  Recent& recent_of(std::int64_t date) { return recent_[(static_cast<std::uint64_t>(date) * golden_ratio) >> (64 - recent_bits)]; }

  void append(std::uint32_t to, std::uint32_t payload) {
    Bucket& bucket = buckets_[to];
    const std::uint32_t i = bucket.count++;
    if (i < firsts) {
      bucket.first[i] = payload;
      return;
    }
    if ((i - firsts) % in_chunk == 0) {
      const std::uint32_t chunk = new_chunk();
      (bucket.head == none ? bucket.head : chunks_[bucket.tail].next) = chunk;
      bucket.tail = chunk;
    }
    chunks_[bucket.tail].events[(i - firsts) % in_chunk] = payload;
  }

  std::uint32_t new_chunk() {
    if (free_chunk_ == none) {
      chunks_.emplace_back().next = none;
      return static_cast<std::uint32_t>(chunks_.size() - 1);
    }
    const std::uint32_t chunk = free_chunk_;
    free_chunk_ = std::exchange(chunks_[chunk].next, none);
    return chunk;
  }

  std::uint32_t new_bucket(std::int64_t date) {
    const Bucket bucket{.date = date, .count = 0, .first = {}, .head = none, .tail = none};
    if (free_buckets_.empty()) {
      buckets_.push_back(bucket);
      return static_cast<std::uint32_t>(buckets_.size() - 1);
    }
    const std::uint32_t index = free_buckets_.back();
    free_buckets_.pop_back();
    buckets_[index] = bucket;
    return index;
  }

  void remove(std::uint32_t index) {
    // An event pushed for this date while its bucket was being emptied cannot have opened an earlier place in the heap.
    const Bucket& bucket = buckets_[index];
    if (Recent& recent = recent_of(bucket.date); recent.bucket == index) recent = {-1, none};
    if (bucket.head != none) chunks_[bucket.tail].next = std::exchange(free_chunk_, bucket.head);
    free_buckets_.push_back(index);
    ++near_begin_;
    if (near_end_ - near_begin_ <= farthest_date) refill();
  }

  // None of those that are near comes after one in the heap.
  void add(const Item& item) {
    if (near_end_ - near_begin_ < few_near && items() == 0) {
      insert(item);
    } else if (near_begin_ < near_end_ && item.before(near_[near_end_ - 1])) {
      if (near_end_ - near_begin_ == most_near) to_heap(near_[--near_end_]);
      insert(item);
    } else {
      to_heap(item);
    }
  }

  void insert(const Item& item) {
    if (near_end_ == near_.size()) move_to_front();
    std::uint32_t at = near_end_++;
    for (; at > near_begin_ && item.before(near_[at - 1]); --at) near_[at] = near_[at - 1];
    near_[at] = item;
  }

  void move_to_front() {
    std::copy(near_.begin() + near_begin_, near_.begin() + near_end_, near_.begin());
    near_end_ -= near_begin_;
    near_begin_ = 0;
  }

  void refill() {
    if (items() == 0) return;
    move_to_front();
    while (near_end_ < few_near && items() > 0) {
      near_[near_end_++] = heap_[before_root];
      heap_[before_root] = heap_.back();
      heap_.pop_back();
      if (items() > 0) sift_down(0);
    }
  }

  void to_heap(const Item& item) {
    heap_.push_back(item);
    sift_up(items() - 1);
  }

  // The heap stands so that the four children of an item share a cache line.
  static constexpr std::size_t before_root = 3;
  std::size_t items() const { return heap_.size() - before_root; }
  Item& item_at(std::size_t i) { return heap_[before_root + i]; }
  void sift_up(std::size_t i) {
    const Item item = item_at(i);
    while (i > 0) {
      const std::size_t parent = (i - 1) / 4;
      if (!item.before(item_at(parent))) break;
      item_at(i) = item_at(parent);
      i = parent;
    }
    item_at(i) = item;
  }

  void sift_down(std::size_t i) {
    const Item item = item_at(i);
    for (;;) {
      const std::size_t first = 4 * i + 1;
      if (first >= items()) break;
      const std::size_t last = std::min(first + 4, items());
      for (std::size_t child = first; 4 * child + 1 < items() && child < last; ++child) prefetch(&item_at(4 * child + 1));
      std::size_t least = first;
      for (std::size_t child = first + 1; child < last; ++child)
        if (item_at(child).before(item_at(least))) least = child;
      if (!item_at(least).before(item)) break;
      item_at(i) = item_at(least);
      i = least;
    }
    item_at(i) = item;
  }

  LargeTable<Bucket> buckets_;
  LargeTable<Chunk> chunks_;
  std::vector<std::uint32_t> free_buckets_;
  // The next dates in their order, so that it is known what comes; the others in a heap.
  static constexpr std::uint32_t few_near = 16, most_near = 32;
  std::array<Item, std::size_t{2} * most_near> near_{};
  std::uint32_t near_begin_ = 0, near_end_ = 0;
  LargeTable<Item> heap_;
  std::array<Recent, std::size_t{1} << recent_bits> recent_;  // by hash of their date; -1: none
  std::uint32_t free_chunk_ = none;
  std::uint32_t next_sequence_ = 0;
};

}  // namespace weft

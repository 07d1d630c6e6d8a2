// Pending events ordered by date, then by insertion. Events of one date share a bucket, so a date that thousands of
// events have in common costs as much as one of a single event; nothing is allocated once the queue has reached its working size.
#pragma once

#include "kernels/base/hash.hpp"
#include "kernels/base/large_table.hpp"
#include "kernels/base/prefetch.hpp"
#include "kernels/base/units.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace weft {

class EventQueue {
 public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  EventQueue() { recent_.fill({-1, none}); }

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

  // None of those that are near comes after one that is far.
  void add(const Item& item) {
    if (near_end_ - near_begin_ < few_near && far_count_ == 0) {
      insert(item);
    } else if (near_begin_ < near_end_ && item.before(near_[near_end_ - 1])) {
      if (near_end_ - near_begin_ == max_near) add_far(near_[--near_end_]);
      insert(item);
    } else {
      add_far(item);
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
    if (far_count_ == 0) return;
    move_to_front();
    while (near_end_ < few_near && far_count_ > 0) near_[near_end_++] = take_far();
  }

  // Far dates are sorted only as far as it takes to find the first: by the highest bit in which they differ from `passed_`, which
  // none of those in far_ comes before (a radix heap; Ahuja, Mehlhorn, Orlin & Tarjan 1990).
  void add_far(const Item& item) {
    if (far_count_++ == 0) passed_ = near_[near_begin_].date;
    if (item.date >= passed_) return put(item);
    early_.push_back(item);
    std::push_heap(early_.begin(), early_.end(), comes_later);
  }

  void put(const Item& item) {
    const auto bits = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(item.date ^ passed_)));
    far_[bits].push_back(item);
    filled_ |= std::uint64_t{1} << bits;
  }

  Item take_far() {
    --far_count_;
    if (!early_.empty()) {
      std::pop_heap(early_.begin(), early_.end(), comes_later);
      const Item first = early_.back();
      early_.pop_back();
      return first;
    }
    std::vector<Item>& same_date = far_.front();
    if (same_date.empty()) spread(far_[static_cast<std::size_t>(std::countr_zero(filled_))]);
    if (same_date.size() > 1) std::iter_swap(std::ranges::min_element(same_date, {}, &Item::sequence), same_date.end() - 1);
    const Item first = same_date.back();
    same_date.pop_back();
    if (same_date.empty()) filled_ &= ~std::uint64_t{1};
    return first;
  }

  // The first of them has passed; each goes nearer to the front.
  void spread(std::vector<Item>& items) {
    filled_ &= filled_ - 1;
    passed_ = std::ranges::min(items, {}, &Item::date).date;
    for (const Item& item : items) put(item);
    items.clear();
  }

  LargeTable<Bucket> buckets_;
  LargeTable<Chunk> chunks_;
  std::vector<std::uint32_t> free_buckets_;
  // The next dates in their order, so that it is known what comes; the others are far.
  static constexpr std::uint32_t few_near = 16, max_near = 32;
  std::array<Item, std::size_t{2} * max_near> near_{};
  std::uint32_t near_begin_ = 0, near_end_ = 0;
  static constexpr auto comes_later = [](const Item& a, const Item& b) { return b.before(a); };
  std::array<std::vector<Item>, 64> far_;  // by that bit, from 1; first those of the date `passed_` itself
  std::uint64_t filled_ = 0;               // a bit for each of far_ that has any
  std::int64_t passed_ = 0;
  std::vector<Item> early_;  // a heap of those before passed_, which were near once
  std::size_t far_count_ = 0;
  std::array<Recent, std::size_t{1} << recent_bits> recent_;  // by hash of their date; -1: none
  std::uint32_t free_chunk_ = none;
  std::uint32_t next_sequence_ = 0;
};

}  // namespace weft

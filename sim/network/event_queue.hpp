// Pending events ordered by date, then by insertion. Events of one date share a bucket, so a date that thousands of
// events have in common costs one heap operation; nothing is allocated once the queue has reached its working size.
#pragma once

#include "kernels/base/hash.hpp"
#include "kernels/base/units.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace weft {

class EventQueue {
 public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  EventQueue() { recent_.fill(none); }

  std::int64_t next_date() const { return heap_.empty() ? never : heap_.front().date; }

  void push(std::int64_t date, std::uint32_t payload) {
    require_in_time(date);
    const std::uint32_t node = new_node(payload);
    std::uint32_t& recent = recent_[(static_cast<std::uint64_t>(date) * golden_ratio) >> (64 - recent_bits)];
    if (recent != none && buckets_[recent].date == date) {
      Bucket& bucket = buckets_[recent];
      nodes_[bucket.tail].next = node;
      bucket.tail = node;
      return;
    }
    const std::uint32_t bucket = new_bucket({.date = date, .head = node, .tail = node});
    recent = bucket;
    heap_.push_back({date, next_sequence_++, bucket});
    sift_up(heap_.size() - 1);
  }

  // Hands every event of the first date to `handle`, those pushed for that same date meanwhile included.
  template <class Handle>
  void pop_date(Handle&& handle) {
    pop_date(handle, [](int, std::uint32_t) {});
  }
  // Most are handed to `fetch` before, when three others, two, one and none stand before them, so that what they need can be fetched:
  // fetch(3, event), ..., fetch(0, event).
  template <class Handle, class Fetch>
  void pop_date(Handle&& handle, Fetch&& fetch) {
    const std::int64_t date = next_date();
    while (!heap_.empty() && heap_.front().date == date) {
      const std::uint32_t bucket = heap_.front().bucket;
      // The bucket stays findable while it is emptied: what is pushed for this date goes to its end.
      std::uint32_t node = buckets_[bucket].head;
      while (node != none) {
        std::uint32_t ahead = nodes_[node].next;
        for (int before = 0; before < 4 && ahead != none; ++before, ahead = nodes_[ahead].next) fetch(before, nodes_[ahead].payload);
        handle(nodes_[node].payload);
        const std::uint32_t next = nodes_[node].next;
        nodes_[node].next = free_node_;
        free_node_ = node;
        node = next;
      }
      remove(bucket);
    }
  }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  static constexpr int recent_bits = 12;
  struct Node {
    std::uint32_t payload, next;
  };
  struct Bucket {
    std::int64_t date;
    std::uint32_t head, tail;
  };
  struct Item {
    std::int64_t date;
    std::uint32_t sequence, bucket;
    // Two buckets can share a date when one was pushed out of `recent_`; the older holds the older events.
    bool before(const Item& other) const { return date < other.date || (date == other.date && sequence < other.sequence); }
  };

  std::uint32_t new_node(std::uint32_t payload) {
    if (free_node_ == none) {
      nodes_.push_back({payload, none});
      return static_cast<std::uint32_t>(nodes_.size() - 1);
    }
    const std::uint32_t node = free_node_;
    free_node_ = nodes_[node].next;
    nodes_[node] = {payload, none};
    return node;
  }

  std::uint32_t new_bucket(Bucket bucket) {
    if (free_buckets_.empty()) {
      buckets_.push_back(bucket);
      return static_cast<std::uint32_t>(buckets_.size() - 1);
    }
    const std::uint32_t index = free_buckets_.back();
    free_buckets_.pop_back();
    buckets_[index] = bucket;
    return index;
  }

  void remove(std::uint32_t bucket) {
    // An event pushed for this date while its bucket was being emptied cannot have opened an earlier place in the heap.
    buckets_[bucket].date = -1;
    free_buckets_.push_back(bucket);
    heap_.front() = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift_down(0);
  }

  void sift_up(std::size_t i) {
    const Item item = heap_[i];
    while (i > 0) {
      const std::size_t parent = (i - 1) / 4;
      if (!item.before(heap_[parent])) break;
      heap_[i] = heap_[parent];
      i = parent;
    }
    heap_[i] = item;
  }

  void sift_down(std::size_t i) {
    const Item item = heap_[i];
    for (;;) {
      const std::size_t first = 4 * i + 1;
      if (first >= heap_.size()) break;
      const std::size_t last = std::min(first + 4, heap_.size());
      std::size_t least = first;
      for (std::size_t child = first + 1; child < last; ++child)
        if (heap_[child].before(heap_[least])) least = child;
      if (!heap_[least].before(item)) break;
      heap_[i] = heap_[least];
      i = least;
    }
    heap_[i] = item;
  }

  std::vector<Node> nodes_;
  std::vector<Bucket> buckets_;
  std::vector<std::uint32_t> free_buckets_;
  std::vector<Item> heap_;
  std::array<std::uint32_t, std::size_t{1} << recent_bits> recent_;  // buckets by hash of their date; may be out of date
  std::uint32_t free_node_ = none;
  std::uint32_t next_sequence_ = 0;
};

}  // namespace weft

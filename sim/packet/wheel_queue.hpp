// Pending events ordered by date, then by insertion: an EventQueue for events that lie close together and seldom share a
// date, as those of packets do. A wheel of 8192 slots holds the next microsecond, or more where events come from further, a
// slot is sorted when its turn comes (Brown's calendar queue, 1988), and what lies beyond the wheel waits in a heap.
#pragma once

#include "kernels/base/units.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <queue>
#include <vector>

namespace weft {

class WheelQueue {
 public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  // `ahead_ps`: most events are pushed no further before their date.
  explicit WheelQueue(std::int64_t ahead_ps = 0) {
    newest_.fill(none);
    while (slot_bits_ < 40 && (slots << slot_bits_) < ahead_ps) ++slot_bits_;
  }

  std::int64_t next_date() const { return head_ == current_.size() ? never : current_[head_].date; }

  void push(std::int64_t date, std::uint32_t payload) {
    require_in_time(date);
    const std::int64_t slot = date >> slot_bits_;
    if (slot <= slot_now_) {
      const auto later = std::upper_bound(current_.begin() + static_cast<std::ptrdiff_t>(head_), current_.end(), date,
                                          [](std::int64_t d, const Event& e) { return d < e.date; });
      current_.insert(later, {date, payload});
      return;
    }
    if (slot < slot_now_ + slots)
      append(slot, date, payload);
    else
      far_.push({date, next_sequence_++, payload});
    if (head_ == current_.size()) turn();
  }

  // Hands every event of the first date to `handle`, those pushed for that same date meanwhile included.
  template <class Handle>
  void pop_date(Handle&& handle) {
    pop_date(handle, [](std::uint32_t) {});
  }
  // The same. Events of the next slot are told to `fetch`, so that it asks for the memory that they will need.
  template <class Handle, class Fetch>
  void pop_date(Handle&& handle, Fetch&& fetch) {
    const std::int64_t date = next_date();
    while (head_ < current_.size() && current_[head_].date == date) {
      for (int i = 0; i < 2 && upcoming_ != none; ++i) {  // the next slot may have more of them
        fetch(nodes_[upcoming_].payload);
        upcoming_ = nodes_[upcoming_].before;
      }
      handle(current_[head_++].payload);
    }
    if (head_ == current_.size()) turn();
  }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::int64_t slots = 8192;
  struct Event {
    std::int64_t date;
    std::uint32_t payload;
  };
  struct Node {
    std::int64_t date;
    std::uint32_t payload, before;  // in its slot
  };
  struct Far {
    std::int64_t date;
    std::uint64_t sequence;
    std::uint32_t payload;
    bool operator<(const Far& other) const { return date != other.date ? date > other.date : sequence > other.sequence; }
  };

  void append(std::int64_t slot, std::int64_t date, std::uint32_t payload) {
    std::uint32_t node = free_;
    if (node == none) {
      node = static_cast<std::uint32_t>(nodes_.size());
      nodes_.emplace_back();
    } else {
      free_ = nodes_[node].before;
    }
    const auto i = static_cast<std::size_t>(slot & (slots - 1));
    nodes_[node] = {date, payload, newest_[i]};
    newest_[i] = node;
    taken_[i / 64] |= 1ull << (i % 64);
  }

  // Turns the wheel to the next slot with events; `current_` is used up.
  void turn() {
    current_.clear();
    head_ = 0;
    std::int64_t slot = next_taken();
    if (slot < 0) {
      if (far_.empty()) return;
      slot = far_.top().date >> slot_bits_;
    }
    slot_now_ = slot;
    // Events from afar come before those that will be pushed for their slots from now on.
    while (!far_.empty() && far_.top().date >> slot_bits_ < slot_now_ + slots) {
      const Far event = far_.top();
      far_.pop();
      append(event.date >> slot_bits_, event.date, event.payload);
    }
    open(static_cast<std::size_t>(slot & (slots - 1)));
    const std::int64_t next = next_taken();
    upcoming_ = next < 0 ? none : newest_[static_cast<std::size_t>(next & (slots - 1))];
  }

  void open(std::size_t i) {
    for (std::uint32_t node = newest_[i]; node != none;) {
      const Node n = nodes_[node];
      current_.push_back({n.date, n.payload});
      nodes_[node].before = free_;
      free_ = node;
      node = n.before;
    }
    newest_[i] = none;
    taken_[i / 64] &= ~(1ull << (i % 64));
    if (current_.size() > 1) sort();
  }

  // What was pushed first was read last.
  void sort() {
    std::ranges::reverse(current_);
    if (current_.size() > 64)
      return std::stable_sort(current_.begin(), current_.end(), [](const Event& a, const Event& b) { return a.date < b.date; });
    for (std::size_t i = 1; i < current_.size(); ++i) {
      const Event event = current_[i];
      std::size_t to = i;
      for (; to > 0 && event.date < current_[to - 1].date; --to) current_[to] = current_[to - 1];
      current_[to] = event;
    }
  }

  // The first slot after slot_now_ with events, -1 if there is none within a turn.
  std::int64_t next_taken() const {
    const auto begin = static_cast<std::size_t>((slot_now_ + 1) & (slots - 1));
    std::size_t word = begin / 64;
    std::uint64_t bits = taken_[word] & (~0ull << (begin % 64));
    for (std::size_t words = 0; words <= taken_.size(); ++words) {
      if (bits != 0) {
        const std::size_t i = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
        return slot_now_ + 1 + static_cast<std::int64_t>((i - begin) & (slots - 1));
      }
      word = (word + 1) % taken_.size();
      bits = taken_[word];
    }
    return -1;
  }

  int slot_bits_ = 7;           // a slot has 2 to the power of it picoseconds
  std::vector<Event> current_;  // sorted; all of slot_now_ and before
  std::size_t head_ = 0;        // the first of it not yet handed out
  std::int64_t slot_now_ = -1;
  std::array<std::uint32_t, slots> newest_;  // by slot: its node
  std::array<std::uint64_t, slots / 64> taken_{};
  std::vector<Node> nodes_;
  std::uint32_t free_ = none;
  std::uint32_t upcoming_ = none;  // of the next slot: the node to be told next
  std::priority_queue<Far> far_;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace weft

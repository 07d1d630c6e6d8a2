// Which flows are on each of many links, gone through from the newest to the oldest. Who solves a sharing goes through these lists again
// and again: so the flows of one stand side by side in memory, where the next ones can be asked for, and one that leaves only leaves a
// gap. Fewer than half of the places are gaps, but for a few.
#pragma once

#include "kernels/base/large_table.hpp"
#include "kernels/base/prefetch.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace weft {

class FlowLists {
 public:
  // Of one link.
  class List {
   public:
    std::uint32_t size() const { return size_; }

   private:
    friend FlowLists;
    static constexpr std::uint32_t held = 3;
    std::uint32_t size_ = 0;
    std::uint32_t used_ = 0;     // places, gaps included; the last one is none
    std::uint32_t room_ = held;  // places
    // The flows; or, where there is more room, the first place's number in places_.
    std::array<std::uint32_t, held> first_{};
  };

  // Gives the flow's place in the list.
  std::uint32_t add(List& list, std::uint32_t flow) {
    if (list.used_ == list.room_) widen(list);
    places_of(list)[list.used_] = flow;
    ++list.size_;
    return list.used_++;
  }

  // What is at `place` leaves. moved(flow, from, to) for each that has another place afterwards.
  template <class Moved>
  void remove(List& list, std::uint32_t place, const Moved& moved) {
    std::uint32_t* places = places_of(list);
    places[place] = gap;
    --list.size_;
    while (list.used_ > 0 && places[list.used_ - 1] == gap) --list.used_;
    if (list.used_ > 2 * list.size_ + few) close_gaps(list, moved);
    if (list.used_ == 0 && list.room_ > List::held) {
      give_back(list.first_.front(), list.room_);
      list.room_ = List::held;
    }
  }

  // each(flow), the newest first. None may come or go meanwhile.
  template <class Each>
  void for_each(const List& list, const Each& each) const {
    const std::uint32_t* places = places_of(list);
    for (std::uint32_t i = list.used_; i-- > 0;)
      if (places[i] != gap) each(places[i]);
  }
  // The same, after fetch(flow) for most, some flows before.
  template <class Each, class Fetch>
  void for_each(const List& list, const Each& each, const Fetch& fetch) const {
    const std::uint32_t* places = places_of(list);
    for (std::uint32_t i = list.used_; i-- > 0;) {
      if (i >= ahead && places[i - ahead] != gap) fetch(places[i - ahead]);
      if (places[i] != gap) each(places[i]);
    }
  }

  // Asks for the memory of the newest ones.
  void fetch(const List& list) const {
    if (list.room_ > List::held && list.used_ > 0) prefetch(&places_[list.first_.front() + list.used_ - 1]);
  }
  // Only after that. The list must not be empty.
  std::uint32_t newest(const List& list) const { return places_of(list)[list.used_ - 1]; }

 private:
  static constexpr std::uint32_t gap = UINT32_MAX, few = 8, ahead = 8;

  std::uint32_t* places_of(List& list) { return list.room_ == List::held ? list.first_.data() : &places_[list.first_.front()]; }
  const std::uint32_t* places_of(const List& list) const {
    return list.room_ == List::held ? list.first_.data() : &places_[list.first_.front()];
  }

  void widen(List& list) {
    const std::uint32_t room = std::bit_ceil(list.room_ + 1) * 2;
    const std::uint32_t first = take(room);
    std::copy_n(places_of(list), list.used_, &places_[first]);
    if (list.room_ > List::held) give_back(list.first_.front(), list.room_);
    list.room_ = room;
    list.first_.front() = first;
  }

  template <class Moved>
  void close_gaps(List& list, const Moved& moved) {
    std::uint32_t* places = places_of(list);
    std::uint32_t to = 0;
    for (std::uint32_t from = 0; from < list.used_; ++from) {
      if (places[from] == gap) continue;
      places[to] = places[from];
      if (from != to) moved(places[to], from, to);
      ++to;
    }
    list.used_ = to;
  }

  std::vector<std::uint32_t>& unused(std::uint32_t room) { return unused_[static_cast<std::size_t>(std::countr_zero(room))]; }
  std::uint32_t take(std::uint32_t room) {
    if (unused(room).empty()) {
      places_.resize(places_.size() + room);
      return static_cast<std::uint32_t>(places_.size() - room);
    }
    const std::uint32_t first = unused(room).back();
    unused(room).pop_back();
    return first;
  }
  void give_back(std::uint32_t first, std::uint32_t room) { unused(room).push_back(first); }

  LargeTable<std::uint32_t> places_;
  std::array<std::vector<std::uint32_t>, 32> unused_;  // by the logarithm of their number: stretches of places
};

}  // namespace weft

// All-reduce in one launch: every rank's kernel reads the memory of all, and flags in memory order them. Shared with the tests, which play
// the blocks in any order.
//
// Block b of a rank works with the blocks b of the others alone, on the same part of the message. It copies its part to staging memory
// that all can read, raises its flag at every rank, waits for theirs, and then
//   one shot   adds up all parts itself: each rank reads the whole message of each other, once;
//   two shots  adds up a rank's share of its part, stages that, waits again, and reads the others' sums: 2 (n - 1) / n of the message.
// Staging memory takes turns: a call writes what the call before the last has used. By passing a call's first barrier a rank knows that
// all have come to it, so have ended the call before, and nobody reads what the next call will write.
#pragma once

#include "kernels/reduce_ops.hpp"

#include <cstddef>
#include <cstdint>

namespace weft {

enum class Shots { one, two };

constexpr int max_one_launch_ranks = 16;
constexpr unsigned one_launch_blocks = 8;  // of each rank: all blocks of all ranks must run at once, also where ranks share a device

// A rank's memory that all others read and write. Flags are counters of barriers, 0 before the first.
struct OneLaunchPlace {
  std::byte* staging;    // one_launch_staging_bytes() of the largest message
  std::uint32_t* flags;  // of each block, of each rank; behind them the barriers that each block has passed: one_launch_flags
};
constexpr std::size_t one_launch_flags = one_launch_blocks * (max_one_launch_ranks + 1);
// Two messages and two results.
constexpr std::size_t one_launch_staging_bytes(std::size_t message_bytes) { return 4 * ((message_bytes + 255) / 256 * 256); }

struct OneLaunchCall {
  OneLaunchPlace place[max_one_launch_ranks];
  int rank, ranks;
  void* message;  // of this rank, in place; aligned to 16 bytes
  std::size_t count;
  std::size_t capacity_bytes;  // of the largest message: staging is laid out by it
  // Of the host, which makes it other than 0 where a rank is lost: nobody waits any longer, and results are of no use. Null where all ranks
  // end together.
  const std::uint32_t* given_up;
};

// One block. `Block` has thread() of threads(), sync() for them all, raise(flag, value), which lets whoever sees the flag see all that
// the block wrote before, and wait_for(flag, value, given_up), which returns when the flag has that value or a later one, or *given_up is
// not 0.
template <class T, class Block>
class OneLaunch {
 public:
  WEFT_HOST_DEVICE OneLaunch(Block& block, const OneLaunchCall& call, unsigned number)
      : block_(block), call_(call), number_(number), passed_(own_flags() + max_one_launch_ranks), barriers_(*passed_) {
    const std::size_t packs = (call.count + width - 1) / width, each = (packs + one_launch_blocks - 1) / one_launch_blocks;
    begin_ = least(each * number, packs);
    end_ = least(begin_ + each, packs);
  }

  // finish(sum) is what is left: the sum, or its average.
  template <ReduceOp op, class Finish>
  WEFT_HOST_DEVICE void run(Shots shots, Finish finish) {
    turn_ = barriers_ / 2 % 2;
    for_packs(begin_, end_, [&](std::size_t i) { staged(call_.rank)[i] = loaded(i); });
    pass_barrier();
    if (shots == Shots::one) {
      for_packs(begin_, end_, [&](std::size_t i) { store(i, sum<op>(i, finish)); });
      ++barriers_;  // two a call, whichever way it goes
    } else {
      for_packs(share_begin(call_.rank), share_begin(call_.rank + 1),
                [&](std::size_t i) { store(i, result(call_.rank)[i] = sum<op>(i, finish)); });
      pass_barrier();
      for (int step = 1; step < call_.ranks; ++step) {  // each rank begins with another
        const int peer = (call_.rank + step) % call_.ranks;
        for_packs(share_begin(peer), share_begin(peer + 1), [&](std::size_t i) { store(i, result(peer)[i]); });
      }
    }
    block_.sync();
    if (block_.thread() == 0) *passed_ = barriers_;
  }

 private:
  static constexpr int width = 16 / sizeof(T);
  struct alignas(16) Pack {
    T element[width];
  };

  WEFT_HOST_DEVICE static std::size_t least(std::size_t a, std::size_t b) { return a < b ? a : b; }
  WEFT_HOST_DEVICE std::uint32_t* flags_at(int rank) const { return call_.place[rank].flags + number_ * (max_one_launch_ranks + 1); }
  WEFT_HOST_DEVICE std::uint32_t* own_flags() const { return flags_at(call_.rank); }
  WEFT_HOST_DEVICE Pack* slot(int rank, unsigned which) const {
    return reinterpret_cast<Pack*>(call_.place[rank].staging + which * (one_launch_staging_bytes(call_.capacity_bytes) / 4));
  }
  WEFT_HOST_DEVICE Pack* staged(int rank) const { return slot(rank, turn_); }
  WEFT_HOST_DEVICE Pack* result(int rank) const { return slot(rank, 2 + turn_); }
  WEFT_HOST_DEVICE std::size_t share_begin(int rank) const {
    return begin_ + (end_ - begin_) * static_cast<std::size_t>(rank) / static_cast<std::size_t>(call_.ranks);
  }

  template <class Act>
  WEFT_HOST_DEVICE void for_packs(std::size_t begin, std::size_t end, Act act) const {
    for (std::size_t i = begin + block_.thread(); i < end; i += block_.threads()) act(i);
  }
  // Of the message, whose last pack may be a part of one.
  WEFT_HOST_DEVICE Pack loaded(std::size_t i) const {
    const T* const message = static_cast<const T*>(call_.message);
    if ((i + 1) * width <= call_.count) return reinterpret_cast<const Pack*>(message)[i];
    Pack part{};
    for (std::size_t e = i * width; e < call_.count; ++e) part.element[e - i * width] = message[e];
    return part;
  }
  WEFT_HOST_DEVICE void store(std::size_t i, const Pack& pack) const {
    T* const message = static_cast<T*>(call_.message);
    if ((i + 1) * width <= call_.count)
      reinterpret_cast<Pack*>(message)[i] = pack;
    else
      for (std::size_t e = i * width; e < call_.count; ++e) message[e] = pack.element[e - i * width];
  }
  // In the order of the ranks, so that all have the same bits.
  template <ReduceOp op, class Finish>
  WEFT_HOST_DEVICE Pack sum(std::size_t i, Finish finish) const {
    Pack all = staged(0)[i];
    for (int r = 1; r < call_.ranks; ++r) {
      const Pack more = staged(r)[i];
      for (int e = 0; e < width; ++e) all.element[e] = narrow<T>(combine<op>(widen(all.element[e]), widen(more.element[e])));
    }
    for (int e = 0; e < width; ++e) all.element[e] = finish(all.element[e]);
    return all;
  }

  WEFT_HOST_DEVICE void pass_barrier() {
    ++barriers_;
    block_.sync();
    const auto threads = static_cast<int>(block_.threads()), thread = static_cast<int>(block_.thread());
    for (int peer = thread; peer < call_.ranks; peer += threads) block_.raise(flags_at(peer) + call_.rank, barriers_);
    for (int peer = thread; peer < call_.ranks; peer += threads) block_.wait_for(own_flags() + peer, barriers_, call_.given_up);
    block_.sync();
  }

  Block& block_;
  const OneLaunchCall& call_;
  const unsigned number_;
  std::uint32_t* const passed_;
  std::uint32_t barriers_;
  std::size_t begin_ = 0, end_ = 0;  // packs of the message
  unsigned turn_ = 0;
};

}  // namespace weft

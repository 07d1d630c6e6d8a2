// How the threads of a block copy bytes together, whatever their alignment; shared with the tests, which play the threads.
#pragma once

#include "kernels/base/host_device.hpp"

#include <cstddef>
#include <cstdint>

namespace weft {

// One of the threads that copy.
struct OneOf {
  unsigned thread, threads;
};

// Of whatever is copied.
using Word [[gnu::may_alias]] = std::uint32_t;
struct [[gnu::may_alias]] alignas(16) FourWords {
  std::uint32_t word[4];
};

template <class Unit>
WEFT_HOST_DEVICE inline void copy_units(OneOf me, std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t i = me.thread; i < bytes / sizeof(Unit); i += me.threads)
    reinterpret_cast<Unit*>(to)[i] = reinterpret_cast<const Unit*>(from)[i];
}

// Four words at once to where 16 bytes are aligned, put together from five that are aligned, where `from` lies `apart` bytes (1 to 3)
// behind a word. Reads the words that hold bytes [-apart, bytes + 4 - apart) of `from`.
WEFT_HOST_DEVICE inline void copy_shifted(OneOf me, std::byte* to, const std::byte* from, std::size_t bytes, unsigned apart) {
  const auto* words = reinterpret_cast<const Word*>(from - apart);
  for (std::size_t i = me.thread; i < bytes / 16; i += me.threads) {
    std::uint32_t read[5];
    for (int w = 0; w < 5; ++w) read[w] = words[4 * i + static_cast<std::size_t>(w)];
    FourWords put;
    for (int w = 0; w < 4; ++w) put.word[w] = (read[w] >> (8 * apart)) | (read[w + 1] << (32 - 8 * apart));
    reinterpret_cast<FourWords*>(to)[i] = put;
  }
}

// The bytes of `me` of a copy by all the threads: in the widest units in which both sides are aligned alike, and where that is less than
// a word, by shifting words; bytes before and behind them.
WEFT_HOST_DEVICE inline void copy_bytes(OneOf me, std::byte* to, const std::byte* from, std::size_t bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(to), source = reinterpret_cast<std::uintptr_t>(from);
  const bool shifts = (at ^ source) % 4 != 0;
  const std::size_t unit = shifts || (at ^ source) % 16 == 0 ? sizeof(FourWords) : sizeof(Word);
  const std::size_t before = (unit - at % unit) % unit;
  const auto behind_word = static_cast<unsigned>((source + before) % 4);  // where shifting begins
  // No word is read that holds bytes beside those to copy: what lies in the first and the last is copied byte by byte.
  const std::size_t skipped = shifts && before < behind_word ? before + unit : before, kept = shifts ? 4 - behind_word : 0;
  const std::size_t head = skipped < bytes ? skipped : bytes;
  const std::size_t middle = bytes - head > kept ? (bytes - head - kept) / unit * unit : 0;
  copy_units<std::byte>(me, to, from, head);
  if (shifts)
    copy_shifted(me, to + head, from + head, middle, behind_word);
  else if (unit == sizeof(FourWords))
    copy_units<FourWords>(me, to + head, from + head, middle);
  else
    copy_units<Word>(me, to + head, from + head, middle);
  copy_units<std::byte>(me, to + head + middle, from + head + middle, bytes - head - middle);
}

}  // namespace weft

// Runs a loop with the widest vector instructions of this machine. The loop is written once, in plain C++, and compiled
// once per instruction set; floating-point contraction is off, so each gives the same bits.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace weft {

enum class InstructionSet { baseline, avx2, avx512 };

std::string_view name_of(InstructionSet);
std::span<const InstructionSet> instruction_sets();  // that this machine has, widest last

// Nothing in the loop depends on an earlier iteration: pointers are either equal or do not overlap.
#if defined(__clang__)
#define WEFT_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define WEFT_INDEPENDENT _Pragma("GCC ivdep")
#endif

// For the body given to `vectorised` and what it calls: only what is inlined is compiled for the instruction set.
#define WEFT_INLINE __attribute__((always_inline))

namespace detail {
template <class Body>
void run_baseline(Body body) {
  body();
}
#if defined(__x86_64__)
template <class Body>
[[gnu::target("avx2")]] void run_avx2(Body body) {
  body();
}
template <class Body>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] void run_avx512(Body body) {
  body();
}
#endif
}  // namespace detail

// `body` is a lambda marked WEFT_INLINE: vectorised([&]() WEFT_INLINE { ... }).
template <class Body>
void vectorised(InstructionSet set, Body body) {
#if defined(__x86_64__)
  if (set == InstructionSet::avx512) return detail::run_avx512(body);
  if (set == InstructionSet::avx2) return detail::run_avx2(body);
#else
  static_cast<void>(set);
#endif
  detail::run_baseline(body);
}

template <class Body>
void vectorised(Body body) {
  vectorised(instruction_sets().back(), body);
}

}  // namespace weft

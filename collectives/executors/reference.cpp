#include "collectives/executors/reference.hpp"

#include "kernels/base/error.hpp"
#include "kernels/base/hash.hpp"
#include "kernels/half.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

namespace weft {
namespace {

constexpr std::byte untouched{0xA5};
constexpr std::int64_t block_elements = 4096;  // verified at a time: the expected values stay in the cache
constexpr int largest_whole = 4;

template <class T>
constexpr double epsilon = std::numeric_limits<T>::epsilon();
template <>
constexpr double epsilon<float16> = 0x1p-10;
template <>
constexpr double epsilon<bfloat16> = 0x1p-7;

template <class T>
using Number = std::conditional_t<std::is_integral_v<T>, T, double>;

template <class T>
Number<T> number(T value) {
  if constexpr (std::is_integral_v<T> || std::is_floating_point_v<T>)
    return value;
  else
    return static_cast<double>(to_float(value));
}

template <class T>
T rounded(double value) {
  if constexpr (std::is_same_v<T, float16>)
    return to_float16(static_cast<float>(value));
  else if constexpr (std::is_same_v<T, bfloat16>)
    return to_bfloat16(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

// Products stay near 1: no factor is far from it, and of the whole ones only one rank's is not 1 or -1.
double real_value(std::uint64_t bits, ReduceOp op) {
  const double uniform = static_cast<double>(bits >> 11) * 0x1p-52 - 1;  // [-1, 1)
  return op == ReduceOp::prod ? (uniform < 0 ? -1 : 1) + uniform / 8 : uniform;
}
double whole_value(std::uint64_t bits, ReduceOp op, bool doubles) {
  if (op == ReduceOp::prod) return (bits % 2 == 0 ? -1 : 1) * (doubles ? 2 : 1);
  return static_cast<double>(bits % (2 * largest_whole + 1)) - largest_whole;
}

template <class T>
T input(const Schedule& s, ReduceOp op, TestData data, Rank rank, std::int64_t element) {
  const auto index = static_cast<std::uint64_t>(element);
  const std::uint64_t bits = mixed(golden_ratio + index + mixed(golden_ratio + data.seed + static_cast<std::uint64_t>(rank) * 0x10001));
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(bits);
  } else {
    if (data.values == Values::real) return rounded<T>(real_value(bits, op));
    return rounded<T>(whole_value(bits, op, static_cast<Rank>(index % static_cast<std::uint64_t>(s.workers())) == rank));
  }
}

template <class Run>
void with_value_of(DType dtype, Run run) {
  switch (dtype) {
    case DType::float16:
      return run(float16{});
    case DType::bfloat16:
      return run(bfloat16{});
    case DType::float32:
      return run(float{});
    case DType::float64:
      return run(double{});
    case DType::int32:
      return run(std::int32_t{});
    case DType::int64:
      return run(std::int64_t{});
    case DType::uint8:
      return run(std::uint8_t{});
  }
}

template <class T>
T combined(ReduceOp op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    if (op == ReduceOp::sum || op == ReduceOp::avg) return static_cast<T>(x + y);
    if (op == ReduceOp::prod) return static_cast<T>(x * y);
    if (op == ReduceOp::band) return static_cast<T>(x & y);
    if (op == ReduceOp::bor) return static_cast<T>(x | y);
  } else {
    if (op == ReduceOp::sum || op == ReduceOp::avg) return a + b;
    if (op == ReduceOp::prod) return a * b;
  }
  return op == ReduceOp::min ? std::min(a, b) : std::max(a, b);
}

template <class T>
T divided(T sum, int ranks) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::int64_t>(sum) / ranks);
  else
    return sum / ranks;
}

// The reduced values of some consecutive elements, and how far a right result may be from them.
template <class T>
struct Reduced {
  std::vector<Number<T>> values;
  std::vector<double> bounds;

  void compute(const Schedule& s, ReduceOp op, TestData data, std::int64_t first, std::int64_t count) {
    values.resize(static_cast<std::size_t>(count));
    bounds.assign(static_cast<std::size_t>(count), 0);
    for (Rank r = 0; r < s.workers(); ++r)
      for (std::size_t i = 0; i < values.size(); ++i) {
        const Number<T> x = number(input<T>(s, op, data, r, first + static_cast<std::int64_t>(i)));
        values[i] = r == 0 ? x : combined(op, values[i], x);
        if constexpr (!std::is_integral_v<T>) bounds[i] += std::abs(x);
      }
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (op == ReduceOp::avg) values[i] = divided(values[i], s.workers());
      if constexpr (!std::is_integral_v<T>) bounds[i] = bound(s, op, data, values[i], bounds[i]);
    }
  }

 private:
  static double bound(const Schedule& s, ReduceOp op, TestData data, double value, double magnitudes) {
    const double size = std::abs(value);
    const bool exact = data.values == Values::whole && s.workers() * largest_whole < 2 / epsilon<T>;
    switch (op) {
      case ReduceOp::sum:
        return exact ? 0 : s.workers() * epsilon<T> * magnitudes;
      case ReduceOp::avg:
        if (data.scaled_first && !std::has_single_bit(static_cast<unsigned>(s.workers())))
          return epsilon<T> * magnitudes * (s.workers() + 1) / s.workers() + epsilon<T> * size;
        return (exact ? 0 : epsilon<T> * magnitudes) + epsilon<T> * size;
      case ReduceOp::prod:
        return data.values == Values::whole ? 0 : s.workers() * epsilon<T> * size;
      default:
        return 0;
    }
  }
};

struct Range {
  std::int64_t begin, end;  // elements
};
Range block(const Schedule& s, const ChunkLayout& layout, Rank r) {
  return {layout.begin(block_begin(s, r)), layout.begin(block_begin(s, r + 1))};
}
Range whole(const ChunkLayout& layout) { return {0, layout.elements}; }

// The elements that hold a reduction on this rank.
Range reduced_on(const Schedule& s, const ChunkLayout& layout, Rank r) {
  if (r >= s.workers()) return {0, 0};
  if (s.collective == Collective::allreduce || (s.collective == Collective::reduce && r == s.root)) return whole(layout);
  if (s.collective == Collective::reduce_scatter) return block(s, layout, r);
  return {0, 0};
}

template <class T>
class Verifier {
 public:
  Verifier(const Schedule& s, ReduceOp op, TestData data, std::span<const RankResult> results)
      : s_(s), op_(op), data_(data), results_(results) {}

  Verdict run() {
    if (results_.empty() || s_.collective == Collective::barrier) return {};
    const std::int64_t elements = results_[0].buffer.layout.elements;
    for (std::int64_t first = 0; first < elements; first += block_elements) reductions(first, std::min(first + block_elements, elements));
    for (const RankResult& r : results_) copies(r);
    return verdict_;
  }

 private:
  static T load(const RankResult& r, std::int64_t element) {
    T value;
    std::memcpy(&value, r.buffer.data + static_cast<std::size_t>(element) * sizeof(T), sizeof(T));
    return value;
  }

  void reductions(std::int64_t first, std::int64_t end) {
    bool computed = false;
    for (const RankResult& r : results_) {
      const Range held = reduced_on(s_, r.buffer.layout, r.rank);
      if (std::max(first, held.begin) >= std::min(end, held.end)) continue;
      if (!computed) reduced_.compute(s_, op_, data_, first, end - first);
      computed = true;
      for (std::int64_t i = std::max(first, held.begin); i < std::min(end, held.end); ++i) {
        const auto at = static_cast<std::size_t>(i - first);
        expect(r, i, reduced_.values[at], reduced_.bounds[at]);
      }
    }
  }

  void copies(const RankResult& r) {
    const ChunkLayout& layout = r.buffer.layout;
    if (s_.collective == Collective::broadcast) copy(r, 0, s_.root, whole(layout));
    for (Rank other = 0; other < s_.ranks; ++other) {
      if (s_.collective == Collective::allgather) copy(r, block(s_, layout, other).begin, other, block(s_, layout, other));
      if (s_.collective == Collective::alltoall)
        copy(r, layout.begin(s_.chunks + block_begin(s_, other)), other, block(s_, layout, r.rank));
    }
  }
  // From element `at` on, this rank must hold these elements of `owner`.
  void copy(const RankResult& r, std::int64_t at, Rank owner, Range from) {
    for (std::int64_t i = from.begin; i < from.end; ++i) expect(r, at + i - from.begin, number(input<T>(s_, op_, data_, owner, i)), 0);
  }

  void expect(const RankResult& r, std::int64_t element, Number<T> expected, double bound) {
    const Number<T> found = number(load(r, element));
    if constexpr (std::is_integral_v<T>) {
      if (found == expected) return;
    } else {
      if (std::abs(found - expected) <= bound) return;
    }
    if (verdict_.wrong++ > 0) return;
    verdict_.first_wrong = fmt::format("rank {}, element {}: is {}, should be {}", r.rank, element, found, expected);
    if (bound > 0) verdict_.first_wrong += fmt::format(" within {:.3g}", bound);
  }

  const Schedule& s_;
  ReduceOp op_;
  TestData data_;
  std::span<const RankResult> results_;
  Reduced<T> reduced_;
  Verdict verdict_;
};

// What a rank holds before the collective.
Range held_before(const Schedule& s, const ChunkLayout& layout, Rank r) {
  if (r >= s.workers()) return {0, 0};
  if (s.collective == Collective::allgather) return block(s, layout, r);
  if (s.collective == Collective::broadcast && r != s.root) return {0, 0};
  return whole(layout);
}

}  // namespace

int max_ranks_summed_exactly(DType dtype) {
  double most = std::numeric_limits<int>::max();
  with_value_of(dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (!std::is_integral_v<T>) most = std::min(most, 2 / epsilon<T> / largest_whole);
  });
  return static_cast<int>(most);
}

void fill(const Schedule& s, ReduceOp op, TestData data, Rank rank, const Buffer& buffer) {
  const auto all = buffer.chunks(0, s.all_chunks());
  std::fill(all.begin(), all.end(), untouched);
  const Range held = held_before(s, buffer.layout, rank);
  with_value_of(buffer.dtype, [&](auto type) {
    using T = decltype(type);
    for (std::int64_t i = held.begin; i < held.end; ++i) {
      const T value = input<T>(s, op, data, rank, i);
      std::memcpy(buffer.data + static_cast<std::size_t>(i) * sizeof(T), &value, sizeof(T));
    }
  });
}

Verdict verify(const Schedule& s, ReduceOp op, TestData data, std::span<const RankResult> results) {
  Verdict verdict;
  if (results.empty()) return verdict;
  with_value_of(results[0].buffer.dtype, [&](auto type) { verdict = Verifier<decltype(type)>(s, op, data, results).run(); });
  return verdict;
}

}  // namespace weft

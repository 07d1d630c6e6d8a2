#include "kernels/compression/sparse.hpp"

#include "kernels/base/error.hpp"
#include "kernels/compression/magnitude_groups.hpp"

#include <algorithm>
#include <functional>

namespace weft {
namespace {

// The entries of both, those with the same index added. Without branches that depend on the data: which list comes next is as good as
// random. -0 is what adds nothing to any float.
std::vector<Entry> sum_of(std::span<const Entry> a, std::span<const Entry> b) {
  std::vector<Entry> sum(a.size() + b.size());
  std::size_t i = 0, j = 0, n = 0;
  while (i < a.size() && j < b.size()) {
    const bool from_a = a[i].index <= b[j].index, from_b = b[j].index <= a[i].index;
    sum[n++] = {from_a ? a[i].index : b[j].index, (from_a ? a[i].value : -0.0f) + (from_b ? b[j].value : -0.0f)};
    i += from_a;
    j += from_b;
  }
  n = static_cast<std::size_t>(
      std::copy(a.begin() + static_cast<std::ptrdiff_t>(i), a.end(), sum.begin() + static_cast<std::ptrdiff_t>(n)) - sum.begin());
  n = static_cast<std::size_t>(
      std::copy(b.begin() + static_cast<std::ptrdiff_t>(j), b.end(), sum.begin() + static_cast<std::ptrdiff_t>(n)) - sum.begin());
  sum.resize(n);
  return sum;
}

// Of these magnitudes the k-th largest, and how many of its equals are among the k largest.
struct Threshold {
  std::uint32_t magnitude;
  std::size_t equals;
};

// By counting magnitudes that share their upper bits, and sorting out only those of the group in which the k-th lies: selecting among
// all would go over them again and again, and guess wrong at every other one.
// Only the group in which the k-th lies is sorted out: selecting among all would go over them again and again, and guess wrong at every
// other one.
Threshold threshold_of(std::span<const Entry> entries, std::size_t k) {
  const MagnitudeGroup group = group_of_kth(entries.size(), k, [&](std::size_t i) { return entries[i].value; });
  std::vector<std::uint32_t> magnitudes;
  magnitudes.reserve(group.size);
  for (const Entry& e : entries)
    if (magnitude_bits(e.value) >> magnitude_group_shift == group.number) magnitudes.push_back(magnitude_bits(e.value));
  const auto last = magnitudes.begin() + static_cast<std::ptrdiff_t>(k - group.above - 1);
  std::nth_element(magnitudes.begin(), last, magnitudes.end(), std::greater<>{});
  return {*last, static_cast<std::size_t>(std::count(magnitudes.begin(), last + 1, *last))};
}

void check_index(std::uint32_t index, std::size_t size) { check(index < size, "index {} of {} elements", index, size); }

}  // namespace

void sort_by_index(std::span<Entry> entries) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.index < b.index; });
}

void gather(std::span<const float> values, std::span<const std::uint32_t> indices, std::span<float> out) {
  check(indices.size() == out.size(), "{} indices gathered into {} elements", indices.size(), out.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    check_index(indices[i], values.size());
    out[i] = values[indices[i]];
  }
}

void scatter(std::span<const std::uint32_t> indices, std::span<const float> values, std::span<float> into) {
  check(indices.size() == values.size(), "{} values scattered to {} indices", values.size(), indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    check_index(indices[i], into.size());
    into[indices[i]] = values[i];
  }
}

void scatter_add(std::span<const Entry> entries, std::span<float> into) {
  for (const Entry& e : entries) {
    check_index(e.index, into.size());
    into[e.index] += e.value;
  }
}

void merge_top_k(std::span<Entry> into, std::span<const Entry> from, std::vector<Entry>& dropped) {
  check(into.size() == from.size(), "a list of {} entries merged into one of {}", from.size(), into.size());
  if (into.empty()) return;
  std::vector<Entry> sum = sum_of(into, from);
  Threshold threshold = threshold_of(sum, into.size());
  // Every entry is written behind those kept and behind those dropped, and only one of the two ends moves on.
  const std::size_t before = dropped.size();
  dropped.resize(before + sum.size() - into.size() + 1);
  Entry* next_dropped = dropped.data() + before;
  std::size_t kept = 0;
  for (const Entry e : sum) {
    const std::uint32_t magnitude = magnitude_bits(e.value);
    const bool equal = magnitude == threshold.magnitude && threshold.equals > 0;  // of equals the lower index comes first
    const bool keep = magnitude > threshold.magnitude || equal;
    threshold.equals -= equal;
    sum[kept] = e;
    *next_dropped = e;
    kept += keep;
    next_dropped += !keep;
  }
  dropped.pop_back();
  std::copy_n(sum.begin(), kept, into.begin());
}

}  // namespace weft

#include "kernels/sparse.hpp"

#include "kernels/base/error.hpp"
#include "kernels/top_k_ops.hpp"

#include <algorithm>
#include <functional>

namespace weft {
namespace {

std::uint64_t key_of(const Entry& e) { return top_k_key(e.value, e.index); }

// The entries of both, those with the same index added.
std::vector<Entry> sum_of(std::span<const Entry> a, std::span<const Entry> b) {
  std::vector<Entry> sum;
  sum.reserve(a.size() + b.size());
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (a[i].index == b[j].index) {
      sum.push_back({a[i].index, a[i].value + b[j].value});
      ++i, ++j;
    } else {
      sum.push_back(a[i].index < b[j].index ? a[i++] : b[j++]);
    }
  }
  sum.insert(sum.end(), a.begin() + static_cast<std::ptrdiff_t>(i), a.end());
  sum.insert(sum.end(), b.begin() + static_cast<std::ptrdiff_t>(j), b.end());
  return sum;
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
  const std::vector<Entry> sum = sum_of(into, from);
  std::vector<std::uint64_t> keys(sum.size());
  std::transform(sum.begin(), sum.end(), keys.begin(), key_of);
  const auto last_kept = keys.begin() + static_cast<std::ptrdiff_t>(into.size() - 1);
  std::nth_element(keys.begin(), last_kept, keys.end(), std::greater<>{});
  std::size_t kept = 0;
  for (const Entry& e : sum) {
    if (key_of(e) >= *last_kept)
      into[kept++] = e;
    else
      dropped.push_back(e);
  }
}

}  // namespace weft

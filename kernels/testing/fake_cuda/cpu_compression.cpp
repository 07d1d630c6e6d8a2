// The kernels that compress, for tests of what only calls them: those of the CPU, on the streams of the fake runtime.
#include "kernels/cuda/count_sketch.hpp"
#include "kernels/cuda/finite.hpp"
#include "kernels/cuda/sparse.hpp"
#include "kernels/cuda/top_k.hpp"
#include "kernels/testing/fake_cuda/runtime.hpp"

#include <algorithm>
#include <vector>

namespace weft::cuda {
namespace {

template <class Do>
void enqueue(Stream stream, Do what) {
  fake_cuda::enqueue(stream, [what] { return what(), true; });
}

// Calls act(entry) for those of a list whose index is in `survivors` too.
template <class Act>
void for_survivors(std::span<const Entry> list, std::span<const Entry> survivors, Act act) {
  const auto by_index = [](const Entry& a, const Entry& b) { return a.index < b.index; };
  for (const Entry& e : list)
    if (std::binary_search(survivors.begin(), survivors.end(), e, by_index)) act(e);
}

}  // namespace

void count_nonfinite(DType type, const void* values, std::size_t count, NonFinite* found, Stream stream) {
  enqueue(stream, [=] {
    const NonFinite more = weft::count_nonfinite(type, values, count);
    found->nans += more.nans;
    found->infinities += more.infinities;
  });
}

void sketch_insert(const SketchShape& shape, std::uint64_t first, std::span<const float> values, std::span<float> table, Stream stream) {
  enqueue(stream, [=] { weft::sketch_insert(shape, first, values, table); });
}
void sketch_estimate(const SketchShape& shape, std::span<const float> table, std::uint64_t first, std::span<float> values, Stream stream) {
  enqueue(stream, [=] { weft::sketch_estimate(shape, table, first, values); });
}
void top_k(std::span<const float> values, std::span<Entry> largest, Stream stream) {
  enqueue(stream, [=] { weft::top_k(values, largest); });
}

void sort_by_index(std::span<Entry> entries, Stream stream) {
  enqueue(stream, [=] { weft::sort_by_index(entries); });
}
void indices_of(std::span<const Entry> entries, std::span<std::uint32_t> indices, Stream stream) {
  enqueue(stream, [=] { std::ranges::transform(entries, indices.begin(), [](const Entry& e) { return e.index; }); });
}
void gather(std::span<const float> values, std::span<const std::uint32_t> indices, std::span<float> out, Stream stream) {
  enqueue(stream, [=] { weft::gather(values, indices, out); });
}
void scatter(std::span<const std::uint32_t> indices, std::span<const float> values, std::span<float> into, Stream stream) {
  enqueue(stream, [=] { weft::scatter(indices, values, into); });
}
void scatter_add(std::span<const Entry> entries, std::span<float> into, Stream stream) {
  enqueue(stream, [=] { weft::scatter_add(entries, into); });
}
void forget(std::span<const std::uint32_t> indices, std::span<float> into, Stream stream) {
  enqueue(stream, [=] {
    for (const std::uint32_t index : indices) into[index] = 0;
  });
}
void merge_top_k(std::span<Entry> into, std::span<const Entry> from, std::span<Entry> dropped, Stream stream) {
  enqueue(stream, [=] {
    std::vector<Entry> some;
    weft::merge_top_k(into, from, some);
    some.resize(dropped.size(), {0, -0.0f});
    std::ranges::copy(some, dropped.begin());
  });
}
void forget_survivors(std::span<const Entry> list, std::span<const Entry> survivors, std::span<float> into, Stream stream) {
  enqueue(stream, [=] { for_survivors(list, survivors, [&](const Entry& e) { into[e.index] = 0; }); });
}
void add_survivors(std::span<const Entry> list, std::span<const Entry> survivors, std::span<float> into, Stream stream) {
  enqueue(stream, [=] { for_survivors(list, survivors, [&](const Entry& e) { into[e.index] += e.value; }); });
}

}  // namespace weft::cuda

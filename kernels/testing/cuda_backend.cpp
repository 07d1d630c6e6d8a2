#include "kernels/testing/cuda_backend.hpp"

#include "kernels/cuda/bit_vector.hpp"
#include "kernels/cuda/count_sketch.hpp"
#include "kernels/cuda/finite.hpp"
#include "kernels/cuda/pack.hpp"
#include "kernels/cuda/quantise.hpp"
#include "kernels/cuda/reduce.hpp"
#include "kernels/cuda/runtime.hpp"
#include "kernels/cuda/sparse.hpp"
#include "kernels/cuda/top_k.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <vector>

namespace weft::test {
namespace {

// Device memory with what host memory holds, and just as badly aligned.
class Copy {
 public:
  Copy(const void* host, std::size_t bytes)
      : memory_(bytes + alignment), data_(memory_.as<std::byte>() + reinterpret_cast<std::uintptr_t>(host) % alignment) {
    cuda::copy(data_, host, bytes);
  }

  std::byte* data() const { return data_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  static constexpr std::size_t alignment = 256;
  cuda::DeviceMemory memory_;
  std::byte* data_;
};

// The same of a span, and the way back.
template <class T>
class Mirror {
 public:
  explicit Mirror(std::span<T> host) : host_(host), copy_(host.data(), host.size_bytes()) {}
  std::span<T> device() const { return {copy_.template as<T>(), host_.size()}; }
  void fetch() const {
    cuda::copy(host_.data(), copy_.data(), host_.size_bytes());
    cuda::synchronise();
  }

 private:
  std::span<T> host_;
  Copy copy_;
};

template <class Enqueue>
std::size_t counted(Enqueue enqueue) {
  std::size_t count = 0;
  const Mirror<std::size_t> mirror(std::span(&count, 1));
  enqueue(mirror.device().data());
  mirror.fetch();
  return count;
}

void reduce_into(DType type, ReduceOp op, void* out, const void* a, const void* b, std::size_t count) {
  const std::size_t bytes = count * size_of(type);
  const Copy to(out, bytes), x(a, bytes), y(b, bytes);
  // Where the caller's memory is one, so is the device's.
  void* device_a = a == out ? to.data() : x.data();
  void* device_b = b == out ? to.data() : y.data();
  cuda::reduce_into(type, op, to.data(), device_a, device_b, count, nullptr);
  cuda::copy(out, to.data(), bytes);
  cuda::synchronise();
}

void reduce_many(DType type, ReduceOp op, void* out, std::span<const void* const> in, std::size_t count) {
  const std::size_t bytes = count * size_of(type);
  const Copy to(out, bytes);
  std::deque<Copy> copies;
  std::vector<const void*> sources;
  for (const void* from : in) sources.push_back(from == out ? to.data() : copies.emplace_back(from, bytes).data());
  cuda::reduce_many(type, op, to.data(), sources, count, nullptr);
  cuda::copy(out, to.data(), bytes);
  cuda::synchronise();
}

void scale_average(DType type, void* data, std::size_t count, int ranks) {
  const Mirror<std::byte> mirror(std::span(static_cast<std::byte*>(data), count * size_of(type)));
  cuda::scale_average(type, mirror.device().data(), count, ranks, nullptr);
  mirror.fetch();
}

std::size_t quantise(DType type, FixedPoint point, const void* values, std::span<std::int32_t> fixed) {
  const Copy in(values, fixed.size() * size_of(type));
  const Mirror<std::int32_t> out(fixed);
  const std::size_t lost = counted([&](std::size_t* count) { cuda::quantise(type, point, in.data(), out.device(), count, nullptr); });
  out.fetch();
  return lost;
}

void dequantise(DType type, FixedPoint point, std::span<const std::int32_t> fixed, void* values) {
  const Copy in(fixed.data(), fixed.size_bytes());
  const Mirror<std::byte> out(std::span(static_cast<std::byte*>(values), fixed.size() * size_of(type)));
  cuda::dequantise(type, point, {in.as<std::int32_t>(), fixed.size()}, out.device().data(), nullptr);
  out.fetch();
}

std::size_t add_saturating(std::span<std::int32_t> into, std::span<const std::int32_t> from) {
  const Mirror<std::int32_t> sum(into);
  const Copy other(from.data(), from.size_bytes());
  const std::size_t lost = counted([&](std::size_t* count) {
    cuda::add_saturating(sum.device(), {other.as<std::int32_t>(), from.size()}, count, nullptr);
  });
  sum.fetch();
  return lost;
}

// The pieces on the device, each in memory of its own.
std::vector<Copy> mirrored(std::span<const ConstPiece> pieces) {
  std::vector<Copy> memory;
  for (const ConstPiece& piece : pieces) memory.emplace_back(piece.data(), piece.size());
  return memory;
}

cuda::PackPlan plan_of(const std::vector<Copy>& memory, std::span<const ConstPiece> pieces, Piece buffer) {
  std::vector<Piece> device;
  for (std::size_t i = 0; i < memory.size(); ++i) device.emplace_back(memory[i].as<std::byte>(), pieces[i].size());
  return {device, buffer};
}

void pack(std::span<const ConstPiece> pieces, std::span<std::byte> buffer) {
  const Mirror<std::byte> packed(buffer);
  const std::vector<Copy> memory = mirrored(pieces);
  plan_of(memory, pieces, packed.device()).pack(nullptr);
  packed.fetch();
}

void unpack(std::span<const std::byte> buffer, std::span<const Piece> pieces) {
  const std::vector<ConstPiece> sources(pieces.begin(), pieces.end());
  const std::vector<Copy> memory = mirrored(sources);
  const Copy packed(buffer.data(), buffer.size());
  plan_of(memory, sources, {packed.as<std::byte>(), buffer.size()}).unpack(nullptr);
  for (std::size_t i = 0; i < pieces.size(); ++i) cuda::copy(pieces[i].data(), memory[i].data(), pieces[i].size());
  cuda::synchronise();
}

void bit_min(std::span<std::uint64_t> into, std::span<const std::uint64_t> from) {
  const Mirror<std::uint64_t> least(into);
  const Copy other(from.data(), from.size_bytes());
  cuda::bit_min(least.device(), {other.as<std::uint64_t>(), from.size()}, nullptr);
  least.fetch();
}

NonFinite count_nonfinite(DType type, const void* values, std::size_t count) {
  const Copy in(values, count * size_of(type));
  NonFinite found;
  const Mirror<NonFinite> mirror(std::span(&found, 1));
  cuda::count_nonfinite(type, in.data(), count, mirror.device().data(), nullptr);
  mirror.fetch();
  return found;
}

void sketch_insert(const SketchShape& shape, std::uint64_t first, std::span<const float> values, std::span<float> table) {
  const Copy in(values.data(), values.size_bytes());
  const Mirror<float> counters(table);
  cuda::sketch_insert(shape, first, {in.as<float>(), values.size()}, counters.device(), nullptr);
  counters.fetch();
}

void sketch_estimate(const SketchShape& shape, std::span<const float> table, std::uint64_t first, std::span<float> values) {
  const Copy counters(table.data(), table.size_bytes());
  const Mirror<float> out(values);
  cuda::sketch_estimate(shape, {counters.as<float>(), table.size()}, first, out.device(), nullptr);
  out.fetch();
}

void top_k(std::span<const float> values, std::span<Entry> largest) {
  const Copy in(values.data(), values.size_bytes());
  const Mirror<Entry> entries(largest);
  cuda::top_k({in.as<float>(), values.size()}, entries.device(), nullptr);
  entries.fetch();
}

// A host's span on the device, only to be read.
template <class T>
struct Input {
  Copy copy;
  std::size_t count;
  explicit Input(std::span<const T> host) : copy(host.data(), host.size_bytes()), count(host.size()) {}
  std::span<const T> device() const { return {copy.as<T>(), count}; }
};

void sort_by_index(std::span<Entry> entries) {
  const Mirror<Entry> mirror(entries);
  cuda::sort_by_index(mirror.device(), nullptr);
  mirror.fetch();
}

void gather(std::span<const float> values, std::span<const std::uint32_t> indices, std::span<float> out) {
  const Input<float> from(values);
  const Input<std::uint32_t> at(indices);
  const Mirror<float> mirror(out);
  cuda::gather(from.device(), at.device(), mirror.device(), nullptr);
  mirror.fetch();
}

void scatter(std::span<const std::uint32_t> indices, std::span<const float> values, std::span<float> into) {
  const Input<float> from(values);
  const Input<std::uint32_t> at(indices);
  const Mirror<float> mirror(into);
  cuda::scatter(at.device(), from.device(), mirror.device(), nullptr);
  mirror.fetch();
}

void scatter_add(std::span<const Entry> entries, std::span<float> into) {
  const Input<Entry> from(entries);
  const Mirror<float> mirror(into);
  cuda::scatter_add(from.device(), mirror.device(), nullptr);
  mirror.fetch();
}

// What the device leaves of a fixed length becomes what the CPU appends: entries by index, without those that add nothing.
void merge_top_k(std::span<Entry> into, std::span<const Entry> from, std::vector<Entry>& dropped) {
  const Input<Entry> other(from);
  const Mirror<Entry> mirror(into);
  std::vector<Entry> all(into.size());
  const Mirror<Entry> all_dropped{std::span(all)};
  cuda::merge_top_k(mirror.device(), other.device(), all_dropped.device(), nullptr);
  mirror.fetch();
  all_dropped.fetch();
  std::erase_if(all, [](const Entry& e) { return e.index == 0 && std::bit_cast<std::uint32_t>(e.value) == 0x80000000u; });
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.index < b.index; });
  dropped.insert(dropped.end(), all.begin(), all.end());
}

}  // namespace

Backend cuda_backend() {
  return {.name = "CUDA",
          .reduce_into = &reduce_into,
          .reduce_many = &reduce_many,
          .scale_average = &scale_average,
          .quantise = &quantise,
          .dequantise = &dequantise,
          .add_saturating = &add_saturating,
          .pack = &pack,
          .unpack = &unpack,
          .bit_min = &bit_min,
          .count_nonfinite = &count_nonfinite,
          .sketch_insert = &sketch_insert,
          .sketch_estimate = &sketch_estimate,
          .top_k = &top_k,
          .sort_by_index = &sort_by_index,
          .gather = &gather,
          .scatter = &scatter,
          .scatter_add = &scatter_add,
          .merge_top_k = &merge_top_k};
}

}  // namespace weft::test

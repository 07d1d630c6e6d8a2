// How fast the CUDA kernels are, against a copy within the device: rates count the bytes read and written, so a copy moves
// 2 per byte, a sum 3. Prints one line per kernel, type and size; exit status 1 without a device.
#include "kernels/cuda/bit_vector.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/count_sketch.hpp"
#include "kernels/cuda/finite.hpp"
#include "kernels/cuda/pack.hpp"
#include "kernels/cuda/quantise.hpp"
#include "kernels/cuda/reduce.hpp"
#include "kernels/cuda/sparse.hpp"
#include "kernels/cuda/top_k.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

namespace weft::cuda {
namespace {

class Event {
 public:
  Event() { check_cuda(cudaEventCreate(&event_), "cudaEventCreate"); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }
  void record() { check_cuda(cudaEventRecord(event_, nullptr), "cudaEventRecord"); }
  double seconds_since(const Event& start) {
    float milliseconds = 0;
    check_cuda(cudaEventSynchronize(event_), "cudaEventSynchronize");
    check_cuda(cudaEventElapsedTime(&milliseconds, start.event_, event_), "cudaEventElapsedTime");
    return milliseconds * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

// The median of several runs of `repeats` calls, per call.
double seconds_of(const std::function<void()>& enqueue) {
  constexpr int runs = 7, repeats = 10;
  enqueue();
  std::vector<double> seconds;
  for (int run = 0; run < runs; ++run) {
    Event start, end;
    start.record();
    for (int i = 0; i < repeats; ++i) enqueue();
    end.record();
    seconds.push_back(end.seconds_since(start) / repeats);
  }
  std::nth_element(seconds.begin(), seconds.begin() + runs / 2, seconds.end());
  return seconds[runs / 2];
}

void fill_normal(const DeviceMemory& memory, std::size_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> few(1 << 16), values(count);
  for (float& v : few) v = normal(random);
  for (std::size_t i = 0; i < count; ++i) values[i] = few[(i * 2654435761u >> 7) % few.size()];
  copy(memory.data(), values.data(), count * sizeof(float));
  synchronise();
}

void measure(std::size_t bytes) {
  const DeviceMemory a(bytes), b(bytes), c(bytes), counter(64);
  const std::size_t count = bytes / 4;
  double copy_rate = 0;
  const auto line = [&](const char* name, double moved_per_byte, const std::function<void()>& enqueue) {
    const double seconds = seconds_of(enqueue);
    const double rate = moved_per_byte * static_cast<double>(bytes) / seconds;
    if (copy_rate == 0) copy_rate = rate;
    fmt::print("{:>6} MiB  {:<28} {:>10.1f} us {:>8.1f} GB/s {:>6.1f} % of copy\n", bytes >> 20, name, seconds * 1e6, rate * 1e-9,
               100 * rate / copy_rate);
  };
  const std::span<float> values(a.as<float>(), count);
  const std::span<std::int32_t> fixed(b.as<std::int32_t>(), count), other(c.as<std::int32_t>(), count);

  for (const DeviceMemory* memory : {&a, &b, &c}) fill_normal(*memory, count);
  line("copy", 2, [&] { copy(b.data(), a.data(), bytes); });
  for (const DType type : all_dtypes()) {
    const auto name = fmt::format("sum {}", name_of(type));
    line(name.c_str(), 3, [&] { reduce(type, ReduceOp::sum, a.data(), b.data(), bytes / size_of(type), nullptr); });
  }
  line("sum float32, three buffers", 3, [&] { reduce_into(DType::float32, ReduceOp::sum, c.data(), a.data(), b.data(), count, nullptr); });
  line("sum float32, misaligned", 3,
       [&] { reduce_into(DType::float32, ReduceOp::sum, c.data(), a.as<float>() + 1, b.as<float>(), count - 1, nullptr); });
  const std::array<const void*, 8> sources = {a.data(), b.data(), a.data(), b.data(), a.data(), b.data(), a.data(), b.data()};
  for (const std::size_t n : {2, 4, 8}) {
    const auto name = fmt::format("sum float32 of {}, quarters", n);  // of a quarter each, so that no part is read twice at a time
    std::array<const void*, 8> parts{};
    for (std::size_t i = 0; i < n; ++i) parts[i] = static_cast<const std::byte*>(sources[i]) + i / 2 * (bytes / 4);
    line(name.c_str(), static_cast<double>(n + 1) / 4,
         [&] { reduce_many(DType::float32, ReduceOp::sum, c.data(), std::span(parts).first(n), count / 4, nullptr); });
  }
  fill_normal(a, count);  // the sums above have grown
  line("quantise float32", 2, [&] { quantise(DType::float32, {}, a.data(), fixed, counter.as<std::size_t>(), nullptr); });
  line("dequantise float32", 2, [&] { dequantise(DType::float32, {}, fixed, c.data(), nullptr); });
  zero(b.data(), bytes);
  zero(c.data(), bytes);
  line("add_saturating", 3, [&] { add_saturating(fixed, other, counter.as<std::size_t>(), nullptr); });
  line("bit_min", 3, [&] { bit_min({b.as<std::uint64_t>(), bytes / 8}, {c.as<std::uint64_t>(), bytes / 8}, nullptr); });
  line("count_nonfinite float32", 1, [&] { count_nonfinite(DType::float32, a.data(), count, counter.as<NonFinite>(), nullptr); });
  line("count_nonfinite float16", 1, [&] { count_nonfinite(DType::float16, c.data(), bytes / 2, counter.as<NonFinite>(), nullptr); });

  std::vector<Piece> pieces;
  for (std::size_t begin = 0; begin < bytes; begin += 65536) pieces.emplace_back(a.as<std::byte>() + begin, 65536);
  const PackPlan plan(pieces, {c.as<std::byte>(), bytes});
  line("pack, pieces of 64 KiB", 2, [&] { plan.pack(nullptr); });

  const std::span<Entry> entries(c.as<Entry>(), count / 1000);
  line("top_k, k = n / 1000", 1, [&] { top_k(values, entries, nullptr); });
  const std::size_t k = count / 100;
  const std::span<Entry> list(c.as<Entry>(), k), other_list(b.as<Entry>(), k), dropped(b.as<Entry>() + k, k);
  top_k(values, list, nullptr);
  sort_by_index(list, nullptr);
  copy(other_list.data(), list.data(), list.size_bytes());
  line("merge_top_k, k = n / 100", 0.04, [&] { merge_top_k(list, other_list, dropped, nullptr); });
  const SketchShape shape{.rows = 5, .columns = 1 << 16};
  const std::span<float> table(c.as<float>(), shape.counters());
  line("sketch_insert, 5 x 65536", 1, [&] { sketch_insert(shape, 0, values, table, nullptr); });
  line("sketch_estimate, 5 x 65536", 1, [&] { sketch_estimate(shape, table, 0, {b.as<float>(), count}, nullptr); });
}

}  // namespace
}  // namespace weft::cuda

int main() try {
  if (weft::cuda::device_count() == 0) {
    fmt::print(stderr, "no CUDA device\n");
    return 1;
  }
  int runtime = 0, driver = 0;
  weft::cuda::check_cuda(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  weft::cuda::check_cuda(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  fmt::print("{}, CUDA runtime {}, driver {}\n", weft::cuda::device_name(0), runtime, driver);
  for (const std::size_t mib : {4, 64, 256, 1024}) weft::cuda::measure(mib << 20);
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}

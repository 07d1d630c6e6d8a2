// How fast the kernels are, against what the memory gives: `of_copy` is bytes moved per second over those of a copy in
// the same run. A copy moves 2 bytes per byte, a sum 3 (two read, one written). A ratio, so noise of the machine
// cancels best with --benchmark_repetitions=5 --benchmark_enable_random_interleaving.
#include "kernels/bit_vector.hpp"
#include "kernels/compression/count_sketch.hpp"
#include "kernels/compression/quantise.hpp"
#include "kernels/compression/sparse.hpp"
#include "kernels/compression/top_k.hpp"
#include "kernels/finite.hpp"
#include "kernels/pack.hpp"
#include "kernels/reduce.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <memory>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

using namespace weft;

namespace {

// Memory as a collective's buffers have it: aligned to pages, touched.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : memory_(static_cast<std::byte*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096))) {
    std::memset(memory_.get(), 0, bytes);
  }
  void* data() { return memory_.get(); }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(memory_.get());
  }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> memory_;
};

void fill_normal(float* values, std::size_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> few(65536);
  for (float& v : few) v = normal(random);
  for (std::size_t i = 0; i < count; ++i) values[i] = few[(i * 2654435761u) >> 7 & 65535u];
}

// Of this thread, as the library counts it: what others on the machine use does not count.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Bytes per second moved by memcpy of this size: the median of several.
double copy_rate(std::size_t bytes) {
  static std::vector<std::pair<std::size_t, double>> known;
  for (const auto& [size, rate] : known)
    if (size == bytes) return rate;
  Buffer from(bytes), to(bytes);
  const std::size_t repeated = std::max(bytes, std::size_t{16} << 20);  // long enough for the clock
  std::vector<double> seconds;
  for (int i = 0; i < 15; ++i) {
    const double start = cpu_seconds();
    for (std::size_t done = 0; done < repeated; done += bytes) {
      std::memcpy(to.data(), from.data(), bytes);
      benchmark::ClobberMemory();
    }
    seconds.push_back(cpu_seconds() - start);
  }
  std::nth_element(seconds.begin(), seconds.begin() + 7, seconds.end());
  return known.emplace_back(bytes, 2.0 * static_cast<double>((repeated + bytes - 1) / bytes * bytes) / seconds[7]).second;
}

// `moved` per iteration, and the share of the copy's rate that this is.
void report(benchmark::State& state, std::size_t bytes, double moved) {
  const double total = moved * static_cast<double>(state.iterations());
  state.counters["bytes_per_second"] = benchmark::Counter(total, benchmark::Counter::kIsRate, benchmark::Counter::kIs1000);
  state.counters["of_copy"] = benchmark::Counter(total / copy_rate(bytes), benchmark::Counter::kIsRate);
}

std::size_t size_of_message(const benchmark::State& state) { return static_cast<std::size_t>(state.range(0)); }

void copy(benchmark::State& state) {
  const std::size_t bytes = size_of_message(state);
  Buffer from(bytes), to(bytes);
  copy_rate(bytes);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), bytes);
    benchmark::ClobberMemory();
  }
  report(state, bytes, 2.0 * static_cast<double>(bytes));
}

void reduce_in_place(benchmark::State& state, DType type, ReduceOp op) {
  const std::size_t bytes = size_of_message(state);
  Buffer into(bytes), from(bytes);
  copy_rate(bytes);
  for (auto _ : state) {
    reduce(type, op, into.data(), from.data(), bytes / size_of(type));
    benchmark::ClobberMemory();
  }
  report(state, bytes, 3.0 * static_cast<double>(bytes));
}

void reduce_to_third(benchmark::State& state, DType type, ReduceOp op) {
  const std::size_t bytes = size_of_message(state);
  Buffer out(bytes), a(bytes), b(bytes);
  copy_rate(bytes);
  for (auto _ : state) {
    reduce_into(type, op, out.data(), a.data(), b.data(), bytes / size_of(type));
    benchmark::ClobberMemory();
  }
  report(state, bytes, 3.0 * static_cast<double>(bytes));
}

// One read and one write of four bytes an element.
void fixed_point(benchmark::State& state, bool back) {
  const std::size_t bytes = size_of_message(state);
  Buffer values(bytes), fixed(bytes);
  fill_normal(values.as<float>(), bytes / 4);
  const std::span<std::int32_t> integers(fixed.as<std::int32_t>(), bytes / 4);
  copy_rate(bytes);
  for (auto _ : state) {
    if (back)
      dequantise(DType::float32, {}, integers, values.data());
    else
      benchmark::DoNotOptimize(quantise(DType::float32, {}, values.data(), integers));
    benchmark::ClobberMemory();
  }
  report(state, bytes, 2.0 * static_cast<double>(bytes));
}

void add_fixed(benchmark::State& state) {
  const std::size_t bytes = size_of_message(state);
  Buffer into(bytes), from(bytes);
  copy_rate(bytes);
  for (auto _ : state) benchmark::DoNotOptimize(add_saturating({into.as<std::int32_t>(), bytes / 4}, {from.as<std::int32_t>(), bytes / 4}));
  report(state, bytes, 3.0 * static_cast<double>(bytes));
}

void nonfinite(benchmark::State& state, DType type) {
  const std::size_t bytes = size_of_message(state);
  Buffer values(bytes);
  copy_rate(bytes);
  for (auto _ : state) benchmark::DoNotOptimize(count_nonfinite(type, values.data(), bytes / size_of(type)));
  report(state, bytes, static_cast<double>(bytes));
}

void pack_tensors(benchmark::State& state) {
  const std::size_t bytes = size_of_message(state), tensor = 16384;
  Buffer from(bytes), to(bytes);
  std::vector<ConstPiece> pieces;
  for (std::size_t begin = 0; begin < bytes; begin += tensor) pieces.emplace_back(from.as<std::byte>() + begin, tensor);
  copy_rate(bytes);
  for (auto _ : state) {
    pack(pieces, {to.as<std::byte>(), bytes});
    benchmark::ClobberMemory();
  }
  report(state, bytes, 2.0 * static_cast<double>(bytes));
}

void top_k_of(benchmark::State& state) {
  const std::size_t bytes = size_of_message(state);
  Buffer values(bytes);
  fill_normal(values.as<float>(), bytes / 4);
  std::vector<Entry> largest(bytes / 4 / 1000);
  copy_rate(bytes);
  for (auto _ : state) {
    top_k({values.as<float>(), bytes / 4}, largest);
    benchmark::ClobberMemory();
  }
  report(state, bytes, static_cast<double>(bytes));
}

// Two lists of k entries of a vector of 100 k elements, half of the indices in both. Read twice, written once.
void merge_lists(benchmark::State& state) {
  const std::size_t bytes = size_of_message(state), k = bytes / sizeof(Entry);
  Buffer a(bytes), b(bytes), into(bytes);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (std::size_t i = 0; i < k; ++i) {
    const auto index = static_cast<std::uint32_t>(100 * i);
    a.as<Entry>()[i] = {index + 7, normal(random)};
    b.as<Entry>()[i] = {index + (random() % 2 == 0 ? 7 : static_cast<std::uint32_t>(random() % 100)), normal(random)};
  }
  std::vector<Entry> dropped;
  copy_rate(bytes);
  for (auto _ : state) {
    std::memcpy(into.data(), a.data(), bytes);
    dropped.clear();
    merge_top_k({into.as<Entry>(), k}, {b.as<Entry>(), k}, dropped);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(2 * k));
  report(state, bytes, 3.0 * static_cast<double>(bytes));
}

// One element in a hundred: four bytes of index and four of value read, four written.
void gather_some(benchmark::State& state, bool back) {
  const std::size_t bytes = size_of_message(state), count = bytes / 4, k = count / 100;
  Buffer values(bytes);
  std::vector<std::uint32_t> indices(k);
  for (std::size_t i = 0; i < k; ++i) indices[i] = static_cast<std::uint32_t>(100 * i + i % 97);
  std::vector<float> some(k);
  copy_rate(bytes);
  for (auto _ : state) {
    if (back)
      scatter(indices, some, {values.as<float>(), count});
    else
      gather({values.as<float>(), count}, indices, some);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(k));
  report(state, bytes, 12.0 * static_cast<double>(k));
}

// Bound by the scattered additions, not by the reading: elements x rows per second tell more than the share of a copy.
void sketch(benchmark::State& state, bool estimate) {
  const std::size_t bytes = size_of_message(state);
  const SketchShape shape{.rows = 5, .columns = 1 << 16};
  Buffer values(bytes);
  fill_normal(values.as<float>(), bytes / 4);
  std::vector<float> table(shape.counters());
  copy_rate(bytes);
  for (auto _ : state) {
    if (estimate)
      sketch_estimate(shape, table, 0, {values.as<float>(), bytes / 4});
    else
      sketch_insert(shape, 0, {values.as<float>(), bytes / 4}, table);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(bytes / 4) * shape.rows);
  report(state, bytes, static_cast<double>(bytes));
}

void sizes(benchmark::internal::Benchmark* b) { b->Arg(64 << 20)->Arg(256 << 20)->Unit(benchmark::kMillisecond); }
void small(benchmark::internal::Benchmark* b) { b->Arg(64 << 10)->Unit(benchmark::kMicrosecond); }
void one_size(benchmark::internal::Benchmark* b) { b->Arg(64 << 20)->Unit(benchmark::kMillisecond); }

BENCHMARK(copy)->Apply(sizes)->Apply(small);
BENCHMARK_CAPTURE(reduce_in_place, float32_sum, DType::float32, ReduceOp::sum)->Apply(sizes)->Apply(small);
BENCHMARK_CAPTURE(reduce_to_third, float32_sum, DType::float32, ReduceOp::sum)->Apply(sizes)->Apply(small);
BENCHMARK_CAPTURE(reduce_in_place, float16_sum, DType::float16, ReduceOp::sum)->Apply(one_size)->Apply(small);
BENCHMARK_CAPTURE(reduce_in_place, bfloat16_sum, DType::bfloat16, ReduceOp::sum)->Apply(one_size)->Apply(small);
BENCHMARK_CAPTURE(reduce_in_place, float64_sum, DType::float64, ReduceOp::sum)->Apply(one_size)->Apply(small);
BENCHMARK_CAPTURE(reduce_in_place, uint8_max, DType::uint8, ReduceOp::max)->Apply(one_size)->Apply(small);
BENCHMARK_CAPTURE(reduce_in_place, int64_prod, DType::int64, ReduceOp::prod)->Apply(one_size)->Apply(small);
BENCHMARK_CAPTURE(fixed_point, quantise, false)->Apply(one_size)->Apply(small);
BENCHMARK_CAPTURE(fixed_point, dequantise, true)->Apply(one_size)->Apply(small);
BENCHMARK(add_fixed)->Apply(one_size)->Apply(small);
BENCHMARK_CAPTURE(nonfinite, float32, DType::float32)->Apply(one_size)->Apply(small);
BENCHMARK_CAPTURE(nonfinite, float16, DType::float16)->Apply(one_size)->Apply(small);
BENCHMARK(pack_tensors)->Apply(one_size)->Apply(small);
BENCHMARK(top_k_of)->Apply(one_size)->Apply(small);
BENCHMARK(merge_lists)->Apply(one_size)->Apply(small);
BENCHMARK_CAPTURE(gather_some, gather, false)->Apply(one_size);
BENCHMARK_CAPTURE(gather_some, scatter, true)->Apply(one_size);
BENCHMARK_CAPTURE(sketch, insert, false)->Apply(one_size)->Apply(small);
BENCHMARK_CAPTURE(sketch, estimate, true)->Apply(one_size)->Apply(small);

}  // namespace

BENCHMARK_MAIN();

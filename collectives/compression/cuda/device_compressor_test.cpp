// The compressed all-reduces of a GPU leave the bits of the CPU's: on a device, and with the same kernels compiled for the host.
#include "collectives/compression/cuda/device_compressor.hpp"

#include "collectives/compression/testing.hpp"
#include "collectives/transports/cuda/device_transport.hpp"
#include "kernels/testing/gpu.hpp"

#include <bit>
#include <limits>

#include <doctest/doctest.h>

using namespace weft;
using namespace weft::test;

namespace {

CompressionSettings with(std::string_view name, Amount k) { return {.name = std::string(name), .columns = Amount::of_all(0.2), .k = k}; }

std::vector<std::uint32_t> bits(const Floats& values) {
  std::vector<std::uint32_t> all;
  for (const float v : values) all.push_back(std::bit_cast<std::uint32_t>(v));
  return all;
}

Floats normal(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> distribution;
  Floats values(count);
  for (float& v : values) v = distribution(random);
  return values;
}

// One rank's gradients, step after step, on its device.
class OnDevice {
 public:
  OnDevice(const CompressionSettings& settings, std::vector<TensorShape> tensors, Rank rank, const Request& allreduce, Transport& host)
      : host_(host), device_(rank % cuda::device_count()), transport_(host, {.device = device_, .piece_bytes = 1024}) {
    const cuda::KeptDevice callers;
    cuda::use_device(device_);
    compressor_ = std::make_unique<cuda::DeviceCompressor>(settings, std::move(tensors), rank, allreduce);
    memory_ = cuda::DeviceMemory(compressor_->gradient_bytes());
  }
  void all_reduce(Floats& gradient) {
    const cuda::KeptDevice callers;
    cuda::use_device(device_);
    cuda::copy(memory_.data(), gradient.data(), gradient.size() * sizeof(float));
    cuda::synchronise();
    compressor_->all_reduce(memory_.as<float>(), transport_, host_);
    transport_.finish();
    cuda::copy(gradient.data(), memory_.data(), gradient.size() * sizeof(float));
    cuda::synchronise();
  }
  Floats kept() { return compressor_->kept(transport_); }

 private:
  Transport& host_;
  const int device_;
  cuda::DeviceTransport transport_;
  std::unique_ptr<cuda::DeviceCompressor> compressor_;
  cuda::DeviceMemory memory_;
};

// What differs from the CPU in some steps, "" for nothing.
std::string difference(const CompressionSettings& settings, std::int64_t elements, const Request& allreduce) {
  std::vector<std::string> wrong(static_cast<std::size_t>(allreduce.ranks));
  on_threads(allreduce.ranks, [&](Rank r, Transport& transport) {
    const std::vector<TensorShape> tensors = {{"weights", elements - elements / 3}, {"bias", elements / 3}};
    Compressor cpu(settings, tensors, r, allreduce);
    OnDevice gpu(settings, tensors, r, allreduce, transport);
    for (std::uint64_t step = 0; step < 3; ++step) {
      Floats expected = normal(static_cast<std::size_t>(elements), 100 * step + static_cast<std::uint64_t>(r));
      Floats result = expected;
      cpu.all_reduce(expected, transport);
      gpu.all_reduce(result);
      std::string& own = wrong[static_cast<std::size_t>(r)];
      if (bits(result) != bits(expected)) own += fmt::format("rank {}: the result of step {} differs; ", r, step);
      if (bits(gpu.kept()) != bits({cpu.kept().begin(), cpu.kept().end()}))
        own += fmt::format("rank {}: what is kept after step {} differs; ", r, step);
    }
  });
  return fmt::format("{}", fmt::join(wrong, ""));
}

}  // namespace

TEST_CASE("compression on a GPU: sums and what is kept have the CPU's bits, for every compression and 1 to 5 ranks") {
  if (no_gpu()) return;
  for (const std::string_view name : compression_names())
    for (const int ranks : {1, 2, 3, 4, 5})
      for (const std::int64_t elements : {3, 500}) {
        CAPTURE(name);
        CAPTURE(ranks);
        CAPTURE(elements);
        CHECK(difference(with(name, elements == 3 ? Amount::exactly(2) : Amount::of_all(0.06)), elements,
                         {.algorithm = "halving_doubling", .ranks = ranks}) == "");
      }
}

TEST_CASE("compression on a GPU: what is left dense goes by any all-reduce, also one that needs more memory than its message") {
  if (no_gpu()) return;
  for (const char* algorithm : {"ring", "recursive_doubling", "direct", "halving_doubling"})
    for (const char* name : {"dense", "gs_sgd"}) {
      CAPTURE(algorithm);
      CAPTURE(name);
      CHECK(difference(with(name, Amount::exactly(30)), 301, {.algorithm = algorithm, .ranks = 4}) == "");
    }
}

TEST_CASE("compression on a GPU: a NaN or an infinity ends the run and is named with its tensor and rank") {
  if (no_gpu()) return;
  const auto errors = errors_on_threads(2, [](Rank r, Transport& transport) {
    OnDevice gpu(with("gtopk", Amount::exactly(2)), {{"weights", 5}, {"bias", 4}}, r, {.algorithm = "ring", .ranks = 2}, transport);
    Floats gradient(9, 1.0f);
    if (r == 1) gradient[6] = std::numeric_limits<float>::quiet_NaN(), gradient[8] = -std::numeric_limits<float>::infinity();
    gpu.all_reduce(gradient);
  });
  CHECK(errors[1] == "rank 1: tensor \"bias\" of the gradient has 1 NaN and 1 infinity among its 4 elements");
}

TEST_CASE("compression on a GPU: ranks with different settings are found when they meet") {
  if (no_gpu()) return;
  const auto errors = errors_on_threads(2, [](Rank r, Transport& transport) {
    OnDevice gpu(with("gtopk", Amount::exactly(2 + r)), {{"weights", 9}}, r, {.algorithm = "ring", .ranks = 2}, transport);
    Floats gradient(9, 1.0f);
    gpu.all_reduce(gradient);
  });
  for (const std::string& error : errors)
    CHECK(error.starts_with("ranks were started with different compression settings: k 3 on rank 1, 2 on rank 0"));
}

TEST_CASE("compression on a GPU: a memory that is a sketch, and momentum, are refused together") {
  if (no_gpu()) return;
  CompressionSettings settings = with("gs_sgd", Amount::exactly(2));
  settings.momentum = 0.9;
  settings.memory = ErrorMemory::sketch;
  CHECK_THROWS_WITH_AS(cuda::DeviceCompressor(settings, {{"weights", 90}}, 0, {.algorithm = "ring", .ranks = 2}),
                       "compression: /momentum: must be 0 on a GPU, got 0.9\ncompression: /memory: must be dense on a GPU, got sketch",
                       InputError);
}

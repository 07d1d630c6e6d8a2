#include "collectives/training/compressed_orders.hpp"

#include "collectives/compression/for_elements.hpp"
#include "collectives/compression/meeting.hpp"

#include <cstring>
#include <utility>

namespace weft {
namespace {

// An engine that fuses what is ready brings ever new sizes; each compressor has memory of several times its elements.
constexpr std::size_t max_compressors = 16;

std::int64_t elements_of(Bytes size) { return size.count / static_cast<std::int64_t>(sizeof(float)); }

double in_kernels(const Compressor& compressor) {
  double seconds = 0;
  const std::vector<Phase>& phases = compressor.plan().phases;
  for (std::size_t i = 0; i < phases.size(); ++i)
    if (std::holds_alternative<LocalWork>(phases[i])) seconds += compressor.phase_seconds()[i];
  return seconds;
}

}  // namespace

CompressedOrders::CompressedOrders(CompressionSettings settings, Request allreduce, Rank rank, std::span<const Bytes> gradients,
                                   int streams)
    : settings_(std::move(settings)), allreduce_(std::move(allreduce)), rank_(rank), streams_(static_cast<std::size_t>(streams)) {
  check(settings_.memory == ErrorMemory::dense, "errors of training steps are kept by gradient, not in a sketch");
  Bytes all;
  for (const Bytes gradient : gradients) {
    kept_.emplace_back(static_cast<std::size_t>(elements_of(gradient)));
    all += gradient;
  }
  require_sound(for_elements(settings_, elements_of(all)), elements_of(all));
}

void CompressedOrders::meet(Transport& transport) {
  std::int64_t elements = 0;
  for (const std::vector<float>& of_gradient : kept_) elements += static_cast<std::int64_t>(of_gradient.size());
  const CompressionSettings settings = for_elements(settings_, elements);
  weft::meet(settings, plan(settings, elements, allreduce_), rank_, transport);
}

Compressor& CompressedOrders::compressor_for(Stream& stream, std::int64_t elements) {
  if (const auto known = stream.compressors.find(elements); known != stream.compressors.end()) return known->second;
  if (stream.compressors.size() == max_compressors) stream.compressors.clear();
  const std::vector<TensorShape> tensors = {{"of this all-reduce", elements}};
  Compressor& made = stream.compressors.try_emplace(elements, for_elements(settings_, elements), tensors, rank_, allreduce_).first->second;
  made.have_met();
  made.compute_on(core_);
  return made;
}

std::span<float> CompressedOrders::kept_of(const GradientSlice& slice) {
  return std::span(kept_[static_cast<std::size_t>(slice.gradient)])
      .subspan(static_cast<std::size_t>(elements_of(slice.offset)), static_cast<std::size_t>(elements_of(slice.size)));
}

void CompressedOrders::reduce(int stream, std::span<const GradientSlice> what, std::span<const ByteSpan> memory, Transport& transport) {
  Stream& own = streams_[static_cast<std::size_t>(stream)];
  own.values.clear();
  own.kept.clear();
  for (std::size_t i = 0; i < what.size(); ++i) {
    const std::span<const float> before = kept_of(what[i]);
    own.kept.insert(own.kept.end(), before.begin(), before.end());
    const std::size_t at = own.values.size();
    own.values.resize(at + before.size());
    std::memcpy(own.values.data() + at, memory[i].data(), memory[i].size());
  }
  Compressor& compressor = compressor_for(own, static_cast<std::int64_t>(own.values.size()));
  const double before_s = in_kernels(compressor);
  compressor.remember(own.kept);
  compressor.all_reduce(own.values, transport);
  std::size_t at = 0;
  for (std::size_t i = 0; i < what.size(); ++i) {
    const std::span<float> kept = kept_of(what[i]);
    std::memcpy(memory[i].data(), own.values.data() + at, memory[i].size());
    std::memcpy(kept.data(), compressor.kept().data() + at, kept.size_bytes());
    at += kept.size();
  }
  const std::lock_guard lock(mutex_);
  kernel_seconds_ += in_kernels(compressor) - before_s;
}

CompressedOrders::Cost CompressedOrders::cost(Bytes size) {
  const std::int64_t elements = elements_of(size);
  const auto [known, is_new] = costs_.try_emplace(elements);
  if (!is_new) return known->second;
  const CompressionPlan compressed = plan(for_elements(settings_, elements), elements, allreduce_);
  known->second.sent_bytes = compressed.max_bytes_sent();
  for (const Phase& phase : compressed.phases)
    if (const auto* exchange = std::get_if<Exchange>(&phase)) known->second.messages += build(exchange->request).messages();
  return known->second;
}

double CompressedOrders::take_kernel_seconds() {
  const std::lock_guard lock(mutex_);
  return std::exchange(kernel_seconds_, 0);
}

}  // namespace weft

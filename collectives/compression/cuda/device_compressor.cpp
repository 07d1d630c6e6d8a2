#include "collectives/compression/cuda/device_compressor.hpp"

#include "collectives/compression/exchange_run.hpp"
#include "collectives/compression/meeting.hpp"
#include "collectives/compression/nonfinite.hpp"
#include "kernels/cuda/count_sketch.hpp"
#include "kernels/cuda/finite.hpp"
#include "kernels/cuda/reduce.hpp"
#include "kernels/cuda/sparse.hpp"
#include "kernels/cuda/top_k.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace weft::cuda {
namespace {

// Elements of one kind in memory of the device.
template <class T>
class Array {
 public:
  Array() = default;
  // With `bytes` of memory where that is more.
  explicit Array(std::size_t count, std::size_t bytes = 0) : memory_(std::max(count * sizeof(T), bytes)), count_(count) {}
  std::span<T> all() const { return {memory_.as<T>(), count_}; }
  std::span<T> part(std::size_t number, std::size_t size) const { return all().subspan(number * size, size); }
  std::byte* data() const { return memory_.as<std::byte>(); }

 private:
  DeviceMemory memory_;
  std::size_t count_ = 0;
};

CompressionSettings without_what_devices_lack(CompressionSettings settings) {
  std::vector<std::string> problems;
  if (settings.momentum != 0) problems.push_back(fmt::format("compression: /momentum: must be 0 on a GPU, got {}", settings.momentum));
  if (settings.memory != ErrorMemory::dense)
    problems.push_back(fmt::format("compression: /memory: must be dense on a GPU, got {}", name_of(settings.memory)));
  if (!problems.empty()) throw InputError(problems);
  return settings;
}

}  // namespace

class DeviceCompressor::Work {
 public:
  Work(CompressionSettings settings, std::vector<TensorShape> tensors, Rank rank, const Request& allreduce)
      : settings_(without_what_devices_lack(std::move(settings))),
        tensors_(std::move(tensors)),
        rank_(rank),
        plan_(weft::plan(settings_, total_elements(tensors_), allreduce)) {
    for (const Phase& phase : plan_.phases)
      if (const auto* exchange = std::get_if<Exchange>(&phase)) {
        const ExchangeRun& run = exchanges_.emplace_back(*exchange, rank_);
        std::size_t& bytes = operand_bytes_[static_cast<std::size_t>(exchange->operand)];
        bytes = std::max(bytes, run.memory_bytes());
      }
    allocate();
  }

  std::size_t gradient_bytes() const {
    return std::max(static_cast<std::size_t>(plan_.elements) * sizeof(float), bytes_of(Operand::gradient));
  }
  const CompressionPlan& plan() const { return plan_; }

  void all_reduce(float* gradient, StreamTransport& transport, Transport& host) {
    use_device(transport.device());
    if (!std::exchange(met_, true)) meet(settings_, plan_, rank_, host);
    transport_ = &transport;
    gradient_ = {gradient, static_cast<std::size_t>(plan_.elements)};
    merges_ = 0;
    std::size_t exchange = 0;
    for (const Phase& phase : plan_.phases) {
      use_device(transport.device());
      if (const auto* work = std::get_if<LocalWork>(&phase)) {
        if (!work->root_only || rank_ == 0) run(work->kernel);
      } else {
        run(exchanges_[exchange++], std::get<Exchange>(phase));
      }
    }
  }

  std::vector<float> kept(StreamTransport& transport) const {
    std::vector<float> on_host(error_.all().size());
    use_device(transport.device());
    copy(on_host.data(), error_.data(), on_host.size() * sizeof(float), transport.stream());
    transport.finish();
    return on_host;
  }

 private:
  std::size_t bytes_of(Operand operand) const { return operand_bytes_[static_cast<std::size_t>(operand)]; }
  bool sketches() const { return sends_sketches(settings_.name); }
  Stream stream() const { return transport_->stream(); }

  void allocate() {
    found_ = Array<NonFinite>(1);
    if (!is_sparse(settings_.name)) return;
    const auto d = static_cast<std::size_t>(plan_.elements), k = static_cast<std::size_t>(plan_.k);
    const auto ranks = static_cast<std::size_t>(plan_.ranks);
    error_ = Array<float>(d);
    zero(error_.data(), d * sizeof(float));
    synchronise();
    entries_ = Array<Entry>(settings_.name == "topk_allgather" ? k * ranks : k, bytes_of(Operand::entries));
    indices_ = Array<std::uint32_t>(k, bytes_of(Operand::indices));
    if (sketches()) {
      table_ = Array<float>(plan_.sketch.counters(), bytes_of(Operand::table));
      values_ = Array<float>(k, bytes_of(Operand::values));
      if (rank_ == 0) estimates_ = Array<float>(d);
    } else {
      own_ = Array<Entry>(k);
    }
    // A rank merges once in a round of the tree at most.
    if (settings_.name == "gtopk") dropped_ = Array<Entry>(k * static_cast<std::size_t>(std::bit_width(ranks - 1)));
  }

  void run(Kernel kernel) {
    switch (kernel) {
      case Kernel::check_finite:
        return check_finite();
      case Kernel::accumulate:
        return reduce(DType::float32, ReduceOp::sum, error_.data(), gradient_.data(), gradient_.size(), stream());
      case Kernel::sketch_insert:
        zero(table_.data(), table_.all().size_bytes(), stream());
        return sketch_insert(plan_.sketch, 0, error_.all(), table_.all(), stream());
      case Kernel::sketch_estimate:
        return sketch_estimate(plan_.sketch, table_.all(), 0, estimates_.all(), stream());
      case Kernel::top_k:
        return choose_top_k();
      case Kernel::gather:
        return gather(error_.all(), indices_.all(), values_.all(), stream());
      case Kernel::apply:
        return apply();
      case Kernel::sketch_merge:
      case Kernel::sketch_remove:
      case Kernel::merge_lists:
        break;  // of a memory that is a sketch; part of an exchange
    }
    check(false, "the kernel {} by itself on a GPU", name_of(kernel));
  }

  void run(const ExchangeRun& run, const Exchange& exchange) {
    const auto merge = [this](std::span<Entry> into, std::span<const Entry> from) {
      use_device(transport_->device());
      merge_top_k(into, from, dropped_.part(merges_++, into.size()), stream());
    };
    run.run_within(memory_of(exchange.operand), merge, *transport_);
  }
  std::byte* memory_of(Operand operand) const {
    switch (operand) {
      case Operand::table:
        return table_.data();
      case Operand::indices:
        return indices_.data();
      case Operand::values:
        return values_.data();
      case Operand::entries:
        return entries_.data();
      case Operand::gradient:
        break;
    }
    return reinterpret_cast<std::byte*>(gradient_.data());
  }

  NonFinite nonfinite_in(std::span<const float> values) const {
    NonFinite found;
    zero(found_.data(), sizeof found, stream());
    count_nonfinite(DType::float32, values.data(), values.size(), found_.all().data(), stream());
    copy(&found, found_.data(), sizeof found, stream());
    transport_->finish();
    return found;
  }
  void check_finite() const {
    require_finite(tensors_, rank_, [this](std::size_t begin, std::size_t size) { return nonfinite_in(gradient_.subspan(begin, size)); });
  }

  void choose_top_k() {
    const bool gathers = settings_.name == "topk_allgather";
    const auto k = static_cast<std::size_t>(plan_.k);
    const std::span<Entry> largest = entries_.part(gathers ? static_cast<std::size_t>(rank_) : 0, k);
    top_k(sketches() ? estimates_.all() : error_.all(), largest, stream());
    sort_by_index(largest, stream());
    if (sketches()) return indices_of(largest, indices_.all(), stream());
    copy(own_.data(), largest.data(), largest.size_bytes(), stream());
  }

  void apply() {
    zero(gradient_.data(), gradient_.size_bytes(), stream());
    if (sketches()) {
      scatter(indices_.all(), values_.all(), gradient_, stream());
      return forget(indices_.all(), error_.all(), stream());
    }
    const std::span<const Entry> own = own_.all(), sent = entries_.all();
    if (settings_.name == "topk_allgather") {
      indices_of(own, indices_.all(), stream());
      forget(indices_.all(), error_.all(), stream());
      for (std::size_t r = 0; r < static_cast<std::size_t>(plan_.ranks); ++r)
        scatter_add(entries_.part(r, own.size()), gradient_, stream());  // in the order of the ranks
      return;
    }
    forget_survivors(own, sent, error_.all(), stream());
    for (std::size_t m = 0; m < merges_; ++m) add_survivors(dropped_.part(m, own.size()), sent, error_.all(), stream());
    scatter_add(sent, gradient_, stream());
  }

  const CompressionSettings settings_;
  const std::vector<TensorShape> tensors_;
  const Rank rank_;
  const CompressionPlan plan_;
  std::vector<ExchangeRun> exchanges_;  // of the phases that are one, in order
  std::array<std::size_t, operand_count> operand_bytes_{};
  bool met_ = false;

  Array<NonFinite> found_;
  Array<float> error_, table_, estimates_, values_;
  Array<std::uint32_t> indices_;  // of what is sent, ascending
  Array<Entry> entries_, own_;    // by index
  Array<Entry> dropped_;          // of gtopk, a list for each merge
  // Of the all-reduce that is under way.
  StreamTransport* transport_ = nullptr;
  std::span<float> gradient_;
  std::size_t merges_ = 0;
};

DeviceCompressor::DeviceCompressor(CompressionSettings settings, std::vector<TensorShape> tensors, Rank rank, const Request& allreduce)
    : work_(std::make_unique<Work>(std::move(settings), std::move(tensors), rank, allreduce)) {}
DeviceCompressor::~DeviceCompressor() = default;

std::size_t DeviceCompressor::gradient_bytes() const { return work_->gradient_bytes(); }
void DeviceCompressor::all_reduce(float* gradient, StreamTransport& transport, Transport& host) {
  const KeptDevice callers;
  work_->all_reduce(gradient, transport, host);
}
const CompressionPlan& DeviceCompressor::plan() const { return work_->plan(); }
std::vector<float> DeviceCompressor::kept(StreamTransport& transport) const {
  const KeptDevice callers;
  return work_->kept(transport);
}

}  // namespace weft::cuda

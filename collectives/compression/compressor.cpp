#include "collectives/compression/compressor.hpp"

#include "collectives/compression/meeting.hpp"
#include "collectives/compression/nonfinite.hpp"
#include "kernels/compression/count_sketch.hpp"
#include "kernels/compression/sparse.hpp"
#include "kernels/reduce.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace weft {
namespace {

void scale(std::vector<float>& values, double by) {
  for (float& v : values) v *= static_cast<float>(by);
}

}  // namespace

Compressor::Compressor(CompressionSettings settings, std::vector<TensorShape> tensors, Rank rank, const Request& allreduce)
    : settings_(std::move(settings)), tensors_(std::move(tensors)), rank_(rank), allreduce_(allreduce) {
  check(rank >= 0 && rank < allreduce.ranks, "rank {} of {}", rank, allreduce.ranks);
  make_plan();
}

Compressor::Compressor(CompressionSettings settings, std::vector<TensorShape> tensors, Rank rank, int ranks)
    : Compressor(std::move(settings), std::move(tensors), rank, {.algorithm = "halving_doubling", .ranks = ranks}) {}

void Compressor::set_k(Amount k) {
  settings_.k = k;
  make_plan();
}

void Compressor::remember(std::span<const float> kept) {
  check(settings_.memory == ErrorMemory::dense && settings_.momentum == 0, "{}: what is kept is not a vector alone", settings_.name);
  check(static_cast<std::int64_t>(kept.size()) == plan_.elements, "{} elements kept of {}", kept.size(), plan_.elements);
  error_.assign(kept.begin(), kept.end());
}

void Compressor::make_plan() {
  plan_ = weft::plan(settings_, total_elements(tensors_), allreduce_);
  exchanges_.clear();
  for (const Phase& phase : plan_.phases)
    if (const auto* exchange = std::get_if<Exchange>(&phase)) exchanges_.emplace_back(*exchange, rank_);
  seconds_.assign(plan_.phases.size(), 0);
  met_ = false;
}

void Compressor::all_reduce(std::span<float> gradient, Transport& transport) {
  check(static_cast<std::int64_t>(gradient.size()) == plan_.elements, "a gradient of {} elements, planned are {}", gradient.size(),
        plan_.elements);
  if (!met_) meet(settings_, plan_, rank_, transport);
  met_ = true;
  auto before = std::chrono::steady_clock::now();
  std::size_t exchange = 0;
  for (std::size_t i = 0; i < plan_.phases.size(); ++i) {
    if (const auto* work = std::get_if<LocalWork>(&plan_.phases[i])) {
      const std::unique_lock core = core_ ? std::unique_lock(*core_) : std::unique_lock<std::mutex>();
      if (core_) before = std::chrono::steady_clock::now();
      if (!work->root_only || rank_ == 0) run(work->kernel, gradient);
    } else {
      run(exchange++, std::get<Exchange>(plan_.phases[i]), gradient, transport);
    }
    const auto now = std::chrono::steady_clock::now();
    seconds_[i] += std::chrono::duration<double>(now - before).count();
    before = now;
  }
}

void Compressor::run(Kernel kernel, std::span<float> gradient) {
  switch (kernel) {
    case Kernel::check_finite:
      return check_finite(gradient);
    case Kernel::accumulate:
      return accumulate(gradient);
    case Kernel::sketch_insert:
      return insert(gradient);
    case Kernel::sketch_merge:
      return remember_table();
    case Kernel::sketch_estimate:
      estimates_.resize(gradient.size());
      return sketch_estimate(plan_.sketch, settings_.memory == ErrorMemory::sketch ? error_table_ : table_, 0, estimates_);
    case Kernel::top_k:
      return choose_top_k();
    case Kernel::sketch_remove:
      for (const Entry& e : entries_) sketch_insert(plan_.sketch, e.index, std::array{-e.value}, error_table_);
      return;
    case Kernel::gather:
      values_.resize(indices_.size());
      return gather(error_, indices_, values_);
    case Kernel::apply:
      return apply(gradient);
    case Kernel::merge_lists:
      break;  // part of an exchange
  }
  check(false, "the kernel {} by itself", name_of(kernel));
}

void Compressor::run(std::size_t number, const Exchange& exchange, std::span<float> gradient, Transport& transport) {
  const auto count = static_cast<std::size_t>(exchange.elements);
  const auto bytes_of = [count](auto& memory) {
    memory.resize(count);
    return reinterpret_cast<std::byte*>(memory.data());
  };
  std::byte* data = nullptr;
  switch (exchange.operand) {
    case Operand::gradient:
      data = reinterpret_cast<std::byte*>(gradient.data());
      break;
    case Operand::table:
      data = bytes_of(table_);
      break;
    case Operand::indices:
      data = bytes_of(indices_);
      break;
    case Operand::values:
      data = bytes_of(values_);
      break;
    case Operand::entries:
      data = bytes_of(entries_);
      break;
  }
  exchanges_[number].run(data, dropped_, transport);
}

void Compressor::check_finite(std::span<const float> gradient) const {
  require_finite(tensors_, rank_,
                 [&](std::size_t begin, std::size_t size) { return count_nonfinite(DType::float32, gradient.data() + begin, size); });
}

// With momentum, it is the velocity that is compressed (momentum correction of Lin et al. 2018).
void Compressor::accumulate(std::span<float> gradient) {
  std::span<const float> addend = gradient;
  if (settings_.momentum != 0) {
    velocity_.resize(gradient.size());
    const auto momentum = static_cast<float>(settings_.momentum);
    for (std::size_t i = 0; i < gradient.size(); ++i) velocity_[i] = momentum * velocity_[i] + gradient[i];
    addend = velocity_;
  }
  if (!is_sparse(settings_.name)) {
    std::copy(addend.begin(), addend.end(), gradient.begin());
    return;
  }
  error_.resize(gradient.size());
  reduce(DType::float32, ReduceOp::sum, error_.data(), addend.data(), addend.size());
}

void Compressor::insert(std::span<const float> gradient) {
  table_.assign(plan_.sketch.counters(), 0.0f);
  sketch_insert(plan_.sketch, 0, settings_.memory == ErrorMemory::sketch ? gradient : std::span<const float>(error_), table_);
}

// The momentum of a sum of gradients is the sum of their momenta, and so in their sketches.
void Compressor::remember_table() {
  error_table_.resize(table_.size());
  if (settings_.momentum != 0) {
    velocity_table_.resize(table_.size());
    scale(velocity_table_, settings_.momentum);
    sketch_merge(velocity_table_, table_);
  }
  sketch_merge(error_table_, settings_.momentum != 0 ? velocity_table_ : table_);
}

void Compressor::choose_top_k() {
  const auto k = static_cast<std::size_t>(plan_.k);
  std::vector<Entry> largest(k);
  top_k(sends_sketches(settings_.name) ? estimates_ : error_, largest);
  sort_by_index(largest);
  own_ = largest;
  dropped_.clear();
  indices_.clear();
  for (const Entry& e : largest) indices_.push_back(e.index);
  if (settings_.name != "topk_allgather") {
    entries_ = std::move(largest);
    return;
  }
  entries_.resize(k * static_cast<std::size_t>(plan_.ranks));
  std::copy(largest.begin(), largest.end(), entries_.begin() + static_cast<std::ptrdiff_t>(k * static_cast<std::size_t>(rank_)));
}

void Compressor::forget(std::uint32_t index) {
  error_[index] = 0;
  if (!velocity_.empty()) velocity_[index] = 0;
}

void Compressor::apply(std::span<float> gradient) {
  if (settings_.name == "gtopk") return apply_gtopk(gradient);
  if (settings_.name == "topk_allgather") return apply_allgather(gradient);
  std::fill(gradient.begin(), gradient.end(), 0.0f);
  if (settings_.memory == ErrorMemory::sketch) return scatter_add(entries_, gradient);
  scatter(indices_, values_, gradient);
  for (const std::uint32_t index : indices_) forget(index);
}

// What did not survive stays in the memory of the rank it came from; of what did, that which merges dropped on the way goes into the
// memory of the rank that merged.
void Compressor::apply_gtopk(std::span<float> gradient) {
  const auto for_each_survivor = [this](std::span<const Entry> list, auto&& act) {
    auto survivor = entries_.begin();
    for (const Entry& e : list) {
      survivor = std::lower_bound(survivor, entries_.end(), e.index, [](const Entry& s, std::uint32_t index) { return s.index < index; });
      if (survivor != entries_.end() && survivor->index == e.index) act(e);
    }
  };
  // Merges drop an element more than once: in the order of the merges it is added back.
  std::stable_sort(dropped_.begin(), dropped_.end(), [](const Entry& a, const Entry& b) { return a.index < b.index; });
  for_each_survivor(own_, [this](const Entry& e) { forget(e.index); });
  for_each_survivor(dropped_, [this](const Entry& e) { error_[e.index] += e.value; });
  std::fill(gradient.begin(), gradient.end(), 0.0f);
  scatter_add(entries_, gradient);
}

void Compressor::apply_allgather(std::span<float> gradient) {
  for (const Entry& e : own_) forget(e.index);
  std::fill(gradient.begin(), gradient.end(), 0.0f);
  scatter_add(entries_, gradient);
}

}  // namespace weft

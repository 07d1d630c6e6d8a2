// A compressed all-reduce as simulators run it: the plan that the real one runs (collectives/compression/plan.hpp), with the time of
// each kernel and a schedule for each exchange.
#pragma once

#include "collectives/compression/kernel_rates.hpp"
#include "collectives/compression/plan.hpp"
#include "models/program.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace weft {

// What every rank does next: a kernel, or its part of an exchange.
struct CompressedPhase {
  std::string name = {};
  SimTime duration = {};                          // of a kernel
  bool root_only = false;                         // of a kernel: rank 0 runs it, and the others go on to the next exchange
  std::shared_ptr<const Schedule> schedule = {};  // of an exchange
  std::int64_t elements = 0;
  std::int64_t element_bytes = 1;
  std::optional<SimTime> reduction = {};  // of an exchange: what arrives is merged in this time, not reduced at the hardware's rate
  std::vector<int> merges = {};           // then how often, by rank
  Regime regime = {};                     // of an exchange

  bool is_exchange() const { return schedule != nullptr; }
};

// What an exchange runs for its size, and what that costs besides.
struct ExchangeChoice {
  std::shared_ptr<const Schedule> schedule;
  Regime regime = {};
};

class CompressedAllreduce {
 public:
  // `allreduce`: see plan(). Throws InputError with what is wrong with both, but for what depends on the elements.
  CompressedAllreduce(CompressionSettings settings, Request allreduce, KernelRates rates);

  // What chooses exchanges by their size from now on, instead of the schedules of `exchanges()`.
  void choose_by(std::function<ExchangeChoice(const Exchange&)> run) { run_of_ = std::move(run); }

  // Of the exchanges, where nothing depends on their size: each request once, with its schedule.
  const std::vector<std::pair<Request, std::shared_ptr<const Schedule>>>& exchanges() const { return exchanges_; }
  const CompressionSettings& settings() const { return settings_; }
  const KernelRates& rates() const { return rates_; }

  // A count of the settings larger than `elements` stands for all of them, as small buckets of gradients need it.
  CompressionPlan plan(std::int64_t elements) const;
  std::vector<CompressedPhase> phases(std::int64_t elements) const;
  Program program(std::int64_t elements) const;
  // What the rank with most of it spends in kernels, merges among them.
  SimTime compressing(std::int64_t elements) const;

 private:
  std::shared_ptr<const Schedule> schedule_of(const Request&) const;

  CompressionSettings settings_;
  Request allreduce_;
  KernelRates rates_;
  std::vector<std::pair<Request, std::shared_ptr<const Schedule>>> exchanges_;
  std::function<ExchangeChoice(const Exchange&)> run_of_ = {};
};

}  // namespace weft

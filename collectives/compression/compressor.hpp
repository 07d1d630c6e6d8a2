// Compressed all-reduces of gradients, for real: one rank's part, over any transport. Runs its plan phase by phase.
//
// What is not sent is kept: for every rank, the gradient and what was kept before equal what is sent and what is kept now, and
// what all ranks sent adds up to the result. (gtopk as published forgets what a merge drops if another rank's share of the same
// element survives; here the rank that merged keeps it.)
#pragma once

#include "collectives/compression/exchange_run.hpp"
#include "collectives/compression/plan.hpp"
#include "collectives/executors/transport.hpp"

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace weft {

// A part of the gradient, as messages name it.
struct TensorShape {
  std::string name = "gradient";
  std::int64_t elements = 0;
};

class Compressor {
 public:
  // Tensors lie one after the other in the gradient. Throws InputError with all that is wrong with the settings.
  Compressor(CompressionSettings settings, std::vector<TensorShape> tensors, Rank rank, const Request& allreduce);
  Compressor(CompressionSettings settings, std::vector<TensorShape> tensors, Rank rank, int ranks);

  // `gradient` becomes the sum over all ranks of what they sent, the same to the bit on all of them. The first call, and the first
  // after set_k, compares the settings of all ranks. Throws RunError: a NaN or an infinity, different settings, a lost peer.
  void all_reduce(std::span<float> gradient, Transport& transport);

  // From the next all-reduce on, on all ranks. What was kept stays.
  void set_k(Amount k);
  // Continues with what was kept elsewhere, of each element; only where it is kept dense, and without momentum.
  void remember(std::span<const float> kept);
  // Ranks have compared their settings by other means.
  void have_met() { met_ = true; }
  // A kernel runs while nobody else holds `core`, which must outlive this. Merges are part of exchanges and do not wait.
  void compute_on(std::mutex& core) { core_ = &core; }

  const CompressionSettings& settings() const { return settings_; }
  const CompressionPlan& plan() const { return plan_; }
  // What this rank has not sent yet. Empty before the first all-reduce, where nothing is kept, and where it is in a sketch.
  std::span<const float> kept() const { return error_; }
  // That sketch: at the root.
  std::span<const float> kept_sketch() const { return error_table_; }
  // Seconds in each phase of the plan, since the plan was made.
  std::span<const double> phase_seconds() const { return seconds_; }

 private:
  void make_plan();
  void run(Kernel kernel, std::span<float> gradient);
  void run(std::size_t phase, const Exchange& exchange, std::span<float> gradient, Transport& transport);
  void check_finite(std::span<const float> gradient) const;
  void accumulate(std::span<float> gradient);
  void insert(std::span<const float> gradient);
  void remember_table();
  void choose_top_k();
  void forget(std::uint32_t index);
  void apply(std::span<float> gradient);
  void apply_gtopk(std::span<float> gradient);
  void apply_allgather(std::span<float> gradient);

  CompressionSettings settings_;
  std::vector<TensorShape> tensors_;
  Rank rank_;
  Request allreduce_;
  CompressionPlan plan_;
  std::vector<ExchangeRun> exchanges_;  // of the phases that are one, in order
  std::vector<double> seconds_;
  bool met_ = false;
  std::mutex* core_ = nullptr;

  std::vector<float> error_, velocity_;              // dense
  std::vector<float> error_table_, velocity_table_;  // in the sketch, at the root
  std::vector<float> table_, estimates_, values_;
  std::vector<std::uint32_t> indices_;  // of what is sent, ascending
  std::vector<Entry> entries_;          // by index
  std::vector<Entry> own_, dropped_;    // of gtopk: what this rank began with, and what its merges dropped
};

}  // namespace weft

#include "collectives/compression/plan.hpp"

#include "collectives/compression/for_elements.hpp"
#include "kernels/compression/top_k.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace weft {
namespace {

constexpr std::int64_t value_bytes = sizeof(float), index_bytes = sizeof(std::uint32_t), entry_bytes = sizeof(Entry);

// Builds the phases in the order in which they are called.
class CompressionPlanner {
 public:
  CompressionPlanner(const CompressionSettings& settings, std::int64_t elements, const Request& allreduce)
      : settings_(settings), allreduce_(allreduce), d_(elements) {
    plan_.elements = elements;
    plan_.ranks = allreduce.ranks;
    plan_.k = is_sparse(settings.name) ? settings.k.of(elements) : elements;
    plan_.sketch = {.rows = settings.rows, .columns = 0, .seed = settings.seed};
    if (sends_sketches(settings.name)) plan_.sketch.columns = static_cast<int>(settings.columns.of(elements));
  }

  CompressionPlan made() {
    local(Kernel::check_finite, d_, d_ * value_bytes);
    if (settings_.name == "dense")
      dense();
    else if (settings_.name == "gtopk")
      gtopk();
    else if (settings_.name == "topk_allgather")
      topk_allgather();
    else if (settings_.memory == ErrorMemory::sketch)
      sketch_in_sketch();
    else
      sketch_and_values();
    return std::move(plan_);
  }

 private:
  std::int64_t k() const { return plan_.k; }
  std::int64_t counters() const { return static_cast<std::int64_t>(plan_.sketch.counters()); }
  bool tree() const { return settings_.name == "gs_sgd"; }  // otherwise all to one server

  void local(Kernel kernel, std::int64_t work, std::int64_t bytes, bool root_only = false) {
    plan_.phases.push_back(LocalWork{kernel, work, bytes, root_only});
  }
  void exchange(Collective collective, const std::string& algorithm, Operand operand, std::int64_t elements, DType dtype,
                bool merges = false) {
    const Request request{.collective = collective, .algorithm = algorithm, .ranks = plan_.ranks};
    plan_.phases.push_back(Exchange{request, operand, elements, dtype, merges});
  }
  void sum_everywhere(const Request& request, Operand operand, std::int64_t elements) {
    plan_.phases.push_back(Exchange{request, operand, elements, DType::float32, false});
  }

  // Gradient and memory read, memory written; with momentum the velocity too.
  void accumulate() { local(Kernel::accumulate, d_, d_ * value_bytes * (settings_.momentum != 0 ? 5 : 3)); }
  void top_k(bool root_only) { local(Kernel::top_k, d_, d_ * value_bytes, root_only); }
  void apply(std::int64_t sparse_bytes) { local(Kernel::apply, d_, d_ * value_bytes + sparse_bytes); }
  void insert() {
    const std::int64_t rows = settings_.rows;
    local(Kernel::sketch_insert, d_ * rows, d_ * value_bytes + 2 * d_ * rows * value_bytes);
  }
  void reduce_table() { exchange(Collective::reduce, tree() ? "neighbour_tree" : "direct", Operand::table, counters(), DType::float32); }
  void recover() {
    local(Kernel::sketch_estimate, d_ * settings_.rows, d_ * settings_.rows * value_bytes + d_ * value_bytes, true);
    top_k(true);
  }
  void broadcast(Operand operand, DType dtype) {
    exchange(Collective::broadcast, tree() ? "neighbour_tree" : "direct", operand, k(), dtype);
  }

  void dense() {
    if (settings_.momentum != 0) accumulate();
    sum_everywhere(allreduce_, Operand::gradient, d_);
  }

  void gtopk() {
    accumulate();
    top_k(false);
    exchange(Collective::reduce, "neighbour_tree", Operand::entries, k(), DType::int64, true);
    exchange(Collective::broadcast, "neighbour_tree", Operand::entries, k(), DType::int64);
    apply(3 * k() * entry_bytes);
  }

  void topk_allgather() {
    accumulate();
    top_k(false);
    exchange(Collective::allgather, "bruck", Operand::entries, k() * plan_.ranks, DType::int64);
    apply(2 * k() * plan_.ranks * entry_bytes);
  }

  void sketch_and_values() {
    accumulate();
    insert();
    reduce_table();
    recover();
    broadcast(Operand::indices, DType::int32);
    local(Kernel::gather, k(), k() * (index_bytes + 2 * value_bytes));
    const Request to_server{.algorithm = "parameter_server", .ranks = plan_.ranks, .settings = {.servers = 1}};
    sum_everywhere(tree() ? allreduce_ : to_server, Operand::values, k());
    apply(k() * (index_bytes + 3 * value_bytes));
  }

  void sketch_in_sketch() {
    insert();
    reduce_table();
    local(Kernel::sketch_merge, counters(), counters() * value_bytes * (settings_.momentum != 0 ? 5 : 3), true);
    recover();
    local(Kernel::sketch_remove, k() * settings_.rows, 2 * k() * settings_.rows * value_bytes, true);
    broadcast(Operand::entries, DType::int64);
    apply(2 * k() * entry_bytes);
  }

  const CompressionSettings settings_;
  const Request& allreduce_;
  std::int64_t d_;
  CompressionPlan plan_;
};

}  // namespace

std::string_view name_of(Kernel kernel) {
  constexpr std::array<std::string_view, kernel_count> names = {"check_finite",    "accumulate", "sketch_insert", "sketch_merge",
                                                                "sketch_estimate", "top_k",      "sketch_remove", "gather",
                                                                "apply",           "merge_lists"};
  return names.at(static_cast<std::size_t>(kernel));
}

std::optional<Kernel> kernel_named(std::string_view name) {
  for (std::size_t i = 0; i < kernel_count; ++i)
    if (name_of(static_cast<Kernel>(i)) == name) return static_cast<Kernel>(i);
  return {};
}

std::string_view name_of(Operand operand) {
  constexpr std::array<std::string_view, operand_count> names = {"gradient", "table", "indices", "values", "entries"};
  return names.at(static_cast<std::size_t>(operand));
}

LocalWork Exchange::merge() const { return {Kernel::merge_lists, 2 * elements, 3 * bytes(), false}; }

std::int64_t CompressionPlan::max_bytes_sent() const {
  std::int64_t bytes = 0;
  for (const std::int64_t one : bytes_sent()) bytes = std::max(bytes, one);
  return bytes;
}

std::int64_t CompressionPlan::total_bytes_sent() const {
  std::int64_t bytes = 0;
  for (const std::int64_t one : bytes_sent()) bytes += one;
  return bytes;
}

std::vector<std::int64_t> CompressionPlan::bytes_sent() const {
  std::vector<std::int64_t> sent(static_cast<std::size_t>(ranks), 0);
  Step step;
  for (const Phase& phase : phases) {
    const auto* exchange = std::get_if<Exchange>(&phase);
    if (exchange == nullptr) continue;
    const Schedule schedule = build(exchange->request);
    const ChunkLayout layout = layout_of(schedule, exchange->elements);
    for (const Steps& channel : schedule.channels)
      for (int s = 0; s < channel.count(); ++s) {
        channel.produce(s, step);
        for (const Transfer& t : step.transfers())
          if (t.from != t.to && t.from < ranks)
            sent[static_cast<std::size_t>(t.from)] += layout.size(t.chunk, t.count) * static_cast<std::int64_t>(size_of(exchange->dtype));
      }
  }
  return sent;
}

CompressionPlan plan(const CompressionSettings& settings, std::int64_t elements, const Request& allreduce) {
  std::vector<std::string> lines;
  for (const Problem& p : problems(settings, elements)) lines.push_back(fmt::format("compression: {}: {}", p.where, p.what));
  for (const Problem& p : constraints(allreduce)) lines.push_back(fmt::format("{}: {}", p.where, p.what));
  if (lines.empty() && settings.name == "sketched_sgd")
    for (const Problem& p : constraints({.collective = Collective::reduce, .algorithm = "direct", .ranks = allreduce.ranks}))
      lines.push_back(fmt::format("{}: {}", p.where, p.what));
  if (!lines.empty()) throw InputError(lines);
  return CompressionPlanner(for_elements(settings, elements), elements, allreduce).made();
}

CompressionPlan plan(const CompressionSettings& settings, std::int64_t elements, int ranks) {
  return plan(settings, elements, {.algorithm = "halving_doubling", .ranks = ranks});
}

}  // namespace weft

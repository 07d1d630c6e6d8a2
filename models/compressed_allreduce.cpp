#include "models/compressed_allreduce.hpp"

#include "collectives/compression/for_elements.hpp"

#include <algorithm>

namespace weft {
namespace {

bool same(const Request& a, const Request& b) { return a.collective == b.collective && a.algorithm == b.algorithm; }

// By rank.
std::vector<int> reductions_of(const Schedule& schedule) {
  std::vector<int> out(static_cast<std::size_t>(schedule.ranks));
  Step step;
  for (const Steps& steps : schedule.channels)
    for (int k = 0; k < steps.count(); ++k) {
      steps.produce(k, step);
      for (const Transfer& t : step.transfers()) out[static_cast<std::size_t>(t.to)] += t.from != t.to;
    }
  return out;
}

}  // namespace

CompressedAllreduce::CompressedAllreduce(CompressionSettings settings, Request allreduce, KernelRates rates)
    : settings_(std::move(settings)), allreduce_(std::move(allreduce)), rates_(std::move(rates)) {
  for (const Phase& phase : plan(1).phases) {
    const auto* exchange = std::get_if<Exchange>(&phase);
    if (!exchange || schedule_of(exchange->request)) continue;
    exchanges_.emplace_back(exchange->request, std::make_shared<const Schedule>(build(exchange->request)));
  }
}

std::shared_ptr<const Schedule> CompressedAllreduce::schedule_of(const Request& request) const {
  const auto at = std::ranges::find_if(exchanges_, [&](const auto& known) { return same(known.first, request); });
  return at == exchanges_.end() ? nullptr : at->second;
}

CompressionPlan CompressedAllreduce::plan(std::int64_t elements) const {
  return weft::plan(for_elements(settings_, elements), elements, allreduce_);
}

std::vector<CompressedPhase> CompressedAllreduce::phases(std::int64_t elements) const {
  std::vector<CompressedPhase> out;
  for (const Phase& phase : plan(elements).phases) {
    if (const auto* work = std::get_if<LocalWork>(&phase)) {
      out.push_back({.name = std::string(name_of(work->kernel)), .duration = rates_.time(*work), .root_only = work->root_only});
      continue;
    }
    const Exchange& exchange = std::get<Exchange>(phase);
    ExchangeChoice run = run_of_ ? run_of_(exchange) : ExchangeChoice{schedule_of(exchange.request)};
    CompressedPhase& added = out.emplace_back();
    added = {.name = fmt::format("{} of {}", name_of(exchange.request.collective), name_of(exchange.operand)),
             .schedule = std::move(run.schedule),
             .elements = exchange.elements,
             .element_bytes = static_cast<std::int64_t>(size_of(exchange.dtype)),
             .regime = run.regime};
    if (!exchange.merges) continue;
    added.reduction = rates_.time(exchange.merge());
    added.merges = reductions_of(*added.schedule);
  }
  return out;
}

SimTime CompressedAllreduce::compressing(std::int64_t elements) const {
  std::vector<SimTime> of_rank(static_cast<std::size_t>(allreduce_.ranks));
  for (const CompressedPhase& phase : phases(elements))
    for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
      if (!phase.root_only || rank == 0) of_rank[rank] += phase.duration;
      if (!phase.merges.empty()) of_rank[rank] += phase.merges[rank] * *phase.reduction;
    }
  return *std::ranges::max_element(of_rank);
}

Program CompressedAllreduce::program(std::int64_t elements) const {
  Program out{.ranks = allreduce_.ranks};
  out.operations.resize(static_cast<std::size_t>(out.ranks));
  for (CompressedPhase& phase : phases(elements)) {
    Operation operation{.id = phase.name, .duration = phase.duration};
    if (phase.is_exchange())
      operation.call = out.add_call({.name = phase.name,
                                     .schedule = std::move(phase.schedule),
                                     .elements = phase.elements,
                                     .element_bytes = phase.element_bytes,
                                     .reduction = phase.reduction,
                                     .regime = phase.regime});
    for (Rank rank = 0; rank < (phase.root_only ? 1 : out.ranks); ++rank)
      out.operations[static_cast<std::size_t>(rank)].push_back(operation);
  }
  return out;
}

}  // namespace weft

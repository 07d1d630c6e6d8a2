#include "sim/cases/compression_check.hpp"

#include "sim/scenario/algorithms.hpp"
#include "sim/scenario/compression_fields.hpp"
#include "sim/scenario/networks.hpp"

namespace weft {
namespace {

void check_algorithms(const Json& json, const Scenario& scenario, std::vector<Problem>& out) {
  const Workload& w = scenario.workload;
  for (std::size_t i = 0; i < w.algorithms.size(); ++i) {
    const AlgorithmChoice& algorithm = w.algorithms[i];
    if (is_in_network(algorithm.name))
      out.push_back({element_at(json, "/workload/algorithm", i),
                     fmt::format("what is compressed is summed by schedules between ranks; {} is what switches do", algorithm.name)});
    else if (extra_servers(algorithm.settings) > 0)
      out.push_back({element_at(json, "/workload/algorithm", i) + "/server_hosts",
                     "must be \"workers\" where gradients are compressed, got \"extra\""});
  }
}

// Settings that are wrong for one of the sizes; in a training step they are fitted to what the engine gives.
void check_settings(const CompressionChoice& choice, const std::string& at, const Scenario& scenario, std::vector<Problem>& out) {
  const Workload& w = scenario.workload;
  std::vector<std::int64_t> counts;
  for (const Bytes size : w.sizes) counts.push_back(size.count / static_cast<std::int64_t>(size_of(w.dtype)));
  if (w.training.given()) counts = {w.training.model.table->parameters()};
  for (const std::int64_t elements : counts) {
    const std::vector<Problem> found = problems(choice.settings, elements);
    for (const Problem& problem : found) {
      const std::string of_size = counts.size() > 1 ? fmt::format(" (of {} elements)", elements) : "";
      if (problem.where == "/elements")
        out.push_back({"/workload/size", fmt::format("must have 1 to 4294967296 elements to be compressed, got {}", elements)});
      else
        out.push_back({at + problem.where, problem.what + of_size});
    }
    if (!found.empty()) return;
  }
  if (choice.settings.name == "sketched_sgd")
    for (const Problem& problem :
         constraints({.collective = Collective::reduce, .algorithm = "direct", .ranks = ranks_of(scenario_of_calls(scenario))}))
      out.push_back({"/workload/ranks", fmt::format("{} (of sketched_sgd)", problem.what)});
}

KernelRates rates_of(const Scenario& scenario, const CompressionChoice& choice) {
  if (choice.kernels.device.profile) return kernel_rates(*choice.kernels.device.profile);
  if (shares_the_gpu(scenario)) return kernel_rates(*scenario.workload.training.device.profile);
  return cpu_core_rates();
}

}  // namespace

std::vector<Problem> compression_problems(const Json& json, const Scenario& scenario) {
  const Workload& w = scenario.workload;
  bool any = false;
  for (const CompressionChoice& choice : w.compressions) any |= choice.compresses();
  if (!any) return {};
  std::vector<Problem> out;
  if (w.has_program())
    out.push_back({"/workload/compression", "goes with a \"size\" or a \"model\"; the collectives of a program are not compressed"});
  if (w.collective != Collective::allreduce)
    out.push_back({"/workload/collective", fmt::format("\"allreduce\" can be compressed, got \"{}\"", name_of(w.collective))});
  if (w.op != ReduceOp::sum) out.push_back({"/workload/op", fmt::format("must be \"sum\" to be compressed, got \"{}\"", name_of(w.op))});
  if (w.dtype != DType::float32)
    out.push_back({"/workload/dtype", fmt::format("must be \"float32\" to be compressed, got \"{}\"", name_of(w.dtype))});
  if (w.training.gradient_dtype && *w.training.gradient_dtype != DType::float32)
    out.push_back({"/workload/gradient_dtype",
                   fmt::format("must be \"float32\" where gradients are compressed, got \"{}\"", name_of(*w.training.gradient_dtype))});
  if (!traits_of(scenario.network).programs)
    out.push_back({"/network", fmt::format("compressed all-reduces run on {}, got \"{}\"", networks_that(&NetworkTraits::programs),
                                           name_of(scenario.network))});
  if (!out.empty()) return out;
  check_algorithms(json, scenario, out);
  for (std::size_t i = 0; i < w.compressions.size(); ++i)
    if (w.compressions[i].compresses()) check_settings(w.compressions[i], element_at(json, "/workload/compression", i), scenario, out);
  return out;
}

bool shares_the_gpu(const Scenario& scenario) {
  const Workload& w = scenario.workload;
  return w.training.given() && !w.compressions.empty() && !w.compressions.front().kernels.cpu_core;
}

std::optional<CompressedAllreduce> compressed_allreduce(const Scenario& scenario, const AlgorithmChoice& algorithm) {
  const std::vector<CompressionChoice>& all = scenario.workload.compressions;
  if (all.empty() || !all.front().compresses()) return std::nullopt;
  return CompressedAllreduce(all.front().settings, request_of(scenario_of_calls(scenario), algorithm), rates_of(scenario, all.front()));
}

}  // namespace weft

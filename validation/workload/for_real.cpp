#include "validation/workload/for_real.hpp"

#include "sim/scenario/algorithms.hpp"
#include "sim/training/training_step.hpp"

#include <algorithm>
#include <utility>

namespace weft {

StepWork step_work(const Scenario& scenario) {
  const TrainingChoice& t = scenario.workload.training;
  const StepTimes times = compute_times(*t.model.table, *t.device.profile, scenario.workload.compute_request());
  const TrainingStep step = training_step(*t.model.table, times, Bytes{static_cast<std::int64_t>(sizeof(float))});
  StepWork work{.forward = step.forward, .optimizer = step.optimizer, .backward = {}, .gradients = step.gradients};
  for (const TrainingStep::Backward& layer : step.backward) work.backward.push_back({layer.duration, layer.gradients});
  if (const Stragglers& s = t.stragglers; s.spread > 0)
    work.slowdown = [s](Rank rank, int of_step) {
      return s.ranks.empty() || std::ranges::find(s.ranks, rank) != s.ranks.end() ? slowdown(s.seed, rank, of_step, s.spread) : 1.0;
    };
  return work;
}

void compress_on_core(std::vector<Case>& cases) {
  for (Case& one : cases)
    for (CompressionChoice& compression : one.scenario.workload.compressions)
      if (is_sparse(compression.settings.name)) compression.kernels = {.cpu_core = true};
}

std::vector<Problem> problems_for_real(const RowRequest& request) {
  const Workload& w = request.scenario->workload;
  const TrainingChoice& t = w.training;
  const AlgorithmChoice& algorithm = *request.algorithm;
  std::vector<Problem> out;
  const auto refuse = [&](bool there, const char* where, std::string why) {
    if (there) out.push_back({where, std::move(why)});
  };
  refuse(is_in_network(algorithm.name), "/workload/algorithm",
         fmt::format("the algorithm \"{}\" runs in switches, which a real run of training steps has not", algorithm.name));
  refuse(algorithm.settings.servers > 0 || extra_servers(algorithm.settings) > 0, "/workload/algorithm",
         fmt::format("the algorithm \"{}\" has servers, which a real run of training steps has not", algorithm.name));
  refuse(std::holds_alternative<BytepsSettings>(request.engine->settings) && request.scenario->server.gpu_count() > 1, "/workload/engine",
         fmt::format("the engine \"byteps\" runs for real with one GPU a server, and these have {}", request.scenario->server.gpu_count()));
  refuse(w.dtype != DType::float32, "/workload/dtype", fmt::format("gradients are float32 in a real run, got {}", name_of(w.dtype)));
  refuse(t.gradient_dtype.value_or(DType::float32) != DType::float32, "/workload/gradient_dtype", "gradients are float32 in a real run");
  refuse(request.compression && request.compression->settings.memory == ErrorMemory::sketch, "/workload/compression",
         "a real run of training steps keeps errors by gradient: \"memory\" must be \"dense\", got \"sketch\"");
  refuse(request.compression && request.compression->compresses() && algorithm.settings.channels > 1, "/workload/algorithm",
         fmt::format("\"channels\" must be 1 where gradients are compressed for real, got {}", algorithm.settings.channels));
  const char* const simulated = "is simulated only: leave it out of a real run";
  refuse(t.nan_check, "/workload/nan_check", simulated);
  refuse(t.forward_by_layer, "/workload/forward_by_layer", simulated);
  refuse(t.model_parallel > 1, "/workload/model_parallel", simulated);
  refuse(t.checkpoints != Checkpoints{}, "/workload/checkpoints", simulated);
  refuse(!t.events.empty(), "/workload/events", simulated);
  return out;
}

}  // namespace weft

#include "sim/scenario/training_check.hpp"

#include "sim/scenario/form.hpp"
#include "sim/scenario/networks.hpp"
#include "sim/scenario/scenario_fields.hpp"

#include <cmath>

namespace weft {
namespace {

class Found {
 public:
  explicit Found(const Json& workload) : workload_(workload) {}
  bool written(const char* key) const { return workload_.contains(key); }
  void add(const std::string& where, std::string what) { problems_.push_back({"/workload" + where, std::move(what)}); }
  // The pointer of element i of a key that may hold one value or a list.
  std::string element(const char* key, std::size_t i) const {
    return workload_.at(key).is_array() ? fmt::format("/{}/{}", key, i) : fmt::format("/{}", key);
  }
  std::vector<Problem> take() { return std::move(problems_); }

 private:
  const Json& workload_;
  std::vector<Problem> problems_;
};

void check_engine(const EngineChoice& choice, std::int64_t element_bytes, const std::string& at, Found& found) {
  const std::vector<Problem> of_settings = problems(choice.settings);
  for (const Problem& problem : of_settings) found.add(at + problem.where, problem.what);
  const AiaccSettings* aiacc = std::get_if<AiaccSettings>(&choice.settings);
  if (!aiacc || !of_settings.empty()) return;
  if (aiacc->granularity.count % element_bytes != 0)
    found.add(at + "/granularity", fmt::format("must be a multiple of {} bytes, the size of an element of a gradient, got \"{}\"",
                                               element_bytes, to_string(aiacc->granularity)));
  if (aiacc->streams * aiacc->compute_share >= 1)
    found.add(at + "/streams",
              fmt::format("must be at most {}, or nothing is left to compute with: each takes {:.4g} of the rate "
                          "(\"compute_share\"); got {}",
                          static_cast<int>(std::ceil(1 / aiacc->compute_share)) - 1, aiacc->compute_share, aiacc->streams));
}

void check_compute(const TrainingChoice& training, DType dtype, Found& found) {
  if (!training.device.profile) return found.add("/device", "missing: write the GPU that computes, such as \"v100\"");
  const auto& rates = training.device.profile->rates;
  if (rates.contains(std::string(name_of(dtype)))) return;
  std::vector<std::string> known;
  for (const auto& [name, rate] : rates)
    for (const DType one : all_dtypes())
      if (name_of(one) == name) known.push_back(name);
  found.add("/dtype",
            fmt::format("device \"{}\" computes in {}, got \"{}\"", training.device.profile->name, quoted_list(known), name_of(dtype)));
}

}  // namespace

std::vector<Problem> training_problems(const Json& json, const Scenario& scenario) {
  if (!json.contains("workload") || !json.at("workload").is_object()) return {};
  Found found(json.at("workload"));
  const Workload& w = scenario.workload;
  if (!w.training.given()) {
    for (const char* key : {"batch_per_gpu", "device", "engine", "optimizer"})
      if (found.written(key)) found.add(fmt::format("/{}", key), "goes with a \"model\" to train, and there is none");
    return found.take();
  }
  if (found.written("size")) found.add("/size", "the model gives it: leave out \"size\" or \"model\"");
  if (w.compute > SimTime{}) found.add("/compute", "the model and the device give it: leave it out");
  if (w.collective != Collective::allreduce)
    found.add("/collective", fmt::format("gradients are reduced by \"allreduce\", got \"{}\"", name_of(w.collective)));
  if (w.op != ReduceOp::sum) found.add("/op", fmt::format("gradients are reduced by \"sum\", got \"{}\"", name_of(w.op)));
  check_compute(w.training, w.dtype, found);
  if (w.training.engines.empty())
    found.add("/engine", "missing: write one of \"none\", \"ddp\", \"horovod\", \"aiacc\", or a list of such");
  for (std::size_t i = 0; i < w.training.engines.size(); ++i)
    check_engine(w.training.engines[i], static_cast<std::int64_t>(size_of(w.dtype)), found.element("engine", i), found);
  for (std::size_t i = 0; i < w.algorithms.size(); ++i)
    if (is_in_network(w.algorithms[i].name))
      found.add(found.element("algorithm", i),
                fmt::format("a gradient engine starts all-reduces that are schedules between ranks; {} is what switches do",
                            w.algorithms[i].name));
  std::vector<Problem> out = found.take();
  if (!traits_of(scenario.network).shared)
    out.push_back({"/network", fmt::format("training steps run on {} only, got \"{}\"", networks_that(&NetworkTraits::shared),
                                           name_of(scenario.network))});
  return out;
}

void refuse_training(const std::string& file, const Scenario& scenario) {
  if (!scenario.workload.training.given()) return;
  throw InputError(fmt::format(
      "{}: /workload/model: this command is about collectives: write a \"size\" instead; weft run simulates training steps", file));
}

}  // namespace weft

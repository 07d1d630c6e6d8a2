#include "sim/cases/training_check.hpp"

#include "models/server/server_fabric.hpp"
#include "sim/json/form.hpp"
#include "sim/scenario/algorithms.hpp"
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
  if (const auto* byteps = std::get_if<BytepsSettings>(&choice.settings); byteps && byteps->partition.count % element_bytes != 0)
    found.add(at + "/partition", fmt::format("must be a multiple of {} bytes, the size of an element of a gradient, got \"{}\"",
                                             element_bytes, to_string(byteps->partition)));
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

bool is_float(DType dtype) { return dtype == DType::float32 || dtype == DType::float16 || dtype == DType::bfloat16; }

// Endpoints that parameter servers of an engine need besides those of the ranks.
void check_extra_servers(const Scenario& scenario, std::size_t i, const std::string& at, Found& found) {
  Scenario row = scenario;
  row.workload.training.engines = {scenario.workload.training.engines[i]};
  const int servers = extra_servers_of_engine(row), ranks = ranks_of(row);
  const auto places = static_cast<int>(endpoints(scenario.fabric.spec, scenario.server));
  if (servers > 0 && servers > places - ranks)
    found.add(at + "/server_hosts",
              fmt::format("{} parameter servers on hosts of their own need as many endpoints; the fabric has {}, of which "
                          "{} are taken by ranks: write fewer \"ranks\" or \"servers\"",
                          servers, places, ranks));
}

// When so many ranks have joined that it has these.
void check_grown(const Scenario& grown, Found& found) {
  const Scenario calls = scenario_of_calls(grown);
  for (std::size_t i = 0; i < grown.workload.training.engines.size(); ++i) check_extra_servers(grown, i, found.element("engine", i), found);
  for (const AlgorithmChoice& choice : calls.workload.algorithms)
    for (const Problem& problem : algorithm_problems(calls, choice, ""))
      found.add("/events", fmt::format("make {} ranks, with which {}: {}", ranks_of(grown), choice.name, problem.what));
}

void check_options(const Scenario& scenario, Found& found) {
  const Workload& w = scenario.workload;
  const TrainingChoice& t = w.training;
  if (t.gradient_dtype && !is_float(*t.gradient_dtype))
    found.add("/gradient_dtype", fmt::format("must be \"float32\", \"float16\" or \"bfloat16\", got \"{}\"", name_of(*t.gradient_dtype)));
  const int ranks = ranks_of(scenario), parts = t.model_parallel;
  if (ranks % parts != 0) found.add("/model_parallel", fmt::format("must divide the {} ranks, got {}", ranks, parts));
  if (parts > 1) {
    for (std::size_t i = 0; i < w.algorithms.size(); ++i)
      if (w.algorithms[i].name == "hdrm" || extra_servers(w.algorithms[i].settings) > 0)
        found.add(found.element("algorithm", i),
                  "is for all ranks at once; with \"model_parallel\" those with the same part reduce by themselves");
    for (std::size_t i = 0; i < t.engines.size(); ++i)
      if (const auto* b = std::get_if<BytepsSettings>(&t.engines[i].settings); b && b->server_hosts == ServerHosts::extra)
        found.add(found.element("engine", i) + "/server_hosts", "must be \"workers\" with \"model_parallel\", got \"extra\"");
  }
  for (std::size_t i = 0; i < t.stragglers.ranks.size(); ++i)
    if (const Rank r = t.stragglers.ranks[i]; r < 0 || r >= ranks)
      found.add(fmt::format("/stragglers/ranks/{}", i), fmt::format("must be between 0 and {}, got {}", ranks - 1, r));
  const auto places = static_cast<int>(endpoints(scenario.fabric.spec, scenario.server));
  int grown = ranks;
  for (std::size_t i = 0; i < t.events.size(); ++i) {
    const TrainingEvent& e = t.events[i];
    const std::string at = fmt::format("/events/{}", i);
    if (e.after_step > w.iterations)
      found.add(at + "/after_step", fmt::format("must be at most {}, the \"iterations\", got {}", w.iterations, e.after_step));
    if (e.kind != TrainingEvent::Kind::growth) continue;
    grown += e.ranks;
    if (grown > places)
      found.add(at + "/ranks", fmt::format("makes {} ranks of the {} endpoints of the fabric", grown, places));
    else if (grown % parts != 0)
      found.add(at + "/ranks", fmt::format("makes {} ranks, of which {} cannot share each model", grown, parts));
  }
  if (grown > ranks && grown <= places) {
    Scenario row = scenario;
    row.workload.ranks = grown;
    row.workload.training.events.clear();
    if (grown % parts == 0) check_grown(row, found);
  }
  if (grown > ranks && (scenario.placement.policy == PlacementPolicy::list || scenario.placement.policy == PlacementPolicy::hdrm))
    found.add("/events", "ranks join on endpoints that the placement gives them: it must be \"linear\", \"random\" or \"round_robin\"");
}

// What is between steps is added to a run that has none of it (training_events.hpp), so whatever happens on the fabric has to be the same
// at any date.
void check_dates(const Scenario& scenario, Found& found) {
  const TrainingChoice& t = scenario.workload.training;
  if (t.events.empty() && t.checkpoints.every == 0) return;
  const std::string between = t.events.empty() ? "/checkpoints" : "/events";
  if (!scenario.jobs.empty()) found.add(between, "are not simulated beside other jobs: leave out them or the jobs");
  const auto refuse = [&](const std::string& place, SimTime from, SimTime until) {
    if (from > SimTime{} || until != SimTime::never())
      found.add(between, fmt::format("go with failures and traffic from the start of the run to its end only, and {} is from {}{}", place,
                                     to_string(from), until == SimTime::never() ? " on" : " until " + to_string(until)));
  };
  for (std::size_t i = 0; i < scenario.faults.failures.size(); ++i)
    refuse(fmt::format("/faults/failures/{}", i), scenario.faults.failures[i].at, scenario.faults.failures[i].until);
  for (std::size_t i = 0; i < scenario.traffic.size(); ++i)
    refuse(fmt::format("/traffic/{}", i), scenario.traffic[i].start, scenario.traffic[i].stop);
}

void check_duration(const Workload& workload, Found& found) {
  try {
    compute_times(*workload.training.model.table, *workload.training.device.profile, workload.compute_request());
  } catch (const InputError& error) {
    found.add("/batch_per_gpu", error.what());
  }
}

void check_compute(const Workload& workload, Found& found) {
  const TrainingChoice& training = workload.training;
  const DType dtype = workload.dtype;
  if (!training.device.profile) return found.add("/device", "missing: write the GPU that computes, such as \"v100\"");
  const auto& rates = training.device.profile->rates;
  if (training.tf32 && dtype != DType::float32)
    return found.add("/tf32", fmt::format("goes with \"dtype\": \"float32\", got \"{}\"", name_of(dtype)));
  if (training.tf32 && !rates.contains("tf32"))
    return found.add("/tf32", fmt::format("device \"{}\" has no rates for TF32", training.device.profile->name));
  if (rates.contains(std::string(name_of(dtype)))) return check_duration(workload, found);
  std::vector<std::string> known;
  for (const auto& [name, rate] : rates)
    for (const DType one : all_dtypes())
      if (name_of(one) == name) known.push_back(name);
  found.add("/dtype",
            fmt::format("device \"{}\" computes in {}, got \"{}\"", training.device.profile->name, quoted_list(known), name_of(dtype)));
}

// All-reduces by switches, or compressed ones, with an engine that pushes to parameter servers of its own instead.
void check_pushing(const Scenario& scenario, Found& found) {
  const Workload& w = scenario.workload;
  std::string instead;
  for (const AlgorithmChoice& algorithm : w.algorithms)
    if (is_in_network(algorithm.name)) instead = fmt::format("with algorithm \"{}\", an all-reduce by switches,", algorithm.name);
  for (const CompressionChoice& compression : w.compressions)
    if (compression.compresses()) instead = fmt::format("with compression \"{}\", an all-reduce,", compression.settings.name);
  for (std::size_t i = 0; i < w.training.engines.size() && !instead.empty(); ++i)
    if (std::holds_alternative<BytepsSettings>(w.training.engines[i].settings))
      found.add(found.element("engine", i),
                fmt::format("byteps pushes gradients to parameter servers of its own; {} it must be one of \"none\", \"ddp\", "
                            "\"horovod\", \"aiacc\"",
                            instead));
}

}  // namespace

std::vector<Problem> training_problems(const Json& json, const Scenario& scenario) {
  if (!json.contains("workload") || !json.at("workload").is_object()) return {};
  Found found(json.at("workload"));
  const Workload& w = scenario.workload;
  if (!w.training.given()) {
    for (const char* key : {"batch_per_gpu", "device", "engine", "optimizer", "gradient_dtype", "tf32", "nan_check", "forward_by_layer",
                            "model_parallel", "stragglers", "detail", "checkpoints", "events"})
      if (found.written(key)) found.add(fmt::format("/{}", key), "goes with a \"model\" to train, and there is none");
    return found.take();
  }
  if (found.written("program")) found.add("/program", "the model says what ranks do: leave out \"program\" or \"model\"");
  if (found.written("size")) found.add("/size", "the model gives it: leave out \"size\" or \"model\"");
  if (w.compute > SimTime{}) found.add("/compute", "the model and the device give it: leave it out");
  if (w.collective != Collective::allreduce)
    found.add("/collective", fmt::format("gradients are reduced by \"allreduce\", got \"{}\"", name_of(w.collective)));
  if (w.op != ReduceOp::sum) found.add("/op", fmt::format("gradients are reduced by \"sum\", got \"{}\"", name_of(w.op)));
  check_compute(w, found);
  if (w.training.engines.empty())
    found.add("/engine", "missing: write one of \"none\", \"ddp\", \"horovod\", \"byteps\", \"aiacc\", or a list of such");
  const DType on_wire = w.training.gradient_dtype.value_or(w.dtype);
  for (std::size_t i = 0; i < w.training.engines.size(); ++i)
    check_engine(w.training.engines[i], static_cast<std::int64_t>(size_of(on_wire)), found.element("engine", i), found);
  for (std::size_t i = 0; i < w.training.engines.size(); ++i) check_extra_servers(scenario, i, found.element("engine", i), found);
  check_options(scenario, found);
  check_pushing(scenario, found);
  check_dates(scenario, found);
  std::vector<Problem> out = found.take();
  if (!traits_of(scenario.network).shared)
    out.push_back({"/network", fmt::format("training steps run on {} only, got \"{}\"", networks_that(&NetworkTraits::shared),
                                           name_of(scenario.network))});
  return out;
}

void refuse_training(const std::string& file, const Scenario& scenario) {
  if (const std::size_t ways = scenario.workload.compressions.size(); ways > 1)
    throw InputError(fmt::format(
        "{}: /workload/compression: this command is about one way to compress, and these are {}; weft run compares them", file, ways));
  if (!scenario.workload.training.given()) return;
  throw InputError(fmt::format(
      "{}: /workload/model: this command is about collectives: write a \"size\" instead; weft run simulates training steps", file));
}

}  // namespace weft

#include "sim/training/training_step.hpp"

#include <utility>

namespace weft {
namespace {

class Treatment {
 public:
  Treatment(const DeviceProfile* device, const GradientTreatment& treatment) : device_(device), treatment_(treatment) {}

  std::int64_t elements(std::int64_t all) const { return (all + treatment_.parts - 1) / treatment_.parts; }
  SimTime part(SimTime all) const { return {(all.ps + treatment_.parts - 1) / treatment_.parts}; }

  // Passes over a gradient of so many elements when it is ready.
  SimTime when_ready(std::int64_t count) const {
    SimTime out;
    if (treatment_.nan_check) out += pass_over_memory(*device_, count * treatment_.computed);
    return out + conversion(count);
  }
  SimTime conversion(std::int64_t count) const {
    if (treatment_.on_wire == treatment_.computed) return {};
    return pass_over_memory(*device_, count * (treatment_.computed + treatment_.on_wire));
  }

 private:
  const DeviceProfile* device_;
  const GradientTreatment treatment_;
};

SimTime share(SimTime all, std::int64_t part, std::int64_t whole) { return {static_cast<std::int64_t>(Int128{all.ps} * part / whole)}; }

TrainingStep step_of(const Model& model, const StepTimes& times, const Treatment& treatment, Bytes on_wire) {
  TrainingStep out{.forward = {}, .optimizer = treatment.part(times.optimizer), .backward = {}, .gradients = {}};
  std::vector<SimTime> extra(model.layers.size());  // what a layer's gradients take when they are ready
  SimTime forward_before, left = out.optimizer;
  std::vector<std::vector<int>> of_layer(model.layers.size());
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Layer& layer = model.layers[i];
    const SimTime forward = treatment.part(times.layers[i].forward);
    out.forward += forward;
    if (layer.tensors.empty()) {
      (out.layers.empty() ? forward_before : out.layers.back().duration) += forward;
      continue;
    }
    TrainingStep::Forward own{.duration = forward + std::exchange(forward_before, {}), .update = {}};
    for (const ParameterTensor& tensor : layer.tensors) {
      const std::int64_t elements = treatment.elements(tensor.elements);
      const auto id = static_cast<int>(out.gradients.size());
      of_layer[i].push_back(id);
      own.gradients.push_back(id);
      out.gradients.push_back(elements * on_wire);
      extra[i] += treatment.when_ready(elements);
      out.optimizer += treatment.conversion(elements);
      own.update += treatment.conversion(elements);
    }
    const SimTime update = share(treatment.part(times.optimizer), layer.parameters(), model.parameters());
    own.update += update;
    left = left - update;
    out.layers.push_back(std::move(own));
  }
  if (!out.layers.empty()) out.layers.back().update += left;  // what rounding left over
  SimTime before;                                             // of layers without parameters
  for (std::size_t layer = model.layers.size(); layer-- > 0;) {
    before += treatment.part(times.layers[layer].backward);
    if (of_layer[layer].empty()) continue;
    out.backward.push_back({before + extra[layer], {of_layer[layer].rbegin(), of_layer[layer].rend()}});
    before = {};
  }
  if (before > SimTime{}) out.backward.push_back({before});
  return out;
}

}  // namespace

SimTime TrainingStep::compute() const {
  SimTime sum = forward + optimizer;
  for (const Backward& layer : backward) sum += layer.duration;
  return sum;
}

Bytes TrainingStep::size() const {
  Bytes sum;
  for (const Bytes gradient : gradients) sum += gradient;
  return sum;
}

TrainingStep training_step(const Model& model, const StepTimes& times, const DeviceProfile& device, const GradientTreatment& treatment) {
  return step_of(model, times, Treatment(&device, treatment), treatment.on_wire);
}

TrainingStep training_step(const Model& model, const StepTimes& times, Bytes element) {
  const GradientTreatment plain{.computed = element, .on_wire = element};
  return step_of(model, times, Treatment(nullptr, plain), element);
}

}  // namespace weft

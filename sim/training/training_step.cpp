#include "sim/training/training_step.hpp"

namespace weft {

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

TrainingStep training_step(const Model& model, const StepTimes& times, Bytes element) {
  TrainingStep out{.forward = times.forward(), .optimizer = times.optimizer, .backward = {}, .gradients = {}};
  std::vector<std::vector<int>> of_layer(model.layers.size());
  for (const ModelGradient& gradient : gradients(model, element)) {
    of_layer[static_cast<std::size_t>(gradient.layer)].push_back(static_cast<int>(out.gradients.size()));
    out.gradients.push_back(gradient.size);
  }
  SimTime before;  // of layers without parameters
  for (std::size_t layer = model.layers.size(); layer-- > 0;) {
    before += times.layers[layer].backward;
    if (of_layer[layer].empty()) continue;
    out.backward.push_back({before, {of_layer[layer].rbegin(), of_layer[layer].rend()}});
    before = {};
  }
  if (before > SimTime{}) out.backward.push_back({before});
  return out;
}

}  // namespace weft

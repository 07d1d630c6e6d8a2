#include "models/training/model.hpp"

#include "models/fabric/validation.hpp"

#include <cmath>
#include <numeric>
#include <set>

namespace weft {

std::int64_t Layer::parameters() const {
  return std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0}, [](auto sum, const auto& t) { return sum + t.elements; });
}

std::int64_t Model::parameters() const {
  return std::accumulate(layers.begin(), layers.end(), std::int64_t{0}, [](auto sum, const auto& l) { return sum + l.parameters(); });
}

int Model::tensors() const {
  return std::accumulate(layers.begin(), layers.end(), 0, [](int sum, const auto& l) { return sum + static_cast<int>(l.tensors.size()); });
}

double Model::forward_flops() const {
  return std::accumulate(layers.begin(), layers.end(), 0.0, [](double sum, const auto& l) { return sum + l.forward_flops; });
}

double Model::backward_flops() const {
  return std::accumulate(layers.begin(), layers.end(), 0.0, [](double sum, const auto& l) { return sum + l.backward_flops; });
}

std::vector<Problem> problems(const Model& model) {
  Problems found;
  found.require(!model.layers.empty(), "/layers", "must have at least one layer");
  found.require(model.layers.empty() || model.parameters() > 0, "/layers", "must have a parameter: there is nothing to reduce");
  std::set<std::string> names;
  bool measured = false;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Layer& l = model.layers[i];
    const std::string at = fmt::format("/layers/{}", i);
    found.require(names.insert(l.name).second, at + "/name", "must differ from those of the other layers, got \"{}\" twice", l.name);
    for (const ParameterTensor& t : l.tensors)
      found.within(1, std::int64_t{1} << 40, at + (l.tensors.size() == 1 ? "/parameters" : "/parameters/" + t.name), t.elements);
    const auto not_negative = [&](const char* where, auto value, auto shown) {
      found.require(value >= decltype(value){}, at + where, "must not be negative, got {}", shown);
    };
    not_negative("/forward", l.forward_flops, l.forward_flops);
    not_negative("/backward", l.backward_flops, l.backward_flops);
    if (l.measured_forward) not_negative("/forward", *l.measured_forward, to_string(*l.measured_forward));
    if (l.measured_backward) not_negative("/backward", *l.measured_backward, to_string(*l.measured_backward));
    measured = measured || l.measured_forward || l.measured_backward;
  }
  if (measured)
    found.require(model.measured_batch >= 1, "/batch", "must be the number of samples that the times of layers are of, such as 32, got {}",
                  model.measured_batch == 0 ? "none" : std::to_string(model.measured_batch));
  return found.take();
}

std::vector<ModelGradient> gradients(const Model& model, Bytes element) {
  std::vector<ModelGradient> all;
  for (std::size_t i = 0; i < model.layers.size(); ++i)
    for (const ParameterTensor& t : model.layers[i].tensors)
      all.push_back({fmt::format("{}.{}", model.layers[i].name, t.name), static_cast<int>(i), t.elements * element});
  return all;
}

}  // namespace weft

// What a rank trains: a network as a table of layers, with the parameters, work and memory traffic of each.
#pragma once

#include "kernels/base/error.hpp"
#include "kernels/base/units.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// What bounds the main operation of a layer; each kind has its own efficiency on a device.
// 3 x 3 with stride 1 (convolution_3x3) stands apart: libraries compute it with fewer operations (Winograd).
enum class LayerKind { convolution, convolution_3x3, matrix_product, memory_bound };

// A parameter with one gradient, as frameworks count them: PyTorch's ResNet-50 has 161.
struct ParameterTensor {
  std::string name;
  std::int64_t elements = 0;
  friend bool operator==(const ParameterTensor&, const ParameterTensor&) = default;
};

// A layer with parameters, together with the operations without any that follow it (activation, pooling, residual sum).
// Work and traffic are per sample, so that they scale with the batch. A multiply-add counts as two FLOPs.
struct Layer {
  std::string name;
  LayerKind kind = LayerKind::memory_bound;
  std::vector<ParameterTensor> tensors = {};  // in the order of registration; gradients come in the reverse order
  double forward_flops = 0, backward_flops = 0;
  double forward_elements = 0, backward_elements = 0;                    // that elementwise operations read and write
  bool float32_elements = false;                                         // also where products are in 16 bits: automatic mixed precision
  int forward_kernels = 1, backward_kernels = 1;                         // launched
  std::optional<SimTime> measured_forward = {}, measured_backward = {};  // of Model::measured_batch samples; replace the estimate

  std::int64_t parameters() const;
};

struct Model {
  std::string name;
  std::string sample;  // what one sample is: "image of 224 x 224", "sequence of 384 tokens"
  std::string source;
  std::vector<Layer> layers;  // in the order of forward; backward runs the other way
  int measured_batch = 0;     // samples of the measured times; 0: there are none

  std::int64_t parameters() const;
  int tensors() const;
  double forward_flops() const;  // per sample
  double backward_flops() const;
};

// Everything that is wrong with a table, with JSON pointers: "/layers/3/parameters".
std::vector<Problem> problems(const Model&);

// One gradient: the engines' unit. Ids are places in this list, which is in the order of registration (that of forward).
struct ModelGradient {
  std::string name;  // "layer1.0.conv1.weight"
  int layer = 0;
  Bytes size;
};
std::vector<ModelGradient> gradients(const Model&, Bytes element);

// The networks Weft knows. sequence: tokens of a sample of a language model; 0: the default of the network.
struct ModelOptions {
  int sequence = 0;
};
struct KnownModel {
  std::string_view name;
  std::string_view description;
  Model (*build)(const ModelOptions&);
};
std::span<const KnownModel> known_models();
std::vector<std::string> model_names();
// Throws InputError: an unknown name, with the nearest one, or a sequence that the network cannot take.
Model known_model(std::string_view name, const ModelOptions& options = {});

}  // namespace weft

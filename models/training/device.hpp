// How fast a GPU trains: the device profile, and the times of a model's layers on it.
#pragma once

#include "collectives/compression/kernel_rates.hpp"
#include "models/training/model.hpp"

#include <map>

namespace weft {

// Rates of one element type. Efficiencies are shares of the peak that a whole network reaches: more than 0, at most 1, and
// at most 2.25 for 3 x 3 convolutions, where Winograd's F(2x2, 3x3) multiplies that much less than is counted.
struct DeviceRate {
  double peak_flops = 0;  // a second
  double convolution = 1, convolution_3x3 = 1, matrix_product = 1;
};

// A layer takes kernels x launch + FLOPs / (peak x efficiency of its kind) + bytes / (memory_bandwidth x memory_efficiency). The bytes are
// those of elementwise operations and of the parameters of products and convolutions.
struct DeviceProfile {
  std::string name;
  std::map<std::string, DeviceRate> rates = {};  // by element type: float32, tf32, float16
  BitsPerSecond memory_bandwidth{0};
  double memory_efficiency = 1;
  SimTime launch = {};
  std::map<std::string, double> kernels = {};  // of compression, by name: work a second (collectives/compression/plan.hpp), where measured
  std::map<std::string, std::string> sources = {};  // JSON pointer of a number -> where it comes from
};
std::vector<Problem> problems(const DeviceProfile&);

// Of the kernels of compression: as measured, or else as fast as the memory moves what they move at least.
KernelRates kernel_rates(const DeviceProfile&);

// Bytes of memory traffic a parameter costs: reads and writes of 4-byte weights, gradients and states.
enum class Optimizer {
  none,
  sgd_momentum,  // weight, gradient and momentum read, weight and momentum written: 20
  adam,          // fused: weight, gradient and two moments read, all but the gradient written: 28
  adam_foreach,  // PyTorch's multi-tensor Adam, one pass for each operation: 60 (measured: TrioSim, VGG-13 on an H100)
};
std::string_view name_of(Optimizer);

struct ComputeRequest {
  int batch = 1;
  std::string dtype = "float32";
  Optimizer optimizer = Optimizer::sgd_momentum;
};
struct LayerTimes {
  SimTime forward, backward;
};
struct StepTimes {
  std::vector<LayerTimes> layers;  // in the order of forward
  SimTime optimizer;

  SimTime forward() const;
  SimTime backward() const;
  SimTime total() const { return forward() + backward() + optimizer; }
};

// Throws InputError: a batch below 1, or an element type that the profile lacks. Measured times are scaled with the batch.
StepTimes compute_times(const Model& model, const DeviceProfile& device, const ComputeRequest& request);

// One kernel that reads or writes so many bytes in all.
SimTime pass_over_memory(const DeviceProfile& device, Bytes bytes);
// What an optimizer keeps of a parameter, the parameter itself included: what a checkpoint holds.
Bytes state_of_parameter(Optimizer optimizer);

// A straggler's step takes this factor more: 1 + spread x an exponential variable of mean 1, of the seed, rank and step alone.
double slowdown(std::uint64_t seed, int rank, std::int64_t step, double spread);

}  // namespace weft

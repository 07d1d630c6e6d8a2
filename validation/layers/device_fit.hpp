// When gradients become ready on a device profile, against when they did, and the profile that meets it best.
#pragma once

#include "models/training/device.hpp"
#include "validation/fit/fit.hpp"
#include "validation/layers/ready_gradients.hpp"

#include <string>
#include <vector>

namespace weft {

// One measured backward pass.
struct MeasuredBackward {
  Model model;
  ComputeRequest request = {};
  std::vector<ReadyGradient> gradients = {};
  bool fitted = true;  // false: held out
};

// Gradient by gradient, in microseconds since the backward pass began: those of a layer when its backward is over, as in training steps.
std::vector<double> ready_us(const MeasuredBackward& pass, const DeviceProfile& device);

// The same as points of a table: collective "gradient", and the model as the algorithm.
std::vector<FitPoint> points_of(const MeasuredBackward& pass);

// What can be fitted of a device profile: "convolution", "convolution_3x3", "matrix_product" (of an element type), "memory_efficiency" and
// "launch".
const std::vector<std::string>& device_parameters();
double device_parameter(const DeviceProfile& device, const std::string& dtype, const std::string& name);

// Fits the parameters named to the passes that are not held out, all of one element type, by robust least squares of
// log(simulated / measured). Those that the passes say nothing of stay near where they were. Throws InputError for unknown names.
DeviceProfile fit_device(const std::vector<MeasuredBackward>& passes, DeviceProfile start, const std::vector<std::string>& parameters);

}  // namespace weft

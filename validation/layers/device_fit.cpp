#include "validation/layers/device_fit.hpp"

#include "sim/json/form.hpp"
#include "validation/fit/least_squares.hpp"
#include "validation/fit/objective.hpp"
#include "validation/fit/rounding.hpp"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

constexpr double weight_of_start = 0.1;  // of where the fit starts: twice of it counts as an error of 7 % of one gradient

struct Bounds {
  double low, high;
};
constexpr Bounds launches_us{0.1, 100}, shares{0.01, 1}, shares_of_winograd{0.01, 2.25};

Bounds bounds_of(const std::string& name) {
  return name == "launch" ? launches_us : name == "convolution_3x3" ? shares_of_winograd : shares;
}

void set_parameter(DeviceProfile& device, const std::string& dtype, const std::string& name, double value) {
  if (name == "memory_efficiency")
    device.memory_efficiency = value;
  else if (name == "launch")
    device.launch = SimTime{std::llround(value * 1e6)};
  else if (name == "convolution")
    device.rates.at(dtype).convolution = value;
  else if (name == "convolution_3x3")
    device.rates.at(dtype).convolution_3x3 = value;
  else
    device.rates.at(dtype).matrix_product = value;
}

void check_names(const std::vector<std::string>& parameters) {
  std::vector<std::string> problems;
  for (const std::string& name : parameters)
    if (std::ranges::find(device_parameters(), name) == device_parameters().end())
      problems.push_back("fit: " + unknown_name("parameter of a device", name, device_parameters()));
  if (!problems.empty()) throw InputError(problems);
}

}  // namespace

std::vector<double> ready_us(const MeasuredBackward& pass, const DeviceProfile& device) {
  const StepTimes times = compute_times(pass.model, device, pass.request);
  std::vector<double> after(times.layers.size());  // each layer's backward, those behind it included
  SimTime now;
  for (std::size_t l = times.layers.size(); l-- > 0;) after[l] = (now += times.layers[l].backward).microseconds();
  std::vector<double> out;
  for (const ReadyGradient& gradient : pass.gradients) out.push_back(after[gradient.layer]);
  return out;
}

std::vector<FitPoint> points_of(const MeasuredBackward& pass) {
  std::vector<FitPoint> out;
  for (const ReadyGradient& gradient : pass.gradients) {
    FitPoint& point = out.emplace_back();
    point.measured.collective = "gradient";
    point.measured.algorithm = pass.model.name;
    point.measured.ranks = 1;
    point.measured.size_bytes = gradient.bytes;
    point.measured.time_us = gradient.ready_us;
    point.measured.where = gradient.where;
    point.setup.collective = "gradient";
    point.setup.ranks = 1;
    point.setup.size = Bytes{gradient.bytes};
    point.fitted = pass.fitted;
  }
  return out;
}

const std::vector<std::string>& device_parameters() {
  static const std::vector<std::string> all = {"convolution", "convolution_3x3", "matrix_product", "memory_efficiency", "launch"};
  return all;
}

double device_parameter(const DeviceProfile& device, const std::string& dtype, const std::string& name) {
  if (name == "memory_efficiency") return device.memory_efficiency;
  if (name == "launch") return device.launch.microseconds();
  const DeviceRate& rate = device.rates.at(dtype);
  return name == "convolution" ? rate.convolution : name == "convolution_3x3" ? rate.convolution_3x3 : rate.matrix_product;
}

DeviceProfile fit_device(const std::vector<MeasuredBackward>& passes, DeviceProfile start, const std::vector<std::string>& parameters) {
  check_names(parameters);
  if (std::ranges::none_of(passes, &MeasuredBackward::fitted)) throw InputError("there is no measurement to fit to");
  const std::string dtype = passes.front().request.dtype;
  compute_times(passes.front().model, start, passes.front().request);  // refuses an element type that the profile lacks
  LeastSquares problem{.residuals = {}, .low = {}, .high = {}, .step = {}};
  std::vector<double> first;
  for (const std::string& name : parameters) {
    const Bounds bounds = bounds_of(name);
    problem.low.push_back(std::log(bounds.low)), problem.high.push_back(std::log(bounds.high));
    problem.step.push_back(0.01);
    first.push_back(std::clamp(std::log(device_parameter(start, dtype, name)), problem.low.back(), problem.high.back()));
  }
  const auto device_at = [&](const std::vector<double>& x) {
    DeviceProfile device = start;
    for (std::size_t i = 0; i < x.size(); ++i) set_parameter(device, dtype, parameters[i], std::exp(x[i]));
    return device;
  };
  problem.residuals = [&](const std::vector<double>& x) {
    const DeviceProfile device = device_at(x);
    std::vector<double> out;
    for (const MeasuredBackward& pass : passes) {
      if (!pass.fitted) continue;
      const std::vector<double> simulated = ready_us(pass, device);
      for (std::size_t i = 0; i < simulated.size(); ++i)
        out.push_back(std::log(std::max(simulated[i], 1e-3) / std::max(pass.gradients[i].ready_us, 1e-3)));
    }
    for (std::size_t i = 0; i < x.size(); ++i) out.push_back(weight_of_start * (x[i] - first[i]));
    return out;
  };
  problem.knee = error_knee;
  problem.evaluations = 400;
  std::vector<double> x = minimise(problem, first).x;
  for (double& coordinate : x) coordinate = std::log(three_digits(std::exp(coordinate)));
  return device_at(x);
}

}  // namespace weft

#include "models/training/device.hpp"

#include "kernels/base/hash.hpp"
#include "models/fabric/validation.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace weft {
namespace {

constexpr std::array<std::pair<std::string_view, Optimizer>, 4> optimizer_names{{{"none", Optimizer::none},
                                                                                 {"sgd_momentum", Optimizer::sgd_momentum},
                                                                                 {"adam", Optimizer::adam},
                                                                                 {"adam_foreach", Optimizer::adam_foreach}}};

double bytes_per_parameter(Optimizer o) {
  switch (o) {
    case Optimizer::none:
      return 0;
    case Optimizer::sgd_momentum:
      return 20;
    case Optimizer::adam:
      return 28;
    case Optimizer::adam_foreach:
      return 60;
  }
  return 0;
}

constexpr double longest_step_s = 1e6;  // sums of a few such times are still times

SimTime picoseconds(double seconds) { return {std::llround(std::min(seconds, longest_step_s) * 1e12)}; }

struct Work {
  double flops, elements;
  int kernels;
  double bytes_per_parameter;
};

// Bytes of memory traffic that a parameter of a product or a convolution costs. It is read forward and, for the gradient of the input,
// backward, and its own gradient is written. Automatic mixed precision keeps both with four bytes: before the products it is converted
// (4 read, 2 written), after them its gradient (2 read, 4 written). Of a table of embeddings only some rows are read.
struct ParameterTraffic {
  double forward, backward;
};
constexpr ParameterTraffic of_four_bytes{.forward = 4, .backward = 4 + 4}, of_two_bytes{.forward = 4 + 2 + 2, .backward = 2 + 2 + 2 + 4};

class Estimate {
 public:
  Estimate(const DeviceProfile& device, const ComputeRequest& request)
      : device_(device),
        rate_(device.rates.at(request.dtype)),
        batch_(request.batch),
        element_bytes_(request.dtype == "float32" || request.dtype == "tf32" ? 4 : 2) {}

  SimTime forward(const Layer& l) const { return time(l, {l.forward_flops, l.forward_elements, l.forward_kernels, traffic().forward}); }
  SimTime backward(const Layer& l) const {
    return time(l, {l.backward_flops, l.backward_elements, l.backward_kernels, traffic().backward});
  }
  SimTime memory(double bytes) const {
    return picoseconds(bytes / (device_.memory_bandwidth.bytes_per_second() * device_.memory_efficiency));
  }

 private:
  SimTime time(const Layer& l, const Work& w) const {
    const double parameters = l.kind == LayerKind::memory_bound ? 0 : static_cast<double>(l.parameters());
    return w.kernels * device_.launch + picoseconds(batch_ * w.flops / (rate_.peak_flops * efficiency(l.kind))) +
           memory(batch_ * w.elements * (l.float32_elements ? 4 : element_bytes_) + parameters * w.bytes_per_parameter);
  }
  ParameterTraffic traffic() const { return element_bytes_ == 4 ? of_four_bytes : of_two_bytes; }
  double efficiency(LayerKind kind) const {
    switch (kind) {
      case LayerKind::convolution:
        return rate_.convolution;
      case LayerKind::convolution_3x3:
        return rate_.convolution_3x3;
      case LayerKind::matrix_product:
        return rate_.matrix_product;
      case LayerKind::memory_bound:
        return 1;  // the elementwise work of such a layer is in its traffic
    }
    return 1;
  }

  const DeviceProfile& device_;
  const DeviceRate& rate_;
  double batch_, element_bytes_;
};

SimTime scaled(SimTime measured, int batch, int measured_batch) {
  return picoseconds(static_cast<double>(measured.ps) * 1e-12 * batch / measured_batch) < picoseconds(longest_step_s)
             ? SimTime{static_cast<std::int64_t>(Int128{measured.ps} * batch / measured_batch)}
             : picoseconds(longest_step_s);
}

}  // namespace

std::string_view name_of(Optimizer o) {
  for (const auto& [name, value] : optimizer_names)
    if (value == o) return name;
  return "";
}

std::vector<Problem> problems(const DeviceProfile& device) {
  Problems found;
  const auto efficiency = [&](std::string where, double value, double most = 1) {
    found.require(value > 0 && value <= most, std::move(where), "must be more than 0 and at most {}, got {}", most, value);
  };
  found.require(!device.rates.empty(), "/rates", "must have at least one element type");
  for (const auto& [dtype, rate] : device.rates) {
    found.require(rate.peak_flops > 0, "/rates/" + dtype + "/peak", "must be more than 0, got {}", rate.peak_flops);
    efficiency("/rates/" + dtype + "/convolution", rate.convolution);
    efficiency("/rates/" + dtype + "/convolution_3x3", rate.convolution_3x3, 2.25);
    efficiency("/rates/" + dtype + "/matrix_product", rate.matrix_product);
  }
  found.require(device.memory_bandwidth.count > 0, "/memory_bandwidth", "must be more than 0, got {}", to_string(device.memory_bandwidth));
  efficiency("/memory_efficiency", device.memory_efficiency);
  found.require(device.launch >= SimTime{}, "/launch", "must not be negative, got {}", to_string(device.launch));
  for (const auto& [name, rate] : device.kernels)
    found.require(rate > 0 && std::isfinite(rate), "/kernels/" + name, "must be more than 0, got {}", rate);
  return found.take();
}

KernelRates kernel_rates(const DeviceProfile& device) {
  KernelRates out = rates_of_memory(device.name, device.memory_bandwidth.bytes_per_second() * device.memory_efficiency, device.launch);
  for (const auto& [name, rate] : device.kernels) out.work_per_second[static_cast<std::size_t>(*kernel_named(name))] = rate;
  return out;
}

SimTime StepTimes::forward() const {
  SimTime sum;
  for (const LayerTimes& l : layers) sum += l.forward;
  return sum;
}

SimTime StepTimes::backward() const {
  SimTime sum;
  for (const LayerTimes& l : layers) sum += l.backward;
  return sum;
}

StepTimes compute_times(const Model& model, const DeviceProfile& device, const ComputeRequest& request) {
  if (request.batch < 1) throw InputError(fmt::format("batch: must be at least 1, got {}", request.batch));
  if (!device.rates.contains(request.dtype)) {
    std::vector<std::string> known;
    for (const auto& [dtype, rate] : device.rates) known.push_back(dtype);
    throw InputError(fmt::format("device {}: no rates for \"{}\"; it has {}", device.name, request.dtype, fmt::join(known, ", ")));
  }
  const Estimate estimate(device, request);
  StepTimes times;
  for (const Layer& l : model.layers) {
    LayerTimes t{estimate.forward(l), estimate.backward(l)};
    if (l.measured_forward) t.forward = scaled(*l.measured_forward, request.batch, model.measured_batch);
    if (l.measured_backward) t.backward = scaled(*l.measured_backward, request.batch, model.measured_batch);
    times.layers.push_back(t);
  }
  if (request.optimizer != Optimizer::none)
    times.optimizer = device.launch + estimate.memory(bytes_per_parameter(request.optimizer) * static_cast<double>(model.parameters()));
  double seconds = times.optimizer.seconds();
  for (const LayerTimes& l : times.layers) seconds += l.forward.seconds() + l.backward.seconds();
  if (seconds >= longest_step_s)
    throw InputError(fmt::format("a step of {} samples of {} on {} takes longer than {:.0f} s, the most that is simulated", request.batch,
                                 model.name, device.name, longest_step_s));
  return times;
}

SimTime pass_over_memory(const DeviceProfile& device, Bytes bytes) {
  const double rate = device.memory_bandwidth.bytes_per_second() * device.memory_efficiency;
  return device.launch + picoseconds(static_cast<double>(bytes.count) / rate);
}

Bytes state_of_parameter(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::none:
      return Bytes{4};
    case Optimizer::sgd_momentum:
      return Bytes{8};
    case Optimizer::adam:
    case Optimizer::adam_foreach:
      return Bytes{12};
  }
  return Bytes{4};
}

double slowdown(std::uint64_t seed, int rank, std::int64_t step, double spread) {
  const std::uint64_t bits = mixed(mixed(seed + golden_ratio * static_cast<std::uint64_t>(rank + 1)) + static_cast<std::uint64_t>(step));
  const double uniform = (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
  return 1 - spread * std::log(uniform);
}

}  // namespace weft

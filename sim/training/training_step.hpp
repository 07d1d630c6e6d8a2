// What every rank of a training job computes in one step, and which gradients that brings.
#pragma once

#include "models/training/device.hpp"

#include <vector>

namespace weft {

struct TrainingStep {
  // Of one layer with parameters, and of those without that come before it in the backward pass.
  struct Backward {
    SimTime duration;
    std::vector<int> gradients = {};  // ready when it ends, in this order
  };
  // Of one layer with parameters, and of those without that follow it in the forward pass (before the first: that come before it).
  struct Forward {
    SimTime duration;
    SimTime update = {};              // its share of the optimizer
    std::vector<int> gradients = {};  // that the update needs
  };
  SimTime forward, optimizer;
  std::vector<Backward> backward;    // in the order of the backward pass
  std::vector<Bytes> gradients;      // size on the wire, by id: in the order of registration
  std::vector<Forward> layers = {};  // whose times add up to `forward` and `optimizer`

  SimTime compute() const;  // the step of one GPU by itself
  Bytes size() const;       // of all gradients
};

// What becomes of a gradient between backward and optimizer.
struct GradientTreatment {
  Bytes computed{4};  // bytes of an element as backward leaves it
  Bytes on_wire{4};   // as it is reduced; where it differs, each gradient is converted when it is ready, and all are back before the update
  bool nan_check = false;  // each is read once more when it is ready
  int parts = 1;           // ranks that share every layer: each has this part of its work and of its parameters
};

TrainingStep training_step(const Model& model, const StepTimes& times, const DeviceProfile& device, const GradientTreatment& treatment);

// The step of one GPU that reduces nothing, and so neither converts nor checks: what scaling efficiency is measured against.
TrainingStep training_step(const Model& model, const StepTimes& times, Bytes element);

}  // namespace weft

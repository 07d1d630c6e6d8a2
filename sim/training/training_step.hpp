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
  SimTime forward, optimizer;
  std::vector<Backward> backward;  // in the order of the backward pass
  std::vector<Bytes> gradients;    // size on the wire, by id: in the order of registration

  SimTime compute() const;  // the step of one GPU by itself
  Bytes size() const;       // of all gradients
};

// `element`: bytes of an element of a gradient on the wire.
TrainingStep training_step(const Model& model, const StepTimes& times, Bytes element);

}  // namespace weft

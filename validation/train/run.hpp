// All ranks of a training, on this machine.
#pragma once

#include "validation/train/training.hpp"

#include <chrono>
#include <string_view>

namespace weft::train {

enum class Medium {
  threads,  // of this process
  tcp,      // a process for each rank
};
std::string_view name_of(Medium);

// What rank 0 saw. Throws RunError with what any rank said.
Curve run(const TrainingSettings&, const Digits&, Medium, std::chrono::milliseconds patience = std::chrono::seconds(30));

}  // namespace weft::train

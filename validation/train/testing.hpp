// For tests: the digits that ship, and a training that takes a fraction of a second.
#pragma once

#include "validation/train/training.hpp"

namespace weft::train::test {

inline const Digits& digits() {
  static const Digits all = read_digits(WEFT_DIGITS);
  return all;
}

inline TrainingSettings quick(std::string_view compression) {
  return {.hidden = {16},
          .compression = {.name = std::string(compression), .columns = Amount::of_all(0.3), .k = Amount::of_all(0.05)},
          .allreduce = {.algorithm = "halving_doubling", .ranks = 3},
          .epochs = 3,
          .batch = 4};
}

}  // namespace weft::train::test

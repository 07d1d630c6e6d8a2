// Handwritten digits of 8 x 8 pixels (validation/data/digits/SOURCE.md), split into images to learn from and images to judge by.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace weft::train {

struct Images {
  static constexpr int pixels = 64;
  static constexpr int classes = 10;

  std::vector<float> values;  // of each image 64 in [0, 1], row by row
  std::vector<int> labels;    // 0 to 9

  std::size_t count() const { return labels.size(); }
};

struct Digits {
  Images training;
  Images test;  // every fifth image
};

// Throws InputError with the first line that is not 64 letters 0 to g, a comma and a digit.
Digits read_digits(const std::filesystem::path&);

}  // namespace weft::train

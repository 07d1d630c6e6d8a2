#include "validation/train/model.hpp"

#include "validation/train/testing.hpp"

#include <cmath>
#include <numeric>

#include <doctest/doctest.h>

using namespace weft;
using namespace weft::train;
using train::test::digits;

TEST_CASE("parameters are counted and named layer by layer") {
  const train::Model model({20, 30}, 1);
  CHECK(model.size() == 64 * 20 + 20 + 20 * 30 + 30 + 30 * 10 + 10);
  const auto tensors = model.tensors();
  REQUIRE(tensors.size() == 6);
  CHECK(tensors[2].name == "layer1.weight");
  CHECK(tensors[2].elements == 600);
  CHECK(tensors[5].name == "layer2.bias");
  CHECK(train::Model({}, 1).size() == 650);
}

TEST_CASE("the same seed gives the same parameters, another seed others") {
  const auto parameters = [](std::uint64_t seed) {
    const train::Model model({8}, seed);
    return std::vector<float>(model.parameters().begin(), model.parameters().end());
  };
  CHECK(parameters(1) == parameters(1));
  CHECK(parameters(1) != parameters(2));
}

TEST_CASE("the gradient is the slope of the loss") {
  for (const std::vector<int>& hidden : {std::vector<int>{}, {12}, {9, 7}}) {
    train::Model model(hidden, 3);
    const std::vector<std::uint32_t> which = {0, 5, 9, 100, 222};
    std::vector<float> gradient(static_cast<std::size_t>(model.size())), unused(gradient.size());
    model.gradient(digits().training, which, gradient);
    for (std::size_t i = 0; i < gradient.size(); i += 37) {
      const float was = model.parameters()[i], h = 0.01f;
      model.parameters()[i] = was + h;
      const double above = model.gradient(digits().training, which, unused);
      model.parameters()[i] = was - h;
      const double below = model.gradient(digits().training, which, unused);
      model.parameters()[i] = was;
      CHECK(std::abs((above - below) / (2 * double{h}) - double{gradient[i]}) < 2e-3);  // the loss is in float32
    }
  }
}

TEST_CASE("the gradient of a batch is the mean of those of its parts") {
  const train::Model model({11}, 5);
  const std::vector<std::uint32_t> all = {3, 1, 4, 1, 5, 9, 2, 6};
  std::vector<float> whole(static_cast<std::size_t>(model.size())), one(whole.size()), other(whole.size());
  const double loss = model.gradient(digits().training, all, whole);
  const double first = model.gradient(digits().training, std::span(all).first(4), one);
  const double second = model.gradient(digits().training, std::span(all).last(4), other);
  CHECK(loss == doctest::Approx((first + second) / 2));
  for (std::size_t i = 0; i < whole.size(); ++i) CHECK(std::abs(whole[i] - (one[i] + other[i]) / 2) < 1e-6f);
}

TEST_CASE("a model that was not trained finds one class in ten, more or less") {
  double sum = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) sum += train::Model({16}, seed).accuracy(digits().test);
  CHECK(sum / 20 > 0.05);
  CHECK(sum / 20 < 0.2);
}

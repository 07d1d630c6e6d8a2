#include "validation/train/training.hpp"

#include "validation/train/run.hpp"
#include "validation/train/testing.hpp"

#include <limits>

#include <doctest/doctest.h>

using namespace weft;
using namespace weft::train;
using train::test::digits;
using train::test::quick;

namespace {

// What does not depend on the clock.
std::string text(const Curve& curve) {
  std::string out;
  for (const Epoch& e : curve)
    out += fmt::format("{} {} {} {:a} {:a} {} {}\n", e.number, e.learning_rate, e.k, e.loss, e.accuracy, e.steps, e.bytes_per_step);
  return out;
}

std::string lines(const TrainingSettings& settings) {
  std::vector<std::string> out;
  for (const Problem& p : problems(settings, digits().training)) out.push_back(p.where + ": " + p.what);
  return fmt::format("{}", fmt::join(out, "\n"));
}

}  // namespace

TEST_CASE("every compression learns the digits, the same to the bit over threads, over tcp and again") {
  for (const std::string_view name : compression_names()) {
    CAPTURE(name);
    const Curve curve = run(quick(name), digits(), Medium::threads);
    CHECK(text(run(quick(name), digits(), Medium::threads)) == text(curve));
    CHECK(text(run(quick(name), digits(), Medium::tcp)) == text(curve));
    CHECK(curve.back().accuracy > 0.7);
    CHECK(curve.back().loss < curve.front().loss);
  }
}

TEST_CASE("errors kept in the sketch are learnt from too") {
  TrainingSettings s = quick("gs_sgd");
  s.compression.memory = ErrorMemory::sketch;
  s.compression.k = Amount::of_all(0.02);
  CHECK(run(s, digits(), Medium::threads).back().accuracy > 0.7);
}

TEST_CASE("another seed trains otherwise") {
  TrainingSettings other = quick("gtopk");
  other.seed = 2;
  CHECK(text(run(other, digits(), Medium::threads)) != text(run(quick("gtopk"), digits(), Medium::threads)));
}

TEST_CASE("sending everything trains as dense does, whatever the compression") {
  TrainingSettings dense = quick("dense");
  dense.allreduce.ranks = 2;  // a sum of two is the same in any order
  const Curve expected = run(dense, digits(), Medium::threads);
  for (const std::string_view name : {"gs_sgd", "gtopk", "sketched_sgd", "topk_allgather"}) {
    CAPTURE(name);
    TrainingSettings all = dense;
    all.compression.name = name;
    all.compression.k = Amount::of_all(1);
    const Curve curve = run(all, digits(), Medium::threads);
    for (std::size_t e = 0; e < curve.size(); ++e) {
      CHECK(curve[e].loss == expected[e].loss);
      CHECK(curve[e].accuracy == expected[e].accuracy);
    }
  }
}

TEST_CASE("learning rates share the epochs, and the density warms up") {
  TrainingSettings s = quick("gtopk");
  s.epochs = 7;
  std::vector<double> rates;
  std::vector<std::int64_t> sent;
  for (int e = 0; e < s.epochs; ++e) {
    rates.push_back(learning_rate(s, e));
    sent.push_back(density(s, e, 10'000).count);
  }
  CHECK(rates == std::vector<double>{0.1, 0.1, 0.1, 0.03, 0.03, 0.01, 0.01});
  CHECK(sent == std::vector<std::int64_t>{2500, 725, 500, 500, 500, 500, 500});  // k is 5 %
  s.warm_up.clear();
  CHECK(density(s, 0, 10'000).count == 500);
  s = quick("gs_sgd");
  s.compression.memory = ErrorMemory::sketch;
  CHECK(density(s, 0, 10'000).count == 500);
}

TEST_CASE("a gradient that is not finite ends the training with its tensor and rank") {
  Digits spoilt = digits();
  for (std::size_t image = 0; image < spoilt.training.count(); ++image)
    spoilt.training.values[image * Images::pixels] = std::numeric_limits<float>::quiet_NaN();
  for (const Medium medium : {Medium::threads, Medium::tcp})
    CHECK_THROWS_WITH_AS(run(quick("gs_sgd"), spoilt, medium), doctest::Contains(": tensor \"layer0.weight\" of the gradient has "),
                         RunError);
}

TEST_CASE("what cannot be trained is refused, all at once") {
  CHECK(lines(quick("gs_sgd")) == "");
  TrainingSettings s = quick("gs_sgd");
  s.epochs = 0;
  s.batch = 1000;
  s.hidden = {0};
  s.learning_rates = {std::numeric_limits<double>::quiet_NaN()};
  s.warm_up = {1.5};
  CHECK(lines(s) ==
        "--epochs: must be 1 to 10000, got 0\n"
        "--batch: must be 1 to 479, got 1000\n"
        "--hidden: must be 1 to 4096, got 0\n"
        "--learning-rates: must be more than 0 and at most 100, got nan\n"
        "--warm-up: must be more than 0 and at most 1, got 1.5");
  s = quick("gtop");
  s.compression.k = Amount::exactly(0);
  CHECK(lines(s) ==
        "--compression: unknown compression \"gtop\", must be one of gs_sgd, gtopk, sketched_sgd, topk_allgather, dense (did you mean "
        "\"gtopk\"?)\n"
        "--k: must be at least 1, got 0");
  s = quick("dense");
  s.allreduce = {.algorithm = "rin", .ranks = 65};
  CHECK(lines(s).find("--ranks: must be 1 to 64, got 65") != std::string::npos);
}

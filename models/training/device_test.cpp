#include "models/training/read.hpp"

#include <fstream>
#include <numeric>
#include <sstream>

#include <doctest/doctest.h>

namespace weft {
namespace {

DeviceProfile device(const std::string& name) {
  std::ifstream file(std::string(WEFT_DEVICES_DIR "/") + name + ".json");
  REQUIRE(file.good());
  std::stringstream text;
  text << file.rdbuf();
  return read_device(text.str(), name);
}

double samples_per_second(const Model& model, const std::string& on, const ComputeRequest& request) {
  return request.batch / compute_times(model, device(on), request).total().seconds();
}

}  // namespace

TEST_CASE("devices: profiles give the throughput that they were calibrated on, within 5 %") {
  const Model resnet = known_model("resnet50"), bert = known_model("bert_large");
  using O = Optimizer;
  CHECK(samples_per_second(resnet, "v100", {128, "float32", O::sgd_momentum}) == doctest::Approx(356).epsilon(0.05));
  CHECK(samples_per_second(resnet, "v100", {256, "float16", O::sgd_momentum}) == doctest::Approx(1156).epsilon(0.05));
  CHECK(samples_per_second(bert, "v100", {8, "float32", O::adam}) == doctest::Approx(12).epsilon(0.05));
  CHECK(samples_per_second(bert, "v100", {16, "float16", O::adam}) == doctest::Approx(52).epsilon(0.05));
  CHECK(samples_per_second(resnet, "a100", {256, "tf32", O::sgd_momentum}) == doctest::Approx(938).epsilon(0.05));
  CHECK(samples_per_second(resnet, "a100", {256, "float16", O::sgd_momentum}) == doctest::Approx(2470).epsilon(0.05));
  CHECK(samples_per_second(bert, "a100", {32, "tf32", O::adam}) == doctest::Approx(61.5).epsilon(0.05));
  CHECK(samples_per_second(bert, "a100", {32, "float16", O::adam}) == doctest::Approx(110.5).epsilon(0.05));
}

TEST_CASE("devices: 3 x 3 convolutions of a V100 are calibrated on the backward pass of VGG-16 with batch normalisation") {
  const StepTimes t = compute_times(known_model("vgg16_bn"), device("v100"), {.batch = 32});
  CHECK(t.backward().seconds() == doctest::Approx(0.1116).epsilon(0.05));
}

TEST_CASE("devices: what was not calibrated on is met within 20 %") {
  const auto backward_ms = [](const char* model) {
    return compute_times(known_model(model), device("v100"), {.batch = 32}).backward().seconds() * 1e3;
  };
  // Backward at batch 32 on a V100 of a p3dn, with a synchronisation after each gradient (v100_backward_layer_times).
  CHECK(backward_ms("resnet50") == doctest::Approx(64.8).epsilon(0.2));
  CHECK(backward_ms("resnet101") == doctest::Approx(106.4).epsilon(0.2));
  // Pre-training at 128 tokens and batch 32: 50 sequences/s (BERT README, pytorch-21.11), 42 in pytorch-20.06.
  CHECK(samples_per_second(known_model("bert_large", {.sequence = 128}), "v100", {.batch = 32}) == doctest::Approx(46).epsilon(0.2));
  // Forward and backward of ResNet-101 at batch 128 on an H100: 29.8 + 51.8 ms with TF32, 21.8 + 28.4 with bfloat16 (h100_single).
  const auto h100_s = [](const char* dtype) {
    return compute_times(known_model("resnet101"), device("h100"), {128, dtype, Optimizer::none}).total().seconds();
  };
  CHECK(h100_s("tf32") == doctest::Approx(0.0816).epsilon(0.2));
  CHECK(h100_s("bfloat16") == doctest::Approx(0.0502).epsilon(0.2));
  // The same of transformers' GPT-2 at batch 8: 30.6 + 62.0 ms with TF32.
  CHECK(compute_times(known_model("gpt2"), device("h100"), {8, "tf32", Optimizer::none}).total().seconds() ==
        doctest::Approx(0.0926).epsilon(0.2));
}

TEST_CASE("devices: a layer costs its launches, its FLOPs and its traffic, to the picosecond") {
  Model m{.name = "m", .sample = "", .source = "", .layers = {}};
  m.layers.push_back({.name = "a", .kind = LayerKind::convolution, .tensors = {{"weight", 1'000'000}}});
  m.layers[0].forward_flops = 1e9;
  m.layers[0].backward_flops = 2e9;
  m.layers[0].forward_elements = 1e6;
  const DeviceProfile d{.name = "d",
                        .rates = {{"float32", {.peak_flops = 1e13, .convolution = 0.5}}},
                        .memory_bandwidth = 800_GBps,
                        .memory_efficiency = 0.5,
                        .launch = 3_us};
  const StepTimes t = compute_times(m, d, {.batch = 10});
  CHECK(t.layers[0].forward == 3_us + 2_ms + 100_us + 10_us);  // 1e10 / 5e12; 4e7 bytes / 400 GB/s; 1e6 parameters, 4 bytes each
  CHECK(t.layers[0].backward == 3_us + 4_ms + 20_us);          // parameters are read and their gradients written
  CHECK(t.optimizer == 3_us + 50_us);                          // 20 MB / 400 GB/s
}

TEST_CASE("devices: what automatic mixed precision leaves in float32 moves four bytes an element, the rest two") {
  Model m{.name = "m", .sample = "", .source = "", .layers = {{.name = "a"}, {.name = "b"}}};
  for (Layer& l : m.layers) l.forward_elements = 1e6;
  m.layers[1].float32_elements = true;
  const DeviceProfile d{.name = "d",
                        .rates = {{"float32", {.peak_flops = 1e13}}, {"bfloat16", {.peak_flops = 1e14}}},
                        .memory_bandwidth = 400_GBps,
                        .memory_efficiency = 1};
  const StepTimes half = compute_times(m, d, {.batch = 10, .dtype = "bfloat16"}), full = compute_times(m, d, {.batch = 10});
  CHECK(half.layers[0].forward == 50_us);  // 2e7 bytes / 400 GB/s
  CHECK(half.layers[1].forward == 100_us);
  // Parameters of products: 4 bytes read forward, 8 read and written backward; converted from and to float32 it is 8 and 10.
  m.layers[0] = {.name = "a", .kind = LayerKind::matrix_product, .tensors = {{"weight", 1'000'000}}};
  const StepTimes product = compute_times(m, d, {.batch = 10, .dtype = "bfloat16"});
  CHECK(product.layers[0].forward == 20_us);
  CHECK(product.layers[0].backward == 25_us);
  CHECK(full.layers[0].forward == 100_us);
  CHECK(full.layers[1].forward == 100_us);
}

TEST_CASE("devices: more samples take longer, and longer than in proportion never") {
  const Model m = known_model("vgg16");
  const DeviceProfile d = device("a100");
  SimTime before;
  for (int batch = 1; batch <= 64; batch *= 2) {
    const SimTime now = compute_times(m, d, {batch, "tf32"}).total();
    CHECK(now > before);
    if (batch > 1) CHECK(now <= 2 * before);
    before = now;
  }
}

TEST_CASE("devices: a request that the profile cannot serve is refused") {
  const Model m = known_model("resnet50");
  CHECK_THROWS_WITH_AS(compute_times(m, device("v100"), {.batch = 0}), "batch: must be at least 1, got 0", InputError);
  CHECK_THROWS_WITH_AS(compute_times(m, device("v100"), {.batch = 2'000'000'000}),
                       "a step of 2000000000 samples of resnet50 on v100 takes longer than 1000000 s, the most that is simulated",
                       InputError);
  CHECK_THROWS_WITH_AS(compute_times(m, device("v100"), {.dtype = "tf32"}), "device v100: no rates for \"tf32\"; it has float16, float32",
                       InputError);
}

TEST_CASE("devices: every number of the profiles has a source") {
  for (const char* name : {"v100", "a100", "h100", "h200"}) {
    const DeviceProfile d = device(name);
    CHECK(d.sources.size() == 3 + 4 * d.rates.size() + d.kernels.size());
    for (const auto& [place, source] : d.sources) CHECK(!source.empty());
  }
}

TEST_CASE("stragglers: slowdowns follow from seed, rank and step, and have the mean asked for") {
  double sum = 0;
  for (int rank = 0; rank < 100; ++rank)
    for (int step = 0; step < 100; ++step) sum += slowdown(7, rank, step, 0.1);
  CHECK(sum / 10'000 == doctest::Approx(1.1).epsilon(0.005));
  CHECK(slowdown(7, 3, 4, 0.1) == slowdown(7, 3, 4, 0.1));
  CHECK(slowdown(7, 3, 4, 0.1) != slowdown(7, 4, 3, 0.1));
  CHECK(slowdown(7, 3, 4, 0) == 1);
}

}  // namespace weft

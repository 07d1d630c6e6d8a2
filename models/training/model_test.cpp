#include "models/training/model.hpp"

#include <algorithm>

#include <doctest/doctest.h>

namespace weft {

TEST_CASE("models: parameters and tensors are those of the published networks, to the last one") {
  struct Published {
    const char* name;
    std::int64_t parameters;
    int tensors;
  };
  // torchvision's documentation (num_params), Hugging Face's bert-large-uncased, gpt2 and gpt2-xl; the Transformer is its definition.
  for (const Published& p : {Published{"alexnet", 61'100'840, 16},
                             {"vgg13", 133'047'848, 26},
                             {"vgg16", 138'357'544, 32},
                             {"vgg16_bn", 138'365'992, 58},
                             {"vgg16_cifar", 14'728'266, 54},
                             {"resnet20", 269'722, 59},
                             {"resnet50", 25'557'032, 161},
                             {"resnet101", 44'549'160, 314},
                             {"resnext101_32x4d", 44'177'704, 314},  // pytorch-image-models: 44.18 M
                             {"densenet121", 7'978'856, 364},
                             {"inception_v3", 27'161'264, 292},
                             {"bert_large", 335'141'888, 391},
                             {"gpt2", 124'439'808, 148},
                             {"gpt2_xl", 1'557'611'200, 580},
                             {"transformer_base", 63'082'496, 253}}) {
    CAPTURE(p.name);
    const Model m = known_model(p.name);
    CHECK(m.parameters() == p.parameters);
    CHECK(m.tensors() == p.tensors);
    CHECK(problems(m).empty());
  }
}

TEST_CASE("models: forward work is the published one") {
  // torchvision's documentation counts multiply-adds (GFLOPS there). A multiply-add is two FLOPs.
  CHECK(known_model("alexnet").forward_flops() / 2 == doctest::Approx(0.71e9).epsilon(0.01));
  CHECK(known_model("densenet121").forward_flops() / 2 == doctest::Approx(2.83e9).epsilon(0.005));
  CHECK(known_model("inception_v3").forward_flops() / 2 == doctest::Approx(5.71e9).epsilon(0.005));  // without the auxiliary classifier
  CHECK(known_model("vgg16").forward_flops() / 2 == doctest::Approx(15.47e9).epsilon(0.005));
  CHECK(known_model("resnet50").forward_flops() / 2 == doctest::Approx(4.09e9).epsilon(0.005));
  CHECK(known_model("resnet101").forward_flops() / 2 == doctest::Approx(7.80e9).epsilon(0.005));
  // He et al. state 0.27 M parameters for ResNet-20, and its 41 M multiply-adds are counted by many; VGG-16 has 313 M at 32 x 32.
  CHECK(known_model("resnet20").forward_flops() / 2 == doctest::Approx(40.6e6).epsilon(0.02));
  CHECK(known_model("vgg16_cifar").forward_flops() / 2 == doctest::Approx(313e6).epsilon(0.01));
  // AIACC: 232 G, which are the products with parameters at 384 tokens; the scores add 2 x 2 x 384^2 x 1024 x 24 = 14.5 G.
  CHECK(known_model("bert_large").forward_flops() == doctest::Approx(232e9 + 14.5e9).epsilon(0.002));
  // Two FLOPs a token and parameter of the products, twice as many for the 50,257 rows of the output, which are no multiple of 8, and
  // 4 x width a pair of tokens and layer.
  const double products = 2.0 * 1024 * (1475e6 + 2 * 80.4e6), scores = 4.0 * 1600 * 1024 * 1024 * 48;
  CHECK(known_model("gpt2_xl").forward_flops() == doctest::Approx(products + scores).epsilon(0.005));
}

TEST_CASE("models: backward is twice forward, but for the gradient of the image that nobody asks for") {
  const Model m = known_model("resnet50");
  CHECK(m.backward_flops() == doctest::Approx(2 * m.forward_flops() - m.layers.front().forward_flops));
}

TEST_CASE("models: convolutions of narrow groups cost whole tiles of 32 channels") {
  // Of ResNeXt-101's stages only the last has groups of 32 channels: 8, 4 and 2 times as much is computed in the others.
  const Model m = known_model("resnext101_32x4d");
  const auto flops = [&](const char* name) { return std::ranges::find(m.layers, name, &Layer::name)->forward_flops; };
  CHECK(flops("layer1.1.conv2") == 8 * 2.0 * 56 * 56 * 128 * 4 * 9);
  CHECK(flops("layer4.1.conv2") == 2.0 * 7 * 7 * 1024 * 32 * 9);
}

TEST_CASE("models: BERT-Large's encoder has the parameters that AIACC counts") {
  std::int64_t encoder = 0;
  for (const Layer& l : known_model("bert_large").layers)
    if (l.name.starts_with("encoder.")) encoder += l.parameters();
  CHECK(encoder == 302'309'376);  // 302.2 M in the paper
}

TEST_CASE("models: gradients are those of PyTorch, in the order of registration") {
  const auto all = gradients(known_model("resnet50"), 4_B);
  REQUIRE(all.size() == 161);
  CHECK(all.front().name == "conv1.weight");
  CHECK(all.front().size == Bytes{37'632});
  CHECK(all[1].name == "bn1.weight");
  // The first three that backward brings, as measured on a V100 (v100_backward_layer_times).
  CHECK(all[160].size == Bytes{4'000});
  CHECK(all[159].size == Bytes{8'192'000});
  CHECK(all[158].size == Bytes{8'192});
  CHECK(gradients(known_model("resnet50"), 2_B)[159].size == Bytes{4'096'000});
}

TEST_CASE("models: sequences are of a length that the network takes") {
  CHECK(known_model("bert_large", {.sequence = 128}).forward_flops() < known_model("bert_large").forward_flops() / 2.9);
  CHECK_THROWS_WITH_AS(known_model("bert_large", {.sequence = 513}), "sequence: must be between 1 and 512 tokens for bert_large, got 513",
                       InputError);
}

TEST_CASE("models: an unknown name is answered with the nearest one") {
  CHECK_THROWS_WITH_AS(known_model("resnet5"), doctest::Contains("there is no \"resnet5\" (did you mean \"resnet50\"?)"), InputError);
}

}  // namespace weft

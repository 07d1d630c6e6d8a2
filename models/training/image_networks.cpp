// Networks that classify images.
#include "models/training/layers.hpp"

#include <array>
#include <utility>

namespace weft {
namespace {

constexpr ImageNetwork::Shape cifar{.channels = 3, .height = 32, .width = 32};

// Convolutions of each stage.
using VggStages = std::array<int, 5>;
constexpr VggStages configuration_b{2, 2, 2, 2, 2}, configuration_d{2, 2, 3, 3, 3};

// Simonyan & Zisserman (ICLR 2015), as in torchvision: five stages of 3 x 3 convolutions.
void vgg_features(ImageNetwork& net, const VggStages& convolutions, bool batch_norm) {
  constexpr std::array<std::int64_t, 5> widths{64, 128, 256, 512, 512};
  int place = 0;
  for (std::size_t stage = 0; stage < widths.size(); ++stage) {
    const std::int64_t channels = widths[stage];
    for (int i = 0; i < convolutions[stage]; ++i) {
      net.convolution(fmt::format("features.{}", place++), {.out = channels, .kernel = 3, .bias = true});
      if (batch_norm) net.batch_norm(fmt::format("features.{}", place++));
      net.relu();
      ++place;
    }
    net.max_pool(2, 2);
    ++place;
  }
}

Model vgg_with(std::string name, const VggStages& convolutions, bool batch_norm) {
  ImageNetwork net(std::move(name), fmt::format("Simonyan & Zisserman, ICLR 2015, configuration {}; torchvision's layout",
                                                convolutions == configuration_b ? "B" : "D"));
  vgg_features(net, convolutions, batch_norm);
  for (const std::int64_t out : {4096, 4096, 1000}) {
    net.linear(fmt::format("classifier.{}", out == 1000 ? 6 : net.shape().elements() == 4096 ? 3 : 0), out);
    if (out == 1000) continue;
    net.relu();
    net.relu();  // the dropout, which reads and writes as much
  }
  return net.take();
}

constexpr const char* he_et_al = "He et al., CVPR 2016; torchvision's layout (v1.5)";

// He et al. (CVPR 2016) with the stride in the 3 x 3 convolution (v1.5), as in torchvision; with groups, Xie et al. (CVPR 2017).
struct Residual {
  std::string name, source;
  std::array<int, 4> blocks{};
  std::int64_t groups = 1, width = 64;  // of the first stage's 3 x 3 convolutions
};

Model resnet(const Residual& r) {
  ImageNetwork net(r.name, r.source);
  net.convolution("conv1", {.out = 64, .kernel = 7, .stride = 2});
  net.batch_norm("bn1");
  net.relu();
  net.max_pool(3, 2);
  for (int stage = 0; stage < 4; ++stage) {
    const std::int64_t width = r.width << stage, out = 256LL << stage;
    for (int block = 0; block < r.blocks[static_cast<std::size_t>(stage)]; ++block) {
      const std::string at = fmt::format("layer{}.{}.", stage + 1, block);
      const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      const ImageNetwork::Shape in = net.shape();
      net.convolution(at + "conv1", {.out = width});
      net.batch_norm(at + "bn1");
      net.relu();
      net.convolution(at + "conv2", {.out = width, .kernel = 3, .stride = stride, .groups = r.groups});
      net.batch_norm(at + "bn2");
      net.relu();
      net.convolution(at + "conv3", {.out = out});
      net.batch_norm(at + "bn3");
      if (block == 0) {
        net.go_back_to(in);
        net.convolution(at + "downsample.0", {.out = out, .stride = stride});
        net.batch_norm(at + "downsample.1");
      }
      net.residual_sum();
      net.relu();
    }
  }
  net.average_pool(1);
  net.linear("fc", 1000);
  return net.take();
}

// Huang et al. (CVPR 2017): in a dense block every layer reads what all before it made, and adds 32 channels.
void dense_layer(ImageNetwork& net, const std::string& at) {
  constexpr std::int64_t growth = 32;
  const ImageNetwork::Shape in = net.shape();
  net.batch_norm(at + "norm1");
  net.relu();
  net.convolution(at + "conv1", {.out = 4 * growth});
  net.batch_norm(at + "norm2");
  net.relu();
  net.convolution(at + "conv2", {.out = growth, .kernel = 3});
  net.concatenate(in.channels + growth);
}

// Szegedy et al. (CVPR 2016): branches of a block, and what each of its convolutions is followed by.
class Inception {
 public:
  explicit Inception(ImageNetwork& net) : net_(net) {}

  void begin(std::string block) {
    block_ = std::move(block);
    in_ = net_.shape();
    channels_ = 0;
  }
  void convolution(const std::string& name, const ImageNetwork::Convolution& c) {
    net_.convolution(block_ + name + ".conv", c);
    net_.batch_norm(block_ + name + ".bn");
    net_.relu();
  }
  // What the branch made is part of what the block makes; the next branch starts from `from`.
  void end_branch(ImageNetwork::Shape from) {
    channels_ += net_.shape().channels;
    out_ = net_.shape();
    net_.go_back_to(from);
  }
  void end_branch() { end_branch(in_); }
  void pooled(const std::string& name, std::int64_t out) {
    net_.average_around();
    convolution(name, {.out = out});
    end_branch();
  }
  void end() {
    net_.go_back_to(out_);
    net_.concatenate(channels_);
  }
  // One that makes the image smaller and ends in the maximum of the block's input.
  void end_with_maximum() {
    net_.max_pool(3, 2, false);
    end_branch();
    end();
  }

  void block_a(const std::string& block, std::int64_t pooled_out) {
    begin(block);
    convolution("branch1x1", {.out = 64}), end_branch();
    convolution("branch5x5_1", {.out = 48}), convolution("branch5x5_2", {.out = 64, .kernel = 5}), end_branch();
    convolution("branch3x3dbl_1", {.out = 64}), convolution("branch3x3dbl_2", {.out = 96, .kernel = 3});
    convolution("branch3x3dbl_3", {.out = 96, .kernel = 3}), end_branch();
    pooled("branch_pool", pooled_out);
    end();
  }
  void block_b(const std::string& block) {
    begin(block);
    convolution("branch3x3", {.out = 384, .kernel = 3, .stride = 2, .padding = 0}), end_branch();
    convolution("branch3x3dbl_1", {.out = 64}), convolution("branch3x3dbl_2", {.out = 96, .kernel = 3});
    convolution("branch3x3dbl_3", {.out = 96, .kernel = 3, .stride = 2, .padding = 0}), end_branch();
    end_with_maximum();
  }
  void block_c(const std::string& block, std::int64_t width) {
    begin(block);
    convolution("branch1x1", {.out = 192}), end_branch();
    convolution("branch7x7_1", {.out = width}), convolution("branch7x7_2", {.out = width, .kernel = 1, .width = 7});
    convolution("branch7x7_3", {.out = 192, .kernel = 7, .width = 1}), end_branch();
    convolution("branch7x7dbl_1", {.out = width}), convolution("branch7x7dbl_2", {.out = width, .kernel = 7, .width = 1});
    convolution("branch7x7dbl_3", {.out = width, .kernel = 1, .width = 7});
    convolution("branch7x7dbl_4", {.out = width, .kernel = 7, .width = 1});
    convolution("branch7x7dbl_5", {.out = 192, .kernel = 1, .width = 7}), end_branch();
    pooled("branch_pool", 192);
    end();
  }
  void block_d(const std::string& block) {
    begin(block);
    convolution("branch3x3_1", {.out = 192}), convolution("branch3x3_2", {.out = 320, .kernel = 3, .stride = 2, .padding = 0});
    end_branch();
    convolution("branch7x7x3_1", {.out = 192}), convolution("branch7x7x3_2", {.out = 192, .kernel = 1, .width = 7});
    convolution("branch7x7x3_3", {.out = 192, .kernel = 7, .width = 1});
    convolution("branch7x7x3_4", {.out = 192, .kernel = 3, .stride = 2, .padding = 0}), end_branch();
    end_with_maximum();
  }
  void block_e(const std::string& block) {
    begin(block);
    convolution("branch1x1", {.out = 320}), end_branch();
    convolution("branch3x3_1", {.out = 384});
    two_ways("branch3x3_2");
    convolution("branch3x3dbl_1", {.out = 448}), convolution("branch3x3dbl_2", {.out = 384, .kernel = 3});
    two_ways("branch3x3dbl_3");
    pooled("branch_pool", 192);
    end();
  }

 private:
  // A branch that forks at its end: 1 x 3 and 3 x 1.
  void two_ways(const std::string& name) {
    const ImageNetwork::Shape fork = net_.shape();
    convolution(name + "a", {.out = 384, .kernel = 1, .width = 3}), end_branch(fork);
    convolution(name + "b", {.out = 384, .kernel = 3, .width = 1});
    net_.concatenate(2 * 384);
    net_.go_back_to({384, fork.height, fork.width});
    end_branch();
  }

  ImageNetwork& net_;
  std::string block_;
  ImageNetwork::Shape in_, out_;
  std::int64_t channels_ = 0;
};

}  // namespace

// Krizhevsky (2014), "One weird trick", as in torchvision.
Model alexnet(const ModelOptions&) {
  ImageNetwork net("alexnet", "Krizhevsky, arXiv:1404.5997; torchvision's layout");
  net.convolution("features.0", {.out = 64, .kernel = 11, .stride = 4, .bias = true, .padding = 2});
  net.relu();
  net.max_pool(3, 2, false);
  net.convolution("features.3", {.out = 192, .kernel = 5, .bias = true});
  net.relu();
  net.max_pool(3, 2, false);
  for (const auto& [name, out] : {std::pair{"features.6", 384}, {"features.8", 256}, {"features.10", 256}}) {
    net.convolution(name, {.out = out, .kernel = 3, .bias = true});
    net.relu();
  }
  net.max_pool(3, 2, false);
  net.relu();  // the dropout, which reads and writes as much
  net.linear("classifier.1", 4096);
  net.relu();
  net.relu();
  net.linear("classifier.4", 4096);
  net.relu();
  net.linear("classifier.6", 1000);
  return net.take();
}

Model vgg13(const ModelOptions&) { return vgg_with("vgg13", configuration_b, false); }
Model vgg16(const ModelOptions&) { return vgg_with("vgg16", configuration_d, false); }
Model vgg16_bn(const ModelOptions&) { return vgg_with("vgg16_bn", configuration_d, true); }

// For the 32 x 32 images of CIFAR-10, whose features one small layer classifies: what papers on compression train.
Model vgg16_cifar(const ModelOptions&) {
  ImageNetwork net("vgg16_cifar",
                   "Simonyan & Zisserman, ICLR 2015, configuration D; with batch normalisation and one classifier for CIFAR-10", cifar);
  vgg_features(net, configuration_d, true);
  net.linear("classifier", 10);
  return net.take();
}

// He et al. (CVPR 2016), section 4.2: 6n + 2 layers with n = 3, shortcuts without parameters (option A).
Model resnet20(const ModelOptions&) {
  ImageNetwork net("resnet20", "He et al., CVPR 2016, section 4.2, for CIFAR-10", cifar);
  net.convolution("conv1", {.out = 16, .kernel = 3});
  net.batch_norm("bn1");
  net.relu();
  for (int stage = 0; stage < 3; ++stage)
    for (int block = 0; block < 3; ++block) {
      const std::string at = fmt::format("layer{}.{}.", stage + 1, block);
      const std::int64_t width = 16LL << stage;
      net.convolution(at + "conv1", {.out = width, .kernel = 3, .stride = stage > 0 && block == 0 ? 2 : 1});
      net.batch_norm(at + "bn1");
      net.relu();
      net.convolution(at + "conv2", {.out = width, .kernel = 3});
      net.batch_norm(at + "bn2");
      net.residual_sum();
      net.relu();
    }
  net.average_pool(1);
  net.linear("linear", 10);
  return net.take();
}

Model resnet50(const ModelOptions&) { return resnet({"resnet50", he_et_al, {3, 4, 6, 3}}); }
Model resnet101(const ModelOptions&) { return resnet({"resnet101", he_et_al, {3, 4, 23, 3}}); }
Model resnext101_32x4d(const ModelOptions&) {
  return resnet({"resnext101_32x4d", "Xie et al., CVPR 2017, 32 x 4d; torchvision's layout", {3, 4, 23, 3}, 32, 128});
}

Model densenet121(const ModelOptions&) {
  ImageNetwork net("densenet121", "Huang et al., CVPR 2017; torchvision's layout");
  net.convolution("features.conv0", {.out = 64, .kernel = 7, .stride = 2});
  net.batch_norm("features.norm0");
  net.relu();
  net.max_pool(3, 2);
  constexpr std::array<int, 4> layers{6, 12, 24, 16};
  for (std::size_t block = 0; block < layers.size(); ++block) {
    for (int layer = 0; layer < layers[block]; ++layer)
      dense_layer(net, fmt::format("features.denseblock{}.denselayer{}.", block + 1, layer + 1));
    const std::string next = block + 1 < layers.size() ? fmt::format("features.transition{}.norm", block + 1) : "features.norm5";
    net.batch_norm(next);
    net.relu();
    if (block + 1 == layers.size()) break;
    net.convolution(fmt::format("features.transition{}.conv", block + 1), {.out = net.shape().channels / 2});
    net.average_pool(net.shape().height / 2);
  }
  net.average_pool(1);
  net.linear("classifier", 1000);
  return net.take();
}

// Its auxiliary classifier is there in training.
Model inception_v3(const ModelOptions&) {
  ImageNetwork net("inception_v3", "Szegedy et al., CVPR 2016; torchvision's layout", {.channels = 3, .height = 299, .width = 299});
  Inception blocks(net);
  blocks.begin("");
  blocks.convolution("Conv2d_1a_3x3", {.out = 32, .kernel = 3, .stride = 2, .padding = 0});
  blocks.convolution("Conv2d_2a_3x3", {.out = 32, .kernel = 3, .padding = 0});
  blocks.convolution("Conv2d_2b_3x3", {.out = 64, .kernel = 3});
  net.max_pool(3, 2, false);
  blocks.convolution("Conv2d_3b_1x1", {.out = 80});
  blocks.convolution("Conv2d_4a_3x3", {.out = 192, .kernel = 3, .padding = 0});
  net.max_pool(3, 2, false);
  blocks.block_a("Mixed_5b.", 32);
  blocks.block_a("Mixed_5c.", 64);
  blocks.block_a("Mixed_5d.", 64);
  blocks.block_b("Mixed_6a.");
  blocks.block_c("Mixed_6b.", 128);
  blocks.block_c("Mixed_6c.", 160);
  blocks.block_c("Mixed_6d.", 160);
  blocks.block_c("Mixed_6e.", 192);
  const ImageNetwork::Shape trunk = net.shape();
  net.average_pool(5);
  blocks.begin("AuxLogits.");
  blocks.convolution("conv0", {.out = 128});
  blocks.convolution("conv1", {.out = 768, .kernel = 5, .padding = 0});
  net.linear("AuxLogits.fc", 1000);
  net.go_back_to(trunk);
  blocks.block_d("Mixed_7a.");
  blocks.block_e("Mixed_7b.");
  blocks.block_e("Mixed_7c.");
  net.average_pool(1);
  net.linear("fc", 1000);
  return net.take();
}

}  // namespace weft

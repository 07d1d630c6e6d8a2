// Building layer tables: each function adds what PyTorch's module of that name computes.
#pragma once

#include "models/training/model.hpp"

namespace weft {

// Follows the shape of an image through a network. Operations without parameters belong to the layer before them.
class ImageNetwork {
 public:
  struct Shape {
    std::int64_t channels = 3, height = 224, width = 224;
    double elements() const { return static_cast<double>(channels * height * width); }
  };
  struct Convolution {
    std::int64_t out = 0, kernel = 1, stride = 1;
    bool bias = false;
    std::int64_t width = 0;                    // of the kernel; 0: as its height
    std::optional<std::int64_t> padding = {};  // on every side; none: half a kernel, so that only the stride makes it smaller
    std::int64_t groups = 1;
  };

  ImageNetwork(std::string name, std::string source, Shape image);
  ImageNetwork(std::string name, std::string source) : ImageNetwork(std::move(name), std::move(source), Shape{}) {}
  void convolution(const std::string& layer, const Convolution& c);
  void batch_norm(const std::string& layer);
  void relu();
  void max_pool(std::int64_t kernel, std::int64_t stride, bool padded = true);  // by half an odd kernel
  void average_pool(std::int64_t side);                                         // to side x side
  void average_around();                                                        // each element: pooling that keeps the shape
  void linear(const std::string& layer, std::int64_t out);
  void residual_sum();
  void concatenate(std::int64_t channels);  // branches that have so many in all

  Shape shape() const { return shape_; }
  void go_back_to(Shape shape) { shape_ = shape; }  // a shortcut or a branch starts where its block did
  Model take() { return std::move(model_); }

 private:
  // Kernels and passes over memory of what is done elementwise to the last layer's output.
  struct Passes {
    double forward = 0, backward = 0;
  };
  void elementwise(double elements, Passes passes);

  Model model_;
  Shape shape_;
};

// Layers of a sequence of tokens.
class TokenNetwork {
 public:
  TokenNetwork(std::string name, std::string sample, std::string source);
  // A matrix product with bias over `tokens`; `passes` elementwise operations follow (an activation, a dropout, a residual sum).
  struct Linear {
    std::int64_t in = 0, out = 0, tokens = 0;
    int elementwise = 0;
  };
  void linear(const std::string& layer, const Linear& l);
  // Scores, softmax and weighted sum of `heads` heads over queries x keys; no parameters.
  struct Attention {
    std::int64_t width = 0, heads = 0, queries = 0, keys = 0;
  };
  void attention(const std::string& layer, const Attention& a);
  void layer_norm(const std::string& layer, std::int64_t width, std::int64_t tokens);
  // GELU by its approximation with tanh, an operator after another as transformers' GPT-2 has it: x/2 (1 + tanh(c (x + 0.044715 x^3))).
  void gelu_of_operators(const std::string& layer, std::int64_t width, std::int64_t tokens);
  // Look-ups in tables of so many rows.
  void embedding(const std::string& layer, const std::vector<ParameterTensor>& tables, std::int64_t width, std::int64_t tokens);
  // The product with a table of embeddings, which has no parameters of its own, and the softmax over its rows: at half the rate of
  // other products where they are no multiple of 8.
  void tied_output(const std::string& layer, std::int64_t width, std::int64_t rows, std::int64_t tokens);
  Model take() { return std::move(model_); }

 private:
  Model model_;
};

Model alexnet(const ModelOptions&);
Model vgg13(const ModelOptions&);
Model vgg16(const ModelOptions&);
Model vgg16_bn(const ModelOptions&);
Model vgg16_cifar(const ModelOptions&);
Model resnet20(const ModelOptions&);
Model resnet50(const ModelOptions&);
Model resnet101(const ModelOptions&);
Model resnext101_32x4d(const ModelOptions&);
Model densenet121(const ModelOptions&);
Model inception_v3(const ModelOptions&);
Model transformer_base(const ModelOptions&);
Model bert_large(const ModelOptions&);
Model gpt2(const ModelOptions&);
Model gpt2_xl(const ModelOptions&);

}  // namespace weft

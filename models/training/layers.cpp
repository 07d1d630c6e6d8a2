#include "models/training/layers.hpp"

#include <algorithm>

namespace weft {
namespace {

double product_flops(std::int64_t a, std::int64_t b, std::int64_t c) {
  return 2.0 * static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
}

double area(std::int64_t a, std::int64_t b) { return static_cast<double>(a) * static_cast<double>(b); }

}  // namespace

ImageNetwork::ImageNetwork(std::string name, std::string source, Shape image)
    : model_{.name = std::move(name),
             .sample = fmt::format("image of {} x {}", image.height, image.width),
             .source = std::move(source),
             .layers = {}},
      shape_(image) {}

// Libraries compute each group as a product of its own, in tiles of at least 32 of its output's channels.
constexpr std::int64_t min_tile = 32;

void ImageNetwork::convolution(const std::string& layer, const Convolution& c) {
  const Shape in = shape_;
  const std::int64_t width = c.width > 0 ? c.width : c.kernel;
  const auto side = [&](std::int64_t of, std::int64_t kernel) { return (of + 2 * c.padding.value_or(kernel / 2) - kernel) / c.stride + 1; };
  shape_ = {c.out, side(in.height, c.kernel), side(in.width, width)};
  const std::int64_t of_group = in.channels / c.groups * c.kernel * width;
  const std::int64_t computed = c.groups == 1 ? c.out : c.groups * std::max(min_tile, c.out / c.groups);
  const double flops = product_flops(computed, shape_.height * shape_.width, of_group);
  const bool winograd = c.kernel == 3 && width == 3 && c.stride == 1 && c.groups == 1;
  Layer l{.name = layer, .kind = winograd ? LayerKind::convolution_3x3 : LayerKind::convolution};
  l.tensors.push_back({"weight", c.out * of_group});
  l.forward_flops = flops;
  // Backward: the gradients of weights and of the input, each as much work as forward. Nobody asks for that of the image.
  l.backward_kernels = model_.layers.empty() ? 1 : 2;
  l.backward_flops = l.backward_kernels * flops;
  if (c.bias) l.tensors.push_back({"bias", c.out});
  model_.layers.push_back(std::move(l));
}

// Training: one pass over the input for mean and variance, one to normalise (read and write). Backward: sums over input and
// gradient, then both are read again and the input's gradient is written.
void ImageNetwork::batch_norm(const std::string& layer) {
  model_.layers.push_back({.name = layer, .tensors = {{"weight", shape_.channels}, {"bias", shape_.channels}}});
  model_.layers.back().forward_elements = 3 * shape_.elements();
  model_.layers.back().backward_elements = 5 * shape_.elements();
}

void ImageNetwork::elementwise(double elements, Passes passes) {
  Layer& last = model_.layers.back();
  last.forward_elements += passes.forward * elements;
  last.backward_elements += passes.backward * elements;
  ++last.forward_kernels;
  ++last.backward_kernels;
}

void ImageNetwork::relu() { elementwise(shape_.elements(), {.forward = 2, .backward = 3}); }
void ImageNetwork::residual_sum() { elementwise(shape_.elements(), {.forward = 3, .backward = 3}); }

// Forward copies them; backward adds each branch's slice to what its other readers ask for.
void ImageNetwork::concatenate(std::int64_t channels) {
  shape_.channels = channels;
  elementwise(shape_.elements(), {.forward = 2, .backward = 3});
}

void ImageNetwork::max_pool(std::int64_t kernel, std::int64_t stride, bool padded) {
  const Shape in = shape_;
  const std::int64_t padding = padded ? kernel / 2 * (kernel % 2) : 0;
  shape_.height = (in.height + 2 * padding - kernel) / stride + 1;
  shape_.width = (in.width + 2 * padding - kernel) / stride + 1;
  // Backward fills the input's gradient with zeros before it adds to it.
  elementwise(in.elements() + shape_.elements(), {.forward = 1, .backward = 2});
}

void ImageNetwork::average_pool(std::int64_t side) {
  elementwise(shape_.elements(), {.forward = 1, .backward = 1});
  shape_.height = shape_.width = side;
}

void ImageNetwork::average_around() { elementwise(shape_.elements(), {.forward = 2, .backward = 2}); }

void ImageNetwork::linear(const std::string& layer, std::int64_t out) {
  const auto in = static_cast<std::int64_t>(shape_.elements());
  Layer l{.name = layer, .kind = LayerKind::matrix_product, .tensors = {{"weight", out * in}, {"bias", out}}};
  l.forward_flops = product_flops(1, out, in);
  l.backward_flops = 2 * l.forward_flops;
  l.backward_kernels = 3;
  model_.layers.push_back(std::move(l));
  shape_ = {out, 1, 1};
}

TokenNetwork::TokenNetwork(std::string name, std::string sample, std::string source)
    : model_{.name = std::move(name), .sample = std::move(sample), .source = std::move(source), .layers = {}} {}

void TokenNetwork::linear(const std::string& layer, const Linear& l) {
  Layer added{.name = layer, .kind = LayerKind::matrix_product, .tensors = {{"weight", l.out * l.in}, {"bias", l.out}}};
  added.forward_flops = product_flops(l.tokens, l.out, l.in);
  added.backward_flops = 2 * added.forward_flops;
  // The bias is added in a pass of its own and its gradient summed in another.
  added.forward_elements = area(l.out, l.tokens) * (2 + 2.5 * l.elementwise);
  added.backward_elements = area(l.out, l.tokens) * (1 + 2.5 * l.elementwise);
  added.forward_kernels = 2 + l.elementwise;
  added.backward_kernels = 3 + l.elementwise;
  model_.layers.push_back(std::move(added));
}

// The products are of each head; scaling, masking, softmax and dropout pass over the scores one after another.
void TokenNetwork::attention(const std::string& layer, const Attention& a) {
  Layer added{.name = layer, .kind = LayerKind::matrix_product};
  added.forward_flops = 2 * product_flops(a.queries, a.keys, a.width);
  added.backward_flops = 2 * added.forward_flops;
  const double scores = area(a.queries, a.keys) * static_cast<double>(a.heads);
  added.forward_elements = 8 * scores;
  added.backward_elements = 7 * scores;
  added.forward_kernels = 6;
  added.backward_kernels = 7;
  model_.layers.push_back(std::move(added));
}

void TokenNetwork::layer_norm(const std::string& layer, std::int64_t width, std::int64_t tokens) {
  model_.layers.push_back({.name = layer, .tensors = {{"weight", width}, {"bias", width}}});
  model_.layers.back().forward_elements = 2 * area(width, tokens);
  model_.layers.back().backward_elements = 4 * area(width, tokens);
  model_.layers.back().backward_kernels = 2;
  model_.layers.back().float32_elements = true;
}

// Forward: power, product, sum, product, tanh, sum and two products, of which two have two inputs and six one: 8 kernels with 18 passes.
// Backward: two products and tanh with two inputs, three products with one, the power's derivative (a power, a product with one input
// and one with two), and two sums of what reaches x: 11 kernels with 3 x 3 + 3 x 2 + 7 + 2 x 3 = 28 passes. Automatic mixed precision has
// powers in float32, and so all that follows from them.
void TokenNetwork::gelu_of_operators(const std::string& layer, std::int64_t width, std::int64_t tokens) {
  model_.layers.push_back({.name = layer});
  Layer& added = model_.layers.back();
  added.forward_elements = 18 * area(width, tokens);
  added.backward_elements = 28 * area(width, tokens);
  added.forward_kernels = 8;
  added.backward_kernels = 11;
  added.float32_elements = true;
}

void TokenNetwork::embedding(const std::string& layer, const std::vector<ParameterTensor>& tables, std::int64_t width,
                             std::int64_t tokens) {
  model_.layers.push_back({.name = layer, .tensors = tables});
  const auto n = static_cast<int>(tables.size());
  model_.layers.back().forward_elements = 3.0 * n * area(width, tokens);
  model_.layers.back().backward_elements = 3.0 * n * area(width, tokens);
  model_.layers.back().forward_kernels = model_.layers.back().backward_kernels = 2 * n;
}

// A matrix whose rows are no multiple of so many elements long is not aligned in memory, and tensor cores multiply it at about half their
// rate: measured with GPT-2's 50,257 words on an H100 and an H200 (validation/data/h100_single, h200_single). Many implementations round
// that number up for this reason.
constexpr std::int64_t aligned = 8;

void TokenNetwork::tied_output(const std::string& layer, std::int64_t width, std::int64_t rows, std::int64_t tokens) {
  Layer added{.name = layer, .kind = LayerKind::matrix_product};
  const double at_half_rate = rows % aligned == 0 ? 1 : 2;
  added.forward_flops = at_half_rate * product_flops(tokens, rows, width);
  added.backward_flops = 2 * added.forward_flops;
  added.float32_elements = true;
  added.forward_elements = 3 * area(rows, tokens);
  added.backward_elements = 3 * area(rows, tokens);
  added.forward_kernels = added.backward_kernels = 3;
  model_.layers.push_back(std::move(added));
}

}  // namespace weft

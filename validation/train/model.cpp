#include "validation/train/model.hpp"

#include "kernels/base/hash.hpp"

#include <cmath>

#include <Eigen/Core>

namespace weft::train {
namespace {

using Matrix = Eigen::MatrixXf;
using Weights = Eigen::Map<const Matrix>;
using Bias = Eigen::Map<const Eigen::VectorXf>;

// Eigen cuts products by the size of the caches; fixed sizes fix the order of additions.
const bool caches_fixed = [] {
  Eigen::setCpuCacheSizes(32 << 10, 256 << 10, 2 << 20);
  return true;
}();

// Calls each(layer, offset of its weights, inputs, outputs).
template <class Each>
void for_each_layer(const std::vector<int>& widths, Each each) {
  std::size_t offset = 0;
  for (std::size_t layer = 0; layer + 1 < widths.size(); ++layer) {
    const int inputs = widths[layer], outputs = widths[layer + 1];
    each(layer, offset, inputs, outputs);
    offset += static_cast<std::size_t>(outputs) * static_cast<std::size_t>(inputs + 1);
  }
}

std::size_t bias_at(std::size_t offset, int inputs, int outputs) {
  return offset + static_cast<std::size_t>(inputs) * static_cast<std::size_t>(outputs);
}

Matrix inputs_of(const Images& images, std::span<const std::uint32_t> which) {
  Matrix out(Images::pixels, static_cast<Eigen::Index>(which.size()));
  for (std::size_t i = 0; i < which.size(); ++i)
    out.col(static_cast<Eigen::Index>(i)) =
        Eigen::Map<const Eigen::VectorXf>(images.values.data() + std::size_t{which[i]} * Images::pixels, Images::pixels);
  return out;
}

// What every layer puts out, the inputs first; of the last one before softmax.
std::vector<Matrix> forward(const std::vector<int>& widths, std::span<const float> parameters, Matrix inputs) {
  std::vector<Matrix> out = {std::move(inputs)};
  for_each_layer(widths, [&](std::size_t layer, std::size_t offset, int from, int to) {
    const Weights weights(parameters.data() + offset, to, from);
    const Bias bias(parameters.data() + bias_at(offset, from, to), to);
    Matrix next = (weights * out.back()).colwise() + bias;
    if (layer + 2 < widths.size()) next = next.cwiseMax(0.0f);
    out.push_back(std::move(next));
  });
  return out;
}

// The loss summed over the images; `scores` becomes its gradient.
double cross_entropy(Matrix& scores, const Images& images, std::span<const std::uint32_t> which) {
  double loss = 0;
  for (Eigen::Index i = 0; i < scores.cols(); ++i) {
    auto score = scores.col(i);
    const int label = images.labels[which[static_cast<std::size_t>(i)]];
    score.array() -= score.maxCoeff();
    double sum = 0;
    for (Eigen::Index c = 0; c < score.size(); ++c) sum += std::exp(double{score[c]});
    loss += std::log(sum) - double{score[label]};
    for (Eigen::Index c = 0; c < score.size(); ++c) score[c] = static_cast<float>(std::exp(double{score[c]}) / sum);
    score[label] -= 1;
  }
  return loss;
}

}  // namespace

Model::Model(const std::vector<int>& hidden, std::uint64_t seed) : widths_{Images::pixels} {
  check(caches_fixed, "the sizes of the caches are not fixed");
  widths_.insert(widths_.end(), hidden.begin(), hidden.end());
  widths_.push_back(Images::classes);
  std::uint64_t counter = mixed(seed);
  for_each_layer(widths_, [&](std::size_t, std::size_t offset, int inputs, int outputs) {
    parameters_.resize(bias_at(offset, inputs, outputs) + static_cast<std::size_t>(outputs));
    const double range = std::sqrt(6.0 / inputs);  // He et al. 2015; biases start at 0
    for (std::size_t i = offset; i < bias_at(offset, inputs, outputs); ++i) {
      const double uniform = static_cast<double>(mixed(counter += golden_ratio) >> 11) * 0x1p-53;
      parameters_[i] = static_cast<float>(range * (2 * uniform - 1));
    }
  });
}

std::vector<TensorShape> Model::tensors() const {
  std::vector<TensorShape> out;
  for_each_layer(widths_, [&](std::size_t layer, std::size_t, int inputs, int outputs) {
    out.push_back({fmt::format("layer{}.weight", layer), std::int64_t{inputs} * outputs});
    out.push_back({fmt::format("layer{}.bias", layer), outputs});
  });
  return out;
}

double Model::gradient(const Images& images, std::span<const std::uint32_t> which, std::span<float> out) const {
  const std::vector<Matrix> layers = forward(widths_, parameters_, inputs_of(images, which));
  Matrix delta = layers.back();
  const auto count = static_cast<double>(which.size());
  const double loss = cross_entropy(delta, images, which) / count;
  delta *= static_cast<float>(1 / count);
  std::vector<std::size_t> offsets;
  for_each_layer(widths_, [&](std::size_t, std::size_t offset, int, int) { offsets.push_back(offset); });
  for (std::size_t layer = offsets.size(); layer-- > 0;) {
    const int inputs = widths_[layer], outputs = widths_[layer + 1];
    Eigen::Map<Matrix>(out.data() + offsets[layer], outputs, inputs).noalias() = delta * layers[layer].transpose();
    Eigen::Map<Eigen::VectorXf>(out.data() + bias_at(offsets[layer], inputs, outputs), outputs) = delta.rowwise().sum();
    if (layer == 0) break;
    const Matrix back = Weights(parameters_.data() + offsets[layer], outputs, inputs).transpose() * delta;
    delta = (layers[layer].array() > 0).select(back, 0.0f);
  }
  return loss;
}

double Model::accuracy(const Images& images) const {
  std::vector<std::uint32_t> all(images.count());
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  const Matrix scores = forward(widths_, parameters_, inputs_of(images, all)).back();
  int right = 0;
  for (Eigen::Index i = 0; i < scores.cols(); ++i) {
    Eigen::Index best = 0;
    scores.col(i).maxCoeff(&best);
    right += best == images.labels[static_cast<std::size_t>(i)];
  }
  return right / static_cast<double>(images.count());
}

}  // namespace weft::train

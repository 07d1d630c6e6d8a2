#include "kernels/base/nearest_name.hpp"
#include "models/training/layers.hpp"

#include <algorithm>
#include <array>

namespace weft {
namespace {

// Four projections around one attention; PyTorch keeps query, key and value apart.
void attention_block(TokenNetwork& net, const std::string& at, const TokenNetwork::Attention& a) {
  net.linear(at + "query", {.in = a.width, .out = a.width, .tokens = a.queries});
  net.linear(at + "key", {.in = a.width, .out = a.width, .tokens = a.keys});
  net.linear(at + "value", {.in = a.width, .out = a.width, .tokens = a.keys});
  net.attention(at + "scores", a);
  net.linear(at + "output", {.in = a.width, .out = a.width, .tokens = a.queries, .elementwise = 2});
}

void feed_forward(TokenNetwork& net, const std::string& at, std::int64_t width, std::int64_t tokens) {
  net.linear(at + "intermediate", {.in = width, .out = 4 * width, .tokens = tokens, .elementwise = 1});
  net.linear(at + "output", {.in = 4 * width, .out = width, .tokens = tokens, .elementwise = 2});
}

std::int64_t sequence_or(const ModelOptions& options, std::int64_t usual) { return options.sequence > 0 ? options.sequence : usual; }

}  // namespace

// Vaswani et al. (2017), base: 6 + 6 layers of width 512 with 8 heads, one table of 37,000 embeddings for source, target and
// output. A sample is a pair of sentences, each of `sequence` tokens.
Model transformer_base(const ModelOptions& options) {
  constexpr std::int64_t width = 512, heads = 8, vocabulary = 37'000;
  const std::int64_t tokens = sequence_or(options, 256);
  TokenNetwork net("transformer_base", fmt::format("pair of sentences of {} tokens", tokens), "Vaswani et al., NeurIPS 2017, base model");
  const TokenNetwork::Attention self{.width = width, .heads = heads, .queries = tokens, .keys = tokens};
  net.embedding("embeddings", {{"weight", vocabulary * width}}, width, 2 * tokens);
  for (int i = 0; i < 6; ++i) {
    const std::string at = fmt::format("encoder.{}.", i);
    attention_block(net, at + "attention.", self);
    net.layer_norm(at + "attention.norm", width, tokens);
    feed_forward(net, at, width, tokens);
    net.layer_norm(at + "norm", width, tokens);
  }
  for (int i = 0; i < 6; ++i) {
    const std::string at = fmt::format("decoder.{}.", i);
    attention_block(net, at + "attention.", self);
    net.layer_norm(at + "attention.norm", width, tokens);
    attention_block(net, at + "cross_attention.", self);
    net.layer_norm(at + "cross_attention.norm", width, tokens);
    feed_forward(net, at, width, tokens);
    net.layer_norm(at + "norm", width, tokens);
  }
  net.tied_output("generator", width, vocabulary, tokens);
  return net.take();
}

// Devlin et al. (2019), large, uncased: 24 layers of width 1024 with 16 heads, the embeddings and the pooler. AIACC's 302.2 M are
// the encoder alone. 384 tokens (SQuAD) give the 232 GFLOPs that its paper states.
Model bert_large(const ModelOptions& options) {
  constexpr std::int64_t width = 1024, heads = 16;
  const std::int64_t tokens = sequence_or(options, 384);
  TokenNetwork net("bert_large", fmt::format("sequence of {} tokens", tokens), "Devlin et al., NAACL 2019, BERT-Large uncased");
  net.embedding("embeddings", {{"word", 30'522 * width}, {"position", 512 * width}, {"token_type", 2 * width}}, width, tokens);
  net.layer_norm("embeddings.norm", width, tokens);
  for (int i = 0; i < 24; ++i) {
    const std::string at = fmt::format("encoder.{}.", i);
    attention_block(net, at + "attention.", {.width = width, .heads = heads, .queries = tokens, .keys = tokens});
    net.layer_norm(at + "attention.norm", width, tokens);
    feed_forward(net, at, width, tokens);
    net.layer_norm(at + "norm", width, tokens);
  }
  net.linear("pooler", {.in = width, .out = width, .tokens = 1, .elementwise = 1});
  return net.take();
}

namespace {

struct Gpt2 {
  const char* name;
  const char* published;
  int layers;
  std::int64_t width, heads;
};

// Radford et al. (2019), table 2; heads have a width of 64. Query, key and value are one product. The operators
// are those of transformers' GPT2LMHeadModel.
Model gpt2_of(const Gpt2& of, const ModelOptions& options) {
  constexpr std::int64_t vocabulary = 50'257;
  const std::int64_t width = of.width, heads = of.heads, tokens = sequence_or(options, 1024);
  TokenNetwork net(of.name, fmt::format("sequence of {} tokens", tokens), fmt::format("Radford et al., 2019, GPT-2 {}", of.published));
  net.embedding("embeddings", {{"token", vocabulary * width}, {"position", 1024 * width}}, width, tokens);
  for (int i = 0; i < of.layers; ++i) {
    const std::string at = fmt::format("h.{}.", i);
    net.layer_norm(at + "ln_1", width, tokens);
    net.linear(at + "attn.c_attn", {.in = width, .out = 3 * width, .tokens = tokens});
    net.attention(at + "attn.scores", {.width = width, .heads = heads, .queries = tokens, .keys = tokens});
    net.linear(at + "attn.c_proj", {.in = width, .out = width, .tokens = tokens, .elementwise = 2});
    net.layer_norm(at + "ln_2", width, tokens);
    net.linear(at + "mlp.c_fc", {.in = width, .out = 4 * width, .tokens = tokens});
    net.gelu_of_operators(at + "mlp.act", 4 * width, tokens);
    net.linear(at + "mlp.c_proj", {.in = 4 * width, .out = width, .tokens = tokens, .elementwise = 2});
  }
  net.layer_norm("ln_f", width, tokens);
  net.tied_output("lm_head", width, vocabulary, tokens);
  return net.take();
}

}  // namespace

Model gpt2(const ModelOptions& options) {
  return gpt2_of({.name = "gpt2", .published = "124M", .layers = 12, .width = 768, .heads = 12}, options);
}

Model gpt2_xl(const ModelOptions& options) {
  return gpt2_of({.name = "gpt2_xl", .published = "1558M", .layers = 48, .width = 1600, .heads = 25}, options);
}

std::span<const KnownModel> known_models() {
  static constexpr std::array<KnownModel, 15> models{{
      {"alexnet", "AlexNet: 61.1 M parameters in 16 tensors, most of them in two layers", alexnet},
      {"vgg13", "VGG-13: 133.0 M parameters in 26 tensors", vgg13},
      {"vgg16", "VGG-16: 138.4 M parameters in 32 tensors, most of them in one layer", vgg16},
      {"vgg16_bn", "VGG-16 with batch normalisation: 138.4 M parameters in 58 tensors", vgg16_bn},
      {"vgg16_cifar", "VGG-16 with batch normalisation for CIFAR-10: 14.7 M parameters in 54 tensors", vgg16_cifar},
      {"resnet20", "ResNet-20 for CIFAR-10: 269,722 parameters in 59 tensors", resnet20},
      {"resnet50", "ResNet-50: 25.6 M parameters in 161 tensors", resnet50},
      {"resnet101", "ResNet-101: 44.5 M parameters in 314 tensors (the AIACC paper prints 29.4 M)", resnet101},
      {"resnext101_32x4d", "ResNeXt-101 (32 x 4d): 44.2 M parameters in 314 tensors", resnext101_32x4d},
      {"densenet121", "DenseNet-121: 8.0 M parameters in 364 tensors", densenet121},
      {"inception_v3", "Inception v3 with its auxiliary classifier: 27.2 M parameters in 292 tensors, images of 299 x 299", inception_v3},
      {"transformer_base", "Transformer, base: 63.1 M parameters with a shared vocabulary of 37,000 (published: about 65 M)",
       transformer_base},
      {"bert_large", "BERT-Large: 335.1 M parameters, of them 302.3 M in the encoder", bert_large},
      {"gpt2", "GPT-2, the smallest: 124.4 M parameters", gpt2},
      {"gpt2_xl", "GPT-2 XL: 1557.6 M parameters", gpt2_xl},
  }};
  return models;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const KnownModel& m : known_models()) names.emplace_back(m.name);
  return names;
}

Model known_model(std::string_view name, const ModelOptions& options) {
  const auto found = std::ranges::find(known_models(), name, &KnownModel::name);
  if (found == known_models().end()) {
    const auto nearest = nearest_name(name, model_names());
    throw InputError(fmt::format("model: there is no \"{}\"{}; known: {}, or a file with a table of layers", name,
                                 nearest ? fmt::format(" (did you mean \"{}\"?)", *nearest) : "", fmt::join(model_names(), ", ")));
  }
  const int most = name == "bert_large" ? 512 : name.starts_with("gpt2") ? 1024 : 1 << 20;
  if (options.sequence < 0 || options.sequence > most)
    throw InputError(fmt::format("sequence: must be between 1 and {} tokens for {}, got {}", most, name, options.sequence));
  return found->build(options);
}

}  // namespace weft

#include "models/training/read.hpp"

#include "kernels/base/json_problem.hpp"
#include "kernels/base/nearest_name.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>

#include <nlohmann/json.hpp>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

std::string shown(const Json& value) {
  const std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

// "1.2GFLOP": a decimal number, a prefix and the unit.
std::optional<double> parse_flops(std::string_view text, std::string_view unit) {
  if (!text.ends_with(unit)) return std::nullopt;
  text.remove_suffix(unit.size());
  double factor = 1;
  constexpr std::array<std::pair<char, double>, 5> prefixes{{{'k', 1e3}, {'M', 1e6}, {'G', 1e9}, {'T', 1e12}, {'P', 1e15}}};
  for (const auto& [letter, value] : prefixes)
    if (text.ends_with(letter)) {
      factor = value;
      text.remove_suffix(1);
      break;
    }
  while (text.ends_with(' ')) text.remove_suffix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number * factor;
}

// Collects what is wrong; every getter takes the place of its value and leaves `into` as it is when the value is bad.
class TrainingReader {
 public:
  explicit TrainingReader(std::string where) : where_(std::move(where)) {}

  template <class... Args>
  void wrong(const std::string& at, fmt::format_string<Args...> what, Args&&... args) {
    found_.push_back(fmt::format("{}: {}: {}", where_, at, fmt::format(what, std::forward<Args>(args)...)));
  }
  void add(const std::vector<Problem>& problems) {
    for (const Problem& p : problems) wrong(p.where, "{}", p.what);
  }
  bool none() const { return found_.empty(); }
  void refuse() const {
    if (!found_.empty()) throw InputError(found_);
  }

  Json parse(std::string_view text) { return json_of<Json>(text, where_ + ": "); }
  bool object(const Json& value, const std::string& at, const std::vector<std::string>& keys) {
    if (!value.is_object()) {
      wrong(at, "must be an object, got {}", shown(value));
      return false;
    }
    for (const auto& [key, unused] : value.items()) {
      if (std::ranges::find(keys, key) != keys.end()) continue;
      const auto nearest = nearest_name(key, keys);
      wrong(at + "/" + key, "unknown key{}; allowed: {}", nearest ? fmt::format(" (did you mean \"{}\"?)", *nearest) : "",
            fmt::join(keys, ", "));
    }
    return true;
  }
  const Json* member(const Json& object, const std::string& at, const char* key, bool required) {
    const auto found = object.find(key);
    if (found != object.end()) return &*found;
    if (required) wrong(at + "/" + key, "is missing");
    return nullptr;
  }
  void text(const Json& object, const std::string& at, const char* key, std::string& into, bool required = false) {
    const Json* value = member(object, at, key, required);
    if (!value) return;
    if (value->is_string())
      into = value->get<std::string>();
    else
      wrong(at + "/" + key, "must be a string, got {}", shown(*value));
  }
  template <class Integer>
  void integer(const Json& value, const std::string& at, Integer& into) {
    if (!value.is_number_integer() || value.get<double>() > 9e15 || value.get<double>() < -9e15)
      return wrong(at, "must be a whole number, got {}", shown(value));
    const auto number = value.get<std::int64_t>();
    if (!std::in_range<Integer>(number)) return wrong(at, "is too large: {}", number);
    into = static_cast<Integer>(number);
  }
  void schema(const Json& root) {
    const Json* value = member(root, "", "schema", true);
    if (value && *value != 1) wrong("/schema", "must be 1, got {}", shown(*value));
  }
  template <class Parse>
  auto quantity(const Json& value, const std::string& at, Parse from) -> decltype(from(std::string_view{})) {
    try {
      if (value.is_string()) return from(value.get_ref<const std::string&>());
      wrong(at, "must be a string with a unit, got {}", shown(value));
    } catch (const InputError& error) {
      wrong(at, "{}", error.what());
    }
    return {};
  }

 private:
  std::string where_;
  std::vector<std::string> found_;
};

void read_work(TrainingReader& reader, const Json& layer, const std::string& at, const char* key, double& flops,
               std::optional<SimTime>& measured) {
  const Json* value = reader.member(layer, at, key, true);
  if (!value) return;
  const std::string place = at + "/" + key;
  if (!value->is_string())
    return reader.wrong(place,
                        "must be a string with a unit: FLOPs of one sample (\"1.2GFLOP\") or the time of a batch (\"350us\"), got {}",
                        shown(*value));
  if (const auto parsed = parse_flops(value->get_ref<const std::string&>(), "FLOP"))
    flops = *parsed, measured.reset();
  else
    measured = reader.quantity(*value, place, parse_time);
}

void read_parameters(TrainingReader& reader, const Json& value, const std::string& at, Layer& layer) {
  if (!value.is_object()) {
    std::int64_t elements = 0;
    reader.integer(value, at, elements);
    if (elements != 0) layer.tensors = {{"weight", elements}};
    return;
  }
  for (const auto& [name, elements] : value.items()) {
    layer.tensors.push_back({name, 0});
    reader.integer(elements, at + "/" + name, layer.tensors.back().elements);
  }
}

std::optional<LayerKind> kind_named(std::string_view name) {
  if (name == "convolution") return LayerKind::convolution;
  if (name == "convolution_3x3") return LayerKind::convolution_3x3;
  if (name == "matrix_product") return LayerKind::matrix_product;
  if (name == "memory_bound") return LayerKind::memory_bound;
  return std::nullopt;
}

void read_layer(TrainingReader& reader, const Json& value, const std::string& at, const std::string& base, Model& model) {
  const bool has_base = !base.empty();
  if (!reader.object(value, at, {"name", "parameters", "forward", "backward", "kind"})) return;
  Layer fresh{.name = "", .kind = LayerKind::matrix_product};
  reader.text(value, at, "name", fresh.name, true);
  Layer* layer = &fresh;
  if (has_base) {
    const auto found = std::ranges::find(model.layers, fresh.name, &Layer::name);
    if (found == model.layers.end()) return reader.wrong(at + "/name", "\"{}\" is no layer of the base {}", fresh.name, base);
    layer = &*found;
    for (const char* key : {"parameters", "kind"})
      if (value.contains(key)) reader.wrong(at + "/" + key, "comes from the base");
  } else {
    if (const Json* parameters = reader.member(value, at, "parameters", true))
      read_parameters(reader, *parameters, at + "/parameters", *layer);
    std::string kind = "matrix_product";
    reader.text(value, at, "kind", kind);
    if (const auto known = kind_named(kind))
      layer->kind = *known;
    else
      reader.wrong(at + "/kind", "must be convolution, convolution_3x3, matrix_product or memory_bound, got \"{}\"", kind);
  }
  read_work(reader, value, at, "forward", layer->forward_flops, layer->measured_forward);
  read_work(reader, value, at, "backward", layer->backward_flops, layer->measured_backward);
  if (!has_base) model.layers.push_back(std::move(fresh));
}

// {"value": ..., "source": "..."}; the value, or null.
const Json* sourced(TrainingReader& reader, DeviceProfile& device, const Json& object, const std::string& at, const char* key) {
  const Json* member = reader.member(object, at, key, true);
  const std::string place = at + "/" + key;
  if (!member || !reader.object(*member, place, {"value", "source"})) return nullptr;
  reader.text(*member, place, "source", device.sources[place], true);
  return reader.member(*member, place, "value", true);
}

void read_number(TrainingReader& reader, DeviceProfile& device, const Json& object, const std::string& at, const char* key, double& into) {
  const Json* value = sourced(reader, device, object, at, key);
  if (!value) return;
  if (value->is_number())
    into = value->get<double>();
  else
    reader.wrong(at + "/" + key + "/value", "must be a number, got {}", shown(*value));
}

DeviceRate read_rate(TrainingReader& reader, DeviceProfile& device, const Json& object, const std::string& at) {
  DeviceRate rate;
  if (!reader.object(object, at, {"peak", "convolution", "convolution_3x3", "matrix_product"})) return rate;
  if (const Json* peak = sourced(reader, device, object, at, "peak")) {
    const auto parsed = peak->is_string() ? parse_flops(peak->get_ref<const std::string&>(), "FLOPS") : std::nullopt;
    if (parsed)
      rate.peak_flops = *parsed;
    else
      reader.wrong(at + "/peak/value", "must be a rate such as \"15.7TFLOPS\", got {}", shown(*peak));
  }
  read_number(reader, device, object, at, "convolution", rate.convolution);
  read_number(reader, device, object, at, "convolution_3x3", rate.convolution_3x3);
  read_number(reader, device, object, at, "matrix_product", rate.matrix_product);
  return rate;
}

// Of compression: work a second.
void read_kernels(TrainingReader& reader, DeviceProfile& device, const Json& object) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kernel_count; ++i) names.emplace_back(name_of(static_cast<Kernel>(i)));
  if (!reader.object(object, "/kernels", names)) return;
  for (const auto& [name, unused] : object.items())
    if (kernel_named(name)) read_number(reader, device, object, "/kernels", name.c_str(), device.kernels[name]);
}

}  // namespace

Model read_model(std::string_view text, const std::string& where) {
  TrainingReader reader(where);
  const Json root = reader.parse(text);
  Model model;
  if (!reader.object(root, "", {"schema", "name", "sample", "source", "base", "sequence", "batch", "layers"})) reader.refuse();
  reader.schema(root);
  std::string base;
  ModelOptions options;
  reader.text(root, "", "base", base);
  if (const Json* sequence = reader.member(root, "", "sequence", false)) reader.integer(*sequence, "/sequence", options.sequence);
  try {
    if (!base.empty()) model = known_model(base, options);
  } catch (const InputError& error) {
    reader.wrong("/base", "{}", error.what());
    reader.refuse();
  }
  reader.text(root, "", "name", model.name, base.empty());
  reader.text(root, "", "sample", model.sample);
  reader.text(root, "", "source", model.source);
  if (const Json* batch = reader.member(root, "", "batch", false)) reader.integer(*batch, "/batch", model.measured_batch);
  if (const Json* layers = reader.member(root, "", "layers", true)) {
    if (!layers->is_array()) reader.wrong("/layers", "must be a list of layers, got {}", shown(*layers));
    for (std::size_t i = 0; layers->is_array() && i < layers->size(); ++i)
      read_layer(reader, (*layers)[i], fmt::format("/layers/{}", i), base, model);
  }
  if (reader.none() || !model.layers.empty()) reader.add(problems(model));
  reader.refuse();
  return model;
}

DeviceProfile read_device(std::string_view text, const std::string& name) {
  TrainingReader reader(name);
  const Json root = reader.parse(text);
  DeviceProfile device{.name = name};
  if (!reader.object(root, "",
                     {"schema", "description", "rates", "memory_bandwidth", "memory_efficiency", "launch", "kernels", "calibration"}))
    reader.refuse();
  reader.schema(root);
  if (const Json* rates = reader.member(root, "", "rates", true)) {
    if (!rates->is_object()) {
      reader.wrong("/rates", "must be an object, got {}", shown(*rates));
      reader.refuse();
    }
    for (const auto& [dtype, rate] : rates->items()) {
      if (dtype != "float32" && dtype != "tf32" && dtype != "float16" && dtype != "bfloat16")
        reader.wrong("/rates/" + dtype, "unknown element type; allowed: float32, tf32, float16, bfloat16");
      device.rates[dtype] = read_rate(reader, device, rate, "/rates/" + dtype);
    }
  }
  if (const Json* value = sourced(reader, device, root, "", "memory_bandwidth"))
    device.memory_bandwidth = reader.quantity(*value, "/memory_bandwidth/value", parse_bandwidth);
  read_number(reader, device, root, "", "memory_efficiency", device.memory_efficiency);
  if (const Json* value = sourced(reader, device, root, "", "launch")) device.launch = reader.quantity(*value, "/launch/value", parse_time);
  if (const Json* kernels = reader.member(root, "", "kernels", false)) read_kernels(reader, device, *kernels);
  if (reader.none()) reader.add(problems(device));
  reader.refuse();
  return device;
}

}  // namespace weft

#include "sim/scenario/compression_fields.hpp"

#include "sim/scenario/device_form.hpp"

#include <algorithm>

namespace weft {
namespace {

constexpr const char* core = "cpu_core";

struct KernelsForm {
  static std::string wanted() { return fmt::format("\"{}\", or {}", core, DeviceForm::wanted()); }
  static Json schema() { return {{"type", "string"}}; }
  static Json write(const KernelsChoice& kernels) { return kernels.cpu_core ? Json(core) : DeviceForm::write(kernels.device); }
  static bool read(const Json& json, const JsonPath& where, Input& in, KernelsChoice& out) {
    if (!json.is_string()) return in.unwanted(where, wanted(), json);
    if (json == core) return out.cpu_core = true;
    std::vector<std::string> names = DeviceForm::names(in.folder);
    const auto& name = json.get_ref<const std::string&>();
    if (std::ranges::find(names, name) != names.end()) return DeviceForm::read(json, where, in, out.device);
    names.insert(names.begin(), core);
    return in.problem(where, unknown_name("processor", name, names));
  }
};

struct CompressionsForm : OneOrList<CompressionChoice> {
  static Json write(const std::vector<CompressionChoice>& all) {
    return all.empty() ? Json(Json::value_t::discarded) : OneOrList<CompressionChoice>::write(all);
  }
};

const char* description(std::string_view name) {
  if (name == "gs_sgd")
    return "Count sketches are summed up a tree, the k heaviest elements recovered at its root, and their exact values summed (gs-SGD, "
           "arXiv 2021).";
  if (name == "sketched_sgd")
    return "All sketches and values are sent to one server, rank 0, which finds the heavy elements (Ivkin et al. 2019).";
  if (name == "gtopk")
    return "Lists of k elements are merged pairwise up a tree into the k largest, and sent down again (Shi et al. 2019).";
  if (name == "topk_allgather") return "Every rank's k largest elements go to all ranks (Lin et al. 2018).";
  return "Nothing is compressed: the all-reduce of the algorithm, to compare with.";
}

Alternative<CompressionChoice> alternative(const std::string& name) {
  using C = CompressionChoice;
  using S = CompressionSettings;
  Fields<S> fields;
  if (sends_sketches(name)) {
    fields.push_back(optional("rows", &S::rows, "The number of rows of the count sketch."));
    fields.push_back(optional("columns", &S::columns, "The columns of each row of the sketch: a share of the elements, or a count."));
  }
  if (is_sparse(name))
    fields.push_back(optional(
        "k", &S::k, "The elements that an all-reduce updates: a share of its elements, or a count; all of them where it has fewer."));
  if (sends_sketches(name))
    fields.push_back(optional("memory", &S::memory,
                              "Where what was not sent is kept: dense: in a vector on every rank; sketch: in a sketch at the root, and "
                              "then estimates are sent instead of exact values."));
  Fields<C> out = lifted<C, S>(
      fields, +[](C& choice) -> S& { return choice.settings; });
  if (is_sparse(name))
    out.push_back(
        optional_as<KernelsForm>("kernels", &C::kernels,
                                 "What runs the kernels of compression: \"cpu_core\", or a device of scenarios/devices/. When not "
                                 "given: the \"device\" of a workload that trains, or else cpu_core."));
  return {.name = name,
          .doc = description(name),
          .fields = std::move(out),
          .select = [name](C& choice) { choice.settings = {.name = name}; },
          .selected = [name](const C& choice) { return choice.settings.name == name; }};
}

}  // namespace

std::string Form<Amount>::wanted() { return "a share of the elements such as \"1%\", or a count"; }

Json Form<Amount>::schema() {
  return {{"oneOf", Json::array({{{"type", "string"}, {"pattern", "^([0-9]+|([0-9]+\\.?[0-9]*|\\.[0-9]+)%)$"}},
                                 {{"type", "integer"}, {"minimum", 1}}})}};
}

Json Form<Amount>::write(const Amount& amount) { return amount.share != 0 ? Json(to_string(amount)) : Json(amount.count); }

bool Form<Amount>::read(const Json& json, const JsonPath& where, Input& in, Amount& out) {
  if (json.is_number()) return out = {}, Form<std::int64_t>::read(json, where, in, out.count);
  if (!json.is_string()) return in.unwanted(where, wanted(), json);
  try {
    out = parse_amount(json.get_ref<const std::string&>());
    return true;
  } catch (const InputError& error) {
    return in.problem(where, error.what());
  }
}

const std::vector<std::pair<ErrorMemory, std::string>>& Names<ErrorMemory>::values() {
  static const std::vector<std::pair<ErrorMemory, std::string>> all = [] {
    std::vector<std::pair<ErrorMemory, std::string>> out;
    for (const ErrorMemory memory : {ErrorMemory::dense, ErrorMemory::sketch}) out.emplace_back(memory, name_of(memory));
    return out;
  }();
  return all;
}

Declaration<CompressionChoice> Declared<CompressionChoice>::declaration() {
  Declaration<CompressionChoice> out{
      .doc = "How gradients are compressed; the settings go beside the name.", .tag = "name", .shorthand = true};
  for (const std::string_view name : compression_names()) out.alternatives.push_back(alternative(std::string(name)));
  return out;
}

Field<Workload> compression_field() {
  return optional_as<CompressionsForm>("compression", &Workload::compressions,
                                       "How all-reduces are compressed, one way or several to compare; the algorithm then sums what "
                                       "every rank gets the sum of. Not given: nothing is compressed.");
}

std::string label(const CompressionChoice& choice) {
  const Json all = Form<CompressionChoice>::write(choice), plain = Form<CompressionChoice>::write({{.name = choice.settings.name}});
  std::string settings;
  for (const auto& item : all.items())
    if (!plain.contains(item.key()) || item.value() != plain.at(item.key()))
      settings += fmt::format("{}{}={}", settings.empty() ? "" : ",", item.key(),
                              item.value().is_string() ? item.value().get<std::string>() : item.value().dump());
  return settings.empty() ? choice.settings.name : fmt::format("{}({})", choice.settings.name, settings);
}

}  // namespace weft

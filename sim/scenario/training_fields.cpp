#include "sim/scenario/training_fields.hpp"

#include "kernels/files/files.hpp"
#include "models/training/read.hpp"
#include "sim/scenario/device_form.hpp"
#include "sim/scenario/profiles.hpp"
#include "sim/scenario/scenario_fields.hpp"

#include <algorithm>

namespace weft {
namespace {

// A known model by its name, or a table of layers in a file beside the scenario.
struct ModelForm {
  static std::string wanted() { return "one of " + quoted_list(model_names()) + ", or {\"file\": \"my_net.json\"}"; }
  static Json schema() {
    const Json file = {{"type", "object"},
                       {"description", "A file with a table of layers, its path relative to the scenario."},
                       {"properties", {{"file", {{"type", "string"}, {"description", "The path of the file, relative to the scenario."}}}}},
                       {"required", {"file"}},
                       {"additionalProperties", false}};
    return {{"oneOf", Json::array({{{"enum", model_names()}}, file})}};
  }
  static Json write(const ModelChoice& model) {
    if (!model.given()) return Json(Json::value_t::discarded);
    return model.file.empty() ? Json(model.table->name) : Json{{"file", model.file}};
  }
  static bool read(const Json& json, const JsonPath& where, Input& in, ModelChoice& out) {
    if (json.is_object()) return read_table(json, where, in, out);
    if (!json.is_string()) return in.unwanted(where, wanted(), json);
    const std::string& name = json.get_ref<const std::string&>();
    const std::vector<std::string> names = model_names();
    if (std::ranges::find(names, name) == names.end()) return in.problem(where, unknown_name("model", name, names));
    out.table = std::make_shared<const Model>(known_model(name));
    return true;
  }

 private:
  static bool read_table(const Json& json, const JsonPath& where, Input& in, ModelChoice& out) {
    if (json.size() != 1 || !json.contains("file") || !json.at("file").is_string()) return in.unwanted(where, wanted(), json);
    const JsonPath at = where.in("file");
    if (!Form<std::string>::read(json.at("file"), at, in, out.file)) return false;
    try {
      const auto file = in.folder / out.file;
      in.files.insert(file);
      out.table = std::make_shared<const Model>(read_model(read_file(file), file.string()));
      return true;
    } catch (const InputError& error) {
      for (const std::string& problem : error.problems()) in.problem(at, problem);
      return false;
    }
  }
};

struct EnginesForm : OneOrList<EngineChoice> {
  static Json write(const std::vector<EngineChoice>& engines) {
    return engines.empty() ? Json(Json::value_t::discarded) : OneOrList<EngineChoice>::write(engines);
  }
};

struct AsManyAsMachines {
  static constexpr int value = 0;
  static constexpr const char* word = "machines";
};

// Left out of what is written where nothing is trained.
Field<Workload> if_trained(Field<Workload> field) {
  return written_if(std::move(field), [](const Workload& w) { return w.training.given(); });
}

template <class Settings>
Settings& settings_of(EngineChoice& choice) {
  return std::get<Settings>(choice.settings);
}

template <class Settings>
Alternative<EngineChoice> engine(Fields<Settings> fields) {
  const auto entry = std::ranges::find_if(engines(), [](const EngineEntry& e) { return std::holds_alternative<Settings>(e.defaults); });
  check(entry != engines().end(), "an engine that is not in the table");
  return {.name = std::string(entry->name),
          .doc = fmt::format("{} ({}).", entry->description, entry->source),
          .fields = lifted<EngineChoice, Settings>(fields, settings_of<Settings>),
          .select = [settings = entry->defaults](EngineChoice& choice) { choice.settings = settings; },
          .selected = [](const EngineChoice& choice) { return std::holds_alternative<Settings>(choice.settings); }};
}

}  // namespace

const std::vector<std::pair<AgreementAlgorithm, std::string>>& Names<AgreementAlgorithm>::values() {
  static const std::vector<std::pair<AgreementAlgorithm, std::string>> all = [] {
    std::vector<std::pair<AgreementAlgorithm, std::string>> out;
    for (const auto a : {AgreementAlgorithm::ring, AgreementAlgorithm::dissemination}) out.emplace_back(a, name_of(a));
    return out;
  }();
  return all;
}

const std::vector<std::pair<Optimizer, std::string>>& Names<Optimizer>::values() {
  static const std::vector<std::pair<Optimizer, std::string>> all = [] {
    std::vector<std::pair<Optimizer, std::string>> out;
    for (const auto o : {Optimizer::none, Optimizer::sgd_momentum, Optimizer::adam, Optimizer::adam_foreach})
      out.emplace_back(o, name_of(o));
    return out;
  }();
  return all;
}

Declaration<EngineChoice> Declared<EngineChoice>::declaration() {
  using D = DdpSettings;
  using H = HorovodSettings;
  using A = AiaccSettings;
  using B = BytepsSettings;
  return {
      .doc = "A gradient engine: what decides when which gradients are reduced; its settings go beside its name.",
      .tag = "name",
      .alternatives =
          {engine<NoneSettings>({}),
           engine<D>(
               {optional("bucket", &D::bucket, "A bucket is launched when it has reached this size and all its gradients are ready."),
                optional("first_bucket", &D::first_bucket, "The size of the first bucket, smaller so that communication begins early.")}),
           engine<H>({optional("cycle_time", &H::cycle_time, "The least time from the start of a negotiation to the start of the next."),
                      optional("fusion_threshold", &H::fusion_threshold,
                               "The size up to which ready gradients are fused into one all-reduce; with 0B none are."),
                      optional("cache", &H::cache, "Whether the response cache is on: what was negotiated once is a bit from then on."),
                      optional("request", &H::request, "The bytes of a gradient in a ready list or answer."),
                      optional("agreement", &H::agreement, "How the bit vectors of the response cache are reduced.")}),
           engine<B>(
               {optional("partition", &B::partition, "The size of the partitions that gradients are cut into."),
                optional("credit", &B::credit, "The number of partitions that a rank may send at a time."),
                optional_as<OrWord<int, AsManyAsMachines>>("servers", &B::servers,
                                                           "The number of parameter servers; as many as machines when not given."),
                optional("server_hosts", &B::server_hosts,
                         "workers: parameter servers run on the machines of the ranks; extra: on endpoints that the ranks leave free.")}),
           engine<A>({optional("granularity", &A::granularity,
                               "The size of an all-reduce, into which gradients are packed, and the bytes that must be ready before a rank "
                               "negotiates."),
                      optional("streams", &A::streams, "The number of streams, on each of which one all-reduce runs at a time."),
                      optional("agreement", &A::agreement, "How the bit vectors of ready gradients are reduced."),
                      optional("compute_share", &A::compute_share,
                               "The share of the compute rate that each active stream takes from the backward pass.")})},
      .shorthand = true};
}

Fields<Workload> training_fields() {
  using T = TrainingChoice;
  Fields<T> fields = {
      optional_as<ModelForm>("model", &T::model, "What the ranks train, instead of one collective of a \"size\"."),
      optional("batch_per_gpu", &T::batch_per_gpu, "The samples in a step on each GPU; 32 when not given.", between(1, 1'000'000)),
      optional_as<DeviceForm>("device", &T::device, "The GPU that computes: a profile of scenarios/devices/."),
      optional_as<EnginesForm>("engine", &T::engines, "One gradient engine, or several to compare."),
      optional("optimizer", &T::optimizer,
               "The optimizer, called when all gradients are reduced; its passes over memory take time; sgd_momentum when not given.")};
  fields.append(training_option_fields());
  const auto of_workloads = lifted<Workload, T>(
      fields, +[](Workload& w) -> T& { return w.training; });
  Fields<Workload> out;
  for (const ObjectField& field : of_workloads.untyped()) out.push_back(if_trained(Field<Workload>(field)));
  return out;
}

std::string label(const EngineChoice& choice) {
  const Json all = Form<EngineChoice>::write(choice), plain = Form<EngineChoice>::write({find_engine(name_of(choice.settings))->defaults});
  std::string settings;
  for (const auto& item : all.items())
    if (item.value() != plain.at(item.key()))
      settings += fmt::format("{}{}={}", settings.empty() ? "" : ",", item.key(),
                              item.value().is_string() ? item.value().get<std::string>() : item.value().dump());
  const std::string name(name_of(choice.settings));
  return settings.empty() ? name : fmt::format("{}({})", name, settings);
}

}  // namespace weft

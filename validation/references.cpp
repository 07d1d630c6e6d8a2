#include "validation/references.hpp"

#include "kernels/files/files.hpp"
#include "sim/files/shipped.hpp"
#include "sim/json/fields.hpp"
#include "sim/scenario/scenario_fields.hpp"

#include <algorithm>

namespace weft {

template <>
struct Names<Claim::Quantity> {
  static constexpr const char* kind = "quantity";
  static const std::vector<std::pair<Claim::Quantity, std::string>>& values() {
    static const std::vector<std::pair<Claim::Quantity, std::string>> all = {{Claim::Quantity::ratio, "ratio"},
                                                                             {Claim::Quantity::difference_us, "difference_us"},
                                                                             {Claim::Quantity::utilization_percent, "utilization_percent"},
                                                                             {Claim::Quantity::fairness, "fairness"},
                                                                             {Claim::Quantity::samples_per_s, "samples_per_s"},
                                                                             {Claim::Quantity::scaling_percent, "scaling_percent"},
                                                                             {Claim::Quantity::best, "best"},
                                                                             {Claim::Quantity::best_difference, "best_difference"}};
    return all;
  }
};

// {"/pointer": value, ...}
template <>
struct Form<std::vector<Setting>> {
  static std::string wanted() { return "an object of pointers and values"; }
  static Json schema() { return {{"type", "object"}}; }
  static Json write(const std::vector<Setting>& settings) {
    Json out = Json::object();
    for (const Setting& s : settings) out[s.pointer] = s.value;
    return out;
  }
  static bool read(const Json& json, const JsonPath& where, Input& in, std::vector<Setting>& out) {
    if (!json.is_object()) return in.unwanted(where, wanted(), json);
    for (const auto& [pointer, value] : json.items()) out.push_back({pointer, value});
    return true;
  }
};
// {"measured": ours, ...}, each as in a scenario's workload
template <>
struct Form<Renames> {
  static std::string wanted() { return "an object of measured names and algorithms"; }
  static Json schema() { return {{"type", "object"}}; }
  static Json write(const Renames& renames) {
    Json out = Json::object();
    for (const auto& [measured, ours] : renames) out[measured] = Form<AlgorithmChoice>::write(ours);
    return out;
  }
  static bool read(const Json& json, const JsonPath& where, Input& in, Renames& out) {
    if (!json.is_object()) return in.unwanted(where, wanted(), json);
    for (const auto& [measured, ours] : json.items())
      if (!Form<AlgorithmChoice>::read(ours, where.in(measured), in, out[measured])) return false;
    return true;
  }
};
template <>
struct Form<std::filesystem::path> {
  static std::string wanted() { return "a file's name"; }
  static Json schema() { return {{"type", "string"}}; }
  static Json write(const std::filesystem::path& path) { return path.string(); }
  static bool read(const Json& json, const JsonPath& where, Input& in, std::filesystem::path& out) {
    if (!json.is_string()) return in.unwanted(where, wanted(), json);
    out = json.get<std::string>();
    return true;
  }
};

template <>
struct Declared<ClaimSide> {
  static Declaration<ClaimSide> declaration() {
    return {.doc = "One side of a comparison.",
            .fields = {optional("set", &ClaimSide::set, "Values of the scenario."),
                       required("algorithm", &ClaimSide::algorithm, "As in a scenario."),
                       optional("ranks", &ClaimSide::ranks, "How many; all endpoints if not given."),
                       optional("size", &ClaimSide::size, "Of the message, instead of the claim's sizes."),
                       optional("besides", &ClaimSide::besides, "What a step takes besides the collective, added to its time."),
                       optional("samples", &ClaimSide::samples, "Of a rank in a step, for samples_per_s.", at_least(1))}};
  }
};
template <>
struct Declared<Claim> {
  static Declaration<Claim> declaration() {
    return {.doc = "A published comparison.",
            .fields = {required("what", &Claim::what, "In a sentence."),
                       required("published", &Claim::published, "As the source says it."),
                       optional("working", &Claim::working, "How the number follows, by hand."),
                       optional("quantity", &Claim::quantity, "Of the times of \"against\" and \"of\"."),
                       optional("collective", &Claim::collective, "What is simulated."),
                       required("of", &Claim::of, "The one it is about."),
                       optional("against", &Claim::against, "What it is compared with; not for what is of one alone."),
                       optional("than_of", &Claim::than_of, "The ratio is divided by that of another pair: its \"of\","),
                       optional("than_against", &Claim::than_against, "and its \"against\"."),
                       optional("scenario", &Claim::scenario, "Another scenario's file than the reference's."),
                       optional("sizes", &Claim::sizes, "Message sizes; none where the workload has its own."),
                       optional("cases", &Claim::cases, "Values of the scenario that both sides have, one object a case."),
                       optional("over", &Claim::over, "The pointer whose best value is asked for."),
                       optional("values", &Claim::values, "What it may be."),
                       optional("value", &Claim::value, "The published number, where there is one."),
                       optional("fitted", &Claim::fitted, "A setting of the scenario was chosen for it."),
                       optional("seeds", &Claim::seeds, "Of the scenario, each simulated; its own when not given."),
                       optional("largest_only", &Claim::largest_only, "For an \"up to\"."),
                       optional("at_least", &Claim::at_least, "Lower end."),
                       optional("at_most", &Claim::at_most, "Upper end.")}};
  }
};
template <>
struct Declared<ReferenceRows> {
  static Declaration<ReferenceRows> declaration() {
    using R = RowSelection;
    const Fields<R> rows = {optional("only", &R::only, "Measured algorithms."),
                            optional("system", &R::system, "A part of the system's name."),
                            optional("in_place", &R::in_place, "The in-place times."),
                            optional("smallest_bytes", &R::smallest_bytes, "Leave out smaller messages."),
                            optional("largest_bytes", &R::largest_bytes, "Leave out larger messages.")};
    Declaration<ReferenceRows> out{.doc = "Which rows of the files.",
                                   .fields = lifted<ReferenceRows, R>(
                                       rows, +[](ReferenceRows& select) -> R& { return select.rows; })};
    out.fields.push_back(optional("rename", &ReferenceRows::rename, "What measured algorithms are called here."));
    return out;
  }
};
template <>
struct Form<Json> {
  static std::string wanted() { return "a hardware profile's name, or an object"; }
  static Json schema() { return Json::object(); }
  static Json write(const Json& value) { return value; }
  static bool read(const Json& json, const JsonPath& where, Input& in, Json& out) {
    if (!json.is_string() && !json.is_object()) return in.unwanted(where, wanted(), json);
    out = json;
    return true;
  }
};
template <>
struct Declared<HeldOutRule> {
  static Declaration<HeldOutRule> declaration() {
    using R = HeldOutRule;
    return {.doc = "What nothing was fitted to.",
            .fields = {optional("nodes", &R::nodes, "Measurements on so many servers."),
                       optional("ranks", &R::ranks, "Measurements of so many ranks."),
                       optional("algorithms", &R::algorithms, "Measured algorithms."),
                       optional("collectives", &R::collectives, "Measured collectives."),
                       optional("systems", &R::systems, "Parts of the names of measured systems."),
                       optional("models", &R::models, "Models of measured backward passes.")}};
  }
};
template <>
struct Declared<ReferenceFit> {
  static Declaration<ReferenceFit> declaration() {
    return {.doc = "How the profile is fitted.",
            .fields = {optional("parameters", &ReferenceFit::parameters,
                                "As of weft calibrate --fit; those that it fits without that flag, unless given."),
                       optional("start", &ReferenceFit::start, "The hardware where the fit starts.")}};
  }
};
template <>
struct Declared<MeasuredLayers> {
  static Declaration<MeasuredLayers> declaration() {
    using L = MeasuredLayers;
    return {
        .doc = "A measured backward pass.",
        .fields = {required("file", &L::file, "Where it says when gradients became ready."), required("model", &L::model, "The network."),
                   optional("measured", &L::measured, "What the file calls it, where that is another name."),
                   required("batch", &L::batch, "Samples.", at_least(1)),
                   optional("dtype", &L::dtype, "The element type of the device's rates.")}};
  }
};
template <>
struct Declared<Reference> {
  static Declaration<Reference> declaration() {
    return {
        .doc = "Something to be judged against.",
        .fields = {
            required("name", &Reference::name, "Its name."), required("about", &Reference::about, "Its system, in a sentence."),
            optional("note", &Reference::note, "What the model lacks."), optional("scenario", &Reference::scenario, "The scenario's file."),
            optional(
                "measurements", &Reference::measurements,
                "Files of measurements, as weft calibrate takes them: FILE:ranks=N,nodes=N,collective=NAME,algorithm=NAME,back_to_back=N."),
            optional("held_out", &Reference::held_out, "Files nothing was fitted to."),
            optional("select", &Reference::select, "Which rows."), optional("layers", &Reference::layers, "Measured backward passes."),
            optional("hold_out", &Reference::hold_out, "What nothing was fitted to; else every second size."),
            optional("profile", &Reference::profile, "The profile's file, instead of the scenario's hardware."),
            optional("fit", &Reference::fit, "How the profile is fitted."), optional("class", &Reference::server_class, "Systems like it."),
            optional("claims", &Reference::claims, "Published comparisons.")}};
  }
};

Reference read_reference(const std::filesystem::path& file) {
  Input in;
  Reference out;
  const Json json = parse_json(read_file(file), in.problems);
  if (in.problems.empty()) Form<Reference>::read(json, JsonPath{}, in, out);
  if (!in.problems.empty()) throw InputError(lines_of(file.string(), in.problems));
  if (out.scenario.empty() && (out.layers.empty() || !out.measurements.empty() || !out.claims.empty()))
    throw InputError(file.string() + ": /scenario: is missing; only references of \"layers\" need none");
  if (!out.layers.empty() && out.profile.empty())
    throw InputError(file.string() + ": /profile: is missing: the device's, that \"layers\" are judged with");
  const auto beside = [&](std::filesystem::path& path) { path = (file.parent_path() / path).lexically_normal(); };
  if (!out.scenario.empty()) beside(out.scenario);
  for (MeasuredLayers& layers : out.layers) beside(layers.file);
  std::ranges::for_each(out.measurements, beside);
  std::ranges::for_each(out.held_out, beside);
  if (!out.profile.empty()) beside(out.profile);
  for (Claim& claim : out.claims)
    if (!claim.scenario.empty()) beside(claim.scenario);
  return out;
}

bool HeldOutRule::holds_out(const Measurement& m) const {
  const auto has = [](const auto& list, const auto& value) { return std::ranges::find(list, value) != list.end(); };
  return has(nodes, m.nodes) || has(ranks, m.ranks) || has(algorithms, m.algorithm) || has(collectives, m.collective) ||
         std::ranges::any_of(systems, [&](const std::string& part) { return m.system.find(part) != m.system.npos; });
}

bool HeldOutRule::holds_out(const std::string& model) const { return std::ranges::find(models, model) != models.end(); }

std::filesystem::path validation_folder() {
  if (const std::string missing = missing_shipped("validation"); !missing.empty()) throw InputError(missing);
  return shipped("validation");
}

std::vector<std::filesystem::path> shipped_references() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(validation_folder() / "references"))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

}  // namespace weft

#include "sim/scenario/profiles.hpp"

#include "kernels/files/files.hpp"
#include "sim/files/shipped.hpp"
#include "sim/scenario/hardware_fields.hpp"

#include <algorithm>

namespace weft {
namespace {

struct ProfileFile {
  int schema = 1;
  std::string description;
  HardwareProfile profile;
  Json calibration = Json(Json::value_t::discarded);
};

HardwareProfile& profile_of(ProfileFile& file) { return file.profile; }

Field<HardwareProfile> with_source(const Field<HardwareProfile>& plain) {
  Field<HardwareProfile> out = plain;
  out.reads([plain](const Json& json, const JsonPath& where, Input& in, HardwareProfile& profile) {
    if (!json.is_object() || !json.contains("value") || !json.contains("source") || json.size() != 2)
      return in.unwanted(where, "an object {\"value\": " + plain.wanted + ", \"source\": where it comes from}", json);
    std::string source;
    if (!Form<std::string>::read(json.at("source"), where.in("source"), in, source)) return false;
    if (source.empty()) return in.problem(where.in("source"), "must say where the value comes from");
    profile.sources[plain.name] = source;
    return plain.read(json.at("value"), where.in("value"), in, &profile);
  });
  return out;
}

}  // namespace

template <>
struct Form<Json> {
  static std::string wanted() { return "an object"; }
  static Json schema() { return {{"type", "object"}}; }
  static Json write(const Json& value) { return value; }
  static bool read(const Json& json, const JsonPath& where, Input& in, Json& out) {
    if (!json.is_object()) return in.unwanted(where, wanted(), json);
    out = json;
    return true;
  }
};

template <>
struct Declared<ProfileFile> {
  static Declaration<ProfileFile> declaration() {
    const Declaration<HardwareProfile> parameters = Declared<HardwareProfile>::declaration();
    Fields<HardwareProfile> sourced;
    for (const ObjectField& field : parameters.fields.untyped())
      if (field.name != "profile") sourced.push_back(with_source(Field<HardwareProfile>(field)));
    Declaration<ProfileFile> out{
        .doc = "A hardware profile.",
        .fields = {
            required("schema", &ProfileFile::schema, "Version of the scenario format; this page describes version 1.", between(1, 1)),
            optional("description", &ProfileFile::description, "What the profile stands for."),
            optional("calibration", &ProfileFile::calibration, "How `weft calibrate` came by it; for people.")}};
    out.fields.append(lifted<ProfileFile, HardwareProfile>(sourced, profile_of));
    return out;
  }
};

HardwareProfile read_profile(const std::filesystem::path& file) {
  Input in;
  ProfileFile out;
  const Json json = parse_json(read_file(file), in.problems);
  if (in.problems.empty()) Form<ProfileFile>::read(json, JsonPath{}, in, out);
  if (!in.problems.empty()) throw InputError(lines_of(file.string(), in.problems));
  out.profile.name = file.stem().string();
  return out.profile;
}

ProfileLibrary ProfileLibrary::beside(const std::filesystem::path& scenario_file) {
  return ProfileLibrary({scenario_file.parent_path() / "hardware", project_scenarios() / "hardware"});
}

std::vector<std::string> ProfileLibrary::names() const {
  std::vector<std::string> out;
  for (const auto& folder : folders_) {
    std::error_code unreadable;
    for (std::filesystem::directory_iterator it(folder, unreadable), end; !unreadable && it != end; it.increment(unreadable))
      if (it->path().extension() == ".json") out.push_back(it->path().stem().string());
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

const HardwareProfile& ProfileLibrary::load(const std::string& name) const {
  if (const auto known = loaded_.find(name); known != loaded_.end()) return known->second;
  const auto allowed = names();  // a name is one of these, never a path
  if (std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
    if (name == HardwareProfile{}.name) return loaded_.emplace(name, HardwareProfile{}).first->second;
    if (name.ends_with(".json") || name.find('/') != name.npos)
      throw InputError(
          fmt::format("must be the name of a hardware profile, not a file, got {}: put the file into {} and give its name "
                      "without \".json\"",
                      shown(Json(name)), folders_.front().string()));
    throw InputError(unknown_shipped("hardware profile", name, allowed));
  }
  if (const auto file = file_of(name); !file.empty()) return loaded_.emplace(name, read_profile(file)).first->second;
  throw InputError(unknown_shipped("hardware profile", name, allowed));
}

std::filesystem::path ProfileLibrary::file_of(const std::string& name) const {
  for (const auto& folder : folders_) {
    const auto file = folder / (name + ".json");
    std::error_code unreadable;
    const auto found = std::filesystem::symlink_status(file, unreadable);  // what a link leads to is for reading to find out
    if (std::filesystem::exists(found)) return file;
  }
  return {};
}

std::string ProfileLibrary::description(const std::string& name) const {
  const Json text = value_in(name, "description");
  return text.is_string() ? text.get<std::string>() : "";
}

Json ProfileLibrary::calibration(const std::string& name) const { return value_in(name, "calibration"); }

Json ProfileLibrary::value_in(const std::string& name, const char* key) const {
  const auto known = names();
  if (std::find(known.begin(), known.end(), name) == known.end()) return {};  // a name is one of these, never a path
  std::vector<Problem> problems;
  const Json json = parse_json(read_file(file_of(name)), problems);
  return problems.empty() && json.is_object() && json.contains(key) ? json.at(key) : Json();
}

std::string unknown_shipped(std::string_view kind, const std::string& name, const std::vector<std::string>& allowed) {
  if (const std::string missing = missing_shipped("scenarios"); !missing.empty())
    return fmt::format("unknown {} {}: {}", kind, shown(Json(name)), missing);
  return unknown_name(kind, name, allowed);
}

std::filesystem::path project_scenarios() { return shipped("scenarios"); }

}  // namespace weft

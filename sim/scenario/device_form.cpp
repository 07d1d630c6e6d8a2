#include "sim/scenario/device_form.hpp"

#include "kernels/files/files.hpp"
#include "models/training/read.hpp"
#include "sim/scenario/profiles.hpp"

#include <algorithm>

namespace weft {
namespace {

// Those beside the scenario first. A name is one of these, never a path.
std::vector<std::filesystem::path> device_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> out;
  for (const auto& devices : {folder / "devices", project_scenarios() / "devices"}) {
    std::error_code unreadable;
    for (std::filesystem::directory_iterator it(devices, unreadable), end; !unreadable && it != end; it.increment(unreadable))
      if (it->path().extension() == ".json") out.push_back(it->path());
  }
  return out;
}

}  // namespace

std::string DeviceForm::wanted() { return "the name of a device of scenarios/devices/, such as \"v100\""; }

Json DeviceForm::schema() { return {{"type", "string"}}; }

Json DeviceForm::write(const DeviceChoice& device) { return device.profile ? Json(device.profile->name) : Json(Json::value_t::discarded); }

std::vector<std::string> DeviceForm::names(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& f : device_files(folder)) names.push_back(f.stem().string());
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

bool DeviceForm::read(const Json& json, const JsonPath& where, Input& in, DeviceChoice& out) {
  if (!json.is_string()) return in.unwanted(where, wanted(), json);
  const std::string& name = json.get_ref<const std::string&>();
  const std::vector<std::filesystem::path> files = device_files(in.folder);
  const auto file = std::ranges::find(files, name, [](const auto& f) { return f.stem().string(); });
  if (file == files.end()) return in.problem(where, unknown_shipped("device", name, names(in.folder)));
  in.files.insert(*file);
  try {
    out.profile = std::make_shared<const DeviceProfile>(read_device(read_file(*file), name));
    return true;
  } catch (const InputError& error) {
    for (const std::string& problem : error.problems()) in.problem(where, problem);
    return false;
  }
}

}  // namespace weft

#include "validation/layer_reference.hpp"

#include "kernels/files/files.hpp"
#include "models/training/read.hpp"
#include "sim/scenario/profiles.hpp"
#include "validation/fit/profile_text.hpp"
#include "validation/fit/rounding.hpp"

#include <algorithm>
#include <ostream>

namespace weft {
namespace {

std::filesystem::path start_of(const Reference& reference) {
  if (!reference.fit || !reference.fit->start.is_string()) throw InputError(reference.name + ": /fit/start: must be a device's name");
  return project_scenarios() / "devices" / (reference.fit->start.get<std::string>() + ".json");
}

ErrorSummary error_of(const std::vector<MeasuredBackward>& passes, const DeviceProfile& device, bool fitted) {
  std::vector<double> errors;
  for (const MeasuredBackward& pass : passes) {
    if (pass.fitted != fitted) continue;
    const std::vector<double> simulated = ready_us(pass, device);
    for (std::size_t i = 0; i < simulated.size(); ++i) errors.push_back(simulated[i] / pass.gradients[i].ready_us - 1);
  }
  return summarise(std::move(errors));
}

// The text of the device's file with the fitted numbers in their places.
Json with_fitted(Json text, const DeviceProfile& device, const std::string& dtype, const std::vector<std::string>& parameters) {
  for (const std::string& name : parameters) {
    Json& place = name == "memory_efficiency" || name == "launch" ? text[name] : text["rates"][dtype][name];
    const double value = device_parameter(device, dtype, name);
    place = {{"value", name == "launch" ? Json(to_string(device.launch)) : Json(four_decimals(value))},
             {"source", "fitted, see calibration"}};
  }
  return text;
}

}  // namespace

std::vector<MeasuredBackward> passes_of(const Reference& reference) {
  std::vector<std::string> models;
  for (const MeasuredLayers& layers : reference.layers) models.push_back(layers.model);
  for (const std::string& held_out : reference.hold_out.models)
    if (std::ranges::find(models, held_out) == models.end())
      throw InputError(fmt::format("{}: /hold_out/models: \"{}\" is of no backward pass; there are {}", reference.name, held_out,
                                   fmt::join(models, ", ")));
  std::vector<MeasuredBackward> out;
  for (const MeasuredLayers& layers : reference.layers) {
    const std::string measured = layers.measured.empty() ? layers.model : layers.measured;
    MeasuredBackward pass{.model = known_model(layers.model),
                          .request = {.batch = layers.batch, .dtype = layers.dtype, .optimizer = Optimizer::none}};
    pass.gradients = read_ready_gradients(layers.file, measured, pass.model);
    pass.fitted = !reference.hold_out.holds_out(layers.model);
    out.push_back(std::move(pass));
  }
  return out;
}

DeviceProfile device_of(const Reference& reference) { return read_device(read_file(reference.profile), reference.profile.stem().string()); }

void refit_device(const Reference& reference, std::ostream& out) {
  if (reference.fit->parameters.empty()) throw InputError(reference.name + ": /fit/parameters: missing: what is fitted of the device");
  const std::vector<MeasuredBackward> passes = passes_of(reference);
  const std::string text = read_file(start_of(reference));
  const DeviceProfile start = read_device(text, start_of(reference).string());
  const DeviceProfile device = fit_device(passes, start, reference.fit->parameters);
  const ErrorSummary fitted = error_of(passes, device, true), held_out = error_of(passes, device, false);
  std::vector<Problem> problems;
  Json json = with_fitted(parse_json(text, problems), device, reference.layers.front().dtype, reference.fit->parameters);
  json["description"] = fmt::format("Fitted to {}.", reference.about);
  json["calibration"] = {{"command", fmt::format("weft validate --refit validation/references/{}.json", reference.name)},
                         {"start", reference.fit->start},
                         {"fitted_error", errors_of(fitted)},
                         {"held_out_error", errors_of(held_out)}};
  make_folder_of(reference.profile);
  write_file(reference.profile, json.dump(2) + "\n");
  out << fmt::format("# {}: fitted again, median {:.1f} %, 95th percentile {:.1f} %\n", reference.name, 100 * fitted.median,
                     100 * fitted.p95);
}

}  // namespace weft

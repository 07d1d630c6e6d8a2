#include "validation/fit/pointers.hpp"

#include "sim/scenario/server_fields.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace weft {
namespace {

using Unit = HardwareParameter::Unit;
using Pointer = Json::json_pointer;

const Json* find(const Json& json, const std::string& pointer) {
  try {
    return &json.at(Pointer(pointer));
  } catch (const Json::exception&) {
    return nullptr;
  }
}

// Of a PCIe link the rate that follows from its generation; everything else as it is written.
std::optional<Json> value_at(const Json& scenario, const std::string& pointer) {
  if (const Json* there = find(scenario, pointer)) return *there;
  const auto slash = pointer.rfind('/');
  const Json* link = find(scenario, pointer.substr(0, slash));
  if (pointer.substr(slash + 1) != "bandwidth" || !link || !link->is_object() || !link->contains("pcie")) return {};
  const Json& pcie = link->at("pcie");
  return to_string(pcie_rate({.generation = pcie.at("generation").get<int>(),
                              .width = pcie.at("width").get<int>(),
                              .max_payload = pcie.at("max_payload").get<int>()}));
}

std::optional<FitParameter> parameter_at(const std::string& pointer, const Json& value) {
  if (!value.is_string()) return {};
  const std::string text = value.get<std::string>();
  try {
    const double ps = static_cast<double>(parse_time(text).ps);
    return FitParameter{.name = pointer, .unit = Unit::picoseconds, .low = 1e3, .high = 1e10, .initial = ps};
  } catch (const InputError&) {
  }
  try {
    const double rate = static_cast<double>(parse_bandwidth(text).count);
    return FitParameter{.name = pointer, .unit = Unit::bits_per_second, .low = rate / 100, .high = rate * 100, .initial = rate};
  } catch (const InputError&) {
  }
  return {};
}

FitParameter parameter_of(const std::string& pointer, const Json& value) {
  if (auto found = parameter_at(pointer, value)) return std::move(*found);
  throw InputError(fmt::format("--fit {}: only times and rates can be fitted, this is {}", pointer, shown(value)));
}

// Which list of the server, or of a graph, names the device; of a preset with a number of devices: what it counts them by, "core" of
// "core3".
std::string kind_of(const Json& whole, const std::string& device) {
  for (const auto& [list, kind] : {std::pair{"gpus", "gpu"},
                                   {"nics", "nic"},
                                   {"pcie_switches", "pcie_switch"},
                                   {"nvswitches", "nvswitch"},
                                   {"sockets", "socket"},
                                   {"nodes", "node"},
                                   {"switches", "switch"}})
    if (whole.contains(list) && whole.at(list).is_array() && std::ranges::count(whole.at(list), Json(device)) > 0) return kind;
  return device.substr(0, device.find_last_not_of("0123456789") + 1);
}

std::string ends_of(const Json& whole, const Json& link) {
  if (!link.is_object() || !link.contains("from") || !link.contains("to")) return {};
  std::string a = kind_of(whole, link.at("from").get<std::string>()), b = kind_of(whole, link.at("to").get<std::string>());
  if (b < a) std::swap(a, b);
  return a + " to " + b;
}

// Where a time or a rate stands in the value at a pointer, with "*" for the index of a list.
void add_places(const Json& value, const std::string& at, std::set<std::string>& out) {
  if (parameter_at(at, value)) out.insert(at);
  if (value.is_object())
    for (const auto& [key, inner] : value.items()) add_places(inner, at + "/" + key, out);
  if (value.is_array() && at.find('*') == at.npos)
    for (const Json& inner : value) add_places(inner, at + "/*", out);
}

// What can be fitted instead: in the part of the scenario that the pointer leads into.
InputError nothing_at(const std::string& pointer, const Json& scenario) {
  std::set<std::string> places;
  for (std::string part = pointer; places.empty() && part.find('/', 1) != part.npos;) {
    part.resize(part.rfind('/'));
    if (const Json* there = find(scenario, part)) add_places(*there, part, places);
  }
  return InputError(fmt::format("--fit {}: there is nothing at this place of the scenario{}", pointer,
                                places.empty()
                                    ? "; `weft show` prints what is"
                                    : fmt::format(" as `weft show` prints it; times and rates there are {}", fmt::join(places, ", "))));
}

std::vector<FitParameter> open_every(const std::string& pointer, std::size_t star, const Json& scenario) {
  const std::string list = pointer.substr(0, star - 1), rest = pointer.substr(star + 1);
  const Json* all = find(scenario, list);
  if (!all || !all->is_array() || all->empty() || rest.find('*') != rest.npos) throw nothing_at(pointer, scenario);
  const Json& whole = *find(scenario, list.substr(0, list.rfind('/')));
  std::vector<std::pair<std::pair<std::string, std::string>, FitParameter>> kinds;  // in the order of their first links
  for (std::size_t i = 0; i < all->size(); ++i) {
    const std::string place = fmt::format("{}/{}{}", list, i, rest);
    const auto value = value_at(scenario, place);
    if (!value) continue;
    const std::pair kind{ends_of(whole, (*all)[i]), value->dump()};
    auto at = std::ranges::find(kinds, kind, [](const auto& k) { return k.first; });
    if (at == kinds.end()) at = kinds.insert(at, {kind, parameter_of(pointer, *value)});
    at->second.places.push_back(place);
  }
  if (kinds.empty()) throw nothing_at(pointer, scenario);
  std::vector<FitParameter> out;
  for (auto& [kind, parameter] : kinds) {
    const auto same_ends = std::ranges::count(kinds, kind.first, [](const auto& k) { return k.first.first; });
    const std::string value = same_ends > 1 ? Json::parse(kind.second).get<std::string>() : "";
    const std::string what = kind.first + (kind.first.empty() || value.empty() ? "" : ", ") + value;
    if (!what.empty()) parameter.name += fmt::format(" ({})", what);
    out.push_back(std::move(parameter));
  }
  return out;
}

}  // namespace

Json described(const Server& server) {
  if (server.cores > 0 || server.ranks > 0) {  // endpoints of a description are GPUs: the preset stays, with all of its links
    Json out = ServerForm::write(server);
    out["links"] = Form<std::vector<ServerLink>>::write(server.links);
    return out;
  }
  Json out = Form<Server>::write(server);
  out.erase("preset");
  return out;
}

std::vector<FitParameter> open_pointer(const std::string& pointer, const Json& scenario) {
  if (const auto star = pointer.find("/*"); star != pointer.npos) return open_every(pointer, star + 1, scenario);
  const auto value = value_at(scenario, pointer);
  if (!value) throw nothing_at(pointer, scenario);
  FitParameter out = parameter_of(pointer, *value);
  out.places = {pointer};
  return {out};
}

void set_at(Json& scenario, const std::string& pointer, const std::string& value) {
  const auto slash = pointer.rfind('/');
  Json& above = scenario.at(Pointer(pointer.substr(0, slash)));
  const std::string key = pointer.substr(slash + 1);
  if (key == "bandwidth" && above.is_object()) above.erase("pcie");
  scenario[Pointer(pointer)] = value;
}

}  // namespace weft

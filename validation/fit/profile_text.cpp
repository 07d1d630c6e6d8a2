#include "validation/fit/profile_text.hpp"

#include "models/fabric/fabric_spec.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/cli/fitted_cluster.hpp"
#include "sim/scenario/hardware_fields.hpp"
#include "validation/fit/rounding.hpp"
#include "validation/fit/sized_costs.hpp"
#include "validation/fit/without_model.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace weft {
namespace {

Json spread_of(const SpreadOfStarts& s) {
  if (s.starts < 2) return {{"starts", s.starts}};
  return {{"starts", s.starts},
          {"median", {four_decimals(s.min_median), four_decimals(s.max_median)}},
          {"p95", {four_decimals(s.min_p95), four_decimals(s.max_p95)}}};
}

}  // namespace

Json errors_of(const ErrorSummary& e) { return {{"points", e.points}, {"median", four_decimals(e.median)}, {"p95", four_decimals(e.p95)}}; }

Json valid_range(const std::vector<FitPoint>& points, const std::vector<const Scenario*>& clusters,
                 const std::set<NcclAlgorithm>& patterns) {
  std::set<std::string> collectives, algorithms, libraries;
  std::set<std::string> paths;  // as `weft run` asks for them (sim/cli/calibrated.hpp)
  std::set<int> ranks, nodes;
  std::map<std::string, std::set<int>> ranks_of;  // by collective
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> sizes_of;
  std::int64_t smallest = INT64_MAX, largest = 0;
  // Sizes between those that were fitted to are held out, and whole scales, which are beyond it.
  const auto call_of = [](const FitPoint& p) {
    return std::tuple(p.measured.collective, label(p.setup.algorithm), p.setup.ranks, p.setup.nodes);
  };
  std::set<decltype(call_of(points.front()))> fitted;
  for (const FitPoint& p : points)
    if (p.fitted) fitted.insert(call_of(p));
  for (const FitPoint& p : points) {
    if (!fitted.contains(call_of(p))) continue;
    collectives.insert(p.measured.collective);
    algorithms.insert(p.setup.algorithm.name);
    if (const auto& library = p.setup.algorithm.settings.library) libraries.emplace(name_of(*library));
    ranks.insert(p.setup.ranks);
    ranks_of[p.measured.collective].insert(p.setup.ranks);
    if (p.setup.nodes > 0) nodes.insert(p.setup.nodes);
    if (p.setup.nodes > 1) paths.insert("network");
    if (p.setup.nodes > 0 && p.setup.ranks > p.setup.nodes) paths.insert("server");
    const std::int64_t size = p.measured.size_bytes;
    smallest = std::min(smallest, size), largest = std::max(largest, size);
    auto& [least, most] = sizes_of.try_emplace(p.measured.collective, size, size).first->second;
    least = std::min(least, size), most = std::max(most, size);
  }
  Json out = {{"collectives", collectives},
              {"algorithms", algorithms},
              {"ranks", ranks},
              {"nodes", nodes},
              {"paths", paths},
              {"size", {to_string(Bytes{smallest}), to_string(Bytes{largest})}}};
  std::set<std::string> servers, networks;
  std::vector<BitsPerSecond> links;
  for (const Scenario* cluster : clusters) {
    servers.insert(name_of_links(cluster->server));
    networks.emplace(name_of(cluster->network));
    if (cluster->server.nic_count() > 0) links.push_back(slowest_endpoint(cluster->fabric.spec));
  }
  out["servers"] = servers, out["networks"] = networks;
  if (!links.empty() && paths.contains("network")) {
    const auto [slowest, fastest] = std::ranges::minmax(links, {}, &BitsPerSecond::count);
    out["links"] = {to_string(slowest), to_string(fastest)};
  }
  if (!libraries.empty()) out["libraries"] = libraries;
  for (const NcclAlgorithm pattern : patterns) out["nccl_algorithms"].push_back(name_of(pattern));
  if (ranks_of.size() > 1) {
    out["ranks_of"] = ranks_of;
    for (const auto& [collective, sizes] : sizes_of)
      out["sizes_of"][collective] = {to_string(Bytes{sizes.first}), to_string(Bytes{sizes.second})};
  }
  return out;
}

std::string profile_text(const OpenScenario& open, const std::vector<FitPoint>& points, const FitResult& result,
                         const ProfileOrigin& origin) {
  std::vector<double> values;
  for (const FittedParameter& p : result.parameters) values.push_back(p.value);
  HardwareProfile hardware = open.hardware(values);
  hardware.cost_by_size = result.cost_by_size;
  const Json written = HardwareForm::write(hardware);
  Json out = {{"schema", 1}};
  out["description"] = fmt::format("Fitted to {}.", origin.what);
  for (const HardwareParameter& known : hardware_parameters()) {
    const auto fitted = std::ranges::find_if(result.parameters, [&](const FittedParameter& p) { return p.parameter.name == known.name; });
    std::string source = fmt::format("not fitted; from profile {}", open.scenario().hardware.name);
    if (fitted != result.parameters.end())
      source = fitted->determined ? "fitted, see calibration"
                                  : fmt::format("{}; {}", result.searched ? "the data does not determine it" : "nothing was searched",
                                                !fitted->usual.empty() ? fmt::format("as is usual of {}", fitted->usual)
                                                                       : fmt::format("from profile {}", open.scenario().hardware.name));
    else if (open.alike() && open.alike()->parameter == known.name)
      source = fmt::format("as {}: nothing was measured over this", open.alike()->as);
    else if (std::ranges::count(open.usual(), known.name) > 0)
      source = "no call that was measured needs it; as is usual of hosts";
    out[known.name] = {{"value", written.at(known.name)}, {"source", source}};
  }
  for (const auto& [key, value] : written.items()) {  // what is no number
    if (out.contains(key) || key == "profile" || key == name_of_sized_costs) continue;
    const auto source = hardware.sources.find(key);
    out[key] = {{"value", value},
                {"source", source != hardware.sources.end() ? source->second
                                                            : fmt::format("not fitted; from profile {}", open.scenario().hardware.name)}};
  }
  if (!hardware.cost_by_size.empty())
    out[std::string(name_of_sized_costs)] = {{"value", written.at(std::string(name_of_sized_costs))},
                                             {"source", "fitted, see calibration"}};
  Json settings = Json::object(), parameters = Json::array(), undetermined = Json::array(), at_bound = Json::array();
  std::vector<std::string> residuals;  // one a line
  for (const FittedParameter& p : result.parameters) {
    if (!p.parameter.hardware) settings[p.parameter.name] = p.parameter.text(p.value);
    parameters.push_back(p.parameter.name);
    if (!p.determined) undetermined.push_back(p.parameter.name);
    if (p.at_bound) at_bound.push_back(p.parameter.name);
  }
  if (std::ranges::any_of(result.cost_by_size, is_at_bound)) at_bound.push_back(name_of_sized_costs);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Measurement& m = points[i].measured;
    std::string repeats = m.repeats > 1 ? fmt::format("\"repeats\": {}, \"spread_us\": {:.3f}, ", m.repeats, m.spread_us) : "";
    if (m.runs_apart > 0) repeats += fmt::format("\"runs_left_out\": {}, ", m.runs_apart);
    residuals.push_back(fmt::format(
        "{}{{\"collective\": {}, \"algorithm\": {}, \"ranks\": {}, \"size_bytes\": {}, \"measured_us\": {}, {}\"simulated_us\": "
        "{:.3f}, \"fitted\": {}}}",
        "\n      ", Json(m.collective).dump(), Json(m.algorithm).dump(), points[i].setup.ranks, m.size_bytes, m.time_us, repeats,
        result.simulated_us[i], points[i].fitted));
  }
  const Scenario cluster = open.scenario(values);
  Json valid = valid_range(points, {&cluster}, result.patterns);
  if (const auto& ways = result.ways) {
    valid["switches"] = {ways->fewest, ways->most};
    if (ways->links) valid["switch_links"] = {to_string(ways->links->first), to_string(ways->links->second)};
  }
  out["calibration"] = {{"command", origin.command},
                        {"valid_for", valid},
                        {"fitted_error", errors_of(result.fitted)},
                        {"held_out_error", errors_of(result.held_out)},
                        {"held_out_error_without_cost_by_size", errors_of(result.held_out_without_costs)},
                        {"cross_validated_error", errors_of(result.cross_validated)},
                        {"interpolated_error", errors_of(summarise(interpolation_errors(points)))},
                        {"spread_of_starts", spread_of(result.spread)},
                        {"parameters", parameters},
                        {"undetermined", undetermined},
                        {"at_bound", at_bound},
                        {"scenario_settings", settings},
                        {"residuals", "@"}};
  std::string text = out.dump(2);
  const std::string_view mark = "\"@\"";
  text.replace(text.rfind(mark), mark.size(), fmt::format("[{}\n    ]", fmt::join(residuals, ",")));
  return text + "\n";
}

}  // namespace weft

#include "sim/cli/calibrated.hpp"

#include "kernels/base/plural.hpp"
#include "models/nccl_tuning.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/scenario/hardware_fields.hpp"
#include "sim/scenario/networks.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace weft {
namespace {

template <class T>
std::vector<T> list_in(const Json& json, const char* key) {
  std::vector<T> out;
  if (!json.contains(key) || !json.at(key).is_array()) return out;
  for (const Json& item : json.at(key))
    if ((std::is_same_v<T, int> && item.is_number_integer()) || (std::is_same_v<T, std::string> && item.is_string()))
      out.push_back(item.get<T>());
  return out;
}

bool has(const std::vector<std::string>& list, const std::string& name) { return std::ranges::find(list, name) != list.end(); }

// The size of a training step is that of its model.
std::string name_in_notes(const Row& row) {
  return row.training ? fmt::format("{}, {}", row.training->engine, row.algorithm)
                      : fmt::format("{} {}", row.algorithm, to_string(row.size));
}

int servers_of(const Scenario& scenario, int ranks) {
  const int gpus = scenario.server.gpu_count();
  if (scenario.placement.policy == PlacementPolicy::linear) return (ranks + gpus - 1) / gpus;
  std::set<int> servers;
  for (const int endpoint : place(scenario.placement, ranks, scenario.fabric.spec, scenario.server)) servers.insert(endpoint / gpus);
  return static_cast<int>(servers.size());
}

// "mpich" of "mpi(library=mpich)"; empty where it is not set.
std::string setting_in(const std::string& label, const std::string& key) {
  for (const char before : {'(', ','})
    if (const std::size_t at = label.find(before + key + "="); at != label.npos) {
      const std::size_t first = at + key.size() + 2;
      return label.substr(first, label.find_first_of(",)", first) - first);
    }
  return {};
}

// Of each collective and number of ranks that some point was fitted to, the sizes of all points, as the profile's whole range has them.
std::map<std::string, std::map<int, Calibration::Sizes>> sizes_of_points(const Json& calibration) {
  std::map<std::string, std::map<int, Calibration::Sizes>> out;
  if (!calibration.contains("residuals") || !calibration.at("residuals").is_array()) return out;
  using Call = std::tuple<std::string, std::string, int>;  // collective, algorithm, ranks
  std::map<Call, Calibration::Sizes> sizes;
  std::set<Call> fitted;
  for (const Json& point : calibration.at("residuals")) {
    const Call call(point.at("collective").get<std::string>(), point.value("algorithm", ""), point.at("ranks").get<int>());
    const Bytes size{point.at("size_bytes").get<std::int64_t>()};
    auto& [smallest, largest] = sizes.try_emplace(call, Calibration::Sizes{size, size}).first->second;
    smallest = std::min(smallest, size), largest = std::max(largest, size);
    if (point.value("fitted", false)) fitted.insert(call);
  }
  for (const Call& call : fitted) {
    const Calibration::Sizes& of_call = sizes.at(call);
    auto& [smallest, largest] = out[std::get<0>(call)].try_emplace(std::get<2>(call), of_call).first->second;
    smallest = std::min(smallest, of_call.smallest), largest = std::max(largest, of_call.largest);
  }
  return out;
}

std::string percent(double value) { return fmt::format("{:.1f} %", 100 * value); }

template <class Value>
const Value& value_for(std::string_view collective, const std::map<std::string, Value>& known, const Value& otherwise) {
  const auto at = known.find(std::string(collective));
  return at == known.end() ? otherwise : at->second;
}

std::string range_of(const Calibration& c) {
  const auto [fewest, most] = std::ranges::minmax(c.ranks);
  return fmt::format("{} by {} of {} to {} on {} ranks", fmt::join(c.collectives, ", "), fmt::join(c.algorithms, ", "),
                     to_string(c.sizes.smallest), to_string(c.sizes.largest),
                     fewest == most ? fmt::format("{}", fewest) : fmt::format("{} to {}", fewest, most));
}

std::string to_text(const std::pair<BitsPerSecond, BitsPerSecond>& rates) {
  return rates.first == rates.second ? to_string(rates.first) : fmt::format("{} to {}", to_string(rates.first), to_string(rates.second));
}

void add_beyond_ways(const WaysBetweenServers& fitted, const WaysBetweenServers& here, std::vector<std::string>& out) {
  if (here.fewest < fitted.fewest || here.most > fitted.most) {
    const int other = here.most > fitted.most ? here.most : here.fewest;
    out.push_back(fmt::format("paths over {} (fitted: {}{})", other == 1 ? "1 switch" : fmt::format("{} switches", other), fitted.fewest,
                              fitted.fewest == fitted.most ? "" : fmt::format(" to {}", fitted.most)));
  }
  if (fitted.links && here.links && (here.links->first < fitted.links->first || here.links->second > fitted.links->second))
    out.push_back(fmt::format("links between switches of {} (fitted: {})", to_text(*here.links), to_text(*fitted.links)));
}

}  // namespace

std::optional<Calibration> calibration_in(const Json& json) {
  if (!json.is_object() || !json.contains("valid_for") || !json.at("valid_for").is_object()) return {};
  const Json& valid = json.at("valid_for");
  const auto known_of = [&](const char* key, const std::string& collective) {
    return valid.contains(key) && valid.at(key).is_object() && valid.at(key).contains(collective);
  };
  const auto sizes_in = [](const std::vector<std::string>& both) {
    return Calibration::Sizes{parse_bytes(both.at(0)), parse_bytes(both.at(1))};
  };
  Calibration out{.collectives = list_in<std::string>(valid, "collectives"),
                  .algorithms = list_in<std::string>(valid, "algorithms"),
                  .libraries = list_in<std::string>(valid, "libraries"),
                  .patterns = list_in<std::string>(valid, "nccl_algorithms"),
                  .paths = list_in<std::string>(valid, "paths"),
                  .servers = list_in<std::string>(valid, "servers"),
                  .networks = list_in<std::string>(valid, "networks"),
                  .ranks = list_in<int>(valid, "ranks"),
                  .nodes = list_in<int>(valid, "nodes"),
                  .ranks_of = {},
                  .sizes = {},
                  .sizes_of = {}};
  if (out.collectives.empty() || out.ranks.empty()) return {};
  try {
    out.sizes = sizes_in(list_in<std::string>(valid, "size"));
    if (const auto links = list_in<std::string>(valid, "links"); links.size() == 2)
      out.links.emplace(parse_bandwidth(links[0]), parse_bandwidth(links[1]));
    if (const auto switches = list_in<int>(valid, "switches"); switches.size() == 2) {
      out.ways = {.fewest = switches[0], .most = switches[1]};
      if (const auto links = list_in<std::string>(valid, "switch_links"); links.size() == 2)
        out.ways->links.emplace(parse_bandwidth(links[0]), parse_bandwidth(links[1]));
    }
    out.sizes_on = sizes_of_points(json);
    for (const std::string& collective : out.collectives) {
      if (known_of("ranks_of", collective))
        if (auto ranks = list_in<int>(valid.at("ranks_of"), collective.c_str()); !ranks.empty())
          out.ranks_of[collective] = std::move(ranks);
      if (known_of("sizes_of", collective))
        out.sizes_of[collective] = sizes_in(list_in<std::string>(valid.at("sizes_of"), collective.c_str()));
    }
    if (const auto error = json.find("held_out_error"); error != json.end() && error->is_object()) {
      out.held_out = error->value("points", 0);
      out.median = error->value("median", 0.0), out.p95 = error->value("p95", 0.0);
    }
  } catch (const std::exception&) {  // written by hand
    return {};
  }
  return out;
}

const std::vector<int>& Calibration::ranks_for(std::string_view collective) const { return value_for(collective, ranks_of, ranks); }

const Calibration::Sizes& Calibration::sizes_for(std::string_view collective) const { return value_for(collective, sizes_of, sizes); }

std::map<int, Calibration::Sizes> Calibration::sizes_near(std::string_view collective, int among) const {
  const auto known = sizes_on.find(std::string(collective));
  if (known != sizes_on.end())
    if (const auto above = known->second.lower_bound(among); above != known->second.end()) {
      if (above->first == among) return {*above};
      if (above != known->second.begin()) return {*std::prev(above), *above};
    }
  return {{0, sizes_for(collective)}};
}

std::vector<std::string> beyond_scale(const Calibration& c, const Scenario& scenario, std::string_view collective, int ranks) {
  std::vector<std::string> out;
  const auto outside = [](int value, const std::vector<int>& known) {
    const auto [fewest, most] = std::ranges::minmax(known);
    return value < fewest || value > most;
  };
  const std::vector<int>& known = c.ranks_for(collective);
  const bool other_ranks = outside(ranks, known);
  if (other_ranks) out.push_back(fmt::format("{} ranks (fitted: {})", ranks, fmt::join(known, ", ")));
  const int servers = servers_of(scenario, ranks);
  if (!other_ranks && !c.nodes.empty() && outside(servers, c.nodes))
    out.push_back(fmt::format("{} (fitted: {})", counted(servers, "server"), fmt::join(c.nodes, ", ")));
  const auto other = [&](const char* what, const std::string& name, const std::vector<std::string>& fitted) {
    if (!fitted.empty() && !has(fitted, name)) out.push_back(fmt::format("{} {} (fitted: {})", what, name, fmt::join(fitted, ", ")));
  };
  other("server", name_of_links(scenario.server), c.servers);
  other("network", std::string(name_of(scenario.network)), c.networks);
  if (servers > 1 && c.links) {
    const auto& [slowest, fastest] = *c.links;
    const BitsPerSecond link = slowest_endpoint(scenario.fabric.spec);
    if (link < slowest || fastest < link) out.push_back(fmt::format("links of {} (fitted: {})", to_string(link), to_text(*c.links)));
  }
  if (servers > 1 && c.ways)
    if (const auto here = ways_of_ranks(scenario, ranks)) add_beyond_ways(*c.ways, *here, out);
  if (c.paths.empty()) return out;
  const auto needs = [&](const char* path) {
    if (!has(c.paths, path)) out.push_back(fmt::format("paths of the {} (fitted: {})", path, fmt::join(c.paths, ", ")));
  };
  if (ranks > servers) needs("server");
  if (servers > 1) needs("network");
  return out;
}

std::vector<std::string> beyond(const Calibration& c, const Row& row, const Scenario& scenario) {
  const std::string_view collective = row.collective ? name_of(*row.collective) : "";
  std::vector<std::string> out = beyond_scale(c, scenario, collective, row.ranks);
  if (!row.training)  // a step has messages of many sizes
    for (const auto& [among, sizes] : c.sizes_near(collective, row.ranks)) {
      if (row.size >= sizes.smallest && row.size <= sizes.largest) continue;
      out.push_back(fmt::format("{} (fitted: {} to {}{})", to_string(row.size), to_string(sizes.smallest), to_string(sizes.largest),
                                sizes == c.sizes_for(collective) ? "" : fmt::format(" on {} ranks", among)));
      break;
    }
  if (!row.collective || row.training) return out;
  if (const std::string name(name_of(*row.collective)); !has(c.collectives, name))
    out.push_back(fmt::format("{} (fitted: {})", name, fmt::join(c.collectives, ", ")));
  const auto name_in = [](const std::string& label) { return label.substr(0, label.find('(')); };
  if (const std::string name = name_in(row.algorithm); !has(c.algorithms, name) && !has(c.algorithms, name_in(row.chosen)))
    out.push_back(fmt::format("{} (fitted: {})", name, fmt::join(c.algorithms, ", ")));
  const auto& ran = row.chosen.empty() ? row.algorithm : row.chosen;
  if (const std::string pattern = setting_in(ran, "algorithm");
      name_in(ran) == "nccl" && !pattern.empty() && !c.patterns.empty() && !has(c.patterns, pattern))
    out.push_back(fmt::format("NCCL's {} (fitted: {})", pattern, fmt::join(c.patterns, ", ")));
  if (const std::string protocol = setting_in(ran, "protocol"); name_in(ran) == "nccl")
    for (const NcclProtocol one : {NcclProtocol::ll, NcclProtocol::ll128})
      if (protocol == name_of(one) &&
          lacks_protocol(scenario.hardware, {.protocol = one, .between_servers = servers_of(scenario, row.ranks) > 1}))
        out.push_back(fmt::format("protocol {} (fitted: NCCL does not have it here)", protocol));
  if (const std::string library = setting_in(row.algorithm, "library");
      !library.empty() && !c.libraries.empty() && !has(c.libraries, library))
    out.push_back(fmt::format("library {} (fitted: {})", library, fmt::join(c.libraries, ", ")));
  return out;
}

std::string calibration_notes(const std::vector<Result>& results, const std::vector<Case>& cases,
                              const std::function<Json(const std::string&)>& calibration_of) {
  std::string out;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Scenario& scenario = cases[i].scenario;
    const auto calibration = calibration_in(calibration_of(scenario.hardware.name));
    if (!calibration) continue;
    std::string text = fmt::format("# hardware {} was fitted to {}", scenario.hardware.name, range_of(*calibration));
    if (calibration->held_out > 0)
      text += fmt::format("; error on {} held out: median {}, 95th percentile {}", counted(calibration->held_out, "point"),
                          percent(calibration->median), percent(calibration->p95));
    const bool changed = std::ranges::any_of(scenario.hardware.sources, [](const auto& s) { return s.second == given_in_the_scenario; });
    text += changed ? "; the scenario changes it\n" : "\n";
    std::map<std::string, std::vector<std::string>> rows;  // why -> which
    std::size_t covered = 0;
    for (const Result& result : results) {
      if (result.request.case_index != i || !result.row) continue;
      const auto why = beyond(*calibration, *result.row, scenario);
      if (why.empty()) ++covered;
      for (const std::string& reason : why)
        if (std::string name = name_in_notes(*result.row); !has(rows[reason], name)) rows[reason].push_back(std::move(name));
    }
    if (covered == 0)  // nothing, where no row has a result
      text += rows.empty() ? "" : "#   no row lies within the range it was fitted to; outside it:\n";
    else if (rows.empty())
      text += fmt::format("#   its range covers {}\n", covered == 1 ? "the row" : fmt::format("all {} rows", covered));
    else
      text += fmt::format("#   its range covers {}; outside it:\n", counted(static_cast<std::int64_t>(covered), "row"));
    constexpr std::size_t most = 6;
    for (auto& [reason, names] : rows) {
      const std::size_t more = names.size() > most ? names.size() - most : 0;
      names.resize(names.size() - more);
      text += fmt::format("#   {}: {}{}\n", reason, fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
    }
    if (out.find(text) == out.npos) out += text;
  }
  return out.empty() ? out : "#\n" + out;
}

}  // namespace weft

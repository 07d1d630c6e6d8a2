#include "sim/tune/tune_cache.hpp"

#include "kernels/base/error.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

// Labels repeat, so each is written once.
Json json_of(const LabelledGraph& graph) {
  std::map<std::string, std::size_t> number;
  Json labels = Json::array(), nodes = Json::array(), edges = Json::array();
  for (const std::string& label : graph.labels) {
    const auto [at, fresh] = number.emplace(label, number.size());
    if (fresh) labels.push_back(label);
    nodes.push_back(at->second);
  }
  for (const auto& [from, to] : graph.edges) edges.push_back(Json::array({from, to}));
  return {{"labels", labels}, {"nodes", nodes}, {"edges", edges}};
}

LabelledGraph graph_from(const Json& json) {
  LabelledGraph graph;
  for (const Json& node : json.at("nodes")) graph.labels.push_back(json.at("labels").at(node.get<std::size_t>()).get<std::string>());
  const auto nodes = static_cast<int>(graph.labels.size());
  for (const Json& edge : json.at("edges")) {
    graph.edges.emplace_back(edge.at(0).get<int>(), edge.at(1).get<int>());
    const auto [from, to] = graph.edges.back();
    if (from < 0 || to < 0 || from >= nodes || to >= nodes)
      throw InputError(fmt::format("an edge from {} to {} in a graph of {} nodes", from, to, nodes));
  }
  return graph;
}

}  // namespace

void TuneCache::add(TunedSettings entry) {
  for (TunedSettings& known : entries_) {
    if (known.model != entry.model || known.fabric != entry.fabric) continue;
    if (entry.cost < known.cost) known = std::move(entry);
    return;
  }
  entries_.push_back(std::move(entry));
}

std::optional<TuneCache::Match> TuneCache::find(const LabelledGraph& model, const LabelledGraph& fabric, double most) const {
  std::optional<Match> best;
  for (const TunedSettings& entry : entries_) {
    const double difference = (edit_difference(entry.model, model) + edit_difference(entry.fabric, fabric)) / 2;
    if (difference <= most && (!best || difference < best->difference)) best = Match{&entry, difference};
  }
  return best;
}

std::string TuneCache::to_json() const {
  Json all = Json::array();
  for (const TunedSettings& e : entries_)
    all.push_back(
        {{"name", e.name}, {"cost", e.cost}, {"settings", e.settings}, {"model", json_of(e.model)}, {"fabric", json_of(e.fabric)}});
  return Json{{"schema", 1}, {"entries", all}}.dump() + "\n";
}

TuneCache TuneCache::from_json(std::string_view text, const std::string& where) {
  TuneCache cache;
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) throw InputError(fmt::format("{}: is no cache of tuned settings: it is not JSON", where));
  if (!json.is_object() || !json.contains("entries") || !json.at("entries").is_array())
    throw InputError(fmt::format("{}: is no cache of tuned settings: it has no list \"entries\"", where));
  std::size_t i = 0;
  try {
    if (json.at("schema") != 1) throw InputError("schema must be 1");
    for (const Json& e : json.at("entries")) {
      TunedSettings entry{.name = e.at("name"),
                          .model = graph_from(e.at("model")),
                          .fabric = graph_from(e.at("fabric")),
                          .settings = {},
                          .cost = e.at("cost")};
      for (const auto& [pointer, value] : e.at("settings").items()) entry.settings[pointer] = value.get<std::string>();
      cache.entries_.push_back(std::move(entry));
      ++i;
    }
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("{}: /entries/{}: is no cache of tuned settings: {}", where, i, error.what()));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: /entries/{}: {}", where, i, error.what()));
  }
  return cache;
}

}  // namespace weft

// What nccl-tests writes with -J (file version 3): one JSON object with "results".
#include "sim/json/json_text.hpp"
#include "validation/measurements/lines.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace weft {
namespace {

// Numbers are numbers, or strings that hold one ("nan" is none).
std::optional<double> number_at(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end()) return {};
  if (at->is_number()) return at->get<double>();
  if (at->is_string()) return number_in(trimmed(at->get_ref<const std::string&>()));
  return {};
}

// That follow one another without a barrier.
int iterations_in(const Json& config) {
  for (const char* barrier : {"per_iter_timing", "blocking_collectives"})
    if (const Json value = config.value(barrier, Json()); value == "true" || value == true) return 1;
  return static_cast<int>(std::clamp(number_at(config, "iterations").value_or(nccl_iterations), 1.0, 1e6));
}

std::string text_at(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? std::string(trimmed(at->get_ref<const std::string&>())) : std::string();
}

// Ranks are counted by their numbers: of each process with several GPUs only the first is listed. Returns what keeps the file from being
// used.
std::string read_config(const Json& config, Measurement& row) {
  const auto count_at = [&](const char* name) { return static_cast<int>(std::clamp(number_at(config, name).value_or(1), 1.0, 1024.0)); };
  row.back_to_back = iterations_in(config);
  row.gpus_of_a_process = count_at("nthreads") * count_at("ngpus");
  const auto devices = config.find("devices");
  if (devices == config.end() || !devices->is_array()) return {};
  std::set<std::string> hosts;
  std::map<int, std::string> host_of;  // of each rank that is listed
  std::set<double> groups;
  int last = static_cast<int>(devices->size()) - 1;
  for (const Json& device : *devices) {
    if (!device.is_object()) continue;
    const auto rank = static_cast<int>(std::clamp(number_at(device, "rank").value_or(0), 0.0, 1e6));
    last = std::max(last, rank);
    if (const auto group = number_at(device, "group")) groups.insert(*group);
    if (device.contains("hostname")) host_of.try_emplace(rank, *hosts.insert(device.at("hostname").dump()).first);
  }
  if (last >= 0) row.ranks = (last / row.gpus_of_a_process + 1) * row.gpus_of_a_process;
  row.nodes = static_cast<int>(hosts.size());
  set_ranks_of_nodes(host_of, row);
  return groups.size() > 1 ? "/config/devices: " + several_groups(groups.size()) : "";
}

// Two digits behind the point, as the table has them.
std::optional<RanksTold> ranks_told_by(const Json& block, std::string_view collective) {
  const auto algbw = number_at(block, "alg_bw"), busbw = number_at(block, "bus_bw");
  if (!algbw || !busbw) return {};
  return ranks_told(collective, fmt::format("{:.2f}", *algbw), fmt::format("{:.2f}", *busbw));
}

void read_block(std::size_t index, const Json& result, const char* name, Measurement row, RowSink& sink) {
  const auto at = result.find(name);
  if (at == result.end() || !at->is_object()) return;
  row.in_place = std::string_view(name) == "in_place";
  const auto time = number_at(*at, "time");
  if (!sink.wants(index + 1, row)) {
    if (time) sink.add_other_buffer(index + 1, *time);
    return;
  }
  if (!time)
    return sink.problem(0, fmt::format("/results/{}/{}/time: must be a number, got {}", index, name, shown(at->value("time", Json()))));
  if (const auto wrong = number_at(*at, "nwrong"); wrong && *wrong != 0)
    return sink.problem(0, fmt::format("/results/{}/{}/nwrong: {:g} values of the result were wrong; the time of a wrong result is none",
                                       index, name, *wrong));
  row.time_us = *time;
  row.told_ranks = ranks_told_by(*at, collective_spelled(row.collective.empty() ? sink.options().collective : row.collective));
  sink.add(index + 1, std::move(row), number_at(*at, "alg_bw"), fmt::format("/results/{}/{}", index, name));
}

// A buffer that is wanted and that only some of the results have.
void refuse_missing_block(std::size_t index, const Json& results, const char* name, RowSink& sink) {
  const auto has = [&](const Json& result) { return result.is_object() && result.contains(name) && result.at(name).is_object(); };
  const auto& select = sink.options().select;
  if (has(results[index]) || (select && select->in_place != (std::string_view(name) == "in_place"))) return;
  if (std::ranges::any_of(results, has))
    sink.problem(index + 1, "is missing, though other results have it", fmt::format("/results/{}/{}", index, name));
}

// How many results were wrong of which no block says so.
std::int64_t wrong_somewhere_in(const Json& json, const Json& results) {
  const auto summary = json.find("out_of_bounds");
  if (summary == json.end() || !summary->is_object()) return 0;
  for (const Json& result : results)
    for (const char* name : {"out_of_place", "in_place"})
      if (result.is_object() && result.contains(name) && result.at(name).is_object() &&
          number_at(result.at(name), "nwrong").value_or(0) != 0)
        return 0;
  const double count = number_at(*summary, "count").value_or(0);
  const bool failed = text_at(*summary, "okay") == "false" || summary->value("okay", Json()) == false;
  return std::max<std::int64_t>(std::llround(std::clamp(count, 0.0, 1e9)), failed);
}

// The block that has no other time; empty if there is none.
std::string place_of_cpu_time(const Json& result) {
  for (const char* name : {"out_of_place", "in_place"})
    if (const auto at = result.find(name); at != result.end() && at->is_object() && at->contains("cpu_time") && !at->contains("time"))
      return name;
  return {};
}

}  // namespace

void read_nccl_json(std::string_view text, RowSink& sink) {
  std::vector<Problem> problems;
  const Json json = parse_json(text, problems);
  for (const Problem& problem : problems) sink.problem(0, fmt::format("{}: {}", problem.where, problem.what));
  if (!problems.empty()) return;
  const auto results = json.find("results");
  if (results == json.end() || !results->is_array()) return sink.problem(0, "/results: must be a list");

  Measurement row;
  if (const auto args = json.find("args"); args != json.end() && args->is_array() && !args->empty() && args->front().is_string())
    if (const std::string& program = args->front().get_ref<const std::string&>(); const auto found = collective_of_nccl_program(program)) {
      if (found->empty()) return sink.problem(0, unknown_nccl_program(program));
      row.collective = *found;
    }
  row.back_to_back = nccl_iterations;
  if (const auto config = json.find("config"); config != json.end() && config->is_object())
    if (const std::string problem = read_config(*config, row); !problem.empty()) return sink.problem(0, problem);
  row.gpus = row.nodes > 0 ? row.ranks / row.nodes : 0;
  if (const std::int64_t wrong = wrong_somewhere_in(json, *results); wrong > 0)
    return sink.problem(0, "/out_of_bounds: " + wrong_somewhere(wrong));

  for (std::size_t i = 0; i < results->size(); ++i) {
    const Json& result = (*results)[i];
    if (const std::string place = place_of_cpu_time(result); !place.empty())
      return sink.problem(0, cpu_time_is_none(fmt::format("/results/{}/{}/cpu_time", i, place)));
    const auto size = result.is_object() ? number_at(result, "size") : std::nullopt;
    if (!size || std::abs(*size) > static_cast<double>(largest_bytes) || *size != std::trunc(*size)) {
      sink.problem(0, fmt::format("/results/{}/size: must be a whole number of bytes, at most {}", i, largest_bytes));
      continue;
    }
    row.size_bytes = static_cast<std::int64_t>(*size);
    if (const auto algorithm = result.find("algorithm"); algorithm != result.end() && algorithm->is_string())  // weft bench says it
      row.algorithm = algorithm->get<std::string>();
    if (result.contains("compression")) return sink.problem(0, compressed_is_none(text_at(result, "compression")));
    row.elements = elements_of(text_at(result, "type"), text_at(result, "redop"));
    for (const char* name : {"out_of_place", "in_place"}) {
      refuse_missing_block(i, *results, name, sink);
      read_block(i, result, name, row, sink);
    }
  }
}

}  // namespace weft

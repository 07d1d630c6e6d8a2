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
  if (config.value("per_iter_timing", Json()) == "true") return 1;
  return static_cast<int>(std::clamp(number_at(config, "iterations").value_or(nccl_iterations), 1.0, 1e6));
}

// Ranks are counted by their numbers: of each process with several GPUs only the first is listed.
void read_config(const Json& config, Measurement& row) {
  const auto count_at = [&](const char* name) { return static_cast<int>(std::clamp(number_at(config, name).value_or(1), 1.0, 1024.0)); };
  row.back_to_back = iterations_in(config);
  row.gpus_of_a_process = count_at("nthreads") * count_at("ngpus");
  const auto devices = config.find("devices");
  if (devices == config.end() || !devices->is_array()) return;
  std::set<std::string> hosts;
  int last = static_cast<int>(devices->size()) - 1;
  for (const Json& device : *devices) {
    if (!device.is_object()) continue;
    last = std::max(last, static_cast<int>(std::clamp(number_at(device, "rank").value_or(0), 0.0, 1e6)));
    if (device.contains("hostname")) hosts.insert(device.at("hostname").dump());
  }
  if (last >= 0) row.ranks = (last / row.gpus_of_a_process + 1) * row.gpus_of_a_process;
  row.nodes = static_cast<int>(hosts.size());
}

void read_block(std::size_t index, const Json& result, const char* name, Measurement row, RowSink& sink) {
  const auto at = result.find(name);
  if (at == result.end() || !at->is_object()) return;
  row.in_place = std::string_view(name) == "in_place";
  const auto time = at->contains("time") ? number_at(*at, "time") : number_at(*at, "cpu_time");
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
  sink.add(index + 1, std::move(row), number_at(*at, "alg_bw"));
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
  if (const auto config = json.find("config"); config != json.end() && config->is_object()) read_config(*config, row);
  row.gpus = row.nodes > 0 ? row.ranks / row.nodes : 0;

  for (std::size_t i = 0; i < results->size(); ++i) {
    const Json& result = (*results)[i];
    const auto size = result.is_object() ? number_at(result, "size") : std::nullopt;
    if (!size || std::abs(*size) > static_cast<double>(largest_bytes) || *size != std::trunc(*size)) {
      sink.problem(0, fmt::format("/results/{}/size: must be a whole number of bytes, at most {}", i, largest_bytes));
      continue;
    }
    row.size_bytes = static_cast<std::int64_t>(*size);
    if (const auto algorithm = result.find("algorithm"); algorithm != result.end() && algorithm->is_string())  // weft bench says it
      row.algorithm = algorithm->get<std::string>();
    read_block(i, result, "out_of_place", row, sink);
    read_block(i, result, "in_place", row, sink);
  }
}

}  // namespace weft

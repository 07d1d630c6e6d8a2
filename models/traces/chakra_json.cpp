#include "kernels/base/gather.hpp"
#include "models/traces/chakra.hpp"
#include "models/traces/chakra_node.hpp"
#include "models/traces/json_access.hpp"

namespace weft {
namespace {

// "comm_size" is "commSize" with some writers, and "Id" is "id".
const char* either(const TraceJson& object, const char* key, const char* other) { return member(object, key) ? key : other; }

std::vector<std::uint64_t> ids_of(const TraceJson& node, const char* key, const std::string& place) {
  std::vector<std::uint64_t> out;
  const TraceJson* list = member(node, key);
  if (!list) return out;
  if (!list->is_array()) throw InputError(fmt::format("{}: \"{}\" must be a list, got {}", place, key, shown_json(*list)));
  for (const TraceJson& id : *list) {
    if (!id.is_number_unsigned()) throw InputError(fmt::format("{}: \"{}\" must be ids of nodes, got {}", place, key, shown_json(id)));
    out.push_back(id.get<std::uint64_t>());
  }
  return out;
}

ChakraNode node_of(const TraceJson& json, const std::string& file, std::size_t index) {
  const std::string at = fmt::format("{}: /workload_graph/{}", file, index);
  if (!json.is_object()) throw InputError(fmt::format("{}: must be an object, got {}", at, shown_json(json)));
  const auto whole = [&](const char* key) { return whole_member(json, key, at); };
  ChakraNode node;
  const auto id = whole(either(json, "Id", "id")), type = whole(either(json, "NodeType", "type"));
  if (!id || *id < 0) throw InputError(fmt::format("{}: needs an \"Id\" from 0 on", at));
  if (!type) throw InputError(fmt::format("{}: needs a \"NodeType\"", at));
  node.id = static_cast<std::uint64_t>(*id);
  node.type = *type;
  node.name = text_member(json, either(json, "Name", "name")).value_or("");
  const std::int64_t lasts = whole(either(json, "runtime", "duration_micros")).value_or(0);
  if (lasts < 0) throw InputError(fmt::format("{}: \"runtime\" must be at least 0, got {}", at, lasts));
  node.duration_us = static_cast<std::uint64_t>(lasts);
  node.data_deps = ids_of(json, either(json, "data_deps", "dataDeps"), at);
  if (const auto cpu = whole("is_cpu_op")) node.is_cpu_op = *cpu != 0;
  node.comm_type = whole("comm_type");
  node.comm_size = whole("comm_size");
  node.comm_src = whole("comm_src");
  node.comm_dst = whole("comm_dst");
  node.comm_tag = whole("comm_tag");
  node.root = whole("root");
  node.num_ops = whole("num_ops");
  node.stream = whole("stream");
  node.tid = whole("tid");
  node.pg_name = text_member(json, "pg_name");
  return node;
}

}  // namespace

bool looks_like_chakra_json(std::string_view text) { return text.substr(0, 4096).find("\"workload_graph\"") != std::string_view::npos; }

TraceFile parse_chakra_json(std::string_view text, const std::string& file) {
  const TraceJson json = parse_trace_json(text, file);
  const TraceJson* nodes = member(json, "workload_graph");
  if (!nodes || !nodes->is_array()) throw InputError(fmt::format("{}: /workload_graph must be a list of nodes", file));
  ChakraRank rank(file);
  std::vector<std::string> problems;
  for (std::size_t i = 0; i < nodes->size() && problems.size() < max_problems_of_a_file; ++i)
    gather(problems, [&] { rank.add(node_of((*nodes)[i], file, i)); });
  if (!problems.empty()) throw InputError(std::move(problems));
  return rank.finish();
}

bool looks_like_comm_groups(std::string_view text) {
  const TraceJson json = TraceJson::parse(text, nullptr, false);
  if (!json.is_object() || json.empty()) return false;
  for (const auto& [name, ranks] : json.items()) {
    if (!ranks.is_array() || ranks.empty()) return false;
    for (const TraceJson& rank : ranks)
      if (!rank.is_number_integer()) return false;
  }
  return true;
}

std::vector<TracedGroup> parse_comm_groups(std::string_view text, const std::string& file) {
  std::vector<TracedGroup> out;
  const TraceJson json = parse_trace_json(text, file);
  for (const auto& [name, ranks] : json.items()) {
    TracedGroup group{.name = name};
    for (const TraceJson& rank : ranks) {
      if (!rank.is_number_unsigned() || rank >= 1 << 24)
        throw InputError(fmt::format("{}: /{}: must be ranks from 0 on, got {}", file, name, shown_json(rank)));
      group.ranks.push_back(rank.get<Rank>());
    }
    std::vector<Rank> sorted = group.ranks;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) throw InputError(fmt::format("{}: /{}: names a rank twice", file, name));
    out.push_back(std::move(group));
  }
  return out;
}

}  // namespace weft

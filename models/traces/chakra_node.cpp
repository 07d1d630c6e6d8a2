#include "models/traces/chakra_node.hpp"

#include <array>

#include <nlohmann/json.hpp>

namespace weft {
namespace {

// CollectiveCommType of Chakra's schema.
constexpr std::array by_comm_type = {TracedCollective::allreduce, TracedCollective::reduce,         TracedCollective::allgather,
                                     TracedCollective::gather,    TracedCollective::scatter,        TracedCollective::broadcast,
                                     TracedCollective::alltoall,  TracedCollective::reduce_scatter, TracedCollective::reduce_scatter,
                                     TracedCollective::barrier};

}  // namespace

int ChakraRank::lane(bool cpu, std::int64_t of) { return lanes_.try_emplace({cpu, of}, static_cast<int>(lanes_.size())).first->second; }

TracedGroup ChakraRank::group_named(const std::optional<std::string>& name) const {
  if (!name || name->empty()) return {.all = true};
  for (const TracedGroup& group : groups_)
    if (group.name == *name) return group;
  return {.name = *name};
}

// PyTorch's list of process groups, as a string: [{"pg_name": "0", "ranks": [], "group_size": 2}].
void ChakraRank::read_process_groups(const ChakraNode& node) {
  using Json = nlohmann::json;
  Json list = Json::parse(*node.inputs, nullptr, false);
  // The inputs of a node are a list of values with the text in it, quoted by Python or by JSON.
  if (list.is_array() && !list.empty() && list.front().is_string()) list = Json::parse(list.front().get<std::string>(), nullptr, false);
  if (list.is_discarded())
    if (const auto from = node.inputs->find("[{"), to = node.inputs->rfind("}]"); from != std::string::npos && to != std::string::npos)
      list = Json::parse(node.inputs->substr(from, to + 2 - from), nullptr, false);
  if (!list.is_array()) return missing_.add("its process groups cannot be read; they are taken from elsewhere", builder_.place(node.id));
  for (const Json& entry : list) {
    if (!entry.is_object() || !entry.contains("pg_name") || !entry["pg_name"].is_string()) continue;
    TracedGroup group{.name = entry["pg_name"].get<std::string>()};
    if (entry.contains("ranks") && entry["ranks"].is_array())
      for (const Json& rank : entry["ranks"])
        if (rank.is_number_integer() && rank >= 0 && rank < 1 << 24) group.ranks.push_back(rank.get<Rank>());
    for (const char* key : {"group_size", "pg_size"})
      if (entry.contains(key) && entry[key].is_number_unsigned() && entry[key] < 1 << 24) group.size = entry[key].get<int>();
    groups_.push_back(std::move(group));
  }
}

void ChakraRank::add_collective(const ChakraNode& node, TracedOperation o) {
  if (*node.comm_type < 0 || std::cmp_greater_equal(*node.comm_type, by_comm_type.size()))
    builder_.refuse(node.id, fmt::format("\"comm_type\" must be from 0 to {}, got {}", by_comm_type.size() - 1, *node.comm_type));
  o.kind = TracedOperation::Kind::collective;
  o.collective = by_comm_type[static_cast<std::size_t>(*node.comm_type)];
  o.in_order = true;
  o.tag = TracedOperation::no_sequence;
  o.bytes = o.collective == TracedCollective::barrier ? 0 : node.comm_size.value_or(TracedOperation::unknown);
  o.group = builder_.group(group_named(node.pg_name));
  const std::int64_t root = node.root.value_or(TracedOperation::any_rank);
  if (root < TracedOperation::any_rank || root >= 1 << 24)
    builder_.refuse(node.id, fmt::format("the root must be a rank from 0 on, got {}", root));
  o.peer = static_cast<Rank>(root);
  if (o.bytes == TracedOperation::unknown)
    missing_.add(fmt::format("the {} has no \"comm_size\"; taken as a computation of the time it took", name_of(o.collective)),
                 builder_.place(node.id));
  builder_.add(node.id, o, node.data_deps);
}

void ChakraRank::add_message(const ChakraNode& node, TracedOperation o) {
  const bool sends = node.type == ChakraNode::send;
  o.kind = sends ? TracedOperation::Kind::send : TracedOperation::Kind::receive;
  const auto& peer = sends ? node.comm_dst : node.comm_src;
  if (!peer) builder_.refuse(node.id, fmt::format("a {} needs \"{}\"", sends ? "send" : "receive", sends ? "comm_dst" : "comm_src"));
  if (*peer < 0 || *peer >= 1 << 24) builder_.refuse(node.id, fmt::format("the other rank must be from 0 on, got {}", *peer));
  if (node.comm_tag && (*node.comm_tag < 0 || *node.comm_tag > std::numeric_limits<int>::max()))
    builder_.refuse(node.id, fmt::format("\"comm_tag\" must be from 0 to {}, got {}", std::numeric_limits<int>::max(), *node.comm_tag));
  o.peer = static_cast<Rank>(*peer);
  o.tag = static_cast<int>(node.comm_tag.value_or(0));
  o.bytes = node.comm_size.value_or(TracedOperation::unknown);
  if (o.bytes == TracedOperation::unknown && sends)
    missing_.add("the send has no \"comm_size\"; taken as of no bytes", builder_.place(node.id));
  builder_.add(node.id, o, node.data_deps);
}

void ChakraRank::add(const ChakraNode& node) {
  if (node.type < 0 || node.type >= ChakraNode::types)
    builder_.refuse(node.id, fmt::format("\"type\" must be from 0 to {}, got {}", ChakraNode::types - 1, node.type));
  if (node.duration_us > static_cast<std::uint64_t>(longest_traced_us))
    builder_.refuse(node.id, fmt::format("lasts {} us; at most {} (104 days) can be simulated", node.duration_us, longest_traced_us));
  if (node.comm_size && (*node.comm_size < 0 || *node.comm_size > max_traced_bytes))
    builder_.refuse(node.id, fmt::format("\"comm_size\" must be from 0 to {}, got {}", max_traced_bytes, *node.comm_size));
  const bool cpu = node.is_cpu_op.value_or(false);
  TracedOperation o{.unit = lane(cpu, cpu ? node.tid.value_or(0) : node.stream.value_or(node.tid.value_or(0))),
                    .duration = {static_cast<std::int64_t>(node.duration_us) * 1'000'000},
                    .record = node.id};
  if (node.type == ChakraNode::collective && node.comm_type) return add_collective(node, o);
  if (node.type == ChakraNode::send || node.type == ChakraNode::receive) return add_message(node, o);
  if (node.type == ChakraNode::collective && !cpu)
    missing_.add("the collective has no \"comm_type\"; taken as a computation of the time it took", builder_.place(node.id));
  // What launches a collective from the CPU is a computation, as everything else that only takes time.
  if (node.type == ChakraNode::metadata && node.inputs && node.name.find("process_group:init") != std::string::npos)
    read_process_groups(node);
  if (node.duration_us == 0 && node.type == ChakraNode::compute && node.num_ops.value_or(0) > 0)
    missing_.add("the computation has \"num_ops\" and no duration; taken as of no time", builder_.place(node.id));
  if (node.duration_us == 0 && (node.type == ChakraNode::mem_load || node.type == ChakraNode::mem_store))
    missing_.add("the access to memory has no duration; taken as of no time", builder_.place(node.id));
  if (o.duration.ps == 0) o.unit = TracedOperation::no_unit;
  builder_.add(node.id, o, node.data_deps);
}

TraceFile ChakraRank::finish() {
  TraceFile out{.format = "Chakra"};
  out.ranks.push_back(builder_.finish(missing_));
  missing_.move_to(out.missing);
  return out;
}

}  // namespace weft

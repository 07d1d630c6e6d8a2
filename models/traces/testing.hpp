// Traces that tests write.
#pragma once

#include "models/traces/traced_program.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <protozero/pbf_writer.hpp>

namespace weft::testing {

struct ChakraTestNode {
  std::uint64_t id = 0;
  int type = 4;
  std::uint64_t lasts_us = 0;
  std::vector<std::uint64_t> after = {};
  std::vector<std::pair<std::string, std::int64_t>> numbers = {};
  std::string group = {};
};

// Behind its length, as all messages of a trace.
inline void append_message(std::string& trace, const std::string& message) {
  protozero::write_varint(std::back_inserter(trace), message.size());
  trace += message;
}

inline std::string chakra_trace(const std::vector<ChakraTestNode>& nodes, const std::string& version = "0.0.4") {
  std::string out, metadata;
  protozero::pbf_writer(metadata).add_string(1, version);
  append_message(out, metadata);
  for (const ChakraTestNode& node : nodes) {
    std::string message;
    protozero::pbf_writer writer(message);
    writer.add_uint64(1, node.id);
    writer.add_string(2, "node");
    writer.add_enum(3, node.type);
    writer.add_packed_uint64(5, node.after.begin(), node.after.end());
    writer.add_uint64(7, node.lasts_us);
    for (const auto& [name, value] : node.numbers) {
      protozero::pbf_writer attribute(writer, 10);
      attribute.add_string(1, name);
      attribute.add_int64(9, value);
    }
    if (!node.group.empty()) {
      protozero::pbf_writer attribute(writer, 10);
      attribute.add_string(1, "pg_name");
      attribute.add_string(29, node.group);
    }
    append_message(out, message);
  }
  return out;
}

constexpr int chakra_compute = 4, chakra_send = 5, chakra_receive = 6, chakra_collective = 7;
constexpr std::int64_t chakra_allreduce = 0, chakra_allgather = 2;

}  // namespace weft::testing

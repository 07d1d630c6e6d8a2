// A node of a Chakra trace, whichever form it had, and what it does.
#pragma once

#include "models/traces/builder.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft {

struct ChakraNode {
  enum Type : std::int64_t { invalid, metadata, mem_load, mem_store, compute, send, receive, collective, types };

  std::uint64_t id = 0;
  std::string name = {};
  std::int64_t type = 0;
  std::uint64_t duration_us = 0;
  std::vector<std::uint64_t> data_deps = {};
  std::optional<std::string> inputs = {};  // of a metadata node
  std::optional<bool> is_cpu_op = {};
  std::optional<std::int64_t> comm_type = {}, comm_size = {}, comm_src = {}, comm_dst = {}, comm_tag = {}, root = {};
  std::optional<std::int64_t> num_ops = {}, tensor_size = {}, stream = {}, tid = {};
  std::optional<std::string> pg_name = {};
};

// Of one rank, a node at a time.
class ChakraRank {
 public:
  explicit ChakraRank(std::string file) : builder_(std::move(file), "node") {}

  void add(const ChakraNode&);
  TraceFile finish();

 private:
  void add_collective(const ChakraNode&, TracedOperation);
  void add_message(const ChakraNode&, TracedOperation);
  void read_process_groups(const ChakraNode&);
  TracedGroup group_named(const std::optional<std::string>& name) const;
  int lane(bool cpu, std::int64_t of);

  RankBuilder builder_;
  Missing missing_;
  std::vector<TracedGroup> groups_;                     // that the trace describes
  std::map<std::pair<bool, std::int64_t>, int> lanes_;  // threads of the CPU, streams of the GPU
};

}  // namespace weft

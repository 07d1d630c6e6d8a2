#include "models/traces/chakra.hpp"

#include "kernels/base/error.hpp"
#include "models/traces/testing.hpp"

#include <doctest/doctest.h>

namespace weft {
namespace {

using namespace testing;
using Kind = TracedOperation::Kind;

TEST_CASE("a Chakra trace becomes operations in an order in which nobody waits for a later one") {
  // 7 stands before 3, for which it waits.
  const TraceFile read = parse_chakra(
      chakra_trace({{.id = 7, .lasts_us = 20, .after = {3}},
                    {.id = 3, .lasts_us = 10},
                    {.id = 9, .type = chakra_collective, .after = {7}, .numbers = {{"comm_type", chakra_allreduce}, {"comm_size", 4096}}}}),
      "t.0.et");
  REQUIRE(read.ranks.size() == 1);
  const TracedRank& rank = read.ranks.front();
  REQUIRE(rank.operations.size() == 3);
  CHECK(rank.operations[0].record == 3);
  CHECK(rank.operations[1].record == 7);
  CHECK(rank.operations[1].duration == 20_us);
  CHECK(rank.after_of(1)[0] == 0);
  CHECK(rank.operations[2].kind == Kind::collective);
  CHECK(rank.operations[2].bytes == 4096);
  CHECK(rank.after_of(2)[0] == 1);
  CHECK(rank.groups.front().all);
  CHECK(read.missing.empty());
}

TEST_CASE("integers of a Chakra trace are read whichever of its types the producer chose") {
  const auto with = [](auto add) {
    std::string out = chakra_trace({}), message;
    protozero::pbf_writer writer(message);
    writer.add_enum(3, chakra_collective);
    {
      protozero::pbf_writer type(writer, 10);
      type.add_string(1, "comm_type");
      type.add_int64(9, chakra_allreduce);
    }
    {
      protozero::pbf_writer size(writer, 10);
      size.add_string(1, "comm_size");
      add(size);
    }
    append_message(out, message);
    return parse_chakra(out, "t.0.et").ranks.front().operations.front().bytes;
  };
  CHECK(with([](auto& w) { w.add_int32(7, 1000); }) == 1000);
  CHECK(with([](auto& w) { w.add_uint32(11, 1000); }) == 1000);
  CHECK(with([](auto& w) { w.add_uint64(13, 1000); }) == 1000);
  CHECK(with([](auto& w) { w.add_sint64(17, 1000); }) == 1000);
  CHECK(with([](auto& w) { w.add_fixed64(21, 1000); }) == 1000);
  CHECK(with([](auto& w) { w.add_double(3, 1000.0); }) == 1000);
  CHECK_THROWS_WITH_AS(with([](auto& w) { w.add_double(3, 0.5); }),
                       "t.0.et: record 1 (byte 8): node 0: \"comm_size\" must be a whole number that fits into 64 bits", InputError);
  CHECK_THROWS_WITH_AS(with([](auto& w) { w.add_int64(9, -1); }),
                       "t.0.et: node 0: \"comm_size\" must be from 0 to 1125899906842624, got -1", InputError);
}

TEST_CASE("what a Chakra trace cannot mean is refused with file and node") {
  const auto refused = [](const std::vector<ChakraTestNode>& nodes) -> std::string {
    try {
      parse_chakra(chakra_trace(nodes), "t.0.et");
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refused({{.id = 1, .type = 9}}) == "t.0.et: node 1: \"type\" must be from 0 to 7, got 9");
  CHECK(refused({{.id = 1}, {.id = 1}}) == "t.0.et: node 1: a node before it has the same id");
  CHECK(refused({{.id = 1, .after = {2}}, {.id = 2, .after = {1}}}) == "t.0.et: node 1: waits for an operation that waits for it");
  CHECK(refused({{.id = 1, .after = {1}}}) == "t.0.et: node 1: waits for itself");
  CHECK(refused({{.id = 1, .type = chakra_collective, .numbers = {{"comm_type", 10}}}}) ==
        "t.0.et: node 1: \"comm_type\" must be from 0 to 9, got 10");
  CHECK(refused({{.id = 1, .type = chakra_send, .numbers = {{"comm_size", 8}}}}) == "t.0.et: node 1: a send needs \"comm_dst\"");
  CHECK(refused({{.id = 1, .lasts_us = 1ULL << 60}}) ==
        "t.0.et: node 1: lasts 1152921504606846976 us; at most 9000000000000 (104 days) can be simulated");
  std::string cut = chakra_trace({{.id = 1}, {.id = 2}});
  cut.pop_back();
  CHECK_THROWS_WITH_AS(parse_chakra(cut, "t.0.et"), "t.0.et: record 2 (byte 21): a message of 12 bytes, of which the file holds 11",
                       InputError);
}

TEST_CASE("what a Chakra trace does not say is missing, with what is taken instead") {
  const TraceFile read = parse_chakra(chakra_trace({{.id = 1, .type = chakra_collective, .lasts_us = 5, .numbers = {{"comm_type", 0}}},
                                                    {.id = 2, .after = {99}},
                                                    {.id = 3, .numbers = {{"num_ops", 1000}}}}),
                                      "t.0.et");
  REQUIRE(read.missing.size() == 3);
  CHECK(read.missing[0] == "t.0.et: node 2: it waits for node 99, which the trace does not have; taken as one that has ended");
  CHECK(read.missing[1] == "t.0.et: node 1: the allreduce has no \"comm_size\"; taken as a computation of the time it took");
  CHECK(read.missing[2] == "t.0.et: node 3: the computation has \"num_ops\" and no duration; taken as of no time");
}

TEST_CASE("versions that nobody knows and fields that nobody knows are read") {
  std::string trace = chakra_trace({}, "9.9.9-chakra.9"), message;
  protozero::pbf_writer writer(message);
  writer.add_uint64(1, 5);
  writer.add_enum(3, chakra_compute);
  writer.add_uint64(7, 3);
  writer.add_string(99, "new");
  append_message(trace, message);
  CHECK(parse_chakra(trace, "t").ranks.front().operations.front().duration == 3_us);
}

TEST_CASE("a barrier of a Chakra trace has no bytes, whatever its comm_size is") {
  const TraceFile read =
      parse_chakra_json(R"({"workload_graph": [{"Id": 1, "NodeType": 7, "data_deps": [], "comm_type": 9, "comm_size": 4000}]})", "t");
  CHECK(read.ranks.front().operations.front().bytes == 0);
}

TEST_CASE("the JSON of Chakra's feeder says the same as its protobuf") {
  const TraceFile read = parse_chakra_json(R"({"workload_graph": [
    {"Id": 1, "Name": "a", "NodeType": 4, "ctrlDeps": [9], "data_deps": [], "runtime": 318, "is_cpu_op": false},
    {"Id": 2, "Name": "b", "NodeType": 7, "data_deps": [1], "comm_type": 2, "comm_size": 64, "pg_name": "dp"}]})",
                                           "t.0.json");
  REQUIRE(read.ranks.front().operations.size() == 2);
  CHECK(read.ranks.front().operations[0].duration == 318_us);
  CHECK(read.ranks.front().operations[1].collective == TracedCollective::allgather);
  CHECK(read.ranks.front().groups.front().name == "dp");
  CHECK_THROWS_WITH_AS(parse_chakra_json(R"({"workload_graph": [{"Id": -1, "NodeType": 4}]})", "t"),
                       "t: /workload_graph/0: needs an \"Id\" from 0 on", InputError);
  CHECK_THROWS_WITH_AS(parse_chakra_json(R"({"workload_graph": [{"Id": -1, "NodeType": 4}, {"Id": 1, "NodeType": 4}, {"Id": 2}]})", "t"),
                       "t: /workload_graph/0: needs an \"Id\" from 0 on\nt: /workload_graph/2: needs a \"NodeType\"", InputError);
  CHECK_THROWS_WITH_AS(parse_chakra_json(R"({"workload_graph": [{"Id": 1, "NodeType": 4, "runtime": "long"}]})", "t"),
                       "t: /workload_graph/0: \"runtime\" must be a whole number, got \"long\"", InputError);
}

}  // namespace
}  // namespace weft

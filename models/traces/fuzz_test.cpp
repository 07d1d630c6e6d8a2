// Readers of traces take any bytes: they make a program of them or refuse them, and nothing else happens.
#include "kernels/base/error.hpp"
#include "kernels/testing/mutations.hpp"
#include "models/traces/file_bytes.hpp"
#include "models/traces/goal.hpp"
#include "models/traces/read_traces.hpp"
#include "models/traces/testing.hpp"
#include "models/traces/traced_job.hpp"

#include <doctest/doctest.h>

namespace weft {
namespace {

using namespace testing;

std::vector<std::string> seeds() {
  return {
      chakra_trace({{.id = 1, .lasts_us = 5},
                    {.id = 2, .type = chakra_collective, .after = {1}, .numbers = {{"comm_type", 0}, {"comm_size", 4096}}, .group = "0"},
                    {.id = 3, .type = chakra_send, .after = {1, 2}, .numbers = {{"comm_dst", 1}, {"comm_size", 9}, {"comm_tag", 2}}},
                    {.id = 4, .type = chakra_receive, .after = {1, 2}, .numbers = {{"comm_src", 1}, {"comm_size", 9}}}}),
      R"({"workload_graph": [{"Id": 1, "NodeType": 4, "data_deps": [], "runtime": 3}, {"Id": 2, "NodeType": 7, "data_deps": [1], "comm_type": 2, "comm_size": 8}]})",
      R"({"distributedInfo": {"rank": 0, "world_size": 2, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}]}, "traceEvents": [
        {"ph": "X", "cat": "kernel", "name": "k", "tid": 1, "ts": 1.5, "dur": 2, "args": {"stream": 7}},
        {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "ts": 4, "dur": 2, "args": {"stream": 9, "Collective name": "allreduce",
         "dtype": "Float", "In msg nelems": 4, "Out msg nelems": 4, "Group size": 2, "Process Group Name": "0", "Seq": 1}}]})",
      R"({"nodes": [{"id": 3, "name": "record_param_comms", "inputs": {"values": [[[1, 2]], 3, ["0", "d"], 0, "broadcast"], "shapes": [[[53]]],
        "types": ["GenericList[Tensor(long)]"]}, "attrs": [{"name": "pg_size", "value": 2}]}]})",
      "num_ranks 2\nrank 0 {\nl1: calc 5 cpu 1\nl2: send 8b to 1 tag 3\nl2 requires l1\n}\nrank 1 {\nl1: recv 8b from -1 tag -1\nl2: calc "
      "3\nl2 irequires l1\n}\n",
      R"({"format": "weft trace", "version": 1, "ranks": 2}
{"rank": 0, "op": "allreduce", "bytes": 1048576, "algorithm": "ring", "start_us": 0, "end_us": 260}
{"rank": 1, "op": "allreduce", "bytes": 1048576, "start_us": 15, "end_us": 261.5}
)",
      R"({"format": "weft trace", "ranks": 2, "clocks": [{"offset_us": 0}, {"offset_us": 1.5}]}
{"run": 1, "rank": 0, "op": "send", "peer": 1, "channel": 0, "step": 0, "message": 0, "bytes": 4, "start_us": 7, "end_us": 8}
{"run": 1, "rank": 1, "op": "receive", "peer": 0, "channel": 0, "step": 0, "message": 0, "bytes": 4, "start_us": 7, "end_us": 8}
)",
      std::string("\x7f\x10\0\0\0\0\0\0\1\0\0\0\0\0\x16\0\0\0\0\0\0\0\x1e\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 38),
      std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03\x4b\x4c\x4a\x06\0\xc2\x41\x24\x35\x03\0\0\0", 23),
  };
}

TEST_CASE("readers of traces make a program of any bytes, or refuse them") {
  const int runs = mutation_rounds(3000);
  Mutations mutations(seeds(), 1);
  long read = 0, refused = 0;
  for (int i = 0; i < runs; ++i) {
    const std::string bytes = mutations.next();
    try {
      TraceFile file = parse_trace_file(unpacked(bytes, "t.0.json", 1 << 20), "t.0.json");
      if (file.world > 4096) continue;  // as many as a schedule says: no test's memory holds them
      const auto program = std::make_shared<const TracedProgram>(joined({std::move(file)}, {}));
      const int world = std::max(world_of(*program), 2);
      if (world <= 4096) traced_job(program, world);
      ++read;
    } catch (const InputError&) {
      ++refused;
    }
  }
  CHECK(read > 0);
  CHECK(refused > 0);
  MESSAGE(read << " read, " << refused << " refused");
}

}  // namespace
}  // namespace weft

// Readers of traces take any bytes: they make a program of them or refuse them, and nothing else happens. WEFT_FUZZ_RUNS says how often.
#include "kernels/base/error.hpp"
#include "models/traces/file_bytes.hpp"
#include "models/traces/goal.hpp"
#include "models/traces/read_traces.hpp"
#include "models/traces/testing.hpp"
#include "models/traces/traced_job.hpp"

#include <cstdlib>
#include <random>

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
      std::string("\x7f\x10\0\0\0\0\0\0\1\0\0\0\0\0\x16\0\0\0\0\0\0\0\x1e\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 38),
      std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03\x4b\x4c\x4a\x06\0\xc2\x41\x24\x35\x03\0\0\0", 23),
  };
}

std::string changed(std::string text, std::mt19937_64& random) {
  for (std::uint64_t times = 1 + random() % 4; times > 0; --times) {
    if (text.empty()) return text;
    const std::size_t at = random() % text.size();
    switch (random() % 6) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text.erase(at, 1 + random() % 8);
        break;
      case 2:
        text.insert(at, text.substr(random() % text.size(), random() % 16));
        break;
      case 3:
        text.resize(at);
        break;
      case 4:
        text[at] = static_cast<char>(text[at] ^ (1 << random() % 8));
        break;
      default:
        text.insert(at, random() % 2 == 0 ? "9999999999999999999" : "-1");
    }
  }
  return text;
}

TEST_CASE("readers of traces make a program of any bytes, or refuse them") {
  const char* asked = std::getenv("WEFT_FUZZ_RUNS");
  const long runs = asked ? std::atol(asked) : 3000;
  std::mt19937_64 random(1);
  const std::vector<std::string> all = seeds();
  long read = 0, refused = 0;
  for (long i = 0; i < runs; ++i) {
    const std::string bytes = changed(all[static_cast<std::size_t>(i) % all.size()], random);
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

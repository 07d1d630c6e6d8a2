#include "models/traces/weft_trace.hpp"

#include "kernels/base/error.hpp"
#include "models/traces/read_traces.hpp"

#include <algorithm>

#include <doctest/doctest.h>

namespace weft {
namespace {

using Kind = TracedOperation::Kind;

std::string problems_of(const std::string& text) {
  try {
    parse_trace_file(text, "t");
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

const std::string header = R"({"format": "weft trace", "version": 1, "ranks": 2})"
                           "\n";

TEST_CASE("weft trace: collectives follow what had ended before them, after as long as the rank computed in between") {
  const TraceFile read = parse_trace_file(header + R"({"rank": 0, "op": "allreduce", "bytes": 1000, "start_us": 10, "end_us": 30}
{"rank": 0, "op": "compute", "layer": "a", "phase": "forward", "bytes": 0, "start_us": 30, "end_us": 60}
{"rank": 0, "op": "allgather", "bytes": 800, "start_us": 70, "end_us": 90}
{"rank": 1, "op": "allreduce", "bytes": 1000, "start_us": 15, "end_us": 30}
{"rank": 1, "op": "allgather", "bytes": 800, "start_us": 20, "end_us": 90}
)",
                                          "t");
  CHECK(read.format == "Weft");
  CHECK(read.world == 2);
  REQUIRE(read.ranks.size() == 2);
  const TracedRank& first = read.ranks[0];
  REQUIRE(first.operations.size() == 4);
  CHECK(first.operations[0].duration == 0_us);  // the first of all
  CHECK(first.operations[1].collective == TracedCollective::allreduce);
  CHECK(first.operations[1].bytes == 1000);
  CHECK(first.operations[2].duration == 40_us);  // from 30 to 70, whatever the layer took of it
  CHECK(first.after_of(2).front() == 1);
  CHECK(first.operations[3].bytes == 400);  // of one rank
  const TracedRank& second = read.ranks[1];
  CHECK(second.operations[0].duration == 5_us);
  const auto overlapping = std::ranges::find(second.operations, TracedCollective::allgather, &TracedOperation::collective);
  REQUIRE(overlapping != second.operations.end());
  const auto host = second.after_of(static_cast<std::size_t>(overlapping - second.operations.begin())).front();
  CHECK(second.operations[host].duration == 10_us);  // from the first of all: the all-reduce had not ended
  CHECK(second.after_of(host).empty());
}

TEST_CASE("weft trace: messages of a schedule are sends and receives with one tag at both ends, step after step") {
  const TraceFile read = parse_trace_file(header + R"({"run": 0, "algorithm": "ring", "size_bytes": 8, "times_us": [1]}
{"run": 0, "rank": 0, "op": "send", "peer": 1, "channel": 0, "step": 0, "message": 0, "bytes": 4, "start_us": 1, "end_us": 2}
{"run": 0, "rank": 0, "op": "receive", "peer": 1, "channel": 0, "step": 0, "message": 1, "bytes": 4, "start_us": 1, "end_us": 2}
{"run": 0, "rank": 0, "op": "reduce", "peer": 0, "channel": 0, "step": 0, "message": 0, "bytes": 4, "start_us": 2, "end_us": 5}
{"run": 0, "rank": 0, "op": "send", "peer": 1, "channel": 0, "step": 1, "message": 0, "bytes": 4, "start_us": 5, "end_us": 6}
{"run": 1, "rank": 0, "op": "send", "peer": 1, "channel": 0, "step": 0, "message": 0, "bytes": 4, "start_us": 7, "end_us": 8}
{"run": 0, "rank": 1, "op": "receive_reduce", "peer": 0, "channel": 0, "step": 0, "message": 0, "bytes": 4, "start_us": 1, "end_us": 2}
{"run": 0, "rank": 1, "op": "send", "peer": 0, "channel": 0, "step": 0, "message": 1, "bytes": 4, "start_us": 1, "end_us": 2}
{"run": 0, "rank": 1, "op": "receive", "peer": 0, "channel": 0, "step": 1, "message": 0, "bytes": 4, "start_us": 2, "end_us": 6}
{"run": 1, "rank": 1, "op": "receive", "peer": 0, "channel": 0, "step": 0, "message": 0, "bytes": 4, "start_us": 7, "end_us": 8}
)",
                                          "t");
  const auto& own = read.ranks.at(0).operations;
  const auto& other = read.ranks.at(1).operations;
  REQUIRE(own.size() == 5);
  REQUIRE(other.size() == 4);
  CHECK(own[0].kind == Kind::send);
  CHECK(other[0].kind == Kind::receive);
  CHECK(own[0].tag == other[0].tag);
  CHECK(own[1].tag == other[1].tag);
  CHECK(own[2].kind == Kind::compute);
  CHECK(own[2].duration == 3_us);
  CHECK(read.ranks[0].after_of(2).size() == 2);  // both of its step
  CHECK(read.ranks[0].after_of(3).size() == 3);  // all of the step before
  CHECK(own[3].tag == other[2].tag);
  CHECK(own[4].tag == other[3].tag);
  CHECK(own[3].tag != own[4].tag);
  CHECK(read.ranks[0].after_of(4).size() == 1);  // the last step of the run before
  CHECK(read.notes.size() == 1);
}

TEST_CASE("weft trace: what cannot be is said with its line") {
  CHECK(problems_of(header).find("t: holds no operation") != std::string::npos);
  CHECK(problems_of(header + "{\"rank\": 0, \"bytes\": 1e400}") == "t: line 2, column 26: not JSON: number overflow parsing '1e400'");
  CHECK(problems_of(header + R"({"rank": 2, "op": "allreduce", "bytes": 4, "start_us": 0, "end_us": 1})") ==
        "t: line 2: \"rank\" must be 0 to 1, got 2");
  CHECK(problems_of(header + R"({"rank": 0, "op": "all", "bytes": 4, "start_us": 0, "end_us": 1})").find("got \"all\"") !=
        std::string::npos);
  CHECK(problems_of(header + R"({"rank": 0, "op": "allreduce", "bytes": 4, "start_us": 2, "end_us": 1})")
            .find("line 2: ends at 1 us, before its start at 2 us") != std::string::npos);
  CHECK(problems_of(header + R"({"rank": 0, "op": "allreduce", "bytes": 4, "start_us": 0})")
            .find("\"end_us\" must be a number of microseconds, got nothing") != std::string::npos);
  CHECK(problems_of(R"({"format": "weft trace", "ranks": 2, "clocks": [{"offset_us": 0}]})")
            .find("an entry for each of the 2 ranks, got 1") != std::string::npos);
}

}  // namespace
}  // namespace weft

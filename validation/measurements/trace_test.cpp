#include "validation/measurements/trace.hpp"

#include "kernels/testing/problems_of.hpp"
#include "sim/cases/testing.hpp"
#include "validation/measurements/measurement.hpp"

#include <doctest/doctest.h>

using namespace weft;

namespace {

const std::string header =
    R"({"format": "weft trace", "version": 1, "system": "s", "ranks": 2, "collective": "allreduce", "clocks": [{"offset_us": 0}, {"offset_us": 100}]})"
    "\n";
const std::string run = R"({"run": 0, "algorithm": "ring", "size_bytes": 1024, "times_us": [9, 7, 8]})"
                        "\n";
const std::string send = R"({"run": 0, "rank": 1, "op": "send", "peer": 0, "step": 0, "bytes": 512, "start_us": 110, "end_us": 115})"
                         "\n";

Lines problems_of_trace(const std::string& text) {
  return problems_of([&] { parse_trace(text, "t"); });
}

}  // namespace

TEST_CASE("trace: operations come onto rank 0's clock") {
  const Trace trace = parse_trace(header + run + send, "t");
  CHECK(trace.ranks == 2);
  REQUIRE(trace.runs.size() == 1);
  CHECK(trace.runs[0].algorithm == "ring");
  REQUIRE(trace.runs[0].operations.size() == 1);
  CHECK(trace.runs[0].operations[0].start_us == 10);
  CHECK(trace.runs[0].operations[0].end_us == 15);
}

TEST_CASE("trace: what a rank computed is read, but is no operation to simulate") {
  const std::string computed = R"({"rank": 0, "op": "compute", "layer": "fc", "phase": "forward", "bytes": 0, "start_us": 1, "end_us": 2})"
                               "\n"
                               R"({"rank": 0, "op": "gradient", "layer": "fc.weight", "bytes": 64, "start_us": 3, "end_us": 3})"
                               "\n";
  const Trace trace = parse_trace(header + send + computed, "t");
  REQUIRE(trace.runs.size() == 1);
  CHECK(trace.runs[0].operations.size() == 1);
  CHECK(problems_of_trace(header + computed) == Lines{"t: holds no operation"});
}

TEST_CASE("trace: the times of a run are a measurement, by their median") {
  const Measurements read = parse_measurements(header + run + send, "t");
  CHECK(read.format == "a Weft trace");
  REQUIRE(read.rows.size() == 1);
  CHECK(read.rows[0].time_us == 8);
  CHECK(read.rows[0].algorithm == "ring");
  CHECK(read.rows[0].where == "t:2");
}

TEST_CASE("trace: every bad line is told with its number") {
  CHECK(problems_of_trace("") == Lines{"t: is empty"});
  CHECK(problems_of_trace(run) ==
        Lines{"t:1: \"format\" must be a string, got nothing", "t:1: the first line must be the header, with \"format\": \"weft trace\""});
  CHECK(problems_of_trace("{\n  \"version\": 1\n}\n") ==
        Lines{"t:1: the first line must be the header of a trace, as weft bench --trace writes it, and no other JSON: the text ends in the "
              "middle of the JSON (truncated?)"});
  CHECK(problems_of_trace(header) == Lines{"t: holds no operation"});
  CHECK(problems_of_trace(header + run + run) == Lines{"t:3: run 0 has been described in line 2 already"});
  CHECK(problems_of_trace(header + R"({"rank": 2, "op": "send", "peer": 0, "step": 0, "bytes": 512, "start_us": 1, "end_us": 2})"
                                   "\n"
                                   R"({"rank": 1, "op": "dance", "bytes": 512, "start_us": 1, "end_us": 2})"
                                   "\n"
                                   R"({"rank": 1, "op": "allreduce", "bytes": -5, "start_us": 3, "end_us": 2})"
                                   "\n"
                                   R"({"rank": 1, "op": "allreduce", "bytes": 5, "start_us": 3, "end_us": 2})"
                                   "\n"
                                   R"({"rank": 1, )"
                                   "\n") ==
        Lines{"t:2: \"rank\" must be a whole number from 0 to 1, got 2",
              "t:3: \"op\" must be send, receive, receive_reduce, reduce, compute, gradient or a collective, got \"dance\"",
              "t:4: \"bytes\" must be a whole number from 0 to 1125899906842624, got -5", "t:5: ends at 2 us, before its start at 3 us",
              "t:6: the text ends in the middle of the JSON (truncated?)"});
  const Trace kept = parse_trace(header + send + "{\n", "t", true);
  CHECK(kept.runs.size() == 1);
  CHECK(kept.skipped.size() == 1);
}

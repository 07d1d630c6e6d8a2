#include "models/traces/kineto.hpp"

#include "kernels/base/error.hpp"
#include "models/traces/kineto_events.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace weft {
namespace {

using Kind = TracedOperation::Kind;

std::string kernel(const char* name, double ts, double dur, int stream, const std::string& more = "") {
  return fmt::format(
      R"({{"ph": "X", "cat": "kernel", "name": "{}", "pid": 0, "tid": {}, "ts": {}, "dur": {}, "args": {{"stream": {}{}}}}})", name, stream,
      ts, dur, stream, more);
}

std::string trace_of(const std::string& events,
                     const std::string& header = R"("distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 4,
    "pg_config": [{"pg_name": "0", "pg_size": 4, "ranks": [0, 1, 2, 3]}, {"pg_name": "7", "pg_size": 2, "ranks": [1, 3]}]})") {
  return fmt::format(R"({{"schemaVersion": 1, {}, "traceEvents": [{}], "traceName": "t"}})", header, events);
}

TEST_CASE("kernels follow one another on their streams, and wait for the last that had ended when they began") {
  // Compute 0 to 10 and 12 to 20 on stream 7; the all-reduce begins at 11 on stream 20, 1 us after the first kernel has ended.
  const TraceFile read = parse_kineto(
      trace_of(kernel("gemm", 0, 10, 7) + "," + kernel("gemm", 12, 8, 7) + "," +
               kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 11, 30, 20,
                      R"(, "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 256, "Out msg nelems": 256, "Group size": 2,
                         "Process Group Name": "7", "Process Group Ranks": "[1, 3]")")),
      "rank-1.json");
  CHECK(read.world == 4);
  const TracedRank& rank = read.ranks.front();
  CHECK(rank.rank == 1);
  REQUIRE(rank.operations.size() == 4);
  CHECK(rank.operations[0].duration == 10_us);
  CHECK(rank.operations[1].duration == 1_us);  // the host's, before the all-reduce
  CHECK(rank.after_of(1)[0] == 0);
  CHECK(rank.operations[2].kind == Kind::collective);
  CHECK(rank.operations[2].bytes == 1024);
  CHECK(rank.groups[static_cast<std::size_t>(rank.operations[2].group)].ranks == std::vector<Rank>{1, 3});
  CHECK(rank.operations[3].duration == 10_us);  // 2 us of the host and 8 of its own
  CHECK(rank.after_of(3)[0] == 0);
  CHECK(read.missing.empty());
}

TEST_CASE("what begins before anything has ended begins as long after the rank's first as it did") {
  const auto message = [](const char* more) {
    return parse_kineto(trace_of(kernel("gemm", 100, 300, 7) + "," +
                                 kernel("ncclDevKernel_SendRecv(x)", 150, 30, 20,
                                        std::string(R"(, "Collective name": "send", "In msg nelems": 256, "Out msg nelems": 256)") + more)),
                        "rank-1.json");
  };
  const TraceFile read = message(R"(, "dtype": "Float", "Dst Rank": 2)");
  CHECK(read.missing.empty());
  const TracedRank& rank = read.ranks.front();
  REQUIRE(rank.operations.size() == 3);
  CHECK(rank.operations[0].duration == 300_us);
  CHECK(rank.operations[1].duration == 50_us);
  CHECK(rank.after_of(1).empty());
  CHECK(rank.operations[2].kind == Kind::send);

  const std::string taken = "; taken as a computation of the time it took";
  CHECK(message(R"(, "dtype": "Float")").missing == std::vector{"rank-1.json: event 1: the message does not say to which rank" + taken});
  CHECK(message(R"(, "dtype": "Foo", "Dst Rank": 2)").missing ==
        std::vector{"rank-1.json: event 1: the message is of elements whose type is not known" + taken});
}

TEST_CASE("sizes of older traces are those of the operator that launched the kernel") {
  const std::string launch = R"({"ph": "X", "cat": "user_annotation", "name": "nccl:all_reduce", "pid": 1, "tid": 1, "ts": 0, "dur": 1,
    "args": {"External id": 42, "Input Dims": [[10, 100]], "Input type": ["c10::Half"]}})";
  const TraceFile read = parse_kineto(
      trace_of(launch + "," + kernel("ncclKernel_AllReduce_RING_LL_Sum_half(x)", 5, 10, 20, R"(, "External id": 42)")), "rank-1.json");
  REQUIRE(read.ranks.front().operations.size() == 1);
  CHECK(read.ranks.front().operations[0].bytes == 2000);
  CHECK(read.ranks.front().operations[0].collective == TracedCollective::allreduce);
}

TEST_CASE("a kernel of NCCL that does not say its size is missing it, and is a computation instead") {
  const TraceFile read = parse_kineto(trace_of(kernel("ncclKernel_AllReduce_RING_LL_Sum_float(x)", 5, 10, 20)), "rank-1.json");
  REQUIRE(read.missing.size() == 1);
  CHECK(read.missing[0] == "rank-1.json: event 0: the allreduce does not say its size; taken as a computation of the time it took");
  CHECK(read.ranks.front().operations[0].kind == Kind::compute);
}

TEST_CASE("an all-to-all of uneven parts has as many of the largest as there are ranks; where some parts are left out, that is missing") {
  const auto read = [](const char* sent, const char* received) {
    return parse_kineto(
        trace_of(kernel("ncclDevKernel_SendRecv(x)", 5, 10, 20,
                        fmt::format(R"(, "Collective name": "all_to_allv", "dtype": "Float", "In msg nelems": 100, "Out msg nelems": 90,
                                       "Group size": 4, "In split size": "{}", "Out split size": "{}")",
                                    sent, received))),
        "rank-1.json");
  };
  const auto bytes = [&](const char* sent, const char* received) { return read(sent, received).ranks.front().operations.front().bytes; };
  CHECK(bytes("[10, 70, 10, 10]", "[30, 20, 20, 20]") == 4 * 70 * 4);
  CHECK(bytes("[25, 25, 25, 25]", "[30, 20, 20, 20]") == 4 * 30 * 4);
  CHECK(read("[10, 70, 10, 10]", "[]").ranks.front().operations.front().uneven);
  CHECK(read("[10, 70, 10, 10]", "[]").missing.empty());
  CHECK(bytes("[25, 25, 25, 25]", "[]") == 400);
  CHECK(bytes("[]", "[]") == 400);
  CHECK(bytes("[10, ..., 70]", "[]") == 4 * 70 * 4);
  CHECK(read("[10, ..., 70]", "[]").missing ==
        std::vector<std::string>{
            "rank-1.json: event 0: the all-to-all leaves out some of its parts; the largest of the others is taken for all"});
  CHECK(bytes("[25, ..., 25]", "[]") == 400);
  CHECK(bytes("[1, 1125899906842624]", "[]") == TracedOperation::unknown);
}

TEST_CASE("a communication of unknown name is missing it, and a rank beyond the world is refused") {
  const auto file = [](int rank) {
    return trace_of(
        kernel("ncclDevKernel_Generic_1(x)", 5, 10, 20, R"(, "Collective name": "coalesced", "In msg nelems": 1000, "dtype": "Float")"),
        fmt::format(R"("distributedInfo": {{"rank": {}, "world_size": 4}})", rank));
  };
  const TraceFile read = parse_kineto(file(1), "r.json");
  REQUIRE(read.missing.size() == 1);
  CHECK(read.missing[0] ==
        "r.json: event 0: the communication \"coalesced\" is none that is known; taken as a computation of the time it took");
  CHECK(read.ranks.front().operations[0].kind == Kind::compute);
  CHECK_THROWS_WITH_AS(parse_kineto(file(4), "r.json"), "r.json: /distributedInfo/rank: must be between 0 and 3, got 4", InputError);
  CHECK_THROWS_WITH_AS(parse_kineto("{\"traceEvents\": [\n\n],\n\"a\": 1e400}", "r.json"),
                       "r.json: line 4, column 10: not JSON: number overflow parsing '1e400'", InputError);
  CHECK_THROWS_WITH_AS(parse_kineto(trace_of(R"({"cat": "kernel", "dur": 1e400})"), "r.json"),
                       "r.json: event 0: not JSON: number overflow parsing '1e400'", InputError);
}

TEST_CASE("with gloo the collectives are those of threads, and what lies between is computed") {
  const auto gloo = [](const char* name, int ts, int dur, int elements) {
    return fmt::format(R"({{"ph": "X", "cat": "cpu_op", "name": "gloo:{}", "tid": 5, "ts": {}, "dur": {}, "args": {{"Input Dims": [[{}]],
      "Input type": ["float"]}}}})",
                       name, ts, dur, elements);
  };
  const TraceFile read = parse_kineto(trace_of(gloo("all_reduce", 0, 10, 100) + "," + gloo("all_gather", 25, 10, 50),
                                               R"("distributedInfo": {"backend": "gloo", "rank": 0, "world_size": 2})"),
                                      "r");
  const TracedRank& rank = read.ranks.front();
  REQUIRE(rank.operations.size() == 3);
  CHECK(rank.operations[0].bytes == 400);
  CHECK(rank.operations[1].duration == 15_us);
  CHECK(rank.operations[2].collective == TracedCollective::allgather);
  CHECK(rank.operations[2].bytes == 200);
}

TEST_CASE("c10d's and NCCL's names are known") {
  const auto named = [](const char* name) { return communication_named(name)->collective; };
  CHECK(named("_allgather_base") == TracedCollective::allgather);
  CHECK(named("reduce_scatter_tensor_coalesced") == TracedCollective::reduce_scatter);
  CHECK(named("ncclDevKernel_ReduceScatter_Sum_bf16") == TracedCollective::reduce_scatter);
  CHECK(named("all_to_allv") == TracedCollective::alltoall);
  CHECK(named("ALLREDUCE") == TracedCollective::allreduce);
  CHECK(communication_named("send")->kind == Kind::send);
  CHECK(communication_named("recv")->kind == Kind::receive);
  CHECK(!communication_named("wait"));
  CHECK(!communication_named("init"));
  CHECK(bytes_of_type("BFloat16") == 2);
  CHECK(bytes_of_type("long int") == 8);
  CHECK(bytes_of_type("c10::Half") == 2);
  CHECK(bytes_of_type("Float8_e4m3fn") == 1);
  CHECK(!bytes_of_type("Quaternion"));
}

TEST_CASE("a barrier has no bytes, whatever the tensor is that it is done with") {
  const TraceFile read = parse_kineto(trace_of(kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 0, 5, 7,
                                                      R"(, "Collective name": "barrier", "dtype": "Float", "In msg nelems": 1)")),
                                      "r");
  REQUIRE(read.ranks.front().operations.size() == 1);
  CHECK(read.ranks.front().operations[0].collective == TracedCollective::barrier);
  CHECK(read.ranks.front().operations[0].bytes == 0);
}

TEST_CASE("times since 1970 are read to the picosecond") {
  // A double holds 1.7e15 us to a quarter only: 0.125 us would be read as 0 or 0.25.
  const auto at = [](const char* ts, const char* dur) {
    return fmt::format(R"({{"ph": "X", "cat": "kernel", "name": "ts", "ts": {}, "dur": {}, "args": {{"stream": 7}}}})", ts, dur);
  };
  const TraceFile read = parse_kineto(trace_of(at("1700000000000000.125", "1.5") + "," + at("\"1700000000000002.126001\"", "2e0") + "," +
                                               at("17000000000000100e-1", "0.0000004")),
                                      "r");
  const TracedRank& rank = read.ranks.front();
  REQUIRE(rank.operations.size() == 3);
  CHECK(rank.operations[0].duration == SimTime{1'500'000});
  // From 1.625 us to 2.126001 us nothing runs, then 2 us; from 4.126001 us to 10 us nothing, then 0.4 ps.
  CHECK(rank.operations[1].duration == SimTime{501'001 + 2'000'000});
  CHECK(rank.operations[2].duration == SimTime{5'873'999});
  CHECK_THROWS_WITH_AS(parse_kineto(trace_of(at("0", "1") + "," + at("1e13", "1")), "r"),
                       "r: event 1: is 1e+13 us from the file's first event; at most 9000000000000 (104 days) can be simulated",
                       InputError);
}

TEST_CASE("elements have the sizes of PyTorch's types, by whichever of their names") {
  const std::map<std::int64_t, std::vector<const char*>> names = {
      {1,
       {"Byte", "Char", "Bool", "Int8", "int8", "UInt8", "torch.uint8", "QInt8", "signed char", "uint8_t", "Float8_e5m2",
        "c10::Float8_e4m3fn"}},
      {2, {"Short", "Half", "BFloat16", "Int16", "UInt16", "torch.bfloat16", "float16", "c10::BFloat16", "unsigned short"}},
      {4, {"Int", "Float", "UInt32", "uint32", "QInt32", "ComplexHalf", "complex32", "c10::complex<c10::Half>", "FloatTensor", "int32_t"}},
      {8, {"Long", "Double", "UInt64", "int64", "torch.float64", "long int", "ComplexFloat", "c10::complex<float>", "unsigned long"}},
      {16, {"ComplexDouble", "torch.complex128", "c10::complex<double>"}}};
  for (const auto& [bytes, all] : names)
    for (const char* name : all) {
      CAPTURE(name);
      CHECK(bytes_of_type(name) == bytes);
    }
  CHECK(!bytes_of_type(""));
}

TEST_CASE("what a Kineto trace cannot mean is refused with file and event") {
  CHECK_THROWS_WITH_AS(parse_kineto(trace_of(R"({"ph": "X", "cat": "kernel", "name": "a", "ts": "soon", "dur": 1})"), "r"),
                       "r: event 0: \"ts\" must be a number of microseconds, got \"soon\"", InputError);
  CHECK_THROWS_WITH_AS(parse_kineto(trace_of(kernel("a", 0, -1, 7)), "r"), "r: event 0: \"dur\" must be from 0 to 9e12 us, got -1",
                       InputError);
  CHECK_THROWS_WITH_AS(parse_kineto(trace_of(kernel("a", 0, -1, 7) + "," + kernel("b", 0, 1, 7) + "," + kernel("c", 0, -2, 7)), "r"),
                       "r: event 0: \"dur\" must be from 0 to 9e12 us, got -1\nr: event 2: \"dur\" must be from 0 to 9e12 us, got -2",
                       InputError);
  CHECK_THROWS_WITH_AS(parse_kineto(trace_of(kernel("a", 0, 1, 7) + R"(,{"ph": "B", "cat": "kernel", "name": "b", "ts": 5})"), "r"),
                       "r: event 1: \"b\" must be one event with its duration (\"ph\": \"X\", \"dur\"), got its beginning (\"ph\": \"B\")",
                       InputError);
  CHECK_THROWS_WITH_AS(parse_kineto(trace_of(""), "r"), "r: holds no kernel, no copy and no collective", InputError);
  CHECK_THROWS_WITH_AS(parse_kineto(R"({"traceEvents": [{"ph": "X")", "r"), "r: breaks off in \"traceEvents\", at byte 27", InputError);
  CHECK_THROWS_WITH_AS(
      parse_kineto(trace_of(kernel("ncclDevKernel_AllReduce(x)", 0, 1, 7, R"(, "Collective name": "allreduce", "In msg nelems": 1.5)")),
                   "r"),
      "r: event 0: \"In msg nelems\" must be a whole number, got 1.5", InputError);
}

}  // namespace
}  // namespace weft

#include "models/traces/traced_job.hpp"

#include "kernels/base/error.hpp"
#include "kernels/testing/scratch_folder.hpp"
#include "models/traces/goal.hpp"
#include "models/traces/pytorch_trace.hpp"
#include "models/traces/read_traces.hpp"

#include <algorithm>

#include <doctest/doctest.h>

namespace weft {
namespace {

using Kind = TracedOperation::Kind;

TracedOperation collective(TracedCollective what, std::int64_t bytes, int group = 0) {
  return {
      .kind = Kind::collective, .collective = what, .in_order = true, .group = group, .tag = TracedOperation::no_sequence, .bytes = bytes};
}

std::shared_ptr<const TracedProgram> program_of(std::vector<TracedRank> ranks, int world = 0) {
  TracedProgram out{.format = "test", .world = world, .ranks = std::move(ranks)};
  for (TracedRank& rank : out.ranks) rank.file = "f" + std::to_string(rank.rank);
  return std::make_shared<const TracedProgram>(std::move(out));
}

TEST_CASE("the trace of one rank in collectives of all is one list for all ranks") {
  const auto program = program_of({{.rank = 0, .operations = {collective(TracedCollective::allreduce, 64)}, .groups = {{.all = true}}}});
  const TracedJob job = traced_job(program, 1000);
  CHECK(job.alike);
  CHECK(job.call_of.size() == 1);
  REQUIRE(job.calls.size() == 1);
  CHECK(job.groups.front().size() == 1000);
  CHECK(job.notes.size() == 1);
  CHECK(job.missing.empty());
}

TEST_CASE("an all-gather is as large as what all get of it") {
  const auto program = program_of({{.rank = 0, .operations = {collective(TracedCollective::allgather, 64)}, .groups = {{.all = true}}}});
  CHECK(traced_job(program, 8).calls.front().bytes == 512);
}

TEST_CASE("groups of one traced rank are shifted: blocks stay blocks, and those that reach through all ranks grow") {
  // Of 8 ranks: tensor parallel 0..3, data parallel every 4th.
  const auto program =
      program_of({{.rank = 0,
                   .operations = {collective(TracedCollective::allreduce, 1, 0), collective(TracedCollective::allreduce, 1, 1)},
                   .groups = {{.name = "tp", .ranks = {0, 1, 2, 3}}, {.name = "dp", .ranks = {0, 4}}}}},
                 8);
  const TracedJob job = traced_job(program, 16);
  CHECK(job.groups.size() == 4 + 4);
  CHECK(job.groups[0] == std::vector<Rank>{0, 1, 2, 3});
  CHECK(job.groups[1] == std::vector<Rank>{0, 4, 8, 12});
  CHECK(job.calls.size() == 8);
  CHECK_THROWS_WITH_AS(traced_job(program, 10), "f0: group \"tp\" of 4 ranks, every 1: 10 ranks are no multiple of that", InputError);
  CHECK_THROWS_WITH_AS(traced_job(program, 4), "the trace is of 8 ranks: it cannot be had on 4", InputError);
}

TEST_CASE("traces of all ranks on a multiple of them are copies, but for collectives of all") {
  std::vector<TracedRank> ranks;
  for (Rank r = 0; r < 2; ++r) {
    TracedRank rank{.rank = r, .operations = {collective(TracedCollective::allreduce, 8)}, .groups = {{.all = true}}};
    rank.operations.push_back({.kind = r == 0 ? Kind::send : Kind::receive, .peer = 1 - r, .bytes = 5});
    ranks.push_back(std::move(rank));
  }
  const TracedJob job = traced_job(program_of(std::move(ranks)), 6);
  CHECK(job.missing.empty());
  REQUIRE(job.calls.size() == 1 + 3);
  CHECK(job.groups.front().size() == 6);
  CHECK(job.calls[2].from == 2);
  CHECK(job.calls[2].to == 3);
}

TEST_CASE("messages meet by rank and tag in order, what is left over receives from anybody, and the rest is missing") {
  TraceFile file = parse_goal_text(
      "num_ranks 3\nrank 0 {\nsend 1b to 1 tag 4\nsend 2b to 1 tag 4\nsend 3b to 1 tag 5\nsend 4b to 2\n}\n"
      "rank 1 {\nrecv 1b from 0 tag 4\nrecv 9b from 0 tag 4\nrecv 3b from -1 tag -1\nrecv 3b from 2\n}\n",
      "s.goal");
  const TracedJob job = traced_job(std::make_shared<const TracedProgram>(joined({std::move(file)}, {})), 3);
  REQUIRE(job.calls.size() == 3);
  CHECK(job.calls[0].bytes == 1);
  CHECK(job.calls[1].bytes == 2);
  CHECK(job.calls[2].bytes == 3);
  CHECK(job.call_of[1] == std::vector<int>{0, 1, 2, TracedJob::no_call});
  REQUIRE(job.missing.size() == 2);
  CHECK(job.missing[0] == "s.goal: line 6: rank 0 sends to rank 2 with tag 0 what that does not receive; left out");
  CHECK(job.missing[1] == "s.goal: line 12: rank 1 receives from rank 2 with tag 0 what that does not send; left out");
}

TEST_CASE("a message is as large as its send, and a receive of fewer bytes is missing some") {
  const auto job_of = [](const char* receive) {
    const std::string text = fmt::format("num_ranks 2\nrank 0 {{\nsend 100b to 1\n}}\nrank 1 {{\n{} from 0\n}}\n", receive);
    return traced_job(std::make_shared<const TracedProgram>(joined({parse_goal_text(text, "s.goal")}, {})), 2);
  };
  CHECK(job_of("recv 100b").missing.empty());
  CHECK(job_of("recv 200b").missing.empty());
  const TracedJob short_of = job_of("recv 64b");
  CHECK(short_of.missing == std::vector<std::string>{"s.goal: line 6: rank 0 sends 100 bytes to rank 1, which receives 64; taken as sent"});
  CHECK(short_of.calls.front().bytes == 100);
}

TEST_CASE("that an all-to-all has uneven parts is said") {
  TracedOperation uneven = collective(TracedCollective::alltoall, 8);
  uneven.uneven = true;
  const TracedJob job = traced_job(program_of({{.rank = 0, .operations = {uneven}, .groups = {{.all = true}}},
                                               {.rank = 1, .operations = {uneven}, .groups = {{.all = true}}}}),
                                   2);
  CHECK(job.notes ==
        std::vector<std::string>{"collectives whose ranks or parts are of different sizes are simulated with the largest for all"});
}

TEST_CASE("ranks that take part in different numbers of collectives are missing some") {
  std::vector<TracedRank> ranks(2);
  ranks[0] = {.rank = 0,
              .operations = {collective(TracedCollective::allreduce, 8), collective(TracedCollective::allreduce, 8)},
              .groups = {{.all = true}}};
  ranks[1] = {.rank = 1, .operations = {collective(TracedCollective::allreduce, 8)}, .groups = {{.all = true}}};
  const TracedJob job = traced_job(program_of(ranks), 2);
  CHECK(job.calls.size() == 1);
  REQUIRE(job.missing.size() == 1);
  CHECK(job.missing[0] ==
        "f0: node 0: 1 of the 2 ranks of its group take part in the allreduce; taken as computations of the time it took");
  ranks[0].operations.pop_back();
  ranks[1].operations[0].collective = TracedCollective::alltoall;
  CHECK_THROWS_WITH_AS(traced_job(program_of(ranks), 2), "f1: node 0: rank 1 is in a alltoall where rank 0 is in a allreduce (f0: node 0)",
                       InputError);
}

TEST_CASE("a rank in a collective of a group that it is not in is missing something, and no schedule has a seat for it") {
  const TracedOperation one = collective(TracedCollective::allreduce, 8);
  const TracedJob job =
      traced_job(program_of({{.rank = 0, .operations = {one}, .groups = {{.name = "g", .ranks = {1}}}},
                             {.rank = 1, .operations = {collective(TracedCollective::barrier, 0)}, .groups = {{.all = true}}}}),
                 2);
  CHECK(job.calls.empty());
  REQUIRE(job.missing.size() == 2);
  CHECK(job.missing[0] == "f1: node 0: 1 of the 2 ranks of its group take part in the barrier; taken as computations of the time it took");
  CHECK(job.missing[1] ==
        "f0: node 0: the allreduce is of a group of one rank that rank 0 is not in; taken as a computation of the time it took");
}

TEST_CASE("a root is a rank of the job or a place in its group, and one that is neither is missing") {
  const auto job_with_root = [](Rank root) {
    TracedOperation o = collective(TracedCollective::broadcast, 8);
    o.peer = root;
    const TracedGroup group{.name = "g", .ranks = {2, 3}};
    const TracedRank idle{.groups = {{.all = true}}};
    std::vector<TracedRank> ranks(4, idle);
    for (Rank r = 0; r < 4; ++r) ranks[static_cast<std::size_t>(r)].rank = r;
    for (const std::size_t r : {2U, 3U}) ranks[r].operations = {o}, ranks[r].groups = {group};
    return traced_job(program_of(ranks), 4);
  };
  CHECK(job_with_root(3).calls.front().root == 1);
  CHECK(job_with_root(1).calls.front().root == 1);
  CHECK(job_with_root(TracedOperation::any_rank).calls.front().root == 0);
  CHECK(job_with_root(3).missing.empty());
  CHECK(job_with_root(9).missing ==
        std::vector<std::string>{
            "f2: node 0: the root of the broadcast is rank 9, which is not among its 2 ranks; taken as the first of them"});
}

TEST_CASE("a folder stands for the traces in it, not for the licence beside them") {
  const ScratchFolder folder;
  folder.file("LICENSE", "MIT");
  folder.file("README.md", "# Traces");
  const auto only = folder / "";
  CHECK_THROWS_WITH_AS(read_traces({only}), doctest::Contains(": holds no trace"), InputError);
  folder.file("a.goal", "num_ranks 1\nrank 0 {\nl1: calc 5\n}\n");
  CHECK(read_traces({only}).ranks.size() == 1);
  folder.file("b.goal", "nothing of the kind");
  CHECK_THROWS_WITH_AS(read_traces({only}), doctest::Contains("b.goal: is no trace of a known format"), InputError);
}

TEST_CASE("groups that hold some of the ranks leave the others in the world") {
  std::vector<TraceFile> files;
  for (Rank r = 0; r < 4; ++r) {
    TraceFile& file = files.emplace_back(TraceFile{.format = "test"});
    file.ranks.push_back({.rank = r, .file = "f" + std::to_string(r)});
  }
  CHECK(joined(files, {{.name = "g0", .ranks = {0, 1}}}).world == 4);
  CHECK(joined(files, {{.name = "g0", .ranks = {0, 6}}}).world == 7);
  files.front().world = 2;  // the trace says so
  CHECK_THROWS_WITH_AS(joined(files, {}), "f3: is of rank 3, of 2 ranks", InputError);
}

TEST_CASE("an execution trace of PyTorch has no negative counts of elements") {
  const auto trace = [](const char* elements) {
    return fmt::format(
        R"({{"nodes": [{{"id": 3, "name": "record_param_comms", "attrs": [{{"name": "collective_name", "value": "allreduce"}},
                        {{"name": "dtype", "value": "Float"}}, {{"name": "in_msg_nelems", "value": {}}}]}}]}})",
        elements);
  };
  CHECK(parse_pytorch_trace(trace("3"), "p.json").ranks.front().operations.front().bytes == 12);
  CHECK_THROWS_WITH_AS(parse_pytorch_trace(trace("-3"), "p.json"), "p.json: node 3: \"in_msg_nelems\" must be from 0 to 2^50, got -3",
                       InputError);
}

TEST_CASE("a communication of unknown name in an execution trace of PyTorch is missing, what waits is not") {
  const auto node = [](int id, const char* name) {
    return fmt::format(R"({{"id": {}, "name": "record_param_comms", "attrs": [{{"name": "collective_name", "value": "{}"}},
                           {{"name": "dtype", "value": "Float"}}, {{"name": "in_msg_nelems", "value": 3}}]}})",
                       id, name);
  };
  const auto trace = [](const std::string& nodes) { return parse_pytorch_trace(fmt::format(R"({{"nodes": [{}]}})", nodes), "p.json"); };
  const TraceFile read = trace(node(3, "allreduce") + "," + node(4, "foo") + "," + node(5, "wait"));
  CHECK(read.ranks.front().operations.size() == 1);
  CHECK(std::ranges::count(read.missing, "p.json: node 4: the communication \"foo\" is none that is known; left out") == 1);
  CHECK(read.missing.size() == trace(node(3, "allreduce")).missing.size() + 1);
  CHECK_THROWS_WITH_AS(trace(node(4, "foo")), "p.json: holds no communication that is known (record_param_comms)", InputError);
}

TEST_CASE("an execution trace of PyTorch has as many of an all-to-all's largest part as there are ranks") {
  const TraceFile read = parse_pytorch_trace(
      R"({"nodes": [{"id": 3, "name": "record_param_comms", "attrs": [{"name": "collective_name", "value": "all_to_allv"},
        {"name": "dtype", "value": "Float"}, {"name": "in_msg_nelems", "value": 8}, {"name": "pg_size", "value": 3},
        {"name": "in_split_size", "value": "[1, 2, 5]"}, {"name": "out_split_size", "value": "[]"}]}]})",
      "p.json");
  CHECK(read.ranks.front().operations.front().bytes == 3 * 5 * 4);
  CHECK(read.ranks.front().operations.front().uneven);
}

TEST_CASE("names of files say their ranks") {
  CHECK(rank_in_name("a/all_reduce.12.et") == 12);
  CHECK(rank_in_name("chakra.3.et.gz") == 3);
  CHECK(rank_in_name("rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz") == 34);
  CHECK(rank_in_name("worker2_step_12.1694128201554.pt.trace.json") == 2);
  CHECK(rank_in_name("dlrm_eg_7.json") == 7);
  CHECK(rank_in_name("trace.json") == TracedRank::not_said);
}

}  // namespace
}  // namespace weft

#include "validation/replay/replay.hpp"

#include "sim/cases/cases.hpp"
#include "validation/testing.hpp"

#include <sstream>

#include <doctest/doctest.h>

using namespace weft;

namespace {

const std::string two_ranks = R"({"format": "weft trace", "version": 1, "ranks": 2, "collective": "allreduce"})"
                              "\n";

std::string collective(int rank, int bytes, double start_us, double end_us, const std::string& op = "allreduce") {
  return fmt::format(R"({{"rank": {}, "op": "{}", "bytes": {}, "start_us": {}, "end_us": {}}})"
                     "\n",
                     rank, op, bytes, start_us, end_us);
}

std::string message(int rank, const std::string& op, int peer, int step, int bytes, double start_us, double end_us) {
  return fmt::format(R"({{"rank": {}, "op": "{}", "peer": {}, "step": {}, "bytes": {}, "start_us": {}, "end_us": {}}})"
                     "\n",
                     rank, op, peer, step, bytes, start_us, end_us);
}

// Both ranks send and receive in each of two steps, a ring all-reduce of 2 MB.
std::string ring_messages() {
  std::string out = R"({"run": 0, "algorithm": "ring", "size_bytes": 2000000, "times_us": [170, 180, 175]})"
                    "\n";
  for (int step = 0; step < 2; ++step)
    for (int rank = 0; rank < 2; ++rank) {
      out += message(rank, "send", 1 - rank, step, 1'000'000, 85 * step, 85 * step + 82);
      out += message(rank, step == 0 ? "receive_reduce" : "receive", 1 - rank, step, 1'000'000, 85 * step, 85 * step + 82);
    }
  return out;
}

Scenario star_of(int nodes) {
  const ScratchFolder folder;
  return load_cases(folder.file("star.json", star_scenario(nodes))).front().scenario;
}

ReplayResult replayed(const std::string& text, int ranks = 0, int nodes = 2) {
  const Trace trace = parse_trace(text, "t");
  const Scenario scenario = star_of(nodes);
  return replay(plan_replay(trace, trace.runs.front(), scenario, {.ranks = ranks}), scenario);
}

}  // namespace

TEST_CASE("replay: messages of a schedule run again, step by step") {
  const ReplayResult result = replayed(two_ranks + ring_messages());
  REQUIRE(result.operations.size() == 2);
  // 1 MB at 100 Gb/s and two cables.
  CHECK(result.operations[0].name == "step 0");
  CHECK(result.operations[0].bytes == 1'000'000);
  CHECK(*result.operations[0].measured_us == doctest::Approx(82));
  CHECK(result.operations[0].simulated_us == doctest::Approx(81));
  CHECK(*result.measured_us == doctest::Approx(167));
  CHECK(result.simulated_us == doctest::Approx(162));
}

TEST_CASE("replay: collectives keep what each rank computed between them") {
  // 500,000 bytes take 42 us: two steps of 1 us and 20 us. Rank 1 starts 10 us later, and computes 100 us, rank 0 30 us.
  const ReplayResult result = replayed(two_ranks + collective(0, 500'000, 0, 50) + collective(1, 500'000, 10, 52) +
                                       collective(0, 500'000, 80, 200) + collective(1, 500'000, 152, 200));
  REQUIRE(result.operations.size() == 2);
  CHECK(*result.operations[0].measured_us == doctest::Approx(52));
  CHECK(result.operations[0].simulated_us == doctest::Approx(52));
  CHECK(result.operations[0].late_us == doctest::Approx(10));
  CHECK(result.operations[1].late_us == doctest::Approx(152 - 80));  // more than half of what was measured
  // Both are done at 52: rank 0 goes on at 82, rank 1 at 152, and then it takes 42 more.
  CHECK(*result.operations[1].measured_us == doctest::Approx(120));
  CHECK(result.operations[1].simulated_us == doctest::Approx(152 + 42 - 82));
  CHECK(result.simulated_us == doctest::Approx(194));
}

TEST_CASE("replay: collectives of different kinds and sizes follow one another") {
  const ReplayResult result = replayed(two_ranks + collective(0, 500'000, 0, 42) + collective(1, 500'000, 0, 42) +
                                       collective(0, 1'000'000, 42, 63, "allgather") + collective(1, 1'000'000, 42, 63, "allgather"));
  REQUIRE(result.operations.size() == 2);
  CHECK(result.operations[1].simulated_us == doctest::Approx(41));  // one step of half the message
}

TEST_CASE("replay: the same operations on more ranks") {
  const ReplayResult collectives = replayed(two_ranks + collective(0, 800'000, 0, 66) + collective(1, 800'000, 0, 66), 4, 4);
  CHECK(!collectives.measured_us);
  CHECK(collectives.simulated_us == doctest::Approx(6 * (1 + 16)));  // 6 steps of a quarter
  const ReplayResult messages = replayed(two_ranks + ring_messages(), 4, 4);
  CHECK(messages.simulated_us == doctest::Approx(6 * (1 + 40)));
}

TEST_CASE("replay: a parameter server on an extra host has messages of its own, and comes along to other numbers of ranks") {
  const std::string header = R"({"format": "weft trace", "version": 1, "ranks": 2, "collective": "allreduce", "server_hosts": "extra"})"
                             "\n"
                             R"({"run": 0, "algorithm": "parameter_server", "size_bytes": 1000000, "times_us": [330]})"
                             "\n";
  std::string text = header;
  for (int rank = 0; rank < 2; ++rank)
    text += message(rank, "send", 2, 0, 1'000'000, 0, 165) + message(2, "receive", rank, 0, 1'000'000, 0, 165) +
            message(2, "send", rank, 1, 1'000'000, 165, 330) + message(rank, "receive", 2, 1, 1'000'000, 165, 330);
  // Both pushes share the server's cable, 160 us and 1 us of latency; then both pulls.
  const ReplayResult traced = replayed(text, 0, 3);
  CHECK(*traced.measured_us == doctest::Approx(330));
  CHECK(traced.simulated_us == doctest::Approx(2 * 161));
  const ReplayResult more = replayed(text, 4, 5);
  CHECK(more.simulated_us == doctest::Approx(2 * 321));
  CHECK(problems_of([&] { replayed(text, 4, 4); }) == Lines{"the 5 ranks of the trace do not fit the scenario's 4 endpoints"});
  CHECK(problems_of([&] { replayed(header + message(3, "send", 0, 0, 8, 0, 1), 0, 4); })
            .front()
            .starts_with("t:3: \"rank\" must be a whole number from 0 to 2, got 3"));
  CHECK(problems_of([&] { replayed(header + collective(0, 8, 0, 1) + collective(1, 8, 0, 1) + collective(2, 8, 0, 1), 0, 4); }) ==
        Lines{"t:5: rank 2 is a server, which takes part in collectives unasked"});
  const std::string odd = R"({"format": "weft trace", "version": 1, "ranks": 2, "server_hosts": "some"})"
                          "\n";
  CHECK(problems_of([&] { replayed(odd); }) == Lines{"t:1: \"server_hosts\" must be \"workers\" or \"extra\", got \"some\""});
}

TEST_CASE("replay: a trace that does not hold together is refused, line by line") {
  const auto problems = [](const std::string& text, int ranks = 0) { return problems_of([&] { replayed(text, ranks); }); };
  CHECK(problems(two_ranks + message(0, "send", 1, 0, 8, 0, 1)) ==
        Lines{"t:2: rank 0 sends to rank 1 in step 0, which does not receive it"});
  CHECK(problems(two_ranks + message(1, "receive", 0, 0, 8, 0, 1)) ==
        Lines{"t:2: rank 1 receives from rank 0 in step 0, which does not send it"});
  CHECK(problems(two_ranks + message(0, "send", 1, 0, 8, 0, 1) + message(1, "receive", 0, 0, 16, 0, 1)) ==
        Lines{"t:2: 8 bytes are sent, but 16 received (line 3)"});
  CHECK(problems(two_ranks + collective(0, 8, 0, 1)) == Lines{"t: rank 0 takes part in 1 collectives, rank 1 in 0"});
  CHECK(problems(two_ranks + collective(0, 8, 0, 1) + collective(1, 16, 0, 1)) ==
        Lines{"t:3: collective 0 of rank 1 is allreduce of 16 bytes, rank 0's is allreduce of 8 (line 2)"});
  CHECK(problems(two_ranks + collective(0, 8, 0, 1) + message(0, "send", 1, 0, 8, 0, 1)) ==
        Lines{"t:3: a run holds either messages or collectives, not both"});
  CHECK(problems(two_ranks + collective(0, 8, 0, 1) + collective(1, 8, 0, 1), 3) ==
        Lines{"the 3 ranks of the trace do not fit the scenario's 2 endpoints"});
}

TEST_CASE("replay: collectives that overlapped run side by side, and compute is what a rank did since the last one it had ended") {
  // Alone 500,000 bytes take 42 us. The two share both cables: 2 us and 4 x 20 us; the third follows the first by 10 us.
  const ReplayResult both = replayed(two_ranks + collective(0, 500'000, 0, 80) + collective(0, 500'000, 0, 80) +
                                     collective(1, 500'000, 0, 80) + collective(1, 500'000, 0, 80));
  CHECK(both.simulated_us == doctest::Approx(82));
  const ReplayResult third =
      replayed(two_ranks + collective(0, 500'000, 0, 80) + collective(0, 500'000, 0, 85) + collective(0, 500'000, 90, 140) +
               collective(1, 500'000, 0, 80) + collective(1, 500'000, 0, 85) + collective(1, 500'000, 90, 140));
  // It waits for the second, which ended last: 5 us of compute.
  CHECK(third.simulated_us == doctest::Approx(82 + 5 + 42));
  REQUIRE(third.operations.size() == 3);
  CHECK(third.operations[2].simulated_us == doctest::Approx(42));
}

TEST_CASE("replay: a trace is replayed on the network and with the servers of the scenario") {
  const ScratchFolder folder;
  const auto scenario = folder.file("pair.json", pair_scenario);
  const Trace trace = parse_trace(two_ranks + collective(0, 500'000, 0, 50) + collective(1, 500'000, 0, 50), "t");
  const auto simulated_us = [&](const std::vector<std::string>& set) {
    std::vector<Setting> settings;
    for (const std::string& one : set) settings.push_back(parse_setting(one));
    const Scenario s = load_cases(scenario, settings).front().scenario;
    return replay(plan_replay(trace, trace.runs.front(), s, {}), s).simulated_us;
  };
  CHECK(simulated_us({}) == doctest::Approx(42));
  CHECK(simulated_us({"/network=packet"}) == doctest::Approx(42).epsilon(0.1));
  CHECK(simulated_us({"/network=packet"}) != doctest::Approx(42).epsilon(1e-6));
  CHECK(simulated_us({"/server=dgx_h100"}) < 10);  // both ranks in one server, over NVLink
}

TEST_CASE("replay: the command prints every operation and the total") {
  const ScratchFolder folder;
  const auto trace = folder.file("trace.jsonl", two_ranks + ring_messages());
  const auto scenario = folder.file("pair.json", pair_scenario);
  std::ostringstream out, err;
  CHECK(replay_command({.trace = trace.string(), .scenario = scenario.string(), .output = (folder / "all.csv").string()}, out, err) == 0);
  CHECK(out.str().find("step 1") != std::string::npos);
  CHECK(out.str().find("total") != std::string::npos);
  CHECK(out.str().find("-3.0 %") != std::string::npos);
  CHECK(read_file(folder / "all.csv").find("0,\"step 0\",1000000,82.000,81.000\n") != std::string::npos);
  // Collectives of their own sizes have none together.
  const auto collectives = folder.file("collectives.jsonl", two_ranks + collective(0, 500'000, 0, 42) + collective(1, 500'000, 0, 42));
  std::ostringstream of_collectives;
  CHECK(replay_command({.trace = collectives.string(), .scenario = scenario.string()}, of_collectives, err) == 0);
  CHECK(of_collectives.str().find(fmt::format("  {:<34} {:>12}", "total", "-")) != std::string::npos);
}

TEST_CASE("replay: times that a SimTime cannot hold are refused, wherever the clock began") {
  const auto calls_at = [](double second) {
    std::string out = two_ranks;
    for (const double start : {0.0, second})
      for (int rank = 0; rank < 2; ++rank) out += collective(rank, 1024, start, start + 5);
    return out;
  };
  const Lines problems = problems_of([&] { replayed(calls_at(1e13)); });
  REQUIRE(problems.size() == 2);
  CHECK(problems[0] == "t:4: ends 1e+13 us after the first operation of its run has started; at most 9.2e+12 us (106 days) are read");
  CHECK(replayed(calls_at(9.1e12)).simulated_us == doctest::Approx(9.1e12));
  const std::string late = two_ranks + collective(0, 1024, 1.7e15, 1.7e15 + 5) + collective(1, 1024, 1.7e15, 1.7e15 + 5);
  CHECK(replayed(late).operations.size() == 1);  // microseconds since 1970
}

TEST_CASE("replay: the command refuses no ranks, what it does not simulate, and to write over what it reads") {
  const ScratchFolder folder;
  const auto trace = folder.file("trace.jsonl", two_ranks + ring_messages()).string();
  const auto scenario = folder.file("pair.json", pair_scenario).string();
  std::ostringstream out, err;
  const auto problems = [&](const ReplayArguments& arguments) { return problems_of([&] { replay_command(arguments, out, err); }); };
  CHECK(problems({.trace = trace, .scenario = scenario, .ranks = 0}) == Lines{"--ranks must be at least 1, got 0"});
  CHECK(problems({.trace = trace, .scenario = scenario, .set = {"/network=simgrid", R"(/start_skew={"max": "5us"})"}}) ==
        Lines{scenario + ": /start_skew: the trace says when its ranks start: leave it out",
              scenario + ": /network: \"simgrid\" does not tell when each operation began and ended; \"flow\" and \"packet\" do"});
  CHECK(problems({.trace = trace, .scenario = scenario, .rename = {"ring=direct"}}) ==
        Lines{"--rename ring=direct: no collective of the trace is of \"ring\"; it has messages, which are simulated as they were sent"});
  const auto calls = folder.file("calls.jsonl", two_ranks + collective(0, 1024, 0, 5) + collective(1, 1024, 0, 5)).string();
  CHECK(problems({.trace = calls, .scenario = scenario, .rename = {"tree=direct"}}) ==
        Lines{"--rename tree=direct: no collective of the trace is of \"tree\"; algorithms of its collectives: none"});
  const std::string nowhere = (folder / "nowhere").string();
  CHECK(problems({.trace = nowhere + ".jsonl", .scenario = nowhere + ".json", .set = {"y"}, .rename = {"x"}, .ranks = 0}).size() == 5);
  CHECK(problems({.trace = nowhere + ".jsonl", .scenario = scenario, .set = {"y", "z"}}).size() == 3);
  CHECK(problems({.trace = trace, .scenario = scenario, .output = trace}) ==
        Lines{fmt::format("-o {0}: {0} is read by this command; write to another file", trace)});
}

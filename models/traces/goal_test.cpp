#include "models/traces/goal.hpp"

#include "kernels/base/error.hpp"
#include "models/traces/read_traces.hpp"

#include <doctest/doctest.h>

namespace weft {
namespace {

using Kind = TracedOperation::Kind;

TEST_CASE("a GOAL schedule is read with labels, both kinds of dependencies, comments and wildcards") {
  const TraceFile read = parse_goal_text(
      "// two ranks\nnum_ranks 2\n"
      "rank 0 {\n l1: calc 100 cpu 1\n l2: send 10b to 1 tag 5 nic 1\n l2 requires l1\n /* l3\n l4 */ calc 7\n"
      " l3: recv 4b from -1 tag -1\n l3 irequires l2\n}\n"
      "rank 1 { recv 10b from 0 tag 5 send 4b to 0 }\n",
      "s.goal");
  REQUIRE(read.ranks.size() == 2);
  const TracedRank& rank = read.ranks[0];
  REQUIRE(rank.operations.size() == 4);
  CHECK(rank.operations[0].duration == 100_ns);
  CHECK(rank.operations[0].unit == 1);
  CHECK(rank.operations[1].kind == Kind::send);
  CHECK(rank.operations[1].tag == 5);
  CHECK(rank.after_of(1).size() == 1);
  CHECK(rank.operations[2].duration == 7_ns);
  CHECK(rank.operations[2].record == 8);  // the line, comments counted
  CHECK(rank.operations[3].peer == TracedOperation::any_rank);
  CHECK(rank.operations[3].tag == TracedOperation::any_tag);
  REQUIRE(rank.after_of(3).size() == 1);  // it may start when l2 may: after l1
  CHECK(rank.after_of(3)[0] == 0);
}

TEST_CASE("a GOAL schedule may begin with a byte order mark") {
  CHECK(parse_trace_file("\xef\xbb\xbfnum_ranks 1\nrank 0 {\ncalc 5\n}\n", "s.goal").ranks.front().operations.front().duration == 5_ns);
}

TEST_CASE("what a GOAL schedule cannot mean is refused with file and line") {
  const auto refused = [](const std::string& body) -> std::string {
    try {
      parse_goal_text("num_ranks 2\nrank 0 {\n" + body + "\n}\n", "s.goal");
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refused("send 1b to 2") == "s.goal: line 3: a rank must be a whole number from 0 to 1, got \"2\"");
  CHECK(refused("send -1b to 1") == "s.goal: line 3: a size in bytes must be a whole number from 0 to 1125899906842624b, got \"-1b\"");
  CHECK(refused("send 1 to 1") == "s.goal: line 3: must be \"b\", got \"to\"");
  CHECK(refused("l1: calc 1\nl2 requires l1") == "s.goal: line 4: no operation before has the label \"l2\"");
  CHECK(refused("l1: calc 1\nl1: calc 2") == "s.goal: line 4: label l1 is used twice");
  CHECK(refused("l1: calc 1\nl2: calc 2\nl1 requires l2\nl2 requires l1") == "s.goal: line 3: waits for an operation that waits for it");
  CHECK(refused("l1: calc 1\nl2: calc 2\nl1 irequires l2\nl2 irequires l1") ==
        "s.goal: line 4: starts after an operation that starts after it");
  CHECK(refused("l1: send 1b to 2 tag 3\nl2: calc x\nl2 requires l1\njump 4\ncalc 5") ==
        "s.goal: line 3: a rank must be a whole number from 0 to 1, got \"2\"\n"
        "s.goal: line 4: a time in ns must be a whole number from 0 to 9000000000000000, got \"x\"\n"
        "s.goal: line 6: after the label jump must come \":\", requires or irequires, got \"4\"");
  CHECK(refused("calc x\n/* no end") ==
        "s.goal: line 3: a time in ns must be a whole number from 0 to 9000000000000000, got \"x\"\n"
        "s.goal: line 4: the comment does not end");
  CHECK(refused("l1: jump 3\nl2: calc 1\nl2 requires l1") == "s.goal: line 3: must be send, recv or calc, got \"jump\"");
  CHECK_THROWS_WITH_AS(parse_goal_text("num_ranks 1\nrank 0 {\ncalc 1", "s.goal"), "s.goal: line 3: rank 0 does not end: \"}\" is missing",
                       InputError);
}

// What txt2bin writes of: rank 0 { l1: calc 100 cpu 0; l2: send 10b to 1 tag 5; l2 requires l1 } rank 1 { recv 10b from 0 tag 5 }.
std::string binary_schedule() {
  std::string out;
  const auto put = [&](auto value) { out.append(reinterpret_cast<const char*>(&value), sizeof(value)); };
  const auto node = [&](std::uint32_t waits, char type, std::uint32_t peer, std::uint64_t size, std::uint32_t tag,
                        std::uint32_t followers) {
    put(waits), put(type), put(peer), put(size), put(tag);
    put(std::uint8_t{0}), put(std::uint8_t{0}), put(followers), put(std::uint32_t{0}), put(std::uint32_t{0}), put(std::uint32_t{0});
  };
  constexpr std::uint64_t header = 4 + 2 + 2 * 16, first = 4 + 4 + 4 + 2 * 39 + 4, second = 4 + 4 + 4 + 39;
  put(std::uint64_t{4223});
  put(std::uint32_t{2}), put(std::uint8_t{0}), put(std::uint8_t{0});
  put(header), put(header + first), put(header + first), put(header + first + second);
  put(std::uint32_t{2}), put(std::uint32_t{1}), put(std::uint32_t{0});  // two operations, of which the first waits for nobody
  node(0, 3, 0, 100, 0, 1);
  node(1, 1, 1, 10, 5, 0);
  put(std::uint32_t{1});  // the appendix: operation 1 follows operation 0
  put(std::uint32_t{1}), put(std::uint32_t{1}), put(std::uint32_t{0});
  node(0, 2, 0, 10, 5, 0);
  return out;
}

TEST_CASE("GOAL's binary says the same as its text") {
  const TraceFile text = parse_goal_text(
      "num_ranks 2\nrank 0 {\nl1: calc 100\nl2: send 10b to 1 tag 5\nl2 requires l1\n}\nrank 1 {\nrecv 10b from 0 tag 5\n}", "s");
  const std::string bytes = binary_schedule();
  REQUIRE(looks_like_goal_binary(bytes));
  const TraceFile binary = parse_goal_binary(bytes, "s");
  REQUIRE(binary.ranks.size() == text.ranks.size());
  for (std::size_t r = 0; r < text.ranks.size(); ++r) {
    REQUIRE(binary.ranks[r].operations.size() == text.ranks[r].operations.size());
    CHECK(binary.ranks[r].after == text.ranks[r].after);
    for (std::size_t i = 0; i < text.ranks[r].operations.size(); ++i) {
      const TracedOperation &a = binary.ranks[r].operations[i], &b = text.ranks[r].operations[i];
      CHECK(a.kind == b.kind);
      CHECK(a.bytes == b.bytes);
      CHECK(a.peer == b.peer);
      CHECK(a.tag == b.tag);
      CHECK(a.duration == b.duration);
    }
  }
}

TEST_CASE("a binary schedule that breaks off or points nowhere is refused") {
  const std::string good = binary_schedule();
  for (std::size_t length = 8; length < good.size(); ++length) CHECK_THROWS_AS(parse_goal_binary(good.substr(0, length), "s"), InputError);
  std::string wrong = good;
  wrong[8 + 38 + 12 + 2 * 39] = 9;  // the appendix' entry
  CHECK_THROWS_WITH_AS(parse_goal_binary(wrong, "s"), "s: rank 0: names operation 9, of 2", InputError);
  wrong = good;
  wrong[8 + 38 + 12 + 4] = 7;                                         // the first operation's type
  wrong[8 + 38 + 12 + 39 + 5] = 2;                                    // the second's peer
  wrong[8 + 38 + 12 + 2 * 39 + 4 + 12 + 5 + 4 + 8 + 3] = char(0x80);  // the tag of rank 1's receive
  CHECK_THROWS_WITH_AS(parse_goal_binary(wrong, "s"),
                       "s: rank 0, operation 0: is of type 7; there are 1 (send), 2 (receive) and 3 (calculation)\n"
                       "s: rank 0, operation 1: is a message with rank 2, of 2\n"
                       "s: rank 1, operation 0: has tag 2147483653",
                       InputError);
}

}  // namespace
}  // namespace weft

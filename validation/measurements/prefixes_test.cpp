#include "validation/measurements/prefixes.hpp"

#include "validation/measurements/lines.hpp"

#include <doctest/doctest.h>

using namespace weft;

namespace {

constexpr const char* osu_lines[] = {"# OSU MPI Allreduce Latency Test v7.2", "# Size       Avg Latency(us)", "8                   20.5",
                                     "16                  21.5"};

// The table with this before each of its lines, and what stands before and behind them.
std::string with_prefix(std::string_view prefix, std::string_view before = "", std::string_view behind = "") {
  std::string out(before);
  for (const char* line : osu_lines) out += fmt::format("{}{}\n", prefix, line);
  return out += behind;
}

bool holds_osu(std::string_view text) { return text.find("# OSU") != text.npos; }

}  // namespace

TEST_CASE("prefixes: what mpirun, srun, torchrun, kubectl and CI put before each line is taken off") {
  for (const std::string prefix :
       {"[1,0]<stdout>:", "[1,0]<stdout>: ", "[prterun-node0-77@1,0]<stdout>:", "Mon Jan  5 03:04:05 2026[1,0]<stdout>:", "0: ", " 0: ",
        "[0] ", "[default0]:", "[pod/nccl-launcher-x2/main] ", "2026-01-02T03:04:05.678901234Z ",
        "2026-01-02T03:04:05Z [1,0]<stdout>:", "[pod/osu-0/main] 2026-01-02T03:04:05+01:00 0: "}) {
    CAPTURE(prefix);
    CHECK(without_prefixes(with_prefix(prefix), holds_osu) == with_prefix(""));
    const Measurements read = parse_measurements(with_prefix(prefix, "launched\n"), "f");
    REQUIRE(read.rows.size() == 2);
    CHECK(read.rows[1].where == "f:5");
  }
}

TEST_CASE("prefixes: times alone, as Jenkins prints them, and the backslashes and quotes of a page of Markdown are taken off") {
  for (const std::string prefix :
       {"00:55:22 ", "00:55:22.123 ", "00:55:22 0: ", "00:55:22  ", "2026-01-02 00:55:22 ", "2026-01-02 00:55:22.123456 ",
        "2026-01-02T00:55:22.123456789Z stdout F ", "2026-01-02T00:55:22+01:00 stderr F 0: "}) {
    CAPTURE(prefix);
    const Measurements read = parse_measurements(with_prefix(prefix, "launched\n"), "f");
    REQUIRE(read.rows.size() == 2);
    CHECK(read.rows[1].where == "f:5");
  }
  for (const std::string escape : {"\\", "  \\", "00:55:22 \\"}) {
    std::string escaped;
    for (const std::string line : osu_lines) escaped += (line.starts_with('#') ? escape : "") + line + "\n";
    CAPTURE(escaped);
    CHECK(without_prefixes(escaped, holds_osu) == with_prefix(""));
    CHECK(parse_measurements(escaped, "f").rows.size() == 2);
  }
  CHECK(without_prefixes(with_prefix("> ", ">\n"), holds_osu) == "\n" + with_prefix(""));
  CHECK(parse_measurements(with_prefix("> > ", ">\n"), "f").rows.size() == 2);
}

TEST_CASE("prefixes: of several ranks that print the first one's table is taken, by number, wherever its lines stand") {
  std::string text = "10: node1 says hello\n0: no table, but, commas\n";
  for (const char* line : osu_lines)
    for (const char* rank : {"10: ", " 2: "}) text += fmt::format("{}{}\n", rank, line);
  text += " 0:\n 2: 32  22.5\n10: 32  99\n";
  const Measurements read = parse_measurements(text, "f");
  REQUIRE(read.rows.size() == 3);
  CHECK(read.rows[0].where == "f:8");
  CHECK(read.rows[2].time_us == 22.5);
  CHECK(read.rows[2].where == "f:12");
}

TEST_CASE("prefixes: a row that was printed in three writes has the tag of its line before each") {
  const auto table = [](const std::string& tag, const std::string& end) {
    return fmt::format(
        "{0}# Collective test starting: all_reduce_perf\n"
        "{0}#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
        "{0}#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
        "{0}           8             2     float     sum      -1{0}    60.04    0.00    0.00      0{0}    61.04    0.00    0.00      0{1}\n"
        "{0}node0:4101:4101 [0] NCCL INFO something in between\n",
        tag, end);
  };
  for (const auto& tag_and_end : {std::pair<std::string, std::string>{"[1,0]<stdout>:", ""},
                                  {"[1,0]<stdout>:", "[1,0]<stdout>:"},
                                  {"[prterun-node0-77@1,0]<stdout>:", ""},
                                  {"[0] ", ""},
                                  {"[0] ", "[0]"},
                                  {"", ""}}) {
    CAPTURE(tag_and_end.first);
    CAPTURE(tag_and_end.second);
    const Measurements read = parse_measurements(table(tag_and_end.first, tag_and_end.second), "f");
    REQUIRE(read.rows.size() == 2);
    CHECK(read.rows[0].time_us == 60.04);
    CHECK(read.rows[1].time_us == 61.04);
    CHECK(read.rows[1].where == "f:4");
  }
  CHECK(without_prefixes("[0] a[0] b [0] c[0]d[1] e\n", holds_osu) == "a  b [0] c[0]d[1] e\n");
}

TEST_CASE("prefixes: a text without any stays as it is") {
  for (const std::string& text : {with_prefix(""),
                                  std::string("a,b\r\n[1, 2]\n{\"t\": 1}\n0:1:2 [0] NCCL INFO x\n2026-01-02T03:04,5\n[x] y\n[pod] z\n12.5: "
                                              "x\n03:04:05\n03:04 x\n03:04:05x y\n"
                                              "03:04:05. y\n\\ # x\nx \\#\n"),
                                  std::string("[,]<stdout>:x\n[1,a]<stdout>:x\n1,0]<stdout>:x\n]\n[0]"), std::string()}) {
    CAPTURE(text);
    CHECK(without_prefixes(text, holds_osu) == text);
  }
}

TEST_CASE("prefixes: numbers of lines are no ranks, and each launcher of a file has a first rank of its own") {
  std::string numbered, plain;
  for (int i = 0; i < 9; ++i) {
    numbered += fmt::format("{}:# OSU   {}  6.0\n", 7 + 3 * i, i);
    plain += fmt::format("# OSU   {}  6.0\n", i);
  }
  CHECK(without_prefixes(numbered, holds_osu) == plain);
  CHECK(without_prefixes("0: # OSU a\n1: # OSU b\n[1,3]<stdout>:# OSU c\n[1,4]<stdout>:# OSU d\n", holds_osu) == "# OSU a\n\n# OSU c\n\n");
}

#include "sim/report/plot.hpp"

#include "kernels/testing/problems_of.hpp"

#include <cstdlib>

#include <doctest/doctest.h>

using namespace weft;

namespace {

// Two algorithms at three sizes on two fabrics; times with a spread.
const char* const results =
    "algorithm,size_bytes,time_us,time_us_p05,time_us_p95,/fabric/spines\n"
    "ring,1024,10,9,12,4\nring,1048576,100,100,100,4\nring,67108864,4000,4000,4000,4\n"
    "hdrm,1024,5,5,5,4\nhdrm,1048576,90,90,90,4\nhdrm,67108864,3900,3900,3900,4\n"
    "hdrm,1024,4,4,4,8\nhdrm,1048576,80,80,80,8\nhdrm,67108864,3500,3500,3500,8\n";

CsvTable table() { return parse_csv(results, "results.csv"); }

bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

bool gnuplot_is_here() {
  if (std::system("command -v gnuplot >/dev/null 2>&1") == 0) return true;
  MESSAGE("skipped: there is no gnuplot here (package gnuplot-nox)");
  return false;
}

}  // namespace

TEST_CASE(
    "a figure has a line for each value of the columns that differ, in units that fit, with logarithmic axes where values span much") {
  const std::string script = plot_script(table(), {.x = "size_bytes"}, PlotFormat::svg);
  CHECK(has(script, "title 'ring, spines 4'"));
  CHECK(has(script, "title 'hdrm, spines 8'"));
  CHECK(has(script, "set logscale x 2"));
  CHECK(has(script, "set logscale y"));
  CHECK(has(script, "set ylabel 'time (\xc2\xb5s)'"));
  CHECK(has(script, "'1 KiB' 1024, '1 MiB' 1048576, '64 MiB' 67108864"));
  CHECK(has(script, "1024 10 9 12\n"));
  CHECK(has(script, "$series1 using 1:2:3:4 with yerrorbars"));
  CHECK(!has(script, "$series2 using 1:2:3:4"));
  CHECK(has(plot_script(table(), {.x = "size_bytes", .log_x = false}, PlotFormat::svg), "set logscale y"));
  CHECK(!has(plot_script(table(), {.x = "size_bytes", .log_x = false}, PlotFormat::svg), "set logscale x"));
}

TEST_CASE("words along a figure give bars, a series for what differs besides") {
  const std::string script = plot_script(table(), {.x = "algorithm", .where = {"size_bytes=1048576"}}, PlotFormat::pdf);
  CHECK(has(script, "set style data histogram"));
  CHECK(has(script, "title 'spines 4'"));
  CHECK(has(script, "set xtics ('ring' 0, 'hdrm' 1)\n"));
  CHECK(has(script, "EOD\nNaN NaN NaN\n"));  // with 8 spines there is no ring
  CHECK(has(script, " using 1 linestyle"));  // none stands for several runs
  CHECK(has(plot_script(table(), {.x = "algorithm", .where = {"size_bytes=1024"}}, PlotFormat::pdf), " using 1:2:3 linestyle"));
}

TEST_CASE("of more than seven series of bars each has a pattern that is seen, and what is empty has a name") {
  std::string text = "algorithm,size_bytes,time_us,/traffic\n";
  for (int i = 0; i < 15; ++i) text += fmt::format("ring,{},10,[]\n", 1024 << i);
  const std::string script = plot_script(parse_csv(text, "t.csv"), {.x = "algorithm"}, PlotFormat::svg);
  CHECK(!has(script, "fillstyle pattern 0"));
  CHECK(has(plot_script(parse_csv("algorithm,time_us,/traffic\nring,10,[]\nring,20,[{}]\n", "t.csv"), {.x = "algorithm"}, PlotFormat::svg),
            "title 'traffic none'"));
}

TEST_CASE("on an axis of powers 0 stands a decade below the least, and labels keep apart") {
  const CsvTable loss = parse_csv("algorithm,time_us,/loss\natp,1,0\natp,2,0.00001\natp,3,0.001\natp,4,0.01\n", "t.csv");
  const std::string script = plot_script(loss, {.x = "/loss"}, PlotFormat::svg);
  CHECK(has(script, "set logscale x 10"));
  CHECK(has(script, "set xtics ('0' 1.0"));
  const std::string straight = plot_script(loss, {.x = "/loss", .log_x = false}, PlotFormat::svg);
  CHECK(has(straight, "set xtics ('0' 0, '0.001' 0.001"));  // 0.00001 is as good as 0 there
}

TEST_CASE("more series than can be told apart are refused with what could be chosen from; fewer are named below the figure") {
  std::string text = "algorithm,size_bytes,time_us,/packet/pfc/on\n";
  for (int i = 0; i < 13; ++i)
    for (const char* on : {"true", "false"}) text += fmt::format("a{},1024,10,{}\na{},4096,20,{}\n", i, on, i, on);
  CHECK_THROWS_WITH_AS(
      plot_script(parse_csv(text, "t.csv"), {.x = "size_bytes"}, PlotFormat::svg),
      "these are 26 series, and at most 24 can be told apart: choose with --where COLUMN=VALUE from algorithm (13 values), "
      "/packet/pfc/on (2 values)",
      InputError);
  const std::string script = plot_script(parse_csv(text, "t.csv"), {.x = "size_bytes", .where = {"/packet/pfc/on=true"}}, PlotFormat::svg);
  CHECK(has(script, "set key below"));
  CHECK(has(script, "title 'a12'"));
  CHECK(has(plot_script(parse_csv(text, "t.csv"), {.x = "size_bytes", .where = {"algorithm=a1"}}, PlotFormat::svg), "title 'pfc/on true'"));
}

TEST_CASE("settings that all labels of an algorithm have in common are left out") {
  const std::string text =
      "algorithm,size_bytes,time_us\n\"nccl(group=8,algorithm=ring)\",1024,10\n\"nccl(group=8,algorithm=tree)\",1024,20\n"
      "nccl(group=8),1024,15\nring(channels=4),1024,30\n";
  const std::string script = plot_script(parse_csv(text, "t.csv"), {.x = "size_bytes"}, PlotFormat::svg);
  for (const char* title : {"title 'nccl(algorithm=ring)'", "title 'nccl(algorithm=tree)'", "title 'nccl'", "title 'ring(channels=4)'"})
    CHECK(has(script, title));
  const std::string bars = plot_script(parse_csv(text, "t.csv"), {.x = "algorithm"}, PlotFormat::svg);
  CHECK(has(bars, "'nccl(algorithm=tree)' 1"));
  CHECK(has(bars, "\n20 20 20\n"));
}

TEST_CASE("what cannot be drawn is said with what can be") {
  const auto why = [](const PlotChoice& choice) { return problems_of([&] { plot_script(table(), choice, PlotFormat::svg); }); };
  CHECK(has(why({.x = "size"}).front(), "--x: unknown column \"size\""));
  CHECK(has(why({.x = "size_bytes", .y = "algorithm"}).front(), "--y: the column algorithm has no numbers in these lines"));
  CHECK(has(why({.x = "size_bytes", .by = {"algorithm"}}).front(),
            "hdrm has several values of time_us at size_bytes = 1024: tell them apart with --by COLUMN, or choose with --where "
            "COLUMN=VALUE; what differs is /fabric/spines"));
  const auto nothing = why({.x = "size_bytes", .where = {"algorithm=tree"}});
  CHECK(nothing == std::vector<std::string>{"--where: no line has these values", "--where: algorithm is hdrm, ring"});
  CHECK(has(why({.x = "size_bytes", .where = {"algorithm"}}).front(), "--where: must be column=value, got \"algorithm\""));
}

TEST_CASE("names are drawn as they are: gnuplot takes none for a command of the shell, and quotes cut none off") {
  const CsvTable named = parse_csv("who,n,`echo run`_us\n\"it's `echo run` \"\"q\"\" \\n\",1,10\nb,1,20\n", "t.csv");
  const std::string lines = plot_script(named, {.x = "n", .y = "`echo run`_us", .by = {"who"}, .title = "`echo run`"}, PlotFormat::svg);
  CHECK(has(lines, "title 'it''s `echo run` \"q\" \\n'"));
  CHECK(!has(lines, "\"`"));
  if (!gnuplot_is_here()) return;
  for (const char* x : {"n", "who"}) {
    CAPTURE(x);
    const bool words = x == std::string_view("who");
    const PlotChoice choice{.x = x, .y = "`echo run`_us", .by = {words ? "n" : "who"}, .title = "`echo run`"};
    const std::string svg = drawn_by_gnuplot(plot_script(named, choice, PlotFormat::svg));
    CHECK(has(svg, "it's `echo run` \"q\" \\n<"));
    CHECK(has(svg, ">`echo run`<"));
    CHECK(!has(svg, ">run"));
  }
}

TEST_CASE("a value that is no number, and one that no logarithm has, are refused, not left out") {
  const auto why = [](const char* text, const PlotChoice& choice) {
    return problems_of([&] { plot_script(parse_csv(text, "t.csv"), choice, PlotFormat::svg); });
  };
  using Problems = std::vector<std::string>;
  CHECK(why("n,time_us\n1,nan\n2,3\n3,\n", {.x = "n"}) ==
        Problems{"--y: time_us must be a number or empty, got \"nan\" in 1 of 3 lines: choose others with --where"});
  CHECK(why("n,time_us\n1,\n2,3\n", {.x = "n"}).empty());
  CHECK(why("n,time_us\n-1,0\n2,3\n", {.x = "n", .log_x = true, .log_y = true}) ==
        Problems{"--log-x: the column n must not be negative, got -1", "--log-y: the column time_us must be above 0 everywhere, got 0"});
  CHECK(why("n,time_us\na,1\nb,3\n", {.x = "n", .log_x = true}) == Problems{"--log-x: the column n has words"});
  CHECK(why("n,time_us\n0,1\n2,3\n", {.x = "n", .log_x = true, .log_y = true}).empty());
}

TEST_CASE("a table is CSV with as many fields in each line as in its header") {
  const CsvTable quoted = parse_csv("a,\"b,\"\"c\"\nd,\"e\nf\"\r\n", "t.csv");
  CHECK(quoted.header == std::vector<std::string>{"a", "b,\"c"});
  CHECK(quoted.lines == std::vector<std::vector<std::string>>{{"d", "e\nf"}});
  CHECK_THROWS_WITH_AS(parse_csv("a,b\n1,2\n3\n", "t.csv"), "t.csv:3: has 1 fields, the header 2", InputError);
  CHECK_THROWS_WITH_AS(parse_csv("a,b\n\"1,2\n", "t.csv"), "t.csv:2: a quote is not closed", InputError);
  CHECK_THROWS_WITH_AS(parse_csv("", "t.csv"), "t.csv: is empty; it must be CSV with a header, as weft run -o writes", InputError);
  CHECK_THROWS_WITH_AS(parse_csv("a,b\n", "t.csv"), "t.csv: has no lines below its header", InputError);
  CHECK_THROWS_WITH_AS(parse_csv("a,b,a\n1,2,3\n", "t.csv"), "t.csv:1: has the column \"a\" twice", InputError);
  CHECK(parse_csv("a,,\n1,2,3\n", "t.csv").header.size() == 3);  // as a spreadsheet leaves columns without a name
}

TEST_CASE("of a file that is no CSV only the first lines are named") {
  const auto problems = problems_of([] { parse_csv("{\n1,2\n1,2\n1,2\n1,2\n1,2\n1,2\n1,2\n", "t.json"); });
  REQUIRE(problems.size() == 6);
  CHECK(problems.front() == "t.json:2: has 2 fields, the header 1");
  CHECK(problems.back() == "t.json: and 2 more lines like these");
}

TEST_CASE("gnuplot makes SVG and PDF of it, the same bytes each time") {
  if (!gnuplot_is_here()) return;
  const std::string svg = drawn_by_gnuplot(plot_script(table(), {.x = "size_bytes"}, PlotFormat::svg));
  CHECK(has(svg, "<svg"));
  CHECK(has(svg, "hdrm, spines 8"));
  const std::string script = plot_script(table(), {.x = "algorithm", .where = {"size_bytes=1024"}}, PlotFormat::pdf);
  const std::string pdf = drawn_by_gnuplot(script);
  CHECK(pdf.starts_with("%PDF-"));
  CHECK(has(pdf, "CreationDate (D:20001111111111"));
  CHECK(pdf == drawn_by_gnuplot(script));
}

TEST_CASE("bars begin at nothing unless a logarithm is asked for, and a model is named rather than its size") {
  const std::string text =
      "size_bytes,time_us,model,engine\n97000000,10,resnet50,ddp\n97000000,12,resnet50,aiacc\n1300000000,900,bert_large,ddp\n"
      "1300000000,800,bert_large,aiacc\n";
  const std::string bars = plot_script(parse_csv(text, "t.csv"), {.x = "engine"}, PlotFormat::svg);
  CHECK(has(bars, "set yrange [0:*]"));
  CHECK(!has(bars, "set logscale y"));
  CHECK(has(bars, "title 'bert_large'"));
  CHECK(!has(bars, "MiB"));
  CHECK(has(plot_script(parse_csv(text, "t.csv"), {.x = "engine", .log_y = true}, PlotFormat::svg), "set logscale y"));
}

TEST_CASE("swept objects are called by what differs among those of one type, and pointers that end alike by more of their parts") {
  const std::string text =
      "algorithm,size_bytes,time_us,fabric,/fabric,/workload/algorithm\n"
      "ring,1024,10,bigraph,,\n"
      R"(ring,1024,11,fat_tree,"{""type"":""fat_tree"",""leaves"":8,""spines"":8}","[""ring""]")"
      "\n"
      R"(ring,1024,12,fat_tree,"{""type"":""fat_tree"",""leaves"":8,""spines"":4}","[""ring""]")"
      "\n";
  const std::string script = plot_script(parse_csv(text, "t.csv"), {.x = "size_bytes"}, PlotFormat::svg);
  for (const char* title : {"title 'bigraph'", "title 'fat_tree, spines 8'", "title 'fat_tree, spines 4'"}) CHECK(has(script, title));
  CHECK(has(script, "set xrange [512:2048]"));  // of one size
  CHECK_THROWS_WITH_AS(
      plot_script(parse_csv(text, "t.csv"), {.x = "size_bytes", .by = {"fabric"}}, PlotFormat::svg),
      "fat_tree has several values of time_us at size_bytes = 1024: tell them apart with --by COLUMN, or choose with --where "
      "COLUMN=VALUE; what differs is /fabric",
      InputError);

  const std::string links =
      "size_bytes,time_us,/fabric/host_link/bandwidth,/fabric/fabric_link/"
      "bandwidth\n1024,10,25Gbps,100Gbps\n1024,12,100Gbps,25Gbps\n1024,9,100Gbps,100Gbps\n";
  CHECK(has(plot_script(parse_csv(links, "t.csv"), {.x = "size_bytes"}, PlotFormat::svg),
            "title 'host link/bandwidth 25Gbps, fabric link/bandwidth 100Gbps'"));
}

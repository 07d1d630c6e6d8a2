#include "collectives/compression/settings.hpp"

#include <limits>

#include <doctest/doctest.h>

using namespace weft;

namespace {

std::string lines(const CompressionSettings& settings, std::int64_t elements = 1000) {
  std::vector<std::string> out;
  for (const Problem& p : problems(settings, elements)) out.push_back(p.where + ": " + p.what);
  return fmt::format("{}", fmt::join(out, "\n"));
}

}  // namespace

TEST_CASE("an amount is a count or a share of the elements, of which one is the least") {
  CHECK(parse_amount("1000") == Amount::exactly(1000));
  CHECK(parse_amount("25%").of(1000) == 250);
  CHECK(parse_amount("0.4%").of(1000) == 4);
  CHECK(parse_amount("0.4%").of(10) == 1);
  CHECK(parse_amount("0%").of(1000) == 0);
  for (const char* text : {"1000", "25%", "0.4%", "7.25%"}) CHECK(to_string(parse_amount(text)) == text);
  for (const char* text : {"", "%", "1.5", "ten", "1 %", "nan%", "inf%", "1e9999%", "5%%", "99999999999999999999"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(parse_amount(text), doctest::Contains("write a count (1000) or a share of the elements (1%)"), InputError);
  }
}

TEST_CASE("settings that can be used have no problems and say what they are in a line") {
  for (const std::string_view name : compression_names()) CHECK(lines({.name = std::string(name)}) == "");
  CHECK(label({}) == "gs_sgd(rows=5, columns=10%, k=1%)");
  CHECK(label({.name = "gtopk", .k = Amount::exactly(7), .momentum = 0.9}) == "gtopk(k=7, momentum=0.9)");
  CHECK(label({.name = "sketched_sgd", .memory = ErrorMemory::sketch}) == "sketched_sgd(rows=5, columns=10%, k=1%, memory=sketch)");
  CHECK(label({.name = "dense"}) == "dense");
}

TEST_CASE("settings that cannot be used are refused, all at once") {
  CHECK(
      lines({.name = "gtop_k"}) ==
      "/name: unknown compression \"gtop_k\", must be one of gs_sgd, gtopk, sketched_sgd, topk_allgather, dense (did you mean \"gtopk\"?)");
  CHECK(lines({.rows = 0, .columns = Amount::exactly(0), .k = Amount::exactly(0), .momentum = 1}) ==
        "/k: must be at least 1, got 0\n"
        "/rows: must be 1 to 31, got 0\n"
        "/columns: must be 1 to 2147483647, got 0\n"
        "/momentum: must be at least 0 and less than 1, got 1");
  CHECK(lines({.k = Amount::exactly(1001)}) == "");  // all of them
  CHECK(lines({.k = Amount::exactly(-1)}) == "/k: must be at least 1, got -1");
  CHECK(lines({.k = Amount::of_all(1.5)}) == "/k: must be more than 0% and at most 100%, got 150%");
  CHECK(lines({.k = Amount::of_all(-0.01)}) == "/k: must be more than 0% and at most 100%, got -1%");
  CHECK(lines({.k = Amount::of_all(0)}) == "/k: must be at least 1, got 0");
  CHECK(lines({.rows = 32}) == "/rows: must be 1 to 31, got 32");
  CHECK(lines({.momentum = std::numeric_limits<double>::quiet_NaN()}) == "/momentum: must be at least 0 and less than 1, got nan");
  CHECK(lines({.name = "gtopk", .memory = ErrorMemory::sketch}) == "/memory: gtopk has no sketch to keep errors in, must be \"dense\"");
  CHECK(lines({.name = "sketched_sgd", .k = Amount::of_all(0.11), .memory = ErrorMemory::sketch}) ==
        "/k: must be at most the columns, 100, where errors are kept in the sketch, because the values sent are its estimates; got 11%, "
        "which are 110");
  CHECK(lines({}, 0) == "/elements: must be 1 to 4294967296, got 0");
  CHECK(lines({.name = "dense", .k = Amount::exactly(0)}) == "");
  CHECK_THROWS_WITH_AS(require_sound({.k = Amount::exactly(0)}, 10), "compression: /k: must be at least 1, got 0", InputError);
}

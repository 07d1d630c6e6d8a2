#include "validation/plot/log_plot.hpp"

#include <cstddef>

#include <doctest/doctest.h>

using namespace weft;

namespace {

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("plot: every point is there twice, as time and as error, held out ones hollow") {
  const std::string svg = to_svg("a < b & c", {{"ring", {{8, 10, 11, true}, {1024, 20, 19, false}, {1 << 20, 300, 310, true}}}});
  CHECK(count(svg, "<circle") == 2 * 3 + 1);       // one in the legend
  CHECK(count(svg, "fill=\"white\"/>") == 2 + 1);  // one behind everything
  CHECK(count(svg, "<polyline") == 1);
  CHECK(svg.find("a &lt; b &amp; c") != svg.npos);
  CHECK(svg.find("nan") == svg.npos);
}

TEST_CASE("plot: one point, and a message of no bytes, have axes too") {
  const std::string svg = to_svg("one", {{"latency", {{0, 1.8, 1.8, true}}}});
  CHECK(svg.find("nan") == svg.npos);
  CHECK(svg.find("inf") == svg.npos);
}

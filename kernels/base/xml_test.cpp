#include "kernels/base/xml.hpp"

#include <doctest/doctest.h>

namespace weft {

TEST_CASE("elements are read with their attributes, children and lines") {
  const XmlElement root =
      read_xml("<?xml version=\"1.0\"?>\n<!-- what this is -->\n<a x=\"1\" y='two &amp; more'>text\n  <b/>\n  <b z=\"\"/>\n</a>\n");
  CHECK(root.name == "a");
  CHECK(root.line == 3);
  CHECK(*root.attribute("y") == "two & more");
  CHECK(root.attribute("z") == nullptr);
  REQUIRE(root.children.size() == 2);
  CHECK(root.children[1].line == 5);
  CHECK(root.children[1].attribute("z")->empty());
}

TEST_CASE("what is no XML is refused with its line") {
  CHECK_THROWS_WITH_AS(read_xml("<a>\n<b>\n</a>"), "line 3: is not XML: mismatched tag", InputError);
  CHECK_THROWS_WITH_AS(read_xml(""), "line 1: is not XML: no element found", InputError);
  CHECK_THROWS_WITH_AS(read_xml("<a x='1' x='2'/>"), "line 1: is not XML: duplicate attribute", InputError);
  std::string deep;
  for (int i = 0; i <= max_xml_depth; ++i) deep += "<a>\n";
  CHECK_THROWS_WITH_AS(read_xml(deep), "line 65: elements are nested more than 64 deep", InputError);
}

TEST_CASE("numbers are whole and nothing else") {
  CHECK(whole_number("-12") == -12);
  for (const char* wrong : {"", " 1", "1 ", "+1", "1.0", "0x1", "1e3", "99999999999999999999"}) {
    CAPTURE(wrong);
    CHECK_FALSE(whole_number(wrong));
  }
  LineProblems problems;
  const XmlElement element = read_xml("<a n=\"7\" m=\"seven\"/>");
  XmlReader in(element, problems);
  CHECK(in.number("n", 0, 10) == 7);
  CHECK(in.number_or("k", 3, 0, 10) == 3);
  CHECK(problems.none());
  in.number("n", 0, 5);
  in.number("m", 0, 10);
  in.number("k", 0, 10);
  CHECK_THROWS_WITH_AS(problems.refuse(),
                       "line 1: n of <a> must be a whole number, 0 to 5, got \"7\"\n"
                       "line 1: m of <a> must be a whole number, 0 to 10, got \"seven\"\n"
                       "line 1: <a> has no attribute \"k\"",
                       InputError);
}

}  // namespace weft

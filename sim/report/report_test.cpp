#include "sim/report/report.hpp"

#include "sim/cases/testing.hpp"
#include "sim/report/page.hpp"
#include "sim/results/writers.hpp"

#include <doctest/doctest.h>

using namespace weft;

namespace {

std::string results_of(const char* name) {
  const auto cases = cases_of(with("/name", name));
  std::vector<Result> results;
  for (const RowRequest& request : rows_of(cases))
    results.push_back({.request = request, .row = Row{.scenario = request.scenario->name, .algorithm = label(*request.algorithm)}});
  return to_json(results, cases);
}

// What the page is made from.
Json data_in(const std::string& page) {
  const std::string begin = R"(<script type="application/json" id="data">)";
  const auto from = page.find(begin) + begin.size();
  return Json::parse(page.substr(from, page.find("</script>", from) - from));
}

bool built_with_charts() {
  if (!page_libraries().empty()) return true;
  MESSAGE("skipped: built without D3 (packages node-d3-axis, node-d3-scale, node-d3-shape, node-d3-zoom)");
  return false;
}

}  // namespace

TEST_CASE("a report holds its results, the meaning of their fields and what the networks leave out, and asks for no other file") {
  if (!built_with_charts()) return;
  const std::string page = report_page(results_of("first"), "");
  CHECK(page.starts_with("<!DOCTYPE html>"));
  const Json data = data_in(page);
  CHECK(data["results"]["rows"].size() == 4);
  CHECK(data["details"].is_null());
  CHECK(data["fields"].size() > 30);
  for (const Json& network : data["networks"]) CHECK(network["leaves_out"].size() >= 2);
  CHECK(page.find("@CSS@") == page.npos);
  CHECK(page.find(" src=") == page.npos);
  CHECK(page.find("<link") == page.npos);
}

TEST_CASE("nothing that a scenario is called ends the element that it is in") {
  if (!built_with_charts()) return;
  const std::string page = report_page(results_of("</script><script>alert(1)</script>--><!--"), "");
  CHECK(page.find("alert(1)</script>") == page.npos);
  CHECK(data_in(page)["results"]["scenarios"][0] == "</script><script>alert(1)</script>--><!--");
  CHECK(page.find("-->") < page.find('\n'));
  CHECK(page.find("-->") == page.rfind("-->", page.find('\n')));
}

TEST_CASE("a report is known again by the scenarios it is on") {
  if (!built_with_charts()) return;
  const std::string page = report_page(results_of("first"), "");
  CHECK(is_report_of(page, {"first"}));
  CHECK(!is_report_of(page, {"second"}));
  CHECK(!is_report_of("<!DOCTYPE html>", {"first"}));
}

#include "sim/report/report.hpp"

#include "kernels/base/error.hpp"
#include "sim/report/page.hpp"
#include "sim/results/result_fields.hpp"
#include "sim/scenario/networks.hpp"

namespace weft {
namespace {

Json described_fields() {
  Json out = Json::array();
  for (const ResultField<Row>& field : fields_of<Row>())
    out.push_back({{"name", field.name}, {"unit", field.unit}, {"meaning", field.meaning}});
  return out;
}

Json described_networks() {
  Json out = Json::array();
  for (const NetworkTraits& network : networks()) {
    Json left_out = Json::array();
    for (const char* sentence : network.leaves_out) left_out.push_back(sentence);
    out.push_back({{"name", network.name}, {"description", network.description}, {"timeline", network.timeline}, {"leaves_out", left_out}});
  }
  return out;
}

// JSON inside HTML: nothing in it may end the element it is in.
std::string inside_html(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      out += "\\u003c";
    else if (c == '>')
      out += "\\u003e";
    else
      out += c;
  }
  return out;
}

// By which a page is known again: the end of the first line.
std::string mark_of(const std::vector<std::string>& scenarios) {
  return fmt::format("<!DOCTYPE html><!-- weft report on {} -->", inside_html(Json(scenarios).dump()));
}

}  // namespace

void require_report() {
  if (page_libraries().empty())
    throw RunError(
        "this weft was built without the library of its charts: install node-d3-axis, node-d3-scale, node-d3-shape and node-d3-zoom, and "
        "build again");
}

std::string report_page(std::string_view results, std::string_view details) {
  require_report();
  const std::string data = fmt::format(R"({{"results":{},"details":{},"fields":{},"networks":{}}})", results,
                                       details.empty() ? "null" : details, described_fields().dump(), described_networks().dump());
  std::string out = mark_of(Json::parse(results).at("scenarios").get<std::vector<std::string>>()) + "\n";
  std::string_view rest = page_html();
  const auto fill = [&](std::string_view place, std::string_view with) {
    const auto at = rest.find(place);
    check(at != rest.npos, "report.html has no {}", place);
    out.append(rest.substr(0, at)).append(with);
    rest.remove_prefix(at + place.size());
  };
  fill("<!DOCTYPE html>\n", "");
  fill("@CSS@\n", page_css());
  fill("@DATA@", inside_html(data));
  fill("@LIBRARIES@\n", page_libraries());
  fill("@SCRIPT@\n", page_script());
  return out.append(rest);
}

bool is_report_of(std::string_view text, const std::vector<std::string>& scenarios) { return text.starts_with(mark_of(scenarios)); }

}  // namespace weft

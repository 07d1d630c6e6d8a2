// Every field of a result, from the structs through the pipe between processes into results.json. What the simulator sets of
// them: sim/cli/results_test.cpp.
#include "sim/results/result_fields.hpp"

#include "sim/cases/testing.hpp"
#include "sim/results/writers.hpp"

#include <functional>

using namespace weft;

namespace {

// One of everything that a row may have.
Row full_row() {
  const CriticalPath path{.limits = {{}}};
  Row row{.critical_path = path,
          .copies = {{}},
          .jobs = {{.time_p05 = SimTime{}, .time_p95 = SimTime{}, .critical_path = path}},
          .traffic = {{}}};
  row.in_network = InNetworkSummary{.jobs = {{}}, .switches = {{}}};
  row.packet = PacketSummary{};
  row.packet->queues.push_back({});
  row.training.emplace();
  row.compressed.emplace();
  row.faults.emplace();
  row.times.emplace_back();
  return row;
}

void for_each_leaf(Json& value, const std::function<void(Json&)>& visit) {
  if (!value.is_array()) return visit(value);
  for (Json& item : value) for_each_leaf(item, visit);
}

Json another(const Json& value) {
  if (value.is_string()) return value.get<std::string>() + "\"ü,";
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number_float()) return value.get<double>() + 0.1;
  REQUIRE(value.is_number_integer());
  return value.get<int>() + 1;
}

}  // namespace

TEST_CASE("results: each member of a row reaches the runner and results.json") {
  const Row before = full_row();
  const Json shown_before = show(before);
  Json sent = Json::parse(to_text(before));
  int leaves = 0;
  for_each_leaf(sent, [&](Json& leaf) {
    ++leaves;
    const Json old = std::exchange(leaf, another(leaf));
    CAPTURE(leaf);
    const Row after = row_from_text(sent.dump());
    CHECK(!(after == before));
    CHECK(to_text(after) == sent.dump());
    CHECK(show(after) != shown_before);
    leaf = old;
  });
  CHECK(leaves > 80);
}

TEST_CASE("results: numbers arrive exactly as they were sent") {
  Row row{.size = Bytes{(1LL << 60) + 1}, .time = SimTime{1'234'567'890'123'456'789}, .busiest_link_utilization = 0.1 + 0.2};
  row.traffic = {{.count = 3, .bytes = 5_MB, .busy = SimTime::never()}};
  CHECK(row_from_text(to_text(row)) == row);
  row.wall_s = HUGE_VAL;
  CHECK_THROWS_WITH_AS(to_text(row), doctest::Contains("a result is inf"), std::logic_error);
  CHECK_THROWS_AS(row_from_text("{}"), std::logic_error);
  CHECK_THROWS_AS(row_from_text("["), std::logic_error);
}

TEST_CASE("results: every field of the schema has a description in one sentence, and a unit where its name says one") {
  const Json schema = results_schema();
  std::function<void(const Json&)> look = [&](const Json& of) {
    const Json properties = of.value("properties", Json::object());
    for (const auto& item : properties.items()) {
      CAPTURE(item.key());
      const std::string text = item.value().at("description");
      CHECK((text.size() > 10 && text.ends_with(".")));
      for (const auto& [end, unit] : {std::pair{"_us", "us"}, {"_bytes", "B"}, {"_GBps", "GB/s"}})
        if (item.key().ends_with(end)) CHECK(item.value().value("unit", "") == unit);
      look(item.value());
      if (item.value().contains("items")) look(item.value().at("items"));
    }
  };
  look(schema.at("properties").at("rows").at("items"));
}

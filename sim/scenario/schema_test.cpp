#include "sim/cases/testing.hpp"
#include "sim/scenario/profiles.hpp"

#include <regex>

using namespace weft;

TEST_CASE("the shipped schema is the one the declarations give (weft schema > scenarios/scenario.schema.json)") {
  CHECK(read_file(project_scenarios() / "scenario.schema.json") == scenario_schema().dump(2) + "\n");
}

TEST_CASE("every key has a description, and every optional one its default") {
  const Json schema = scenario_schema();
  for (const auto& item : schema.at("properties").items()) CHECK_MESSAGE(item.value().contains("description"), item.key());
  CHECK(schema.at("properties").at("network").at("default") == "flow");
  CHECK(schema.at("required") == Json::array({"schema", "fabric", "workload"}));
  CHECK(schema.at("additionalProperties") == false);
}

TEST_CASE("a quantity that the schema takes is one that is read") {
  const std::regex time(Form<SimTime>::schema().at("pattern").get<std::string>());
  for (const char* text : {"5us", "0.5 us", "10.25ms", ".5us", "5.us", "1.5.2us", "us", "5", "5 kus", ".us"}) {
    CAPTURE(text);
    bool reads = true;
    try {
      parse_time(text);
    } catch (const InputError&) {
      reads = false;
    }
    CHECK(std::regex_match(text, time) == reads);
  }
}

TEST_CASE("every shipped scenario is good, and has cases") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(project_scenarios())) {
    if (entry.path().extension() != ".json" || entry.path().stem().extension() == ".schema") continue;
    CAPTURE(entry.path().string());
    CHECK(!load_cases(entry.path()).empty());
    ++files;
  }
  CHECK(files >= 2);
}

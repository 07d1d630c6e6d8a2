#include "sim/cases/testing.hpp"

using namespace weft;

namespace {

std::string sizes_of(const char* size) {
  std::vector<std::string> out;
  const auto cases = cases_of(with("/workload/size", Json::parse(size)));
  for (const Bytes bytes : cases.at(0).scenario.workload.sizes) out.push_back(to_string(bytes));
  return fmt::format("{}", fmt::join(out, " "));
}

Lines refused(const char* size) { return lines_for(with("/workload/size", Json::parse(size))); }

}  // namespace

TEST_CASE("sizes go from one to another by a factor, the last one included where the factor meets it") {
  CHECK(sizes_of(R"({"from": "8B", "to": "64B", "factor": 2})") == "8B 16B 32B 64B");
  CHECK(sizes_of(R"({"from": "1KiB", "to": "100KiB", "factor": 4})") == "1KiB 4KiB 16KiB 64KiB");
  CHECK(sizes_of(R"({"from": "4B", "to": "16B"})") == "4B 8B 16B");
  CHECK(sizes_of(R"({"from": "1MiB", "to": "1MiB", "factor": 10})") == "1MiB");
  CHECK(cases_of(with("/workload/size", Json::parse(R"({"from": "4B", "to": "1048576GiB"})"))).at(0).scenario.workload.sizes.size() ==
        49);  // 2^2 to 2^62
}

TEST_CASE("a range of sizes is shown as the list it stands for") {
  const Json json = with("/workload/size", Json::parse(R"({"from": "4B", "to": "16B"})"));
  CHECK(to_json(cases_of(json).at(0).scenario)["workload"]["size"] == Json::parse(R"(["4B", "8B", "16B"])"));
}

TEST_CASE("a range of sizes that is none is refused") {
  CHECK(refused(R"({"from": "2KiB", "to": "1KiB"})") == Lines{"f.json: /workload/size/to: must be at least \"from\" = 2KiB, got \"1KiB\""});
  CHECK(refused(R"({"from": "0B", "to": "1KiB"})") == Lines{"f.json: /workload/size/from: must be at least \"1B\", got \"0B\""});
  CHECK(refused(R"({"from": "4B", "to": "1KiB", "factor": 1})") ==
        Lines{"f.json: /workload/size/factor: must be between 2 and 1000000, got 1"});
  CHECK(refused(R"({"from": "4B"})") == Lines{"f.json: /workload/size/to: missing: write a size such as \"256KiB\""});
  CHECK(refused(R"({"from": "2B", "to": "4B"})") ==
        Lines{"f.json: /workload/size: must be a multiple of 4 bytes, the size of a float32, got \"2B\""});
}

TEST_CASE("a setting reaches into a range of sizes") {
  const Json json = with("/workload/size", Json::parse(R"({"from": "4B", "to": "16B"})"));
  CHECK(cases_of(json, {{"/workload/size/to", "8B"}}).at(0).scenario.workload.sizes.size() == 2);
}

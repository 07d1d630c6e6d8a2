#include "validation/calibrate.hpp"

#include "sim/scenario/profiles.hpp"
#include "validation/testing.hpp"

#include <sstream>

#include <doctest/doctest.h>

using namespace weft;
using Lines = std::vector<std::string>;

namespace {

// An all-reduce of two ranks that takes 12 us and 100 ps a byte: 5 us a step besides the cables, 80 % of 100 Gb/s.
std::string measured() {
  std::string out = "system,ranks,collective,algorithm,size_bytes,time_us\n";
  for (std::int64_t size = 8; size <= 1 << 24; size *= 4)
    out += fmt::format("S,2,allreduce,ring,{},{:.4f}\n", size, 12 + 1e-4 * static_cast<double>(size));
  return out;
}

}  // namespace

TEST_CASE("calibrate: from a file of measurements to a profile that a scenario can name") {
  const ScratchFolder folder;
  std::ostringstream out, err;
  const CalibrateArguments arguments{.data = {folder.file("data.csv", measured()).string()},
                                     .scenario = folder.file("pair.json", pair_scenario).string(),
                                     .fit = {"send_overhead", "wire_efficiency", "rendezvous"},
                                     .output = (folder / "made.json").string(),
                                     .folds = 3};
  CHECK(calibrate_command(arguments, out, err) == 0);
  CHECK(out.str().find("rendezvous") != std::string::npos);
  CHECK(out.str().find("does not determine it") != std::string::npos);

  const HardwareProfile profile = read_profile(folder / "made.json");
  CHECK(profile.send_overhead.microseconds() == doctest::Approx(5).epsilon(0.02));
  CHECK(profile.wire_efficiency == doctest::Approx(0.8).epsilon(0.01));
  CHECK(profile.sources.at("send_overhead") == "fitted, see calibration");
  CHECK(profile.sources.at("rendezvous") == "the data does not determine it; from profile ideal");
  CHECK(profile.sources.at("reduce_rate") == "not fitted; from profile ideal");

  const Json written = Json::parse(read_file(folder / "made.json"));
  const Json& calibration = written.at("calibration");
  CHECK(calibration.at("valid_for").at("size") == Json({"8B", "8MiB"}));
  CHECK(calibration.at("residuals").size() == 11);
  CHECK(calibration.at("held_out_error").at("points") == 5);
  CHECK(calibration.at("command").get<std::string>().find("--fit send_overhead,wire_efficiency,rendezvous") != std::string::npos);
  CHECK(read_file(folder / "made.svg").starts_with("<svg"));
}

TEST_CASE("calibrate: what is wrong is told") {
  const ScratchFolder folder;
  const auto scenario = folder.file("pair.json", pair_scenario).string();
  const auto data = folder.file("data.csv", measured()).string();
  std::ostringstream out, err;
  const auto problems = [&](CalibrateArguments arguments) { return problems_of([&] { calibrate_command(arguments, out, err); }); };
  CHECK(problems({.data = {data}, .scenario = scenario, .only = {"tree"}}) ==
        Lines{"none of the measurements can be simulated by this scenario"});
  CHECK(problems({.data = {data}, .scenario = scenario, .rename = {"x"}}) == Lines{"--rename x: must be MEASURED=OURS"});
  const std::string nowhere = (folder / "nowhere.csv").string();
  CHECK(problems({.data = {nowhere, folder.file("empty.csv", "\n").string()}, .scenario = scenario}).size() == 2);
  CHECK(problems({.data = {data}, .scenario = nowhere}).size() == 1);
}

#include "validation/lab/steps.hpp"

#include "sim/cases/cases.hpp"
#include "validation/testing.hpp"

#include <doctest/doctest.h>

namespace weft::lab {
namespace {

const std::string training = std::string(WEFT_LAB_DIR) + "/training.json";

Scenario scenario_with(const std::vector<std::string>& settings) {
  std::vector<Setting> all;
  for (const std::string& text : settings) all.push_back(parse_setting(text));
  return load_cases(training, all).front().scenario;
}

std::vector<std::string> problems_with(const std::vector<std::string>& settings) {
  std::vector<std::string> out;
  for (const Problem& p : problems_of_steps(scenario_with(settings))) out.push_back(p.where + ": " + p.what);
  return out;
}

}  // namespace

TEST_CASE("steps in a lab: links are fitted to the first algorithm's all-reduces of the smallest gradient and of all") {
  const Scenario trains = scenario_with({R"(/workload/algorithm=[{"name": "ring", "channels": 2}, "halving_doubling"])"});
  const auto settings = allreduces_instead_of_steps(trains, {{"/fabric/link/bandwidth", "50Mbps"}});
  CHECK(settings.size() == 2);
  const Scenario plain = load_cases(training, settings).front().scenario;
  CHECK_FALSE(plain.workload.training.given());
  CHECK(plain.workload.algorithms == std::vector<AlgorithmChoice>{trains.workload.algorithms.front()});
  // 896 parameters of conv1; 1,078,218 of all layers.
  CHECK(plain.workload.sizes.size() == 2);
  CHECK(std::ranges::min(plain.workload.sizes) == Bytes{4 * 896});
  CHECK(std::ranges::max(plain.workload.sizes) == Bytes{4 * 1'078'218});
}

TEST_CASE("steps in a lab: what ships can be run, and what is simulated only is refused, all at once") {
  CHECK(problems_with({}).empty());
  CHECK(
      problems_with({"/workload/engine=[\"ddp\", \"byteps\"]", "/workload/nan_check=true", "/workload/forward_by_layer=true",
                     "/workload/gradient_dtype=float16", "/workload/stragglers={\"spread\": 0.1}"}) ==
      std::vector<std::string>{"/workload/gradient_dtype: gradients are float32 in a real run",
                               "/workload/nan_check: is simulated only: leave it out of a real run",
                               "/workload/forward_by_layer: is simulated only: leave it out of a real run",
                               "/workload/stragglers: every step draws anew, and the lab compares one step: leave it out, or measure with "
                               "weft bench --workload"});
  CHECK(problems_with({"/workload/compression=gs_sgd"}).empty());
  CHECK(problems_with({R"(/workload/compression={"name": "gs_sgd", "memory": "sketch"})"}) ==
        std::vector<std::string>{"/workload/compression: a real run of training steps keeps errors by gradient: \"memory\" must be "
                                 "\"dense\", got \"sketch\""});
  CHECK(problems_with({R"(/workload/algorithm={"name": "parameter_server", "servers": 2})"}) ==
        std::vector<std::string>{
            "/workload/algorithm: the algorithm \"parameter_server\" has servers, which a real run of training steps has not"});
}

TEST_CASE("steps in a lab: a scenario of all-reduces has none, and one that sweeps is refused with the way out") {
  CHECK(steps_to_run(training, {}).has_value());
  CHECK_FALSE(steps_to_run(std::string(WEFT_LAB_DIR) + "/star.json", {}).has_value());
  CHECK_THROWS_WITH_AS(steps_to_run(training, {parse_setting(R"(/sweep={"/fabric/nodes": [3, 4]})")}),
                       (training + ": /sweep: the lab runs one case, got 2; write --set '/sweep={}'").c_str(), InputError);
}

TEST_CASE("steps in a lab: engines are rows of a comparison, and what is exposed stands beside") {
  const std::vector<ComparedStep> steps = {{"none, ring", 4_MB, 1000, 600, 990, 590}, {"ddp, ring", 4_MB, 800, 400, 810, 410}};
  const std::vector<Compared> rows = times_of(steps);
  CHECK(order_of(rows).pairs == 1);
  CHECK(order_of(rows).wrong.empty());
  CHECK(errors_of(rows).points == 2);
  CHECK(exposed_table(steps) ==
        "# exposed     measured (us) predicted (us)\n"
        "# none, ring          600.0          590.0\n"
        "# ddp, ring           400.0          410.0\n");
}

}  // namespace weft::lab

#include "models/training/read.hpp"

#include "kernels/testing/problems_of.hpp"

#include <doctest/doctest.h>

namespace weft {
namespace {

constexpr std::string_view good = R"({ "schema": 1, "name": "mine", "batch": 32, "layers": [
  { "name": "conv", "parameters": 9408, "forward": "236MFLOP", "backward": "472 MFLOP", "kind": "convolution" },
  { "name": "relu", "parameters": 0, "forward": "10us", "backward": "20us" },
  { "name": "fc", "parameters": { "weight": 512000, "bias": 1000 }, "forward": "1.5GFLOP", "backward": "540us" } ] })";

std::vector<std::string> problems_in(std::string_view text) {
  return problems_of([&] { read_model(text, "m.json"); });
}

}  // namespace

TEST_CASE("a model is read from a table of layers") {
  const Model m = read_model(good, "m.json");
  CHECK(m.name == "mine");
  CHECK(m.parameters() == 9408 + 513'000);
  CHECK(m.tensors() == 3);
  CHECK(m.layers[0].kind == LayerKind::convolution);
  CHECK(m.layers[0].backward_flops == doctest::Approx(472e6));
  CHECK(m.layers[1].measured_forward == 10_us);
  CHECK(m.layers[2].forward_flops == doctest::Approx(1.5e9));
  CHECK(m.layers[2].measured_backward == 540_us);
}

TEST_CASE("measured times replace the estimates of a known network") {
  const Model m = read_model(R"({"schema": 1, "base": "resnet50", "batch": 64, "layers": [
      {"name": "fc", "forward": "1ms", "backward": "2ms"}]})",
                             "m.json");
  CHECK(m.parameters() == 25'557'032);
  CHECK(m.layers.back().measured_backward == 2_ms);
  DeviceProfile device{.name = "d", .rates = {{"float32", {.peak_flops = 1e13}}}, .memory_bandwidth = 900_GBps};
  CHECK(compute_times(m, device, {.batch = 32}).layers.back().backward == 1_ms);
}

TEST_CASE("everything that is wrong with a model is said at once, with its place") {
  CHECK(problems_in(R"({"schema": 2, "name": "x", "layrs": [], "layers": [
      {"name": "a", "parameters": -4, "forward": 12, "backward": "1ms"},
      {"name": "a", "parameters": 1.5, "forward": "-1GFLOP", "backward": "1parsec", "kind": "magic"}, 7]})") ==
        std::vector<std::string>{
            "m.json: /layrs: unknown key (did you mean \"layers\"?); allowed: schema, name, sample, source, base, sequence, batch, layers",
            "m.json: /schema: must be 1, got 2",
            "m.json: /layers/0/forward: must be a string with a unit: FLOPs of one sample (\"1.2GFLOP\") or the time of a batch "
            "(\"350us\"), got 12",
            "m.json: /layers/1/parameters: must be a whole number, got 1.5",
            "m.json: /layers/1/kind: must be convolution, convolution_3x3, matrix_product or memory_bound, got \"magic\"",
            problems_in(R"({"schema": 1, "name": "x", "layers": [
      {"name": "a", "parameters": 1, "forward": "1us", "backward": "1us"},
      {"name": "b", "parameters": 1, "forward": "1us", "backward": "1parsec"}]})")[0],
            "m.json: /layers/2: must be an object, got 7", "m.json: /layers: must have a parameter: there is nothing to reduce",
            "m.json: /layers/0/parameters: must be between 1 and 1099511627776, got -4",
            "m.json: /layers/1/name: must differ from those of the other layers, got \"a\" twice",
            "m.json: /layers/1/forward: must not be negative, got -1000000000",
            "m.json: /batch: must be the number of samples that the times of layers are of, such as 32, got none"});
}

TEST_CASE("texts that are no tables are refused") {
  CHECK(problems_in("[")[0] == "m.json: line 1, column 2: the text ends in the middle of the JSON (truncated?)");
  CHECK(problems_in("{\"schema\": 1,\n \"batch\": 1e400}")[0] == "m.json: line 2, column 15: not JSON: number overflow parsing '1e400'");
  CHECK_THROWS_WITH_AS(read_device("{\"schema\": -1e400}", "d.json"),
                       "d.json: line 1, column 17: not JSON: number overflow parsing '-1e400'", InputError);
  CHECK(problems_in("[]")[0] == "m.json: : must be an object, got []");
  CHECK(problems_in(R"({"schema": 1, "name": "x", "layers": []})")[0] == "m.json: /layers: must have at least one layer");
  CHECK(problems_in(
            R"({"schema": 1, "name": "mine", "base": "resnet50", "layers": [{"name": "fd", "forward": "1us", "backward": "1us"}]})")[0] ==
        "m.json: /layers/0/name: \"fd\" is no layer of the base resnet50");
  CHECK(problems_in(R"({"schema": 1, "base": "rasnet50", "layers": []})")[0].starts_with("m.json: /base: model: there is no \"rasnet50\""));
}

TEST_CASE("a device profile without a source for each number is refused") {
  CHECK_THROWS_WITH_AS(read_device(R"({"schema": 1, "rates": {"float32": {"peak": {"value": "15.7", "source": "s"},
      "convolution": {"value": 1.5}, "convolution_3x3": {"value": 1, "source": "s"}, "matrix_product": {"value": 0.5, "source": "s"}}, "int8": 3},
      "memory_bandwidth": {"value": "900GBps", "source": "s"}, "memory_efficiency": {"value": 0.5, "source": "s"}})",
                                   "d"),
                       "d: /rates/float32/peak/value: must be a rate such as \"15.7TFLOPS\", got \"15.7\"\n"
                       "d: /rates/float32/convolution/source: is missing\n"
                       "d: /rates/int8: unknown element type; allowed: float32, tf32, float16, bfloat16\n"
                       "d: /rates/int8: must be an object, got 3\n"
                       "d: /launch: is missing",
                       InputError);
}

}  // namespace weft

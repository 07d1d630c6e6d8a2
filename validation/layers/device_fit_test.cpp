#include "validation/layers/device_fit.hpp"

#include "validation/testing.hpp"

#include <doctest/doctest.h>

using namespace weft;
using namespace weft::literals;

namespace {

// Two layers: a matrix product of 1 GFLOP a sample each way, and a normalisation of 1 M elements.
Model two_layers() {
  Model m{.name = "two", .sample = "", .source = "", .layers = {}};
  m.layers.push_back({.name = "fc", .kind = LayerKind::matrix_product, .tensors = {{"weight", 1000}, {"bias", 10}}});
  m.layers[0].forward_flops = m.layers[0].backward_flops = 1e9;
  m.layers.push_back({.name = "norm", .kind = LayerKind::memory_bound, .tensors = {{"weight", 20}}});
  m.layers[1].backward_elements = 1e6;
  return m;
}

// 10 TFLOPS and 800 GB/s, without launches.
DeviceProfile device(double matrix_product, double memory_efficiency) {
  return {.name = "d",
          .rates = {{"float32", {.peak_flops = 1e13, .matrix_product = matrix_product}}},
          .memory_bandwidth = 800_GBps,
          .memory_efficiency = memory_efficiency};
}

const std::string tensors =
    "model,order_in_backward,wait_since_previous_us,param_bytes\nother,0,7,8\ntwo,0,100,80\ntwo,1,1000,40\ntwo,2,0,4000\n";

}  // namespace

TEST_CASE("layers: gradients are ready when the backward pass of their layer is over") {
  const Model m = two_layers();
  const MeasuredBackward pass{m, {.batch = 10}, parse_ready_gradients(tensors, "t.csv", "two", m)};
  REQUIRE(pass.gradients.size() == 3);
  CHECK(pass.gradients[0].layer == 1);
  CHECK(pass.gradients[2].layer == 0);
  CHECK(pass.gradients[1].ready_us == 1100);
  CHECK(pass.gradients[2].where == "t.csv:5");
  // 10 samples: 4e7 bytes / 400 GB/s = 100 us; 1e10 / 5e12 = 2 ms, and 8 bytes for each of 1010 parameters, 20.2 ns
  CHECK(ready_us(pass, device(0.5, 0.5)) == std::vector<double>{100, 2100.0202, 2100.0202});
  // Of a layer's tensors any may come first; lines that begin with # are comments.
  std::string turned = tensors;
  turned.replace(turned.find("two,1,1000,40\ntwo,2,0,4000"), 26, "two,1,1000,4000\n# 2\ntwo,2,0,40");
  const auto same = parse_ready_gradients(turned, "t.csv", "two", m);
  CHECK(same[1].bytes == 4000);
  CHECK(same[2].layer == 0);
  const std::vector<FitPoint> points = points_of(pass);
  CHECK(points[1].measured.collective == "gradient");
  CHECK(points[1].measured.algorithm == "two");
  CHECK(points[1].measured.size_bytes == 40);
}

TEST_CASE("layers: PipeDream's modules are in the order of forward, TrioSim's operators in that of backward") {
  const Model m = two_layers();
  const auto modules = parse_ready_gradients(
      "model,node,layer,forward_ms,backward_ms,activation_bytes,parameter_bytes\n"
      "two,1,Input,9,0.000,1,0.000\ntwo,2,\"Linear(1, 2)\",1,3.000,1,4040.000\ntwo,3,BatchNorm2d,1,0.5,1,80\ntwo,4,ReLU,1,0.25,1,0\n",
      "p.csv", "two", m);
  REQUIRE(modules.size() == 2);
  CHECK(modules[0].ready_us == 750);
  CHECK(modules[1].ready_us == 3750);
  const auto operators = parse_ready_gradients(
      "OperatorID,OperatorName,Operator_cudatime,stage\n1,aten::linear,5,forward\n2,NllLossBackward0,4,backward\n"
      "3,CudnnBatchNormBackward0,6,backward\n4,ReluBackward0,1,backward\n5,AddmmBackward0,20,backward\n",
      "t.csv", "two", m);
  REQUIRE(operators.size() == 2);
  CHECK(operators[0].ready_us == 10);
  CHECK(operators[0].bytes == 80);
  CHECK(operators[1].ready_us == 31);
  CHECK(operators[1].layer == 0);
}

TEST_CASE("layers: a device is fitted to backward passes, and what they say nothing of stays") {
  const Model m = two_layers();
  MeasuredBackward pass{m, {.batch = 10}, parse_ready_gradients(tensors, "t.csv", "two", m)};
  const std::vector<double> wanted = ready_us(pass, device(0.8, 0.4));
  for (std::size_t i = 0; i < wanted.size(); ++i) pass.gradients[i].ready_us = wanted[i];
  const DeviceProfile fitted = fit_device({pass}, device(0.5, 0.5), {"convolution", "matrix_product", "memory_efficiency"});
  CHECK(fitted.rates.at("float32").matrix_product == doctest::Approx(0.8).epsilon(0.02));
  CHECK(fitted.memory_efficiency == doctest::Approx(0.4).epsilon(0.02));
  CHECK(fitted.rates.at("float32").convolution == 1);
  CHECK(problems_of([&] { fit_device({pass}, device(0.5, 0.5), {"xyz"}); }) ==
        Lines{"fit: unknown parameter of a device \"xyz\"; allowed: \"convolution\", \"convolution_3x3\", \"matrix_product\", "
              "\"memory_efficiency\", \"launch\""});
  pass.fitted = false;
  CHECK(problems_of([&] { fit_device({pass}, device(0.5, 0.5), {"launch"}); }) == Lines{"there is no measurement to fit to"});
}

TEST_CASE("layers: files that are not of the model's backward pass are refused") {
  const Model m = two_layers();
  const auto parse = [&](const std::string& text) { return problems_of([&] { parse_ready_gradients(text, "t.csv", "two", m); }); };
  CHECK(parse("size,time\n1,2\n") ==
        Lines{"t.csv:1: must name the columns of gradients as they become ready (model, "
              "wait_since_previous_us, param_bytes), of PipeDream's profile or of TrioSim's trace, got size,time"});
  const std::string columns = "model,order_in_backward,wait_since_previous_us,param_bytes\n";
  CHECK(parse(columns + "other,0,1,80\n") == Lines{"t.csv: has no backward pass of \"two\""});
  CHECK(parse(columns + "two,0,1,80\n") == Lines{"t.csv: has 1 tensors with gradients, two has 3"});
  CHECK(parse(columns + "two,0,1,80\ntwo,1,1,44\ntwo,2,1,4000\n") ==
        Lines{"t.csv:3: the next gradient of two, of fc, has 40 bytes, got 44"});
  CHECK(parse(columns + "two,0,x,80\ntwo,1\ntwo,2,-1,4000\n") ==
        Lines{"t.csv:2: \"wait_since_previous_us\" must be a number, 0 or more, got \"x\"",
              "t.csv:3: must have 4 fields: model,order_in_backward,wait_since_previous_us,param_bytes",
              "t.csv:4: \"wait_since_previous_us\" must be a number, 0 or more, got \"-1\""});
}

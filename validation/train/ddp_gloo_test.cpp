// What train/ddp_gloo.py measured of PyTorch's own reducer, against the engine `ddp`.
#include "collectives/engines/ddp.hpp"
#include "kernels/files/files.hpp"
#include "models/training/read.hpp"
#include "sim/training/training_step.hpp"

#include <filesystem>
#include <sstream>

#include <doctest/doctest.h>

namespace weft {
namespace {

struct MeasuredBuckets {
  int ranks = 0, cap_mib = 0, buckets = 0;
  std::vector<std::int64_t> bytes = {};
};

std::vector<MeasuredBuckets> measured(const std::filesystem::path& folder) {
  std::istringstream lines(read_file(folder / "steps.csv"));
  std::vector<MeasuredBuckets> out;
  std::string line;
  std::getline(lines, line);
  REQUIRE(line.starts_with("ranks,bucket_cap_mb,buckets,bucket_bytes,"));
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    MeasuredBuckets& row = out.emplace_back();
    char comma = 0;
    cells >> row.ranks >> comma >> row.cap_mib >> comma >> row.buckets >> comma;
    for (std::int64_t bytes = 0; cells >> bytes;) row.bytes.push_back(bytes);
  }
  return out;
}

std::vector<Bytes> gradients_of(const Model& model) {
  const StepTimes none{.layers = std::vector<LayerTimes>(model.layers.size()), .optimizer = {}};
  return training_step(model, none, Bytes{4}).gradients;
}

std::vector<std::int64_t> predicted_buckets(const std::filesystem::path& layers, int cap_mib) {
  const std::vector<Bytes> gradients = gradients_of(read_model(read_file(layers), layers.string()));
  std::vector<std::int64_t> out;
  for (const std::vector<int>& bucket : ddp_buckets({.bucket = 1_MiB * cap_mib}, gradients)) {
    out.push_back(0);
    for (const int g : bucket) out.back() += gradients[static_cast<std::size_t>(g)].count;
  }
  return out;
}

}  // namespace

TEST_CASE("ddp: the buckets are those of PyTorch's reducer, in number and to the byte") {
  for (const char* name : {"ddp_gloo", "ddp_gloo_200mbit"}) {
    CAPTURE(name);
    const std::filesystem::path folder = std::filesystem::path(WEFT_VALIDATION_DATA) / name;
    const std::vector<MeasuredBuckets> rows = measured(folder);
    CHECK(rows.size() == 6);
    for (const MeasuredBuckets& row : rows) {
      CAPTURE(row.ranks);
      CAPTURE(row.cap_mib);
      const std::vector<std::int64_t> predicted = predicted_buckets(folder / fmt::format("layers_{}.json", row.ranks), row.cap_mib);
      CHECK(static_cast<int>(predicted.size()) == row.buckets);
      CHECK(predicted == row.bytes);
    }
  }
}

}  // namespace weft

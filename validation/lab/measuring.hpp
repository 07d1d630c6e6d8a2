// The algorithms and training steps of a scenario, run for real in a lab.
#pragma once

#include "kernels/files/output_files.hpp"
#include "sim/scenario/scenario.hpp"
#include "validation/lab/lab.hpp"
#include "validation/lab/plan.hpp"
#include "validation/lab/ranks.hpp"
#include "validation/measurements/measurement.hpp"
#include "validation/workload/steps_table.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace weft::lab {

// What the scenario says, weft bench must not be told otherwise. Throws InputError.
void refuse_what_the_scenario_says(const std::vector<std::string>& bench_arguments);

// Settings of datagrams would make a table wide: they are said once above it where they need not tell algorithms apart.
std::string short_label(const Workload& workload, const AlgorithmChoice& algorithm);

class Measuring {
 public:
  // Of what `scenario` has in a lab of its fabric. Throws InputError where `-o` would replace what is not a lab's.
  Measuring(const LabArguments& arguments, const Scenario& scenario, const Fabric& fabric, const Plan& plan);

  // `expected_us` decides how often it is run.
  Measurement measure(const AlgorithmChoice& algorithm, Bytes size, double expected_us) const;

  // The steps of all rows of a scenario that trains, in the order of rows_of(). `expected_us`: of a step, on average.
  std::vector<MeasuredStep> measure_steps(std::size_t rows, double expected_us) const;

 private:
  std::string name_of_run(const AlgorithmChoice& algorithm, Bytes size) const;
  std::filesystem::path file_of(const std::string& run, const char* kind) const;
  std::vector<OutputFile> outputs() const;
  BenchRun over_udp(const AlgorithmChoice& algorithm, Bytes size, double expected_us) const;
  BenchRun over_tcp(const AlgorithmChoice& algorithm, Bytes size, double expected_us, const std::string& name) const;
  void add_what_all_have(Bytes size, double expected_us, std::vector<std::string>& out) const;
  void add_how_often(double expected_us, std::vector<std::string>& out) const;
  void add_stream_rate(std::vector<std::string>& out) const;

  const LabArguments& arguments_;
  const Scenario& scenario_;
  const Fabric& fabric_;
  const Plan& plan_;
};

}  // namespace weft::lab

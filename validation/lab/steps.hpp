// Training steps in a lab: what links and messages cost is fitted to two plain all-reduces, the steps of every engine are predicted with
// that, and run for real then (weft bench --workload).
#pragma once

#include "sim/cases/cases.hpp"
#include "validation/lab/compare.hpp"
#include "validation/lab/lab.hpp"
#include "validation/lab/plan.hpp"

#include <optional>
#include <string>
#include <vector>

namespace weft::lab {

// The scenario, if it trains. Throws InputError where that is several cases.
std::optional<Scenario> steps_to_run(const std::string& file, const std::vector<Setting>& settings);

// Settings that make a scenario that trains one of plain all-reduces: of its first algorithm, of the smallest of its gradients and of all
// of them at once.
std::vector<Setting> allreduces_instead_of_steps(const Scenario& scenario, const std::vector<Setting>& settings);

// What its steps want and a lab cannot.
std::vector<Problem> problems_of_steps(const Scenario& scenario);

struct ComparedStep {
  std::string label;  // "ddp, ring"
  Bytes gradients;
  double measured_us = 0, measured_exposed_us = 0;
  double predicted_us = 0, predicted_exposed_us = 0;
};

// Predicted on the fabric, servers and hardware of `fitted`, then run.
std::vector<ComparedStep> compare_steps(const LabArguments& arguments, const Scenario& scenario, const Scenario& fitted, const Plan& plan);

std::vector<Compared> times_of(const std::vector<ComparedStep>& steps);
// What of each step is not computing.
std::string exposed_table(const std::vector<ComparedStep>& steps);

}  // namespace weft::lab

// The key "faults": links, cables and switches that fail or slow down (models/faults.hpp).
#pragma once

#include "sim/json/fields.hpp"
#include "sim/scenario/scenario.hpp"

namespace weft {

template <>
struct Declared<Failure> {
  static Declaration<Failure> declaration();
};
template <>
struct Declared<Faults> {
  static Declaration<Faults> declaration();
};

// Left out where nothing fails.
Field<Scenario> faults_field();

// What the scenario's network cannot do, and names that its fabric does not know; only for a fabric without problems.
std::vector<Problem> fault_problems(const Scenario&);

// "spine0 fails from 50us, rerouted after 1ms"; empty where nothing fails.
std::string describe(const Faults&);

}  // namespace weft

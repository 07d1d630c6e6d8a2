// What a workload says of training: the model, the device and the gradient engines.
#pragma once

#include "sim/json/fields.hpp"
#include "sim/scenario/scenario.hpp"

namespace weft {

template <>
struct Names<AgreementAlgorithm> {
  static constexpr const char* kind = "agreement";
  static const std::vector<std::pair<AgreementAlgorithm, std::string>>& values();
};
template <>
struct Names<Optimizer> {
  static constexpr const char* kind = "optimizer";
  static const std::vector<std::pair<Optimizer, std::string>>& values();
};
template <>
struct Declared<EngineChoice> {
  static Declaration<EngineChoice> declaration();
};

template <>
struct Names<TrainingDetail> {
  static constexpr const char* kind = "detail";
  static const std::vector<std::pair<TrainingDetail, std::string>>& values();
};
template <>
struct Declared<Stragglers> {
  static Declaration<Stragglers> declaration();
};
template <>
struct Declared<Checkpoints> {
  static Declaration<Checkpoints> declaration();
};
template <>
struct Declared<TrainingEvent> {
  static Declaration<TrainingEvent> declaration();
};

// What a workload may say of training besides model, device and engine.
Fields<TrainingChoice> training_option_fields();

// The keys of a workload that trains.
Fields<Workload> training_fields();

}  // namespace weft

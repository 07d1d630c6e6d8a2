// Every key of a scenario, declared once.
#pragma once

#include "sim/json/fields.hpp"
#include "sim/scenario/hardware_fields.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/scenario/server_fields.hpp"

namespace weft {

// Instead of a list.
struct AllOfThem {
  static inline const std::vector<int> value = {};
  static constexpr const char* word = "all";
};

template <>
struct Names<Collective> {
  static constexpr const char* kind = "collective";
  static const std::vector<std::pair<Collective, std::string>>& values();
};
template <>
struct Names<DType> {
  static constexpr const char* kind = "dtype";
  static const std::vector<std::pair<DType, std::string>>& values();
};
template <>
struct Names<ReduceOp> {
  static constexpr const char* kind = "op";
  static const std::vector<std::pair<ReduceOp, std::string>>& values();
};
template <>
struct Names<NetworkKind> {
  static constexpr const char* kind = "network";
  static const std::vector<std::pair<NetworkKind, std::string>>& values();
};
template <>
struct Names<ServerHosts> {
  static constexpr const char* kind = "place for servers";
  static const std::vector<std::pair<ServerHosts, std::string>>& values();
};
template <>
struct Names<NcclAlgorithm> {
  static constexpr const char* kind = "algorithm of nccl";
  static const std::vector<std::pair<NcclAlgorithm, std::string>>& values();
};
template <>
struct Names<NcclProtocol> {
  static constexpr const char* kind = "protocol";
  static const std::vector<std::pair<NcclProtocol, std::string>>& values();
};
template <>
struct Names<EcmpPolicy> {
  static constexpr const char* kind = "policy";
  static const std::vector<std::pair<EcmpPolicy, std::string>>& values();
};

template <>
struct Declared<LinkSpec> {
  static Declaration<LinkSpec> declaration();
};
template <>
struct Declared<GraphLink> {
  static Declaration<GraphLink> declaration();
};
template <>
struct Declared<ProgrammableSwitches> {
  static Declaration<ProgrammableSwitches> declaration();
};
template <>
struct Declared<Ecmp> {
  static Declaration<Ecmp> declaration();
};
template <>
struct Declared<FabricChoice> {
  static Declaration<FabricChoice> declaration();
};
template <>
struct Declared<HostCost> {
  static Declaration<HostCost> declaration();
};
template <>
struct Declared<AlgorithmChoice> {
  static Declaration<AlgorithmChoice> declaration();
};
template <>
struct Declared<OperationSpec> {
  static Declaration<OperationSpec> declaration();
};
template <>
struct Declared<Workload> {
  static Declaration<Workload> declaration();
};
template <>
struct Declared<Placement> {
  static Declaration<Placement> declaration();
};
template <>
struct Declared<JobChoice> {
  static Declaration<JobChoice> declaration();
};
template <>
struct Declared<TrafficSpec> {
  static Declaration<TrafficSpec> declaration();
};
template <>
struct Declared<StartSkew> {
  static Declaration<StartSkew> declaration();
};
template <>
struct Declared<Scenario> {
  static Declaration<Scenario> declaration();
};

}  // namespace weft

#include "models/fabric/fabric_spec.hpp"

namespace weft {

std::string_view type_name(const FabricSpec& spec) {
  return std::visit([](const auto& s) { return s.type; }, spec);
}

std::vector<Problem> problems(const FabricSpec& spec) {
  return std::visit([](const auto& s) { return problems(s); }, spec);
}

std::unique_ptr<Fabric> build(const FabricSpec& spec) {
  return std::visit([](const auto& s) { return build(s); }, spec);
}

std::int64_t endpoints(const FabricSpec& spec) {
  return std::visit([](const auto& s) { return s.endpoints(); }, spec);
}

}  // namespace weft

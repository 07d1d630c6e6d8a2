#include "collectives/interchange/mscclpp_reader.hpp"

#include "kernels/base/xml.hpp"

namespace weft {
namespace {

const nlohmann::json nothing;

}  // namespace

PlanValue PlanValue::operator[](const char* key) const { return {has(key) ? (*json_)[key] : nothing, where_ + "/" + key, *problems_}; }

std::vector<PlanValue> PlanValue::elements() const {
  std::vector<PlanValue> out;
  if (!json_->is_array()) {
    if (!json_->is_null()) problems_->add(where_, "must be an array, got {}", shown());
    return out;
  }
  for (std::size_t i = 0; i < json_->size(); ++i) out.emplace_back((*json_)[i], fmt::format("{}/{}", where_, i), *problems_);
  return out;
}

std::int64_t PlanValue::number(std::int64_t least, std::int64_t most) const {
  const bool whole = json_->is_number_integer() && (!json_->is_number_unsigned() || json_->get<std::uint64_t>() <= INT64_MAX);
  const std::int64_t value = whole ? json_->get<std::int64_t>() : 0;
  if (whole && value >= least && value <= most) return value;
  problems_->add(where_, "must be a whole number, {} to {}, got {}", least, most, shown());
  return least;
}

std::int64_t PlanValue::number_or(std::int64_t otherwise, std::int64_t least, std::int64_t most) const {
  return json_->is_null() ? otherwise : number(least, most);
}

std::string PlanValue::text() const {
  if (json_->is_string()) return json_->get<std::string>();
  problems_->add(where_, "must be a string, got {}", shown());
  return {};
}

std::string PlanValue::text_or(std::string otherwise) const { return json_->is_null() ? otherwise : text(); }

bool PlanValue::flag_or(bool otherwise) const {
  if (json_->is_boolean()) return json_->get<bool>();
  if (!json_->is_null()) problems_->add(where_, "must be true or false, got {}", shown());
  return otherwise;
}

std::string PlanValue::shown() const {
  if (json_->is_null()) return "nothing";
  if (json_->is_object()) return "an object";
  if (json_->is_array()) return "an array";
  return json_->is_string() ? shown_value(json_->get<std::string>()) : json_->dump();
}

}  // namespace weft

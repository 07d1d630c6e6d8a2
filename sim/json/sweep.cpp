#include "sim/json/sweep.hpp"

#include "sim/json/value_range.hpp"

#include <set>

namespace weft {
namespace {

bool too_many(std::size_t cases, const JsonPath& where, Input& in) {
  return cases > max_cases && !in.problem(where, fmt::format("stands for more than {} cases", max_cases));
}

std::vector<std::vector<Setting>> product(const Json& sweep, const JsonPath& where, Input& in) {
  std::vector<std::vector<Setting>> cases(1);
  for (const SweepAxis& axis : axes_of(sweep, where, in)) {
    if (too_many(axis.values.size(), where, in) || too_many(cases.size() * axis.values.size(), where, in)) return {};
    std::vector<std::vector<Setting>> longer;
    for (const auto& settings : cases)
      for (const Json& value : axis.values) {
        longer.push_back(settings);
        longer.back().push_back({axis.pointer, value});
      }
    cases = std::move(longer);
  }
  return cases;
}

std::vector<std::vector<Setting>> list(const Json& sweep, const JsonPath& where, Input& in) {
  std::vector<std::vector<Setting>> cases;
  if (sweep.empty()) in.problem(where, "an empty list asks for nothing: give at least one case");
  if (too_many(sweep.size(), where, in)) return {};
  for (std::size_t i = 0; i < sweep.size(); ++i) {
    cases.emplace_back();
    if (!sweep[i].is_object()) {
      in.unwanted(where.at(i), "an object of pointers and values", sweep[i]);
      continue;
    }
    for (const auto& [pointer, value] : sweep[i].items()) cases.back().push_back({pointer, value});
  }
  return cases;
}

}  // namespace

std::vector<SweepAxis> axes_of(const Json& sweep, const JsonPath& where, Input& in) {
  std::vector<SweepAxis> axes;
  for (const auto& [pointer, values] : sweep.items()) {
    const JsonPath here = where.in(pointer);
    if (is_range(values)) {
      if (auto all = values_of_range(values, here, in); !all.empty()) axes.push_back({pointer, std::move(all)});
    } else if (values.is_array() && !values.empty()) {
      axes.push_back({pointer, values.get<std::vector<Json>>()});
    } else {
      in.unwanted(here, "a list of at least one value, or a range such as {\"from\": 2, \"to\": 24, \"step\": 2}", values);
    }
  }
  return axes;
}

std::vector<std::vector<Setting>> settings_of(const Json& sweep, const JsonPath& where, Input& in) {
  if (sweep.is_null()) return {{}};
  if (sweep.is_object()) return product(sweep, where, in);
  if (sweep.is_array()) return list(sweep, where, in);
  in.unwanted(where, "an object of pointers to lists, or a list of settings", sweep);
  return {};
}

Json sweep_schema() {
  const Json pointer = {{"pattern", "^/"}};
  const Json values = {{"oneOf", Json::array({{{"type", "array"}, {"minItems", 1}}, range_schema()})}};
  const Json axes = {{"type", "object"}, {"propertyNames", pointer}, {"additionalProperties", values}};
  const Json settings = {{"type", "array"}, {"minItems", 1}, {"items", {{"type", "object"}, {"propertyNames", pointer}}}};
  return {{"oneOf", Json::array({axes, settings})}};
}

bool covers(const std::string& outer, const std::string& inner) {
  return inner.starts_with(outer) && (inner.size() == outer.size() || inner[outer.size()] == '/');
}

bool keeps_settings(const std::vector<Setting>& axes, const JsonPath& where, Input& in) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (covers("/sweep", axes[i].pointer)) return in.problem(where, "sets \"/sweep\": a sweep in a sweep is not run; write one sweep");
    for (std::size_t before = 0; before < i; ++before)
      if (covers(axes[i].pointer, axes[before].pointer))
        return in.problem(where, fmt::format("{} undoes {}, which stands before it; sweep one of them, or write it first",
                                             shown(Json(axes[i].pointer)), shown(Json(axes[before].pointer))));
  }
  return true;
}

void refuse_swept(const std::vector<Setting>& settings, const std::vector<std::vector<Setting>>& cases, Input& in) {
  std::set<std::string> swept;
  for (const auto& axes : cases)
    for (const Setting& axis : axes) swept.insert(axis.pointer);
  for (const Setting& setting : settings)
    for (const std::string& pointer : swept) {
      if (!covers(pointer, setting.pointer)) continue;
      in.problem({nullptr, setting.pointer},
                 fmt::format("is set, and swept by \"{}\", which would undo it; --set /sweep={{}} drops the sweep", pointer));
      break;
    }
}

}  // namespace weft

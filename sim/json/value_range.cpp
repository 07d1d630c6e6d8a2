#include "sim/json/value_range.hpp"

#include "sim/json/sweep.hpp"

#include <cmath>

namespace weft {
namespace {

using Kind = Magnitude::Kind;

constexpr const char* keys[] = {"from", "to", "factor", "step"};

template <class Parse>
std::optional<double> parsed(Parse parse, const std::string& text) {
  try {
    return static_cast<double>(parse(text));
  } catch (const InputError&) {
    return std::nullopt;
  }
}

Json of_kind(Kind kind, double value, bool whole) {
  const auto count = static_cast<std::int64_t>(std::llround(value));
  switch (kind) {
    case Kind::bytes:
      return to_string(Bytes{count});
    case Kind::time:
      return to_string(SimTime{count});
    case Kind::rate:
      return to_string(BitsPerSecond{count});
    default:
      return whole ? Json(count) : Json(value);
  }
}

// The value at a key, of the same kind as `like` unless that is none.
std::optional<Magnitude> read_end(const Json& json, const char* key, Kind like, const JsonPath& where, Input& in) {
  const std::string wanted = "a number, or a quantity such as \"1MiB\", \"2us\" or \"10Gbps\"";
  if (!json.contains(key)) {
    in.problem(where.in(key), "missing: write " + wanted);
    return std::nullopt;
  }
  const Magnitude found = magnitude_of(json.at(key));
  if (found.kind == Kind::none) {
    in.unwanted(where.in(key), wanted, json.at(key));
    return std::nullopt;
  }
  if (like == Kind::none || like == found.kind) return found;
  in.unwanted(where.in(key), fmt::format("of the kind of \"from\" = {}", shown(json.at("from"))), json.at(key));
  return std::nullopt;
}

struct Progression {
  double step = 0;    // added to each value, where above 0
  double factor = 2;  // of each value, otherwise

  double at(double from, int i) const { return step > 0 ? from + step * i : from * std::pow(factor, i); }
};

std::optional<Progression> read_progression(const Json& json, const Magnitude& from, const JsonPath& where, Input& in) {
  if (json.contains("step") && json.contains("factor")) {
    in.problem(where, "has both \"step\" and \"factor\": give one of them");
    return std::nullopt;
  }
  if (json.contains("step")) {
    const auto step = read_end(json, "step", from.kind, where, in);
    if (step && step->value <= 0) in.unwanted(where.in("step"), "above zero", json.at("step"));
    return step && step->value > 0 ? std::optional(Progression{.step = step->value}) : std::nullopt;
  }
  Progression by;
  if (const auto factor = json.find("factor"); factor != json.end()) {
    if (!factor->is_number() || factor->get<double>() <= 1) {
      in.unwanted(where.in("factor"), "a number above 1", *factor);
      return std::nullopt;
    }
    by.factor = factor->get<double>();
  }
  if (from.value > 0) return by;
  in.unwanted(where.in("from"), "above zero where each value is a factor times the one before; or give a \"step\"", json.at("from"));
  return std::nullopt;
}

}  // namespace

Magnitude magnitude_of(const Json& json) {
  if (json.is_number()) return {Kind::number, json.get<double>()};
  if (!json.is_string()) return {};
  const std::string& text = json.get_ref<const std::string&>();
  if (const auto n = parsed([](const std::string& t) { return parse_bytes(t).count; }, text)) return {Kind::bytes, *n};
  if (const auto n = parsed([](const std::string& t) { return parse_time(t).ps; }, text)) return {Kind::time, *n};
  if (const auto n = parsed([](const std::string& t) { return parse_bandwidth(t).count; }, text)) return {Kind::rate, *n};
  return {};
}

bool is_range(const Json& json) { return json.is_object(); }

std::vector<Json> values_of_range(const Json& json, const JsonPath& where, Input& in) {
  const std::size_t before = in.problems.size();
  const std::vector<std::string> allowed(std::begin(keys), std::end(keys));
  for (const auto& item : json.items())
    if (std::ranges::find(allowed, item.key()) == allowed.end()) in.problem(where.in(item.key()), unknown_name("key", item.key(), allowed));
  const auto from = read_end(json, "from", Kind::none, where, in);
  const auto to = read_end(json, "to", from ? from->kind : Kind::none, where, in);
  if (!from || !to) return {};
  if (to->value < from->value)
    in.problem(where.in("to"), fmt::format("must be at least \"from\" = {}, got {}", shown(json.at("from")), shown(json.at("to"))));
  const auto by = read_progression(json, *from, where, in);
  if (!by || in.problems.size() > before) return {};
  const bool whole = json.at("from").is_number_integer() && (!json.contains("step") || json.at("step").is_number_integer());
  std::vector<Json> out;
  constexpr double rounding = 1e-9;
  for (int i = 0; by->at(from->value, i) <= to->value + rounding * std::abs(to->value); ++i) {
    Json value = of_kind(from->kind, by->at(from->value, i), whole);
    if (out.empty() || out.back() != value) out.push_back(std::move(value));
    if (i > static_cast<int>(max_cases)) return in.problem(where, fmt::format("stands for more than {} values", max_cases)), out;
  }
  return out;
}

Json range_schema() {
  return {
      {"type", "object"},
      {"description",
       "Numbers, or quantities of one kind, from \"from\" up to \"to\": each \"step\" more than the one before, or "
       "\"factor\" times it (2 when neither is given)."},
      {"properties",
       {{"from", {{"description", "The smallest value of the range."}, {"type", {"number", "string"}}}},
        {"to", {{"description", "The largest value; it is one of the range where the steps meet it."}, {"type", {"number", "string"}}}},
        {"factor", {{"description", "The factor between one value and the next, above 1."}, {"type", "number"}, {"exclusiveMinimum", 1}}},
        {"step", {{"description", "The difference from one value to the next, above zero."}, {"type", {"number", "string"}}}}}},
      {"required", {"from", "to"}},
      {"additionalProperties", false}};
}

}  // namespace weft

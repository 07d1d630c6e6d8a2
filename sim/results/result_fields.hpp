// How a field of a result is declared: once (row_fields.cpp), with its name, unit and meaning. results.csv, results.json, its
// schema and what goes from a worker process to the runner are made from these declarations.
#pragma once

#include "kernels/base/error.hpp"
#include "kernels/base/units.hpp"
#include "sim/json/json_text.hpp"
#include "sim/results/row.hpp"

#include <cmath>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace weft {

enum class Shown {
  for_all,      // a column of results.csv; of a job beside the workload too, whose line would else leave it empty
  of_workload,  // a column of results.csv
  json_only     // and there only where it is not empty
};

template <class T>
struct ResultField {
  const char* name;
  const char* unit;  // "" where it has none
  const char* meaning;
  Shown where;
  Json (*schema)();
  Json (*show)(const T&);  // for people and their programs; null where it does not apply
  // For the runner: exactly. Null where the field follows from others.
  Json (*send)(const T&) = nullptr;
  void (*receive)(const Json&, T&) = nullptr;
  const void* group = nullptr;  // the same for all fields of an optional part of T

  constexpr ResultField in(Shown other) const {
    ResultField out = *this;
    out.where = other;
    return out;
  }
};

template <class T>
std::span<const ResultField<T>> fields_of();

template <class T>
Json show(const T& value);
template <class T>
Json schema_of();

// Of values that are no structs with fields: how they are shown, described and sent.
template <class T>
struct Value {  // of struct with fields
  static Json schema() { return schema_of<T>(); }
  static Json show(const T& value) { return weft::show(value); }
  static Json send(const T& value) {
    Json out = Json::array();
    for (const ResultField<T>& field : fields_of<T>())
      if (field.send) out.push_back(field.send(value));
    return out;
  }
  static void receive(const Json& json, T& value) {
    std::size_t next = 0;
    for (const ResultField<T>& field : fields_of<T>())
      if (field.receive) field.receive(json.at(next++), value);
    check(json.size() == next, "{} of {} fields arrived", json.size(), next);
  }
};

template <class T>
struct PlainValue {
  static Json show(const T& value) { return value; }
  static Json send(const T& value) { return value; }
  static void receive(const Json& json, T& value) { value = json.get<T>(); }
};
template <std::integral T>
struct Value<T> : PlainValue<T> {
  static Json schema() { return {{"type", std::is_same_v<T, bool> ? "boolean" : "integer"}}; }
};
template <>
struct Value<std::string> : PlainValue<std::string> {
  static Json schema() { return {{"type", "string"}}; }
};
template <>
struct Value<double> : PlainValue<double> {
  static Json schema() { return {{"type", "number"}}; }
  static Json send(double value) {  // JSON has no others
    check(std::isfinite(value), "a result is {}", value);
    return value;
  }
};
template <class E>
requires std::is_enum_v<E>
struct Value<E> {
  static Json schema() { return {{"type", "string"}}; }
  static Json show(E value) { return name_of(value); }
  static Json send(E value) { return static_cast<int>(value); }
  static void receive(const Json& json, E& value) { value = static_cast<E>(json.get<int>()); }
};
template <>
struct Value<SimTime> {
  static Json schema() { return Value<double>::schema(); }
  static Json show(SimTime value) { return static_cast<double>(value.ps) / 1e6; }
  static Json send(SimTime value) { return value.ps; }
  static void receive(const Json& json, SimTime& value) { value.ps = json.get<std::int64_t>(); }
};
template <>
struct Value<Bytes> {
  static Json schema() { return Value<std::int64_t>::schema(); }
  static Json show(Bytes value) { return value.count; }
  static Json send(Bytes value) { return value.count; }
  static void receive(const Json& json, Bytes& value) { value.count = json.get<std::int64_t>(); }
};
template <>
struct Value<BitsPerSecond> {
  static Json schema() { return Value<double>::schema(); }
  static Json show(BitsPerSecond value) { return value.bytes_per_second() / 1e9; }
  static Json send(BitsPerSecond value) { return value.count; }
  static void receive(const Json& json, BitsPerSecond& value) { value.count = json.get<std::int64_t>(); }
};
template <class T>
struct Value<std::optional<T>> {
  static Json schema() {
    Json out = Value<T>::schema();
    out["type"] = Json::array({out.at("type"), "null"});
    return out;
  }
  static Json show(const std::optional<T>& value) { return value ? Value<T>::show(*value) : Json(); }
  static Json send(const std::optional<T>& value) { return value ? Value<T>::send(*value) : Json(); }
  static void receive(const Json& json, std::optional<T>& value) {
    if (json.is_null()) return value.reset();
    T received{};
    Value<T>::receive(json, received);
    value = std::move(received);
  }
};
template <class T>
struct Value<std::vector<T>> {
  static Json schema() { return {{"type", "array"}, {"items", Value<T>::schema()}}; }
  static Json show(const std::vector<T>& values) {
    Json out = Json::array();
    for (const T& value : values) out.push_back(Value<T>::show(value));
    return out;
  }
  static Json send(const std::vector<T>& values) {
    Json out = Json::array();
    for (const T& value : values) out.push_back(Value<T>::send(value));
    return out;
  }
  static void receive(const Json& json, std::vector<T>& values) {
    values.resize(json.size());
    for (std::size_t i = 0; i < values.size(); ++i) Value<T>::receive(json.at(i), values[i]);
  }
};

template <auto Member>
struct MemberOf;
template <class T, class V, V T::*Member>
struct MemberOf<Member> {
  using Struct = T;
  using Type = V;
};
template <auto Function>
struct ResultOf;
template <class T, class R, R (*Function)(const T&)>
struct ResultOf<Function> {
  using Struct = T;
  using Type = R;
};

// A member of a struct.
template <auto Member>
constexpr auto field(const char* name, const char* unit, const char* meaning) {
  using T = typename MemberOf<Member>::Struct;
  using V = Value<typename MemberOf<Member>::Type>;
  return ResultField<T>{.name = name,
                        .unit = unit,
                        .meaning = meaning,
                        .where = Shown::of_workload,
                        .schema = V::schema,
                        .show = [](const T& of) { return V::show(of.*Member); },
                        .send = [](const T& of) { return V::send(of.*Member); },
                        .receive = [](const Json& json, T& of) { V::receive(json, of.*Member); }};
}

template <auto>
inline constexpr char group_id = 0;

// A member of a struct which another has or has not.
template <auto Part, auto Member>
constexpr auto field_of_part(const char* name, const char* unit, const char* meaning) {
  using T = typename MemberOf<Part>::Struct;
  using V = Value<std::optional<typename MemberOf<Member>::Type>>;
  return ResultField<T>{.name = name,
                        .unit = unit,
                        .meaning = meaning,
                        .where = Shown::of_workload,
                        .schema = V::schema,
                        .show = [](const T& of) { return of.*Part ? V::show((*(of.*Part)).*Member) : Json(); },
                        .send = [](const T& of) { return of.*Part ? V::send((*(of.*Part)).*Member) : Json(); },
                        .receive =
                            [](const Json& json, T& of) {
                              if (json.is_null()) return;
                              if (!(of.*Part)) (of.*Part).emplace();
                              Value<typename MemberOf<Member>::Type>::receive(json, (*(of.*Part)).*Member);
                            },
                        .group = &group_id<Part>};
}

// What follows from others.
template <auto Function>
constexpr auto derived(const char* name, const char* unit, const char* meaning) {
  using T = typename ResultOf<Function>::Struct;
  using V = Value<typename ResultOf<Function>::Type>;
  return ResultField<T>{
      .name = name, .unit = unit, .meaning = meaning, .where = Shown::of_workload, .schema = V::schema, .show = [](const T& of) {
        return V::show(Function(of));
      }};
}

// A member that is shown as something else.
template <auto Member, auto Function>
constexpr auto field_shown_as(const char* name, const char* unit, const char* meaning) {
  auto out = field<Member>(name, unit, meaning);
  const auto shown = derived<Function>(name, unit, meaning);
  out.schema = shown.schema;
  out.show = shown.show;
  return out;
}

inline bool says_nothing(const Json& value) { return value.is_null() || (value.is_array() && value.empty()); }

template <class T>
Json show(const T& value) {
  Json out = Json::object();
  for (const ResultField<T>& field : fields_of<T>())
    if (Json shown = field.show(value); field.where != Shown::json_only || !says_nothing(shown)) out[field.name] = std::move(shown);
  return out;
}

template <class T>
Json schema_of() {
  Json properties = Json::object(), required = Json::array();
  for (const ResultField<T>& field : fields_of<T>()) {
    Json& property = properties[field.name] = field.schema();
    property["description"] = field.meaning;
    if (*field.unit) property["unit"] = field.unit;
    if (field.where != Shown::json_only) required.push_back(field.name);
  }
  return {{"type", "object"}, {"properties", properties}, {"required", required}, {"additionalProperties", false}};
}

template <>
std::span<const ResultField<JobResult>> fields_of();
template <>
std::span<const ResultField<Row>> fields_of();

}  // namespace weft

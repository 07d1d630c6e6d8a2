// How each type that may stand in a scenario is read from JSON, written to JSON and described by JSON Schema. Structs get
// all three from one declaration per field (fields.hpp).
#pragma once

#include "kernels/base/nearest_name.hpp"
#include "kernels/base/units.hpp"
#include "sim/json/json_path.hpp"
#include "sim/json/json_text.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace weft {

class ProfileLibrary;
struct TracedProgram;

// What is known while reading: the problems so far, and where hardware profiles and other files are looked up.
struct Input {
  std::vector<Problem> problems = {};
  const ProfileLibrary* profiles = nullptr;
  std::filesystem::path folder = {};                                                     // that file names are relative to
  std::set<std::filesystem::path> files = {};                                            // or folders of them, which values name
  std::map<std::vector<std::string>, std::shared_ptr<const TracedProgram>> traces = {};  // that have been read, by their files

  bool problem(const JsonPath& where, std::string what) {
    problems.push_back({where.pointer(), std::move(what)});
    return false;
  }
  bool unwanted(const JsonPath& where, const std::string& wanted, const Json& found) {
    return problem(where, fmt::format("must be {}, got {}", wanted, shown(found)));
  }
};

// "unknown key (did you mean "algorithm"?)" or the names that are allowed.
std::string unknown_name(std::string_view kind, std::string_view found, const std::vector<std::string>& allowed);
std::string quoted_list(const std::vector<std::string>& names);

// Form<T> has: bool read(const Json&, const JsonPath&, Input&, T&), Json write(const T&), Json schema(), std::string wanted().
template <class T>
struct Form;

template <>
struct Form<bool> {
  static std::string wanted() { return "true or false"; }
  static Json schema() { return {{"type", "boolean"}}; }
  static Json write(bool value) { return value; }
  static bool read(const Json& json, const JsonPath& where, Input& in, bool& out) {
    if (!json.is_boolean()) return in.unwanted(where, wanted(), json);
    out = json.get<bool>();
    return true;
  }
};

template <>
struct Form<std::string> {
  static std::string wanted() { return "a string"; }
  static Json schema() { return {{"type", "string"}}; }
  static Json write(const std::string& value) { return value; }
  // Names go to terminals and into tables.
  static bool read(const Json& json, const JsonPath& where, Input& in, std::string& out) {
    if (!json.is_string()) return in.unwanted(where, wanted(), json);
    out = json.get<std::string>();
    const auto is_control = [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; };
    if (std::none_of(out.begin(), out.end(), is_control)) return true;
    return in.problem(where, fmt::format("must not contain control characters, got {}", shown(json)));
  }
};

// A text for readers, which may have several lines.
struct FreeText : Form<std::string> {
  static bool read(const Json& json, const JsonPath& where, Input& in, std::string& out) {
    if (!json.is_string()) return in.unwanted(where, wanted(), json);
    out = json.get<std::string>();
    return true;
  }
};

template <>
struct Form<double> {
  static std::string wanted() { return "a number"; }
  static Json schema() { return {{"type", "number"}}; }
  static Json write(double value) { return value; }
  static bool read(const Json& json, const JsonPath& where, Input& in, double& out) {
    if (!json.is_number()) return in.unwanted(where, wanted(), json);
    out = json.get<double>();
    return true;
  }
};

// Whole numbers may be written as 1e3 too: JSON knows one kind of number.
template <std::integral T>
struct Form<T> {
  static std::string wanted() { return "a whole number"; }
  static Json schema() {
    Json out = {{"type", "integer"}};
    if (std::is_unsigned_v<T>) out["minimum"] = 0;
    return out;
  }
  static Json write(T value) { return value; }
  static bool read(const Json& json, const JsonPath& where, Input& in, T& out) {
    if (json.is_number_unsigned()) return fit(json.get<std::uint64_t>(), json, where, in, out);
    if (json.is_number_integer()) return fit(json.get<std::int64_t>(), json, where, in, out);
    if (!json.is_number_float()) return in.unwanted(where, wanted(), json);
    const double value = json.get<double>();
    constexpr double exact = 9007199254740992.0;  // 2^53
    if (std::trunc(value) != value || std::abs(value) > exact) return in.unwanted(where, wanted(), json);
    return fit(static_cast<std::int64_t>(value), json, where, in, out);
  }

 private:
  static bool fit(auto value, const Json& json, const JsonPath& where, Input& in, T& out) {
    constexpr T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    if (std::cmp_less(value, low)) return in.problem(where, fmt::format("must be at least {}, got {}", low, shown(json)));
    if (std::cmp_greater(value, high)) return in.problem(where, fmt::format("must be at most {}, got {}", high, shown(json)));
    out = static_cast<T>(value);
    return true;
  }
};

// Quantities: strings with a unit.
template <class T>
struct QuantityForm {
  static bool read_with(T (*parse)(std::string_view), const char* wanted, const char* example, const Json& json, const JsonPath& where,
                        Input& in, T& out) {
    if (json.is_number())
      return in.problem(where, fmt::format("a bare number has no unit: write {}, such as \"{}\"; got {}", wanted, example, shown(json)));
    if (!json.is_string()) return in.unwanted(where, fmt::format("{} such as \"{}\"", wanted, example), json);
    try {
      out = parse(json.get_ref<const std::string&>());
      return true;
    } catch (const InputError& error) {
      return in.problem(where, error.what());
    }
  }
  static Json write(T value) { return to_string(value); }
};
// A decimal number as units.cpp reads it, and one of the units.
inline Json quantity_schema(std::string_view units) {
  return {{"type", "string"}, {"pattern", fmt::format("^[0-9]+(\\.[0-9]+)? ?({})$", units)}};
}
template <>
struct Form<SimTime> : QuantityForm<SimTime> {
  static std::string wanted() { return "a time such as \"500ns\""; }
  static Json schema() { return quantity_schema("s|ms|us|ns|ps"); }
  static bool read(const Json& json, const JsonPath& where, Input& in, SimTime& out) {
    return read_with(parse_time, "a time with s, ms, us, ns or ps", "500ns", json, where, in, out);
  }
};
template <>
struct Form<Bytes> : QuantityForm<Bytes> {
  static std::string wanted() { return "a size such as \"256KiB\""; }
  static Json schema() { return quantity_schema("B|KiB|MiB|GiB|KB|MB|GB"); }
  static bool read(const Json& json, const JsonPath& where, Input& in, Bytes& out) {
    return read_with(parse_bytes, "a size with B, KiB, MiB, GiB, KB, MB or GB", "256KiB", json, where, in, out);
  }
};
template <>
struct Form<BitsPerSecond> : QuantityForm<BitsPerSecond> {
  static std::string wanted() { return "a rate such as \"100Gbps\""; }
  static Json schema() { return quantity_schema("bps|Kbps|Mbps|Gbps|MBps|GBps"); }
  static bool read(const Json& json, const JsonPath& where, Input& in, BitsPerSecond& out) {
    return read_with(parse_bandwidth, "a rate with bps, Kbps, Mbps, Gbps, MBps or GBps", "100Gbps", json, where, in, out);
  }
};

// What may stand beside a word that stands for zero or for nothing of a T.
template <class T>
std::string more_than_nothing() {
  return Form<T>::wanted() + (std::is_integral_v<T> ? ", at least 1," : " above zero");
}
template <class T>
requires requires { typename T::value_type; }
std::string more_than_nothing() { return "a list of at least one value"; }

// A type one value of which has a word of its own: Special{value, word}, such as "never" for a threshold. That value is
// written as the word only: an empty list or zero is seldom meant to stand for everything.
template <class T, class Special>
struct OrWord {
  static bool is_word(const Json& json) { return json.is_string() && json.get_ref<const std::string&>() == Special::word; }
  static std::string wanted() { return fmt::format("{} or \"{}\"", Form<T>::wanted(), Special::word); }
  static Json schema() { return {{"oneOf", Json::array({Form<T>::schema(), {{"const", Special::word}}})}}; }
  static Json write(const T& value) { return value == Special::value ? Json(Special::word) : Form<T>::write(value); }
  static bool read(const Json& json, const JsonPath& where, Input& in, T& out) {
    if (is_word(json)) return out = Special::value, true;
    if (!Form<T>::read(json, where, in, out)) return false;
    if (out == Special::value) return in.unwanted(where, fmt::format("{} or \"{}\"", more_than_nothing<T>(), Special::word), json);
    return true;
  }
};

// Enumerations: specialise Names with `kind` ("policy") and `values()`, the pairs of value and name.
template <class E>
struct Names;

template <class E>
concept Named = requires {
  Names<E>::values();
};

template <Named E>
struct Form<E> {
  static std::vector<std::string> names() {
    std::vector<std::string> out;
    for (const auto& [value, name] : Names<E>::values()) out.emplace_back(name);
    return out;
  }
  static std::string wanted() { return "one of " + quoted_list(names()); }
  static Json schema() { return {{"enum", names()}}; }
  static Json write(E wanted_value) {
    for (const auto& [value, name] : Names<E>::values())
      if (value == wanted_value) return std::string(name);
    check(false, "enumerator {} of {} has no name", static_cast<int>(wanted_value), Names<E>::kind);
    return nullptr;
  }
  static bool read(const Json& json, const JsonPath& where, Input& in, E& out) {
    if (!json.is_string()) return in.unwanted(where, wanted(), json);
    const std::string& found = json.get_ref<const std::string&>();
    for (const auto& [value, name] : Names<E>::values())
      if (name == found) return out = value, true;
    return in.problem(where, unknown_name(Names<E>::kind, found, names()));
  }
};

template <class T>
struct Form<std::optional<T>> {
  static std::string wanted() { return Form<T>::wanted(); }
  static Json schema() { return Form<T>::schema(); }
  static Json write(const std::optional<T>& value) { return value ? Form<T>::write(*value) : Json(Json::value_t::discarded); }
  static bool read(const Json& json, const JsonPath& where, Input& in, std::optional<T>& out) {
    return Form<T>::read(json, where, in, out.emplace());
  }
};

template <class T>
struct Form<std::vector<T>> {
  static std::string wanted() { return "a list"; }
  static Json schema() { return {{"type", "array"}, {"items", Form<T>::schema()}}; }
  static Json write(const std::vector<T>& values) {
    Json out = Json::array();
    for (const T& value : values) out.push_back(Form<T>::write(value));
    return out;
  }
  static bool read(const Json& json, const JsonPath& where, Input& in, std::vector<T>& out) {
    if (!json.is_array()) return in.unwanted(where, wanted(), json);
    bool good = true;
    out.clear();
    out.reserve(json.size());
    for (std::size_t i = 0; i < json.size(); ++i) good &= Form<T>::read(json[i], where.at(i), in, out.emplace_back());
    return good;
  }
};

// One value, or a list of at least one.
template <class T>
struct OneOrList {
  static std::string wanted() { return Form<T>::wanted() + ", or a list of such"; }
  static Json schema() {
    return {{"oneOf", Json::array({Form<T>::schema(), {{"type", "array"}, {"items", Form<T>::schema()}, {"minItems", 1}}})}};
  }
  static Json write(const std::vector<T>& values) { return Form<std::vector<T>>::write(values); }
  static bool read(const Json& json, const JsonPath& where, Input& in, std::vector<T>& out) {
    out.clear();
    if (!json.is_array()) return Form<T>::read(json, where, in, out.emplace_back());
    if (json.empty()) return in.problem(where, "an empty list asks for nothing: give at least one value");
    return Form<std::vector<T>>::read(json, where, in, out);
  }
};

}  // namespace weft

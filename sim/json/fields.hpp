// One declaration per field: name, member, sentence, default or required, allowed range. Reading, `weft schema` and
// `weft show` all come from it.
//
//   template <> struct Declared<LinkSpec> {
//     static Declaration<LinkSpec> declaration() {
//       return {.doc = "A cable.", .fields = {
//           required("bandwidth", &LinkSpec::bandwidth, "Bandwidth of each direction of the link.", at_least(1_Mbps)),
//           optional("latency", &LinkSpec::latency, "Time from one end to the other.")}};
//     }
//   };
#pragma once

#include "sim/json/object_form.hpp"

#include <cstddef>
#include <initializer_list>
#include <limits>

namespace weft {

template <class T>
struct Range {
  std::optional<T> low = {}, high = {};
};
template <class T>
Range<T> at_least(T low) {
  return {low, {}};
}
template <class T>
Range<T> between(T low, T high) {
  return {low, high};
}

// One key of the object that stands for an S.
template <class S>
struct Field : ObjectField {
  explicit Field(ObjectField field) : ObjectField(std::move(field)) {}
  template <class Read, class Write>
  Field(ObjectField field, Read read_it, Write write_it) : ObjectField(std::move(field)) {
    reads(std::move(read_it));
    writes(std::move(write_it));
  }

  // bool read_it(const Json&, const JsonPath&, Input&, S&).
  template <class Read>
  void reads(Read read_it) {
    read = [read_it = std::move(read_it)](const Json& json, const JsonPath& where, Input& in, void* out) {
      return read_it(json, where, in, *static_cast<S*>(out));
    };
  }
  // Json write_it(const S&).
  template <class Write>
  void writes(Write write_it) {
    write = [write_it = std::move(write_it)](const void* value) { return Json(write_it(*static_cast<const S*>(value))); };
  }
};

// Keys of the object that stands for an S: kept as those of any struct, so that lists of them are compiled once.
template <class S>
class Fields {
 public:
  Fields() = default;
  explicit Fields(std::vector<ObjectField> list) : list_(std::move(list)) {}
  Fields(std::initializer_list<Field<S>> list) {
    for (const Field<S>& field : list) list_.push_back(field);
  }

  void push_back(const Field<S>& field) { list_.push_back(field); }
  void append(const Fields& more) { list_.insert(list_.end(), more.list_.begin(), more.list_.end()); }
  const std::vector<ObjectField>& untyped() const { return list_; }

 private:
  std::vector<ObjectField> list_;
};

// One of several shapes an object may have, told apart by its tag: {"policy": "random", "seed": 3}.
template <class S>
struct Alternative {
  std::string name;  // of the tag
  std::string doc;
  Fields<S> fields;
  std::function<void(S&)> select;
  std::function<bool(const S&)> selected;
  std::function<bool(const Json&, const JsonPath&, Input&)> also = {};  // a rule about several keys, on the object as written
};

template <class S>
struct Declaration {
  std::string doc;
  Fields<S> fields = {};
  std::string tag = {};  // the key that chooses the alternative; empty: there are none
  std::vector<Alternative<S>> alternatives = {};
  bool shorthand = false;  // a string stands for an object with only the tag
};

template <class S>
struct Declared;

template <class S>
concept HasDeclaration = requires {
  Declared<S>::declaration();
};

template <class T, class F>
bool refuse_outside(const Range<T>& range, const Json& found, const JsonPath& where, Input& in) {
  const auto shown_end = [](const std::optional<T>& end) { return end ? shown(F::write(*end)) : std::string(); };
  return out_of_range(shown_end(range.low), shown_end(range.high), found, where, in);
}

template <class T, class F>
bool in_range(const T& value, const Range<T>& range, const Json& found, const JsonPath& where, Input& in) {
  const bool too_low = range.low && value < *range.low, too_high = range.high && value > *range.high;
  return (!too_low && !too_high) || refuse_outside<T, F>(range, found, where, in);
}

// Whether it is below or above all that a T can be, and the range has an end there: then that end is what is told, as of any other value
// outside of it, and not another limit or none.
template <class T, class F>
bool beyond_all(const Range<T>& range, const Json& json, const JsonPath& where) {
  if constexpr (std::is_integral_v<T>) {
    constexpr auto low = static_cast<double>(std::numeric_limits<T>::min()), high = static_cast<double>(std::numeric_limits<T>::max());
    return json.is_number() && ((range.low && json.get<double>() < low) || (range.high && json.get<double>() > high));
  } else if constexpr (!std::is_arithmetic_v<T>) {
    const std::optional<std::string> positive = range.low ? without_sign(json) : std::nullopt;
    Input unused;
    T value{};
    return positive && F::read(*positive, where, unused, value);
  } else {
    return false;
  }
}

template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;

// A member of type T, as F reads and writes it, within a range if T has an order. Of an object or list of which some could not be read it
// has the rest, and defaults for that: the rest is still to be judged.
template <class F, class T>
class RangedMember final : public MemberForm {
 public:
  explicit RangedMember(const Range<T>& range) : range_(range) {}

  bool read(const Json& json, const JsonPath& where, Input& in, void* member) const override {
    T value{};
    if constexpr (std::totally_ordered<T>)
      if (beyond_all<T, F>(range_, json, where)) return refuse_outside<T, F>(range_, json, where, in);
    if (!F::read(json, where, in, value)) {
      if constexpr (is_list<T> || HasDeclaration<T>) *static_cast<T*>(member) = std::move(value);
      return false;
    }
    bool has_range = true;  // a word stands outside of it
    if constexpr (requires { F::is_word(json); }) has_range = !F::is_word(json);
    if constexpr (std::totally_ordered<T>)
      if (has_range && !in_range<T, F>(value, range_, json, where, in)) return false;
    *static_cast<T*>(member) = std::move(value);
    return true;
  }
  Json write(const void* member) const override { return F::write(*static_cast<const T*>(member)); }
  Json schema() const override {
    Json out = F::schema();
    if constexpr (std::is_arithmetic_v<T>) {
      if (range_.low) out["minimum"] = *range_.low;
      if (range_.high) out["maximum"] = *range_.high;
    }
    return out;
  }
  std::string wanted() const override {
    std::string out = F::wanted();
    if constexpr (std::is_arithmetic_v<T>) {
      if (range_.low && range_.high)
        out += fmt::format(", {} to {}", *range_.low, *range_.high);
      else if (range_.low)
        out += fmt::format(", at least {}", *range_.low);
    }
    return out;
  }

 private:
  Range<T> range_;
};

template <class S>
const S& with_defaults() {
  static const S it{};
  return it;
}

template <class F, class S, class T>
Field<S> make_field(std::string_view name, T S::*member, std::string_view doc, bool is_required, const Range<T>& range) {
  const S& s = with_defaults<S>();
  const std::ptrdiff_t offset = reinterpret_cast<const std::byte*>(&(s.*member)) - reinterpret_cast<const std::byte*>(&s);
  return Field<S>(field_of_member(name, doc, is_required, offset, std::unique_ptr<const MemberForm>(new RangedMember<F, T>(range))));
}

template <class S, class T>
Field<S> required(std::string_view name, T S::*member, std::string_view doc, const std::type_identity_t<Range<T>>& range = {}) {
  return make_field<Form<T>>(name, member, doc, true, range);
}
template <class S, class T>
Field<S> optional(std::string_view name, T S::*member, std::string_view doc, const std::type_identity_t<Range<T>>& range = {}) {
  return make_field<Form<T>>(name, member, doc, false, range);
}
// With a form of its own instead of the type's.
template <class F, class S, class T>
Field<S> required_as(std::string_view name, T S::*member, std::string_view doc) {
  return make_field<F>(name, member, doc, true, Range<T>{});
}
template <class F, class S, class T>
Field<S> optional_as(std::string_view name, T S::*member, std::string_view doc, const std::type_identity_t<Range<T>>& range = {}) {
  return make_field<F>(name, member, doc, false, range);
}

// A list that is left out when there is nothing to say.
template <class S>
Field<S> not_empty(Field<S> field) {
  field.read = [read = field.read](const Json& json, const JsonPath& where, Input& in, void* out) {
    if (json.is_array() && json.empty()) return in.problem(where, "an empty list says nothing: give at least one value, or leave it out");
    return read(json, where, in, out);
  };
  field.write = [write = field.write](const void* s) {
    Json out = write(s);
    return out.is_array() && out.empty() ? Json(Json::value_t::discarded) : out;
  };
  return field;
}

// Left out of what is written of an S for which `wanted` does not hold.
template <class S, class Wanted>
Field<S> written_if(Field<S> field, Wanted wanted) {
  field.writes([wanted, write = field.write](const S& s) { return wanted(s) ? write(&s) : Json(Json::value_t::discarded); });
  return field;
}

// The fields of a part, as fields of the whole that holds it.
template <class S, class Part>
Fields<S> lifted(const Fields<Part>& fields, Part& (*part)(S&)) {
  return Fields<S>(lifted(fields.untyped(), [part](void* whole) -> void* { return &part(*static_cast<S*>(whole)); }));
}

template <class S>
ObjectForm untyped(const Declaration<S>& d) {
  ObjectForm out{.doc = d.doc, .fields = d.fields.untyped(), .tag = d.tag, .alternatives = {}, .shorthand = d.shorthand};
  for (const Alternative<S>& a : d.alternatives)
    out.alternatives.push_back({.name = a.name,
                                .doc = a.doc,
                                .fields = a.fields.untyped(),
                                .select = [select = a.select](void* s) { select(*static_cast<S*>(s)); },
                                .selected = [selected = a.selected](const void* s) { return selected(*static_cast<const S*>(s)); },
                                .also = a.also});
  out.make = []() -> std::shared_ptr<void> { return std::make_shared<S>(); };
  return out;
}

template <HasDeclaration S>
struct Form<S> {
  static const ObjectForm& form() {
    static const ObjectForm it = untyped(Declared<S>::declaration());
    return it;
  }
  static std::string wanted() { return form().wanted(); }
  static bool read(const Json& json, const JsonPath& where, Input& in, S& out) { return form().read(json, where, in, &out); }
  static Json write(const S& value) { return form().write(&value); }
  static Json schema() { return form().schema(); }
};

}  // namespace weft

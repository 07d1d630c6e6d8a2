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
struct Field {
  std::string name;
  std::string doc;
  bool is_required = false;
  std::vector<std::string> unless = {};  // not required where one of these keys is
  std::function<bool(const Json&, const JsonPath&, Input&, S&)> read = {};
  std::function<Json(const S&)> write = {};  // discarded: the key is left out
  std::function<Json()> schema = {};
  std::string wanted = {};
};

// One of several shapes an object may have, told apart by its tag: {"policy": "random", "seed": 3}.
template <class S>
struct Alternative {
  std::string name;  // of the tag
  std::string doc;
  std::vector<Field<S>> fields;
  std::function<void(S&)> select;
  std::function<bool(const S&)> selected;
  std::function<bool(const Json&, const JsonPath&, Input&)> also = {};  // a rule about several keys, on the object as written
};

template <class S>
struct Declaration {
  std::string doc;
  std::vector<Field<S>> fields = {};
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
bool in_range(const T& value, const Range<T>& range, const Json& found, const JsonPath& where, Input& in) {
  if (range.low && range.high && (value < *range.low || value > *range.high))
    return in.problem(
        where, fmt::format("must be between {} and {}, got {}", shown(F::write(*range.low)), shown(F::write(*range.high)), shown(found)));
  if (range.low && value < *range.low)
    return in.problem(where, fmt::format("must be at least {}, got {}", shown(F::write(*range.low)), shown(found)));
  if (range.high && value > *range.high)
    return in.problem(where, fmt::format("must be at most {}, got {}", shown(F::write(*range.high)), shown(found)));
  return true;
}

// A member of type T, as F reads and writes it, within a range if T has an order.
template <class F, class T>
class RangedMember final : public MemberForm {
 public:
  explicit RangedMember(const Range<T>& range) : range_(range) {}

  bool read(const Json& json, const JsonPath& where, Input& in, void* member) const override {
    T value{};
    if (!F::read(json, where, in, value)) return false;
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

// The member `offset` bytes behind the beginning of an S.
template <class S>
Field<S> field_of_member(std::string_view name, std::string_view doc, bool is_required, std::ptrdiff_t offset,
                         std::unique_ptr<const MemberForm> owned) {
  const std::shared_ptr<const MemberForm> form = std::move(owned);
  return {.name = std::string(name),
          .doc = std::string(doc),
          .is_required = is_required,
          .read = [form, offset](const Json& json, const JsonPath& where, Input& in,
                                 S& out) { return form->read(json, where, in, reinterpret_cast<std::byte*>(&out) + offset); },
          .write = [form, offset](const S& from) { return form->write(reinterpret_cast<const std::byte*>(&from) + offset); },
          .schema = [form] { return form->schema(); },
          .wanted = form->wanted()};
}

template <class F, class S, class T>
Field<S> make_field(std::string_view name, T S::*member, std::string_view doc, bool is_required, const Range<T>& range) {
  const S& s = with_defaults<S>();
  const std::ptrdiff_t offset = reinterpret_cast<const std::byte*>(&(s.*member)) - reinterpret_cast<const std::byte*>(&s);
  return field_of_member<S>(name, doc, is_required, offset, std::make_unique<RangedMember<F, T>>(range));
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
  const auto read = field.read;
  field.read = [read](const Json& json, const JsonPath& where, Input& in, S& out) {
    if (json.is_array() && json.empty()) return in.problem(where, "an empty list says nothing: give at least one value, or leave it out");
    return read(json, where, in, out);
  };
  return field;
}

// The fields of a part, as fields of the whole that holds it.
template <class S, class Part>
std::vector<Field<S>> lifted(const std::vector<Field<Part>>& fields, Part& (*part)(S&)) {
  std::vector<Field<S>> out;
  for (const Field<Part>& field : fields) {
    Field<S> whole{.name = field.name, .doc = field.doc, .is_required = field.is_required};
    whole.read = [read = field.read, part](const Json& json, const JsonPath& where, Input& in, S& s) {
      return read(json, where, in, part(s));
    };
    whole.write = [write = field.write, part](const S& s) { return write(part(const_cast<S&>(s))); };
    whole.schema = field.schema;
    whole.wanted = field.wanted;
    out.push_back(std::move(whole));
  }
  return out;
}

template <class S>
ObjectField untyped(const Field<S>& field) {
  return {.name = field.name,
          .doc = field.doc,
          .is_required = field.is_required,
          .unless = field.unless,
          .read = [read = field.read](const Json& json, const JsonPath& where, Input& in,
                                      void* out) { return read(json, where, in, *static_cast<S*>(out)); },
          .write = [write = field.write](const void* value) { return write(*static_cast<const S*>(value)); },
          .schema = field.schema,
          .wanted = field.wanted};
}

template <class S>
std::vector<ObjectField> untyped(const std::vector<Field<S>>& fields) {
  std::vector<ObjectField> out;
  for (const Field<S>& field : fields) out.push_back(untyped(field));
  return out;
}

template <class S>
ObjectForm untyped(const Declaration<S>& d) {
  ObjectForm out{.doc = d.doc, .fields = untyped(d.fields), .tag = d.tag, .alternatives = {}, .shorthand = d.shorthand};
  for (const Alternative<S>& a : d.alternatives)
    out.alternatives.push_back({.name = a.name,
                                .doc = a.doc,
                                .fields = untyped(a.fields),
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

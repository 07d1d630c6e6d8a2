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

#include "sim/json/form.hpp"

#include <algorithm>
#include <set>

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

template <class F, class S, class T>
Field<S> make_field(std::string name, T S::*member, std::string doc, bool is_required, Range<T> range) {
  Field<S> field{.name = std::move(name), .doc = std::move(doc), .is_required = is_required};
  // Types without an order have no range.
  field.read = [member, range](const Json& json, const JsonPath& where, Input& in, S& out) {
    static_cast<void>(range);
    T value{};
    if (!F::read(json, where, in, value)) return false;
    bool has_range = true;  // a word stands outside of it
    if constexpr (requires { F::is_word(json); }) has_range = !F::is_word(json);
    if constexpr (std::totally_ordered<T>)
      if (has_range && !in_range<T, F>(value, range, json, where, in)) return false;
    out.*member = std::move(value);
    return true;
  };
  field.write = [member](const S& from) { return F::write(from.*member); };
  field.schema = [range] {
    static_cast<void>(range);
    Json out = F::schema();
    if constexpr (std::is_arithmetic_v<T>) {
      if (range.low) out["minimum"] = *range.low;
      if (range.high) out["maximum"] = *range.high;
    }
    return out;
  };
  field.wanted = F::wanted();
  if constexpr (std::is_arithmetic_v<T>) {
    if (range.low && range.high)
      field.wanted += fmt::format(", {} to {}", *range.low, *range.high);
    else if (range.low)
      field.wanted += fmt::format(", at least {}", *range.low);
  }
  return field;
}

template <class S, class T>
Field<S> required(std::string name, T S::*member, std::string doc, std::type_identity_t<Range<T>> range = {}) {
  return make_field<Form<T>>(std::move(name), member, std::move(doc), true, range);
}
template <class S, class T>
Field<S> optional(std::string name, T S::*member, std::string doc, std::type_identity_t<Range<T>> range = {}) {
  return make_field<Form<T>>(std::move(name), member, std::move(doc), false, range);
}
// With a form of its own instead of the type's.
template <class F, class S, class T>
Field<S> required_as(std::string name, T S::*member, std::string doc) {
  return make_field<F>(std::move(name), member, std::move(doc), true, Range<T>{});
}
template <class F, class S, class T>
Field<S> optional_as(std::string name, T S::*member, std::string doc, std::type_identity_t<Range<T>> range = {}) {
  return make_field<F>(std::move(name), member, std::move(doc), false, range);
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

template <HasDeclaration S>
struct Form<S> {
  static const Declaration<S>& declaration() {
    static const Declaration<S> it = Declared<S>::declaration();
    return it;
  }

  static std::string wanted() {
    const auto& d = declaration();
    if (d.tag.empty()) return "an object";
    std::vector<std::string> names = alternative_names();
    return d.shorthand ? "one of " + quoted_list(names) + ", or an object with \"" + d.tag + "\""
                       : "an object with \"" + d.tag + "\": one of " + quoted_list(names);
  }

  static bool read(const Json& json, const JsonPath& where, Input& in, S& out) {
    const auto& d = declaration();
    if (d.shorthand && json.is_string()) return read(Json{{d.tag, json}}, where, in, out);
    if (!json.is_object()) return in.unwanted(where, wanted(), json);
    const Alternative<S>* chosen = nullptr;
    if (!d.tag.empty()) {
      chosen = choose(json, where, in);
      if (!chosen) return false;  // which keys are allowed is not known
      chosen->select(out);
    }
    const std::vector<const Field<S>*> fields = fields_of(chosen);
    std::set<std::string> meant;  // fields whose name a misspelt key comes close to
    bool good = refuse_unknown_keys(json, fields, where, in, meant);
    for (const Field<S>* field : fields) {  // in the order declared: a later field may override what an earlier one set
      const auto value = json.find(field->name);
      if (value != json.end())
        good &= field->read(*value, where.in(field->name), in, out);
      else if (field->is_required && !meant.contains(field->name) &&
               std::ranges::none_of(field->unless, [&](const std::string& key) { return json.contains(key); }))
        good = in.problem(where.in(field->name), fmt::format("missing: write {}", field->wanted));
    }
    if (chosen && chosen->also) good &= chosen->also(json, where, in);
    return good;
  }

  static Json write(const S& value) {
    const auto& d = declaration();
    Json out = Json::object();
    const Alternative<S>* chosen = nullptr;
    for (const auto& alternative : d.alternatives)
      if (!chosen && alternative.selected(value)) chosen = &alternative;
    if (chosen) out[d.tag] = chosen->name;
    for (const Field<S>* field : fields_of(chosen))
      if (Json written = field->write(value); !written.is_discarded()) out[field->name] = std::move(written);
    return out;
  }

  static Json schema() {
    const auto& d = declaration();
    if (d.tag.empty()) return object_schema(nullptr);
    Json shapes = Json::array();
    if (d.shorthand) shapes.push_back({{"enum", alternative_names()}, {"description", "Short for an object with only \"" + d.tag + "\"."}});
    for (const auto& alternative : d.alternatives) shapes.push_back(object_schema(&alternative));
    Json out = {{"description", d.doc}, {"oneOf", std::move(shapes)}};
    if (d.shorthand) out["x-shorthand"] = d.tag;  // for pointers into the object that a string stands for
    return out;
  }

 private:
  static std::vector<std::string> alternative_names() {
    std::vector<std::string> names;
    for (const auto& alternative : declaration().alternatives)
      if (std::find(names.begin(), names.end(), alternative.name) == names.end()) names.push_back(alternative.name);
    return names;
  }

  // Several alternatives may share a name; then the one that knows most of the keys is meant, or else the first.
  static const Alternative<S>* choose(const Json& json, const JsonPath& where, Input& in) {
    const auto& d = declaration();
    const auto tag = json.find(d.tag);
    if (tag == json.end()) {
      in.problem(where.in(d.tag), "missing: write one of " + quoted_list(alternative_names()));
      return nullptr;
    }
    if (!tag->is_string()) {
      in.unwanted(where.in(d.tag), "one of " + quoted_list(alternative_names()), *tag);
      return nullptr;
    }
    const Alternative<S>* best = nullptr;
    for (const auto& alternative : d.alternatives) {
      if (alternative.name != tag->template get_ref<const std::string&>()) continue;
      if (!best || keys_known(alternative, json) > keys_known(*best, json)) best = &alternative;
    }
    if (!best) in.problem(where.in(d.tag), unknown_name(d.tag, tag->template get_ref<const std::string&>(), alternative_names()));
    return best;
  }

  static auto keys_known(const Alternative<S>& alternative, const Json& json) {
    return std::count_if(alternative.fields.begin(), alternative.fields.end(), [&](const auto& f) { return json.contains(f.name); });
  }

  static std::vector<const Field<S>*> fields_of(const Alternative<S>* chosen) {
    std::vector<const Field<S>*> out;
    if (chosen)
      for (const Field<S>& field : chosen->fields) out.push_back(&field);
    for (const Field<S>& field : declaration().fields) out.push_back(&field);
    return out;
  }

  static bool refuse_unknown_keys(const Json& json, const std::vector<const Field<S>*>& fields, const JsonPath& where, Input& in,
                                  std::set<std::string>& meant) {
    std::vector<std::string> allowed;
    if (const auto& tag = declaration().tag; !tag.empty()) allowed.push_back(tag);
    for (const Field<S>* field : fields) allowed.push_back(field->name);
    bool good = true;
    for (const auto& item : json.items()) {
      if (std::find(allowed.begin(), allowed.end(), item.key()) != allowed.end()) continue;
      const auto near = nearest_name(item.key(), allowed);
      if (near) meant.insert(*near);
      good = in.problem(where.in(item.key()), near ? fmt::format("unknown key (did you mean \"{}\"?)", *near)
                                                   : fmt::format("unknown key; allowed here: {}", quoted_list(allowed)));
    }
    return good;
  }

  static Json object_schema(const Alternative<S>* chosen) {
    const auto& d = declaration();
    Json properties = Json::object(), needed = Json::array();
    if (chosen) {
      properties[d.tag] = {{"const", chosen->name}};
      needed.push_back(d.tag);
    }
    S defaults{};
    if (chosen) chosen->select(defaults);
    for (const Field<S>* field : fields_of(chosen)) {
      Json property = field->schema();
      Json described = {{"description", field->doc}};
      described.update(property);
      if (field->is_required && field->unless.empty()) needed.push_back(field->name);
      if (Json value = field->is_required ? Json(Json::value_t::discarded) : field->write(defaults); !value.is_discarded())
        described["default"] = std::move(value);
      properties[field->name] = std::move(described);
    }
    Json out = {{"type", "object"}, {"description", chosen ? chosen->doc : d.doc}, {"properties", std::move(properties)}};
    if (!needed.empty()) out["required"] = std::move(needed);
    out["additionalProperties"] = false;
    return out;
  }
};

}  // namespace weft

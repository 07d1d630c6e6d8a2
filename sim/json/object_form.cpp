#include "sim/json/object_form.hpp"

#include <algorithm>

namespace weft {
namespace {

auto keys_known(const ObjectAlternative& alternative, const Json& json) {
  return std::ranges::count_if(alternative.fields, [&](const ObjectField& f) { return json.contains(f.name); });
}

}  // namespace

ObjectField field_of_member(std::string_view name, std::string_view doc, bool is_required, std::ptrdiff_t offset,
                            std::unique_ptr<const MemberForm> owned) {
  const std::shared_ptr<const MemberForm> form = std::move(owned);
  return {.name = std::string(name),
          .doc = std::string(doc),
          .is_required = is_required,
          .read = [form, offset](const Json& json, const JsonPath& where, Input& in,
                                 void* object) { return form->read(json, where, in, static_cast<std::byte*>(object) + offset); },
          .write = [form, offset](const void* object) { return form->write(static_cast<const std::byte*>(object) + offset); },
          .schema = [form] { return form->schema(); },
          .wanted = form->wanted()};
}

std::vector<ObjectField> lifted(const std::vector<ObjectField>& fields, std::function<void*(void* whole)> part) {
  std::vector<ObjectField> out = fields;
  for (ObjectField& field : out) {
    field.read = [read = field.read, part](const Json& json, const JsonPath& where, Input& in, void* whole) {
      return read(json, where, in, part(whole));
    };
    field.write = [write = field.write, part](const void* whole) { return write(part(const_cast<void*>(whole))); };
  }
  return out;
}

std::optional<std::string> without_sign(const Json& json) {
  const auto* text = json.get_ptr<const std::string*>();
  if (!text || !text->starts_with('-')) return std::nullopt;
  return text->substr(1);
}

bool out_of_range(const std::string& low, const std::string& high, const Json& found, const JsonPath& where, Input& in) {
  if (!low.empty() && !high.empty()) return in.problem(where, fmt::format("must be between {} and {}, got {}", low, high, shown(found)));
  return in.problem(where,
                    fmt::format("must be at {} {}, got {}", high.empty() ? "least" : "most", high.empty() ? low : high, shown(found)));
}

std::string ObjectForm::wanted() const {
  if (tag.empty()) return "an object";
  std::vector<std::string> names = alternative_names();
  return shorthand ? "one of " + quoted_list(names) + ", or an object with \"" + tag + "\""
                   : "an object with \"" + tag + "\": one of " + quoted_list(names);
}

bool ObjectForm::read(const Json& json, const JsonPath& where, Input& in, void* out) const {
  if (shorthand && json.is_string()) return read(Json{{tag, json}}, where, in, out);
  if (!json.is_object()) return in.unwanted(where, wanted(), json);
  const ObjectAlternative* chosen = nullptr;
  if (!tag.empty()) {
    chosen = choose(json, where, in);
    if (!chosen) return false;  // which keys are allowed is not known
    chosen->select(out);
  }
  const Fields known = fields_of(chosen);
  std::set<std::string> meant;  // fields whose name a misspelt key comes close to
  bool good = refuse_unknown_keys(json, chosen, where, in, meant);
  const bool shapeless = chosen && meant.empty() && asks_for_shape(*chosen, json);
  if (shapeless) good = in.problem(where, fmt::format("a {} needs {}", chosen->name, shapes_of(chosen->name)));
  for (const ObjectField* field : known) {  // in the order declared: a later field may override what an earlier one set
    const auto value = json.find(field->name);
    if (value != json.end())
      good &= field->read(*value, where.in(field->name), in, out);
    else if (field->is_required && !meant.contains(field->name) && !(shapeless && is_key_of(chosen->name, field->name)) &&
             !(field->spared_by && field->spared_by(json)) &&
             std::ranges::none_of(field->unless, [&](const std::string& key) { return json.contains(key); }))
      good = in.problem(where.in(field->name), fmt::format("missing: write {}", field->wanted));
  }
  if (chosen && chosen->also) good &= chosen->also(json, where, in);
  return good;
}

Json ObjectForm::write(const void* value) const {
  Json out = Json::object();
  const ObjectAlternative* chosen = nullptr;
  for (const auto& alternative : alternatives)
    if (!chosen && alternative.selected(value)) chosen = &alternative;
  if (chosen) out[tag] = chosen->name;
  for (const ObjectField* field : fields_of(chosen))
    if (Json written = field->write(value); !written.is_discarded()) out[field->name] = std::move(written);
  return out;
}

Json ObjectForm::schema() const {
  if (tag.empty()) return object_schema(nullptr);
  Json shapes = Json::array();
  if (shorthand) shapes.push_back({{"enum", alternative_names()}, {"description", "Short for an object with only \"" + tag + "\"."}});
  for (const auto& alternative : alternatives) shapes.push_back(object_schema(&alternative));
  Json out = {{"description", doc}, {"oneOf", std::move(shapes)}};
  if (shorthand) out["x-shorthand"] = tag;  // for pointers into the object that a string stands for
  return out;
}

std::vector<std::string> ObjectForm::alternative_names() const {
  std::vector<std::string> names;
  for (const auto& alternative : alternatives)
    if (std::find(names.begin(), names.end(), alternative.name) == names.end()) names.push_back(alternative.name);
  return names;
}

// Several alternatives may share a name; then the one that knows most of the keys is meant, or else the first.
const ObjectAlternative* ObjectForm::choose(const Json& json, const JsonPath& where, Input& in) const {
  const auto written = json.find(tag);
  if (written == json.end()) {
    in.problem(where.in(tag), "missing: write one of " + quoted_list(alternative_names()));
    return nullptr;
  }
  if (!written->is_string()) {
    in.unwanted(where.in(tag), "one of " + quoted_list(alternative_names()), *written);
    return nullptr;
  }
  const auto& name = written->get_ref<const std::string&>();
  const ObjectAlternative* best = nullptr;
  for (const ObjectAlternative& alternative : alternatives) {
    if (alternative.name != name) continue;
    if (!best || keys_known(alternative, json) > keys_known(*best, json)) best = &alternative;
  }
  if (!best) in.problem(where.in(tag), unknown_name(tag, name, alternative_names()));
  return best;
}

ObjectForm::Fields ObjectForm::fields_of(const ObjectAlternative* chosen) const {
  Fields out;
  if (chosen)
    for (const ObjectField& field : chosen->fields) out.push_back(&field);
  for (const ObjectField& field : fields) out.push_back(&field);
  return out;
}

// The required keys of each alternative of this name: either "leaves", "nodes_per_leaf", "spines" or "k".
std::string ObjectForm::shapes_of(const std::string& name) const {
  std::vector<std::string> shapes;
  for (const ObjectAlternative& alternative : alternatives) {
    if (alternative.name != name) continue;
    std::vector<std::string> keys;
    for (const ObjectField& field : alternative.fields)
      if (field.is_required) keys.push_back(field.name);
    shapes.push_back(quoted_list(keys));
  }
  return fmt::format("either {}", fmt::join(shapes, " or "));
}

bool ObjectForm::is_key_of(const std::string& name, const std::string& key) const {
  return std::ranges::any_of(alternatives, [&](const ObjectAlternative& alternative) {
    return alternative.name == name && std::ranges::find(alternative.fields, key, &ObjectField::name) != alternative.fields.end();
  });
}

// Whether there are several alternatives of the name, and no required key says which of them is meant.
bool ObjectForm::asks_for_shape(const ObjectAlternative& chosen, const Json& json) const {
  if (std::ranges::count(alternatives, chosen.name, &ObjectAlternative::name) < 2) return false;
  return std::ranges::none_of(alternatives, [&](const ObjectAlternative& alternative) {
    return alternative.name == chosen.name && std::ranges::any_of(alternative.fields, [&](const ObjectField& field) {
             return field.is_required && json.contains(field.name);
           });
  });
}

bool ObjectForm::refuse_unknown_keys(const Json& json, const ObjectAlternative* chosen, const JsonPath& where, Input& in,
                                     std::set<std::string>& meant) const {
  const Fields known = fields_of(chosen);
  std::vector<std::string> allowed;
  if (!tag.empty()) allowed.push_back(tag);
  for (const ObjectField* field : known) allowed.push_back(field->name);
  bool good = true;
  for (const auto& item : json.items()) {
    if (std::find(allowed.begin(), allowed.end(), item.key()) != allowed.end()) continue;
    if (chosen && is_key_of(chosen->name, item.key())) {
      good = in.problem(where.in(item.key()), fmt::format("a {} has {}: leave one of them out", chosen->name, shapes_of(chosen->name)));
      for (const ObjectField& field : chosen->fields) meant.insert(field.name);  // which of them are missing is not known
      continue;
    }
    const auto near = nearest_name(item.key(), allowed);
    if (near) meant.insert(*near);
    good = in.problem(where.in(item.key()), near ? fmt::format("unknown key (did you mean \"{}\"?)", *near)
                                                 : fmt::format("unknown key; allowed here: {}", quoted_list(allowed)));
  }
  return good;
}

Json ObjectForm::object_schema(const ObjectAlternative* chosen) const {
  Json properties = Json::object(), needed = Json::array();
  if (chosen) {
    properties[tag] = {{"const", chosen->name}};
    needed.push_back(tag);
  }
  const std::shared_ptr<void> defaults = make();
  if (chosen) chosen->select(defaults.get());
  for (const ObjectField* field : fields_of(chosen)) {
    Json property = field->schema();
    Json described = {{"description", field->doc}};
    described.update(property);
    if (field->is_required && field->unless.empty()) needed.push_back(field->name);
    if (Json value = field->is_required || field->default_is_elsewhere ? Json(Json::value_t::discarded) : field->write(defaults.get());
        !value.is_discarded())
      described["default"] = std::move(value);
    properties[field->name] = std::move(described);
  }
  Json out = {{"type", "object"}, {"description", chosen ? chosen->doc : doc}, {"properties", std::move(properties)}};
  if (!needed.empty()) out["required"] = std::move(needed);
  out["additionalProperties"] = false;
  return out;
}

}  // namespace weft

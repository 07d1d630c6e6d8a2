#include "sim/json/pointer.hpp"

#include "sim/json/form.hpp"

#include <algorithm>
#include <vector>

namespace weft {
namespace {

using Shapes = std::vector<const Json*>;  // the schemas that a value may follow

void add_shapes(const Json& schema, Shapes& out) {
  if (const auto several = schema.find("oneOf"); several != schema.end())
    for (const Json& one : *several) add_shapes(one, out);
  else
    out.push_back(&schema);
}

const Json* property(const Json& shape, std::string_view name) {
  const auto properties = shape.find("properties");
  if (properties == shape.end()) return nullptr;
  const auto found = properties->find(std::string(name));
  return found == properties->end() ? nullptr : &*found;
}

// Whether an object with these tags may follow this shape.
bool tags_agree(const Json& shape, const Json& object) {
  const auto properties = shape.find("properties");
  if (properties == shape.end()) return false;
  for (const auto& item : properties->items()) {
    const auto constant = item.value().find("const");
    if (constant != item.value().end() && object.contains(item.key()) && object.at(item.key()) != *constant) return false;
  }
  return true;
}

// The key that a string stands for, also where a list of such values may stand; null: none.
const Json* shorthand_of(const Json& schema) {
  if (const auto key = schema.find("x-shorthand"); key != schema.end()) return &*key;
  if (const auto several = schema.find("oneOf"); several != schema.end())
    for (const Json& one : *several)
      if (const Json* key = shorthand_of(one)) return key;
  return nullptr;
}

Shapes shapes_of(const Json& schema, const Json& value) {
  Shapes all, fitting;
  add_shapes(schema, all);
  std::copy_if(all.begin(), all.end(), std::back_inserter(fitting),
               [&](const Json* shape) { return value.is_object() && tags_agree(*shape, value); });
  return fitting.empty() ? all : fitting;
}

std::vector<std::string> tokens_of(std::string_view pointer) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/')
      out.emplace_back();
    else if (pointer[i] == '~' && i + 1 < pointer.size() && (pointer[i + 1] == '0' || pointer[i + 1] == '1'))
      out.back() += pointer[++i] == '0' ? '~' : '/';
    else
      out.back() += pointer[i];
  }
  return out;
}

std::optional<std::size_t> index_in(const Json& list, const std::string& token) {
  if (token.empty() || token.size() > 9 || token.find_first_not_of("0123456789") != token.npos) return std::nullopt;
  const std::size_t index = std::stoul(token);
  return index < list.size() ? std::optional(index) : std::nullopt;
}

std::string nothing_there(std::string_view pointer, const std::string& so_far, const std::string& token, const Shapes& shapes) {
  std::vector<std::string> names;
  for (const Json* shape : shapes)
    if (const auto properties = shape->find("properties"); properties != shape->end())
      for (const auto& item : properties->items())
        if (std::find(names.begin(), names.end(), item.key()) == names.end()) names.push_back(item.key());
  const std::string start = fmt::format("{} points to nothing", shown(Json(pointer)));
  if (const auto near = nearest_name(token, names)) return fmt::format("{} (did you mean \"{}/{}\"?)", start, so_far, escaped(*near));
  if (names.empty()) return fmt::format("{}: nothing lies below \"{}\"", start, so_far);
  return fmt::format("{}; keys at \"{}\": {}", start, so_far, quoted_list(names));
}

}  // namespace

std::optional<std::string> set_at(Json& whole, std::string_view pointer, Json value, const Json& schema) {
  if (pointer.empty() || pointer.front() != '/')
    return fmt::format("{} is not a pointer: write for example \"/workload/size\"", shown(Json(pointer)));
  const auto tokens = tokens_of(pointer);
  if (tokens.size() > static_cast<std::size_t>(deepest_nesting)) return fmt::format("{} is too deep", shown(Json(pointer)));
  Json changed = whole;
  Json* at = &changed;
  const Json* shape = &schema;
  std::string so_far;
  for (const std::string& token : tokens) {
    if (const Json* key = at->is_string() ? shorthand_of(*shape) : nullptr) *at = Json{{key->get<std::string>(), *at}};
    const Shapes shapes = shapes_of(*shape, *at);
    if (at->is_array()) {
      const auto index = index_in(*at, token);
      if (!index) return fmt::format("{}: \"{}\" is a list of {}; give the index of an element", shown(Json(pointer)), so_far, at->size());
      for (const Json* one : shapes)
        if (one->contains("items")) shape = &one->at("items");
      at = &(*at)[*index];
    } else {
      const Json* next = nullptr;
      for (const Json* one : shapes)
        if (!next) next = property(*one, token);
      if (!next) return nothing_there(pointer, so_far, token, shapes);
      if (!at->is_object()) *at = Json::object();
      shape = next;
      at = &(*at)[token];
    }
    so_far.append("/").append(escaped(token));
  }
  *at = std::move(value);
  whole = std::move(changed);
  return std::nullopt;
}

}  // namespace weft

#include "sim/report/short_names.hpp"

#include "sim/json/fields.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weft {
namespace {

// "group=8" and "algorithm=ring" of "nccl(group=8,algorithm=ring)".
std::vector<std::string> settings_of(const std::string& label) {
  const auto open = label.find('(');
  std::vector<std::string> out;
  if (open == label.npos || !label.ends_with(')')) return out;
  int depth = 0;
  out.emplace_back();
  for (const char c : label.substr(open + 1, label.size() - open - 2)) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

constexpr std::array<const char*, 3> kinds = {"type", "policy", "name"};

// What an object is one of: its type, its policy or its name; "" where it has none.
std::string kind_of(const Json& object) {
  for (const char* key : kinds)
    if (const auto at = object.find(key); at != object.end() && at->is_string()) return at->get<std::string>();
  return "";
}

std::string without_underscores(std::string text) {
  std::ranges::replace(text, '_', ' ');
  return text;
}

// A value as people would say it.
std::string spelled(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  std::vector<std::string> parts;
  if (value.is_object())
    for (const auto& [key, inner] : value.items()) parts.push_back(without_underscores(key) + " " + spelled(inner));
  else if (value.is_array())
    for (const Json& inner : value) parts.push_back(inner.is_object() && !kind_of(inner).empty() ? kind_of(inner) : spelled(inner));
  else
    return value.dump();
  return fmt::format("{}", fmt::join(parts, value.is_array() ? "+" : " "));
}

}  // namespace

std::map<std::string, std::string> short_labels(const std::set<std::string>& labels) {
  const auto name_in = [](const std::string& label) { return label.substr(0, label.find('(')); };
  std::map<std::string, std::map<std::string, std::size_t>> uses;  // name -> setting -> by how many labels
  std::map<std::string, std::size_t> count;
  for (const std::string& label : labels) {
    ++count[name_in(label)];
    for (const std::string& setting : settings_of(label)) ++uses[name_in(label)][setting];
  }
  std::map<std::string, std::string> out;
  for (const std::string& label : labels) {
    const std::string name = name_in(label);
    std::vector<std::string> kept = settings_of(label);
    if (count[name] > 1) std::erase_if(kept, [&](const std::string& setting) { return uses[name][setting] == count[name]; });
    out[label] = kept.empty() ? name : fmt::format("{}({})", name, fmt::join(kept, ","));
  }
  return out;
}

std::map<std::string, std::string> names_of_values(const std::set<std::string>& values) {
  std::map<std::string, Json> parsed;
  for (const std::string& value : values)
    if (value.starts_with('{') || value.starts_with('['))
      if (Json json = Json::parse(value, nullptr, false); !json.is_discarded()) parsed[value] = std::move(json);
  std::map<std::string, std::string> out;
  for (const std::string& value : values) {
    const auto own = parsed.find(value);
    if (own != parsed.end() && own->second.empty()) {
      out[value] = "none";
      continue;
    }
    if (own == parsed.end() || !own->second.is_object()) {
      out[value] = own == parsed.end() ? value : spelled(own->second);
      continue;
    }
    const std::string kind = kind_of(own->second);
    const auto same_among_its_kind = [&](const std::string& key) {
      return std::ranges::all_of(parsed, [&](const auto& other) {
        return !other.second.is_object() || kind_of(other.second) != kind || other.second.value(key, Json()) == own->second[key];
      });
    };
    std::vector<std::string> parts;
    for (const auto& [key, inner] : own->second.items())
      if (!same_among_its_kind(key)) parts.push_back(without_underscores(key) + " " + spelled(inner));
    out[value] = !parts.empty() ? fmt::format("{}", fmt::join(parts, ", ")) : !kind.empty() ? kind : spelled(own->second);
  }
  return out;
}

std::map<std::string, std::string> names_of_pointers(const std::vector<std::string>& pointers) {
  static const std::set<std::string> say_little = {"on",    "off",    "name",  "type",      "policy", "seed",   "size",
                                                   "min",   "max",    "rate",  "count",     "start",  "period", "runs",
                                                   "ranks", "spread", "every", "bandwidth", "latency"};
  // The last `parts` parts; the whole, less its first slash, where it has no more.
  const auto ending = [](const std::string& pointer, int parts) {
    std::size_t at = pointer.size();
    while (parts-- > 0 && at != 0 && at != pointer.npos) at = pointer.rfind('/', at - 1);
    return pointer.substr(at == pointer.npos ? 0 : at + 1);
  };
  std::map<std::string, std::string> out;
  for (const std::string& pointer : pointers) {
    int parts = say_little.contains(ending(pointer, 1)) ? 2 : 1;
    const auto shared = [&] {
      return std::ranges::any_of(
          pointers, [&](const std::string& other) { return other != pointer && ending(other, parts) == ending(pointer, parts); });
    };
    while (parts <= std::ranges::count(pointer, '/') && shared()) ++parts;
    out[pointer] = ending(pointer, parts);
  }
  return out;
}

}  // namespace weft

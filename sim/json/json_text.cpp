#include "sim/json/json_text.hpp"

#include "kernels/base/json_problem.hpp"
#include "sim/json/json_path.hpp"

#include <set>

namespace weft {
namespace {

// The parser recurses nowhere, but what walks the value later does.
bool nested_too_deep(std::string_view text, std::vector<Problem>& problems) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > deepest_nesting) {
        problems.push_back({line_and_column(text, i), fmt::format("nested more than {} levels deep", deepest_nesting)});
        return true;
      }
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

class Builder final : public nlohmann::json_sax<Json> {
 public:
  Builder(std::string_view text, std::vector<Problem>& problems) : text_(text), problems_(problems) {}
  Json take() { return std::move(root_); }

  bool null() override { return add(Json(nullptr)); }
  bool boolean(bool value) override { return add(Json(value)); }
  bool number_integer(std::int64_t value) override { return add(Json(value)); }
  bool number_unsigned(std::uint64_t value) override { return add(Json(value)); }
  bool number_float(double value, const std::string&) override { return add(Json(value)); }
  bool string(std::string& value) override { return add(Json(std::move(value))); }
  bool binary(Json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    Level& level = open_.back();
    level.duplicate = !level.names.insert(name).second;
    level.key = std::move(name);
    if (level.duplicate) problems_.push_back({pointer(), "this key is given twice"});
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    problems_.push_back(json_problem(text_, position, error.what()));
    return false;
  }

 private:
  struct Level {
    Json value;
    std::string key;
    bool duplicate = false;
    std::set<std::string> names;
  };

  bool add(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return true;
    }
    Level& level = open_.back();
    if (level.value.is_array())
      level.value.push_back(std::move(value));
    else if (!level.duplicate)  // straight to the vector: the map's own insert looks through all keys again
      level.value.get_ref<Json::object_t&>().Container::emplace_back(level.key, std::move(value));
    return true;
  }
  bool open(Json value) {
    open_.push_back({std::move(value), {}, false, {}});
    return true;
  }
  bool close() {
    Json value = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(value));
  }
  std::string pointer() const {
    std::string all;
    for (const Level& level : open_) {
      if (level.value.is_array())
        all += fmt::format("/{}", level.value.size());
      else
        all.append("/").append(key_shown(level.key));
    }
    return all;
  }

  std::string_view text_;
  std::vector<Problem>& problems_;
  std::vector<Level> open_;
  Json root_;
};

}  // namespace

Json parse_json(std::string_view text, std::vector<Problem>& problems) {
  if (text.find_first_not_of(" \t\r\n") == text.npos) {
    problems.push_back({"", "the text is empty; a JSON object was expected"});
    return nullptr;
  }
  // The library takes it for the end of the text, whatever follows.
  if (const auto zero = text.find('\0'); zero != text.npos) {
    problems.push_back({line_and_column(text, zero), "not JSON: a NUL character"});
    return nullptr;
  }
  if (nested_too_deep(text, problems)) return nullptr;
  Builder builder(text, problems);
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) return nullptr;
  return builder.take();
}

std::string shown(const Json& value) {
  constexpr std::size_t longest = 60;
  if (value.is_object() && value.size() > 4) return fmt::format("an object of {} keys", value.size());
  if (value.is_array() && value.size() > 8) return fmt::format("a list of {}", value.size());
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > longest) text = text.substr(0, longest - 3) + "...";
  return text;
}

std::string element_at(const Json& json, const char* pointer, std::size_t i) {
  const Json::json_pointer at(pointer);
  return json.contains(at) && json.at(at).is_array() ? fmt::format("{}/{}", pointer, i) : pointer;
}

}  // namespace weft

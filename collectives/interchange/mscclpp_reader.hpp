// Values of a plan's JSON, each with its pointer in what is said about it.
#pragma once

#include "kernels/base/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace weft {

class PlanProblems {
 public:
  static constexpr std::size_t most = 20;

  template <class... Args>
  void add(const std::string& where, fmt::format_string<Args...> what, Args&&... args) {
    if (lines_.size() < most) lines_.push_back(fmt::format("{}: {}", where, fmt::format(what, std::forward<Args>(args)...)));
  }
  // Throws InputError with what was added, if anything was.
  void refuse() const {
    if (!lines_.empty()) throw InputError(lines_);
  }

 private:
  std::vector<std::string> lines_;
};

// One value and its place.
class PlanValue {
 public:
  PlanValue(const nlohmann::json& json, std::string where, PlanProblems& problems)
      : json_(&json), where_(std::move(where)), problems_(&problems) {}

  const std::string& where() const { return where_; }
  PlanProblems& problems() const { return *problems_; }
  bool has(const char* key) const { return json_->is_object() && json_->contains(key); }

  // What is not there is null.
  PlanValue operator[](const char* key) const;
  std::vector<PlanValue> elements() const;  // none where it is no array, which is a problem unless it is not there
  std::int64_t number(std::int64_t least, std::int64_t most) const;
  std::int64_t number_or(std::int64_t otherwise, std::int64_t least, std::int64_t most) const;
  std::string text() const;
  std::string text_or(std::string otherwise) const;
  bool flag_or(bool otherwise) const;

 private:
  std::string shown() const;

  const nlohmann::json* json_;
  std::string where_;
  PlanProblems* problems_;
};

}  // namespace weft

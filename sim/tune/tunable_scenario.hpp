// A scenario with settings to choose: what its sweep sets, and its lists of engines and algorithms, as a space for the tuner.
#pragma once

#include "sim/cases/cases.hpp"
#include "sim/tune/space.hpp"

#include <filesystem>

namespace weft {

// One of several options, each of which sets some keys.
struct Choice {
  std::string name;  // the pointer, where all options set this one key
  std::vector<std::vector<Setting>> options;
  bool ordered = false;  // neighbouring options are alike
  bool picks = false;    // the options are the elements of a list in the scenario, which may hold keys that other choices set
};

class TunableScenario {
 public:
  // `settings` are applied first. A scenario that trains and leaves nothing open gets the settings of its engine and its algorithm
  // to choose. Throws InputError with the problems of every option.
  static TunableScenario load(const std::filesystem::path& file, const std::vector<Setting>& settings);

  const std::string& name() const { return name_; }
  std::filesystem::path folder() const { return file_.parent_path(); }
  const std::vector<Choice>& choices() const { return choices_; }
  bool trains() const { return trains_; }
  // The choices were not written in the scenario.
  bool chose_for_itself() const { return chose_for_itself_; }
  Space space() const;

  // Every key that some choice sets, in their order, and the values of a point (null: not set by it).
  std::vector<std::string> pointers() const;
  std::vector<Json> values(const Point& point) const;
  // The scenario at a point: as JSON with nothing left open, and read. Throws InputError where options do not go together.
  Json written(const Point& point) const;
  Case at(const Point& point) const;
  // The point of these values; where a key has another value, the option nearest to it, or the first.
  Point nearest(const std::vector<Setting>& values) const;
  // What is the same at all points, and all options: two of one text are the same search.
  std::string text() const;

 private:
  TunableScenario() = default;
  std::vector<Choice> listed_choices() const;
  std::vector<Choice> engine_choices() const;
  bool reads(const Json& json, Input& in) const;
  Json applied(const Point& point, Input& in) const;
  std::string place_in_lists(std::string where, const Point& point) const;
  void check_options(std::vector<Problem>& problems) const;

  std::filesystem::path file_;
  std::string name_;
  Json base_;  // without sweep
  std::vector<Choice> choices_;
  bool trains_ = false, chose_for_itself_ = false;
};

}  // namespace weft

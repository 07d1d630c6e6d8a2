#include "validation/measurements/renames.hpp"

#include "kernels/base/error.hpp"
#include "sim/json/fields.hpp"
#include "sim/scenario/scenario_fields.hpp"

#include <string_view>

namespace weft {
namespace {

// A number where it is one, else a text: "8", "extra", "200us".
Json value_in(const std::string& text) {
  Json value = Json::parse(text, nullptr, false);
  return value.is_number() || value.is_boolean() ? value : Json(text);
}

}  // namespace

AlgorithmChoice parse_algorithm(const std::string& text) {
  const auto open = text.find('(');
  Json json = {{"name", text.substr(0, open)}};
  if (open != text.npos) {
    if (!text.ends_with(')')) throw InputError("must be NAME or NAME(SETTING=VALUE,...)");
    std::string_view settings = std::string_view(text).substr(open + 1, text.size() - open - 2);
    while (!settings.empty()) {
      const std::string_view setting = settings.substr(0, settings.find(','));
      const auto equals = setting.find('=');
      if (equals == setting.npos) throw InputError(fmt::format("\"{}\" must be SETTING=VALUE", setting));
      json[std::string(setting.substr(0, equals))] = value_in(std::string(setting.substr(equals + 1)));
      settings.remove_prefix(std::min(settings.size(), setting.size() + 1));
    }
  }
  Input in;
  AlgorithmChoice choice;
  Form<AlgorithmChoice>::read(json, JsonPath{}, in, choice);
  std::vector<std::string> problems;
  for (const Problem& problem : in.problems)
    problems.push_back(problem.where.empty() ? problem.what : fmt::format("{}: {}", problem.where, problem.what));
  if (!problems.empty()) throw InputError(std::move(problems));
  return choice;
}

Renames renames_in(const std::vector<std::string>& texts) {
  Renames renames;
  std::vector<std::string> problems;
  for (const std::string& text : texts) {
    const auto at = text.find('=');
    if (at == text.npos) {
      problems.push_back(fmt::format("--rename {}: must be MEASURED=OURS", text));
      continue;
    }
    try {
      renames[text.substr(0, at)] = parse_algorithm(text.substr(at + 1));
    } catch (const InputError& error) {
      for (const std::string& problem : error.problems()) problems.push_back(fmt::format("--rename {}: {}", text, problem));
    }
  }
  if (!problems.empty()) throw InputError(std::move(problems));
  return renames;
}

}  // namespace weft

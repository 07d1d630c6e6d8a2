// What keeps the house in order: which folder may include which, and that CONTRIBUTING's lists of what to touch are complete.
#include "kernels/base/error.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weft {
namespace {

namespace fs = std::filesystem;

using Names = std::set<std::string>;

// From the bottom up.
const std::vector<std::string> floors = {"kernels", "collectives", "models", "sim", "validation"};

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  check(in.good(), "{} cannot be read", file.string());
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string without_comments(const std::string& text) { return std::regex_replace(text, std::regex("(^|[^:\"])//[^\n]*"), "$1"); }

struct Source {
  std::string path, text;
  bool test = false;  // or another program beside the product
  std::vector<std::string> includes = {};

  std::string folder() const { return fs::path(path).parent_path().string(); }
  std::size_t floor() const { return static_cast<std::size_t>(std::ranges::find(floors, path.substr(0, path.find('/'))) - floors.begin()); }
};

std::vector<Source> read_sources() {
  const std::regex include("(?:^|\n)#include \"([^\"]+)\"");
  const std::regex beside("_test\\.|_benchmark\\.|/fuzz_|/testing|/conformance|doctest_main");
  std::vector<Source> out;
  for (const std::string& top : floors)
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(WEFT_SOURCE_DIR) / top)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".hpp" && extension != ".cpp" && extension != ".cu") continue;
      Source source{.path = fs::relative(entry.path(), WEFT_SOURCE_DIR).string(), .text = text_of(entry.path())};
      source.test = std::regex_search(source.path, beside);
      for (std::sregex_iterator m(source.text.begin(), source.text.end(), include), end; m != end; ++m) source.includes.push_back((*m)[1]);
      out.push_back(std::move(source));
    }
  std::ranges::sort(out, {}, &Source::path);
  return out;
}

const std::vector<Source>& sources() {
  static const std::vector<Source> all = read_sources();
  return all;
}

// A way from a folder back to itself: "a -> b -> a"; empty if there is none.
std::string cycle_in(const std::map<std::string, Names>& arrows) {
  std::map<std::string, int> seen;  // 1: on the way, 2: done
  std::vector<std::string> way;
  std::string found;
  const std::function<void(const std::string&)> walk = [&](const std::string& folder) {
    seen[folder] = 1;
    way.push_back(folder);
    if (const auto next = arrows.find(folder); next != arrows.end())
      for (const std::string& to : next->second) {
        if (!found.empty()) break;
        if (seen[to] == 1) found = fmt::format("{} -> {}", fmt::join(std::ranges::find(way, to), way.end(), " -> "), to);
        if (seen[to] == 0) walk(to);
      }
    way.pop_back();
    seen[folder] = 2;
  };
  for (const auto& [folder, to] : arrows)
    if (found.empty() && seen[folder] == 0) walk(folder);
  return found;
}

// Where each type of a namespace is defined, but for those of unnamed ones: "weft::bench::Faults" in "collectives/faults.hpp:3".
std::map<std::string, std::vector<std::string>> types_in(const std::vector<Source>& all) {
  const std::regex begin("namespace ?([A-Za-z0-9_:]*) ?\\{"), end("\\} *// namespace.*"),
      type("(?:template ?<.*> )?(?:struct|class|enum class|enum|union) ([A-Za-z0-9_:]+)(?: final)?(?: :[^;]*)? \\{.*");
  std::map<std::string, std::vector<std::string>> out;
  for (const Source& source : all) {
    std::vector<std::string> spaces;
    std::istringstream lines(source.text);
    std::string line;
    std::smatch found;
    for (int number = 1; std::getline(lines, line); ++number) {
      if (line.empty() || std::string_view("nsceut}").find(line.front()) == std::string_view::npos) continue;
      if (std::regex_match(line, found, begin))
        spaces.push_back(found[1]);
      else if (!spaces.empty() && std::regex_match(line, end))
        spaces.pop_back();
      else if (std::ranges::find(spaces, "") == spaces.end() && std::regex_match(line, found, type))
        out[fmt::format("{}::{}", fmt::join(spaces, "::"), found[1].str())].push_back(fmt::format("{}:{}", source.path, number));
    }
  }
  return out;
}

// One way to add something, as CONTRIBUTING tells it: "- **A fabric** (as `dragonfly`): ... `models/fabric/fabric_spec.hpp` ...".
struct Recipe {
  std::string what, example;
  Names files;
};

std::vector<Recipe> recipes() {
  const std::string page = text_of(fs::path(WEFT_SOURCE_DIR) / "CONTRIBUTING.md");
  const std::regex item("\n- \\*\\*([^*]+)\\*\\* \\(as `([a-z0-9_]+)`\\):([^]*?)(?=\n- |\n\n)"),
      file("`([a-z_]+/[A-Za-z0-9_/.]+\\.[a-z]+)`");
  std::vector<Recipe> out;
  for (std::sregex_iterator m(page.begin(), page.end(), item), end; m != end; ++m) {
    Recipe recipe{.what = (*m)[1], .example = (*m)[2], .files = {}};
    const std::string body = (*m)[3];
    for (std::sregex_iterator f(body.begin(), body.end(), file); f != end; ++f) recipe.files.insert((*f)[1]);
    out.push_back(std::move(recipe));
  }
  return out;
}

// "hierarchical_ring" -> "HierarchicalRing"
std::string as_a_type(const std::string& name) {
  std::string out;
  bool upper = true;
  for (const char c : name)
    if (c == '_')
      upper = true;
    else
      out += std::exchange(upper, false) ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
  return out;
}

// The sources that speak of it and are not its own: those that someone who adds a like thing has to touch.
Names files_that_know(const std::string& name) {
  const std::regex word(fmt::format("(^|[^A-Za-z0-9])({0}|{1})(?![A-Za-z0-9])", name, as_a_type(name)));
  Names out;
  for (const Source& source : sources()) {
    const std::string stem = fs::path(source.path).stem().string();
    if (!source.test && !stem.starts_with(name) && std::regex_search(without_comments(source.text), word)) out.insert(source.path);
  }
  return out;
}

TEST_CASE("a folder includes only what lies on its own floor or below") {
  for (const Source& source : sources())
    for (const std::string& included : source.includes) {
      const std::size_t floor = Source{.path = included, .text = {}}.floor();
      if (floor == floors.size()) continue;  // a generated header or one of the same folder
      CAPTURE(source.path);
      CAPTURE(included);
      CHECK(floor <= source.floor());
    }
}

TEST_CASE("no way leads from a folder back to itself") {
  std::map<std::string, Names> arrows;
  for (const Source& source : sources()) {
    if (source.test) continue;
    for (const std::string& included : source.includes) {
      const std::string to = fs::path(included).parent_path().string();
      if (!to.empty() && to != source.folder()) arrows[source.folder()].insert(to);
    }
  }
  CHECK(cycle_in(arrows) == "");
  arrows["kernels/base"].insert("validation");  // and one that there is would be found
  CHECK(cycle_in(arrows) != "");
}

TEST_CASE("no two types of a namespace have the same name, which a linker takes for one") {
  const std::string one =
      "namespace weft {\nnamespace {\nstruct Own {\n}  // namespace\nstruct A final : B {\nstruct C;\n}  // namespace weft\n";
  const auto found = types_in({{.path = "x.hpp", .text = one}, {.path = "y.hpp", .text = one}});
  CHECK(found.size() == 1);
  CHECK(found.at("weft::A") == std::vector<std::string>{"x.hpp:5", "y.hpp:5"});
  for (const auto& found_type : types_in(sources())) {
    CAPTURE(found_type.first);
    CHECK(fmt::format("{}", fmt::join(found_type.second, ", ")) == found_type.second.front());
  }
}

TEST_CASE("every header is included by a source that is compiled") {
  Names included;
  for (const Source& source : sources()) included.insert(source.includes.begin(), source.includes.end());
  for (const Source& source : sources())
    if (source.path.ends_with(".hpp")) {
      CAPTURE(source.path);
      CHECK(included.contains(source.path));
    }
}

TEST_CASE("every source is named by some CMakeLists") {
  std::string lists = text_of(fs::path(WEFT_SOURCE_DIR) / "CMakeLists.txt");
  for (const std::string& top : floors)
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(WEFT_SOURCE_DIR) / top))
      if (entry.path().filename() == "CMakeLists.txt") lists += text_of(entry.path());
  for (const Source& source : sources()) {
    if (source.path.ends_with(".hpp")) continue;
    CAPTURE(source.path);
    CHECK(lists.find(fs::path(source.path).filename().string()) != std::string::npos);
  }
}

TEST_CASE("CONTRIBUTING names every file to touch, and no other, for whoever adds one like the example") {
  const std::vector<Recipe> all = recipes();
  CHECK(all.size() >= 8);
  for (const Recipe& recipe : all) {
    CAPTURE(recipe.what);
    CAPTURE(recipe.example);
    for (const std::string& file : recipe.files)
      if (!fs::exists(fs::path(WEFT_SOURCE_DIR) / file)) FAIL_CHECK(file, " does not exist");
    const Names known = files_that_know(recipe.example);
    Names unsaid, in_vain;
    std::ranges::set_difference(known, recipe.files, std::inserter(unsaid, unsaid.end()));
    std::ranges::set_difference(recipe.files, known, std::inserter(in_vain, in_vain.end()));
    CHECK(fmt::format("{}", unsaid) == "{}");
    CHECK(fmt::format("{}", in_vain) == "{}");
  }
}

}  // namespace
}  // namespace weft

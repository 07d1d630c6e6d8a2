#include "kernels/base/xml.hpp"

#include <charconv>
#include <climits>
#include <memory>

#include <expat.h>

namespace weft {
namespace {

struct Building {
  XML_Parser parser;
  std::vector<XmlElement> open = {};
  std::optional<XmlElement> root = {};
  std::string problem = {};

  int line() const { return static_cast<int>(XML_GetCurrentLineNumber(parser)); }
  void stop(std::string why) {
    problem = fmt::format("line {}: {}", line(), why);
    XML_StopParser(parser, XML_FALSE);
  }
};

void XMLCALL on_start(void* data, const XML_Char* name, const XML_Char** attributes) {
  auto& b = *static_cast<Building*>(data);
  if (b.open.size() >= max_xml_depth) return b.stop(fmt::format("elements are nested more than {} deep", max_xml_depth));
  XmlElement& element = b.open.emplace_back();
  element.name = name;
  element.line = b.line();
  for (; *attributes != nullptr; attributes += 2) element.attributes.emplace_back(attributes[0], attributes[1]);
}

void XMLCALL on_end(void* data, const XML_Char*) {
  auto& b = *static_cast<Building*>(data);
  XmlElement done = std::move(b.open.back());
  b.open.pop_back();
  if (b.open.empty())
    b.root = std::move(done);
  else
    b.open.back().children.push_back(std::move(done));
}

}  // namespace

const std::string* XmlElement::attribute(std::string_view key) const {
  for (const auto& attribute : attributes)
    if (attribute.first == key) return &attribute.second;
  return nullptr;
}

XmlElement read_xml(std::string_view text) {
  if (text.size() > INT_MAX) throw InputError("line 1: is longer than 2 GiB");
  const std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser(XML_ParserCreate(nullptr), &XML_ParserFree);
  if (!parser) throw std::bad_alloc();
  Building building{.parser = parser.get()};
  XML_SetUserData(parser.get(), &building);
  XML_SetElementHandler(parser.get(), on_start, on_end);
  const bool good = XML_Parse(parser.get(), text.data(), static_cast<int>(text.size()), XML_TRUE) == XML_STATUS_OK;
  if (!building.problem.empty()) throw InputError(building.problem);
  if (!good) throw InputError(fmt::format("line {}: is not XML: {}", building.line(), XML_ErrorString(XML_GetErrorCode(parser.get()))));
  return std::move(*building.root);
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || text.empty()) return std::nullopt;
  return value;
}

void LineProblems::refuse() {
  if (lines_.empty()) return;
  if (lines_.size() > most) lines_.back() = "and more";
  throw InputError(std::move(lines_));
}

std::string shown_value(std::string_view value) {
  constexpr std::size_t longest = 60;
  std::string out = "\"";
  for (const char c : value.substr(0, longest)) out += c >= 0x20 && c < 0x7f ? c : '?';
  return out + (value.size() > longest ? "...\"" : "\"");
}

std::string XmlReader::text(const char* key) {
  const std::string* found = element_.attribute(key);
  if (found == nullptr) problems_.add(element_.line, "<{}> has no attribute \"{}\"", element_.name, key);
  return found == nullptr ? "" : *found;
}

std::int64_t XmlReader::number(const char* key, std::int64_t least, std::int64_t most) {
  if (element_.attribute(key) == nullptr) {
    problems_.add(element_.line, "<{}> has no attribute \"{}\"", element_.name, key);
    return least;
  }
  return number_or(key, least, least, most);
}

std::int64_t XmlReader::number_or(const char* key, std::int64_t otherwise, std::int64_t least, std::int64_t most) {
  const std::string* found = element_.attribute(key);
  if (found == nullptr) return otherwise;
  const auto value = whole_number(*found);
  if (value && *value >= least && *value <= most) return *value;
  problems_.add(element_.line, "{} of <{}> must be a whole number, {} to {}, got {}", key, element_.name, least, most, shown_value(*found));
  return otherwise;
}

}  // namespace weft

#include "models/platform/platform_element.hpp"

namespace weft {

namespace {

// "0-15,20": as SimGrid writes the numbers of a cluster's hosts.
std::optional<std::vector<int>> radical(std::string_view text) {
  std::vector<int> out;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view range = text.substr(0, comma);
    const std::size_t dash = range.find('-');
    const auto first = whole_number(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : whole_number(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > 1 << 30) return std::nullopt;
    if (static_cast<std::size_t>(*last - *first) >= max_platform_hosts || out.size() > max_platform_hosts) return std::nullopt;
    for (std::int64_t i = *first; i <= *last; ++i) out.push_back(static_cast<int>(i));
    if (comma == std::string_view::npos) return out;
    text = text.substr(comma + 1);
  }
}

// "2,3": whole numbers above zero.
std::optional<std::vector<int>> numbers(std::string_view text) {
  std::vector<int> out;
  while (true) {
    const std::size_t comma = text.find(',');
    const auto number = whole_number(text.substr(0, comma));
    if (!number || *number < 1 || *number > static_cast<std::int64_t>(max_platform_hosts)) return std::nullopt;
    out.push_back(static_cast<int>(*number));
    if (comma == std::string_view::npos) return out;
    text = text.substr(comma + 1);
  }
}

}  // namespace

std::string PlatformElement::text(const char* attribute) const { return XmlReader(element_, problems_).text(attribute); }

std::string PlatformElement::text_or(const char* attribute, const char* otherwise) const {
  const std::string* found = element_.attribute(attribute);
  return found != nullptr ? *found : otherwise;
}

BitsPerSecond PlatformElement::bandwidth(const char* attribute) const {
  const std::string given = text(attribute);
  const auto value = platform_bandwidth(given);
  if (!value && element_.attribute(attribute) != nullptr)
    refuse("{} of <{}> must be a bandwidth above zero such as \"125MBps\" or \"10Gbps\", got {}", attribute, element_.name,
           shown_value(given));
  return value.value_or(BitsPerSecond{1});
}

SimTime PlatformElement::latency(const char* attribute) const {
  const std::string given = text_or(attribute, "0");
  const auto value = platform_latency(given);
  if (!value) refuse("{} of <{}> must be a time such as \"50us\", got {}", attribute, element_.name, shown_value(given));
  return value.value_or(SimTime{});
}

PlatformElement::Sharing PlatformElement::sharing(const char* attribute, const char* otherwise) const {
  const std::string given = text_or(attribute, otherwise);
  const bool split = given == "SPLITDUPLEX" || given == "FULLDUPLEX";
  if (!split && given != "SHARED" && given != "FATPIPE")
    refuse("{} of <{}> must be SHARED, SPLITDUPLEX or FATPIPE, got {}", attribute, element_.name, shown_value(given));
  return {.split = split, .fatpipe = given == "FATPIPE"};
}

std::optional<std::vector<int>> PlatformElement::host_numbers() const {
  const std::string given = text("radical");
  auto out = radical(given);
  if (!out)
    refuse("radical of <{}> must be numbers and ranges such as \"0-15,20\", of at most {} hosts, got {}", element_.name, max_platform_hosts,
           shown_value(given));
  return out;
}

std::vector<std::vector<int>> PlatformElement::lists(const char* attribute) const {
  const std::string given = text_or(attribute);
  std::vector<std::vector<int>> out;
  for (std::string_view rest = given;;) {
    const std::size_t end = rest.find(';');
    out.push_back(numbers(rest.substr(0, end)).value_or(std::vector<int>{}));
    if (end == std::string_view::npos) return out;
    rest = rest.substr(end + 1);
  }
}

void PlatformElement::refuse_profiles(std::initializer_list<const char*> attributes) const {
  for (const char* attribute : attributes)
    if (has(attribute)) refuse("{} of <{}>: hosts and links that change over time have no meaning here", attribute, element_.name);
}

}  // namespace weft

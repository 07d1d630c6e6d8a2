// The attributes of an element of a SimGrid platform file, as quantities.
#pragma once

#include "kernels/base/xml.hpp"
#include "models/platform/platform_units.hpp"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

inline constexpr std::size_t max_platform_hosts = 1 << 17, max_platform_links = 1 << 22;

// What is wrong is added to `problems` with the element's line, and something harmless is returned.
class PlatformElement {
 public:
  PlatformElement(const XmlElement& element, LineProblems& problems) : element_(element), problems_(problems) {}

  std::string text(const char* attribute) const;  // which must be there
  std::string text_or(const char* attribute, const char* otherwise = "") const;
  bool has(const char* attribute) const { return !text_or(attribute).empty(); }
  BitsPerSecond bandwidth(const char* attribute) const;
  SimTime latency(const char* attribute) const;  // 0 where there is none

  struct Sharing {
    bool split = false, fatpipe = false;
  };
  Sharing sharing(const char* attribute, const char* otherwise) const;

  // The numbers of a cluster's hosts.
  std::optional<std::vector<int>> host_numbers() const;
  // Lists of whole numbers above zero, "2;4,4;1,2;1,2"; an empty list stands for one that is wrong.
  std::vector<std::vector<int>> lists(const char* attribute) const;

  // Attributes that change the element while a simulation runs.
  void refuse_profiles(std::initializer_list<const char*> attributes) const;

  template <class... Values>
  void refuse(fmt::format_string<Values...> text, Values&&... values) const {
    problems_.add(element_.line, text, std::forward<Values>(values)...);
  }

 private:
  const XmlElement& element_;
  LineProblems& problems_;
};

}  // namespace weft

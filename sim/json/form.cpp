#include "sim/json/form.hpp"

namespace weft {

std::string quoted_list(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += fmt::format("{}\"{}\"", out.empty() ? "" : ", ", name);
  return out;
}

std::string unknown_name(std::string_view kind, std::string_view found, const std::vector<std::string>& allowed) {
  std::string out = fmt::format("unknown {} {}", kind, shown(Json(found)));
  if (const auto near = nearest_name(found, allowed)) out += fmt::format(" (did you mean \"{}\"?)", *near);
  return out + "; allowed: " + quoted_list(allowed);
}

}  // namespace weft

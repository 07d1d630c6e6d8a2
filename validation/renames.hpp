// --rename: what a measured algorithm is called here.
#pragma once

#include "kernels/base/error.hpp"

#include <map>
#include <string>
#include <vector>

namespace weft {

// "measured=ours" each. Throws InputError.
inline std::map<std::string, std::string> renames_in(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> renames;
  for (const std::string& text : texts) {
    const auto at = text.find('=');
    if (at == text.npos) throw InputError(fmt::format("--rename {}: must be MEASURED=OURS", text));
    renames[text.substr(0, at)] = text.substr(at + 1);
  }
  return renames;
}

}  // namespace weft

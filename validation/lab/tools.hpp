// Runs iproute2.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::lab {

struct Ended {
  int status = 0;  // 127: it could not be started
  std::string out;
  std::string err;
};

// Runs a program of PATH or the folders of root's tools to its end.
Ended run_tool(const std::vector<std::string>& command, std::string_view input = {});

}  // namespace weft::lab

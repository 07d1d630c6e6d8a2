// What the tests of this folder share: scenarios and other files in a folder of their own, gone at the end.
#pragma once

#include "sim/scenario/files.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

namespace weft {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "weft_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;

  std::filesystem::path file(const std::string& name, const std::string& content) const {
    write_file(path_ / name, content);
    return path_ / name;
  }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// Two nodes on 100 Gb/s, half a microsecond a cable.
inline const std::string pair_scenario = R"({
  "schema": 1, "name": "pair", "fabric": {"type": "star", "nodes": 2, "link": {"bandwidth": "100Gbps", "latency": "500ns"}}, "hardware": "ideal",
  "workload": {"collective": "allreduce", "algorithm": "ring", "size": "1MiB"}})";

inline std::string star_scenario(int nodes) {
  std::string text = pair_scenario;
  text.replace(text.find("\"nodes\": 2"), 10, "\"nodes\": " + std::to_string(nodes));
  return text;
}

template <class F>
std::vector<std::string> problems_of(F&& f) {
  try {
    f();
  } catch (const InputError& error) {
    return error.problems();
  }
  return {};
}

}  // namespace weft

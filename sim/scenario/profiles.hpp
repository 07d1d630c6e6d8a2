// Hardware profiles: NAME.json files in which every number says where it comes from.
#pragma once

#include "models/hardware.hpp"
#include "sim/json/json_text.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace weft {

class ProfileLibrary {
 public:
  // Looks in each folder in turn; folders that do not exist are skipped.
  explicit ProfileLibrary(std::vector<std::filesystem::path> folders) : folders_(std::move(folders)) {}

  // The folders for a scenario file: hardware/ beside it, then the project's own.
  static ProfileLibrary beside(const std::filesystem::path& scenario_file);

  std::vector<std::string> names() const;  // sorted

  // Throws InputError: no such profile, or everything that is wrong with its file.
  const HardwareProfile& load(const std::string& name) const;

  std::filesystem::path file_of(const std::string& name) const;  // empty: no such profile

  // What it stands for; empty where it does not say.
  std::string description(const std::string& name) const;

  // How `weft calibrate` came by it; null if it says nothing of that, or is not there.
  Json calibration(const std::string& name) const;

 private:
  Json value_in(const std::string& name, const char* key) const;  // of its file; null where there is none

  std::vector<std::filesystem::path> folders_;
  mutable std::map<std::string, HardwareProfile> loaded_;
};

// Throws InputError with a line for each problem.
HardwareProfile read_profile(const std::filesystem::path& file);

// What is wrong with a name of none of those allowed, beside the scenario and shipped; where nothing ships, that.
std::string unknown_shipped(std::string_view kind, const std::string& name, const std::vector<std::string>& allowed);

// The scenarios folder that ships (shipped.hpp).
std::filesystem::path project_scenarios();

}  // namespace weft

#include "kernels/files/output_files.hpp"

#include "kernels/base/error.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>

#include <unistd.h>

namespace weft {
namespace {

namespace fs = std::filesystem;

// Also for files that are still to be made.
bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code unknown;
  if (fs::equivalent(a, b, unknown)) return true;
  const fs::path real_a = fs::weakly_canonical(a, unknown);
  if (unknown) return a == b;
  const fs::path real_b = fs::weakly_canonical(b, unknown);
  return unknown ? a == b : real_a == real_b;
}

std::optional<std::string> problem_alone(const OutputFile& output, const std::vector<fs::path>& inputs, bool force) {
  const std::string name = output.file.string();
  for (const fs::path& input : inputs)
    if (same_file(output.file, input)) return fmt::format("{} is read by this command; write to another file", name);
  std::error_code unknown;
  const fs::file_status status = fs::status(output.file, unknown);
  if (!fs::exists(status)) return std::nullopt;
  if (!fs::is_regular_file(status)) return fmt::format("{} exists and is not a regular file; write to another", name);
  if (force) return std::nullopt;
  if (output.replaces && output.replaces(read_beginning(output.file))) return std::nullopt;
  return fmt::format("{} exists and is not {}; write to another place, or give --force to replace it", name, output.what);
}

}  // namespace

std::string read_beginning(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw InputError(fmt::format("{}: cannot be read: {}", file.string(), std::strerror(errno)));
  std::string text(std::size_t{1} << 20, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

void refuse_to_replace(const std::vector<OutputFile>& outputs, const std::vector<fs::path>& inputs, bool force) {
  std::vector<std::string> problems;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::optional<std::string> problem = problem_alone(outputs[i], inputs, force);
    for (std::size_t before = 0; before < i && !problem; ++before)
      if (same_file(outputs[i].file, outputs[before].file))
        problem = fmt::format("{} would be written twice: {} asks for it too", outputs[i].file.string(), outputs[before].argument);
    if (problem) problems.push_back(outputs[i].argument + ": " + *problem);
  }
  if (!problems.empty()) throw InputError(problems);
}

void refuse_missing_folder(const std::string& argument, const fs::path& file) {
  std::error_code unknown;
  const fs::path folder = file.parent_path();
  if (!folder.empty() && !fs::is_directory(folder, unknown))
    throw InputError(fmt::format("{}: there is no folder {}", argument, folder.string()));
}

void refuse_unwritable(const std::vector<OutputFile>& outputs) {
  std::vector<std::string> problems;
  for (const OutputFile& output : outputs) {
    std::error_code failed, ignored;
    fs::path file = fs::weakly_canonical(fs::absolute(output.file), failed);
    if (failed) file = fs::absolute(output.file);
    std::vector<fs::path> made;  // folders, the innermost first
    for (fs::path folder = file.parent_path(); !fs::exists(folder, ignored) && folder.has_relative_path(); folder = folder.parent_path())
      made.push_back(folder);
    const fs::path trial = fmt::format("{}.{}.trial", file.string(), ::getpid());
    failed.clear();
    fs::create_directories(file.parent_path(), failed);
    if (!failed && !std::ofstream(trial)) failed = {errno, std::generic_category()};
    if (failed) problems.push_back(fmt::format("{}: cannot be written: {}", output.argument, failed.message()));
    fs::remove(trial, ignored);
    for (const fs::path& folder : made) fs::remove(folder, ignored);
  }
  if (!problems.empty()) throw InputError(std::move(problems));
}

void refuse_empty_name(const std::string& flag, const std::string& value, const std::string& what) {
  if (value.empty()) throw InputError(fmt::format("{}: must name {}, got \"\"", flag, what));
}

}  // namespace weft

#include "sim/scenario/files.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

namespace weft {

std::string read_file(const std::filesystem::path& file) {
  std::error_code unknown;
  if (std::filesystem::is_directory(file, unknown)) throw InputError(fmt::format("{}: cannot be read: it is a folder", file.string()));
  std::ifstream in(file, std::ios::binary);
  if (!in) throw InputError(fmt::format("{}: cannot be read: {}", file.string(), std::strerror(errno)));
  std::ostringstream content;
  content << in.rdbuf();
  return std::move(content).str();
}

std::string read_file(const std::filesystem::path& file, std::size_t most_bytes) {
  std::error_code unknown;
  const auto bytes = std::filesystem::is_regular_file(file, unknown) ? std::filesystem::file_size(file, unknown) : 0;
  if (!unknown && bytes > most_bytes)
    throw InputError(fmt::format("{}: has {} bytes, at most {} are allowed", file.string(), bytes, most_bytes));
  return read_file(file);
}

void write_file(const std::filesystem::path& file, std::string_view content) {
  check(!content.empty(), "nobody writes an empty {}", file.string());
  const std::filesystem::path temporary = file.string() + ".tmp";
  {
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    out.close();
    if (!out) throw RunError(fmt::format("{}: cannot be written: {}", temporary.string(), std::strerror(errno)));
  }
  std::error_code failed;
  std::filesystem::rename(temporary, file, failed);
  if (failed) throw RunError(fmt::format("{}: cannot be written: {}", file.string(), failed.message()));
}

std::vector<std::string> lines_of(std::string_view file, const std::vector<Problem>& problems) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const Problem& problem : problems) {
    std::string line = fmt::format("{}: {}{}{}", file, problem.where, problem.where.empty() ? "" : ": ", problem.what);
    if (seen.insert(line).second) out.push_back(std::move(line));
  }
  return out;
}

}  // namespace weft

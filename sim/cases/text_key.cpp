#include "sim/cases/text_key.hpp"

#include "collectives/transports/job_secret.hpp"
#include "kernels/files/files.hpp"

#include <cstdint>
#include <span>

#include <fmt/format.h>

namespace weft {
namespace {

namespace fs = std::filesystem;

std::string held_by(const fs::path& file) {
  constexpr std::uintmax_t max_read = 16 << 20;
  std::error_code unknown;
  const std::uintmax_t bytes = fs::file_size(file, unknown);
  if (!unknown && bytes <= max_read) return read_file(file);
  const auto written = fs::last_write_time(file, unknown).time_since_epoch().count();
  return fmt::format("{} {}", bytes, written);
}

}  // namespace

std::string key_of(std::string_view text) {
  std::string out;
  for (const std::byte b : keyed_hash({}, std::as_bytes(std::span(text)))) out += fmt::format("{:02x}", std::to_integer<unsigned>(b));
  return out;
}

std::string key_of(const std::set<fs::path>& files) {
  std::string keys;
  std::error_code none;
  for (const fs::path& named : files) {
    std::set<fs::path> held;
    if (!fs::is_directory(named, none)) held.insert(named);
    if (held.empty())
      for (const fs::directory_entry& entry : fs::directory_iterator(named, none))
        if (entry.is_regular_file(none)) held.insert(entry.path());
    for (const fs::path& file : held) keys += file.filename().string() + " " + key_of(held_by(file)) + "\n";
  }
  return key_of(keys);
}

}  // namespace weft

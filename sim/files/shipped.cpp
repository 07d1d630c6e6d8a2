#include "sim/files/shipped.hpp"

#include <cstdlib>

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/auxv.h>

namespace weft {
namespace {

namespace fs = std::filesystem;

// The program or the shared library that holds this function.
fs::path own_file() {
  std::error_code unknown;
  Dl_info info = {};
  link_map* map = nullptr;
  const bool found = ::dladdr1(reinterpret_cast<void*>(&own_file), &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) != 0;
  const bool library = found && map != nullptr && map->l_name != nullptr && *map->l_name != '\0';
  if (library) return fs::canonical(map->l_name, unknown);
  const fs::path program = fs::canonical("/proc/self/exe", unknown);
  if (!unknown) return program;
  return fs::canonical(reinterpret_cast<const char*>(::getauxval(AT_EXECFN)), unknown);  // without /proc, as some chroots are
}

}  // namespace

fs::path shipped(const std::string& name) {
  std::error_code unknown;
  if (const char* named = std::getenv("WEFT_DATA_DIR"); named != nullptr && *named != '\0') return fs::absolute(named, unknown) / name;
  const fs::path beside = own_file().parent_path();
  for (fs::path folder = beside; !folder.empty(); folder = folder.parent_path()) {
    if (const fs::path found = fs::canonical(folder / "share" / "weft" / name, unknown); !unknown) return found;
    if (folder == folder.root_path()) break;
  }
  return beside / "share" / "weft" / name;
}

std::string missing_shipped(const std::string& name) {
  const fs::path folder = shipped(name);
  std::error_code unknown;
  if (fs::is_directory(folder, unknown)) return {};
  return fmt::format("{}: what ships with Weft is not there; WEFT_DATA_DIR may name the folder that holds \"{}\"", folder.string(), name);
}

}  // namespace weft

#include "sim/results/terminal.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

namespace weft {

std::optional<std::size_t> terminal_width(int descriptor) {
  if (const char* text = std::getenv("COLUMNS")) {
    std::size_t columns = 0;
    const std::string_view whole = text;
    const auto read = std::from_chars(whole.data(), whole.data() + whole.size(), columns);
    if (read.ec == std::errc() && read.ptr == whole.data() + whole.size() && columns > 0) return columns;
  }
  winsize size = {};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

bool terminal_has_colour(int descriptor) {
  const char *no_colour = std::getenv("NO_COLOR"), *kind = std::getenv("TERM");
  if (no_colour && *no_colour) return false;
  if (std::getenv("OMPI_COMM_WORLD_RANK")) return false;  // mpirun gives its ranks a terminal even where its own output is a file
  return ::isatty(descriptor) == 1 && kind && std::string_view(kind) != "dumb";
}

}  // namespace weft

// Reading and writing whole files, with messages fit for a user.
#pragma once

#include "kernels/base/error.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// The whole file; throws InputError "PATH: cannot be read: why".
std::string read_file(const std::filesystem::path& file);
// The same for a file of at most so many bytes: refused when it is longer.
std::string read_file(const std::filesystem::path& file, std::size_t max_bytes);

// Replaces the file in one go: written beside under a name of its own, then renamed; nothing is left beside when that fails.
// Through a symbolic link the file it points to. Throws RunError.
void write_file(const std::filesystem::path& file, std::string_view content);

// The folder in which the file lies, and those in which that one does, where they are missing.
void make_folder_of(const std::filesystem::path& file);

// "FILE: /pointer: text", each once, in the order found.
std::vector<std::string> lines_of(std::string_view file, const std::vector<Problem>& problems);

}  // namespace weft

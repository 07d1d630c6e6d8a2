// By what texts and files are known again.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>

namespace weft {

// A hash of any text, 64 hexadecimal digits.
std::string key_of(std::string_view text);

// Of the names of these files, and of those in folders, and of what they hold: of more than 16 MiB of how much, and when it was written.
std::string key_of(const std::set<std::filesystem::path>& files);

}  // namespace weft

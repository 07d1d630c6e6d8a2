// What a number on the command line may be, for CLI::Option::check(): it says so where something else is written.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <CLI/CLI.hpp>

namespace weft {

using NumberCheck = std::function<std::string(const std::string& written)>;

NumberCheck whole_number(std::int64_t least, std::int64_t most);
NumberCheck number_above_zero();

// An option of an unsigned number: CLI11 itself takes -1 for the largest that there is.
CLI::Option* add_unsigned(CLI::App& command, const std::string& flag, std::uint64_t& value, const std::string& does);

}  // namespace weft

// What a number on the command line may be, for CLI::Option::check(): it says so where something else is written.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace weft {

using NumberCheck = std::function<std::string(const std::string& written)>;

NumberCheck whole_number(std::int64_t least, std::int64_t most);
NumberCheck number_above_zero();

}  // namespace weft

#include "sim/cli/numbers.hpp"

#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>

namespace weft {
namespace {

template <class T>
std::optional<T> number_in(const std::string& written) {
  T value{};
  const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), value);
  if (error != std::errc{} || end != written.data() + written.size()) return std::nullopt;
  return value;
}

}  // namespace

NumberCheck whole_number(std::int64_t least, std::int64_t most) {
  return [least, most](const std::string& written) -> std::string {
    const auto value = number_in<std::int64_t>(written);
    if (value && *value >= least && *value <= most) return "";
    return fmt::format("must be a whole number from {} to {}, got {}", least, most, written);
  };
}

NumberCheck number_above_zero() {
  return [](const std::string& written) -> std::string {
    const auto value = number_in<double>(written);
    if (value && *value > 0 && std::isfinite(*value)) return "";
    return fmt::format("must be a number of more than 0, got {}", written);
  };
}

CLI::Option* add_unsigned(CLI::App& command, const std::string& flag, std::uint64_t& value, const std::string& does) {
  const auto read = [&value](const CLI::results_t& written) {
    const auto number = number_in<std::uint64_t>(written.back());
    value = number.value_or(value);
    return number.has_value();
  };
  return command.add_option(flag, read, does)->type_name("N");
}

}  // namespace weft

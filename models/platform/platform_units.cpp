#include "models/platform/platform_units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace weft {
namespace {

struct Quantity {
  double number = 0;
  std::string_view unit;
};

std::optional<Quantity> split(std::string_view text) {
  Quantity out;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out.number);
  if (error != std::errc{} || !std::isfinite(out.number) || out.number < 0) return std::nullopt;
  out.unit = {stop, static_cast<std::size_t>(end - stop)};
  return out;
}

// Of what is before "bps" or "Bps".
std::optional<double> prefix(std::string_view text) {
  constexpr std::string_view letters = "kMGTPE", binary = "KMGTPE";
  if (text.empty()) return 1.0;
  const bool is_binary = text.size() == 2 && text[1] == 'i';
  if (text.size() > 1 && !is_binary) return std::nullopt;
  const std::size_t power = (is_binary ? binary : letters).find(text[0]);
  if (power == std::string_view::npos) return std::nullopt;
  return std::pow(is_binary ? 1024.0 : 1000.0, static_cast<double>(power + 1));
}

}  // namespace

std::optional<BitsPerSecond> platform_bandwidth(std::string_view text) {
  const auto quantity = split(text);
  if (!quantity) return std::nullopt;
  std::string_view unit = quantity->unit;
  if (unit.empty()) unit = "Bps";
  if (!unit.ends_with("bps") && !unit.ends_with("Bps")) return std::nullopt;
  const auto times = prefix(unit.substr(0, unit.size() - 3));
  if (!times) return std::nullopt;
  const double bits = quantity->number * *times * (unit.ends_with("Bps") ? 8 : 1);
  constexpr double most = 1e18;
  if (!(bits >= 1) || bits > most) return std::nullopt;
  return BitsPerSecond{std::llround(bits)};
}

std::optional<SimTime> platform_latency(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 10> units = {{{"", 1e12},
                                                                          {"s", 1e12},
                                                                          {"ms", 1e9},
                                                                          {"us", 1e6},
                                                                          {"ns", 1e3},
                                                                          {"ps", 1},
                                                                          {"m", 60e12},
                                                                          {"h", 3600e12},
                                                                          {"d", 86400e12},
                                                                          {"w", 604800e12}}};
  const auto quantity = split(text);
  if (!quantity) return std::nullopt;
  for (const auto& [unit, ps] : units) {
    constexpr double most = 1e17;  // a day
    if (unit != quantity->unit) continue;
    const double all = quantity->number * ps;
    return all > most ? std::nullopt : std::optional(SimTime{std::llround(all)});
  }
  return std::nullopt;
}

}  // namespace weft

#include "kernels/base/units.hpp"

#include "kernels/base/beyond_time.hpp"
#include "kernels/base/error.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <numeric>
#include <optional>
#include <span>

namespace weft {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t scale;   // in the smallest unit of the dimension
  bool printed = true;  // false: read, but never written
};

struct Dimension {
  std::string_view name;      // "a time"
  std::string_view smallest;  // "picoseconds"
  std::string_view example;   // the unit an error proposes
  std::span<const Unit> units;
};

constexpr std::array time_units{Unit{"s", 1'000'000'000'000}, Unit{"ms", 1'000'000'000}, Unit{"us", 1'000'000}, Unit{"ns", 1'000},
                                Unit{"ps", 1}};
constexpr std::array byte_units{Unit{"B", 1},      Unit{"KiB", 1 << 10},  Unit{"MiB", 1 << 20},     Unit{"GiB", 1 << 30},
                                Unit{"KB", 1'000}, Unit{"MB", 1'000'000}, Unit{"GB", 1'000'000'000}};
constexpr std::array bandwidth_units{Unit{"Gbps", 1'000'000'000},        Unit{"Mbps", 1'000'000},       Unit{"Kbps", 1'000}, Unit{"bps", 1},
                                     Unit{"GBps", 8'000'000'000, false}, Unit{"MBps", 8'000'000, false}};

constexpr Dimension time_dimension{"a time", "picoseconds", "us", time_units};
constexpr Dimension byte_dimension{"a size", "bytes", "KiB", byte_units};
constexpr Dimension bandwidth_dimension{"a bandwidth", "bits per second", "Gbps", bandwidth_units};

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

bool same_but_for_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

std::string unit_names(const Dimension& dimension) {
  std::string names;
  for (const Unit& unit : dimension.units) names += fmt::format("{}{}", names.empty() ? "" : " ", unit.name);
  return names;
}

// What is often written, and stands for so many of a unit that there is.
struct Larger {
  std::string_view name, of;
  std::int64_t factor;
};
constexpr std::array larger_units{Larger{"Tbps", "Gbps", 1'000}, Larger{"TBps", "GBps", 1'000}, Larger{"TB", "GB", 1'000},
                                  Larger{"TiB", "GiB", 1'024},   Larger{"min", "s", 60},        Larger{"h", "s", 3'600}};

std::int64_t parse(std::string_view text, const Dimension& dimension);
std::string print(std::int64_t value, const Dimension& dimension);

// "1000Gbps" of "1" and "Tbps"; nothing where that is no such unit of the dimension, or would be too much.
std::optional<std::string> in_known_unit(std::string_view number, std::string_view name, const Dimension& dimension) {
  const auto larger = std::find_if(larger_units.begin(), larger_units.end(), [&](const Larger& l) {
    return l.name == name && std::any_of(dimension.units.begin(), dimension.units.end(), [&](const Unit& u) { return u.name == l.of; });
  });
  if (larger == larger_units.end()) return std::nullopt;
  try {
    const std::int64_t value = parse(fmt::format("{}{}", number, larger->of), dimension);
    return value <= most / larger->factor ? std::optional(print(value * larger->factor, dimension)) : std::nullopt;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

// The unit called `name`, or an error that proposes one: the same letters in another case, else the dimension's example.
const Unit& unit_named(std::string_view name, std::string_view text, std::string_view number, const Dimension& dimension) {
  if (name.empty()) throw InputError(fmt::format("\"{}\" has no unit: write for example \"{}{}\"", text, number, dimension.example));
  for (const Unit& unit : dimension.units)
    if (unit.name == name) return unit;
  const auto near =
      std::find_if(dimension.units.begin(), dimension.units.end(), [&](const Unit& u) { return same_but_for_case(u.name, name); });
  const std::string_view proposed = near == dimension.units.end() ? dimension.example : near->name;
  throw InputError(fmt::format("\"{}\" has the unknown unit \"{}\": write one of {}, for example \"{}\"", text, name, unit_names(dimension),
                               in_known_unit(number, name, dimension).value_or(fmt::format("{}{}", number, proposed))));
}

// 0.`digits` x scale, if that is a whole number. The scale has at most 30 factors of two and fewer of five, so a fraction
// of more than 30 digits that does not end in 0 never is; for the others, cancelling first keeps the product in 128 bits.
std::optional<Int128> fraction_of(std::string_view digits, std::int64_t scale) {
  while (!digits.empty() && digits.back() == '0') digits.remove_suffix(1);
  if (digits.size() > 30) return std::nullopt;
  Int128 numerator = 0, denominator = 1, factor = scale;
  for (const char digit : digits) {
    numerator = numerator * 10 + (digit - '0');
    denominator *= 10;
  }
  for (const int prime : {2, 5})
    while (factor % prime == 0 && denominator % prime == 0) factor /= prime, denominator /= prime;
  if (numerator % denominator != 0) return std::nullopt;
  return numerator / denominator * factor;
}

std::int64_t parse(std::string_view text, const Dimension& dimension) {
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest.front() == '-';
  if (negative) rest.remove_prefix(1);
  const std::string_view number_begin = rest;
  const std::string_view whole = take_digits(rest);
  std::string_view fraction;
  bool well_formed = !whole.empty();
  if (!rest.empty() && rest.front() == '.') {
    rest.remove_prefix(1);
    fraction = take_digits(rest);
    well_formed = well_formed && !fraction.empty();
  }
  const std::string_view number = number_begin.substr(0, number_begin.size() - rest.size());
  if (rest.size() > 1 && rest.front() == ' ') rest.remove_prefix(1);
  const bool goes_on = std::any_of(rest.begin(), rest.end(), [](char c) { return is_digit(c) || c == ','; });  // "1e3B", "1,000B"
  if (!well_formed || goes_on)
    throw InputError(
        fmt::format("\"{}\" is not {}: write a decimal number and a unit, for example \"100{}\"", text, dimension.name, dimension.example));
  if (negative) throw InputError(fmt::format("\"{}\" is negative: write {} of 0 or more", text, dimension.name));
  const Unit& unit = unit_named(rest, text, number, dimension);

  const std::optional<Int128> part = fraction_of(fraction, unit.scale);
  if (!part) throw InputError(fmt::format("\"{}\" is not a whole number of {}", text, dimension.smallest));
  Int128 value = 0;
  for (const char digit : whole) value = std::min<Int128>(value * 10 + (digit - '0'), Int128{most} + 1);
  value = value * unit.scale + *part;
  if (value > most) throw InputError(fmt::format("\"{}\" is too large: {} is at most {}", text, dimension.name, print(most, dimension)));
  return static_cast<std::int64_t>(value);
}

// value / scale as a decimal without trailing zeros: exact, because a scale divides a power of ten.
std::string decimal(std::uint64_t value, std::uint64_t scale) {
  std::string text = std::to_string(value / scale);
  std::uint64_t rest = value % scale;
  if (rest != 0) text += '.';
  for (; rest != 0; rest = rest * 10 % scale) text += static_cast<char>('0' + rest * 10 / scale);
  return text;
}

// Of equally short texts the one without a point is the more readable: "500ns", not "0.5us".
std::string print(std::int64_t value, const Dimension& dimension) {
  const std::uint64_t magnitude = value < 0 ? -static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  std::string best;
  for (const Unit& unit : dimension.units) {
    if (!unit.printed) continue;
    const std::string text = decimal(magnitude, static_cast<std::uint64_t>(unit.scale)) + std::string(unit.name);
    const bool shorter = best.empty() || text.size() < best.size();
    const bool plainer = text.size() == best.size() && best.find('.') != std::string::npos && text.find('.') == std::string::npos;
    if (shorter || plainer) best = text;
  }
  return value < 0 ? "-" + best : best;
}

}  // namespace

void throw_beyond_time() { throw BeyondTime(); }

SimTime parse_time(std::string_view text) { return {parse(text, time_dimension)}; }
Bytes parse_bytes(std::string_view text) { return {parse(text, byte_dimension)}; }
BitsPerSecond parse_bandwidth(std::string_view text) { return {parse(text, bandwidth_dimension)}; }

std::string to_string(SimTime time) { return print(time.ps, time_dimension); }
std::string to_string(Bytes bytes) { return print(bytes.count, byte_dimension); }
std::string to_string(BitsPerSecond rate) { return print(rate.count, bandwidth_dimension); }

}  // namespace weft

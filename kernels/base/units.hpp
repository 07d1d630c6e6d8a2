// Quantities as types: what carries a dimension cannot be added to what carries another.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

__extension__ typedef __int128 Int128;

// Of picoseconds, neither negative: exact, or INT64_MAX, which stands for "never", where the sum is no smaller.
constexpr std::int64_t later(std::int64_t ps, std::int64_t after_ps) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(ps, after_ps, &sum) ? INT64_MAX : sum;
}

// Time since the start of the simulation, or a duration, in integer picoseconds: 106 days fit. Sums are exact, but what lies
// beyond those days, as a sum or a multiple, is never(): no event can be scheduled there (require_in_time). The one place that
// rounds is a transfer's duration (bytes / bandwidth), which is divided once and rounded up.
struct SimTime {
  std::int64_t ps = 0;
  friend constexpr auto operator<=>(SimTime, SimTime) = default;
  friend constexpr SimTime operator+(SimTime a, SimTime b) { return {later(a.ps, b.ps)}; }
  friend constexpr SimTime operator-(SimTime a, SimTime b) { return {a.ps - b.ps}; }
  friend constexpr SimTime operator*(std::int64_t n, SimTime t) {
    std::int64_t product = 0;
    return {__builtin_mul_overflow(n, t.ps, &product) ? INT64_MAX : product};
  }
  friend constexpr SimTime operator*(SimTime t, std::int64_t n) { return n * t; }
  constexpr SimTime& operator+=(SimTime t) { return *this = *this + t; }
  constexpr double seconds() const { return static_cast<double>(ps) * 1e-12; }
  constexpr double microseconds() const { return static_cast<double>(ps) * 1e-6; }
  static constexpr SimTime never() { return {INT64_MAX}; }
};

// Throws RunError, saying that simulated time would pass 106 days.
[[noreturn]] void throw_beyond_time();

// For whoever schedules an event.
inline void require_in_time(std::int64_t date_ps) {
  if (date_ps == INT64_MAX) [[unlikely]]
    throw_beyond_time();
}

struct Bytes {
  std::int64_t count = 0;
  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.count + b.count}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.count - b.count}; }
  friend constexpr Bytes operator*(std::int64_t n, Bytes b) { return {n * b.count}; }
  friend constexpr Bytes operator*(Bytes b, std::int64_t n) { return {n * b.count}; }
  constexpr Bytes& operator+=(Bytes b) { return count += b.count, *this; }
};

struct BitsPerSecond {
  std::int64_t count = 0;
  friend constexpr auto operator<=>(BitsPerSecond, BitsPerSecond) = default;
  friend constexpr BitsPerSecond operator*(std::int64_t n, BitsPerSecond b) { return {n * b.count}; }
  constexpr double bytes_per_second() const { return static_cast<double>(count) / 8.0; }
};

// Of a message or a flow: a day at 100 Gb/s, and a fabric's worth of them can still be counted.
constexpr Bytes max_message{std::int64_t{1} << 50};

// The time to put `bytes` on a wire of this rate (more than 0): exact in 128 bits, then rounded up to a picosecond. What
// lasts longer than a SimTime holds lasts for ever.
constexpr SimTime operator/(Bytes bytes, BitsPerSecond rate) {
  const Int128 bit_ps = Int128{bytes.count} * 8'000'000'000'000;
  const Int128 ps = (bit_ps + rate.count - 1) / rate.count;
  return ps < INT64_MAX ? SimTime{static_cast<std::int64_t>(ps)} : SimTime::never();
}

inline namespace literals {
constexpr SimTime operator""_ps(unsigned long long n) { return {static_cast<std::int64_t>(n)}; }
constexpr SimTime operator""_ns(unsigned long long n) { return {static_cast<std::int64_t>(n) * 1'000}; }
constexpr SimTime operator""_us(unsigned long long n) { return {static_cast<std::int64_t>(n) * 1'000'000}; }
constexpr SimTime operator""_ms(unsigned long long n) { return {static_cast<std::int64_t>(n) * 1'000'000'000}; }
constexpr SimTime operator""_s(unsigned long long n) { return {static_cast<std::int64_t>(n) * 1'000'000'000'000}; }
constexpr Bytes operator""_B(unsigned long long n) { return {static_cast<std::int64_t>(n)}; }
constexpr Bytes operator""_KB(unsigned long long n) { return {static_cast<std::int64_t>(n) * 1'000}; }
constexpr Bytes operator""_MB(unsigned long long n) { return {static_cast<std::int64_t>(n) * 1'000'000}; }
constexpr Bytes operator""_GB(unsigned long long n) { return {static_cast<std::int64_t>(n) * 1'000'000'000}; }
constexpr Bytes operator""_KiB(unsigned long long n) { return {static_cast<std::int64_t>(n) << 10}; }
constexpr Bytes operator""_MiB(unsigned long long n) { return {static_cast<std::int64_t>(n) << 20}; }
constexpr Bytes operator""_GiB(unsigned long long n) { return {static_cast<std::int64_t>(n) << 30}; }
constexpr BitsPerSecond operator""_Mbps(unsigned long long n) { return {static_cast<std::int64_t>(n) * 1'000'000}; }
constexpr BitsPerSecond operator""_Gbps(unsigned long long n) { return {static_cast<std::int64_t>(n) * 1'000'000'000}; }
constexpr BitsPerSecond operator""_GBps(unsigned long long n) { return {static_cast<std::int64_t>(n) * 8'000'000'000}; }
}  // namespace literals

static_assert(1_MB / 100_Gbps == 80_us);

// Parsing takes a decimal number and a unit, with or without a space: "100Gbps", "0.5us", "256KiB". Throws InputError
// saying what was found and what to write: no unit, an unknown unit, a negative value, more than the type holds, or a
// value that is not a whole number of bytes, bits per second or picoseconds.
SimTime parse_time(std::string_view text);             // s ms us ns ps
Bytes parse_bytes(std::string_view text);              // B KiB MiB GiB KB MB GB
BitsPerSecond parse_bandwidth(std::string_view text);  // Gbps Mbps Kbps bps GBps MBps

// The shortest text that parses back to the same value: "256KiB", "1.5us", "100Gbps".
std::string to_string(SimTime);
std::string to_string(Bytes);
std::string to_string(BitsPerSecond);

}  // namespace weft

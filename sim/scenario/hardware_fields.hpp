// The hardware profile in a scenario ({"profile": NAME, overrides...}) and in a profile file ({"value", "source"} each).
#pragma once

#include "models/hardware.hpp"
#include "sim/json/fields.hpp"

namespace weft {

// The word that stands for a value: "unlimited" for a rate of 0, "never" for a threshold that no message reaches, or the name of another
// rate that holds instead.
template <class T, std::int64_t number, const char* text>
struct WordFor {
  static constexpr T value{number};
  static constexpr const char* word = text;
};
inline constexpr char word_unlimited[] = "unlimited";
inline constexpr char word_never[] = "never";
inline constexpr char word_reduce_rate[] = "reduce_rate";
inline constexpr char word_reduce_rate_beyond_cache[] = "reduce_rate_beyond_cache";
inline constexpr char word_copy_rate[] = "copy_rate";
inline constexpr char word_copy_rate_beyond_cache[] = "copy_rate_beyond_cache";

using RateOrUnlimited = OrWord<BitsPerSecond, WordFor<BitsPerSecond, 0, word_unlimited>>;
using SizeOrNever = OrWord<Bytes, WordFor<Bytes, INT64_MAX, word_never>>;
template <const char* other>
using RateOrThat = OrWord<BitsPerSecond, WordFor<BitsPerSecond, 0, other>>;

template <>
struct Names<SendQueue> {
  static constexpr const char* kind = "send queue";
  static const std::vector<std::pair<SendQueue, std::string>>& values();
};
template <>
struct Names<BiasesOf> {
  static constexpr const char* kind = "kind of calls";
  static const std::vector<std::pair<BiasesOf, std::string>>& values();
};
template <>
struct Names<MpiLibrary> {
  static constexpr const char* kind = "library";
  static const std::vector<std::pair<MpiLibrary, std::string>>& values();
};
template <>
struct Declared<CostAtSize> {
  static Declaration<CostAtSize> declaration();
};
template <>
struct Form<CostsBySize> : Form<std::vector<CostAtSize>> {
  static Json write(const CostsBySize& costs) { return Form<std::vector<CostAtSize>>::write(costs.all()); }
  static bool read(const Json& json, const JsonPath& where, Input& in, CostsBySize& out) {
    std::vector<CostAtSize> all;
    const bool good = Form<std::vector<CostAtSize>>::read(json, where, in, all);
    out = std::move(all);
    return good;
  }
};

template <>
struct Declared<HardwareProfile> {
  static Declaration<HardwareProfile> declaration();
};

// The source of a value that the scenario gives itself.
inline constexpr const char* given_in_the_scenario = "given in the scenario";

// A profile by name, or an object that starts from one and overrides some of its parameters.
struct HardwareForm {
  static std::string wanted() { return "the name of a hardware profile, or an object with \"profile\" and overrides"; }
  static Json schema();
  static Json write(const HardwareProfile& profile) { return Form<HardwareProfile>::write(profile); }
  static bool read(const Json&, const JsonPath&, Input&, HardwareProfile&);
};

}  // namespace weft

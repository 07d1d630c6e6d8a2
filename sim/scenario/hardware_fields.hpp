// The hardware profile in a scenario ({"profile": NAME, overrides...}) and in a profile file ({"value", "source"} each).
#pragma once

#include "models/hardware.hpp"
#include "sim/scenario/fields.hpp"

namespace weft {

struct NeverRendezvous {
  static constexpr Bytes value{INT64_MAX};
  static constexpr const char* word = "never";
};
struct InstantReduction {
  static constexpr BitsPerSecond value{0};
  static constexpr const char* word = "unlimited";
};
struct AlwaysInCache {
  static constexpr Bytes value{INT64_MAX};
  static constexpr const char* word = "never";
};
struct UnlimitedStream {
  static constexpr BitsPerSecond value{0};
  static constexpr const char* word = "unlimited";
};
struct UnstagedMessages {
  static constexpr BitsPerSecond value{0};
  static constexpr const char* word = "unlimited";
};
struct InstantCopy {
  static constexpr BitsPerSecond value{0};
  static constexpr const char* word = "unlimited";
};
struct CopiesBeyondCacheAlike {
  static constexpr BitsPerSecond value{0};
  static constexpr const char* word = "copy_rate";
};
struct ReducesInMemoryAlike {
  static constexpr BitsPerSecond value{0};
  static constexpr const char* word = "reduce_rate_beyond_cache";
};
struct CopiesInMemoryAlike {
  static constexpr BitsPerSecond value{0};
  static constexpr const char* word = "copy_rate_beyond_cache";
};
struct SameBeyondCache {
  static constexpr BitsPerSecond value{0};
  static constexpr const char* word = "reduce_rate";
};

template <>
struct Names<SendQueue> {
  static constexpr const char* kind = "send queue";
  static const std::vector<std::pair<SendQueue, std::string>>& values();
};
template <>
struct Declared<CostAtSize> {
  static Declaration<CostAtSize> declaration();
};

template <>
struct Declared<HardwareProfile> {
  static Declaration<HardwareProfile> declaration();
};

// A profile by name, or an object that starts from one and overrides some of its parameters.
struct HardwareForm {
  static std::string wanted() { return "the name of a hardware profile, or an object with \"profile\" and overrides"; }
  static Json schema();
  static Json write(const HardwareProfile& profile) { return Form<HardwareProfile>::write(profile); }
  static bool read(const Json&, const Place&, Input&, HardwareProfile&);
};

}  // namespace weft

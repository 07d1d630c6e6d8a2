#include "collectives/executors/transport.hpp"

#include "kernels/base/error.hpp"

#include <cstring>

#include <fmt/format.h>

namespace weft {
namespace {

constexpr int channel_bits = 12, step_bits = 26, position_bits = 26;
static_assert(channel_bits + step_bits + position_bits == 64);

constexpr Tag low_bits(Tag tag, int bits) { return tag & ((Tag{1} << bits) - 1); }

}  // namespace

Tag tag_of(MessageName m) {
  check(m.channel < 1 << channel_bits && m.step < 1 << step_bits && m.position < 1u << position_bits,
        "channel {}, step {}, position {} do not fit a tag", m.channel, m.step, m.position);
  return (static_cast<Tag>(m.channel) << step_bits | static_cast<Tag>(m.step)) << position_bits | m.position;
}

MessageName name_of(Tag tag) {
  return {.channel = static_cast<int>(tag >> (step_bits + position_bits)),
          .step = static_cast<int>(low_bits(tag >> position_bits, step_bits)),
          .position = static_cast<std::uint32_t>(low_bits(tag, position_bits))};
}

void Transport::copy(ByteSpan into, ByteView from) {
  if (!into.empty() && into.data() != nullptr) std::memcpy(into.data(), from.data(), into.size());
}

std::string to_string(MessageName m) {
  const std::string place = fmt::format("step {}, message {}", m.step, m.position);
  return m.channel == 0 ? place : fmt::format("channel {}, {}", m.channel, place);
}

}  // namespace weft

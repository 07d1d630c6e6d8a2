// Messages whose sizes the receiver does not know: each behind a header that says what it is and how long.
#pragma once

#include "collectives/executors/transport.hpp"

#include <cstdint>
#include <optional>

namespace weft {

struct FrameHeader {
  std::uint64_t what = 0;  // as sender and receiver agreed
  std::uint64_t size = 0;  // bytes
};

// The sender's side; each waits until it has left.
void send_frame(Transport& transport, Rank to, std::uint64_t what, ByteView bytes);
void send_heartbeat(Transport& transport, Rank to);  // keeps waits from ending where there is nothing to say
void send_farewell(Transport& transport, Rank to);   // the last one

// The header of the next frame, whose bytes receive_body() must then take; nullopt once the sender said farewell.
std::optional<FrameHeader> receive_header(Transport& transport, Rank from);
void receive_body(Transport& transport, Rank from, ByteSpan into);

}  // namespace weft

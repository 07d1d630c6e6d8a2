#include "collectives/training/frames.hpp"

#include <span>

namespace weft {
namespace {

enum class FrameKind : std::uint64_t { heartbeat, content, farewell };

struct WireHeader {
  FrameKind kind = FrameKind::heartbeat;
  FrameHeader header;
};

constexpr Tag header_tag = 0, body_tag = 1;

void send_header(Transport& transport, Rank to, const WireHeader& header) {
  transport.send(to, header_tag, std::as_bytes(std::span(&header, 1)));
}

}  // namespace

void send_frame(Transport& transport, Rank to, std::uint64_t what, ByteView bytes) {
  const WireHeader header{FrameKind::content, {what, bytes.size()}};
  send_header(transport, to, header);
  if (!bytes.empty()) transport.send(to, body_tag, bytes);
  transport.wait();
}

void send_heartbeat(Transport& transport, Rank to) {
  const WireHeader header{FrameKind::heartbeat, {}};
  send_header(transport, to, header);
  transport.wait();
}

void send_farewell(Transport& transport, Rank to) {
  const WireHeader header{FrameKind::farewell, {}};
  send_header(transport, to, header);
  transport.wait();
}

std::optional<FrameHeader> receive_header(Transport& transport, Rank from) {
  for (;;) {
    WireHeader got{};
    transport.receive(from, header_tag, std::as_writable_bytes(std::span(&got, 1)));
    transport.wait();
    if (got.kind == FrameKind::content) return got.header;
    if (got.kind == FrameKind::farewell) return std::nullopt;
  }
}

void receive_body(Transport& transport, Rank from, ByteSpan into) {
  if (into.empty()) return;
  transport.receive(from, body_tag, into);
  transport.wait();
}

}  // namespace weft

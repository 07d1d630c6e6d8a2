#include "sim/farm/connection.hpp"

#include <array>
#include <cstdint>
#include <cstring>

namespace weft {
namespace {

// What goes before the text.
struct Head {
  std::uint64_t kind = 0, batch = 0, number = 0, bytes = 0;
};
constexpr std::uint64_t longest = std::uint64_t{1} << 34;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

void FarmConnection::send(const FarmMessage& message) {
  const Head head{
      .kind = static_cast<std::uint64_t>(message.kind), .batch = message.batch, .number = message.number, .bytes = message.text.size()};
  if (all_sent()) out_.clear(), sent_ = 0;
  out_.append(reinterpret_cast<const char*>(&head), sizeof head).append(message.text);
}

bool FarmConnection::write() {
  while (!all_sent()) {
    const auto put = socket_.write_some(bytes_of(std::string_view(out_).substr(sent_)), {});
    if (!put) return false;
    if (*put == 0) return true;
    sent_ += *put;
  }
  return true;
}

bool FarmConnection::read() {
  std::array<std::byte, 1 << 16> some;
  for (;;) {
    const auto got = socket_.read_some(some);
    if (!got) return false;
    if (*got == 0) return true;
    in_.append(reinterpret_cast<const char*>(some.data()), *got);
  }
}

bool FarmConnection::attend() {
  const bool sends = write(), receives = read();  // what came before the end is read even where nothing can be sent any more
  return sends && receives && !broken_;
}

std::optional<FarmMessage> FarmConnection::next() {
  Head head;
  if (broken_ || in_.size() - taken_ < sizeof head) return std::nullopt;
  std::memcpy(&head, in_.data() + taken_, sizeof head);
  if (head.bytes > longest) {
    broken_ = true;
    return std::nullopt;
  }
  if (in_.size() - taken_ - sizeof head < head.bytes) return std::nullopt;
  FarmMessage out{.kind = static_cast<FarmMessage::Kind>(head.kind),
                  .batch = head.batch,
                  .number = head.number,
                  .text = in_.substr(taken_ + sizeof head, head.bytes)};
  taken_ += sizeof head + head.bytes;
  if (taken_ == in_.size()) in_.clear(), taken_ = 0;
  return out;
}

}  // namespace weft

#include "collectives/transports/tcp_control.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace weft {
namespace {

constexpr std::size_t longest_reason = 64 * 1024;              // why a run ended, as far as it is listened to
constexpr std::uint32_t waiting_bit = std::uint32_t{1} << 31;  // in the length of what is said: a rank waits, and goes on

}  // namespace

TcpControl::TcpControl(Rank rank, std::vector<Socket> connections, TcpSettings settings) : rank_(rank), settings_(std::move(settings)) {
  for (Socket& s : connections) peers_.emplace_back(std::move(s));
}

void TcpControl::end_run(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (failed_) return;
  reason_ = why;
  failed_ = true;
  for (Peer& p : peers_) tell(p, why);
}

// A length and so much text; nothing but a length of 0 is the farewell.
void TcpControl::tell(Peer& p, std::string_view text, std::uint32_t kind) {
  if (!p.control.open() || p.jammed) return;
  const auto size = static_cast<std::uint32_t>(text.size()) | kind;
  const auto put = p.control.write_some(std::as_bytes(std::span(&size, 1)), std::as_bytes(std::span(text)));
  p.jammed = !put || *put < sizeof size + text.size();
}

void TcpControl::tell_waiting(std::int32_t channel, const std::string& what) {
  const std::lock_guard lock(mutex_);
  std::string text(reinterpret_cast<const char*>(&channel), sizeof channel);
  text += what;
  for (Peer& p : peers_)
    if (!p.finished) tell(p, text, waiting_bit);
}

void TcpControl::say_farewell() {
  const std::lock_guard lock(mutex_);
  for (Peer& p : peers_) tell(p, "");
}

std::string TcpControl::others() {
  const std::lock_guard lock(mutex_);
  std::string all;
  for (std::size_t r = 0; r < peers_.size(); ++r) {
    const Peer& p = peers_[r];
    if (static_cast<Rank>(r) == rank_ || p.finished) continue;
    for (const auto& [channel, what] : p.waits) all += fmt::format("\n{} waits for {}", name(static_cast<Rank>(r)), what);
    if (p.waits.empty())
      all += fmt::format("\n{} does not say that it waits: it has not come so far, or hangs", name(static_cast<Rank>(r)));
  }
  return all;
}

int TcpControl::descriptor(Rank rank) const {
  const Peer& p = peers_[static_cast<std::size_t>(rank)];
  return p.silent ? -1 : p.control.descriptor();
}

void TcpControl::listen(Rank from) {
  std::string news;
  {
    const std::lock_guard lock(mutex_);
    Peer& p = peers_[static_cast<std::size_t>(from)];
    if (p.silent) return;
    std::array<std::byte, 4096> some;
    std::optional<std::size_t> got;
    while (p.heard.size() <= sizeof(std::uint32_t) + longest_reason && (got = p.control.read_some(some)) && *got > 0)
      p.heard.insert(p.heard.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(*got));
    news = take_in(p);
    if (!p.silent && !got) {
      news = fmt::format("{} is gone: its connection ended without a farewell", name(from));
      p.silent = true;
    }
  }
  if (!news.empty()) end_run(news);
}

// Reads what a peer has said, as far as it is all there. Returns why it ended the run, if it did.
std::string TcpControl::take_in(Peer& p) const {
  std::uint32_t word = 0;
  while (!p.silent && p.heard.size() >= sizeof word) {
    std::memcpy(&word, p.heard.data(), sizeof word);
    const std::size_t here = std::min<std::size_t>(word & ~waiting_bit, longest_reason);
    if (p.heard.size() < sizeof word + here) break;
    std::string text(reinterpret_cast<const char*>(p.heard.data()) + sizeof word, here);
    p.heard.erase(p.heard.begin(), p.heard.begin() + static_cast<std::ptrdiff_t>(sizeof word + here));
    std::int32_t channel = 0;
    if ((word & waiting_bit) == 0) {
      p.silent = true;
      p.finished = text.empty();
      return text;
    }
    if (text.size() < sizeof channel) continue;
    std::memcpy(&channel, text.data(), sizeof channel);
    if (channel < beside_channels || channel >= settings_.channels) continue;
    text.erase(0, sizeof channel);
    if (text.empty())
      p.waits.erase(channel);
    else
      p.waits[channel] = text;
  }
  return {};
}

}  // namespace weft

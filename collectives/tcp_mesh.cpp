#include "collectives/tcp_mesh.hpp"

#include "kernels/base/error.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

namespace weft {
namespace {

constexpr std::array<char, 4> our_magic = {'W', 'E', 'F', 'T'};
constexpr std::uint32_t our_version = 1;  // of what goes over the wire
constexpr std::int32_t control_channel = -1;
constexpr std::size_t job_size = 200;

// The first thing said on every connection, by both sides. Plain memory of a little-endian machine; another kind shows a
// wrong version.
struct Hello {
  std::array<char, 4> magic = our_magic;
  std::uint32_t version = our_version;
  std::int32_t rank = 0;
  std::int32_t ranks = 0;
  std::int32_t channels = 0;
  std::int32_t connections = 0;
  std::int32_t channel = control_channel;  // of this connection
  std::int32_t connection = 0;
  std::array<char, job_size> job = {};

  std::string job_text() const { return {job.begin(), std::find(job.begin(), job.end(), '\0')}; }
};

class Meeting {
 public:
  Meeting(Rank rank, const std::vector<std::string>& addresses, const TcpSettings& settings)
      : rank_(rank),
        ranks_(static_cast<int>(addresses.size())),
        addresses_(addresses),
        settings_(settings),
        deadline_(std::chrono::steady_clock::now() + settings.meeting) {
    mesh_.control.resize(addresses.size());
    mesh_.data.resize(static_cast<std::size_t>(settings.channels));
    for (auto& channel : mesh_.data) {
      channel.resize(addresses.size());
      for (auto& peer : channel) peer.resize(static_cast<std::size_t>(settings.connections));
    }
  }

  // Calls need no answer to succeed, so all ranks may call before any of them accepts.
  TcpMesh run(const TcpListener& listener) {
    for (Rank peer = 0; peer < rank_; ++peer) for_each_connection([&](int channel, int k) { call(peer, channel, k); });
    int expected = (ranks_ - 1 - rank_) * (1 + settings_.channels * settings_.connections);
    while (expected > 0)
      if (answer(listener)) --expected;
    for (Rank peer = 0; peer < rank_; ++peer)
      for_each_connection([&](int channel, int k) { examine(hear(socket(peer, channel, k), peer), peer); });
    return std::move(mesh_);
  }

 private:
  template <class Do>
  void for_each_connection(Do act) {
    act(control_channel, 0);
    for (int channel = 0; channel < settings_.channels; ++channel)
      for (int k = 0; k < settings_.connections; ++k) act(channel, k);
  }
  Socket& socket(Rank peer, int channel, int connection) {
    const auto p = static_cast<std::size_t>(peer);
    if (channel == control_channel) return mesh_.control[p];
    return mesh_.data[static_cast<std::size_t>(channel)][p][static_cast<std::size_t>(connection)];
  }
  Hello hello(int channel, int connection) const {
    Hello h{.rank = rank_,
            .ranks = ranks_,
            .channels = settings_.channels,
            .connections = settings_.connections,
            .channel = channel,
            .connection = connection};
    std::copy_n(settings_.job.begin(), std::min(settings_.job.size(), job_size), h.job.begin());
    return h;
  }

  void call(Rank peer, int channel, int connection) {
    Socket& s = socket(peer, channel, connection);
    try {
      s = tcp_connect(addresses_[static_cast<std::size_t>(peer)], deadline_);
    } catch (const RunError& e) {
      throw RunError(fmt::format("{} did not find {}: {}", name(rank_), name(peer), e.what()));
    }
    say(s, hello(channel, connection), peer);
  }

  // False where the caller was not one of us.
  bool answer(const TcpListener& listener) {
    auto caller = listener.accept(deadline_);
    if (!caller) throw RunError(missing());
    Hello theirs;
    if (!caller->read_all(std::as_writable_bytes(std::span(&theirs, 1)), deadline_) || theirs.magic != our_magic) return false;
    say(*caller, hello(theirs.channel, theirs.connection), theirs.rank);
    examine(theirs, theirs.rank);
    check(theirs.rank > rank_ && theirs.rank < ranks_ && theirs.channel < settings_.channels && theirs.connection < settings_.connections,
          "rank {} of {} was called by rank {} for channel {}, connection {}", rank_, ranks_, theirs.rank, theirs.channel,
          theirs.connection);
    Socket& place = socket(theirs.rank, theirs.channel, theirs.connection);
    if (place.open()) throw RunError(fmt::format("two processes say they are {}", name(theirs.rank)));
    place = std::move(*caller);
    return true;
  }

  void say(const Socket& s, const Hello& ours, Rank peer) const {
    if (!s.write_all(std::as_bytes(std::span(&ours, 1)), deadline_)) lost(peer);
  }
  Hello hear(const Socket& s, Rank peer) const {
    Hello theirs;
    if (!s.read_all(std::as_writable_bytes(std::span(&theirs, 1)), deadline_)) lost(peer);
    return theirs;
  }

  void examine(const Hello& theirs, Rank peer) const {
    const auto differ = [&](const char* what, const auto& their_value, const auto& our_value) {
      if (their_value == our_value) return;
      throw RunError(fmt::format("{} {} {}, but {} {}", name(peer), what, their_value, name(rank_), our_value));
    };
    if (theirs.magic != our_magic)
      throw RunError(fmt::format("what answers at {}'s address, {}, is not weft", name(peer), addresses_[static_cast<std::size_t>(peer)]));
    differ("speaks protocol version", theirs.version, our_version);
    differ("runs the number of ranks", theirs.ranks, ranks_);
    differ("runs the number of channels", theirs.channels, settings_.channels);
    differ("runs the number of connections", theirs.connections, settings_.connections);
    differ("runs", theirs.job_text(), settings_.job.substr(0, job_size));
    if (theirs.rank != peer)
      throw RunError(
          fmt::format("{} answers at {}'s address, {}", name(theirs.rank), name(peer), addresses_[static_cast<std::size_t>(peer)]));
  }

  [[noreturn]] void lost(Rank peer) const {
    throw RunError(
        fmt::format("{} lost {} ({}) while all were meeting", name(rank_), name(peer), addresses_[static_cast<std::size_t>(peer)]));
  }
  std::string name(Rank rank) const { return settings_.name(rank); }
  std::string missing() const {
    for (Rank peer = rank_ + 1; peer < ranks_; ++peer)
      if (!mesh_.control[static_cast<std::size_t>(peer)].open())
        return fmt::format("{} has not heard of {} for {} ms", name(rank_), name(peer), settings_.meeting.count());
    return fmt::format("{} has heard of every rank, but not on all connections, for {} ms", name(rank_), settings_.meeting.count());
  }

  Rank rank_;
  int ranks_;
  const std::vector<std::string>& addresses_;
  const TcpSettings& settings_;
  Deadline deadline_;
  TcpMesh mesh_;
};

}  // namespace

std::string TcpSettings::name(Rank rank) const {
  const auto i = static_cast<std::size_t>(rank);
  return i < names.size() ? names[i] : fmt::format("rank {}", rank);
}

TcpMesh tcp_meet(Rank rank, const std::vector<std::string>& addresses, const TcpListener& listener, const TcpSettings& settings) {
  return Meeting(rank, addresses, settings).run(listener);
}

}  // namespace weft

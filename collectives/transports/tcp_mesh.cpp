#include "collectives/transports/tcp_mesh.hpp"

#include "collectives/transports/socket_address.hpp"
#include "collectives/transports/tcp_hello.hpp"
#include "kernels/base/error.hpp"

#include <algorithm>
#include <iterator>
#include <list>

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

// Of a caller before its hello. It holds up nobody, and one of ours says its hello at once, but on a busy machine that may be later.
constexpr std::chrono::milliseconds longest_silence{3000};
constexpr std::size_t strangers_at_once = 64;  // who may wait beside those who are expected
constexpr int accepted_at_once = 64;           // then those who wait are heard

class Meeting {
 public:
  Meeting(Rank rank, const std::vector<std::string>& addresses, const TcpSettings& settings)
      : rank_(rank),
        ranks_(static_cast<int>(addresses.size())),
        addresses_(addresses),
        settings_(settings),
        deadline_(Clock::now() + settings.meeting),
        expected_(static_cast<std::size_t>(ranks_ - 1 - rank_) * connections_per_peer()) {
    require_room_for_connections();
    mesh_.control.resize(addresses.size());
    mesh_.data.resize(static_cast<std::size_t>(settings.channels));
    for (auto& channel : mesh_.data) {
      channel.resize(addresses.size());
      for (auto& peer : channel) peer.resize(static_cast<std::size_t>(settings.connections));
    }
  }

  // Calls need no answer to succeed, so all ranks may call before any of them accepts.
  TcpMesh run(const TcpListener& listener) {
    for (Rank peer = 0; peer < rank_; ++peer) call(peer);
    while (expected_ > 0 || !calls_.empty()) {
      wait_for_news(listener);
      refuse_the_silent();
      if (Clock::now() >= deadline_ && (expected_ > 0 || !calls_.empty())) throw RunError(missing());
    }
    return std::move(mesh_);
  }

 private:
  // Of ours to somebody, until it is answered.
  struct Call {
    Rank peer;
    Socket* socket;
    Hello ours;
    Arriving<Hello> hello = {};
    Arriving<Proof> proof = {};
  };
  struct Waiting {
    Caller caller;
    std::string from;
    Clock::time_point since;
  };

  std::size_t connections_per_peer() const {
    return 1 + static_cast<std::size_t>(settings_.channels) * static_cast<std::size_t>(settings_.connections);
  }
  void require_room_for_connections() const {
    rlimit limit{};
    const std::size_t needed = static_cast<std::size_t>(ranks_ - 1) * connections_per_peer();
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || needed < limit.rlim_cur) return;
    throw RunError(fmt::format("{} needs {} connections, {} to each other rank, and a process may have {} open files (ulimit -n)",
                               name(rank_), needed, connections_per_peer(), limit.rlim_cur));
  }
  Socket& socket(Rank peer, int channel, int connection) {
    const auto p = static_cast<std::size_t>(peer);
    if (channel == Hello::control_channel) return mesh_.control[p];
    return mesh_.data[static_cast<std::size_t>(channel)][p][static_cast<std::size_t>(connection)];
  }
  Hello hello() const {
    Hello h{.rank = rank_, .ranks = ranks_, .channels = settings_.channels, .connections = settings_.connections};
    std::copy_n(settings_.job.begin(), std::min(settings_.job.size(), Hello::job_size), h.job.begin());
    return h;
  }

  void call(Rank peer) {
    call(peer, Hello::control_channel, 0);
    for (int channel = 0; channel < settings_.channels; ++channel)
      for (int k = 0; k < settings_.connections; ++k) call(peer, channel, k);
  }
  void call(Rank peer, int channel, int connection) {
    Socket& s = socket(peer, channel, connection);
    try {
      s = tcp_connect(address(peer), deadline_);
    } catch (const RunError& e) {
      throw RunError(fmt::format("{} did not find {}: {}", name(rank_), name(peer), e.what()));
    }
    Call& c = calls_.emplace_back(Call{.peer = peer, .socket = &s, .ours = hello()});
    c.ours.channel = channel;
    c.ours.connection = connection;
    fill_with_random_bytes(c.ours.nonce);
    if (!s.write_all(std::as_bytes(std::span(&c.ours, 1)), deadline_)) lost(peer);
  }

  void wait_for_news(const TcpListener& listener) {
    std::vector<pollfd> polled = {{expected_ > 0 ? listener.descriptor() : -1, POLLIN, 0}};
    for (const Waiting& w : callers_) polled.push_back({w.caller.socket().descriptor(), POLLIN, 0});
    for (const Call& c : calls_) polled.push_back({c.socket->descriptor(), POLLIN, 0});
    const auto until = callers_.empty() ? deadline_ : std::min(deadline_, Clock::now() + longest_silence / 4);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    ::poll(polled.data(), polled.size(), static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1000)));
    auto news = polled.begin() + 1;
    for (auto w = callers_.begin(); w != callers_.end(); ++news) {
      const auto here = w++;
      if (news->revents != 0) hear(here);
    }
    for (auto c = calls_.begin(); c != calls_.end(); ++news) {
      const auto here = c++;
      if (news->revents != 0 && answered(*here)) calls_.erase(here);
    }
    if (polled.front().revents != 0) accept(listener);
  }

  void accept(const TcpListener& listener) {
    for (int i = 0; i < accepted_at_once; ++i) {
      auto socket = listener.accept();
      if (!socket) return;
      std::string from = peer_host(socket->descriptor());
      callers_.push_back({Caller(std::move(*socket), hello(), settings_.secret), std::move(from), Clock::now()});
      if (callers_.size() > expected_ + strangers_at_once) refuse(callers_.begin(), "too many called at once");
      hear(std::prev(callers_.end()));
    }
  }

  void hear(std::list<Waiting>::iterator w) {
    const Caller::State state = w->caller.advance();
    if (state == Caller::State::waits) return;
    if (state == Caller::State::refused) return refuse(w, w->caller.why_refused());
    const Hello theirs = w->caller.hello();
    examine(theirs, theirs.rank);
    if (theirs.rank <= rank_) return refuse(w, fmt::format("{} is to be called, and called itself", name(theirs.rank)));
    Socket& place = socket(theirs.rank, theirs.channel, theirs.connection);
    if (place.open()) throw RunError(fmt::format("two processes say they are {}", name(theirs.rank)));
    place = std::move(w->caller.socket());
    --expected_;
    callers_.erase(w);
  }

  void refuse(std::list<Waiting>::iterator w, const std::string& why) {
    ++refused_;
    last_refused_ = fmt::format("from {}: {}", w->from, why);
    callers_.erase(w);
  }
  void refuse_the_silent() {
    const auto now = Clock::now();
    for (auto w = callers_.begin(); w != callers_.end();) {
      const auto here = w++;
      if (!here->caller.greeted() && now - here->since >= longest_silence)
        refuse(here, fmt::format("it said no hello for {} ms", longest_silence.count()));
    }
  }

  bool answered(Call& c) const {
    const bool open = c.hello.take(*c.socket) && (!c.hello.complete() || c.proof.take(*c.socket));
    const Hello& theirs = c.hello.value;
    if (c.hello.read >= theirs.magic.size() && theirs.magic != Hello::our_magic)
      throw RunError(fmt::format("what answers at {}'s address, {}, is not weft", name(c.peer), address(c.peer)));
    if (c.hello.read >= offsetof(Hello, rank)) expect_equal(c.peer, "speaks protocol version", theirs.version, Hello::our_version);
    if (!open) lost(c.peer);
    if (!c.proof.complete()) return false;
    if (!equal_in_constant_time(c.proof.value, proof_of(settings_.secret, Side::answerer, c.ours, theirs)))
      throw RunError(fmt::format("{} and what answers at {}'s address, {}, do not have the same job's secret", name(rank_), name(c.peer),
                                 address(c.peer)));
    // Before anything else is said against it: the other side is to find that out too.
    const Proof ours = proof_of(settings_.secret, Side::caller, c.ours, theirs);
    if (!c.socket->write_all(std::as_bytes(std::span(ours)), deadline_)) lost(c.peer);
    if (const std::string why = theirs.contradiction(); !why.empty())
      throw RunError(fmt::format("what answers at {}'s address, {}, is refused: {}", name(c.peer), address(c.peer), why));
    examine(theirs, c.peer);
    return true;
  }

  template <class T>
  void expect_equal(Rank peer, const char* what, const T& theirs, const T& ours) const {
    if (theirs == ours) return;
    throw RunError(fmt::format("{} {} {}, but {} {}", name(peer), what, theirs, name(rank_), ours));
  }
  // Of one who knows the secret.
  void examine(const Hello& theirs, Rank peer) const {
    expect_equal(peer, "runs the number of ranks", theirs.ranks, ranks_);
    expect_equal(peer, "runs the number of channels", theirs.channels, settings_.channels);
    expect_equal(peer, "runs the number of connections", theirs.connections, settings_.connections);
    expect_equal(peer, "runs", theirs.job_text(), settings_.job.substr(0, Hello::job_size));
    if (theirs.rank != peer) throw RunError(fmt::format("{} answers at {}'s address, {}", name(theirs.rank), name(peer), address(peer)));
  }

  [[noreturn]] void lost(Rank peer) const {
    throw RunError(fmt::format("{} lost {} ({}) while all were meeting", name(rank_), name(peer), address(peer)));
  }
  std::string name(Rank rank) const { return settings_.name(rank); }
  const std::string& address(Rank peer) const { return addresses_[static_cast<std::size_t>(peer)]; }

  std::string missing() const {
    std::string refused;
    if (refused_ > 0) refused = fmt::format("; refused {} caller{}, the last {}", refused_, refused_ == 1 ? "" : "s", last_refused_);
    for (Rank peer = rank_ + 1; peer < ranks_; ++peer)
      if (!mesh_.control[static_cast<std::size_t>(peer)].open())
        return fmt::format("{} has not heard of {} for {} ms{}", name(rank_), name(peer), settings_.meeting.count(), refused);
    if (expected_ > 0)
      return fmt::format("{} has heard of every rank, but not on all connections, for {} ms{}", name(rank_), settings_.meeting.count(),
                         refused);
    const Rank peer = calls_.front().peer;
    return fmt::format("{} has no answer from {} ({}) for {} ms", name(rank_), name(peer), address(peer), settings_.meeting.count());
  }

  Rank rank_;
  int ranks_;
  const std::vector<std::string>& addresses_;
  const TcpSettings& settings_;
  Deadline deadline_;
  std::size_t expected_;  // connections from those after us
  std::list<Call> calls_;
  std::list<Waiting> callers_;  // who has waited longest first
  int refused_ = 0;
  std::string last_refused_;
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

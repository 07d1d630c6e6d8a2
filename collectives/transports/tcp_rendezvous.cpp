#include "collectives/transports/tcp_rendezvous.hpp"

#include "collectives/transports/socket_address.hpp"
#include "collectives/transports/tcp_hello.hpp"
#include "kernels/base/error.hpp"

#include <algorithm>
#include <list>

#include <fmt/format.h>
#include <poll.h>

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t max_unproven = 64;        // who may wait beside the ranks
constexpr std::uint32_t longest_address = 300;  // of a rank, in the list
constexpr std::chrono::milliseconds nap{100};   // then look whether time is up

std::string address_of(const std::string& host, const std::string& port) {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

bool is_loopback(const std::string& host) {
  return host.starts_with("127.") || host == "localhost" || host == "[::1]" || host == "::1" || host == "::ffff:127.0.0.1";
}

// At all of this machine's addresses, unless the meeting is one of this machine alone: its name may stand for the loopback here and for
// another address elsewhere.
std::string listening_at(const std::string& meeting, const std::string& port) {
  const std::string host = host_in(meeting);
  return fmt::format("{}:{}", is_loopback(host) ? host : host.starts_with('[') ? "[::]" : "0.0.0.0", port);
}

Hello hello_of(Rank rank, int ranks, const TcpSettings& settings) {
  Hello h{.rank = rank, .ranks = ranks, .channels = settings.channels, .connections = settings.connections};
  std::copy_n(settings.job.begin(), std::min(settings.job.size(), Hello::job_size), h.job.begin());
  return h;
}

// Rank 0's side.
class RendezvousServer {
 public:
  RendezvousServer(int ranks, const std::string& meeting, const TcpSettings& settings)
      : ours_(hello_of(0, ranks, settings)),
        settings_(settings),
        deadline_(Clock::now() + settings.meeting),
        host_(host_in(meeting)),
        listener_(listening_at(meeting, port_in(meeting))),
        own_listener_(listening_at(meeting, "0")),
        connections_(static_cast<std::size_t>(ranks)),
        addresses_(static_cast<std::size_t>(ranks)) {
    addresses_[0] = fmt::format("{}:{}", host_, port_in(own_listener_.address()));
  }

  Rendezvous run() {
    while (std::ranges::count(addresses_, std::string()) > 0) {
      if (Clock::now() >= deadline_) throw RunError(missing());
      wait_for_news();
      for (int i = 0; i < static_cast<int>(max_unproven); ++i) {
        auto socket = listener_.accept();
        if (!socket) break;
        if (callers_.size() == connections_.size() + max_unproven) callers_.pop_front();
        std::string from = peer_host(socket->descriptor());
        callers_.push_back({Caller(std::move(*socket), ours_, settings_.secret), std::move(from)});
      }
      for (auto c = callers_.begin(); c != callers_.end();) {
        const auto here = c++;
        if (over(*here)) callers_.erase(here);
      }
    }
    tell_all();
    return {std::move(addresses_), std::move(own_listener_)};
  }

 private:
  struct Waiting {
    Caller caller;
    std::string from;
    bool proven = false;
    Arriving<std::uint16_t> port = {};
  };

  void wait_for_news() {
    std::vector<pollfd> polled = {{listener_.descriptor(), POLLIN, 0}};
    for (const Waiting& w : callers_) polled.push_back({w.caller.socket().descriptor(), POLLIN, 0});
    ::poll(polled.data(), polled.size(), static_cast<int>(nap.count()));
  }

  // Whether there is nothing more to hear of it.
  bool over(Waiting& w) {
    if (!w.proven) {
      const Caller::State state = w.caller.advance();
      if (state == Caller::State::refused) last_refused_ = fmt::format("; refused a caller from {}: {}", w.from, w.caller.why_refused());
      if (state != Caller::State::proven) return state == Caller::State::refused;
      w.proven = true;
      examine(w.caller.hello());
    }
    const Rank rank = w.caller.hello().rank;
    if (!w.port.take(w.caller.socket())) throw RunError(fmt::format("rank 0 lost {} while all were meeting", settings_.name(rank)));
    if (!w.port.complete()) return false;
    std::string& place = addresses_[static_cast<std::size_t>(rank)];
    if (!place.empty()) throw RunError(fmt::format("two processes say they are {}", settings_.name(rank)));
    // One of this machine is to be found where this process is.
    place = is_loopback(w.from) ? fmt::format("{}:{}", host_, w.port.value) : address_of(w.from, std::to_string(w.port.value));
    connections_[static_cast<std::size_t>(rank)] = std::move(w.caller.socket());
    return true;
  }

  void examine(const Hello& theirs) const {
    const std::string name = settings_.name(theirs.rank);
    if (theirs.ranks != ours_.ranks)
      throw RunError(fmt::format("{} runs the number of ranks {}, but {} {}", name, theirs.ranks, settings_.name(0), ours_.ranks));
    if (theirs.job_text() != ours_.job_text())
      throw RunError(fmt::format("{} runs {}, but {} {}", name, theirs.job_text(), settings_.name(0), ours_.job_text()));
    if (theirs.rank == 0) throw RunError(fmt::format("two processes say they are {}", name));
  }

  void tell_all() {
    const std::string list = fmt::format("{}", fmt::join(addresses_, ","));
    const auto size = static_cast<std::uint32_t>(list.size());
    for (std::size_t r = 1; r < connections_.size(); ++r)
      if (!connections_[r].write_all(std::as_bytes(std::span(&size, 1)), deadline_) ||
          !connections_[r].write_all(std::as_bytes(std::span(list)), deadline_))
        throw RunError(fmt::format("{} lost {} while all were meeting", settings_.name(0), settings_.name(static_cast<Rank>(r))));
  }

  std::string missing() const {
    std::vector<std::string> names;
    for (std::size_t r = 1; r < addresses_.size(); ++r)
      if (addresses_[r].empty()) names.push_back(settings_.name(static_cast<Rank>(r)));
    return fmt::format("{} has not heard of {} for {} ms{}", settings_.name(0), fmt::join(names, ", "), settings_.meeting.count(),
                       last_refused_);
  }

  const Hello ours_;
  const TcpSettings& settings_;
  const Deadline deadline_;
  const std::string host_;
  const TcpListener listener_;
  TcpListener own_listener_;
  std::list<Waiting> callers_;
  std::vector<Socket> connections_;  // of each rank
  std::vector<std::string> addresses_;
  std::string last_refused_;
};

// Every other rank's side.
class RendezvousClient {
 public:
  RendezvousClient(Rank rank, int ranks, const std::string& meeting, const TcpSettings& settings)
      : ours_(hello_of(rank, ranks, settings)), meeting_(meeting), settings_(settings), deadline_(Clock::now() + settings.meeting) {}

  Rendezvous run() {
    call();
    TcpListener own(listening_at(meeting_, "0"));
    say(static_cast<std::uint16_t>(std::stoi(port_in(own.address()))));
    std::uint32_t size = 0;
    hear(std::as_writable_bytes(std::span(&size, 1)));
    if (size > static_cast<std::uint32_t>(ours_.ranks) * longest_address) lost();
    std::string list(size, '\0');
    hear(std::as_writable_bytes(std::span(list)));
    return {split(list), std::move(own)};
  }

 private:
  void call() {
    try {
      socket_ = tcp_connect(meeting_, deadline_);
    } catch (const RunError& e) {
      throw RunError(fmt::format("{} did not find {}: {}", settings_.name(ours_.rank), settings_.name(0), e.what()));
    }
    switch (introduce(socket_, ours_, settings_.secret, deadline_)) {
      case Answerer::proven:
        return;
      case Answerer::lost:
        lost();
      case Answerer::another_program:
        throw RunError(fmt::format("what answers at {}'s address, {}, is not weft of this version", settings_.name(0), meeting_));
      case Answerer::without_the_secret:
        throw RunError(fmt::format("{} and what answers at {}'s address, {}, do not have the same job's secret", settings_.name(ours_.rank),
                                   settings_.name(0), meeting_));
    }
  }
  template <class T>
  void say(const T& what) {
    if (!socket_.write_all(std::as_bytes(std::span(&what, 1)), deadline_)) lost();
  }
  void hear(std::span<std::byte> into) {
    if (!socket_.read_all(into, deadline_)) lost();
  }
  std::vector<std::string> split(const std::string& list) const {
    std::vector<std::string> all(1);
    for (const char c : list)
      if (c == ',')
        all.emplace_back();
      else
        all.back() += c;
    if (std::cmp_not_equal(all.size(), ours_.ranks)) lost();
    return all;
  }
  [[noreturn]] void lost() const {
    throw RunError(fmt::format("{} lost {} ({}) while all were meeting", settings_.name(ours_.rank), settings_.name(0), meeting_));
  }

  Hello ours_;
  const std::string& meeting_;
  const TcpSettings& settings_;
  const Deadline deadline_;
  Socket socket_;
};

}  // namespace

Rendezvous tcp_rendezvous(Rank rank, int ranks, const std::string& meeting, const TcpSettings& settings) {
  return rank == 0 ? RendezvousServer(ranks, meeting, settings).run() : RendezvousClient(rank, ranks, meeting, settings).run();
}

}  // namespace weft

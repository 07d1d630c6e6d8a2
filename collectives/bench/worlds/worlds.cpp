#include "collectives/bench/worlds/worlds.hpp"

#include "collectives/transports/socket_address.hpp"
#include "collectives/transports/tcp.hpp"
#include "collectives/transports/tcp_rendezvous.hpp"
#include "collectives/transports/threads.hpp"

#include <algorithm>

namespace weft::bench {
namespace {

class Threads final : public World {
 public:
  explicit Threads(const Settings& s) : ranks_(s.with_servers()), world_(s.with_servers(), s.cut.channels, {.patience = s.patience}) {}
  int ranks() const override { return ranks_; }
  std::vector<Rank> here() const override {
    std::vector<Rank> all;
    for (Rank r = 0; r < ranks_; ++r) all.push_back(r);
    return all;
  }
  Transport& at(Rank rank, int channel) override { return world_.at(rank, channel); }
  void fail(const std::string& reason) override { world_.fail(reason); }
  std::string report() const override { return world_.report(); }
  bool one_clock() const override { return true; }

 private:
  int ranks_;
  ThreadsWorld world_;
};

// With nccl the ranks only talk about what they do.
TcpSettings tcp_settings(const Settings& s) {
  return {.channels = s.transport == "tcp" ? s.cut.channels : 1,
          .connections = s.connections,
          .stream_rate = s.stream_rate,
          .zero_copy = s.zero_copy,
          .patience = s.patience,
          .meeting = s.patience,
          .job = job_of(s),
          .secret = s.secret};
}

class Tcp final : public World {
 public:
  Tcp(const Settings& s, Rank rank, const std::vector<std::string>& addresses, const TcpListener& listener)
      : ranks_(s.with_servers()), rank_(rank), world_(rank, addresses, listener, tcp_settings(s)) {}
  int ranks() const override { return ranks_; }
  std::vector<Rank> here() const override { return {rank_}; }
  Transport& at(Rank, int channel) override { return world_.at(channel); }
  void fail(const std::string& reason) override { world_.fail(reason); }
  void look() override { static_cast<void>(world_.test()); }
  void tell_waiting(const std::string& what) override { world_.tell_waiting(what); }
  std::string others() override { return world_.others(); }

 private:
  int ranks_;
  Rank rank_;
  TcpWorld world_;
};

}  // namespace

std::unique_ptr<World> threads_world(const Settings& s) { return std::make_unique<Threads>(s); }

std::unique_ptr<World> tcp_world(const Settings& s, Rank rank, const std::vector<std::string>& addresses, const TcpListener& listener) {
  return std::make_unique<Tcp>(s, rank, addresses, listener);
}

Met meet_by_tcp(const Settings& s) {
  const auto met = [&](const std::vector<std::string>& addresses, const TcpListener& own) {
    const auto rank = static_cast<std::size_t>(s.rank);
    const auto before = std::count_if(addresses.begin(), addresses.begin() + s.rank,
                                      [&](const std::string& a) { return host_in(a) == host_in(addresses[rank]); });
    return Met{tcp_world(s, s.rank, addresses, own), static_cast<int>(before)};
  };
  if (!s.hosts.empty()) return met(s.hosts, TcpListener(s.hosts[static_cast<std::size_t>(s.rank)]));
  const Rendezvous found = tcp_rendezvous(s.rank, s.with_servers(), s.meeting, tcp_settings(s));
  return met(found.addresses, found.own);
}

}  // namespace weft::bench

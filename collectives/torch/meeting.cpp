#include "collectives/torch/meeting.hpp"

#include "collectives/transports/socket_address.hpp"
#include "kernels/base/error.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

// One value of every rank, in the order of the ranks.
std::vector<std::string> gather(KeyStore& store, const GroupSettings& s, const std::string& what, const std::string& mine) {
  store.set(fmt::format("{}/{}", what, s.rank), mine);
  std::vector<std::string> all;
  for (Rank r = 0; r < s.ranks(); ++r)
    all.push_back(r == s.rank ? mine : await(store, fmt::format("{}/{}", what, r), s.names[static_cast<std::size_t>(r)], s.timeout));
  return all;
}

// A message of one line to or from one rank.
void tell(Transport& t, Rank to, const std::string& text) {
  const std::uint64_t size = text.size();
  t.send(to, 0, std::as_bytes(std::span(&size, 1)));
  t.send(to, 1, std::as_bytes(std::span(text)));
  t.wait();
}
std::string hear(Transport& t, Rank from) {
  std::uint64_t size = 0;
  t.receive(from, 0, std::as_writable_bytes(std::span(&size, 1)));
  t.wait();
  std::string text(size, ' ');
  t.receive(from, 1, std::as_writable_bytes(std::span(text)));
  t.wait();
  return text;
}

}  // namespace

Carrier carrier_named(std::string_view name) {
  if (name.empty()) return Carrier::best;
  if (name == "tcp") return Carrier::tcp;
  if (name == "shared_memory") return Carrier::shared_memory;
  throw InputError(fmt::format("WEFT_TRANSPORT: must be tcp or shared_memory, or left out, got \"{}\"", name));
}

std::string await(KeyStore& store, const std::string& key, const std::string& who, std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  for (auto pause = std::chrono::microseconds{200};; pause = std::min(pause * 2, std::chrono::microseconds{20'000})) {
    if (auto value = store.get(key)) return *value;
    if (Clock::now() >= deadline)
      throw RunError(fmt::format("{} did not come to the meeting of the group within {} ms", who, timeout.count()));
    std::this_thread::sleep_for(pause);
  }
}

std::string host_identity() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot((std::istreambuf_iterator<char>(file)), {});
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return boot + name.data();
}

std::string own_address() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  // The interface that leads to the master leads to the others: a connected datagram socket names it and sends nothing.
  const char* const master = std::getenv("MASTER_ADDR");
  try {
    const Addresses to = resolve(fmt::format("{}:1", master != nullptr ? master : name.data()), SOCK_DGRAM, 0);
    const Socket probe(::socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    std::array<char, NI_MAXHOST> text{};
    if (probe.open() && ::connect(probe.descriptor(), to->ai_addr, to->ai_addrlen) == 0 &&
        ::getsockname(probe.descriptor(), reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
        ::getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0)
      return own.ss_family == AF_INET6 ? fmt::format("[{}]", text.data()) : text.data();
  } catch (const RunError&) {  // an unknown name: the host's own is left
  }
  return name.data();
}

Connections::Connections(KeyStore& store, const GroupSettings& s) {
  const std::vector<std::string> jobs = gather(store, s, "job", s.job);
  for (std::size_t r = 0; r < jobs.size(); ++r)
    if (jobs[r] != jobs.front()) throw RunError(fmt::format("{} runs {}, but {} {}", s.names[r], jobs[r], s.names.front(), jobs.front()));
  const std::vector<std::string> hosts = gather(store, s, "host", host_identity());
  const bool one_host = std::all_of(hosts.begin(), hosts.end(), [&](const std::string& h) { return h == hosts.front(); });
  if (s.carrier == Carrier::shared_memory && !one_host)
    throw InputError("WEFT_TRANSPORT: shared_memory needs all ranks of a group on one host; leave it out, or set tcp");
  const std::string host = !s.host.empty() ? s.host : one_host ? "127.0.0.1" : own_address();
  const TcpListener listener(host + ":0");
  const std::vector<std::string> addresses = gather(store, s, "address", listener.address());
  tcp_ = std::make_unique<TcpWorld>(s.rank, addresses, listener,
                                    TcpSettings{.patience = s.timeout, .meeting = s.timeout, .job = s.job, .names = s.names});
  if (one_host && s.carrier != Carrier::tcp && s.ranks() > 1 && !share_memory(s) && s.carrier == Carrier::shared_memory)
    throw RunError("WEFT_TRANSPORT: shared_memory was asked for, but not every rank could map it: is /dev/shm large enough and shared?");
}

// Rank 0 makes the memory, all others open it; it is used only if every rank could.
bool Connections::share_memory(const GroupSettings& s) {
  Transport& t = tcp_->at();
  const std::size_t bytes = shared_memory_bytes(s.ranks());
  bool all = true;
  try {
    if (s.rank == 0) {
      segment_.emplace(SharedSegment::create(bytes));
      for (Rank r = 1; r < s.ranks(); ++r) tell(t, r, segment_->name());
    } else {
      segment_.emplace(SharedSegment::open(hear(t, 0), bytes));
    }
  } catch (const RunError&) {
    segment_.reset();
    all = false;
    if (s.rank == 0)
      for (Rank r = 1; r < s.ranks(); ++r) tell(t, r, "");
  }
  if (s.rank == 0) {
    for (Rank r = 1; r < s.ranks(); ++r) all &= hear(t, r) == "yes";
    for (Rank r = 1; r < s.ranks(); ++r) tell(t, r, all ? "yes" : "no");
  } else {
    tell(t, 0, all ? "yes" : "no");
    all = hear(t, 0) == "yes";
  }
  if (!all) return segment_.reset(), false;
  segment_->remove_name();
  // What a rank wrote before its farewell is taken first: only when nothing came between two looks will nothing come.
  const auto look = [this, names = s.names, finished = std::set<Rank>()](const std::vector<Rank>& awaited) mutable {
    static_cast<void>(tcp_->test());
    for (const Rank r : awaited)
      if (tcp_->has_finished(r) && !finished.insert(r).second)
        throw RunError(fmt::format("{} has finished, but is waited for", names[static_cast<std::size_t>(r)]));
  };
  shared_ = shared_memory_transport(*segment_, s.rank, s.ranks(), {.patience = s.timeout, .names = s.names, .look = look});
  return true;
}

}  // namespace weft

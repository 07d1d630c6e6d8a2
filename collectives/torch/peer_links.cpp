#include "collectives/torch/peer_links.hpp"

#include "kernels/base/error.hpp"

#include <algorithm>
#include <exception>

#include <fmt/format.h>

namespace weft {

struct PeerLinks::Link {
  std::mutex meeting;
  std::exception_ptr refused;  // why the two did not meet
  std::unique_ptr<TcpWorld> world;
  JobThread out, in;
};

namespace {

// The two as ranks 0 and 1 of a world of their own, with a channel for each direction.
std::unique_ptr<TcpWorld> meet(KeyStore& store, const GroupSettings& s, Rank peer) {
  const Rank low = std::min(s.rank, peer), high = std::max(s.rank, peer);
  const auto key = [&](Rank r) { return fmt::format("pair/{}-{}/{}", low, high, r); };
  const auto name = [&](Rank r) { return s.names[static_cast<std::size_t>(r)]; };
  const auto host_of = [&](Rank r) { return await(store, fmt::format("host/{}", r), name(r), s.timeout); };
  const bool one_host = host_of(low) == host_of(high);
  const TcpListener listener((!s.host.empty() ? s.host : one_host ? "127.0.0.1" : own_address()) + ":0");
  store.set(key(s.rank), listener.address());
  const std::string theirs = await(store, key(peer), name(peer), s.timeout);
  const bool first = s.rank == low;
  return std::make_unique<TcpWorld>(
      first ? 0 : 1, std::vector{first ? listener.address() : theirs, first ? theirs : listener.address()}, listener,
      TcpSettings{.channels = 2, .patience = s.timeout, .meeting = s.timeout, .job = s.job, .names = {name(low), name(high)}});
}

}  // namespace

PeerLinks::PeerLinks(KeyStore& store, GroupSettings settings) : store_(store), settings_(std::move(settings)) {}
PeerLinks::~PeerLinks() = default;

void PeerLinks::end_within(std::chrono::milliseconds time) {
  for (const auto& [peer, l] : links_) {
    if (l->out.idle_within(time) && l->in.idle_within(time)) continue;
    const std::lock_guard lock(l->meeting);
    if (l->world)
      l->world->fail(
          fmt::format("{} ends with messages that were not exchanged", settings_.names[static_cast<std::size_t>(settings_.rank)]));
  }
}

PeerLinks::Link& PeerLinks::link(Rank peer) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Link>& found = links_[peer];
  if (!found) found = std::make_unique<Link>();
  return *found;
}

// Throws why the two did not meet, to the first job and to every later one.
static TcpWorld& world_of(auto& link, KeyStore& store, const GroupSettings& s, Rank peer) {
  const std::lock_guard lock(link.meeting);
  if (link.refused) std::rethrow_exception(link.refused);
  if (link.world) return *link.world;
  try {
    link.world = meet(store, s, peer);
  } catch (...) {
    link.refused = std::current_exception();
    throw;
  }
  return *link.world;
}

void PeerLinks::send(Rank to, std::uint32_t tag, ByteView bytes, Done done) {
  Link& l = link(to);
  l.out.add([this, &l, to, tag, bytes, done = std::move(done)] {
    try {
      Transport& t = world_of(l, store_, settings_, to).at(settings_.rank < to ? 0 : 1);
      t.send(settings_.rank < to ? 1 : 0, tag, bytes);
      t.wait();
      done(nullptr);
    } catch (...) {
      done(std::current_exception());
    }
  });
}

void PeerLinks::receive(Rank from, std::uint32_t tag, ByteSpan into, Done done) {
  Link& l = link(from);
  l.in.add([this, &l, from, tag, into, done = std::move(done)] {
    try {
      Transport& t = world_of(l, store_, settings_, from).at(settings_.rank < from ? 1 : 0);
      t.receive(settings_.rank < from ? 1 : 0, tag, into);
      t.wait();
      done(nullptr);
    } catch (...) {
      done(std::current_exception());
    }
  });
}

}  // namespace weft

#include "sim/reference/s4u_world.hpp"

#include "kernels/base/error.hpp"
#include "sim/engine/simgrid_compat.hpp"
#include "sim/network/run_progress.hpp"
#include "sim/reference/s4u_transport.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <exception>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

#include <simgrid/kernel/routing/NetPoint.hpp>
#include <xbt/log.h>

namespace weft {
namespace {

namespace s4u = simgrid::s4u;

// SimGrid divides a link among its flows in inverse proportion to the latency of their routes. So every route has the
// reciprocal of its terms's weight for a latency, all of it on its first link, and the true one is reached by the latency factor
// of its ends.
double claiming_latency_s(const FlowTerms& terms) { return 1.0 / terms.weight; }

// Sanitizers know the stacks of threads, not those that SimGrid swaps.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WEFT_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WEFT_SANITIZED
#endif
#endif
#ifdef WEFT_SANITIZED
constexpr const char* context_factory = "--cfg=contexts/factory:thread";
#else
constexpr const char* context_factory = "--cfg=contexts/factory:raw";
#endif

s4u::Engine& configured_engine() {
  // No line for every setting; what makes SimGrid stop still shows.
  xbt_log_control_set("root.thresh:critical");
  xbt_log_control_set("ker_engine.app:file:/dev/null");  // a deadlock is ours to report
  xbt_log_control_set("ker_engine.add:0");
  // The factory is chosen when the engine is made; SimGrid takes what it understands out of the arguments.
  static std::string name = "weft", factory = context_factory;
  static char* argv[] = {name.data(), factory.data(), nullptr};
  static int argc = 2;
  static s4u::Engine engine(&argc, argv);
  for (const char* setting :
       {"network/model:CM02", "network/optim:Lazy", "network/crosstraffic:0", "network/TCP-gamma:0", "network/weight-S:0",
        "network/loopback-bw:1e30", "network/loopback-lat:0", "cpu/model:Cas01", "cpu/optim:Lazy", "host/model:default",
        "contexts/stack-size:128", "contexts/guard-size:0", "contexts/nthreads:1"})
    s4u::Engine::set_config(setting);
  // A hundredth of a picosecond, and rates to nearly all the digits there are: what is left over of a link that thousands of flows share is
  // some 1e-12 of its rate, and SimGrid ends where it does not take that for nothing.
  s4u::Engine::set_config(simgrid_compat::timing_precision, 1e-14);
  s4u::Engine::set_config(simgrid_compat::sharing_precision, 1e-10);
  return engine;
}

std::uint64_t pair_of(std::uint64_t from, std::uint64_t to) { return from << 32 | to; }
std::size_t from_of(std::uint64_t pair) { return pair >> 32; }

SimTime now() {
  const double ps = s4u::Engine::get_clock() * 1e12;
  if (!(ps < 0x1p63)) throw_beyond_time();
  return {std::llround(ps)};
}

}  // namespace

struct S4uWorld::State final : S4uTransport::Directory {
  State(const HardwareProfile& profile, int endpoints, std::span<const BitsPerSecond> goodput)
      : hardware(profile), message_costs(profile), engine(configured_engine()) {
    zone = simgrid_compat::add_full_zone(engine, "fabric");
    for (int e = 0; e < endpoints; ++e) hosts.push_back(simgrid_compat::add_host(zone, fmt::format("endpoint{}", e), 1.0));
    for (std::size_t id = 0; id < goodput.size(); ++id)
      links.push_back(simgrid_compat::add_link(zone, fmt::format("link{}", id), goodput[id].bytes_per_second())->set_latency(0.0));
  }

  S4uPath& path(Rank from, Rank to) override {
    const auto at = paths.find(pair_of(static_cast<std::uint64_t>(endpoint_of(from)), static_cast<std::uint64_t>(endpoint_of(to))));
    check(at != paths.end(), "no path for rank {} to rank {}", from, to);
    return at->second;
  }
  s4u::ActorPtr actor(Rank rank, int channel) override {
    return actors.at(pair_of(static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(channel)));
  }
  int endpoint_of(Rank rank) const { return endpoints_of_ranks[static_cast<std::size_t>(rank)]; }

  // Hosts are the only members of the zone that have numbers, in the order of their making.
  static std::uint64_t ends(const s4u::Host* from, const s4u::Host* to) {
    return pair_of(from->get_netpoint()->id(), to->get_netpoint()->id());
  }

  // Every route begins with a link of its own, which carries the latency. SimGrid also needs it so: of two flows that come
  // or go at one date it forgets to look at the links of the second when it meets the first of them already (System::
  // update_modified_cnst_set_from_variable, 3.32 to 4.1), and flows there keep a rate that is wrong.
  //
  // A rate cap is the rate of that link, which each flow then has to itself.
  void add_routes() {
    for (const auto& [ends, path] : paths) {
      const std::size_t from = ends >> 32, to = ends & UINT32_MAX;
      const double rate_cap = path.nature.terms.rate_cap.count > 0 ? path.nature.terms.rate_cap.bytes_per_second() : 1e30;
      s4u::Link* own =
          simgrid_compat::add_link(zone, fmt::format("route{}>{}", from, to), rate_cap)->set_latency(claiming_latency_s(path.nature.terms));
      if (path.nature.terms.rate_cap.count > 0) own->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE);
      std::vector<s4u::LinkInRoute> route{s4u::LinkInRoute(own)};
      for (const LinkId id : path.links)
        if (const auto both = both_ways.find(id); both != both_ways.end()) route.emplace_back(both->second);
      for (const LinkId id : path.links) route.emplace_back(links[static_cast<std::size_t>(id)]);
      simgrid_compat::add_route(zone, hosts[from], hosts[to], route);
    }
  }

  // SimGrid asks for the bound of a link with the number of its own flows. What crosses the pair stands with a link of its own, which
  // comes before both of them in every route: so it is asked first, and whoever comes or goes on one of them has the other's
  // bound asked for as well.
  void lose_two_way(LinkId id, TwoWayLoad load) {
    if (both_ways.contains(id)) return;
    int& crossing = flows_both_ways.emplace_back();
    s4u::Link* both = simgrid_compat::add_link(zone, fmt::format("both_ways{}", id), 1e30)->set_latency(0.0);
    both->set_sharing_policy(s4u::Link::SharingPolicy::NONLINEAR, [&crossing](double bound, int flows) {
      crossing = flows;
      return bound;
    });
    for (const LinkId one : {id, load.opposite}) {
      both_ways.emplace(one, both);
      links[static_cast<std::size_t>(one)]->set_sharing_policy(
          s4u::Link::SharingPolicy::NONLINEAR, [&crossing, load](double bound, int flows) {
            if (flows == 0 || crossing == flows) return bound;
            if (load.rate.count > 0) bound = std::min(bound, load.rate.bytes_per_second() / crossing);
            return load.duplex.count > 0 ? std::min(bound, load.duplex.bytes_per_second()) : bound;
          });
    }
  }

  void set_factors() {
    simgrid_compat::set_latency_factor(zone, [this](double size, const s4u::Host* from, const s4u::Host* to, const auto&, const auto&) {
      const double bytes = size == static_cast<double>(nothing_to_carry) ? 0.0 : size;
      const bool meets = bytes >= static_cast<double>(hardware.rendezvous_threshold.count);
      const S4uPath& path = paths.at(ends(from, to));
      const SimTime handshake = meets ? message_costs.of(hardware.rendezvous, static_cast<std::int64_t>(bytes)) : SimTime{};
      return (path.latency_s + handshake.seconds()) / claiming_latency_s(path.nature.terms);
    });
    simgrid_compat::set_bandwidth_factor(zone, [this](double size, const s4u::Host* from, const s4u::Host* to, const auto&, const auto&) {
      if (size == static_cast<double>(nothing_to_carry)) return 1e30;
      const bool copied = hardware.copies(paths.at(ends(from, to)).nature.kind);
      return size / static_cast<double>(message_costs.wire_bytes(hardware, static_cast<std::int64_t>(size), copied));
    });
  }

  std::string waiting() const {
    constexpr std::size_t most = 10;
    std::string text = "no progress is possible:";
    std::size_t count = 0;
    for (const auto& transport : transports)
      if (const std::string line = transport->waiting(); !line.empty() && ++count <= most) text += "\n  " + line;
    if (count > most) text += fmt::format("\n  and {} more", count - most);
    return text;
  }

  bool connects(int connection, Rank from, Rank to) override { return connected.insert({connection, from, to}).second; }

  void run_actor(std::size_t index, Rank rank, SimTime start, const Program& program, const ActorOptions& options) {
    try {
      if (start.ps > 0) s4u::this_actor::sleep_until(start.seconds());
      if (options.before) options.before();
      program(*transports[index]);
      transports[index]->finish();
      if (options.after) options.after();
      SimTime& finish = run.rank_finish[static_cast<std::size_t>(rank)];
      finish = std::max(finish, now());
    } catch (const std::exception&) {
      if (!failure) failure = std::current_exception();
      s4u::Actor::kill_all();
    }
  }

  HardwareProfile hardware;
  MessageCosts message_costs;
  s4u::Engine& engine;
  s4u::NetZone* zone = nullptr;
  std::vector<s4u::Host*> hosts;
  std::vector<s4u::Link*> links;
  std::unordered_map<LinkId, s4u::Link*> both_ways;         // by link that loses rate while flows cross its opposite: what the two share
  std::deque<int> flows_both_ways;                          // by such a pair; addresses stay
  std::unordered_map<std::uint64_t, S4uPath> paths;         // by (endpoint, endpoint); addresses stay
  std::unordered_map<std::uint64_t, s4u::ActorPtr> actors;  // by (rank, channel)
  std::vector<int> endpoints_of_ranks;
  std::set<std::tuple<int, Rank, Rank>> connected;  // connection, from, to
  std::vector<std::unique_ptr<S4uTransport>> transports;
  std::exception_ptr failure;
  std::string deadlock;
  NetworkRun run;
};

S4uWorld::S4uWorld(const HardwareProfile& hardware, int endpoints, std::span<const BitsPerSecond> goodput)
    : state_(std::make_unique<State>(hardware, endpoints, goodput)) {}

S4uWorld::~S4uWorld() = default;

void S4uWorld::connect(int from, int to, std::span<const Hop> hops, SimTime latency, PathNature nature) {
  State& s = *state_;
  check(!hops.empty() && from != to, "a path from {} to {} needs a link", from, to);
  S4uPath path{.links = {}, .latency_s = latency.seconds(), .nature = nature};
  for (const Hop& hop : hops) path.links.push_back(hop.link);
  s.paths.emplace(pair_of(static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to)), std::move(path));
}

void S4uWorld::lose_two_way(LinkId link, TwoWayLoad load) { state_->lose_two_way(link, load); }

void S4uWorld::add_actor(Rank rank, int channel, int endpoint, SimTime start, Program program, ActorOptions options) {
  State& s = *state_;
  const auto ranks = std::max(s.run.rank_finish.size(), static_cast<std::size_t>(rank) + 1);
  s.run.rank_finish.resize(ranks);
  s.endpoints_of_ranks.resize(ranks, -1);
  s.endpoints_of_ranks[static_cast<std::size_t>(rank)] = endpoint;
  const std::size_t index = s.transports.size();
  s.transports.push_back(
      std::make_unique<S4uTransport>(s, options.hardware ? *options.hardware : s.hardware, rank, channel, options.connection));
  s.actors[pair_of(static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(channel))] =
      simgrid_compat::add_actor(s.engine, fmt::format("rank{}/{}", rank, channel), s.hosts[static_cast<std::size_t>(endpoint)],
                                [&s, index, rank, start, program = std::move(program), options = std::move(options)] {
                                  s.run_actor(index, rank, start, program, options);
                                });
}

NetworkRun S4uWorld::run() {
  State& s = *state_;
  s.add_routes();
  s.set_factors();
  s.zone->seal();
  s4u::Engine::on_time_advance_cb([&s](double) {
    const double ps = s4u::Engine::get_clock() * 1e12;
    run_progress().reached({ps < 0x1p63 ? std::llround(ps) : SimTime::never().ps}, ++s.run.events);
  });
  s4u::Engine::on_deadlock_cb([&s] { s.deadlock = s.waiting(); });
  s.engine.run();
  if (s.failure) std::rethrow_exception(s.failure);
  if (!s.deadlock.empty()) throw RunError(s.deadlock);
  s.run.bytes_on_link.resize(s.links.size());
  s.run.bytes_from.resize(s.hosts.size());
  for (const auto& [ends, path] : s.paths) {
    for (const LinkId link : path.links) s.run.bytes_on_link[static_cast<std::size_t>(link)] += path.bytes;
    if (leaves_server(path.nature.kind)) s.run.bytes_from[from_of(ends)] += path.bytes;
  }
  for (const auto& transport : s.transports) s.run.messages += transport->messages_sent();
  for (const SimTime t : s.run.rank_finish) s.run.finish = std::max(s.run.finish, t);
  return s.run;
}

}  // namespace weft

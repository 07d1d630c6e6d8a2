// SimGrid as Debian 12 (3.32) and Debian 13 (4.0) have it: every difference that we meet, in one place.
#pragma once

#include <functional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <simgrid/s4u.hpp>
#include <simgrid/version.h>
#if SIMGRID_VERSION < 40000
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#endif

namespace weft::simgrid_compat {

namespace s4u = simgrid::s4u;

// What a model multiplies the latency or the rate of one communication by.
using Factor = double(double size, const s4u::Host* from, const s4u::Host* to, const std::vector<s4u::Link*>&,
                      const std::unordered_set<s4u::NetZone*>&);

#if SIMGRID_VERSION < 40000

inline s4u::NetZone* add_floyd_zone(s4u::Engine&, const std::string& name) { return s4u::create_floyd_zone(name); }
// A cable: one link is the route in both directions.
inline void add_cable(s4u::NetZone* zone, const s4u::Host* a, const s4u::Host* b, const s4u::Link* link) {
  zone->add_route(a->get_netpoint(), b->get_netpoint(), nullptr, nullptr, {s4u::LinkInRoute(link)}, true);
}

inline constexpr const char* timing_precision = "surf/precision";
inline constexpr const char* sharing_precision = "maxmin/precision";

inline s4u::NetZone* add_full_zone(s4u::Engine&, const std::string& name) { return s4u::create_full_zone(name); }
inline s4u::Host* add_host(s4u::NetZone* zone, const std::string& name, double flops) { return zone->create_host(name, flops); }
inline s4u::Link* add_link(s4u::NetZone* zone, const std::string& name, double bytes_per_s) { return zone->create_link(name, bytes_per_s); }
inline void add_route(s4u::NetZone* zone, const s4u::Host* from, const s4u::Host* to, const std::vector<s4u::LinkInRoute>& links) {
  zone->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, links, false);
}
inline void set_latency_factor(s4u::NetZone* zone, const std::function<Factor>& f) { zone->get_network_model()->set_lat_factor_cb(f); }
inline void set_bandwidth_factor(s4u::NetZone* zone, const std::function<Factor>& f) { zone->get_network_model()->set_bw_factor_cb(f); }
inline s4u::ActorPtr add_actor(s4u::Engine&, const std::string& name, s4u::Host* host, const std::function<void()>& body) {
  return s4u::Actor::create(name, host, body);
}

#else

inline s4u::NetZone* add_floyd_zone(s4u::Engine& engine, const std::string& name) {
  return engine.get_netzone_root()->add_netzone_floyd(name);
}
inline void add_cable(s4u::NetZone* zone, const s4u::Host* a, const s4u::Host* b, const s4u::Link* link) {
  zone->add_route(a, b, std::vector<s4u::LinkInRoute>{s4u::LinkInRoute(link)}, true);
}

inline constexpr const char* timing_precision = "precision/timing";
inline constexpr const char* sharing_precision = "precision/work-amount";

inline s4u::NetZone* add_full_zone(s4u::Engine& engine, const std::string& name) {
  return engine.get_netzone_root()->add_netzone_full(name);
}
inline s4u::Host* add_host(s4u::NetZone* zone, const std::string& name, double flops) { return zone->add_host(name, flops); }
inline s4u::Link* add_link(s4u::NetZone* zone, const std::string& name, double bytes_per_s) { return zone->add_link(name, bytes_per_s); }
inline void add_route(s4u::NetZone* zone, const s4u::Host* from, const s4u::Host* to, const std::vector<s4u::LinkInRoute>& links) {
  zone->add_route(from, to, links, false);
}
inline void set_latency_factor(s4u::NetZone* zone, const std::function<Factor>& f) { zone->set_latency_factor_cb(f); }
inline void set_bandwidth_factor(s4u::NetZone* zone, const std::function<Factor>& f) { zone->set_bandwidth_factor_cb(f); }
inline s4u::ActorPtr add_actor(s4u::Engine& engine, const std::string& name, s4u::Host* host, const std::function<void()>& body) {
  return engine.add_actor(name, host, body);
}

#endif

}  // namespace weft::simgrid_compat

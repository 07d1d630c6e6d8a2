// A SimGrid platform (XML, version 4.1): hosts, links, and the route that SimGrid takes between any two hosts. Zones in zones, explicit
// routes, shortest ways, stars, clusters, Fat-Trees, tori, dragonflies.
#pragma once

#include "kernels/base/units.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

struct PlatformLink {
  std::string name;  // a SPLITDUPLEX link is two: "name_UP" and "name_DOWN"
  BitsPerSecond bandwidth;
  SimTime latency;
  bool fatpipe = false;  // its bandwidth is what each flow gets at most, and shared by none
};

// Hosts, routers and zones, by number.
using PointId = int;

struct PlatformRoute {
  std::vector<int> links = {};
  PointId source_gateway = -1, destination_gateway = -1;  // of a route between zones
};

class Platform;

// A zone knows the routes between its own hosts, routers and inner zones.
class PlatformZone {
 public:
  virtual ~PlatformZone() = default;
  // Nothing where there is no route.
  virtual std::optional<PlatformRoute> local_route(const Platform& platform, PointId from, PointId to) const = 0;

  PointId point = -1;  // of the zone itself
  int parent = -1;     // zone
  int line = 0;
  std::map<std::pair<PointId, PointId>, PlatformRoute> bypasses = {};
};

class Platform {
 public:
  struct Point {
    std::string name;
    int zone = -1;   // that it is in
    int inner = -1;  // the zone that it is, if it is one
    bool is_host = false;
  };

  std::vector<Point> points = {};
  std::vector<std::unique_ptr<PlatformZone>> zones = {};
  std::vector<PlatformLink> links = {};
  std::vector<PointId> hosts = {};  // in the order of the file

  // Appends the links from one point to another. False where there is no way.
  bool append_route(PointId from, PointId to, std::vector<int>& out) const { return append_route(from, to, out, 0); }

  // What no host sends more than: of the host with the most, what the links give together that its routes begin with. The routes of more
  // hosts than these are too many to look at, and no host sends more than all links give.
  static constexpr std::size_t max_hosts_looked_at = 1024;
  BitsPerSecond max_from_a_host() const;

 private:
  double sent_from(PointId host) const;
  bool append_route(PointId from, PointId to, std::vector<int>& out, int depth) const;
  bool append_parts(const std::pair<PointId, PointId>& ends, PlatformRoute route, std::pair<bool, bool> outside, std::vector<int>& out,
                    int depth) const;
  std::vector<int> zones_around(PointId point) const;  // from the innermost on
  const PlatformRoute* bypass(const PlatformZone& zone, const std::vector<int>& source, const std::vector<int>& destination,
                              std::pair<PointId, PointId>& key) const;

  mutable std::once_flag looked_at_hosts_;
  mutable BitsPerSecond max_from_a_host_{};
};

inline constexpr std::size_t max_platform_bytes = 256 << 20;

// Throws InputError with a line for each problem, "line 12: ...": what is wrong, and what has no meaning in Weft, by its name.
std::shared_ptr<const Platform> read_platform(std::string_view xml);

}  // namespace weft

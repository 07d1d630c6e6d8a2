// The kinds of zones, each with the routes that SimGrid's of the same name takes.
#pragma once

#include "models/platform/platform.hpp"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace weft {

// Full, Floyd, Dijkstra and None. Of shortest ways the cost is the number of links.
class RoutedZone final : public PlatformZone {
 public:
  explicit RoutedZone(bool shortest) : shortest_(shortest) {}
  std::optional<PlatformRoute> local_route(const Platform& platform, PointId from, PointId to) const override;
  bool add(PointId from, PointId to, PlatformRoute route) { return routes_.emplace(std::pair(from, to), std::move(route)).second; }
  void number_points();
  std::size_t shortest_points() const { return points_.size(); }  // that ways are searched among; 0 where they are not

 private:
  struct Edge {
    int to;
    std::size_t cost;
  };
  int index_of(PointId end) const;
  const std::vector<int>& ways_from(int source) const;

  bool shortest_;
  std::map<std::pair<PointId, PointId>, PlatformRoute> routes_;
  std::map<PointId, int> index_;
  std::vector<PointId> points_;
  std::vector<std::vector<Edge>> edges_;
  // By source, found when first asked for: the last stop but one on the way to each point, -1 where there is none.
  mutable std::mutex mutex_;
  mutable std::map<int, std::vector<int>> before_;
};

// Cluster: up from one end and down to the other; a link on both is passed once.
class StarZone final : public PlatformZone {
 public:
  struct Arm {
    std::vector<int> up = {}, down = {};
  };
  std::optional<PlatformRoute> local_route(const Platform& platform, PointId from, PointId to) const override;
  std::map<PointId, Arm> arms;  // none: nothing between it and the middle
};

// Hosts of a cluster, in a shape of its own.
struct ClusterLinks {
  std::vector<PlatformLink>& links;
  std::string name;
  BitsPerSecond bandwidth;
  SimTime latency;
  bool split = true, fatpipe = false;
  BitsPerSecond limiter{0};

  // Up and down; the same link where it is not split.
  std::pair<int, int> add(const std::string& link, int times = 1);
  std::vector<int> add_limiter(int number);  // one link, or none
};

// Without the zone: from one host to another by their numbers in the cluster.
class ClusterShape {
 public:
  virtual ~ClusterShape() = default;
  virtual void append(int from, int to, std::vector<int>& links) const = 0;
};

struct FatTreeParameters {
  std::vector<int> children = {}, parents = {}, cables = {};  // by level
};
struct DragonflyParameters {
  int groups = 1, blue = 1, chassis = 1, black = 1, routers = 1, green = 1, nodes = 1;
};
std::unique_ptr<ClusterShape> fat_tree_shape(const FatTreeParameters& parameters, ClusterLinks links);
std::unique_ptr<ClusterShape> torus_shape(std::vector<int> dimensions, ClusterLinks links);
std::unique_ptr<ClusterShape> shape_of_groups(const DragonflyParameters& parameters, ClusterLinks links);

class ShapedZone final : public PlatformZone {
 public:
  std::optional<PlatformRoute> local_route(const Platform& platform, PointId from, PointId to) const override;
  std::unique_ptr<ClusterShape> shape;
  std::map<PointId, int> numbers;
};

}  // namespace weft

#include "models/fabric/torus.hpp"

#include "models/fabric/validation.hpp"

namespace weft {
namespace {

constexpr std::size_t max_dimensions = 8;

class TorusFabric final : public Fabric {
 public:
  explicit TorusFabric(const Torus& spec) : dims_{spec.dims}, per_switch_{spec.nodes_per_switch} {
    priorities_ = spec.priorities;
    int switches = 1;
    for (const int d : dims_) {
      strides_.push_back(switches);
      switches *= d;
    }
    for (int s = 0; s < switches; ++s) add_switch(name_of(s));
    for (int s = 0; s < switches; ++s)
      for (int slot = 0; slot < per_switch_; ++slot) add_endpoint_on(s, fmt::format("{}/node{}", device(s).name, slot), spec.host_link);
    leaving_.resize(2 * static_cast<std::size_t>(switches) * dims_.size());
    for (int s = 0; s < switches; ++s)
      for (std::size_t dim = 0; dim < dims_.size(); ++dim) add_ring_cable(s, dim, spec.fabric_link);
  }

  int path_count(int from, int to) const override {
    int count = 1;
    for (std::size_t dim = 0; dim < dims_.size(); ++dim)
      if (two_ways(distance_up(from / per_switch_, to / per_switch_, dim), dim)) count *= 2;
    return count;
  }

  void append_path(int from, int to, int choice, std::vector<Hop>& path) const override {
    path.push_back({up_link(from), 0});
    int at = from / per_switch_;
    const int target = to / per_switch_;
    for (std::size_t dim = 0; dim < dims_.size(); ++dim) {
      const int up = distance_up(at, target, dim);
      bool upwards = 2 * up <= dims_[dim];
      if (two_ways(up, dim)) {
        upwards = choice % 2 == 0;
        choice /= 2;
      }
      at = walk(at, dim, upwards, upwards ? up : dims_[dim] - up, path);
    }
    path.push_back({down_link(to), 0});
  }

 private:
  std::string name_of(int s) const {
    std::vector<int> coordinates;
    for (std::size_t dim = 0; dim < dims_.size(); ++dim) coordinates.push_back(coordinate(s, dim));
    return fmt::format("switch{}", fmt::join(coordinates, "."));
  }

  int coordinate(int s, std::size_t dim) const { return s / strides_[dim] % dims_[dim]; }
  int neighbour_above(int s, std::size_t dim) const {
    return coordinate(s, dim) + 1 < dims_[dim] ? s + strides_[dim] : s - (dims_[dim] - 1) * strides_[dim];
  }
  int distance_up(int from, int to, std::size_t dim) const {
    const int distance = coordinate(to, dim) - coordinate(from, dim);
    return distance >= 0 ? distance : distance + dims_[dim];
  }
  bool two_ways(int up, std::size_t dim) const { return dims_[dim] > 2 && 2 * up == dims_[dim]; }

  std::size_t index(int s, std::size_t dim, bool upwards) const {
    return 2 * (static_cast<std::size_t>(s) * dims_.size() + dim) + (upwards ? 0 : 1);
  }

  // The cable to the neighbour above; of a pair, only the lower switch lays it.
  void add_ring_cable(int s, std::size_t dim, LinkSpec spec) {
    if (dims_[dim] == 1 || (dims_[dim] == 2 && coordinate(s, dim) == 1)) return;
    const int above = neighbour_above(s, dim);
    const LinkId id = add_cable(s, above, spec);
    leaving_[index(s, dim, true)] = id;
    leaving_[index(above, dim, false)] = id + 1;
    if (dims_[dim] == 2) leaving_[index(above, dim, true)] = id + 1;
  }

  int walk(int at, std::size_t dim, bool upwards, int steps, std::vector<Hop>& path) const {
    const int last = upwards ? dims_[dim] - 1 : 0, first = upwards ? 0 : dims_[dim] - 1;
    const int stride = upwards ? strides_[dim] : -strides_[dim];
    int coordinate = this->coordinate(at, dim), priority = 0;
    for (; steps > 0; --steps) {
      const bool closes_ring = coordinate == last;
      if (closes_ring && priorities_ == 2 && dims_[dim] > 2) priority = 1;
      path.push_back({leaving_[index(at, dim, upwards)], priority});
      at += closes_ring ? -(dims_[dim] - 1) * stride : stride;
      coordinate = closes_ring ? first : coordinate + (upwards ? 1 : -1);
    }
    return at;
  }

  std::vector<int> dims_;
  std::vector<int> strides_;
  int per_switch_;
  std::vector<LinkId> leaving_;  // by switch, dimension and direction
};

}  // namespace

std::int64_t Torus::endpoints() const {
  std::int64_t count = nodes_per_switch;
  for (const int d : dims) count = product({count, d});
  return count;
}

std::vector<Problem> problems(const Torus& spec) {
  Problems found;
  found.require(!spec.dims.empty() && spec.dims.size() <= max_dimensions, "/dims", "must list 1 to {} dimensions, got {}", max_dimensions,
                spec.dims.size());
  for (std::size_t dim = 0; dim < spec.dims.size(); ++dim) found.at_least(1, fmt::format("/dims/{}", dim), spec.dims[dim]);
  found.at_least(1, "/nodes_per_switch", spec.nodes_per_switch);
  if (found.none()) {
    const std::int64_t switches = spec.endpoints() / spec.nodes_per_switch;
    found.check_size(spec.endpoints(), product({switches, static_cast<std::int64_t>(spec.dims.size())}));
  }
  found.within(1, 2, "/priorities", spec.priorities);
  found.check_link("/host_link", spec.host_link);
  found.check_link("/fabric_link", spec.fabric_link);
  return found.take();
}

std::unique_ptr<Fabric> build(const Torus& spec) {
  refuse(Torus::type, problems(spec));
  return std::make_unique<TorusFabric>(spec);
}

}  // namespace weft

#include "models/fabric/simgrid_fabric.hpp"

#include "models/fabric/validation.hpp"

#include <algorithm>

namespace weft {
namespace {

class PlatformFabric final : public Fabric {
 public:
  explicit PlatformFabric(std::shared_ptr<const Platform> platform) : platform_(std::move(platform)) {
    for (const PlatformLink& link : platform_->links) {
      const NodeId device = add_switch(link.name);
      add_link(device, device, {link.fatpipe ? shared_by_none : link.bandwidth, link.latency});
    }
    for (const PointId host : platform_->hosts) add_endpoint(platform_->points[static_cast<std::size_t>(host)].name);
  }

  int path_count(int from, int to) const override { return from == to ? 0 : 1; }

  void append_path(int from, int to, int, std::vector<Hop>& path) const override {
    for (const int link : route(from, to)) path.push_back({link, 0});
  }

  FlowTerms terms(int from, int to) const override {
    std::vector<FlowCap> caps;
    append_caps(from, to, caps);
    return {.rate_cap = least_of(caps)};
  }

  void append_caps(int from, int to, std::vector<FlowCap>& caps) const override {
    for (const int id : route(from, to))
      if (const PlatformLink& link = platform_->links[static_cast<std::size_t>(id)]; link.fatpipe) caps.push_back({id, link.bandwidth});
  }

 private:
  static constexpr BitsPerSecond shared_by_none{1'000'000'000'000'000};

  std::vector<int> route(int from, int to) const {
    std::vector<int> links;
    const auto host = [&](int endpoint) { return platform_->hosts[static_cast<std::size_t>(endpoint)]; };
    if (!platform_->append_route(host(from), host(to), links))
      throw RunError(fmt::format("the platform has no route from {} to {}", device(node_of(from)).name, device(node_of(to)).name));
    return links;
  }

  std::shared_ptr<const Platform> platform_;
};

}  // namespace

std::vector<Problem> problems(const SimgridFabric& spec) {
  Problems found;
  found.require(spec.platform != nullptr, "/file", "missing: the name of a SimGrid platform");
  found.require(spec.nics == 1, "", "the hosts of a SimGrid platform have one NIC each, and the server has {}", spec.nics);
  return found.take();
}

std::unique_ptr<Fabric> build(const SimgridFabric& spec) {
  refuse(SimgridFabric::type, problems(spec));
  return std::make_unique<PlatformFabric>(spec.platform);
}

}  // namespace weft

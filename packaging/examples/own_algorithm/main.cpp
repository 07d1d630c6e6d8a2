// The simulator inside a program, with an algorithm and a fabric that Weft does not have.
#include <cstdio>

#include <weft/simulator.hpp>

using namespace weft;

namespace {

// All-reduce in two waves along a line of ranks: sums travel to the last rank, and the result travels back. 2(n-1) steps of the whole
// message, each on one link.
Schedule there_and_back(const Request& request) {
  const int n = request.ranks;
  Schedule s{.name = "there_and_back", .collective = Collective::allreduce, .ranks = n, .chunks = 1};
  for (int k = 0; k + 1 < n; ++k) s.add_step().reduce({.from = k, .to = k + 1, .chunk = 0});
  for (int k = n - 1; k > 0; --k) s.add_step().copy({.from = k, .to = k - 1, .chunk = 0});
  return s;
}

// Endpoints on a line of switches, one each.
class Line : public Fabric {
 public:
  Line(int endpoints, LinkSpec link) {
    std::vector<NodeId> switches;
    for (int i = 0; i < endpoints; ++i) switches.push_back(add_switch("switch" + std::to_string(i)));
    for (int i = 0; i < endpoints; ++i) add_endpoint_on(switches[static_cast<std::size_t>(i)], "node" + std::to_string(i), link);
    for (std::size_t i = 0; i + 1 < switches.size(); ++i) cables_.push_back(add_cable(switches[i], switches[i + 1], link));
  }
  int path_count(int, int) const override { return 1; }
  void append_path(int from, int to, int, std::vector<Hop>& path) const override {
    path.push_back({up_link(from)});
    for (int at = from; at != to; at += from < to ? 1 : -1)  // a cable's first link goes to the right, the one after it to the left
      path.push_back({from < to ? cables_[static_cast<std::size_t>(at)] : cables_[static_cast<std::size_t>(at - 1)] + 1});
    path.push_back({down_link(to)});
  }

 private:
  std::vector<LinkId> cables_;
};

}  // namespace

int main() try {
  add_algorithm({.name = "there_and_back",
                 .collective = Collective::allreduce,
                 .description = "Sums travel along a line of ranks, the result travels back.",
                 .source = "this example",
                 .build = there_and_back});
  const Json scenario = Json::parse(R"({
    "schema": 1, "name": "line", "hardware": "ideal",
    "workload": { "algorithm": ["ring", "there_and_back"], "size": ["8B", "8MB"] } })");
  const auto line = std::make_shared<const Line>(8, LinkSpec{100_Gbps, 1_us});
  for (const ScenarioRow& row : run_scenario(scenario, {.fabric = line}))
    std::printf("%-16s %10lld B %12.3f us, busiest link %s\n", row.row.algorithm.c_str(), static_cast<long long>(row.row.size.count),
                static_cast<double>(row.row.time.ps) / 1e6, row.row.busiest_link.c_str());
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

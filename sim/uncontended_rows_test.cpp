// Rows that need no events are those that events give: a run with a timeline goes through them.
#include "sim/cases/testing.hpp"
#include "sim/experiment.hpp"

#include <random>

using namespace weft;

namespace {

Row row_of(const Scenario& s, Timeline* timeline) {
  Row row = Experiment(s, s.workload.algorithms.front()).run(s.workload.sizes.front(), {.timeline = timeline, .find_path = true});
  row.wall_s = 0;
  return row;
}

}  // namespace

TEST_CASE("uncontended: rows with servers, profiles, channels, jobs and traffic are the same with events and without") {
  std::mt19937_64 random(5);
  const auto one_of = [&](std::initializer_list<const char*> all) { return std::string(all.begin()[random() % all.size()]); };
  int walked = 0;
  for (int round = 0; round < 250; ++round) {
    const std::string server = one_of({"", "two_nic", "congestionless", "dgx_h100", R"({"preset": "cpu_host", "cores": 6})"});
    std::vector<std::string> said = {
        one_of(
            {R"(/fabric={"type": "star", "nodes": 8, "link": {"bandwidth": "100Gbps", "latency": "500ns"}})",
             R"(/fabric={"type": "fat_tree", "leaves": 2, "nodes_per_leaf": 8, "spines": 2, "link": {"bandwidth": "100Gbps", "latency": "500ns"}})",
             R"(/fabric={"type": "star", "nodes": 4, "link": {"bandwidth": "400Gbps", "latency": "500ns"}})"}),
        "/workload/algorithm=" + one_of({R"("ring")", R"({"name": "ring", "channels": 2})", R"("halving_doubling")",
                                         R"("double_binary_tree")", R"("nccl")", R"("hierarchical_ring")", R"("recursive_doubling")"}),
        "/workload/size=" + one_of({"64KiB", "1MiB", "100kB"}),
        "/workload/ranks=" + one_of({"2", "4", "8", "16", "32"}),
        "/placement=" + one_of({"linear", "random", "round_robin"}),
        "/hardware=" + one_of({"ideal", "eflops_simulator", "h100_servers", "mpi_hosts", "tcp_hosts"})};
    if (!server.empty()) said.push_back("/server=" + server);
    if (random() % 3 == 0) said.emplace_back(R"(/start_skew={"max": "20us", "seed": 3})");
    if (random() % 3 == 0) said.emplace_back("/workload/iterations=3");
    if (random() % 4 == 0) said.emplace_back(R"(/traffic=[{"pattern": "permutation", "size": "256KiB"}])");
    if (random() % 4 == 0) said.emplace_back(R"(/jobs=[{"ranks": 2, "size": "256KiB", "start": "5us"}])");
    std::vector<Setting> settings;
    std::string all;
    for (const std::string& text : said) settings.push_back(parse_setting(text)), all += text + " ";
    CAPTURE(all);
    Scenario s;
    Timeline timeline;
    Row with_events;
    try {
      s = cases_of(good_scenario(), settings).front().scenario;
      with_events = row_of(s, &timeline);
    } catch (const InputError&) {
      continue;  // what does not fit together
    }
    CHECK(row_of(s, nullptr) == with_events);
    ++walked;
  }
  CHECK(walked > 60);
}

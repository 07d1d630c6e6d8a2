// Parameter servers through the whole simulator: closed forms on a star, every network, jobs.
#include "sim/cases/jobs.hpp"
#include "sim/engine/in_child.hpp"
#include "sim/scenario/profiles.hpp"
#include "sim/testing.hpp"

#include <map>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

using namespace weft;

namespace {

AlgorithmChoice on(ServerHosts hosts, int servers, int pieces = 1) {
  return {"parameter_server", {.servers = servers, .server_hosts = hosts, .pieces = pieces}};
}
AlgorithmChoice extra(int servers, int pieces = 1) { return on(ServerHosts::extra, servers, pieces); }

// In a process of its own: SimGrid's engine runs once in each.
struct Seen {
  double us = 0;
  std::int64_t sent = 0, messages = 0;
  int ranks = 0, aggregates = 0;
  std::string busiest;
};
Seen simulated(const Scenario& scenario, const AlgorithmChoice& choice, Bytes size) {
  std::istringstream text(in_child([&] {
    const Row o = simulate(scenario, choice, size);
    return fmt::format("{} {} {} {} {} {}", o.time.ps, o.wire_bytes_per_rank.count, o.messages, o.ranks, o.aggregates ? 1 : 0,
                       o.busiest_link);
  }));
  Seen seen;
  text >> seen.us >> seen.sent >> seen.messages >> seen.ranks >> seen.aggregates >> seen.busiest;
  seen.us /= 1e6;
  return seen;
}

}  // namespace

TEST_CASE("parameter server on an extra host: n messages through its cable, there and back, on every network") {
  // The testbed of ATP's baseline: 8 workers, 1 server. 1 MB at 100 Gb/s is 80 us, two cables are 2 us:
  // push 8 x 80 + 2, pull the same; 1284 us. The server sends 8 MB, a worker 1 MB.
  for (const NetworkKind network : {NetworkKind::flow, NetworkKind::packet, NetworkKind::simgrid}) {
    CAPTURE(name_of(network));
    const Seen seen = simulated(star(9, 8, network), extra(1), 1_MB);
    CHECK(seen.us == doctest::Approx(1284).epsilon(1e-3));
    CHECK(seen.sent == 8'000'000);
    CHECK(seen.messages == 16);
    CHECK(seen.ranks == 8);
    CHECK(seen.aggregates == 1);
    CHECK(seen.busiest.find("node8") != std::string::npos);
  }
}

TEST_CASE("parameter servers on extra hosts: k servers divide the work until workers' own cables are the limit") {
  // Each phase takes what the busier cable carries: n/k of the message at a server, the whole of it at a worker.
  // 1 MB is 80 us, two cables 2 us: 2 (80 max(8/k, 1) + 2).
  for (const int k : {1, 2, 4, 8, 16}) {
    CAPTURE(k);
    const Seen seen = simulated(star(8 + k, 8, NetworkKind::flow), extra(k), 1_MB);
    CHECK(seen.us == doctest::Approx(2 * (80 * std::max(8.0 / k, 1.0) + 2)).epsilon(1e-6));
    CHECK(seen.sent == std::max(8'000'000 / k, 1'000'000));
  }
}

TEST_CASE("parameter servers on extra hosts: pushes and pulls of pieces overlap, and busbw passes what a ring can reach") {
  // 8 workers and 8 servers: in each of 16 + 1 steps a sixteenth of 16 MB, 80 us, goes up and another comes down; 2 us more.
  const Seen seen = simulated(star(16, 8, NetworkKind::flow), extra(8, 16), 16_MB);
  CHECK(seen.us == doctest::Approx(17 * 82).epsilon(1e-6));
  // 16 MB in 1394 us are 11.48 GB/s; times 2 x 7/8 it is more than the 12.5 GB/s of a cable, and no bug.
  CHECK(16e6 / seen.us / 1e3 * 1.75 > 12.5);
  CHECK(seen.aggregates == 1);
}

TEST_CASE("parameter servers: co-located ones send (n-1)/n of the message each way, extra ones nothing but their part") {
  // 8 servers on 8 workers, 1 MB: each phase 7 chunks of 125 kB through every cable, 70 us, and 2 us.
  const Seen among = simulated(star(16, 8, NetworkKind::flow), on(ServerHosts::workers, 8), 1_MB);
  CHECK(among.us == doctest::Approx(2 * 72).epsilon(1e-6));
  CHECK(among.sent == 2 * 875'000);
  CHECK(among.aggregates == 0);
}

TEST_CASE("parameter servers are ready when the first worker starts, however late that is") {
  Scenario s = star(9, 8, NetworkKind::flow);
  s.hardware.rendezvous_threshold = 1_KiB;  // senders wait for receivers
  s.start_skew = StartSkew{.max = 50_us, .seed = 3};
  const std::vector<SimTime> starts = starts_of(s);
  const auto [first, last] = std::ranges::minmax(starts);
  const Seen seen = simulated(s, extra(1), 1_MB);
  // The cable of the server is never idle between the first push and the end of the last.
  CHECK(seen.us == doctest::Approx(1284).epsilon(1e-3));
  CHECK((last - first).microseconds() > 10);
}

TEST_CASE("parameter servers of two jobs have hosts of their own, and the jobs do not touch each other") {
  for (const NetworkKind network : {NetworkKind::flow, NetworkKind::packet}) {
    CAPTURE(name_of(network));
    Scenario s = star(10, 4, network);
    s.workload.algorithms = {extra(1)};
    s.workload.sizes = {1_MB};
    s.jobs = {JobChoice{.name = "other", .ranks = 4, .start = 30_us}};
    CHECK(placements_of_jobs(s, extra(1)) == std::vector<std::vector<int>>{{0, 1, 2, 3, 8}, {4, 5, 6, 7, 9}});
    const std::string text = in_child([&] {
      std::string out;
      for (const JobResult& job : simulate(s, extra(1), 1_MB).jobs)
        out += fmt::format("{} {} {} {} ", job.time.ps, job.alone.ps, job.ranks, job.wire_bytes_per_rank.count);
      return out;
    });
    std::istringstream in(text);
    for (int job = 0; job < 2; ++job) {
      double mean_ps = 0, alone_ps = 0;
      std::int64_t ranks = 0, sent = 0;
      in >> mean_ps >> alone_ps >> ranks >> sent;
      CHECK(mean_ps / 1e6 == doctest::Approx(2 * (4 * 80 + 2)).epsilon(1e-3));
      CHECK(mean_ps == alone_ps);
      CHECK(ranks == 4);
      CHECK(sent == 4'000'000);
    }
  }
}

TEST_CASE("parameter servers on extra hosts: iterations follow one another, and the servers add in each") {
  Scenario s = star(9, 8, NetworkKind::flow);
  s.workload.iterations = 3;
  const Seen seen = simulated(s, extra(1), 1_MB);
  CHECK(seen.us == doctest::Approx(1284).epsilon(1e-6));
  CHECK(seen.sent == 8'000'000);
  CHECK(seen.aggregates == 1);
}

TEST_CASE("parameter servers: the shipped scenario shows what its page says") {
  const Scenario s = load_cases(project_scenarios() / "parameter_servers.json").front().scenario;
  CHECK(s.workload.ranks == 16);
  std::map<std::string, double> ms;
  for (const AlgorithmChoice& choice : s.workload.algorithms) ms[label(choice)] = simulated(s, choice, 64_MiB).us / 1e3;
  const double ring = ms.at("ring");
  CHECK(ring == doctest::Approx(10.1).epsilon(0.005));
  CHECK(ms.at("parameter_server(servers=1,server_hosts=extra)") / ring == doctest::Approx(17).epsilon(0.005));
  CHECK(ms.at("parameter_server(servers=16)") / ring == doctest::Approx(1).epsilon(0.01));
  CHECK(ms.at("parameter_server(servers=16,server_hosts=extra)") > ring);
  CHECK(ms.at("parameter_server(servers=16,server_hosts=extra,pieces=16)") == doctest::Approx(5.7).epsilon(0.01));
}

#include "collectives/algorithms/parameter_server.hpp"

#include "collectives/algorithms/direct.hpp"
#include "collectives/schedule/verify.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <doctest/doctest.h>

namespace weft {

namespace {

// Chunks that each rank sends.
std::vector<int> sent(const Schedule& s) {
  std::vector<int> out(static_cast<std::size_t>(s.ranks));
  Step step;
  for (int k = 0; k < s.steps(); ++k) {
    s.channels.front().produce(k, step);
    for (const Transfer& t : step.transfers()) out[static_cast<std::size_t>(t.from)] += t.count;
  }
  return out;
}

}  // namespace

TEST_CASE("parameter servers are right for any number of workers and servers, and cost what the formula says") {
  for (const ServerHosts hosts : {ServerHosts::workers, ServerHosts::extra})
    for (int n = 1; n <= 17; ++n)
      for (int k = 1; k <= (hosts == ServerHosts::extra ? 20 : n); ++k) {
        CAPTURE(name_of(hosts));
        CAPTURE(n);
        CAPTURE(k);
        const Schedule s = parameter_server_allreduce({n, k, hosts});
        for (const std::string& flaw : verify(s)) FAIL_CHECK(flaw);
        CHECK(traffic(s).counted == parameter_server_allreduce_cost({n, k, hosts}));
        CHECK(s.workers() == n);
      }
}

TEST_CASE("servers are different ranks, evenly among all") {
  for (int n = 1; n <= 33; ++n)
    for (int k = 1; k <= n; ++k) {
      std::set<Rank> servers;
      for (int c = 0; c < k; ++c) servers.insert(server_of({n, k}, c));
      CHECK(servers.size() == static_cast<std::size_t>(k));
    }
  CHECK(server_of({8, 2}, 1) == 4);
}

TEST_CASE("a server on every rank costs what direct all-reduce does") {
  for (int n = 1; n <= 9; ++n) CHECK(parameter_server_allreduce_cost({n, n}) == direct_allreduce_cost(n));
}

TEST_CASE("one server sends the whole message to everyone else, and a worker sends it once") {
  const Traffic t = traffic(parameter_server_allreduce({8, 1}), 1000);
  CHECK(t.max_elements_sent == 7 * 1000);
}

TEST_CASE("on extra hosts a worker sends the message once, and a server its part to every worker") {
  // 8 workers, 3 servers behind them: 3 of 3 chunks each, and one chunk to each of 8.
  CHECK(sent(parameter_server_allreduce({8, 3, ServerHosts::extra})) == std::vector<int>{3, 3, 3, 3, 3, 3, 3, 3, 8, 8, 8});
  CHECK(server_of({8, 3, ServerHosts::extra}, 2) == 10);
}

TEST_CASE("the first that a server on an extra host hears begins the sum: what it held before is no part of it") {
  const Schedule s = parameter_server_allreduce({4, 2, ServerHosts::extra});
  Step step;
  s.channels.front().produce(0, step);
  std::vector<bool> begun(2);
  for (const Transfer& t : step.transfers()) {
    const auto server = static_cast<std::size_t>(t.to - 4);
    CHECK(t.reduces == begun[server]);
    begun[server] = true;
  }
  CHECK(std::count(begun.begin(), begun.end(), true) == 2);
}

}  // namespace weft

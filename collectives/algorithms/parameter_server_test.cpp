#include "collectives/algorithms/parameter_server.hpp"

#include "collectives/algorithms/direct.hpp"
#include "collectives/verify.hpp"

#include <set>

#include <doctest/doctest.h>

namespace weft {

TEST_CASE("parameter servers are right for any number of workers and servers, and cost what the formula says") {
  for (int n = 1; n <= 17; ++n)
    for (int k = 1; k <= n; ++k) {
      CAPTURE(n);
      CAPTURE(k);
      const Schedule s = parameter_server_allreduce({n, k});
      for (const std::string& flaw : verify(s)) FAIL_CHECK(flaw);
      CHECK(traffic(s).counted == parameter_server_allreduce_price({n, k}));
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
  for (int n = 1; n <= 9; ++n) CHECK(parameter_server_allreduce_price({n, n}) == direct_allreduce_price(n));
}

TEST_CASE("one server sends the whole message to everyone else, and a worker sends it once") {
  const Traffic t = traffic(parameter_server_allreduce({8, 1}), 1000);
  CHECK(t.max_elements_sent == 7 * 1000);
}

}  // namespace weft

#include "collectives/algorithms/neighbour_exchange.hpp"

#include <stdexcept>

#include <doctest/doctest.h>

namespace weft {

TEST_CASE("neighbours exchange pairs of blocks, left and right by turns") {
  const std::string six = to_string(neighbour_exchange_allgather(6));
  CHECK(six.find("step 0: 2->3 copies chunk 2\n") != std::string::npos);
  CHECK(six.find("step 1: 2->1 copies chunks 2..3\nstep 1: 3->4 copies chunks 2..3\n") != std::string::npos);
  CHECK(six.find("step 2: 2->3 copies chunks 0..1\nstep 2: 3->2 copies chunks 4..5\n") != std::string::npos);
  CHECK_THROWS_WITH_AS(neighbour_exchange_allgather(7), "internal error: neighbours pair up where the number of ranks is even, got 7",
                       std::logic_error);
}

}  // namespace weft

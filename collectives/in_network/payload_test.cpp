#include "collectives/in_network/datagram.hpp"

#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("payload: copies share one buffer, and it returns to its pool with the last of them") {
  PayloadPool pool(4);
  {
    Payload a = pool.take();
    a.mutable_values()[2] = 7;
    const Payload b = a;
    CHECK(pool.in_use() == 1);
    CHECK(b.values()[2] == 7);
    CHECK_THROWS_WITH_AS(a.mutable_values(), "internal error: a payload is written while 2 datagrams share it", std::logic_error);
    a.make_own();
    a.mutable_values()[2] = 8;
    CHECK(b.values()[2] == 7);
    CHECK(pool.in_use() == 2);
  }
  CHECK(pool.in_use() == 0);
}

TEST_CASE("payload: an empty one has no values and costs no buffer") {
  PayloadPool pool(4);
  Payload none;
  none.make_own();
  CHECK_FALSE(none);
  CHECK(none.values().empty());
  CHECK(pool.in_use() == 0);
}

TEST_CASE("payload: a pool grows past one slab and reuses what came back") {
  PayloadPool pool(3);
  std::vector<Payload> held;
  for (int i = 0; i < 1000; ++i) held.push_back(pool.take()), held.back().mutable_values()[0] = i;
  for (int i = 0; i < 1000; ++i) CHECK(held[static_cast<std::size_t>(i)].values()[0] == i);
  const std::int32_t* last = held.back().values().data();
  held.pop_back();
  CHECK(pool.take().values().data() == last);
}

TEST_CASE("datagram: a header written is the header read") {
  struct Small {
    std::uint32_t job, sequence;
    std::uint64_t bitmap;
  };
  Datagram datagram;
  datagram.header.set(Small{3, 9, 0x8000000000000001});
  const Datagram copy = datagram;
  CHECK(copy.header.as<Small>().sequence == 9);
  CHECK(copy.header.as<Small>().bitmap == 0x8000000000000001);
}

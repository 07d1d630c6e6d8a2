#include "collectives/engines/push_pull.hpp"

#include "collectives/schedule/verify.hpp"

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("push and pull: all workers end with the sum, whatever the GPUs of a machine, and each pushes its share once") {
  for (const int gpus : {1, 2, 4, 8})
    for (const int machines : {2, 3, 8})
      for (const bool in_turn : {false, true}) {
        CAPTURE(gpus);
        CAPTURE(machines);
        CAPTURE(in_turn);
        std::vector<int> sits;
        for (int w = 0; w < machines * gpus; ++w) sits.push_back(in_turn ? w % machines : w / gpus);
        const Schedule s = push_pull(sits);
        CHECK(verify(s).empty());
        CHECK(s.steps() == (gpus > 1 ? 4 : 2));
        // Inside machines each to each other twice, and all to the server and back.
        CHECK(s.messages() == 2LL * machines * gpus * (gpus - 1) + 2LL * machines * gpus);
      }
}

TEST_CASE("push and pull: machines of any numbers of GPUs push the partition once each, and all of a machine's share that evenly") {
  const Schedule s = push_pull({0, 0, 0, 1, 1, 2});
  CHECK(verify(s).empty());
  CHECK(s.chunks == 6);                                // thirds, halves, and the whole
  CHECK(s.messages() == 2 * (3 * 2 + 2 * 1) + 2 * 6);  // inside machines, and to the server and back
  std::vector<int> pushed(6);
  Step push;
  s.channels.front().produce(1, push);
  for (const Transfer& t : push.transfers()) pushed[static_cast<std::size_t>(t.from)] += t.count;
  CHECK(pushed == std::vector{2, 2, 2, 3, 3, 6});
  // lcm(1, ..., 16) = 720720 chunks would be too many: nearly equal shares of 1024.
  std::vector<int> sits;
  for (int machine = 0; machine < 16; ++machine) sits.insert(sits.end(), static_cast<std::size_t>(machine) + 1, machine);
  CHECK(push_pull(sits).chunks == 1024);
  CHECK(verify(push_pull(sits)).empty());
}

TEST_CASE("push and pull: on one machine nothing is pushed, and a worker alone sends nothing") {
  const Schedule four = push_pull({0, 0, 0, 0});
  CHECK(verify(four).empty());
  CHECK(four.steps() == 2);
  CHECK(four.messages() == 2 * 4 * 3);
  CHECK(verify(push_pull({0})).empty());
  CHECK(push_pull({0}).steps() == 0);
}

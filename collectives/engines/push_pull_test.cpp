#include "collectives/engines/push_pull.hpp"

#include "collectives/schedule/verify.hpp"

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("push and pull: all workers end with the sum, whatever the GPUs of a machine, and each pushes its share once") {
  for (const int gpus : {1, 2, 4, 8})
    for (const int machines : {1, 2, 3, 8}) {
      CAPTURE(gpus);
      CAPTURE(machines);
      const Schedule s = push_pull(machines * gpus, gpus);
      CHECK(verify(s).empty());
      CHECK(s.steps() == (gpus > 1 ? 4 : 2));
      // Inside machines each to each other twice, and all to the server and back.
      CHECK(s.messages() == 2LL * machines * gpus * (gpus - 1) + 2LL * machines * gpus);
    }
}

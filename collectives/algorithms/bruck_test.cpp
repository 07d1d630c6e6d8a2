#include "collectives/algorithms/bruck.hpp"

#include <map>
#include <utility>

#include <doctest/doctest.h>

namespace weft {

TEST_CASE("bruck all-gather cuts only ranges that pass the end of the message") {
  CHECK(to_string(bruck_allgather(3)) ==
        "bruck_allgather: allgather, 3 ranks, 3 chunks, 2 steps\n"
        "step 0: 0->2 copies chunk 0\nstep 0: 1->0 copies chunk 1\nstep 0: 2->1 copies chunk 2\n"
        "step 1: 0->1 copies chunk 0\nstep 1: 1->2 copies chunk 1\nstep 1: 2->0 copies chunk 2\n");
  CHECK(to_string(bruck_allgather(4)).find("step 1: 3->1 copies chunk 3\nstep 1: 3->1 copies chunk 0\n") != std::string::npos);
}

TEST_CASE("bruck all-to-all sends one packed message a rank in each sending step") {
  const Schedule s = bruck_alltoall(11);
  int sending_steps = 0;
  Step step;
  for (int k = 0; k < s.steps(); ++k) {
    s.channels.front().produce(k, step);
    std::map<Rank, int> sent;
    for (const Transfer& t : step.transfers())
      if (t.from != t.to) ++sent[t.from];
    if (sent.empty()) continue;
    ++sending_steps;
    CHECK(sent.size() == 11);
    for (const auto& [rank, messages] : sent) CHECK(messages == 1);
  }
  CHECK(sending_steps == 4);
}

}  // namespace weft

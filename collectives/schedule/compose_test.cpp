#include "collectives/schedule/compose.hpp"

#include "collectives/algorithms/binomial_tree.hpp"
#include "collectives/algorithms/chain.hpp"
#include "collectives/algorithms/direct.hpp"
#include "collectives/algorithms/halving_doubling.hpp"
#include "collectives/algorithms/pairwise.hpp"
#include "collectives/algorithms/parameter_server.hpp"
#include "collectives/algorithms/ring.hpp"
#include "collectives/schedule/verify.hpp"

#include <stdexcept>

#include <doctest/doctest.h>

namespace weft {

namespace {

// The transfers only, without the line of sizes.
std::string transfers_of(const Schedule& s) {
  const std::string text = to_string(s);
  return text.substr(text.find('\n') + 1);
}

// One transfer of each kind, held rather than produced.
Schedule hand_made() {
  Schedule s{.name = "hand_made", .ranks = 2, .chunks = 2, .extra_chunks = 3};
  s.add_step().copy({.from = 0, .to = 1, .chunk = 0, .count = 2});
  s.add_step().reduce({.from = 1, .to = 0, .chunk = 1, .into = 4});
  return s;
}

Schedule cleared(Schedule s, Collective collective) {
  s.collective = collective;
  return s;
}

}  // namespace

TEST_CASE("remap gives every rank another place, the root too") {
  const Schedule s = remap(binomial_tree_broadcast({.ranks = 3}), {2, 0, 1});
  CHECK(s.root == 2);
  CHECK(transfers_of(s) == "step 0: 2->0 copies chunk 0\nstep 1: 2->1 copies chunk 0\n");
  CHECK(verify(s).empty());
}

TEST_CASE("a placement that is not a permutation is refused") {
  CHECK_THROWS_WITH_AS(remap(ring_allreduce(3), {0, 1, 1}), "internal error: rank 1 stands twice in a group", std::logic_error);
  CHECK_THROWS_WITH_AS(remap(ring_allreduce(3), {0, 1, 3}), "internal error: rank 3 of a group is not one of 3", std::logic_error);
  CHECK_THROWS_WITH_AS(remap(ring_allreduce(3), {0, 1}), "internal error: 2 ranks for the 3 of ring_allreduce", std::logic_error);
}

TEST_CASE("over runs a schedule among some ranks of many") {
  const Schedule s = over(ring_allreduce(2), {5, 3}, 8);
  CHECK(s.ranks == 8);
  CHECK(transfers_of(s) ==
        "step 0: 5->3 adds chunk 0\nstep 0: 3->5 adds chunk 1\nstep 1: 5->3 copies chunk 1\nstep 1: 3->5 copies chunk 0\n");
}

TEST_CASE("within moves a schedule to a block of a larger message, its extra chunks with their sizes") {
  const Schedule s = within(hand_made(), 3, 7);
  CHECK(s.chunks == 7);
  CHECK(s.extra_chunks == 14);  // two blocks: 3 extra chunks of a message of 2 begin a second one
  // Extra chunk 4 = 2 * 2 + 0 stands for chunk 0, which is now 3: 2 * 7 + 3.
  CHECK(transfers_of(s) == "step 0: 0->1 copies chunks 3..4\nstep 1: 1->0 adds chunk 4 to 17\n");
  CHECK_THROWS_AS(within(hand_made(), 6, 7), std::logic_error);
}

TEST_CASE("a range that is torn apart by a composition is refused") {
  Schedule s{.name = "across", .ranks = 2, .chunks = 2, .extra_chunks = 2};
  s.add_step().copy({.from = 0, .to = 1, .chunk = 1, .count = 2});
  Step step;
  CHECK_THROWS_WITH_AS(within(s, 0, 4).channels.front().produce(0, step),
                       "internal error: 0->1 copies chunks 1..2 crosses from one block of 2 chunks into the next", std::logic_error);
  CHECK_THROWS_WITH_AS(pipelined(halving_doubling_reduce_scatter(4), 2).channels.front().produce(0, step),
                       "internal error: cutting the chunks of a range (0->2 adds chunks 2..3) would tear it apart", std::logic_error);
}

TEST_CASE("refined cuts every chunk and leaves transfers whole") {
  const Schedule s = refined(hand_made(), 3);
  CHECK(s.chunks == 6);
  CHECK(s.extra_chunks == 9);
  CHECK(transfers_of(s) == "step 0: 0->1 copies chunks 0..5\nstep 1: 1->0 adds chunks 3..5 to 12..14\n");
}

TEST_CASE("then puts one after the other on the least common multiple of chunks") {
  // Two chunks and three: six.
  const Schedule a = over(ring_reduce_scatter(2), {0, 1}, 3), b = ring_allgather(3);
  const Schedule s = then(a, b);
  CHECK(s.chunks == 6);
  CHECK(s.steps() == 3);
  CHECK(s.collective == Collective::reduce_scatter);
  CHECK(transfers_of(s) ==
        "step 0: 0->1 adds chunks 3..5\nstep 0: 1->0 adds chunks 0..2\n"
        "step 1: 0->1 copies chunks 0..1\nstep 1: 1->2 copies chunks 2..3\nstep 1: 2->0 copies chunks 4..5\n"
        "step 2: 0->1 copies chunks 4..5\nstep 2: 1->2 copies chunks 0..1\nstep 2: 2->0 copies chunks 2..3\n");
}

TEST_CASE("reduce-scatter then all-gather is an all-reduce, reduce then broadcast too") {
  for (int n = 1; n <= 9; ++n) {
    CAPTURE(n);
    CHECK(verify(cleared(then(ring_reduce_scatter(n), direct_allgather(n)), Collective::allreduce)).empty());
    CHECK(verify(cleared(then(binomial_tree_reduce({.ranks = n, .root = n - 1}), chain_broadcast({.ranks = n, .root = n - 1})),
                         Collective::allreduce))
              .empty());
  }
}

TEST_CASE("schedules of different ranks or channels do not follow one another") {
  CHECK_THROWS_WITH_AS(then(parameter_server_allreduce({3, 1, ServerHosts::extra}), ring_allreduce(4)),
                       "internal error: parameter_server_allreduce has 1 servers but ring_allreduce has 0", std::logic_error);
  CHECK_THROWS_WITH_AS(remap(parameter_server_allreduce({1, 1, ServerHosts::extra}), {1, 0}),
                       "internal error: parameter_server_allreduce has servers, which are the last of the ranks", std::logic_error);
  CHECK_THROWS_WITH_AS(then(ring_allreduce(2), ring_allgather(3)), "internal error: ring_allreduce has 2 ranks but ring_allgather has 3",
                       std::logic_error);
  CHECK_THROWS_WITH_AS(then(channels(ring_allreduce(2), 2), ring_allreduce(2)),
                       "internal error: 2 channels cannot be followed by 1: their order would be open", std::logic_error);
}

TEST_CASE("beside gives each schedule its channels, together makes them share one") {
  const std::vector<Schedule> halves = {within(ring_allreduce(3), 0, 6), within(ring_allreduce(3), 3, 6)};
  const Schedule apart = beside(halves), merged = together(halves);
  CHECK(apart.channels.size() == 2);
  CHECK(merged.channels.size() == 1);
  CHECK(apart.steps() == 4);
  CHECK(merged.steps() == 4);
  CHECK(apart.messages() == 24);
  CHECK(merged.messages() == 24);
  CHECK(verify(apart).empty());
  CHECK(verify(merged).empty());
}

TEST_CASE("groups of disjoint ranks share a channel, the longest deciding the steps") {
  const Schedule s = together({over(chain_broadcast({.ranks = 2}), {0, 1}, 5), over(chain_broadcast({.ranks = 3}), {2, 3, 4}, 5)});
  CHECK(transfers_of(s) == "step 0: 0->1 copies chunk 0\nstep 0: 2->3 copies chunk 0\nstep 1: 3->4 copies chunk 0\n");
}

TEST_CASE("pipelined lets every piece follow the one before by a step") {
  CHECK(transfers_of(pipelined(chain_broadcast({.ranks = 3}), 3)) ==
        "step 0: 0->1 copies chunk 0\n"
        "step 1: 1->2 copies chunk 0\nstep 1: 0->1 copies chunk 1\n"
        "step 2: 1->2 copies chunk 1\nstep 2: 0->1 copies chunk 2\n"
        "step 3: 1->2 copies chunk 2\n");
}

TEST_CASE("where blocks belong to ranks every chunk is cut, so that blocks stay together") {
  // Two pieces of two blocks: chunks 0..1 stay rank 0's.
  CHECK(transfers_of(channels(direct_allgather(2), 2)) ==
        "channel 0:\nstep 0: 0->1 copies chunk 0\nstep 0: 1->0 copies chunk 2\n"
        "channel 1:\nstep 0: 0->1 copies chunk 1\nstep 0: 1->0 copies chunk 3\n");
  const Schedule alltoall = pipelined(pairwise_alltoall(5), 3);
  CHECK(alltoall.extra_chunks == 15);
  CHECK(verify(alltoall).empty());
}

TEST_CASE("compositions hold no transfers: a ring of 4096 ranks in 64 channels is made at once") {
  const Schedule s = channels(pipelined(remap(ring_allreduce(4096),
                                              [] {
                                                std::vector<Rank> back;
                                                for (int r = 4095; r >= 0; --r) back.push_back(r);
                                                return back;
                                              }()),
                                        4),
                              64);
  CHECK(s.steps() == 8190 + 3);
  CHECK(s.chunks == 4096 * 4 * 64);
  Step step;
  s.channels[63].produce(8192, step);
  CHECK(step.transfers().size() == 4096);  // the last piece alone
}

TEST_CASE("compositions keep a held schedule alive and can be copied") {
  Schedule outer;
  {
    const Schedule inner = hand_made();
    outer = channels(refined(inner, 2), 2);
  }
  const Schedule copy = outer;
  CHECK(to_string(copy) == to_string(outer));
  CHECK(copy.messages() == 4);
}

TEST_CASE("more chunks than can be counted are refused") {
  CHECK_THROWS_WITH_AS(refined(ring_allreduce(1 << 16), 1 << 16), "internal error: 65536 x 65536 chunks are too many to count",
                       std::logic_error);
}

}  // namespace weft

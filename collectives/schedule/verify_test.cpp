#include "collectives/schedule/verify.hpp"

#include "collectives/algorithms/fold.hpp"
#include "collectives/algorithms/ring.hpp"
#include "collectives/registry/registry.hpp"
#include "collectives/schedule/compose.hpp"
#include "collectives/schedule/conditions.hpp"

#include <map>
#include <random>
#include <utility>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace weft {

namespace {

std::string report(const Schedule& s) { return fmt::format("{}", fmt::join(verify(s), "\n")); }

// The same schedule with its transfers held, to be tampered with.
struct Held {
  Schedule frame;
  std::vector<std::vector<std::vector<Transfer>>> transfers;  // by channel and step

  explicit Held(const Schedule& s) : frame(s) {
    Step step;
    for (const Steps& channel : s.channels) {
      auto& steps = transfers.emplace_back();
      for (int k = 0; k < channel.count(); ++k) {
        channel.produce(k, step);
        steps.emplace_back(step.transfers().begin(), step.transfers().end());
      }
    }
  }

  Schedule schedule() const {
    Schedule s = frame;
    s.channels.assign(transfers.size(), Steps());
    for (std::size_t c = 0; c < transfers.size(); ++c)
      for (const auto& step : transfers[c]) s.channels[c].add().mutable_transfers() = step;
    return s;
  }
};

// An independent proof for small schedules: every chunk of every rank as a count of each rank's share of each chunk.
bool ends_right(const Schedule& s) {
  using Shares = std::map<std::pair<Rank, int>, int>;
  std::map<std::pair<Rank, int>, Shares> held;
  for (int r = 0; r < s.ranks; ++r)
    for (int c = 0; c < s.chunks; ++c)
      if (holds_at_start(s, r, c)) held[{r, c}][{r, c}] = 1;
  Step step;
  for (int k = 0; k < s.steps(); ++k) {
    s.channels.front().produce(k, step);
    const auto before = held;
    for (const Transfer& t : step.transfers())
      for (int i = 0; i < t.count; ++i) {
        const auto sent = before.find({t.from, t.chunk + i});
        Shares& into = held[{t.to, t.into + i}];
        if (!t.reduces) into.clear();
        if (sent == before.end()) continue;
        for (const auto& [share, times] : sent->second) into[share] += times;
      }
  }
  for (int r = 0; r < s.ranks; ++r)
    for (int c = 0; c < s.all_chunks(); ++c) {
      const auto due = due_at_end(s, r, c);
      if (!due) continue;
      Shares wanted;
      for (int from = 0; from < s.workers(); ++from)
        if (due->whose == Content::everyone || due->whose == from) wanted[{from, due->chunk}] = 1;
      if (held[{r, c}] != wanted) return false;
    }
  return true;
}

Schedule two_ranks(Collective collective, int chunks) {
  return {.name = "hand_made", .collective = collective, .ranks = 2, .chunks = chunks};
}

}  // namespace

TEST_CASE("a share that is added twice is named with its step") {
  Held ring{ring_allreduce(3)};
  ring.transfers[0][2] = ring.transfers[0][1];  // the all-gather's first step adds once more
  CHECK(verify(ring.schedule()).front() == "step 2: 1->2 adds rank 0's share of chunk 0 twice");

  Held doubled{ring_allreduce(3)};
  doubled.transfers[0][0].push_back(doubled.transfers[0][0][1]);
  CHECK(verify(doubled.schedule()).front() == "step 0: 1->2 adds rank 1's share of chunk 1 twice");
}

TEST_CASE("a share that is missing is named with the chunk that lacks it") {
  Held ring{ring_allreduce(4)};
  ring.transfers[0].pop_back();
  CHECK(report(ring.schedule()) ==
        "after the last step rank 0's chunk 2 lacks rank 1\n"
        "after the last step 4 chunks are wrong in all");
}

TEST_CASE("content in the wrong chunk is not taken for the right one") {
  Schedule s = two_ranks(Collective::broadcast, 2);
  s.add_step().copy({.from = 0, .to = 1, .chunk = 0, .count = 2});
  CHECK(verify(s).empty());
  s.add_step().copy({.from = 1, .to = 1, .chunk = 0, .into = 1});
  CHECK(report(s) == "after the last step rank 1's chunk 1 lacks rank 0");

  Schedule sum = two_ranks(Collective::allreduce, 2);
  Step& both = sum.add_step();
  both.reduce({.from = 0, .to = 1, .chunk = 0, .count = 2});
  both.reduce({.from = 1, .to = 0, .chunk = 0, .count = 2});
  CHECK(verify(sum).empty());
  sum.add_step().reduce({.from = 0, .to = 0, .chunk = 1, .into = 0});
  CHECK(report(sum) == "after the last step rank 0's chunk 0 holds shares of other chunks than 0");
}

TEST_CASE("too much content is wrong as well") {
  Schedule s{.name = "hand_made", .collective = Collective::allgather, .ranks = 2, .chunks = 2};
  s.add_step().copy({.from = 0, .to = 1, .chunk = 0});
  s.add_step().copy({.from = 1, .to = 0, .chunk = 1});
  CHECK(verify(s).empty());
  Schedule reduced = two_ranks(Collective::reduce_scatter, 2);
  reduced.add_step().reduce({.from = 1, .to = 0, .chunk = 0});
  CHECK(report(reduced) == "after the last step rank 1's chunk 1 lacks rank 0");
  Schedule alltoall{.name = "hand_made", .collective = Collective::alltoall, .ranks = 2, .chunks = 2, .extra_chunks = 2};
  Step& step = alltoall.add_step();
  for (int r = 0; r < 2; ++r)
    for (int to = 0; to < 2; ++to) step.copy({.from = r, .to = to, .chunk = to, .into = 2 + r});
  CHECK(verify(alltoall).empty());
  alltoall.add_step().reduce({.from = 1, .to = 0, .chunk = 0, .into = 2});
  CHECK(report(alltoall) == "after the last step rank 0's chunk 2 holds rank 1's share too");
}

TEST_CASE("what was never held can be neither sent nor added to") {
  Schedule s{.name = "hand_made", .collective = Collective::allgather, .ranks = 2, .chunks = 2};
  s.add_step().copy({.from = 0, .to = 1, .chunk = 1});
  CHECK(report(s) == "step 0: 0->1 sends chunk 1, which rank 0 never held");
  Schedule added{.name = "hand_made", .collective = Collective::broadcast, .ranks = 2};
  added.add_step().reduce({.from = 0, .to = 1, .chunk = 0});
  CHECK(report(added) == "step 0: 0->1 adds to chunk 0, which rank 1 never held");
}

TEST_CASE("reads of a step come before its writes") {
  // Both ranks swap their sums in one step; were the first write to come before the second read, rank 0 would count twice.
  Schedule s = two_ranks(Collective::allreduce, 1);
  Step& step = s.add_step();
  step.reduce({.from = 0, .to = 1, .chunk = 0});
  step.reduce({.from = 1, .to = 0, .chunk = 0});
  CHECK(verify(s).empty());
}

TEST_CASE("two writes of which the last wins are refused, two additions are not") {
  Schedule s{.name = "hand_made", .collective = Collective::broadcast, .ranks = 3};
  Step& step = s.add_step();
  step.copy({.from = 0, .to = 1, .chunk = 0});
  step.copy({.from = 0, .to = 1, .chunk = 0});
  step.copy({.from = 0, .to = 2, .chunk = 0});
  CHECK(report(s) == "step 0: 0->1 overwrites chunk 0, which the same step has overwritten before");

  Schedule mixed = two_ranks(Collective::reduce, 1);
  Step& both = mixed.add_step();
  both.reduce({.from = 1, .to = 0, .chunk = 0});
  both.copy({.from = 1, .to = 0, .chunk = 0});
  CHECK(report(mixed) == "step 0: 1->0 overwrites chunk 0, which the same step has added to before");

  Schedule sums{.name = "hand_made", .collective = Collective::reduce, .ranks = 3};
  Step& additions = sums.add_step();
  additions.reduce({.from = 1, .to = 0, .chunk = 0});
  additions.reduce({.from = 2, .to = 0, .chunk = 0});
  CHECK(verify(sums).empty());
}

TEST_CASE("a copy may begin a sum in the step that adds to it") {
  Schedule s{.name = "hand_made", .collective = Collective::allreduce, .ranks = 3, .servers = 1};
  Step& push = s.add_step();
  push.copy({.from = 0, .to = 2, .chunk = 0});
  push.reduce({.from = 1, .to = 2, .chunk = 0});
  Step& pull = s.add_step();
  for (const Rank r : {0, 1}) pull.copy({.from = 2, .to = r, .chunk = 0});
  CHECK(report(s) == "");
}

TEST_CASE("a server's share is in no sum, and what it holds at the end is left open") {
  Schedule s{.name = "hand_made", .collective = Collective::allreduce, .ranks = 3, .servers = 1};
  Step& swap = s.add_step();
  swap.reduce({.from = 0, .to = 1, .chunk = 0});
  swap.reduce({.from = 1, .to = 0, .chunk = 0});
  CHECK(report(s) == "");  // without the server's help
  CHECK(to_string(s).starts_with("hand_made: allreduce, 3 ranks, 1 chunks, the last 1 of the ranks servers, 1 steps\n"));

  Schedule helped = s;
  helped.add_step().copy({.from = 2, .to = 0, .chunk = 0});
  CHECK(report(helped) == "step 1: 2->0 sends chunk 0, which rank 2 never held");
  Schedule adds = s;
  adds.channels = std::vector<Steps>(1);
  adds.add_step().reduce({.from = 0, .to = 2, .chunk = 0});
  CHECK(report(adds) == "step 0: 0->2 adds to chunk 0, which rank 2 never held");
  Schedule lacks = s;
  lacks.channels = std::vector<Steps>(1);
  lacks.add_step().copy({.from = 0, .to = 2, .chunk = 0});
  CHECK(report(lacks) ==
        "after the last step rank 0's chunk 0 lacks rank 1\n"
        "after the last step 2 chunks are wrong in all");
  s.servers = 3;
  CHECK(report(s) == "3 servers leave no worker of 3 ranks");
  s.servers = 1;
  s.collective = Collective::broadcast;
  CHECK(report(s) == "servers in a broadcast");
}

TEST_CASE("indices out of range are reported, not followed") {
  for (const Transfer& t : {Transfer{.from = -1, .to = 1, .chunk = 0, .into = 0}, Transfer{.from = 0, .to = 2, .chunk = 0, .into = 0}}) {
    Schedule s = two_ranks(Collective::allreduce, 2);
    s.add_step().mutable_transfers() = {t};
    CAPTURE(to_string(t));
    CHECK(verify(s).front().find("is not between ranks 0..1") != std::string::npos);
  }
  for (const Transfer& t :
       {Transfer{.from = 0, .to = 1, .chunk = 1, .count = 2, .into = 0}, Transfer{.from = 0, .to = 1, .chunk = -1, .into = 0},
        Transfer{.from = 0, .to = 1, .chunk = 0, .into = 2}, Transfer{.from = 0, .to = 1, .chunk = 0, .count = 2147483647, .into = 0},
        Transfer{.from = 0, .to = 1, .chunk = 0, .into = Transfer::same_chunk}}) {
    Schedule s = two_ranks(Collective::allreduce, 2);
    s.add_step().mutable_transfers() = {t};
    CAPTURE(to_string(t));
    CHECK(verify(s).front().find("but there are 2") != std::string::npos);
  }
  Schedule none = two_ranks(Collective::allreduce, 2);
  none.add_step().copy({.from = 0, .to = 1, .chunk = 0, .count = 0});
  CHECK(report(none) == "step 0: 0->1 moves 0 chunks");
}

TEST_CASE("a schedule without ranks, chunks, channels or root is refused before it is walked") {
  CHECK(report({.ranks = 0}) ==
        "a schedule of 0 ranks\n"
        "root 0 is not one of 0 ranks");
  CHECK(report({.ranks = 2, .chunks = 0}) == "a message of 0 + 0 extra chunks");
  CHECK(report({.ranks = 2, .root = 2}) == "root 2 is not one of 2 ranks");
  CHECK(report({.ranks = 2, .channels = {}}) == "a schedule without channels");
  CHECK(report({.collective = Collective::alltoall, .ranks = 2, .chunks = 3, .extra_chunks = 3}) ==
        "an alltoall of 3 chunks, which 2 ranks do not divide");
  CHECK(report({.collective = Collective::alltoall, .ranks = 2, .chunks = 2}) == "an alltoall with 0 extra chunks for 2 to be received");
}

TEST_CASE("channels that touch the same chunk of a rank are refused") {
  const Schedule s = beside({ring_allreduce(2), ring_allreduce(2)});
  CHECK(verify(s).front() == "channel 1, step 0: 0->1 touches rank 0's chunk 0, which channel 0 uses too");
  CHECK(verify(channels(ring_allreduce(2), 2)).empty());
  // The same chunk of different ranks is no conflict.
  Schedule apart{.name = "hand_made", .collective = Collective::reduce, .ranks = 3};
  apart.add_step().reduce({.from = 1, .to = 0, .chunk = 0});
  apart.channels.emplace_back().add().reduce({.from = 2, .to = 2, .chunk = 0});
  CHECK(report(apart) == "channel 1, step 0: 2->2 adds rank 2's share of chunk 0 twice");
  apart.channels[1] = Steps();
  apart.channels[1].add().copy({.from = 2, .to = 2, .chunk = 0});
  CHECK(report(apart) == "after the last step rank 0's chunk 0 lacks rank 2");
}

TEST_CASE("a wrong chunk is found in whichever channel it is, and where no channel comes") {
  Held streams{channels(ring_allreduce(3), 3)};
  streams.transfers[2].pop_back();
  CHECK(verify(streams.schedule()).front() == "after the last step rank 0's chunk 8 lacks rank 1");
  streams.transfers.pop_back();
  CHECK(report(streams.schedule()) == "after the last step rank 0's chunk 6 lacks rank 1\nafter the last step 9 chunks are wrong in all");
}

TEST_CASE("a barrier is proved by who has heard of whom") {
  Schedule s = two_ranks(Collective::barrier, 1);
  CHECK(report(s) == "after the last step rank 0 has not heard of rank 1");
  s.add_step().reduce({.from = 1, .to = 0, .chunk = 0});
  CHECK(report(s) == "after the last step rank 1 has not heard of rank 0");
  s.add_step().reduce({.from = 0, .to = 1, .chunk = 0});
  CHECK(verify(s).empty());
}

TEST_CASE("chunks that no rank's block begins with still have an owner") {
  // Three chunks among two ranks: block 0 is chunk 0, block 1 is chunks 1 and 2.
  Schedule s = two_ranks(Collective::allgather, 3);
  Step& step = s.add_step();
  step.copy({.from = 0, .to = 1, .chunk = 0});
  step.copy({.from = 1, .to = 0, .chunk = 1, .count = 2});
  CHECK(verify(s).empty());
  // One chunk among three ranks belongs to the last.
  Schedule one{.name = "hand_made", .collective = Collective::allgather, .ranks = 3};
  Step& from_last = one.add_step();
  from_last.copy({.from = 2, .to = 0, .chunk = 0});
  from_last.copy({.from = 2, .to = 1, .chunk = 0});
  CHECK(verify(one).empty());
}

TEST_CASE("traffic counts what crosses between ranks, in chunks and in elements") {
  // 10 elements in 3 chunks: 3, 3, 4. Over four steps rank 0 sends chunks 0, 2, 1, 0, rank 1 chunks 1, 0, 2, 1 and rank 2
  // chunks 2, 1, 0, 2: 13, 13 and 14 elements.
  const Traffic t = traffic(ring_allreduce(3), 10);
  CHECK(t.counted == Cost{.steps = 4, .messages = 12, .max_chunks_sent = 4, .chunks = 3});
  CHECK(t.max_elements_sent == 14);
  CHECK(traffic(ring_allreduce(1), 10).max_elements_sent == 0);
}

// Every schedule of the registry, tampered with at a random place. A sum that is sent elsewhere may still arrive, and a
// broadcast's all-gather, the packing space of an all-to-all or, of a reduce, the first of a folded pair may hold already what is brought:
// there an independent proof decides.
TEST_CASE("a transfer dropped, doubled or sent elsewhere is found out") {
  std::mt19937 random(20090601);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  int trials = 0, harmless = 0;
  for (const Algorithm& a : algorithms())
    for (const int ranks : {2, 3, 4, 5, 8}) {
      Request q{.collective = a.collective, .algorithm = std::string(a.name), .ranks = ranks, .root = ranks / 2};
      if (a.takes_servers && ranks % 2 == 0) q.settings = {.servers = 2, .server_hosts = ServerHosts::extra};
      if (a.takes_group) q.settings.group = ranks % 2 == 0 ? 2 : 1;
      if (a.name == "hdrm") q.bigraph = BiGraphShape{ranks == 8 ? 4 : ranks, ranks == 8 ? 2 : 1};
      if (!constraints(q).empty() || a.collective == Collective::barrier) continue;
      const bool spares_some = a.name == "scatter_allgather" || a.name == "scatter_doubling" ||
                               (a.name == "halving_gather" && !is_power_of_two(ranks)) ||
                               (a.name == "bruck" && a.collective == Collective::alltoall);
      const Held right{build(q)};
      CHECK(ends_right(right.schedule()));
      for (int trial = 0; trial < 40; ++trial) {
        Held wrong = right;
        auto& step = wrong.transfers[0][below(wrong.transfers[0].size())];
        const std::size_t victim = below(step.size());
        const bool sums = step[victim].reduces;
        const auto what = below(3);
        if (what == 0) step.erase(step.begin() + static_cast<std::ptrdiff_t>(victim));
        if (what == 1) step.push_back(step[victim]);
        if (what == 2) step[victim].to = mod(step[victim].to + 1 + static_cast<int>(below(static_cast<std::size_t>(ranks - 1))), ranks);
        const Schedule s = wrong.schedule();
        CAPTURE(a.name);
        CAPTURE(what);
        CAPTURE(to_string(s));
        const bool accepted = verify(s).empty();
        if (accepted) CHECK(ends_right(s));
        if (what == 1 || !(spares_some || (what == 2 && sums))) CHECK_FALSE(accepted);
        ++trials;
        harmless += accepted;
      }
    }
  CHECK(trials > 3000);
  CHECK(harmless < trials / 10);
}

}  // namespace weft

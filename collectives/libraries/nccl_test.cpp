#include "collectives/libraries/nccl.hpp"

#include "collectives/registry/registry.hpp"
#include "collectives/schedule/verify.hpp"

#include <map>
#include <set>
#include <utility>

#include <doctest/doctest.h>

namespace weft {
namespace {

// Servers of GPUs and NICs, channels, pieces.
const std::vector<NcclShape> shapes = {
    {.ranks = 1},
    {.ranks = 2},
    {.ranks = 5, .channels = 2, .pieces = 3},
    {.ranks = 4, .gpus = 4, .channels = 2},
    {.ranks = 6, .gpus = 2, .nics = 1, .channels = 1, .pieces = 2},
    {.ranks = 6, .gpus = 2, .nics = 2, .channels = 2},
    {.ranks = 8, .gpus = 4, .nics = 2, .channels = 3, .pieces = 2},
    {.ranks = 12, .gpus = 4, .nics = 4, .channels = 4, .pieces = 5},
    {.ranks = 24, .gpus = 8, .nics = 3, .channels = 1},
    {.ranks = 16, .gpus = 8, .nics = 8, .channels = 2},
    {.ranks = 20, .gpus = 4, .nics = 1, .channels = 2, .pieces = 2},
    {.ranks = 4, .gpus = 4, .channels = 3, .pieces = 2, .orders = {{0, 2, 1, 3}, {3, 1, 2, 0}}},
    {.ranks = 12, .gpus = 4, .nics = 2, .channels = 2, .orders = {{0, 2, 1, 3}, {3, 1, 2, 0}}},
    {.ranks = 8, .gpus = 4, .nics = 4, .channels = 4, .orders = {{0, 2, 1, 3}}},
    {.ranks = 8, .gpus = 4, .nics = 4, .channels = 4, .machines = {{0, 2, 4, 6}, {1, 3, 5, 7}}},
    {.ranks = 12, .gpus = 4, .nics = 2, .channels = 2, .orders = {{0, 2, 1, 3}}, .machines = {{11, 3, 5, 8}, {0, 1, 2, 9}, {10, 4, 6, 7}}},
    {.ranks = 7, .gpus = 3, .nics = 3, .channels = 3, .pieces = 2, .machines = {{0, 1, 2, 3}, {4, 5, 6}}},
    {.ranks = 6, .gpus = 1, .channels = 2, .pieces = 3, .machines = {{0, 3, 5}, {1}, {2, 4}}},
    {.ranks = 14, .gpus = 1, .nics = 1, .channels = 1, .pieces = 2, .machines = {{0, 1}, {2, 3, 4, 5, 6, 7, 8, 9}, {10, 11, 12}, {13}}},
};

Request request_of(const NcclShape& shape, Collective collective, NcclAlgorithm algorithm, Rank root = 0) {
  return {.collective = collective,
          .algorithm = "nccl",
          .ranks = shape.ranks,
          .root = root,
          .settings = {.group = shape.is_even() ? shape.gpus : 0,
                       .channels = shape.channels,
                       .pieces = algorithm == NcclAlgorithm::ring && collective != Collective::broadcast ? 0 : shape.pieces,
                       .nics = shape.nics,
                       .nccl = algorithm},
          .orders = shape.orders,
          .machines = shape.machines,
          .sharp = true};
}

void prove(const Request& request) {
  CAPTURE(name_of(request.collective));
  CAPTURE(name_of(request.settings.nccl));
  CAPTURE(request.root);
  CAPTURE(request.ranks);
  CAPTURE(request.settings.group);
  CAPTURE(request.settings.nics);
  CAPTURE(request.settings.channels);
  const Schedule schedule = build(request);
  CHECK(verify(schedule) == std::vector<std::string>{});
  CHECK(traffic(schedule).counted == cost(request));
}

}  // namespace

TEST_CASE("nccl: NVLS is an all-reduce within a server, and between them where switches add") {
  for (const int ranks : {2, 3, 8}) prove(request_of({.ranks = ranks, .gpus = ranks}, Collective::allreduce, NcclAlgorithm::nvls));
  Request two = request_of({.ranks = 16, .gpus = 8, .nics = 4, .pieces = 3}, Collective::allreduce, NcclAlgorithm::nvls);
  prove(two);
  two.sharp = false, two.settings.pieces = 0;
  CHECK(constraints(two) == std::vector<Problem>{{"/algorithm",
                                                  "nvls adds in the NVSwitch of one server, and between servers only where the fabric has "
                                                  "\"sharp\"; these are 16 ranks in servers of 8"}});
  // Of 8 GPUs a ring's links carry 14/8 of the message, and 9/8 with a switch that adds.
  CHECK(nvls_gain(8) == doctest::Approx(14.0 / 9));
  CHECK(nvls_gain(4) == doctest::Approx(6.0 / 5));
  CHECK(nvls_gain(64) == doctest::Approx(126.0 / 64 * 8 / 9));
}

TEST_CASE("nccl: with PXN an all-to-all is right on any servers, and no message between servers leaves its rail") {
  for (NcclShape shape : shapes) {
    if (!shape.orders.empty()) continue;
    for (const bool pxn : {false, true})
      for (const int pieces : {0, 2, 3, 8}) {
        CAPTURE(pxn);
        CAPTURE(pieces);
        Request request = request_of(shape, Collective::alltoall, NcclAlgorithm::automatic);
        request.settings.pieces = pieces, request.settings.pxn = pxn;
        prove(request);
      }
  }
  const NcclShape shape{.ranks = 24, .gpus = 8, .nics = 4, .pxn = true};
  const auto server_of = [](Rank r) { return r / 8; };
  const auto rail_of = [](Rank r) { return r % 8 / 2; };
  const Schedule s = nccl_alltoall(shape);
  Step step;
  std::map<std::pair<Rank, Rank>, int> between;
  for (int k = 0; k < s.steps(); ++k) {
    s.channels.front().produce(k, step);
    for (const Transfer& t : step.transfers()) {
      if (server_of(t.from) == server_of(t.to)) continue;
      CHECK(rail_of(t.from) == rail_of(t.to));
      between[{t.from, t.to}] += t.count;
    }
  }
  // To each GPU of another server: 7 blocks by way of its rail's relay, and one from the other GPU of that NIC itself.
  CHECK(between.at({0, 8}) == 7);
  CHECK(between.at({1, 8}) == 1);
  CHECK(between.count({2, 8}) == 0);
}

TEST_CASE("nccl: relays of an all-to-all pass each piece on in the step in which they get the next") {
  const NcclShape shape{.ranks = 16, .gpus = 8, .nics = 8, .pieces = 4, .pxn = true};
  const Schedule s = nccl_alltoall(shape);
  CHECK(s.steps() == 5);
  Step step;
  for (int k = 0; k < s.steps(); ++k) {
    s.channels.front().produce(k, step);
    int gathered = 0, forwarded = 0;
    for (const Transfer& t : step.transfers()) {
      if (t.from != t.to && t.into >= 2 * s.chunks) ++gathered;
      if (t.chunk >= s.chunks) ++forwarded;
    }
    // Of each server 8 GPUs have a quarter of a block for 7 relays, which send it on with their own.
    CHECK(gathered == (k < 4 ? 2 * 8 * 7 : 0));
    CHECK(forwarded == (k > 0 ? 2 * 8 * 8 : 0));
  }
  CHECK(nccl_alltoall_pieces(1_KiB) == 1);
  CHECK(nccl_alltoall_pieces(384_KiB) == 3);
  CHECK(nccl_alltoall_pieces(64_MiB) == 8);
}

TEST_CASE("nccl: every collective is right on any servers, and takes what its formula says") {
  for (const NcclShape& shape : shapes) {
    for (const Collective collective : {Collective::allreduce, Collective::reduce_scatter, Collective::allgather})
      prove(request_of(shape, collective, NcclAlgorithm::ring));
    prove(request_of(shape, Collective::allreduce, NcclAlgorithm::tree));
    if (shape.servers() > 1 && shape.is_even()) prove(request_of(shape, Collective::allreduce, NcclAlgorithm::nvls_tree));
    for (const Rank root : {0, shape.ranks / 2, shape.ranks - 1})
      prove(request_of(shape, Collective::broadcast, NcclAlgorithm::ring, root));
  }
}

TEST_CASE("nccl: where switches between servers add, any servers, NICs and pieces make an all-reduce that costs what its formula says") {
  for (const int servers : {2, 3, 5})
    for (const int gpus : {1, 2, 3, 4, 6, 8})
      for (int nics = 1; nics <= gpus; ++nics) {
        if (gpus % nics != 0) continue;
        for (const int pieces : {1, 2, 5})
          for (const int channels : {1, nics, nics + 1}) {
            NcclShape shape{.ranks = servers * gpus, .gpus = gpus, .nics = nics, .channels = channels, .pieces = pieces};
            prove(request_of(shape, Collective::allreduce, NcclAlgorithm::collnet_chain));
            if (channels == 1) prove(request_of(shape, Collective::allreduce, NcclAlgorithm::collnet_direct));
          }
      }
  for (const NcclShape& shape : shapes)
    if ((!shape.orders.empty() || !shape.machines.empty()) && shape.servers() > 1 && shape.is_even())
      prove(request_of(shape, Collective::allreduce, NcclAlgorithm::collnet_chain));
}

TEST_CASE("nccl: a head sends switches between servers its part once and gets it once, and nothing else leaves a server") {
  const NcclShape shape{.ranks = 24, .gpus = 8, .nics = 4, .channels = 4, .pieces = 2};
  for (const Schedule& s : {nccl_collnet_chain_allreduce(shape), nccl_collnet_direct_allreduce(shape)}) {
    CAPTURE(s.name);
    CHECK(s.servers == 4);
    CHECK(s.chunks == 8);
    std::map<std::pair<Rank, Rank>, int> between;
    Step step;
    for (const Steps& channel : s.channels)
      for (int k = 0; k < channel.count(); ++k) {
        channel.produce(k, step);
        for (const Transfer& t : step.transfers())
          if (t.from / 8 != t.to / 8) between[{t.from, t.to}] += t.count;
      }
    CHECK(between.size() == 2 * 3 * 4);  // up and down, of three servers, by four NICs
    for (int nic = 0; nic < 4; ++nic) {
      CHECK(nccl_heads(shape, nic) == std::vector<Rank>{2 * nic, 8 + 2 * nic, 16 + 2 * nic});
      for (const Rank head : nccl_heads(shape, nic)) {
        CHECK(between.at({head, 24 + nic}) == 2);
        CHECK(between.at({24 + nic, head}) == 2);
      }
    }
  }
  // Three hops inside and one to the switches, and back; with three pieces two steps more each way.
  CHECK(nccl_collnet_chain_allreduce({.ranks = 8, .gpus = 4}).steps() == 8);
  CHECK(nccl_collnet_chain_allreduce({.ranks = 8, .gpus = 4, .pieces = 3}).steps() == 12);
  CHECK(nccl_collnet_direct_allreduce({.ranks = 8, .gpus = 4}).steps() == 4);
  CHECK(nccl_collnet_direct_allreduce({.ranks = 8, .gpus = 1, .pieces = 3}).steps() == 6);
}

TEST_CASE("nccl: rings stay on their rail, one for each NIC, also where a NIC has several GPUs") {
  for (const NcclShape& shape :
       {NcclShape{.ranks = 16, .gpus = 4, .nics = 4, .channels = 4}, NcclShape{.ranks = 16, .gpus = 8, .nics = 4, .channels = 4}}) {
    const Schedule ring = nccl_ring_allreduce(shape);
    const auto nic_of = [&](Rank r) { return r % shape.gpus * shape.nics / shape.gpus; };
    for (std::size_t c = 0; c < ring.channels.size(); ++c) {
      std::set<int> used;
      Step step;
      for (int k = 0; k < ring.channels[c].count(); ++k) {
        ring.channels[c].produce(k, step);
        for (const Transfer& t : step.transfers()) {
          if (t.from / shape.gpus == t.to / shape.gpus) continue;
          CHECK(nic_of(t.from) == nic_of(t.to));
          used.insert(nic_of(t.from));
        }
      }
      const int own = static_cast<int>(c), before = mod(own - 1, shape.nics);
      CHECK(used == (shape.nics == shape.gpus ? std::set<int>{before, own} : std::set<int>{own}));
    }
  }
}

TEST_CASE("nccl: a ring enters and leaves each server once, whatever order its ranks come in and however many there are") {
  for (const NcclShape& shape : shapes) {
    if (shape.machines.empty()) continue;
    std::vector<int> server_of(static_cast<std::size_t>(shape.ranks));
    for (int server = 0; server < shape.servers(); ++server)
      for (const Rank rank : shape.machines[static_cast<std::size_t>(server)]) server_of[static_cast<std::size_t>(rank)] = server;
    for (const Steps& channel : nccl_ring_allreduce(shape).channels) {
      std::map<int, int> left;
      Step step;
      channel.produce(0, step);
      for (const Transfer& t : step.transfers()) {
        const int from = server_of[static_cast<std::size_t>(t.from)];
        if (from != server_of[static_cast<std::size_t>(t.to)]) ++left[from];
      }
      for (int server = 0; server < shape.servers(); ++server) CHECK(left[server] == 1);
    }
  }
}

TEST_CASE("nccl: rings along the links of servers enter and leave them by all NICs alike") {
  const std::vector<std::vector<int>> mesh = {{0, 1, 2, 3}, {3, 2, 1, 0}};
  std::vector<std::vector<int>> of_eight = {{0, 1, 2, 3, 4, 5, 6, 7}, {0, 2, 4, 6, 1, 3, 5, 7}, {0, 3, 6, 1, 4, 7, 2, 5}};
  for (std::size_t i = 0; i < 3; ++i) of_eight.emplace_back(of_eight[i].rbegin(), of_eight[i].rend());
  for (const NcclShape& shape : {NcclShape{.ranks = 8, .gpus = 4, .nics = 2, .channels = 2, .orders = mesh},
                                 NcclShape{.ranks = 8, .gpus = 4, .nics = 4, .channels = 4, .orders = mesh},
                                 NcclShape{.ranks = 16, .gpus = 8, .nics = 4, .channels = 4, .orders = of_eight}}) {
    CAPTURE(shape.nics);
    const Schedule ring = nccl_ring_allreduce(shape);
    std::map<int, int> sent, received;  // messages between servers, by server and NIC
    for (const auto& channel : ring.channels) {
      Step step;
      channel.produce(0, step);
      for (const Transfer& t : step.transfers()) {
        if (t.from / shape.gpus == t.to / shape.gpus) continue;
        const auto nic_of = [&](Rank r) { return r / shape.gpus * shape.nics + r % shape.gpus * shape.nics / shape.gpus; };
        ++sent[nic_of(t.from)], ++received[nic_of(t.to)];
      }
    }
    for (int nic = 0; nic < 2 * shape.nics; ++nic) {
      CHECK(sent[nic] == 1);
      CHECK(received[nic] == 1);
    }
  }
}

TEST_CASE("nccl: 2 servers of 4 GPUs take 14 steps in a ring and 8 in a tree, more with pieces") {
  CHECK(nccl_ring_allreduce({.ranks = 8, .gpus = 4, .nics = 1, .channels = 1}).steps() == 14);
  // A chain of 3 below each head, one level of servers, up and down.
  CHECK(nccl_tree_allreduce({.ranks = 8, .gpus = 4, .nics = 1, .channels = 1}).steps() == 8);
  CHECK(nccl_tree_allreduce({.ranks = 8, .gpus = 4, .pieces = 3}).steps() == 12);
}

TEST_CASE("nccl: NVLSTree sends to each GPU of a server its part, and between servers stays on its rail") {
  const NcclShape shape{.ranks = 32, .gpus = 8, .nics = 8, .channels = 8};
  const Schedule s = nccl_nvls_tree_allreduce(shape);
  CHECK(s.steps() == 6);  // one inside, two levels of four servers, up and down
  Step step;
  for (std::size_t c = 0; c < s.channels.size(); ++c)
    for (int k = 0; k < s.channels[c].count(); ++k) {
      s.channels[c].produce(k, step);
      for (const Transfer& t : step.transfers())
        if (t.from / 8 != t.to / 8) CHECK(t.from % 8 == t.to % 8);
    }
}

TEST_CASE("nccl: chunks are a step of the protocol's buffer, and smaller where the message would fill few of them") {
  CHECK(nccl_chunk(NcclProtocol::ll, 1_GiB, 10) == 32_KiB);
  CHECK(nccl_chunk(NcclProtocol::simple, 1_GiB, 10) == 512_KiB);
  CHECK(nccl_chunk(NcclProtocol::simple, 16_MiB, 10) == 128_KiB);  // 80 chunks of 512 KiB are more than it has, 80 of 128 KiB are not
  CHECK(nccl_chunk(NcclProtocol::simple, 100_KiB, 10) == 32_KiB);
  CHECK(nccl_chunk(NcclProtocol::ll128, 1_MiB, 10) == 32_KiB);
}

TEST_CASE("nccl: what does not fit is refused: GPUs that do not divide the ranks, more NICs than GPUs, trees that do not reduce") {
  const auto places = [](Request request) {
    std::vector<std::string> out;
    for (const Problem& p : constraints(request)) out.push_back(p.where + ": " + p.what);
    return out;
  };
  Request request{.algorithm = "nccl", .ranks = 6, .settings = {.group = 4}};
  CHECK(places(request) == std::vector<std::string>{"/group: must divide the 6 ranks (1, 2, 3, 6), got 4"});
  request.settings = {.group = 2, .nics = 3};
  CHECK(places(request) == std::vector<std::string>{"/nics: must be 1 to 2, the GPUs of a server, got 3"});
  request.settings = {.nccl = NcclAlgorithm::nvls_tree}, request.machines = {{0, 1, 2, 3}, {4, 5}};
  CHECK(places(request) ==
        std::vector<std::string>{"/algorithm: nvls_tree wants as many ranks in each server; these are 6 ranks in servers of 4, 2"});
  request.machines.clear();
  request.ranks = 4, request.settings = {.group = 2, .nccl = NcclAlgorithm::nvls_tree, .protocol = NcclProtocol::ll};
  CHECK(places(request) ==
        std::vector<std::string>{"/protocol: must be \"simple\" or \"auto\" for nvls_tree, which NCCL has with no other, got \"ll\""});
  request.ranks = 6;
  request.settings = {.pieces = 4, .nccl = NcclAlgorithm::ring};
  CHECK(places(request) ==
        std::vector<std::string>{"/pieces: must be 1 for rings and nvls, whose chunks follow one another already, got 4"});
  request.ranks = 4, request.settings = {.group = 2, .nccl = NcclAlgorithm::collnet_direct};
  CHECK(places(request) == std::vector<std::string>{"/algorithm: collnet_direct adds in the switches between servers, which do so only "
                                                    "where the fabric has \"sharp\""});
  request.settings = {.group = 4, .nccl = NcclAlgorithm::collnet_chain};
  CHECK(places(request) == std::vector<std::string>{"/algorithm: collnet_chain adds between servers; these are 4 ranks in one"});
  request = {.collective = Collective::allgather, .algorithm = "nccl", .ranks = 4, .settings = {.nccl = NcclAlgorithm::tree}};
  CHECK(places(request) == std::vector<std::string>{"/algorithm: NCCL's tree is of allreduce; allgather is done by a ring"});
}

}  // namespace weft

#include "collectives/registry/registry.hpp"

#include "collectives/schedule/verify.hpp"

#include <set>
#include <utility>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace weft {

namespace {

std::string lines(const Request& request) {
  std::vector<std::string> result;
  for (const Problem& p : constraints(request)) result.push_back(p.where + ": " + p.what);
  return fmt::format("{}", fmt::join(result, "\n"));
}

// Requests for every algorithm that takes so many ranks, with the given cuts and, where there are groups, every group.
std::vector<Request> requests(int ranks, int channels, int pieces) {
  std::vector<Request> result;
  for (const Algorithm& a : algorithms()) {
    Request q{.collective = a.collective, .algorithm = std::string(a.name), .ranks = ranks};
    q.settings.channels = channels;
    q.settings.pieces = pieces;
    q.root = ranks * 2 / 3;
    std::vector<Request> variants;
    if (a.takes_group) {
      for (int g = 1; g <= ranks; ++g) variants.push_back(q), variants.back().settings.group = g;
    } else if (a.takes_servers) {
      for (int k = 1; k <= ranks; k += 1 + ranks / 8)
        for (const ServerHosts hosts : {ServerHosts::workers, ServerHosts::extra})
          variants.push_back(q), variants.back().settings.servers = k, variants.back().settings.server_hosts = hosts;
    } else if (a.name == "hdrm") {
      for (int M = 1; M * M * 2 <= ranks; ++M) variants.push_back(q), variants.back().bigraph = BiGraphShape{ranks / M, M};
    } else {
      variants.push_back(q);
    }
    for (const Request& variant : variants)
      if (constraints(variant).empty()) result.push_back(variant);
  }
  return result;
}

void check_right(const Request& q) {
  CAPTURE(name_of(q.collective));
  CAPTURE(q.algorithm);
  CAPTURE(q.ranks);
  CAPTURE(q.settings.group);
  CAPTURE(q.settings.servers);
  CAPTURE(name_of(q.settings.server_hosts));
  CAPTURE(q.settings.channels);
  CAPTURE(q.settings.pieces);
  const Schedule s = build(q);
  for (const std::string& problem : verify(s)) FAIL_CHECK(problem);
  const Cost counted = traffic(s).counted, formula = cost(q);
  CHECK(counted.steps == formula.steps);
  CHECK(counted.messages == formula.messages);
  CHECK(counted.max_chunks_sent == formula.max_chunks_sent);
  CHECK(counted.chunks == formula.chunks);
  CHECK(s.channels.size() == static_cast<std::size_t>(q.settings.channels));
  CHECK(s.workers() == q.ranks);
  CHECK(s.servers == extra_servers(q.settings));
}

}  // namespace

TEST_CASE("every algorithm is right and costs what its formula says, for 1 to 64 ranks") {
  int checked = 0;
  for (int ranks = 1; ranks <= 64; ++ranks)
    for (const Request& q : requests(ranks, 1, 1)) check_right(q), ++checked;
  CHECK(checked > 64 * 18);
}

TEST_CASE("cut into channels and pieces every algorithm is still right and its cost follows") {
  for (const int ranks : {1, 2, 3, 5, 8, 12, 16, 17})
    for (const auto& [channels, pieces] : {std::pair{1, 2}, {2, 1}, {3, 1}, {1, 7}, {2, 3}})
      for (const Request& q : requests(ranks, channels, pieces)) check_right(q);
}

TEST_CASE("names are unique within a collective, descriptions are sentences, sources are given") {
  std::set<std::pair<Collective, std::string_view>> names;
  for (const Algorithm& a : algorithms()) {
    CAPTURE(a.name);
    CHECK(names.emplace(a.collective, a.name).second);
    CHECK(a.description.back() == '.');
    CHECK_FALSE(a.source.empty());
    CHECK(find_algorithm(a.collective, a.name) == &a);
  }
  for (int i = 0; i <= static_cast<int>(Collective::barrier); ++i) CHECK_FALSE(algorithm_names(static_cast<Collective>(i)).empty());
}

TEST_CASE("an unknown algorithm is refused with the names there are and the nearest one") {
  CHECK(lines({.collective = Collective::broadcast, .algorithm = "binomial_tre", .ranks = 4}) ==
        "/algorithm: unknown broadcast algorithm \"binomial_tre\", must be one of binomial_tree, binomial_tree_at_once, "
        "scatter_allgather, chain, neighbour_tree, direct, knomial_tree, binary_tree, scatter_doubling, two_level, mpi, nccl, msccl (did "
        "you mean \"binomial_tree\"?)");
  CHECK(lines({.collective = Collective::barrier, .algorithm = "ring", .ranks = 4}) ==
        "/algorithm: unknown barrier algorithm \"ring\", must be one of dissemination, two_level, mpi");
}

TEST_CASE("numbers that cannot be are refused, all at once") {
  CHECK(lines({.algorithm = "ring", .ranks = 0}) == "/ranks: must be 1 to 1048576 for ring allreduce, got 0");
  CHECK(lines({.algorithm = "direct", .ranks = 1'000'000'000}) == "/ranks: must be 1 to 4096 for direct allreduce, got 1000000000");
  CHECK(lines({.algorithm = "ring", .ranks = 4, .root = 4, .settings = {.group = 3, .channels = -1, .pieces = -1}}) ==
        "/root: must be a rank, 0 to 3, got 4\n"
        "/channels: must be 1 to 65536, got -1\n"
        "/pieces: must be 1 to 65536, got -1\n"
        "/group: must divide the 4 ranks (1, 2, 4), got 3");
  CHECK(lines({.algorithm = "direct", .ranks = 4, .settings = {.group = 2}}) == "/group: direct allreduce has no groups, got 2");
  CHECK(lines({.algorithm = "ring", .ranks = 1024, .settings = {.channels = 65536, .pieces = 65536}}) ==
        "/pieces: cut the message of 1024 chunks into 4294967296 parts; together they may be 268435456");
}

TEST_CASE("a ring with groups enters and leaves each group at other ranks in every channel") {
  const Schedule s = build({.algorithm = "ring", .ranks = 8, .settings = {.group = 4, .channels = 2}});
  CHECK(verify(s).empty());
  Step step;
  std::set<std::pair<Rank, Rank>> across[2];
  for (std::size_t c = 0; c < 2; ++c)
    for (int k = 0; k < s.channels[c].count(); ++k) {
      s.channels[c].produce(k, step);
      for (const Transfer& t : step.transfers())
        if (t.from / 4 != t.to / 4) across[c].emplace(t.from, t.to);
    }
  CHECK(across[0] == std::set<std::pair<Rank, Rank>>{{3, 4}, {7, 0}});
  CHECK(across[1] == std::set<std::pair<Rank, Rank>>{{1, 6}, {5, 2}});  // through 2, 3, 0, 1 of each group
  for (const Request& q : {Request{.algorithm = "ring", .ranks = 12, .settings = {.group = 4, .channels = 4, .pieces = 3}},
                           Request{.algorithm = "ring", .ranks = 6, .settings = {.group = 3, .channels = 2}}})
    check_right(q);
}

TEST_CASE("algorithms that move ranges of ranks' blocks refuse to be cut") {
  CHECK(lines({.collective = Collective::allgather, .algorithm = "bruck", .ranks = 4, .settings = {.channels = 2}}) ==
        "/channels: must be 1 for bruck allgather, which cannot be cut further, got 2");
}

TEST_CASE("a power of two is asked for where the algorithm needs one") {
  CHECK(lines({.collective = Collective::allgather, .algorithm = "recursive_doubling", .ranks = 6}) ==
        "/ranks: must be a power of two (4 or 8), got 6");
}

TEST_CASE("two_level asks for an inner algorithm that fits its leaders") {
  const auto of_twelve = [](Collective collective, const char* inner) {
    return lines({.collective = collective, .algorithm = "two_level", .ranks = 12, .settings = {.group = 4, .inner = inner}});
  };
  CHECK(of_twelve(Collective::allreduce, "ring") == "");
  CHECK(of_twelve(Collective::allreduce, "rong").starts_with("/inner: unknown allreduce algorithm \"rong\", must be one of "));
  CHECK(of_twelve(Collective::allgather, "recursive_doubling") ==
        "/inner: recursive_doubling of 3 leaders: must be a power of two (2 or 4), got 3");
  for (const char* inner : {"two_level", "hierarchical_ring", "parameter_server", "mpi", "nccl"})
    CHECK(of_twelve(Collective::allreduce, inner) ==
          fmt::format("/inner: is one algorithm among the leaders, without groups and servers, got \"{}\"", inner));
  CHECK(lines({.algorithm = "two_level", .ranks = 12}) == "/group: two_level needs the ranks of a group: one of 1, 2, 3, 4, 6, 12");
  const auto of_groups = [](Collective collective, const char* up, const char* down) {
    return lines(
        {.collective = collective, .algorithm = "two_level", .ranks = 12, .settings = {.group = 4, .inner = {}, .up = up, .down = down}});
  };
  CHECK(of_groups(Collective::allreduce, "halving_gather", "scatter_allgather") == "");
  const std::string one = "is one algorithm in a group, without groups, servers and channels, got";
  CHECK(of_groups(Collective::allreduce, "two_level", "nccl") == fmt::format("/up: {0} \"two_level\"\n/down: {0} \"nccl\"", one));
  CHECK(of_groups(Collective::broadcast, "chain", "") == "/up: two_level broadcast does no reduce in its groups, got \"chain\"");
  CHECK(of_groups(Collective::reduce, "no", "").starts_with("/up: unknown reduce algorithm \"no\""));
  CHECK(lines({.algorithm = "ring", .ranks = 12, .settings = {.up = "chain"}}) ==
        "/up: ring allreduce has no leaders of groups, got \"chain\"");
  CHECK(lines({.algorithm = "ring", .ranks = 12, .settings = {.inner = "ring"}}) ==
        "/inner: ring allreduce has no inner algorithm, got \"ring\"");
}

TEST_CASE("neighbours exchange where the number of ranks is even") {
  CHECK(lines({.collective = Collective::allgather, .algorithm = "neighbour_exchange", .ranks = 7}) == "/ranks: must be even, got 7");
}

TEST_CASE(
    "mpi takes a library and no other settings but the group of mpich, and is what it is for the longest message where no size is known") {
  CHECK(lines({.algorithm = "mpi", .ranks = 4, .settings = {.group = 2, .pieces = 2}}) ==
        "/pieces: must be 1 for mpi allreduce, which cannot be cut further, got 2\n"
        "/group: is of the libraries mpich and intel_mpi, whose hosts have leaders; open_mpi sees ranks only, got 2");
  CHECK(lines({.algorithm = "mpi", .ranks = 4, .settings = {.group = 3, .library = MpiLibrary::mpich}}) ==
        "/group: must divide the 4 ranks (1, 2, 4), got 3");
  CHECK(lines({.algorithm = "ring", .ranks = 4, .settings = {.library = MpiLibrary::mpich}}) ==
        "/library: ring allreduce is of no library, got \"mpich\"");
  CHECK(to_string(build({.algorithm = "mpi", .ranks = 6})) == to_string(build({.algorithm = "halving_doubling", .ranks = 6})));
}

TEST_CASE("hierarchical_ring asks for a group that divides the ranks") {
  CHECK(lines({.algorithm = "hierarchical_ring", .ranks = 6}) == "/group: hierarchical_ring needs the ranks of a group: one of 1, 2, 3, 6");
  CHECK(lines({.algorithm = "hierarchical_ring", .ranks = 6, .settings = {.group = 4}}) ==
        "/group: must divide the 6 ranks (1, 2, 3, 6), got 4");
}

TEST_CASE("servers among the ranks are at most as many as these; on extra hosts there may be more") {
  CHECK(lines({.algorithm = "parameter_server", .ranks = 4, .settings = {.servers = 5}}) == "/servers: must be 1 to 4, the ranks, got 5");
  CHECK(lines({.algorithm = "parameter_server", .ranks = 4, .settings = {.servers = 5, .server_hosts = ServerHosts::extra}}) == "");
  CHECK(lines({.algorithm = "parameter_server", .ranks = 4, .settings = {.servers = -1, .server_hosts = ServerHosts::extra}}) ==
        "/servers: must be at least 1, got -1");
  CHECK(lines({.algorithm = "ring", .ranks = 4, .settings = {.servers = 1, .server_hosts = ServerHosts::extra}}) ==
        "/servers: ring allreduce has no servers, got 1\n"
        "/server_hosts: ring allreduce has no servers, got \"extra\"");
  CHECK(lines({.algorithm = "parameter_server", .ranks = 4096, .settings = {.servers = 4097, .server_hosts = ServerHosts::extra}}) ==
        "/servers: times ranks must be at most 16777216, got 16781312");
}

TEST_CASE("hdrm asks for a BiGraph of powers of two that is balanced and full") {
  const auto hdrm = [](int switches, int nodes_per_switch, int ranks) {
    return lines({.algorithm = "hdrm", .ranks = ranks, .bigraph = BiGraphShape{switches, nodes_per_switch}});
  };
  CHECK(lines({.algorithm = "hdrm", .ranks = 4}) == "/fabric/type: hdrm places ranks on a bigraph; on other fabrics use halving_doubling");
  CHECK(hdrm(16, 4, 64) == "");
  CHECK(hdrm(12, 3, 36) ==
        "/fabric/switches: must be a power of two (8 or 16), got 12\n"
        "/fabric/nodes_per_switch: must be a power of two (2 or 4), got 3");
  CHECK(hdrm(8, 8, 64) == "/fabric/nodes_per_switch: must be at most switches / 2 = 4 for hdrm, got 8");
  CHECK(hdrm(16, 4, 63) == "/ranks: hdrm uses every node of the bigraph, 16 x 4 = 64, got 63");
  CHECK(hdrm(1, 0, 1) ==
        "/fabric/switches: hdrm needs at least 2, got 1\n"
        "/fabric/nodes_per_switch: hdrm needs at least 1, got 0");
  CHECK(hdrm(1 << 30, 1 << 29, 64) == "/ranks: hdrm uses every node of the bigraph, 1073741824 x 536870912 = 576460752303423488, got 64");
}

TEST_CASE("what constraints forbid cannot be built, nor its cost asked") {
  const Request wrong{.algorithm = "hierarchical_ring", .ranks = 6, .settings = {.group = 4, .channels = -1}};
  CHECK_THROWS_WITH_AS(build(wrong), "/channels: must be 1 to 65536, got -1\n/group: must divide the 6 ranks (1, 2, 3, 6), got 4",
                       InputError);
  CHECK_THROWS_AS(cost(wrong), InputError);
}

}  // namespace weft

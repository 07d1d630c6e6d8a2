// Every algorithm of the registry on real memory.
#include "collectives/registry/registry.hpp"
#include "collectives/transports/run_on_threads.hpp"

#include <vector>

#include <doctest/doctest.h>

using namespace weft;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::int64_t many = 30'011;  // sanitizers are slow, and look for other things
#else
constexpr std::int64_t many = 1'000'003;
#endif

struct Cut {
  int channels = 1;
  int pieces = 1;
};

// A request for every algorithm that runs on so many ranks; groups and switches in the first shape that fits.
std::vector<Request> requests(int ranks, Cut cut = {}) {
  std::vector<Request> all;
  for (const Algorithm& a : algorithms()) {
    Request q{.collective = a.collective, .algorithm = std::string(a.name), .ranks = ranks, .root = ranks * 2 / 3};
    q.settings.channels = cut.channels;
    q.settings.pieces = cut.pieces;
    for (int part = ranks == 1 ? 1 : 2; part <= ranks; ++part) {
      if (a.takes_group) q.settings.group = part;
      if (a.takes_servers) q.settings.servers = part;
      if (a.name == "hdrm") q.bigraph = BiGraphShape{.switches = part, .nodes_per_switch = ranks / part};
      if (!constraints(q).empty()) continue;
      all.push_back(q);
      if (a.takes_servers) q.settings.server_hosts = ServerHosts::extra, all.push_back(q);
      break;
    }
  }
  return all;
}

// A different type and operator for every case.
struct Mix {
  std::size_t next = 0;
  DType dtype = DType::int32;
  ReduceOp op = ReduceOp::sum;

  void turn() {
    do {
      dtype = all_dtypes()[next % all_dtypes().size()];
      op = all_ops()[next / 2 % all_ops().size()];
      ++next;
    } while (!defined(op, dtype));
  }
};

std::string fault(const Request& q, const Mix& mix, std::int64_t elements, Values values = Values::whole) {
  const Schedule s = build(q);
  if (q.collective == Collective::barrier) elements = 0;
  if (q.collective == Collective::alltoall) elements *= s.chunks;  // defined for equal chunks
  return fault_on_threads(s, mix.op, mix.dtype, elements, {.values = values});
}

void capture_and_check(const Request& q, const Mix& mix, std::int64_t elements) {
  CAPTURE(name_of(q.collective));
  CAPTURE(q.algorithm);
  CAPTURE(q.ranks);
  CAPTURE(q.settings.group);
  CAPTURE(name_of(q.settings.server_hosts));
  CAPTURE(q.settings.channels);
  CAPTURE(q.settings.pieces);
  CAPTURE(name_of(mix.dtype));
  CAPTURE(name_of(mix.op));
  CAPTURE(elements);
  CHECK(fault(q, mix, elements) == "");
}

}  // namespace

TEST_CASE("real data: every algorithm is right for 1 to 17 ranks, awkward sizes included") {
  Mix mix;
  int cases = 0;
  for (int ranks = 1; ranks <= 17; ++ranks)
    for (const Request& q : requests(ranks))
      for (const std::int64_t elements : {0, 1, ranks - 1, ranks, ranks + 1}) mix.turn(), capture_and_check(q, mix, elements), ++cases;
  CHECK(cases > 17 * 5 * 18);
}

TEST_CASE("real data: every algorithm is right for 1000003 elements") {
  Mix mix;
  for (const int ranks : {3, 8})
    for (const Request& q : requests(ranks)) mix.turn(), capture_and_check(q, mix, q.collective == Collective::alltoall ? many / 8 : many);
  for (const Request& q : requests(17))
    if (q.algorithm == "ring" || q.algorithm == "halving_doubling") mix.turn(), capture_and_check(q, mix, many);
}

TEST_CASE("real data: all types and operators, exact values and any") {
  for (const char* algorithm : {"ring", "halving_doubling", "recursive_doubling"})
    for (const DType dtype : all_dtypes())
      for (const ReduceOp op : all_ops())
        for (const Values values : {Values::whole, Values::real}) {
          if (!defined(op, dtype)) continue;
          CAPTURE(algorithm);
          CAPTURE(name_of(dtype));
          CAPTURE(name_of(op));
          CAPTURE(static_cast<int>(values));
          CHECK(fault({.algorithm = algorithm, .ranks = 6}, {.dtype = dtype, .op = op}, 100, values) == "");
        }
}

TEST_CASE("real data: cut into channels and pieces every algorithm is still right") {
  Mix mix;
  for (const int ranks : {4, 5})
    for (const Cut cut : {Cut{.channels = 3}, Cut{.pieces = 4}, Cut{.channels = 2, .pieces = 3}})
      for (const Request& q : requests(ranks, cut)) mix.turn(), capture_and_check(q, mix, 1009);
}

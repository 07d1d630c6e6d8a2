// Run by mpirun with five ranks: what every transport must do, and MPI's own collectives against the reference.
#include "collectives/transports/mpi.hpp"

#include "collectives/executors/reference.hpp"
#include "collectives/registry/registry.hpp"
#include "collectives/transports/conformance.hpp"

#include <doctest/doctest.h>

using namespace weft;

namespace {

MpiWorld& mpi() {
  static MpiWorld world({.largest_part_bytes = 1000});  // what is larger goes in parts, here often
  return world;
}

// The first `ranks` of those that mpirun started.
class MpiRanks {
 public:
  MpiRanks(int ranks, conformance::Patience) : ranks_(ranks) { REQUIRE(mpi().ranks() >= ranks); }

  std::vector<std::string> run(const conformance::Body& body) const {
    std::string error;
    try {
      if (mpi().rank() < ranks_) body(mpi().rank(), mpi().at());
    } catch (const std::exception& e) {
      error = e.what();
    }
    return {error};
  }

 private:
  int ranks_;
};

}  // namespace

TEST_CASE("conformance: mpi carries messages") { conformance::carries_messages<MpiRanks>(); }

TEST_CASE("mpi: three workers and two parameter servers behind them") {
  const Schedule s = build({.algorithm = "parameter_server", .ranks = 3, .settings = {.servers = 2, .server_hosts = ServerHosts::extra}});
  REQUIRE(mpi().ranks() == s.ranks);
  std::vector<std::byte> memory(buffer_bytes(s, 1003, DType::int32));
  const Buffer buffer{{.elements = 1003, .chunks = s.chunks}, DType::int32, memory.data()};
  for (int again = 0; again < 2; ++again) {  // servers keep nothing from one to the next
    if (mpi().rank() < s.workers() || again == 0) fill(s, ReduceOp::sum, {}, mpi().rank(), buffer);
    FilteredSteps steps(s.channels[0], mpi().rank());
    run_blocking(steps, 0, ReduceOp::sum, buffer, mpi().at());
    const RankResult result{mpi().rank(), buffer};
    CHECK(verify(s, ReduceOp::sum, {}, std::span(&result, 1)).first_wrong == "");
  }
}

TEST_CASE("mpi: its own collectives leave what ours must") {
  const int ranks = mpi().ranks();
  for (const Collective collective :
       {Collective::allreduce, Collective::allgather, Collective::broadcast, Collective::reduce, Collective::alltoall}) {
    Schedule s{.collective = collective, .ranks = ranks, .chunks = ranks, .root = ranks - 1};
    if (collective == Collective::alltoall) s.extra_chunks = ranks;
    const std::int64_t elements = collective == Collective::alltoall ? 100 * ranks : 1003;
    CAPTURE(name_of(collective));
    REQUIRE(MpiWorld::has(collective, DType::int32, ReduceOp::sum));
    std::vector<std::byte> memory(buffer_bytes(s, elements, DType::int32));
    const Buffer buffer{{.elements = elements, .chunks = ranks}, DType::int32, memory.data()};
    fill(s, ReduceOp::sum, {}, mpi().rank(), buffer);
    mpi().run(s, DType::int32, ReduceOp::sum, memory.data(), elements);
    const RankResult result{mpi().rank(), buffer};
    CHECK(verify(s, ReduceOp::sum, {}, std::span(&result, 1)).first_wrong == "");
  }
  CHECK_FALSE(MpiWorld::has(Collective::allreduce, DType::float16, ReduceOp::sum));
  CHECK_FALSE(MpiWorld::has(Collective::reduce_scatter, DType::int32, ReduceOp::sum));
}

TEST_CASE("mpi: what its own collectives refuse is an error, not a result") {
  std::vector<std::byte> memory(16);
  const Schedule s{.collective = Collective::broadcast, .ranks = mpi().ranks(), .chunks = 1, .root = mpi().ranks()};
  CHECK_THROWS_WITH_AS(mpi().run(s, DType::int32, ReduceOp::sum, memory.data(), 4), doctest::Contains("MPI_ERR_ROOT"), RunError);
}

TEST_CASE("mpi: a message of the wrong size is refused") {
  std::vector<std::byte> memory(12);
  Transport& transport = mpi().at();
  if (mpi().rank() == 1) {
    transport.send(0, tag_of({.step = 6}), ByteView(memory).first(8));
    transport.wait();
  }
  if (mpi().rank() == 0) {
    transport.receive(1, tag_of({.step = 6}), memory);
    CHECK_THROWS_WITH_AS(transport.wait(), "rank 1 sent 8 bytes to rank 0 which expects 12 (step 6, message 0)", RunError);
  }
}

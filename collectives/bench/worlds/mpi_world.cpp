#include "collectives/bench/worlds/worlds.hpp"
#include "collectives/transports/mpi.hpp"
#include "kernels/base/error.hpp"

#include <cstdio>
#include <exception>

#include <fmt/format.h>

namespace weft::bench {
namespace {

class Mpi final : public World {
 public:
  explicit Mpi(MpiWorld& mpi) : mpi_(mpi) {}
  int ranks() const override { return mpi_.ranks(); }
  std::vector<Rank> here() const override { return {mpi_.rank()}; }
  Transport& at(Rank, int channel) override { return mpi_.at(channel); }
  void fail(const std::string& reason) override { mpi_.fail(reason); }
  void tell_waiting(const std::string& what) override { mpi_.tell_waiting(what); }
  std::string others() override { return mpi_.others(); }
  bool takes_device_memory() const override { return MpiWorld::takes_device_memory(); }
  std::string_view library() const override { return "mpi"; }
  bool runs_own(std::string_view, Collective collective, DType dtype, ReduceOp op) const override {
    return MpiWorld::has(collective, dtype, op);
  }
  void run_library(const Schedule& s, ReduceOp op, Rank, const Buffer& b) override { mpi_.run(s, b.dtype, op, b.data, b.layout.elements); }

 private:
  MpiWorld& mpi_;
};

}  // namespace

int run_mpi(const Settings& settings, const std::function<int(World&, const Settings&)>& run) {
  MpiWorld mpi({.channels = settings.cut.channels, .patience = settings.patience});
  try {
    Settings ours = settings;
    ours.ranks = ranks_among(mpi.ranks(), settings, "mpirun started");
    Mpi world(mpi);
    return run(world, ours);
  } catch (const InputError&) {  // every rank finds the same and ends by itself
    if (mpi.rank() == 0) throw;
    return 2;
  } catch (const std::exception& e) {
    std::fputs(fmt::format("weft bench: {}\n", e.what()).c_str(), stderr);
    mpi.abort();
  }
}

}  // namespace weft::bench

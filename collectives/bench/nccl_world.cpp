#include "collectives/bench/device_world.hpp"
#include "collectives/bench/worlds.hpp"
#include "collectives/transports/nccl/nccl.hpp"
#include "kernels/base/error.hpp"

#include <fmt/format.h>

namespace weft::bench {
namespace {

// Made before the world that uses it, and ended after it.
struct HasNccl {
  NcclWorld nccl;
};

class Nccl final : HasNccl, public DeviceWorld {
 public:
  Nccl(const Settings& s, const std::vector<int>& devices) : HasNccl{NcclWorld(devices)}, DeviceWorld(s, devices, &nccl) {}

  std::string about() const override { return fmt::format("{}, NCCL {}", DeviceWorld::about(), NcclWorld::version()); }
  std::string_view library() const override { return "nccl"; }
  bool library_runs(Collective collective, DType dtype, ReduceOp op) const override { return NcclWorld::has(collective, dtype, op); }

  void prepare(const StreamJob& job) override {
    DeviceWorld::prepare(job);
    if (!job.library) return;
    executor().replace([this, &schedule = job.schedule, dtype = job.dtype, op = job.op, elements = job.elements] {
      nccl.run(schedule, dtype, op, elements, executor());
    });
  }
};

}  // namespace

std::unique_ptr<StreamWorld> nccl_world(const Settings& s) {
  const int devices = visible_devices();
  if (s.with_servers() > devices)
    throw InputError(fmt::format("-n: NCCL takes one rank for each GPU, and {} {} visible, got {}; --transport cuda lets ranks share a GPU",
                                 devices, devices == 1 ? "is" : "are", s.with_servers()));
  return std::make_unique<Nccl>(s, cuda::devices_of_ranks(s.ranks == 0 ? devices : s.with_servers(), devices));
}

}  // namespace weft::bench

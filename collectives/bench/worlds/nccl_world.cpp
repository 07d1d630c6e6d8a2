#include "collectives/bench/worlds/compressed_device.hpp"
#include "collectives/bench/worlds/device_world.hpp"
#include "collectives/bench/worlds/processes.hpp"
#include "collectives/bench/worlds/worlds.hpp"
#include "collectives/transports/nccl/nccl.hpp"
#include "collectives/transports/nccl/nccl_transport.hpp"
#include "kernels/base/error.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace weft::bench {
namespace {

// The streams of the ranks here, whose messages NCCL carries.
class NcclStreams : public DeviceWorld {
 public:
  // `host` where the other ranks have processes of their own.
  NcclStreams(const Settings& s, const std::vector<int>& devices, NcclWorld& nccl, Transport* host = nullptr)
      : DeviceWorld(s, devices, {.messenger = &nccl, .host = host}), nccl_(nccl) {}

  std::string about() const override { return fmt::format("{}, NCCL {}", DeviceWorld::about(), NcclWorld::version()); }
  std::string_view library() const override { return "nccl"; }
  bool runs_own(std::string_view algorithm, Collective collective, DType dtype, ReduceOp op) const override {
    return is_one_launch(algorithm) ? DeviceWorld::runs_own(algorithm, collective, dtype, op) : NcclWorld::has(collective, dtype, op);
  }

  void prepare(const StreamJob& job) override {
    DeviceWorld::prepare(job);
    if (!job.library || is_one_launch(job.algorithm)) return;
    executor().replace([this, &schedule = job.schedule, dtype = job.dtype, op = job.op, elements = job.elements] {
      nccl_.run(schedule, dtype, op, elements, executor());
    });
  }

 private:
  NcclWorld& nccl_;
};

// Made before the streams that use it, and ended after them.
struct HasNccl {
  NcclWorld nccl;
};

class Nccl final : HasNccl, public NcclStreams {
 public:
  Nccl(const Settings& s, const std::vector<int>& devices) : HasNccl{NcclWorld(devices)}, NcclStreams(s, devices, nccl) {}
};

constexpr Tag id_tag = 1;

// The id of rank 0's making, on all ranks.
std::string shared_id(World& meeting, Rank rank) {
  Transport& talk = meeting.at(rank, 0);
  std::string id = rank == 0 ? NcclWorld::make_id() : std::string(NcclWorld::id_bytes, '\0');
  if (rank != 0) talk.receive(0, id_tag, std::as_writable_bytes(std::span(id)));
  for (Rank other = 1; rank == 0 && other < meeting.ranks(); ++other) talk.send(other, id_tag, std::as_bytes(std::span(id)));
  talk.wait();
  return id;
}

// A job's one rank here, on its GPU.
class NcclRank final : public World {
 public:
  NcclRank(const Settings& s, World& meeting, int device)
      : meeting_(meeting),
        rank_(meeting.here().front()),
        nccl_({.rank = rank_,
               .ranks = meeting.ranks(),
               .device = device,
               .id = shared_id(meeting, rank_),
               .patience = s.patience,
               .look = [&meeting] { meeting.look(); },
               .tell_waiting = [&meeting](const std::string& what) { meeting.tell_waiting(what); },
               .others = [&meeting] { return meeting.others(); }}),
        device_(s, only(rank_, meeting.ranks(), device), nccl_, &meeting.at(rank_, 0)) {
    if (!s.compression) return;
    transport_.emplace(nccl_, rank_, device, s.patience);
    compressed_.emplace(s, rank_, *transport_, meeting.at(rank_, 0));
  }

  int ranks() const override { return meeting_.ranks(); }
  int gpus() const override { return meeting_.ranks(); }
  std::string about() const override {
    return fmt::format("{} ranks, a process and a GPU for each, rank {} on: {}, NCCL {}", ranks(), rank_, device_.name(),
                       NcclWorld::version());
  }
  std::string_view library() const override { return "nccl"; }
  bool has_own(std::string_view algorithm) const override { return device_.has_own(algorithm); }
  bool runs_own(std::string_view algorithm, Collective collective, DType dtype, ReduceOp op) const override {
    return device_.runs_own(algorithm, collective, dtype, op);
  }

  std::vector<Rank> here() const override { return {rank_}; }
  Transport& at(Rank rank, int channel) override { return meeting_.at(rank, channel); }
  void fail(const std::string& reason) override {
    nccl_.abort();  // what waits on the device for ranks that will not come
    device_.give_up();
    meeting_.fail(reason);
  }
  std::string report() const override { return meeting_.report(); }
  bool one_clock() const override { return meeting_.one_clock(); }
  void look() override { meeting_.look(); }
  void tell_waiting(const std::string& what) override { meeting_.tell_waiting(what); }
  std::string others() override { return meeting_.others(); }
  StreamWorld* device(std::string_view) override {
    if (compressed_) return &*compressed_;
    return &device_;
  }

 private:
  World& meeting_;
  const Rank rank_;
  NcclWorld nccl_;
  NcclStreams device_;
  std::optional<NcclTransport> transport_;
  std::optional<CompressedOnDevice> compressed_;
};

}  // namespace

int devices_seen_by_a_child() {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) throw RunError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  int devices = 0;
  const auto close = [&] {
    for (const int end : pipe) ::close(end);
  };
  try {
    const int status = run_processes({"the process that counts GPUs"}, std::chrono::seconds{10}, [&](int) {
      const int seen = visible_devices();
      return ::write(pipe[1], &seen, sizeof seen) == sizeof seen ? 0 : 1;
    });
    if (status != 0 || ::read(pipe[0], &devices, sizeof devices) != sizeof devices) throw RunError("the number of GPUs cannot be told");
  } catch (...) {
    close();
    throw;
  }
  close();
  return devices;
}

std::unique_ptr<World> nccl_rank(const Settings& s, World& meeting, int local_rank) {
  const int devices = visible_devices();
  if (devices > 1 && local_rank >= devices)
    throw InputError(
        fmt::format("--transport nccl: rank {} is number {} of this machine, which has {} GPUs, and NCCL takes one for each rank",
                    meeting.here().front(), local_rank, devices));
  return std::make_unique<NcclRank>(s, meeting, devices == 1 ? 0 : local_rank);
}

std::unique_ptr<StreamWorld> nccl_world(const Settings& s) {
  const int devices = visible_devices();
  if (s.with_servers() > devices)
    throw InputError(fmt::format("-n: NCCL takes one rank for each GPU, and {} {} visible, got {}; --transport cuda lets ranks share a GPU",
                                 devices, devices == 1 ? "is" : "are", s.with_servers()));
  return std::make_unique<Nccl>(s, cuda::devices_of_ranks(s.ranks == 0 ? devices : s.with_servers(), devices));
}

}  // namespace weft::bench

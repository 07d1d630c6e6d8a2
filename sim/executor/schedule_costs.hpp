// What the messages of one schedule cost besides the wire, on a lane of a network (the list is in models/hardware.hpp). Those who run the
// schedule ask here: the executor of events (event_executor.hpp), and the walk that needs none (uncontended.hpp).
#pragma once

#include "collectives/schedule/step_window.hpp"
#include "models/fabric/path_class.hpp"
#include "models/hardware.hpp"
#include "models/message_costs.hpp"
#include "sim/executor/before_first_message.hpp"
#include "sim/executor/gpu_memory.hpp"
#include "sim/executor/lane_state.hpp"
#include "sim/executor/placed_schedule.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace weft {

template <class Network>
class ScheduleCosts {
 public:
  // `lane` must outlive it.
  ScheduleCosts(const PlacedSchedule& job, const LaneState<Network>& lane)
      : lane_(lane),
        hardware_(job.hardware.in(job.regime)),
        of_size_(hardware_),
        overheads_(hardware_.path_overheads()),
        message_{job.elements * job.element_bytes},
        in_gpu_(hardware_.shares_gpu ? gpu_memory(job.schedule, message_) : GpuMemory{}),
        reduce_rate_{std::llround(static_cast<double>(hardware_.reduce_rate_for(worked_on()).count) / in_gpu_.of_sums)},
        copy_rate_(hardware_.copy_rate_for(worked_on())),
        eager_below_(hardware_.eager_below().count),
        call_ps_(before_first_message(hardware_, job.schedule, message_, job.stands_for).ps + homecoming_ps()),
        is_nccl_(job.regime.protocol != NcclProtocol::automatic),
        is_ring_(is_nccl_ && job.regime.pattern == NcclAlgorithm::ring && goes_round(job.schedule.collective)),
        ring_hop_ps_(job.schedule.channels.size()) {}

  const HardwareProfile& hardware() const { return hardware_; }
  // What a rank needs before its first message.
  std::int64_t call_ps() const { return call_ps_; }

  // Rings of NCCL take the sum of their hops' latencies and of their bytes' times (as its tuning model has it, and as 16 servers of 4
  // H100 show: validation/data/pico_mn5_h100_nccl), although ranks beside a slow hop could send their next chunk while the one before is
  // on its way: the ranks of a ring go step by step. So every hop takes the mean latency of the ring's, and the sender waits for it.
  bool is_ring() const { return is_ring_; }
  void find_ring_hop(const StepShape& shape, std::uint32_t channel) {
    Int128 sum = 0;  // of latencies that may each be days
    for (const std::uint32_t route : shape.routes) sum += hop_ps(route);
    ring_hop_ps_[channel] = shape.routes.empty() ? 0 : static_cast<std::int64_t>(sum / static_cast<std::int64_t>(shape.routes.size()));
  }

  // Whether what comes after the bytes of a message depends on their number.
  bool by_size() const { return of_size_.by_size(); }
  // After the bytes of a message of this size.
  std::int64_t behind_ps(std::uint32_t connection, std::uint32_t channel, std::int64_t bytes) const {
    if (connection == lane_.none) return 0;
    return of_size_.behind(latency(connection), SimTime{overhead_ps(connection, channel)}, bytes, copied(connection)).ps;
  }

  // What passes between a message's start and its first byte on the links. NCCL's senders write into buffers of several slots, and so
  // one message behind the other: the path's latency then comes after the bytes, where only the receiver waits for it.
  SimTime latency_ahead(std::uint32_t connection) const {
    return Network::takes_messages_at_links && is_nccl_ ? SimTime{} : latency(connection);
  }
  SimTime latency(std::uint32_t connection) const { return connection == lane_.none ? SimTime{} : lane_.network.latency(connection); }

  // The sender waits for nothing but its own overheads.
  bool leaves_at_once(std::int64_t bytes) const { return bytes < eager_below_; }
  bool waits_for_receiver(std::int64_t bytes) const { return bytes >= hardware_.rendezvous_threshold.count; }

  // Before a message of a step that is made of so many leaves, without what a first one costs.
  void add_send(std::int64_t& free_at, std::int64_t bytes, int steps, bool copied) const {
    free_at = later(free_at, steps * of_size_.sending(hardware_.send_overhead, bytes, copied).ps);
    if (bytes >= hardware_.inline_threshold.count) free_at = later(free_at, steps * of_size_.of(hardware_.beyond_inline, bytes).ps);
  }

  std::int64_t rendezvous_ps(std::int64_t bytes) const { return of_size_.of(hardware_.rendezvous, bytes).ps; }
  // Of a job without gains on NVLink, and without in-network aggregation.
  std::int64_t wire_bytes(std::int64_t bytes, bool copied) const { return of_size_.wire_bytes(hardware_, bytes, copied); }
  std::int64_t wire_bytes(std::uint32_t connection, std::int64_t bytes) const {
    return carried(connection, wire_bytes(bytes, copied(connection)));
  }
  // What the links carry of so many bytes of messages.
  std::int64_t carried(std::uint32_t connection, std::int64_t bytes) const {
    if (connection != lane_.none && lane_.connections[connection].of_switches) return (bytes + 1) / 2;
    if (hardware_.nvlink_gain == 1 || lane_.connections[connection].path_class != PathClass::nvlink) return bytes;
    return std::llround(static_cast<double>(bytes) / hardware_.nvlink_gain);
  }
  // What a message costs besides its bytes, after the sender's overheads, where it stands for several steps: in each but the last.
  SimTime once(std::uint32_t connection, std::uint32_t channel, std::int64_t each, bool reduces) const {
    return latency_ahead(connection) + SimTime{behind_ps(connection, channel, each)} + at_receiver(each, reduces);
  }
  // What keeps its receiver.
  SimTime at_receiver(std::int64_t each, bool reduces) const {
    return of_size_.of(hardware_.receive_overhead, each) + (reduces ? hardware_.reduce_launch : SimTime{});
  }

  // By the receiver's core.
  bool copied(std::uint32_t connection) const {
    return connection != lane_.none && hardware_.copies(lane_.connections[connection].path_class);
  }
  // At the receiver; `each`: the bytes of one of the messages that it stands for.
  Work work_of(std::int64_t bytes, std::int64_t each, bool copied, bool reduces) {
    Work work{.ps = of_size_.of(hardware_.receive_overhead, each).ps};
    if (copied && copy_rate_.count > 0 && !(reduces && hardware_.shares_gpu)) {
      const std::int64_t copying = (Bytes{bytes} / copy_rate_).ps;
      work += {copying, copying};
    }
    if (reduces) add_reduction(work, bytes);
    return work;
  }
  void add_reduction(Work& work, std::int64_t bytes) {
    work.ps = later(work.ps, hardware_.reduce_launch.ps);
    add_bytes(work, bytes);
  }
  // Of a transfer from a rank to itself.
  void add_local(Work& work, const Load& load) {
    if (load.reduces) return add_reduction(work, load.bytes);
    if (hardware_.local_copy.ps == 0) return;
    work.ps = later(work.ps, hardware_.local_copy.ps);
    add_bytes(work, load.bytes);
  }

  // Between GPU and host memory, on the way to or from another server.
  bool staged(std::uint32_t connection) const {
    return hardware_.staging_rate.count > 0 && connection != lane_.none && lane_.connections[connection].between_servers;
  }
  std::int64_t staging_ps(std::int64_t bytes) const { return (Bytes{bytes} / hardware_.staging_rate).ps; }

 private:
  // What its caches hold or not.
  Bytes worked_on() const { return hardware_.shares_gpu ? in_gpu_.of_step : message_; }
  // A copy like those of messages, at the end.
  std::int64_t homecoming_ps() const {
    if (in_gpu_.homecoming.count == 0) return 0;
    return later(hardware_.pcie_overhead.ps, copy_rate_.count == 0 ? 0 : (in_gpu_.homecoming / copy_rate_).ps);
  }
  void add_bytes(Work& work, std::int64_t bytes) {
    if (reduce_rate_.count == 0) return;
    if (bytes != last_reduction_bytes_) last_reduction_bytes_ = bytes, last_reduction_ps_ = (Bytes{bytes} / reduce_rate_).ps;
    work += {last_reduction_ps_, last_reduction_ps_};
  }
  static bool goes_round(Collective c) {
    return c == Collective::allreduce || c == Collective::reduce_scatter || c == Collective::allgather;
  }
  // NCCL's table gives the latency of a whole hop, of which the path's own is a part.
  std::int64_t overhead_ps(std::uint32_t connection, std::uint32_t channel) const {
    if (connection == lane_.none) return 0;
    if (is_ring_) return std::max<std::int64_t>(0, ring_hop_ps_[channel] - latency_ahead(connection).ps);
    return is_nccl_ ? hop_ps(connection) - latency_ahead(connection).ps : of_class_ps(connection);
  }
  std::int64_t of_class_ps(std::uint32_t connection) const {
    return overheads_[static_cast<std::size_t>(lane_.connections[connection].path_class)].ps;
  }
  std::int64_t hop_ps(std::uint32_t connection) const {
    return connection == lane_.none ? 0 : std::max(of_class_ps(connection), lane_.network.latency(connection).ps);
  }

  const LaneState<Network>& lane_;
  const HardwareProfile hardware_;  // in the job's regime
  const MessageCosts of_size_;
  const std::array<SimTime, path_class_count> overheads_;
  const Bytes message_;
  const GpuMemory in_gpu_;
  const BitsPerSecond reduce_rate_, copy_rate_;
  const std::int64_t eager_below_;
  const std::int64_t call_ps_;
  const bool is_nccl_, is_ring_;
  std::int64_t last_reduction_bytes_ = -1, last_reduction_ps_ = 0;
  std::vector<std::int64_t> ring_hop_ps_;  // by channel
};

}  // namespace weft

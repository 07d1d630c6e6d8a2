// A training job, placed, and what happens in it at dates.
#pragma once

#include "collectives/engines/engines.hpp"
#include "collectives/schedule/merge_steps.hpp"
#include "models/compressed_allreduce.hpp"
#include "sim/executor/event_executor.hpp"
#include "sim/in_network/in_network.hpp"
#include "sim/training/training_step.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft {

// What all-reduces of one size run.
struct SizedSchedule {
  std::shared_ptr<const Schedule> schedule;
  std::span<const std::vector<StandsFor>> stands_for = {};  // where its steps are merged (merge_steps.hpp)
  Regime regime = {};
};

// A parameter server of a gradient engine.
struct PlacedServer {
  int endpoint = 0;
  Rank name = 0;  // what it is called among the ranks
};

// A training job on ranks placed at endpoints.
struct PlacedTraining {
  const TrainingStep& step;
  const EngineSettings& engine;
  const Schedule& schedule;                                 // of each all-reduce
  std::span<const std::vector<StandsFor>> stands_for = {};  // where its steps are merged (merge_steps.hpp)
  const CompressedAllreduce* compression = nullptr;         // instead of it
  bool kernels_on_gpu = true;                               // of the compression: the GPU runs a layer or a kernel at a time
  std::optional<InNetworkSettings> aggregation = {};        // by switches, instead of the schedule, which then has ranks only
  const Schedule* push_pull = nullptr;                      // of a partition that goes to a parameter server: its last rank
  std::vector<PlacedServer> servers = {};                   // the engine's
  std::int64_t element_bytes = 4;                           // on the wire
  int machines = 1;                                         // that its ranks sit on
  std::span<const int> placement;                           // rank -> endpoint, servers of the schedule behind the ranks
  const HardwareProfile& hardware;
  std::vector<SimTime> start = {};  // when each rank begins; empty: all at 0
  int iterations = 1;
  bool forward_by_layer = false;
  std::function<double(Rank, int step)> slowdown = {};  // of what it computes; empty: none
  std::string name = {};                                // goes with what it waits for; "" where there is one job only
  std::vector<Rank> members = {};                       // what its ranks are called; empty: as they are
  std::vector<MessageRecord>* timeline = {};            // receives every message of the all-reduces
  std::vector<SpanRecord>* spans = {};                  // receives what each rank does
  std::function<SizedSchedule(Bytes)> for_size = {};    // instead of schedule and stands_for; empty: those, at no further cost
  bool apart = false;                                   // its all-reduces are run apart (calls_apart.hpp)
  bool whole_chunks = false;                            // sizes of all-reduces are rounded up, so that all chunks are of one size

  SimTime start_of(Rank rank) const { return start.empty() ? SimTime{} : start[static_cast<std::size_t>(rank)]; }
  Rank name_of(Rank rank) const { return members.empty() ? rank : members[static_cast<std::size_t>(rank)]; }
};

// What waits for a date, or for the network; in the field `channel` of UnderWay, with `from` the rank.
enum class StepEvent : std::uint32_t {
  compute_ends,
  layer_begins,  // of backward, after what has ended at the same date
  phase_ends,    // step: the order's id
  push_ends,     // step: its id
  round_begins,  // of an in-network job; step: the order's id
  round_ends,    // step: its id
  timer_ends,
  control_ends,    // from -> to, step: its number in the pair
  control_handed,  // its receive overhead is over
};

// What a training job waits for besides messages.
template <class Network>
class Agenda {
 public:
  explicit Agenda(LaneState<Network>& lane) : lane_(lane) {}

  // At once where the date has come, but not before whoever asks has returned.
  void at_date(SimTime at, StepEvent what, const UnderWay& whom) {
    require_in_time(at.ps);
    UnderWay entry = whom;
    entry.kind = UnderWay::Kind::operation_ends;
    entry.channel = static_cast<std::uint32_t>(what);
    if (at > lane_.network.now())
      lane_.network.wake(at, lane_.under_way.add(entry));
    else
      due_.push_back(entry);
  }
  void at_once(StepEvent what, const UnderWay& whom) { at_date(lane_.network.now(), what, whom); }

  // What is due is handled, and what becomes due meanwhile.
  template <class Handle>
  void settle(Handle handle) {
    for (; !due_.empty(); due_.pop_front()) handle(UnderWay{due_.front()});
  }

 private:
  LaneState<Network>& lane_;
  std::deque<UnderWay> due_;
};

}  // namespace weft

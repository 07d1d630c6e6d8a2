// What the GPUs of a plan are connected by: channels with a signal in each direction, remote buffers, semaphores and barriers.
#pragma once

#include "collectives/interchange/mscclpp_plan.hpp"
#include "collectives/interchange/mscclpp_reader.hpp"

#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace weft {

inline constexpr int max_plan_ids = 1 << 16;

enum class PlanChannel { memory, port, other };

struct PlanRemote {
  Rank rank = 0;
  BufferKind buffer = BufferKind::input;
};

// Read GPU by GPU first; then the thread blocks of one GPU after another use it.
class PlanWiring {
 public:
  PlanWiring(MscclppPlan& plan, PlanProblems& problems) : plan_(plan), problems_(problems) {}

  void read_gpu(Rank rank, const PlanValue& gpu);

  void begin_gpu(Rank rank) { gpu_ = rank, barriers_.clear(); }
  void begin_block(const PlanValue& block);

  // Of the GPU and the thread block that are read.
  void read_sync(const PlanValue& value, PlanSync sync, PlanChannel type, PlanOperation& operation);
  std::optional<PlanRemote> remote(const PlanValue& id, PlanChannel type);

  PlanChannel type_of(const PlanValue& value);
  BufferKind buffer_of(const PlanValue& value);

 private:
  // The ways of signals of one GPU, in the order of its channels of a type.
  struct Channels {
    std::vector<int> out = {}, in = {};
    std::vector<Rank> peers = {};
  };
  // Of a thread block to those of its GPU.
  struct References {
    std::vector<int> channels = {}, buffers = {};
  };

  int way(Rank from, Rank to, PlanChannel type, int index);
  std::optional<int> below(const PlanValue& id, std::int64_t count, std::string_view what);

  MscclppPlan& plan_;
  PlanProblems& problems_;
  Rank gpu_ = 0;
  std::map<std::tuple<Rank, Rank, PlanChannel, int>, int> ways_ = {};
  std::map<std::pair<Rank, PlanChannel>, Channels> channels_ = {};
  std::map<Rank, std::vector<PlanRemote>> remote_ = {};
  std::vector<int> semaphores_ = {};                   // the first of each GPU
  std::map<std::int64_t, int> barriers_ = {};          // of the GPU that is read
  std::map<PlanChannel, References> references_ = {};  // of the thread block that is read
};

}  // namespace weft

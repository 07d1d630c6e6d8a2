// A schedule as work for streams: one list of operations, in the order in which a single host thread may enqueue them on the
// streams of all ranks, with events wherever one stream needs another. Pure data: which copy, which event and which wait is
// decided here and tested without a device; the cuda and nccl executors only call what the list says.
//
// Streams run side by side, each its own operations in order; a wait holds a stream until the event was recorded. What the
// list guarantees (and plan_test.cpp proves for every algorithm):
//   every event is recorded before the first wait for it, so no order of enqueueing deadlocks
//   two operations that touch the same bytes, one writing, are ordered: every timing of the streams gives the same bits
//   the order is "own_step": a rank's step is over when its own sends have been read and its own receives have arrived
#pragma once

#include "collectives/schedule/schedule.hpp"
#include "kernels/dtype.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace weft {

struct StreamOperation {
  enum class Kind {
    copy,         // `bytes` from `from` to `into`
    reduce,       // into = into op from
    reduce_many,  // into = the first of `sources` op the second op ..., in one pass; into may be the first
    divide,       // into = into / workers, for avg
    begin_group,  // sends and receives stand between these two; all of them go on together
    send,         // `bytes` at `from` to `peer`: the next receive of `peer` from this rank in the same group
    receive,
    end_group,
    record,  // `event`
    wait,
    mark,  // notes the time as number `event`
  };
  // Bytes from `offset` on in one of the plan's memories.
  struct Location {
    int memory = 0;
    std::int64_t offset = 0;
  };

  Kind kind;
  int stream = 0;
  std::int64_t bytes = 0;
  Location from = {}, into = {};
  int event = -1;
  Rank peer = -1;
  int first_source = 0, sources = 0;  // of the plan's
};

// When a rank did its part of a transfer: between two marks. Sends and receives of a step start and end together, as in the
// blocking executor.
struct MarkedOperation {
  enum class What { send, receive, receive_reduce, reduce };
  Rank rank = 0;
  What what = What::send;
  Rank peer = 0;  // the rank itself for reduce
  int channel = 0, step = 0, message = 0;
  std::int64_t bytes = 0;
  int start = 0, end = 0;
};

struct StreamPlan {
  int ranks = 0;
  int workers = 0;
  int streams_per_rank = 1;  // stream s belongs to rank s / streams_per_rank
  int events = 0, marks = 0;
  DType dtype = DType::float32;
  ReduceOp op = ReduceOp::sum;  // of the reduce operations: never avg
  // Bytes of each memory. Memory r < ranks is rank r's message with its extra chunks. Those behind it are as many for each rank: one for
  // each channel, which holds aside what may not be written yet, and a second message, where chunks are between steps that read and
  // write all of them.
  std::vector<std::int64_t> memories;
  std::vector<StreamOperation> operations;
  std::vector<StreamOperation::Location> sources;
  std::vector<MarkedOperation> marked;

  int streams() const { return ranks * streams_per_rank; }
  Rank rank_of_stream(int s) const { return s / streams_per_rank; }
  Rank rank_of_memory(int m) const {
    return m < ranks
               ? m
               : static_cast<Rank>((m - ranks) / ((memories.size() - static_cast<std::size_t>(ranks)) / static_cast<std::size_t>(ranks)));
  }
};

struct StreamPlanSettings {
  std::int64_t elements = 0;
  DType dtype = DType::float32;
  ReduceOp op = ReduceOp::sum;
  // How transfers cross from rank to rank.
  //   pull      the receiver's stream copies out of the sender's memory; each channel of a rank has a stream
  //   messages  sends and receives, one group for each step; all channels of a rank share a stream, and a group
  enum class Carriage { pull, messages } carriage = Carriage::pull;
  // pull: whether a kernel of `reader` may read the memory of `owner`, so that it reduces without a copy. Everybody's, if
  // this is empty.
  std::function<bool(Rank reader, Rank owner)> reads = nullptr;
  bool marks = false;
};

StreamPlan plan_streams(const Schedule&, const StreamPlanSettings&);

}  // namespace weft

// The blocking executor: one rank of one channel of a schedule, run over a Transport by the thread, process or actor that
// calls it. It knows no algorithm and no medium.
#pragma once

#include "collectives/executors/transport.hpp"
#include "collectives/schedule/schedule.hpp"
#include "collectives/schedule/step_window.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace weft {

// One rank's memory: the message and behind it the extra chunks of the schedule. Without data it has sizes only, and the
// executor passes spans of null data with their true length: simulation of many ranks needs no memory for payload.
struct Buffer {
  ChunkLayout layout;
  DType dtype = DType::float32;
  std::byte* data = nullptr;

  ByteSpan chunks(int first, int count) const {
    const auto unit = size_of(dtype);
    const auto length = static_cast<std::size_t>(layout.size(first, count)) * unit;
    return {data == nullptr ? nullptr : data + static_cast<std::size_t>(layout.begin(first)) * unit, length};
  }
};

// Bytes of a Buffer's memory for this schedule, extra chunks included.
std::size_t buffer_bytes(const Schedule&, std::int64_t elements, DType);

// The first chunk of block r: what reduce_scatter leaves on rank r, and allgather starts from.
int block_begin(const Schedule&, Rank r);

// What one rank does in a step: indices into the step's transfers, ascending. Local transfers are in `locals` only.
struct RankStep {
  int step = 0;
  std::span<const Transfer> transfers;
  std::span<const std::uint32_t> sends, receives, locals;
};

// The steps of one channel as one rank meets them. What next() gives stays valid until the following call.
class RankSteps {
 public:
  virtual ~RankSteps() = default;
  virtual bool next(RankStep& out) = 0;  // false after the last step
};

// Produces every step for itself: ranks share nothing, so each may have its own thread or process.
class FilteredSteps final : public RankSteps {
 public:
  FilteredSteps(const Steps& steps, Rank rank) : steps_(steps), rank_(rank) {}
  bool next(RankStep& out) override;

 private:
  const Steps& steps_;
  Rank rank_;
  int next_ = 0;
  Step step_;
  std::vector<std::uint32_t> sends_, receives_, locals_;
};

// Reads steps that all ranks of one thread share. Every rank must be run to its end, or the window keeps growing.
class WindowedSteps final : public RankSteps {
 public:
  WindowedSteps(StepWindow& window, Rank rank) : window_(window), rank_(rank) {}
  bool next(RankStep& out) override;

 private:
  StepWindow& window_;
  Rank rank_;
  int next_ = 0;
};

// Runs this rank's part of one channel. For `avg` the values are summed; dividing is finish_average's part, once all
// channels of the rank are done.
void run_blocking(RankSteps& steps, int channel, ReduceOp op, const Buffer& buffer, Transport& transport);

// Chunks [first, second): what this rank holds of the result of a collective that reduces.
std::pair<int, int> averaged_chunks(const Schedule&, Rank);

// Divides what this rank holds of the result by the number of workers.
void finish_average(const Schedule&, Rank, const Buffer&);

}  // namespace weft

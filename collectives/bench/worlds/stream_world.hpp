// The ranks of a benchmark on streams, all in this process: one thread enqueues what they do and waits for the end.
#pragma once

#include "collectives/bench/worlds/trace.hpp"
#include "collectives/bench/worlds/world.hpp"
#include "collectives/executors/stream/plan.hpp"
#include "collectives/executors/transport.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace weft::bench {

struct StreamJob {
  const Schedule& schedule;
  std::string_view algorithm = {};
  bool library = false;  // the medium's own of that name instead, on the memory of the schedule
  std::int64_t elements = 0;
  DType dtype = DType::float32;
  ReduceOp op = ReduceOp::sum;
  bool marks = false;
};

class StreamWorld : public Medium {
 public:
  // Takes the job as what run() does. The memory of the ranks is theirs until the next.
  virtual void prepare(const StreamJob&) = 0;
  // From the host into a rank's message and back, for several ranks at once by several threads.
  virtual void write(Rank, ByteView) = 0;
  virtual void read(Rank, ByteSpan) const = 0;
  // Makes a graph of the job, which run() then replays. It must have run before.
  virtual void capture() = 0;
  // Runs it so many times, back to back. Returns the microseconds of one, by the devices' clock.
  virtual double run(std::int64_t count) = 0;

  // Of compressed all-reduces: what the rank has not sent, empty where it keeps nothing.
  virtual std::vector<float> kept(Rank) const { return {}; }

  // Of the last run of a job with marks: what they enclose, the time of each by the clock of its rank, and these clocks.
  virtual std::vector<MarkedOperation> marked() const = 0;
  virtual std::vector<double> marks_us() const = 0;
  virtual std::vector<ClockOffset> clocks() const = 0;
  // When the clock of the first rank's marks began, by now_us(), and by how much that may be wrong.
  virtual ClockOffset clock_began() const { return {}; }
};

}  // namespace weft::bench

// Transport over MPI: every rank a process that mpirun started, every message an MPI_Isend and an MPI_Irecv. Built where
// MPI is found. This header does without mpi.h.
#pragma once

#include "collectives/executors/transport.hpp"
#include "collectives/schedule/schedule.hpp"

#include <chrono>
#include <memory>
#include <string>

namespace weft {

struct MpiSettings {
  int channels = 1;                            // each a communicator and a thread of its own
  std::chrono::milliseconds patience{30'000};  // a wait in which nothing is completed for this long ends the run
  // Between polls of a wait in which nothing was completed for a millisecond; 0: polls go on, giving way to other threads. For many
  // channels.
  std::chrono::microseconds rest{0};
  std::size_t largest_part_bytes = 1 << 30;  // a larger message goes in parts; at most INT_MAX
};

// Starts MPI in this process and ends it. One object per process.
class MpiWorld {
 public:
  explicit MpiWorld(MpiSettings settings = {});
  ~MpiWorld();

  Rank rank() const;
  int ranks() const;
  std::string library() const;  // "Open MPI v4.1.4"
  Transport& at(int channel = 0);
  // Makes every wait of this process throw. The other ranks hear of it by abort(), which ends them all with status 1.
  void fail(const std::string& reason);
  [[noreturn]] void abort();
  // For who waits for something else than messages: tells the others what for, "" for no longer. Whoever waits for half its patience
  // does so too.
  void tell_waiting(const std::string& what);
  // What the other ranks have said that they wait for, and which have said nothing: a line for each.
  std::string others();

  // Whether the library takes addresses of device memory, as it says itself. MPI must have been started.
  static bool takes_device_memory();

  // MPI's own collectives, to compare with. Data lie as schedules have them, in place; avg is summed only.
  static bool has(Collective, DType, ReduceOp);
  void run(const Schedule&, DType, ReduceOp, std::byte* data, std::int64_t elements);

 private:
  class Endpoint;
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace weft

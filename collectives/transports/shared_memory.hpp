// Transport in memory shared by processes of one host. Each ordered pair of ranks has a ring of bytes: the sender copies its
// message into it, a cache-sized part at a time, and the receiver copies or reduces straight out of it, so both work at once
// and nothing passes through the kernel but the bell that wakes who sleeps.
#pragma once

#include "collectives/executors/transport.hpp"
#include "collectives/schedule/schedule.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weft {

// A piece of memory that processes map by its name. Whoever made it removes the name when all have it, or at the latest in
// the destructor; the memory lives as long as somebody maps it.
class SharedSegment {
 public:
  // Makes it, all zero and with its memory really there. Throws RunError, as where /dev/shm is too small.
  static SharedSegment create(std::size_t bytes);
  static SharedSegment open(const std::string& name, std::size_t bytes);
  SharedSegment(SharedSegment&& other) noexcept;
  SharedSegment& operator=(SharedSegment&&) = delete;
  ~SharedSegment();

  const std::string& name() const { return name_; }
  std::byte* data() const { return data_; }
  void remove_name();

 private:
  SharedSegment(std::string name, std::byte* data, std::size_t bytes, bool named)
      : name_(std::move(name)), data_(data), bytes_(bytes), named_(named) {}
  std::string name_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool named_ = false;
};

struct SharedMemorySettings {
  std::chrono::milliseconds patience{30'000};  // a wait in which nothing moves for this long ends the run
  std::vector<std::string> names = {};         // of the ranks in messages; "rank 0" and so on where there are none
  // Called now and then while a wait lasts, with the ranks waited for: throws RunError when the run has been ended or one of
  // them will never move again. Memory alone does not tell that a process is gone.
  std::function<void(const std::vector<Rank>& awaited)> look = nullptr;
};

// Bytes of the segment that `ranks` ranks share.
std::size_t shared_memory_bytes(int ranks);

// One rank's end. The segment outlives it.
std::unique_ptr<Transport> shared_memory_transport(const SharedSegment& segment, Rank rank, int ranks, SharedMemorySettings settings = {});

}  // namespace weft

// Memory of each rank's GPU that all ranks of a machine read and write, each rank in a process of its own: by CUDA's handles between
// processes. No CUDA header is needed to use it.
#pragma once

#include "collectives/executors/transport.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace weft::cuda {

class SharedMemory {
 public:
  // Each rank's memory is on its `device`. Used by the thread that uses `host`, which carries memory of the host between the ranks, and
  // must stay.
  SharedMemory(Rank rank, int ranks, int device, Transport& host);
  // Waits until no rank uses the others' memory any longer, unless one of them is lost.
  ~SharedMemory();

  // All ranks call it together. Makes room for so many bytes, zeros at first; what was there is gone, on no rank in use any longer. Returns
  // why that cannot be, the same on all ranks: two ranks on one GPU or on two machines, no peer access; "" where it can.
  std::string make_room(std::size_t bytes);
  // Of every rank, as this process sees it.
  const std::vector<std::byte*>& places() const;
  // A rank is lost: nobody waits for the others.
  void leave_alone();

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace weft::cuda

// The memory of a run: how much it may ask for, said before it is asked for, and what it gets.
#pragma once

#include "collectives/bench/settings/settings.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace weft::bench {

// Of this machine, or of the control group that this process is in where that may have less.
std::int64_t memory_bytes();

// Of so many ranks, those that run on this machine as far as this process knows.
int ranks_of_this_machine(const Settings&, int all);

// Throws InputError where so many ranks with so many bytes of data each are more than this machine can hold.
void require_memory(int ranks, std::int64_t bytes_each, std::int64_t machine_bytes = memory_bytes());

// Page-aligned memory, touched so that no run pays for its first use.
class TouchedMemory {
 public:
  std::byte* data() { return bytes_.get(); }
  std::size_t size() const { return size_; }
  void resize(std::size_t size);  // all of it is 0 then

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte[], Free> bytes_;
  std::size_t size_ = 0;
};

}  // namespace weft::bench

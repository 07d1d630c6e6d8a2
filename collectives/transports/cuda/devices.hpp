// Which GPUs the ranks have, and whose memory each reads. No CUDA header is needed to use it.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace weft::cuda {

constexpr int elsewhere = -1;  // the device of a rank of another process

// Ranks in contiguous blocks, as even as can be, on the first `devices` devices.
std::vector<int> devices_of_ranks(int ranks, int devices);

// Those of the ranks of this process.
std::set<int> devices_here(const std::vector<int>& of_ranks);

// "NVIDIA H200, CUDA driver 13.0, runtime 13.0", for each device that differs.
std::string describe_devices(const std::vector<int>& devices);

// Lets every device read every other's memory where the hardware can.
class PeerAccess {
 public:
  explicit PeerAccess(const std::set<int>& devices);
  bool reads(int reader, int owner) const { return reader == owner || enabled_.contains({reader, owner}); }

 private:
  std::set<std::pair<int, int>> enabled_;
};

}  // namespace weft::cuda

#include "collectives/libraries/nccl_channel.hpp"

#include <algorithm>

namespace weft {

int head_of(const NcclShape& shape, int channel) { return channel % shape.nics * shape.gpus / shape.nics; }

std::vector<int> along_links(const NcclShape& shape, int channel, int first) {
  std::vector<int> gpus = shape.orders[static_cast<std::size_t>(channel) % shape.orders.size()];
  std::rotate(gpus.begin(), std::ranges::find(gpus, first), gpus.end());  // clang 14 knows no subranges
  return gpus;
}

std::vector<int> chain_of(const NcclShape& shape, int channel) {
  if (!shape.orders.empty()) return along_links(shape, channel, head_of(shape, channel));
  std::vector<int> gpus(static_cast<std::size_t>(shape.gpus));
  for (int i = 0; i < shape.gpus; ++i) gpus[static_cast<std::size_t>(i)] = (head_of(shape, channel) + i) % shape.gpus;
  return gpus;
}

}  // namespace weft

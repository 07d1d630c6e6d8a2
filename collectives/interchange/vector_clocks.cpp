#include "collectives/interchange/vector_clocks.hpp"

#include <algorithm>

namespace weft {

SharedMemoryOrder::SharedMemoryOrder(int blocks)
    : clocks_(static_cast<std::size_t>(blocks), std::vector<int>(static_cast<std::size_t>(blocks), 0)) {
  for (std::size_t b = 0; b < clocks_.size(); ++b) clocks_[b][b] = 1;
}

Clock SharedMemoryOrder::release(int block) {
  auto& own = clocks_[static_cast<std::size_t>(block)];
  Clock out = std::make_shared<const std::vector<int>>(own);
  ++own[static_cast<std::size_t>(block)];
  return out;
}

void SharedMemoryOrder::join(int block, const Clock& clock) {
  auto& own = clocks_[static_cast<std::size_t>(block)];
  for (std::size_t b = 0; b < own.size(); ++b) own[b] = std::max(own[b], (*clock)[b]);
}

int SharedMemoryOrder::read(int block, Cell cell, int event) {
  CellState& state = cells_[cell];
  const Access now{block, time_of(block), event};
  const auto mine = std::ranges::find(state.read, block, &Access::block);
  if (mine != state.read.end())
    *mine = now;
  else
    state.read.push_back(now);
  return before(state.written, block) ? -1 : state.written.event;
}

int SharedMemoryOrder::write(int block, Cell cell, int event) {
  CellState& state = cells_[cell];
  int conflict = before(state.written, block) ? -1 : state.written.event;
  for (const Access& access : state.read)
    if (!before(access, block)) conflict = access.event;
  state = {.written = {block, time_of(block), event}, .read = {}, .packet = {}};
  return conflict;
}

bool SharedMemoryOrder::may_write(int block, Cell cell) const {
  const auto found = cells_.find(cell);
  if (found == cells_.end()) return true;
  return before(found->second.written, block) &&
         std::ranges::all_of(found->second.read, [&](const Access& access) { return before(access, block); });
}

int SharedMemoryOrder::written_unseen(Cell cell, const std::vector<int>& blocks) const {
  const auto found = cells_.find(cell);
  if (found == cells_.end()) return -1;
  const Access& written = found->second.written;
  return std::ranges::any_of(blocks, [&](int block) { return before(written, block); }) ? -1 : written.event;
}

bool SharedMemoryOrder::packet_is_there(Cell cell) const {
  const auto found = cells_.find(cell);
  return found != cells_.end() && found->second.packet != nullptr;
}

}  // namespace weft

// Which accesses of thread blocks to memory are ordered: vector clocks (Mattern 1989), with the last accesses of each chunk beside it
// (FastTrack, Flanagan & Freund 2009).
#pragma once

#include "collectives/schedule/schedule.hpp"

#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace weft {

struct Cell {
  Rank rank = 0;
  int chunk = 0;
  auto operator<=>(const Cell&) const = default;
};

using Clock = std::shared_ptr<const std::vector<int>>;

class SharedMemoryOrder {
 public:
  explicit SharedMemoryOrder(int blocks);

  // What `block` did so far comes before whatever joins the clock.
  Clock release(int block);
  void join(int block, const Clock& clock);

  // An earlier access that nothing orders with this one and that conflicts with it, by its event; -1 where there is none.
  int read(int block, Cell cell, int event);
  int write(int block, Cell cell, int event);
  // Whether all earlier accesses of the cell come before what `block` does now.
  bool may_write(int block, Cell cell) const;

  // The event that wrote the cell last, where none of these blocks knows that it has happened; -1 where one does.
  int written_unseen(Cell cell, const std::vector<int>& blocks) const;

  void mark_packet(Cell cell, Clock written) { cells_[cell].packet = std::move(written); }
  bool packet_is_there(Cell cell) const;
  Clock packet_clock(Cell cell) const { return cells_.at(cell).packet; }

 private:
  struct Access {
    int block = -1, time = 0, event = -1;
  };
  struct CellState {
    Access written = {};
    std::vector<Access> read = {};
    Clock packet = {};
  };
  bool before(const Access& access, int block) const {
    return access.block < 0 || clocks_[static_cast<std::size_t>(block)][static_cast<std::size_t>(access.block)] >= access.time;
  }
  int time_of(int block) const { return clocks_[static_cast<std::size_t>(block)][static_cast<std::size_t>(block)]; }

  std::vector<std::vector<int>> clocks_;
  std::map<Cell, CellState> cells_;
};

}  // namespace weft

#include "collectives/interchange/mscclpp_lowering.hpp"

#include "collectives/interchange/staged.hpp"
#include "collectives/interchange/vector_clocks.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/index.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace weft {
namespace {

constexpr int none = -1;

// Walks over the events in their order and notes what each move must come behind: what wrote the chunks that it reads and writes, what
// reads those that it writes, and the points of its thread block.
class Lowering {
 public:
  Lowering(const MscclppPlan& plan, const BufferMap& map)
      : plan_(plan), map_(map), events_(execute(plan, map)), blocks_(plan.blocks.size()) {}

  Schedule schedule() {
    out_.frame = {.name = plan_.name, .collective = map_.collective, .ranks = map_.ranks, .chunks = map_.chunks, .root = plan_.root};
    parts_ = map_.choice.via_scratch ? std::vector<std::vector<StagedPart>>(events_.size()) : staged_parts(events_, map_);
    point_of_.assign(events_.size(), none);
    for (int i = 0; i < static_cast<int>(events_.size()); ++i) events_[at(i)].moves() ? move(i) : come_to_point(i);
    close();
    find_frame();
    put_into_order();
    out_.name = [this](int i) {
      const int event = events_of_moves_[at(i)];
      return event == none ? std::string("the copy of the output at the end")
                           : place_of(plan_, events_[at(event)].block, events_[at(event)].operation);
    };
    return scheduled(out_);
  }

 private:
  // What the next operation of a thread block waits for.
  struct BlockState {
    int point = none;                // behind the last that it waited for
    int released = none;             // behind all that it did before the last that it released
    std::vector<int> since = {};     // what it did after that
    std::vector<int> received = {};  // by way of scratch: what is sent next waits for them
  };
  struct CellState {
    int written = none;
    bool open = false;  // nobody read what was written: a sum may go on in the same step
    std::vector<int> read = {};
  };

  void later(int first, int second, int gap) {
    if (first != none && first != second) out_.orders.push_back({first, second, gap});
  }

  int add(int event, int block, const Transfer& transfer) {
    out_.moves.push_back({.transfer = transfer, .channel = block});
    events_of_moves_.push_back(event);
    placed_at_.push_back(event);
    said_.emplace_back();
    return static_cast<int>(out_.moves.size()) - 1;
  }

  // The step that Weft wrote beside the operation: to be taken where all have one.
  void say(int move, const PlanEvent& event) { said_[at(move)] = plan_.blocks[at(event.block)].operations[at(event.operation)].said; }

  void move(int i) {
    const PlanEvent& event = events_[at(i)];
    if (const auto found = received_.find(i); found != received_.end()) return receive(i, found->second);
    if (parts_[at(i)].empty()) {
      const int m = add(i, event.block, event.transfer);
      say(m, event);
      begin(m, event);
      write(m);
      return blocks_[at(event.block)].since.push_back(m);
    }
    for (const StagedPart& part : parts_[at(i)]) {
      Transfer t = event.transfer;
      t.chunk += part.offset, t.into += part.offset, t.count = part.count;
      const int m = add(i, event.block, t);
      begin(m, event);
      if (part.reader == none) {
        write(m);
        blocks_[at(event.block)].since.push_back(m);
      } else {
        received_[part.reader] = m;
      }
    }
  }

  void begin(int m, const PlanEvent& event) {
    BlockState& block = blocks_[at(event.block)];
    if (event.transfer.from != event.transfer.to && !block.received.empty()) {
      const int point = add(placed_at_[at(m)], event.block, {.count = 0});
      later(block.point, point, 0);
      for (const int received : block.received) later(received, point, 1);
      block.point = point;
      block.received.clear();
    }
    later(block.point, m, 0);
    const Transfer& t = out_.moves[at(m)].transfer;
    for (int c = 0; c < t.count; ++c) {
      CellState& cell = cells_[{t.from, t.chunk + c}];
      later(cell.written, m, 1);
      cell.read.push_back(m);
      cell.open = false;
    }
  }

  void write(int m) {
    const Transfer& t = out_.moves[at(m)].transfer;
    for (int c = 0; c < t.count; ++c) {
      CellState& cell = cells_[{t.to, t.into + c}];
      later(cell.written, m, t.reduces && cell.open ? 0 : 1);
      for (const int reader : cell.read) later(reader, m, 0);
      cell = {.written = m, .open = true, .read = {}};
    }
  }

  // The transfer of another event that this one takes from scratch to where it belongs.
  void receive(int i, int m) {
    const PlanEvent& event = events_[at(i)];
    Move& arrived = out_.moves[at(m)];
    arrived.transfer.into = event.transfer.into;
    arrived.transfer.reduces = event.transfer.reduces;
    arrived.channel = event.block;
    placed_at_[at(m)] = i;
    events_of_moves_[at(m)] = i;
    say(m, event);
    BlockState& block = blocks_[at(event.block)];
    later(block.point, m, 0);
    write(m);
    block.since.push_back(m);
    block.received.push_back(m);
  }

  // A signal is behind all that its thread block did, which goes on at once; what comes after a wait is behind the signals.
  void come_to_point(int i) {
    const PlanEvent& event = events_[at(i)];
    BlockState& block = blocks_[at(event.block)];
    int& last = event.waited.empty() ? block.released : block.point;
    std::vector<std::pair<int, int>> behind;  // and gap
    for (const int waited : event.waited)
      if (point_of_[at(waited)] != none) behind.emplace_back(point_of_[at(waited)], 0);
    if (event.waited.empty()) {
      if (block.point != none) behind.emplace_back(block.point, 0);
      for (const int m : block.since) behind.emplace_back(m, 1);
      block.since.clear();
    }
    if (!behind.empty()) {
      const int point = add(i, event.block, {.count = 0});
      later(last, point, 0);
      for (const auto& [first, gap] : behind) later(first, point, gap);
      last = point;
    }
    point_of_[at(i)] = last;
  }

  // Where the output has space of its own, or a schedule leaves its result elsewhere.
  void close() {
    for (Rank rank = 0; rank < map_.ranks; ++rank)
      for (const auto& [from, into] : map_.closing_copies(rank)) {
        const auto result = cells_.find({rank, from});
        if (result == cells_.end() && map_.collective != Collective::alltoall) continue;
        const int writer = result == cells_.end() ? none : result->second.written;
        const int channel = writer == none ? 0 : out_.moves[at(writer)].channel;
        const int m = add(none, channel, {.from = rank, .to = rank, .chunk = from, .count = 1, .into = into});
        later(writer, m, 1);
        cells_[{rank, from}].read.push_back(m);
        write(m);
      }
  }

  void find_frame() {
    int end = map_.scratch_begin();
    bool all_said = true;
    for (std::size_t i = 0; i < out_.moves.size(); ++i) {
      const Move& m = out_.moves[i];
      if (!m.moves()) continue;
      end = std::max({end, m.transfer.chunk + m.transfer.count, m.transfer.into + m.transfer.count});
      all_said &= said_[i].has_value();
    }
    out_.frame.extra_chunks = end - map_.chunks;
    out_.channels = std::max(1, static_cast<int>(blocks_.size()));
    if (all_said) take_said_steps();
  }

  void take_said_steps() {
    out_.channels = 1;
    for (std::size_t i = 0; i < out_.moves.size(); ++i) {
      Move& m = out_.moves[i];
      if (!m.moves()) {
        m.channel = 0;
        continue;
      }
      m.channel = said_[i]->channel, m.step = said_[i]->step, m.position = said_[i]->position;
      out_.channels = std::max(out_.channels, m.channel + 1);
    }
  }

  // Transfers of a step are applied in the order of their numbers: when they are received, not when they are sent.
  void put_into_order() {
    std::vector<int> sorted(out_.moves.size());
    std::iota(sorted.begin(), sorted.end(), 0);
    const auto key = [&](int m) { return placed_at_[at(m)] == none ? static_cast<int>(events_.size()) : placed_at_[at(m)]; };
    std::ranges::stable_sort(sorted, {}, key);
    std::vector<int> number(sorted.size());
    std::vector<Move> moves;
    std::vector<int> events;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      number[at(sorted[i])] = static_cast<int>(i);
      moves.push_back(out_.moves[at(sorted[i])]);
      events.push_back(events_of_moves_[at(sorted[i])]);
    }
    for (MoveOrder& o : out_.orders) o.first = number[at(o.first)], o.second = number[at(o.second)];
    out_.moves = std::move(moves);
    events_of_moves_ = std::move(events);
  }

  const MscclppPlan& plan_;
  const BufferMap& map_;
  std::vector<PlanEvent> events_;
  std::vector<std::vector<StagedPart>> parts_;
  MoveProgram out_;
  std::vector<int> events_of_moves_, placed_at_;   // of each move: what it is named after, and where it is applied
  std::vector<std::optional<PlanPosition>> said_;  // of each move
  std::vector<int> point_of_;                      // of each event
  std::map<int, int> received_;                    // the move that an event receives
  std::vector<BlockState> blocks_;
  std::map<Cell, CellState> cells_;
};

}  // namespace

Schedule lowered(const MscclppPlan& plan, const BufferMap& map) { return Lowering(plan, map).schedule(); }

}  // namespace weft

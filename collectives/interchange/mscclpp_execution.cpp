#include "collectives/interchange/mscclpp_execution.hpp"

#include "collectives/interchange/vector_clocks.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/index.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

namespace weft {
namespace {

class Execution {
 public:
  Execution(const MscclppPlan& plan, const BufferMap& map)
      : plan_(plan),
        map_(map),
        memory_(static_cast<int>(plan.blocks.size())),
        next_(plan.blocks.size(), 0),
        began_(plan.blocks.size(), false),
        signals_(plan.ways.size()),
        semaphores_(plan.semaphores.size()),
        meetings_(plan.barriers.size()) {
    for (std::size_t s = 0; s < semaphores_.size(); ++s) semaphores_[s].value = plan.semaphores[s];
    count_releases();
  }

  std::vector<PlanEvent> run() {
    const int blocks = static_cast<int>(plan_.blocks.size());
    for (bool moved = true; moved;) {
      moved = false;
      for (int b = 0; b < blocks; ++b)
        while (next_[at(b)] < plan_.blocks[at(b)].operations.size() && advance(b)) moved = true;
    }
    refuse_deadlock();
    refuse_unawaited();
    return std::move(events_);
  }

 private:
  struct Released {
    int event = 0;
    Clock clock = {};
  };
  struct Semaphore {
    int value = 0, releasers = 0, releases = 0;
    std::vector<Released> released = {};
    std::map<int, int> acquired = {};  // by block
  };
  struct Meeting {
    std::vector<int> here = {};
  };

  const PlanOperation& current(int b) const { return plan_.blocks[at(b)].operations[next_[at(b)]]; }

  void count_releases() {
    for (const PlanBlock& block : plan_.blocks) {
      std::map<int, int> mine;
      for (const PlanOperation& operation : block.operations)
        if (operation.sync == PlanSync::release)
          for (const int id : operation.ids) ++mine[id];
      for (const auto& [id, releases] : mine) ++semaphores_[at(id)].releasers, semaphores_[at(id)].releases += releases;
    }
  }

  // Does the operation that the block is at; false where it must wait.
  bool advance(int b) {
    const PlanOperation& operation = current(b);
    if (!ready(b, operation)) return false;
    switch (operation.sync) {
      case PlanSync::wait:
        take_signals(b, operation);
        break;
      case PlanSync::acquire:
        acquire(b, operation);
        break;
      case PlanSync::barrier:
        return meet(b, operation.ids.front());
      default:
        for (const PlanSum& sum : operation.sums) move(b, sum);
        if (operation.sync != PlanSync::none) release(b, operation);
    }
    ++next_[at(b)];
    return true;
  }

  bool ready(int b, const PlanOperation& operation) {
    const auto all_have = [&](auto count_of) {
      return std::ranges::all_of(operation.ids, [&](int id) { return std::ranges::count(operation.ids, id) <= count_of(id); });
    };
    if (operation.sync == PlanSync::wait) return all_have([&](int way) { return std::ssize(signals_[at(way)]); });
    if (operation.sync == PlanSync::acquire) return all_have([&](int id) { return semaphores_[at(id)].value; });
    if (operation.sync == PlanSync::barrier) return !began_[at(b)];
    for (const PlanSum& sum : operation.sums)
      for (const PlanRange& source : sum.sources)
        for (int c = 0; source.packet && c < source.count; ++c)
          if (!memory_.packet_is_there({source.rank, chunk_of(source) + c})) return false;
    return true;
  }

  int chunk_of(const PlanRange& range) const { return map_.chunk(range.rank, range.buffer, range.first); }

  int add(int b, Transfer transfer, std::vector<int> waited = {}) {
    events_.push_back({b, static_cast<int>(next_[at(b)]), transfer, std::move(waited)});
    return static_cast<int>(events_.size()) - 1;
  }
  int add_point(int b, std::vector<int> waited = {}) { return add(b, {.count = 0}, std::move(waited)); }

  void release(int b, const PlanOperation& operation) {
    const Released released{add_point(b), memory_.release(b)};
    for (const int id : operation.ids)
      if (operation.sync == PlanSync::signal) {
        signals_[at(id)].push_back(released);
      } else {
        ++semaphores_[at(id)].value;
        semaphores_[at(id)].released.push_back(released);
      }
  }

  void take_signals(int b, const PlanOperation& operation) {
    std::vector<int> waited;
    for (const int way : operation.ids) {
      memory_.join(b, signals_[at(way)].front().clock);
      waited.push_back(signals_[at(way)].front().event);
      signals_[at(way)].pop_front();
    }
    add_point(b, std::move(waited));
  }

  // Behind which releases a thread block is for certain: with one that releases, behind as many as it has taken beyond the initial value;
  // with several, behind all of them once it has taken as many as there are.
  void acquire(int b, const PlanOperation& operation) {
    std::vector<int> waited;
    for (const int id : operation.ids) {
      Semaphore& semaphore = semaphores_[at(id)];
      --semaphore.value;
      const int behind = ++semaphore.acquired[b] - plan_.semaphores[at(id)];
      const bool all = behind >= semaphore.releases;
      if (behind <= 0 || (semaphore.releasers > 1 && !all)) continue;
      for (int i = all ? 0 : behind - 1; i < std::min(behind, semaphore.releases); ++i) {
        memory_.join(b, semaphore.released[at(i)].clock);
        waited.push_back(semaphore.released[at(i)].event);
      }
    }
    if (!waited.empty()) add_point(b, std::move(waited));
  }

  // The last that comes to a barrier lets all of them go on.
  bool meet(int b, int barrier) {
    Meeting& meeting = meetings_[at(barrier)];
    meeting.here.push_back(b);
    began_[at(b)] = true;
    if (static_cast<int>(meeting.here.size()) < plan_.barriers[at(barrier)]) return false;
    std::vector<Released> released;
    for (const int one : meeting.here) released.push_back({add_point(one), memory_.release(one)});
    for (const int one : meeting.here) {
      std::vector<int> waited;
      for (const Released& r : released) memory_.join(one, r.clock), waited.push_back(r.event);
      add_point(one, std::move(waited));
      began_[at(one)] = false;
      ++next_[at(one)];
    }
    meeting.here.clear();
    return true;
  }

  // The sum is made in the first result, which may be one of the sources, and goes from there to the others.
  void move(int b, const PlanSum& sum) {
    const PlanRange& first = sum.results.front();
    const auto same = [&](const PlanRange& s) { return s.rank == first.rank && chunk_of(s) == chunk_of(first); };
    const auto held = sum.sources.size() > 1 ? std::ranges::find_if(sum.sources, same) : sum.sources.end();
    if (sum.sources.size() == 1) {
      for (const PlanRange& result : sum.results) transfer(b, sum.sources.front(), result, false);
      return;
    }
    const auto begins = held != sum.sources.end() ? held : sum.sources.begin();
    refuse_overlaps(b, sum, begins);
    if (held == sum.sources.end()) transfer(b, *begins, first, false);
    for (auto source = sum.sources.begin(); source != sum.sources.end(); ++source)
      if (source != begins) transfer(b, *source, first, true);
    PlanRange made = first;
    made.packet = false;
    for (std::size_t i = 1; i < sum.results.size(); ++i) transfer(b, made, sum.results[i], false);
  }

  using Source = std::vector<PlanRange>::const_iterator;
  void refuse_overlaps(int b, const PlanSum& sum, Source begins) const {
    const int into = chunk_of(sum.results.front());
    for (auto source = sum.sources.begin(); source != sum.sources.end(); ++source) {
      const int from = chunk_of(*source);
      const bool apart = source->rank != sum.results.front().rank || from + source->count <= into || into + source->count <= from;
      if (!apart && source != begins) throw InputError(fmt::format("{} adds chunks to others that they overlap with", here(b)));
    }
  }

  void transfer(int b, const PlanRange& from, const PlanRange& to, bool reduces) {
    const Transfer t{from.rank, to.rank, chunk_of(from), from.count, chunk_of(to), reduces};
    if (t.from == t.to && t.chunk == t.into) return;
    const int event = add(b, t);
    for (int c = 0; c < t.count; ++c) {
      const Cell read{t.from, t.chunk + c}, written{t.to, t.into + c};
      if (from.packet && memory_.packet_is_there(read)) memory_.join(b, memory_.packet_clock(read));
      if (const int other = memory_.read(b, read, event); other >= 0) refuse_race(b, other, read, "reads", "writes");
      if (const int other = memory_.write(b, written, event); other >= 0) refuse_race(b, other, written, "writes", "touches");
    }
    if (!to.packet) return;
    const Clock clock = memory_.release(b);
    for (int c = 0; c < t.count; ++c) memory_.mark_packet({t.to, t.into + c}, clock);
  }

  [[noreturn]] void refuse_race(int b, int other, const Cell& cell, std::string_view does, std::string_view did) const {
    const PlanEvent& before = events_[at(other)];
    const auto [buffer, index] = map_.shown(cell.chunk);
    throw InputError(fmt::format("{} {} chunk {} of gpu {}'s {}, which {} {} too: nothing says which comes first", here(b), does, index,
                                 cell.rank, buffer, place_of(plan_, before.block, before.operation), did));
  }

  std::string here(int b) const { return place_of(plan_, b, static_cast<int>(next_[at(b)])); }

  void refuse_deadlock() const {
    std::vector<std::string> problems;
    for (int b = 0; b < static_cast<int>(plan_.blocks.size()) && problems.size() < 8; ++b)
      if (next_[at(b)] < plan_.blocks[at(b)].operations.size())
        problems.push_back(fmt::format("{} deadlocks: it waits for {}", here(b), awaited(current(b))));
    if (!problems.empty()) throw InputError(problems);
  }

  // A GPU's kernel ends with its thread blocks: what none of them has waited for may come into its buffers after that.
  void refuse_unawaited() const {
    std::map<Rank, std::vector<int>> blocks_of;
    for (int b = 0; b < static_cast<int>(plan_.blocks.size()); ++b) blocks_of[plan_.blocks[at(b)].gpu].push_back(b);
    std::vector<std::string> problems;
    std::set<Cell> seen;
    for (const PlanEvent& event : events_)
      for (int c = 0; c < event.transfer.count && problems.size() < 8; ++c) {
        const Cell cell{event.transfer.to, event.transfer.into + c};
        const auto [buffer, index] = map_.shown(cell.chunk);
        if (buffer == "scratch" || !seen.insert(cell).second) continue;
        if (const int writer = memory_.written_unseen(cell, blocks_of[cell.rank]); writer >= 0)
          problems.push_back(fmt::format("gpu {} ends without waiting for chunk {} of its {}, which {} writes", cell.rank, index, buffer,
                                         place_of(plan_, events_[at(writer)].block, events_[at(writer)].operation)));
      }
    if (!problems.empty()) throw InputError(problems);
  }

  std::string awaited(const PlanOperation& operation) const {
    if (operation.sync == PlanSync::barrier)
      return fmt::format("{} thread blocks at its barrier, and {} came", plan_.barriers[at(operation.ids.front())],
                         meetings_[at(operation.ids.front())].here.size());
    if (operation.sync == PlanSync::acquire) return "a semaphore that is not released";
    if (operation.sync == PlanSync::wait)
      for (const int way : operation.ids)
        if (std::ranges::count(operation.ids, way) > std::ssize(signals_[at(way)]))
          return fmt::format("a signal of gpu {}", plan_.ways[at(way)].from);
    return "packets that are not sent";
  }

  const MscclppPlan& plan_;
  const BufferMap& map_;
  SharedMemoryOrder memory_;
  std::vector<PlanEvent> events_;
  std::vector<std::size_t> next_;  // operation of each block
  std::vector<bool> began_;        // to wait at a barrier
  std::vector<std::deque<Released>> signals_;
  std::vector<Semaphore> semaphores_;
  std::vector<Meeting> meetings_;
};

}  // namespace

std::vector<PlanEvent> execute(const MscclppPlan& plan, const BufferMap& map) { return Execution(plan, map).run(); }

std::string place_of(const MscclppPlan& plan, int block, int operation) {
  const PlanBlock& b = plan.blocks[static_cast<std::size_t>(block)];
  return fmt::format("gpu {}, thread block {}, operation {} ({})", b.gpu, b.id, operation,
                     b.operations[static_cast<std::size_t>(operation)].name);
}

}  // namespace weft

#include "collectives/interchange/msccl_xml.hpp"

#include "collectives/interchange/moves.hpp"
#include "collectives/interchange/msccl_program.hpp"
#include "kernels/base/error.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace weft {
namespace {

constexpr int no_move = -1;

// The moves of one step of a thread block, by number.
struct StepMoves {
  int before = no_move;   // a copy that a received sum is added to
  int arrives = no_move;  // what is received
  int local = no_move;
  int leaves = no_move;  // what is sent
};

struct StepPlace {
  Rank rank = 0;
  const MscclBlock* block = nullptr;
  const MscclStep* step = nullptr;
  StepMoves* moves = nullptr;
};

class Ordering {
 public:
  Ordering(const MscclProgram& p, MemoryChoice choice) : program_(p), map_(p.map) { map_.choice = choice; }

  Schedule schedule() {
    out_.frame = {.name = program_.name, .collective = map_.collective, .ranks = map_.ranks, .chunks = map_.chunks, .root = program_.root};
    out_.channels = std::max(program_.channels, 1);
    out_.name = [&](int move) { return names_[static_cast<std::size_t>(move)]; };
    each_block([&](Rank rank, const MscclBlock& block, std::vector<StepMoves>& moves) { make_moves(rank, block, moves); });
    meet();
    each_block([&](Rank rank, const MscclBlock& block, std::vector<StepMoves>& moves) { order(rank, block, moves); });
    close();
    find_extra_chunks();
    return scheduled(out_);
  }

 private:
  template <class Visit>
  void each_block(Visit visit) {
    moves_.resize(program_.gpus.size());
    for (std::size_t g = 0; g < program_.gpus.size(); ++g) {
      const auto& blocks = program_.gpus[g].blocks;
      moves_[g].resize(blocks.size());
      for (std::size_t b = 0; b < blocks.size(); ++b) visit(static_cast<Rank>(g), blocks[b], moves_[g][b]);
    }
  }

  int chunk(Rank rank, const MscclPlace& place) const { return map_.chunk(rank, place.buffer, place.offset); }

  int add(Rank rank, const MscclBlock& block, const MscclStep& step, Transfer transfer) {
    out_.moves.push_back({.transfer = transfer, .channel = block.channel, .step = step.step, .position = step.position});
    names_.push_back(fmt::format("line {}: gpu {}, thread block {}, step {}", step.line, rank, block.id, step.number));
    return static_cast<int>(out_.moves.size()) - 1;
  }

  // Where a received sum is added: in the chunk itself, or aside of it where it is only passed on.
  int sum_chunk(Rank rank, const MscclStep& s) {
    if (s.stores) return chunk(rank, s.destination);
    const int source = chunk(rank, s.source);
    if (!map_.choice.sums_aside) return source;
    return map_.aside(source, uses_[{rank, source}]++);
  }

  void make_moves(Rank rank, const MscclBlock& block, std::vector<StepMoves>& all) {
    all.resize(block.steps.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const MscclStep& s = block.steps[i];
      StepMoves& m = all[i];
      int holds = no_move;  // the chunk that is sent
      if (s.sends && !s.receives) holds = chunk(rank, s.source);
      if (s.local) {
        const Transfer local{.from = rank,
                             .to = rank,
                             .chunk = chunk(rank, s.source),
                             .count = s.count,
                             .into = chunk(rank, s.destination),
                             .reduces = s.reduces};
        if (local.reduces || local.chunk != local.into) m.local = add(rank, block, s, local);
      }
      if (s.receives) {
        holds = s.reduces ? sum_chunk(rank, s) : chunk(rank, s.destination);
        if (s.reduces && holds != chunk(rank, s.source))
          m.before = add(rank, block, s, {.from = rank, .to = rank, .chunk = chunk(rank, s.source), .count = s.count, .into = holds});
        m.arrives =
            add(rank, block, s, {.from = block.receive, .to = rank, .chunk = 0, .count = s.count, .into = holds, .reduces = s.reduces});
        receives_[{block.receive, rank, block.channel}].push_back({rank, &block, &s, &m});
      }
      if (s.sends) {
        sources_[&s] = holds;
        sends_[{rank, block.send, block.channel}].push_back({rank, &block, &s, &m});
      }
    }
  }

  // The k-th send meets the k-th receive.
  void meet() {
    std::vector<std::string> problems;
    for (const auto& [way, sends] : sends_) {
      const auto& receives = receives_[way];
      const auto& [from, to, channel] = way;
      if (sends.size() != receives.size())
        problems.push_back(fmt::format("line {}: gpu {} sends {} times to gpu {} on channel {}, which receives {} times",
                                       sends.front().block->line, from, sends.size(), to, channel, receives.size()));
      for (std::size_t k = 0; k < std::min(sends.size(), receives.size()); ++k) match(sends[k], receives[k], problems);
    }
    for (const auto& [way, receives] : receives_)
      if (!sends_.contains(way))
        problems.push_back(fmt::format("line {}: gpu {} receives from gpu {} on channel {}, which sends nothing there",
                                       receives.front().block->line, std::get<1>(way), std::get<0>(way), std::get<2>(way)));
    if (!problems.empty()) throw InputError(problems);
  }

  void match(const StepPlace& send, const StepPlace& receive, std::vector<std::string>& problems) {
    if (send.step->count != receive.step->count)
      problems.push_back(fmt::format("line {}: sends {} chunks where line {} receives {}", send.step->line, send.step->count,
                                     receive.step->line, receive.step->count));
    if (!send.step->receives && send.step->step != receive.step->step)
      problems.push_back(fmt::format("line {}: is in step {} (weft) where line {} is in step {}", send.step->line, send.step->step,
                                     receive.step->line, receive.step->step));
    send.moves->leaves = receive.moves->arrives;
    out_.moves[static_cast<std::size_t>(receive.moves->arrives)].transfer.chunk = sources_.at(send.step);
  }

  void later(int first, int second, int gap) {
    if (first != no_move && second != no_move && first != second) out_.orders.push_back({first, second, gap});
  }

  // What the steps of a thread block must wait for, and the moves behind which a step of another block waits for this one's.
  struct Front {
    // A receive may be in the step of the send that it waits for, since a step reads before it writes; a send may not.
    struct Wait {
      int move, gap_of_receives, gap_of_sends;
    };
    std::vector<Wait> wait = {};
    int last_sent = no_move;
    std::size_t waited = 0;  // of `wait`, by the last send: what is sent after it need not wait again
    struct Touched {
      int written = no_move;
      std::vector<int> read = {};
    };
    std::unordered_map<int, Touched> chunks = {};
  };

  void touch(Front& front, int move, Rank rank) {
    const Transfer& t = out_.moves[static_cast<std::size_t>(move)].transfer;
    for (int c = 0; c < t.count; ++c) {
      if (t.from == rank) {
        auto& there = front.chunks[t.chunk + c];
        later(there.written, move, 1);
        there.read.push_back(move);
      }
      if (t.to == rank) {
        auto& there = front.chunks[t.into + c];
        later(there.written, move, 1);
        for (const int reader : there.read) later(reader, move, 0);
        there = {.written = move, .read = {}};
      }
    }
  }

  void order(Rank rank, const MscclBlock& block, const std::vector<StepMoves>& all) {
    Front front;
    const auto begin = [&](int move, std::size_t waited = 0) {
      const bool sends = out_.moves[static_cast<std::size_t>(move)].transfer.to != rank;
      for (std::size_t i = waited; i < front.wait.size(); ++i)
        later(front.wait[i].move, move, sends ? front.wait[i].gap_of_sends : front.wait[i].gap_of_receives);
      touch(front, move, rank);
    };
    const auto goes_on_behind = [&](int move, int gap) { front.wait = {{move, gap, gap}}, front.waited = 0; };
    for (std::size_t i = 0; i < all.size(); ++i) {
      const StepMoves& m = all[i];
      if (block.steps[i].wait_block >= 0) wait_for(rank, block.steps[i], front);
      if (m.before != no_move) begin_before(front, m);
      if (m.local != no_move) begin(m.local), goes_on_behind(m.local, 0);
      if (m.arrives != no_move) begin(m.arrives), goes_on_behind(m.arrives, 1);
      if (m.leaves == no_move) continue;
      begin(m.leaves, front.waited);
      later(front.last_sent, m.leaves, 1);
      front.last_sent = m.leaves;
      front.waited = front.wait.size();
    }
  }

  // The copy that a sum is added to, just before it: the same step will do.
  void begin_before(Front& front, const StepMoves& m) {
    for (const auto& wait : front.wait) later(wait.move, m.before, wait.gap_of_receives);
    const Transfer& t = out_.moves[static_cast<std::size_t>(m.before)].transfer;
    for (int c = 0; c < t.count; ++c) {
      later(front.chunks[t.chunk + c].written, m.before, 1);
      later(front.chunks[t.into + c].written, m.before, 1);
      for (const int reader : front.chunks[t.into + c].read) later(reader, m.before, 0);
      front.chunks[t.chunk + c].read.push_back(m.before);
    }
    later(m.before, m.arrives, 0);
  }

  void wait_for(Rank rank, const MscclStep& step, Front& front) {
    const auto& blocks = program_.gpus[static_cast<std::size_t>(rank)].blocks;
    const auto block = std::ranges::find(blocks, step.wait_block, &MscclBlock::id);
    const auto& moves = moves_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(block - blocks.begin())];
    int inward = no_move, outward = no_move;  // the last ones up to the step
    for (std::size_t i = 0; i < block->steps.size() && block->steps[i].number <= step.wait_step; ++i) {
      for (const int move : {moves[i].local, moves[i].arrives})
        if (move != no_move) inward = move;
      if (moves[i].leaves != no_move) outward = moves[i].leaves;
    }
    if (inward != no_move) front.wait.push_back({inward, 1, 1});
    if (outward != no_move) front.wait.push_back({outward, 0, 1});
  }

  // Where the output has space of its own, or a schedule leaves its result elsewhere.
  void close() {
    std::map<std::pair<Rank, int>, std::vector<std::pair<int, int>>> touches;  // move and gap
    for (int i = 0; i < static_cast<int>(out_.moves.size()); ++i) {
      const Transfer& t = out_.moves[static_cast<std::size_t>(i)].transfer;
      for (int c = 0; c < t.count; ++c) {
        touches[{t.from, t.chunk + c}].emplace_back(i, 0);
        touches[{t.to, t.into + c}].emplace_back(i, 1);
      }
    }
    for (Rank rank = 0; rank < map_.ranks; ++rank)
      for (const auto& [from, into] : map_.closing_copies(rank)) {
        const auto result = touches.find({rank, from});
        if (result == touches.end() && map_.collective != Collective::alltoall) continue;
        const int copy = static_cast<int>(out_.moves.size());
        int channel = 0;
        for (const int chunk : {from, into})
          if (const auto found = touches.find({rank, chunk}); found != touches.end())
            for (const auto& [move, gap] : found->second) {
              later(move, copy, gap);
              channel = out_.moves[static_cast<std::size_t>(move)].channel;
            }
        out_.moves.push_back({.transfer = {.from = rank, .to = rank, .chunk = from, .count = 1, .into = into}, .channel = channel});
        names_.push_back(fmt::format("line 1: the copy of gpu {}'s output", rank));
      }
  }

  void find_extra_chunks() {
    int end = map_.scratch_begin() + map_.scratch;
    for (const Move& m : out_.moves) end = std::max({end, m.transfer.chunk + m.transfer.count, m.transfer.into + m.transfer.count});
    out_.frame.extra_chunks = end - map_.chunks;
  }

  using Way = std::tuple<Rank, Rank, int>;  // from, to, channel

  const MscclProgram& program_;
  BufferMap map_;
  MoveProgram out_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::vector<StepMoves>>> moves_;  // by GPU, thread block, step
  std::map<Way, std::vector<StepPlace>> sends_, receives_;
  std::unordered_map<const MscclStep*, int> sources_;
  std::map<std::pair<Rank, int>, int> uses_;
};

}  // namespace

Schedule read_msccl_xml(std::string_view text) {
  const MscclProgram program = parse_msccl(text);
  std::vector<MemoryChoice> choices = {{}};
  if (program.passes_sums_on()) choices.push_back({.sums_aside = true});
  if (!program.map.in_place && program.map.collective != Collective::alltoall) choices.push_back({.own_output = true, .sums_aside = true});
  return first_proved(choices, [&](MemoryChoice choice) { return Ordering(program, choice).schedule(); });
}

}  // namespace weft

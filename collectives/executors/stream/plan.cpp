#include "collectives/executors/stream/plan.hpp"

#include "collectives/executors/blocking.hpp"
#include "collectives/schedule/overlaps.hpp"
#include "collectives/schedule/step_window.hpp"
#include "kernels/base/error.hpp"

#include <algorithm>
#include <deque>
#include <tuple>

namespace weft {
namespace {

using Kind = StreamOperation::Kind;
using Location = StreamOperation::Location;
using Carriage = StreamPlanSettings::Carriage;

// What is held aside lies as its destination does with respect to this, so that kernels find both aligned alike.
constexpr std::int64_t alignment = 256;

// A write of the step that waits for its turn.
struct Delayed {
  std::uint32_t transfer;
  Location from;
};

// One rank in one channel, in the present step.
struct Lane {
  Rank rank = 0;
  int channel = 0;
  int stream = 0;
  int aside = 0;  // its memory
  std::int64_t aside_used = 0;
  std::vector<Delayed> pending = {};
  int ready = -1;                                // event: what it sends in this step is there
  std::vector<std::pair<Rank, int>> taken = {};  // events: what it receives from that rank has been read
  int posted = -1;                               // mark: start of the step
  std::vector<const Transfer*> turned = {};      // what they write is in the other message of the rank from the next step on
};

bool overlap(int a, int b, const Transfer& written) { return a < written.into + written.count && written.into < b; }

class StreamPlanner {
 public:
  StreamPlanner(const Schedule& schedule, const StreamPlanSettings& settings)
      : schedule_(schedule),
        settings_(settings),
        buffer_{layout_of(schedule, settings.elements), settings.dtype, nullptr},
        channels_(static_cast<int>(schedule.channels.size())) {
    plan_.ranks = schedule.ranks;
    plan_.workers = schedule.workers();
    plan_.streams_per_rank = pulls() ? channels_ : 1;
    plan_.dtype = settings.dtype;
    plan_.op = settings.op == ReduceOp::avg ? ReduceOp::sum : settings.op;
    plan_.memories.assign(static_cast<std::size_t>(schedule.ranks * (2 + channels_)), 0);
    turned_by_.assign(static_cast<std::size_t>(schedule.ranks), {});
    for (auto& of_rank : turned_by_) of_rank.assign(static_cast<std::size_t>(schedule.all_chunks()), at_home);
    for (Rank r = 0; r < schedule.ranks; ++r) {
      plan_.memories[static_cast<std::size_t>(r)] = static_cast<std::int64_t>(buffer_bytes(schedule, settings.elements, settings.dtype));
      for (int c = 0; c < channels_; ++c)
        lanes_.push_back({.rank = r,
                          .channel = c,
                          .stream = r * plan_.streams_per_rank + (pulls() ? c : 0),
                          .aside = schedule.ranks + r * (1 + channels_) + c});
    }
    for (const Steps& channel : schedule.channels) windows_.emplace_back(channel, schedule.ranks);
  }

  StreamPlan plan() {
    for (step_ = 0; step_ < schedule_.steps(); ++step_) {
      for_lanes([&](Lane& lane) { bring_together(lane); });
      for_lanes([&](Lane& lane) { open(lane); });
      for_lanes([&](Lane& lane) { hold_locals(lane); });
      if (pulls())
        for_lanes([&](Lane& lane) { pull(lane); });
      else
        exchange();
      for_lanes([&](Lane& lane) { close(lane); });
      for (Lane& lane : lanes_) turn(lane);
      for (StepWindow& w : windows_)
        if (step_ < w.count())
          for (Rank r = 0; r < schedule_.ranks; ++r) w.leave(step_);
    }
    for (Rank r = 0; r < schedule_.ranks; ++r) bring_home(r, 0, schedule_.all_chunks());
    if (settings_.op == ReduceOp::avg)
      for (Rank r = 0; r < schedule_.ranks; ++r) divide(r);
    return std::move(plan_);
  }

 private:
  bool pulls() const { return settings_.carriage == Carriage::pull; }
  Lane& lane(Rank r, int channel) { return lanes_[static_cast<std::size_t>(r * channels_ + channel)]; }
  IndexedStep& step_of(int channel) { return windows_[static_cast<std::size_t>(channel)].at(step_); }
  const Transfer& transfer(const Lane& lane, std::uint32_t i) { return step_of(lane.channel).transfers()[i]; }
  std::span<const std::uint32_t> sends(const Lane& l) { return step_of(l.channel).shape->sends_of(l.rank); }
  std::span<const std::uint32_t> receives(const Lane& l) { return step_of(l.channel).shape->receives_of(l.rank); }
  std::span<const std::uint32_t> locals(const Lane& l) { return step_of(l.channel).shape->locals_of(l.rank); }

  // Those that do something in this step.
  template <class Do>
  void for_lanes(Do what) {
    for (Lane& lane : lanes_)
      if (step_ < windows_[static_cast<std::size_t>(lane.channel)].count() &&
          !(sends(lane).empty() && receives(lane).empty() && locals(lane).empty()))
        what(lane);
  }

  std::int64_t bytes(const Transfer& t) const {
    const auto read = buffer_.chunks(t.chunk, t.count).size(), written = buffer_.chunks(t.into, t.count).size();
    check(read == written, "{}: sends {} bytes to where {} belong", to_string(t), read, written);
    return static_cast<std::int64_t>(read);
  }
  // Chunks that one transfer moves are in the same message.
  Location location(Rank r, int chunk) const { return location(r, chunk, turned_by(r, chunk) != at_home); }
  Location location(Rank r, int chunk, bool turned) const {
    const std::int64_t offset = buffer_.layout.begin(chunk) * static_cast<std::int64_t>(size_of(settings_.dtype));
    return {turned ? schedule_.ranks + r * (1 + channels_) + channels_ : r, offset};
  }
  int turned_by(Rank r, int chunk) const { return turned_by_[static_cast<std::size_t>(r)][static_cast<std::size_t>(chunk)]; }
  Location source(const Transfer& t) const { return location(t.from, t.chunk); }
  Location destination(const Transfer& t) const { return location(t.to, t.into); }

  Location take_aside(Lane& lane, const Transfer& t) {
    const std::int64_t offset = lane.aside_used + destination(t).offset % alignment;
    lane.aside_used = (offset + bytes(t) + alignment - 1) / alignment * alignment;
    std::int64_t& room = plan_.memories[static_cast<std::size_t>(lane.aside)];
    room = std::max(room, lane.aside_used);
    return {lane.aside, offset};
  }

  void move(Kind kind, const Lane& lane, const Transfer& t, Location from, Location into) {
    if (bytes(t) > 0) plan_.operations.push_back({.kind = kind, .stream = lane.stream, .bytes = bytes(t), .from = from, .into = into});
  }
  int record(int stream) {
    plan_.operations.push_back({.kind = Kind::record, .stream = stream, .event = plan_.events});
    return plan_.events++;
  }
  void wait(int stream, int event) { plan_.operations.push_back({.kind = Kind::wait, .stream = stream, .event = event}); }
  int mark(const Lane& lane) {
    if (!settings_.marks) return -1;
    plan_.operations.push_back({.kind = Kind::mark, .stream = lane.stream, .event = plan_.marks});
    return plan_.marks++;
  }

  // A transfer reads and writes in one message each: where its chunks are in both, they come home.
  void bring_together(const Lane& lane) {
    const auto mixed = [&](Rank r, int first, int count) {
      for (int c = first + 1; c < first + count; ++c)
        if ((turned_by(r, c) != at_home) != (turned_by(r, first) != at_home)) return true;
      return false;
    };
    const auto settle = [&](std::uint32_t i) {
      const Transfer& t = transfer(lane, i);
      if (t.from == lane.rank && mixed(lane.rank, t.chunk, t.count)) bring_home(lane.rank, t.chunk, t.chunk + t.count);
      if (t.to == lane.rank && mixed(lane.rank, t.into, t.count)) bring_home(lane.rank, t.into, t.into + t.count);
    };
    for (const auto i : sends(lane)) settle(i);
    for (const auto i : receives(lane)) settle(i);
    for (const auto i : locals(lane)) settle(i);
  }
  void bring_home(Rank r, int first, int end) {
    for (int c = first; c < end; ++c) {
      const int channel = turned_by(r, c);
      if (channel == at_home) continue;
      const auto size = static_cast<std::int64_t>(buffer_.chunks(c, 1).size());
      if (size > 0)
        plan_.operations.push_back({.kind = Kind::copy,
                                    .stream = lane(r, channel).stream,
                                    .bytes = size,
                                    .from = location(r, c, true),
                                    .into = location(r, c, false)});
      turned_by_[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)] = at_home;
    }
  }
  // What was written to the other message in this step is there from the next one on.
  void turn(Lane& lane) {
    for (const Transfer* t : lane.turned)
      for (int c = t->into; c < t->into + t->count; ++c) {
        int& by = turned_by_[static_cast<std::size_t>(lane.rank)][static_cast<std::size_t>(c)];
        by = by == at_home ? lane.channel : at_home;
      }
    lane.turned.clear();
  }

  void open(Lane& lane) {
    lane.aside_used = 0;
    lane.pending.clear();
    lane.taken.clear();
    lane.posted = mark(lane);
    if (pulls() && !sends(lane).empty()) lane.ready = record(lane.stream);
  }

  void hold_locals(Lane& lane) {
    overlaps_.find(step_of(lane.channel).transfers(), sends(lane), receives(lane), locals(lane));
    for (const auto i : locals(lane)) {
      const Transfer& t = transfer(lane, i);
      Location from = source(t);
      if (!overlaps_.reads_alone(i)) {
        from = take_aside(lane, t);
        move(Kind::copy, lane, t, source(t), from);
      }
      lane.pending.push_back({i, from});
    }
  }

  // Every rank starts with its left neighbour, so that not all read the same memory at once.
  void pull(Lane& lane) {
    overlaps_.find(step_of(lane.channel).transfers(), sends(lane), receives(lane), locals(lane));
    const std::vector<std::vector<std::uint32_t>> sums = sums_of_many(lane);
    std::vector<std::uint32_t> order;
    for (const auto i : receives(lane)) {
      const bool in_sum = std::ranges::any_of(sums, [&](const auto& sum) { return std::ranges::binary_search(sum, i); });
      if (!in_sum || !reads(transfer(lane, i))) order.push_back(i);
    }
    const auto distance = [&](std::uint32_t i) { return mod(lane.rank - transfer(lane, i).from, schedule_.ranks); };
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return distance(a) < distance(b); });
    for (std::size_t k = 0; k < order.size(); ++k) {
      const Transfer& t = transfer(lane, order[k]);
      if (k == 0 || transfer(lane, order[k - 1]).from != t.from) wait(lane.stream, this->lane(t.from, lane.channel).ready);
      pull(lane, order[k], t);
      if (k + 1 == order.size() || transfer(lane, order[k + 1]).from != t.from) lane.taken.emplace_back(t.from, record(lane.stream));
    }
    for (const auto& sum : sums) pull_sum(lane, sum);
  }
  void pull(Lane& lane, std::uint32_t i, const Transfer& t) {
    if (overlaps_.writes_alone(i) && (!t.reduces || reads(t)))
      return move(t.reduces ? Kind::reduce : Kind::copy, lane, t, source(t), destination(t));
    if (t.reduces && reads(t) && only_sends_touch(lane, t, 1)) return reduce_across(lane, t);
    const Location aside = take_aside(lane, t);
    move(Kind::copy, lane, t, source(t), aside);
    lane.pending.push_back({i, aside});
  }

  bool reads(const Transfer& t) const { return !settings_.reads || settings_.reads(t.to, t.from); }

  // Whether so many receives write exactly the chunks that this one does, and beside them nothing of the step but sends touches any.
  bool only_sends_touch(const Lane& lane, const Transfer& t, int receives_of_these) {
    for (const auto i : receives(lane)) {
      const Transfer& other = transfer(lane, i);
      if (!overlap(other.into, other.into + other.count, t)) continue;
      if (!other.reduces || other.into != t.into || other.count != t.count || --receives_of_these < 0) return false;
    }
    return std::ranges::none_of(locals(lane), [&](std::uint32_t i) {
      const Transfer& local = transfer(lane, i);
      return overlap(local.chunk, local.chunk + local.count, t) || overlap(local.into, local.into + local.count, t);
    });
  }

  // Of the receives those that are summed into the same chunks, which the step does not touch otherwise: one pass over all of them.
  std::vector<std::vector<std::uint32_t>> sums_of_many(const Lane& lane) {
    std::vector<std::uint32_t> shared;
    for (const auto i : receives(lane))
      if (transfer(lane, i).reduces && !overlaps_.writes_alone(i) && bytes(transfer(lane, i)) > 0) shared.push_back(i);
    const auto chunks = [&](std::uint32_t i) { return std::tuple(transfer(lane, i).into, transfer(lane, i).count); };
    std::ranges::sort(shared, [&](auto a, auto b) { return std::tuple(chunks(a), a) < std::tuple(chunks(b), b); });
    std::vector<std::vector<std::uint32_t>> sums;
    for (std::size_t begin = 0, end = 0; begin < shared.size(); begin = end) {
      while (end < shared.size() && chunks(shared[end]) == chunks(shared[begin])) ++end;
      const Transfer& t = transfer(lane, shared[begin]);
      const bool sent = std::ranges::any_of(sends(lane), [&](std::uint32_t i) {
        const Transfer& send = transfer(lane, i);
        return overlap(send.chunk, send.chunk + send.count, t);
      });
      const int many = static_cast<int>(end - begin);
      if (many > 1 && !sent && only_sends_touch(lane, t, many))
        sums.emplace_back(shared.begin() + static_cast<std::ptrdiff_t>(begin), shared.begin() + static_cast<std::ptrdiff_t>(end));
    }
    return sums;
  }
  // What cannot be read was copied aside before.
  void pull_sum(Lane& lane, const std::vector<std::uint32_t>& sum) {
    const Transfer& first = transfer(lane, sum.front());
    std::vector<Location> sources = {destination(first)};
    std::vector<Rank> readable;
    for (const auto i : sum) {
      const Transfer& t = transfer(lane, i);
      const auto held = std::ranges::find(lane.pending, i, &Delayed::transfer);
      sources.push_back(held == lane.pending.end() ? source(t) : held->from);
      if (held != lane.pending.end())
        lane.pending.erase(held);
      else if (std::ranges::find(readable, t.from) == readable.end())
        readable.push_back(t.from);
    }
    for (const Rank from : readable) wait(lane.stream, this->lane(from, lane.channel).ready);
    reduce_many(lane, bytes(first), std::move(sources), destination(first));
    for (const Rank from : readable) lane.taken.emplace_back(from, record(lane.stream));
  }
  // While others still read what it reduces into: into the other message.
  void reduce_across(Lane& lane, const Transfer& t) {
    if (bytes(t) == 0) return;
    const Location own = destination(t), other = location(t.to, t.into, turned_by(t.to, t.into) == at_home);
    std::int64_t& room = plan_.memories[static_cast<std::size_t>(other.memory)];
    room = std::max(room, other.offset + bytes(t));
    reduce_many(lane, bytes(t), {own, source(t)}, other);
    lane.turned.push_back(&t);
  }
  void reduce_many(const Lane& lane, std::int64_t size, const std::vector<Location>& sources, Location into) {
    plan_.operations.push_back({.kind = Kind::reduce_many,
                                .stream = lane.stream,
                                .bytes = size,
                                .into = into,
                                .first_source = static_cast<int>(plan_.sources.size()),
                                .sources = static_cast<int>(sources.size())});
    plan_.sources.insert(plan_.sources.end(), sources.begin(), sources.end());
  }

  // The messages of a step of all channels, both ends of each.
  void exchange() {
    std::vector<StreamOperation> group;
    for (int c = 0; c < channels_; ++c) {
      if (step_ >= windows_[static_cast<std::size_t>(c)].count()) continue;
      const auto into = places(c);
      const auto transfers = step_of(c).transfers();
      for (std::size_t i = 0; i < transfers.size(); ++i) {
        const Transfer& t = transfers[i];
        if (t.from == t.to || bytes(t) == 0) continue;
        group.push_back({.kind = Kind::send, .stream = lane(t.from, c).stream, .bytes = bytes(t), .from = source(t), .peer = t.to});
        group.push_back({.kind = Kind::receive, .stream = lane(t.to, c).stream, .bytes = bytes(t), .into = into[i], .peer = t.from});
      }
    }
    if (group.empty()) return;
    plan_.operations.push_back({.kind = Kind::begin_group});
    plan_.operations.insert(plan_.operations.end(), group.begin(), group.end());
    plan_.operations.push_back({.kind = Kind::end_group});
  }
  // Where each transfer of the channel's step arrives.
  std::vector<Location> places(int channel) {
    std::vector<Location> into(step_of(channel).transfers().size());
    for_lanes([&](Lane& lane) {
      if (lane.channel != channel) return;
      overlaps_.find(step_of(channel).transfers(), sends(lane), receives(lane), locals(lane));
      for (const auto i : receives(lane)) {
        const Transfer& t = transfer(lane, i);
        const bool at_once = !t.reduces && overlaps_.writes_alone(i);
        into[i] = at_once ? destination(t) : take_aside(lane, t);
        if (!at_once) lane.pending.push_back({i, into[i]});
      }
    });
    return into;
  }

  void close(Lane& lane) {
    if (pulls()) wait_for_readers(lane);
    int done = mark(lane);
    note_messages(lane, done);
    std::sort(lane.pending.begin(), lane.pending.end(), [](const Delayed& a, const Delayed& b) { return a.transfer < b.transfer; });
    std::vector<bool> written(lane.pending.size());
    for (std::size_t k = 0; k < lane.pending.size(); ++k) {
      if (written[k]) continue;
      const Transfer& t = transfer(lane, lane.pending[k].transfer);
      std::vector<Location> sources = {destination(t), lane.pending[k].from};
      for (const std::size_t other : same_sum(lane, k)) {
        written[other] = true;
        sources.push_back(lane.pending[other].from);
      }
      const auto summed = static_cast<std::int64_t>(sources.size() - 1) * bytes(t);
      if (sources.size() == 2)
        move(t.reduces ? Kind::reduce : Kind::copy, lane, t, sources.back(), destination(t));
      else if (bytes(t) > 0)
        reduce_many(lane, bytes(t), sources, destination(t));
      if (!settings_.marks || !t.reduces) continue;
      const int start = std::exchange(done, mark(lane));
      note(lane, {.what = MarkedOperation::What::reduce, .peer = lane.rank, .bytes = summed, .start = start, .end = done});
    }
  }
  // The pending reductions behind this one that go into the same chunks, with nothing in between that does something else there.
  std::vector<std::size_t> same_sum(const Lane& lane, std::size_t first) {
    const Transfer& t = transfer(lane, lane.pending[first].transfer);
    std::vector<std::size_t> found;
    for (std::size_t k = first + 1; t.reduces && k < lane.pending.size(); ++k) {
      const Transfer& other = transfer(lane, lane.pending[k].transfer);
      if (other.reduces && other.into == t.into && other.count == t.count)
        found.push_back(k);
      else if (overlap(other.into, other.into + other.count, t))
        break;
    }
    return found;
  }

  void wait_for_readers(Lane& lane) {
    std::vector<Rank> readers;
    for (const auto i : sends(lane)) {
      const Rank to = transfer(lane, i).to;
      if (std::find(readers.begin(), readers.end(), to) != readers.end()) continue;
      readers.push_back(to);
      for (const auto& [from, event] : this->lane(to, lane.channel).taken)
        if (from == lane.rank) wait(lane.stream, event);
    }
  }

  void note_messages(const Lane& lane, int done) {
    if (!settings_.marks) return;
    const auto is_pending = [&](std::uint32_t i) {
      return std::any_of(lane.pending.begin(), lane.pending.end(), [&](const Delayed& p) { return p.transfer == i; });
    };
    using What = MarkedOperation::What;
    const auto add = [&](What what, Rank peer, std::uint32_t i) {
      note(lane, {.what = what,
                  .peer = peer,
                  .message = static_cast<int>(i),
                  .bytes = bytes(transfer(lane, i)),
                  .start = lane.posted,
                  .end = done});
    };
    for (const auto i : receives(lane))
      add(transfer(lane, i).reduces && !is_pending(i) ? What::receive_reduce : What::receive, transfer(lane, i).from, i);
    for (const auto i : sends(lane)) add(What::send, transfer(lane, i).to, i);
  }
  void note(const Lane& lane, MarkedOperation m) {
    m.rank = lane.rank;
    m.channel = lane.channel;
    m.step = step_;
    plan_.marked.push_back(m);
  }

  void divide(Rank r) {
    const auto [first, end] = averaged_chunks(schedule_, r);
    const std::int64_t length = static_cast<std::int64_t>(buffer_.chunks(first, end - first).size());
    if (length == 0) return;
    const int stream = r * plan_.streams_per_rank;
    for (int s = stream + 1; s < stream + plan_.streams_per_rank; ++s) wait(stream, record(s));
    plan_.operations.push_back({.kind = Kind::divide, .stream = stream, .bytes = length, .into = location(r, first)});
  }

  const Schedule& schedule_;
  const StreamPlanSettings& settings_;
  const Buffer buffer_;  // sizes only
  const int channels_;
  StreamPlan plan_;
  std::vector<Lane> lanes_;
  std::deque<StepWindow> windows_;
  Overlaps overlaps_;
  static constexpr int at_home = -1;
  std::vector<std::vector<int>> turned_by_;  // of each rank and chunk: the channel that wrote it to the other message, or at_home
  int step_ = 0;
};

}  // namespace

StreamPlan plan_streams(const Schedule& schedule, const StreamPlanSettings& settings) { return StreamPlanner(schedule, settings).plan(); }

}  // namespace weft

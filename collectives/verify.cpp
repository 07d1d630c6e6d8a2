#include "collectives/verify.hpp"

#include "collectives/conditions.hpp"
#include "collectives/share_trace.hpp"

#include <optional>

#include <fmt/format.h>

namespace weft {

namespace {

constexpr std::size_t most_problems = 8;

// A sum of shares: for each share two random numbers that stand for it. All zero is "nothing".
struct Fingerprint {
  std::uint64_t low = 0, high = 0;
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
  Fingerprint& operator+=(const Fingerprint& other) { return low += other.low, high += other.high, *this; }
  bool empty() const { return low == 0 && high == 0; }
};

// SplitMix64 (Steele, Lea & Flood 2014).
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The fingerprint of each rank's share of each chunk: products of a random number of the rank and one of the chunk, so that
// the sum over all ranks is a product too.
class Shares {
 public:
  explicit Shares(const Schedule& s) {
    for (int r = 0; r < s.ranks; ++r) {
      of_rank_.push_back(numbers(0, r));
      everyone_ += of_rank_.back();
    }
    for (int c = 0; c < s.chunks; ++c) of_chunk_.push_back(numbers(1, c));
  }

  Fingerprint operator()(Rank rank, int chunk) const {
    const Fingerprint& r = rank == Content::everyone ? everyone_ : of_rank_[static_cast<std::size_t>(rank)];
    const Fingerprint& c = of_chunk_[static_cast<std::size_t>(chunk)];
    return {r.low * c.low, r.high * c.high};
  }

 private:
  static Fingerprint numbers(std::uint64_t kind, int i) {
    const std::uint64_t id = kind << 32 | static_cast<std::uint32_t>(i);
    return {mixed(id) | 1, mixed(~id) | 1};  // odd: no product loses bits
  }

  std::vector<Fingerprint> of_rank_, of_chunk_;
  Fingerprint everyone_;
};

struct Cell {
  Fingerprint holds;
  int written = 0;   // 2 * step + 1 after an addition in that step, 2 * step + 2 after a copy
  int channel = -1;  // the one that touches it
};

class Walk {
 public:
  explicit Walk(const Schedule& schedule) : schedule_(schedule), total_chunks_(schedule.chunks + schedule.extra_chunks), share_(schedule) {
    cells_.resize(static_cast<std::size_t>(schedule.ranks) * static_cast<std::size_t>(total_chunks_));
    for (int r = 0; r < schedule.ranks; ++r)
      for (int c = 0; c < schedule.chunks; ++c)
        if (holds_at_start(schedule, r, c)) cell(r, c).holds = share_(r, c);
  }

  std::vector<std::string> run() {
    Step step;
    for (channel_ = 0; channel_ < schedule_.channels.size(); ++channel_) {
      const Steps& steps = schedule_.channels[channel_];
      for (step_ = 0; step_ < steps.count() && problems_.size() < most_problems; ++step_) {
        steps.produce(step_, step);
        if (well_formed(step)) apply(step);
      }
    }
    if (problems_.empty()) check_end();
    return problems_;
  }

 private:
  Cell& cell(Rank rank, int chunk) {
    return cells_[static_cast<std::size_t>(rank) * static_cast<std::size_t>(total_chunks_) + static_cast<std::size_t>(chunk)];
  }

  template <class... Args>
  void report(const Transfer& t, fmt::format_string<Args...> what, Args&&... args) {
    if (problems_.size() >= most_problems) return;
    problems_.push_back(place_of(schedule_, channel_, step_, t) + " " + fmt::format(what, std::forward<Args>(args)...));
  }

  bool well_formed(const Step& step) {
    const std::size_t before = problems_.size();
    for (const Transfer& t : step.transfers()) {
      if (t.from < 0 || t.from >= schedule_.ranks || t.to < 0 || t.to >= schedule_.ranks)
        report(t, "is not between ranks 0..{}", schedule_.ranks - 1);
      else if (t.count < 1)
        report(t, "moves {} chunks", t.count);
      else if (t.chunk < 0 || t.into < 0 || t.count > total_chunks_ || t.chunk > total_chunks_ - t.count ||
               t.into > total_chunks_ - t.count)
        report(t, "moves chunks {} + {} to {}, but there are {}", t.chunk, t.count, t.into, total_chunks_);
    }
    return problems_.size() == before;
  }

  void touch(const Transfer& t, Cell& c, Rank rank, int chunk) {
    const int channel = static_cast<int>(channel_);
    if (c.channel == -1) c.channel = channel;
    if (c.channel != channel) report(t, "touches rank {}'s chunk {}, which channel {} uses too", rank, chunk, c.channel);
  }

  // All reads, then all writes in the order of the step.
  void apply(const Step& step) {
    const bool several_channels = schedule_.channels.size() > 1;
    const bool carries_data = schedule_.collective != Collective::barrier;
    read_.clear();
    for (const Transfer& t : step.transfers()) {
      Cell* const first = &cell(t.from, t.chunk);
      for (int i = 0; i < t.count; ++i) {
        Cell& c = first[i];
        if (several_channels) touch(t, c, t.from, t.chunk + i);
        if (c.holds.empty() && carries_data) report(t, "sends chunk {}, which rank {} never held", t.chunk + i, t.from);
        read_.push_back(c.holds);
      }
    }
    const Fingerprint* value = read_.data();
    for (const Transfer& t : step.transfers()) {
      Cell* const first = &cell(t.to, t.into);
      for (int i = 0; i < t.count; ++i) {
        if (several_channels) touch(t, first[i], t.to, t.into + i);
        write(t, first[i], t.into + i, *value++);
      }
    }
  }

  void write(const Transfer& t, Cell& c, int chunk, const Fingerprint& value) {
    const int added = 2 * step_ + 1, copied = 2 * step_ + 2;
    if (c.written == copied || (c.written == added && !t.reduces)) [[unlikely]]
      report(t, "{} chunk {}, which the same step {} too: the order is open", t.reduces ? "adds to" : "overwrites", chunk,
             c.written == copied ? "overwrites" : "adds to");
    c.written = t.reduces ? added : copied;
    if (!t.reduces) {
      c.holds = value;
    } else {
      if (c.holds.empty()) [[unlikely]]
        report(t, "adds to chunk {}, which rank {} never held", chunk, t.to);
      c.holds += value;
    }
  }

  // Compares every chunk with what is due, and says why the first wrong one is wrong.
  void check_end() {
    if (schedule_.collective == Collective::barrier) {
      if (std::string problem = explain_barrier(schedule_); !problem.empty()) problems_.push_back(problem);
      return;
    }
    std::int64_t wrong = 0;
    for (int r = 0; r < schedule_.ranks; ++r)
      for (int c = 0; c < total_chunks_; ++c) {
        const std::optional<Content> due = due_at_end(schedule_, r, c);
        if (!due) continue;
        if (cell(r, c).holds == share_(due->whose, due->chunk)) continue;
        if (wrong++ == 0) problems_.push_back(explain_wrong_chunk(schedule_, r, c, *due));
      }
    if (wrong > 1) problems_.push_back(fmt::format("after the last step {} chunks are wrong in all", wrong));
  }

  const Schedule& schedule_;
  const int total_chunks_;
  const Shares share_;
  std::vector<Cell> cells_;
  std::vector<Fingerprint> read_;
  std::vector<std::string> problems_;
  std::size_t channel_ = 0;
  int step_ = 0;
};

// What must hold before the schedule can be walked at all.
std::vector<std::string> check_frame(const Schedule& s) {
  std::vector<std::string> problems;
  if (s.ranks < 1) problems.push_back(fmt::format("a schedule of {} ranks", s.ranks));
  if (s.chunks < 1 || s.extra_chunks < 0) problems.push_back(fmt::format("a message of {} + {} extra chunks", s.chunks, s.extra_chunks));
  if (s.channels.empty()) problems.push_back("a schedule without channels");
  if (s.root < 0 || s.root >= s.ranks) problems.push_back(fmt::format("root {} is not one of {} ranks", s.root, s.ranks));
  if (!problems.empty()) return problems;
  if (s.collective == Collective::alltoall && s.chunks % s.ranks != 0)
    problems.push_back(fmt::format("an alltoall of {} chunks, which {} ranks do not divide", s.chunks, s.ranks));
  else if (s.collective == Collective::alltoall && s.extra_chunks < s.chunks)
    problems.push_back(fmt::format("an alltoall with {} extra chunks for {} to be received", s.extra_chunks, s.chunks));
  if (s.collective == Collective::barrier && s.channels.size() > 1)
    problems.push_back(fmt::format("a barrier of {} channels", s.channels.size()));
  return problems;
}

}  // namespace

std::vector<std::string> verify(const Schedule& schedule) {
  std::vector<std::string> problems = check_frame(schedule);
  return problems.empty() ? Walk(schedule).run() : problems;
}

}  // namespace weft

#include "collectives/verify.hpp"

#include "collectives/conditions.hpp"
#include "collectives/share_trace.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/hash.hpp"

#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace weft {

namespace {

constexpr std::size_t most_problems = 8;
constexpr std::size_t most_cells = std::size_t{1} << 27;  // 3 GiB of them

int all_chunks(const Schedule& s) { return s.chunks + s.extra_chunks; }

bool in_range(const Schedule& s, const Transfer& t) {
  const int total = all_chunks(s);
  return t.from >= 0 && t.from < s.ranks && t.to >= 0 && t.to < s.ranks && t.count >= 1 && t.count <= total && t.chunk >= 0 &&
         t.chunk <= total - t.count && t.into >= 0 && t.into <= total - t.count;
}

// A sum of shares: for each share two random numbers that stand for it. All zero is "nothing".
struct Fingerprint {
  std::uint64_t low = 0, high = 0;
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
  Fingerprint& operator+=(const Fingerprint& other) { return low += other.low, high += other.high, *this; }
  bool empty() const { return low == 0 && high == 0; }
};

// The fingerprint of each rank's share of each chunk: products of a random number of the rank and one of the chunk, so that
// the sum over all workers is a product too.
class Shares {
 public:
  explicit Shares(const Schedule& s) {
    for (int r = 0; r < s.ranks; ++r) {
      of_rank_.push_back(numbers(0, r));
      if (r < s.workers()) everyone_ += of_rank_.back();
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
    return {mixed(golden_ratio + id) | 1, mixed(golden_ratio + ~id) | 1};  // odd: no product loses bits
  }

  std::vector<Fingerprint> of_rank_, of_chunk_;
  Fingerprint everyone_;
};

// What went wrong in all walks over a schedule.
struct Findings {
  std::vector<std::string> problems;
  std::int64_t wrong_chunks = 0;
  bool enough() const { return problems.size() >= most_problems; }
};

// Some channels of a schedule and the chunks that they touch, in ascending order.
struct Part {
  std::size_t first_channel = 0, last_channel = 0;  // [first, last)
  std::vector<int> chunks;
};

struct Cell {
  Fingerprint holds;
  int written = 0;   // 2 * step + 1 after an addition in that step, 2 * step + 2 after a copy
  int channel = -1;  // the one that touches it
};

class Walk {
 public:
  Walk(const Schedule& schedule, const Part& part, const Shares& share, Findings& findings)
      : schedule_(schedule), part_(part), share_(share), findings_(findings) {
    slot_of_.resize(static_cast<std::size_t>(all_chunks(schedule)), -1);
    for (std::size_t i = 0; i < part.chunks.size(); ++i) slot_of_[static_cast<std::size_t>(part.chunks[i])] = static_cast<int>(i);
    cells_.resize(static_cast<std::size_t>(schedule.ranks) * part.chunks.size());
    for (int r = 0; r < schedule.ranks; ++r)
      for (const int c : part.chunks)
        if (holds_at_start(schedule, r, c)) cell(r, c).holds = share_(r, c);
  }

  void run() {
    Step step;
    for (channel_ = part_.first_channel; channel_ < part_.last_channel; ++channel_) {
      const Steps& steps = schedule_.channels[channel_];
      for (step_ = 0; step_ < steps.count() && !findings_.enough(); ++step_) {
        steps.produce(step_, step);
        if (well_formed(step)) apply(step);
      }
    }
    if (findings_.problems.empty() || findings_.wrong_chunks > 0) check_end();
  }

 private:
  // Neighbouring chunks have neighbouring cells: a range of them is touched as a whole or not at all.
  Cell& cell(Rank rank, int chunk) {
    return cells_[static_cast<std::size_t>(rank) * part_.chunks.size() +
                  static_cast<std::size_t>(slot_of_[static_cast<std::size_t>(chunk)])];
  }

  template <class... Args>
  void report(const Transfer& t, fmt::format_string<Args...> what, Args&&... args) {
    if (findings_.enough()) return;
    findings_.problems.push_back(place_of(schedule_, channel_, step_, t) + " " + fmt::format(what, std::forward<Args>(args)...));
  }

  bool well_formed(const Step& step) {
    const int total = all_chunks(schedule_);
    bool all_well = true;
    for (const Transfer& t : step.transfers()) {
      if (in_range(schedule_, t)) continue;
      all_well = false;
      if (t.from < 0 || t.from >= schedule_.ranks || t.to < 0 || t.to >= schedule_.ranks)
        report(t, "is not between ranks 0..{}", schedule_.ranks - 1);
      else if (t.count < 1)
        report(t, "moves {} chunks", t.count);
      else
        report(t, "moves chunks {} + {} to {}, but there are {}", t.chunk, t.count, t.into, total);
    }
    return all_well;
  }

  void touch(const Transfer& t, Cell& c, Rank rank, int chunk) {
    const int channel = static_cast<int>(channel_);
    if (c.channel == -1) c.channel = channel;
    if (c.channel != channel) report(t, "touches rank {}'s chunk {}, which channel {} uses too", rank, chunk, c.channel);
  }

  // All reads, then all writes in the order of the step.
  void apply(const Step& step) {
    const bool several_channels = part_.last_channel - part_.first_channel > 1;
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
    if (!t.reduces && (c.written == copied || c.written == added)) [[unlikely]]
      report(t, "overwrites chunk {}, which the same step has {} before", chunk, c.written == copied ? "overwritten" : "added to");
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
    for (int r = 0; r < schedule_.ranks; ++r)
      for (const int c : part_.chunks) {
        const std::optional<Content> due = due_at_end(schedule_, r, c);
        if (!due || cell(r, c).holds == share_(due->whose, due->chunk)) continue;
        if (findings_.wrong_chunks++ == 0) findings_.problems.push_back(explain_wrong_chunk(schedule_, r, c, *due));
      }
  }

  const Schedule& schedule_;
  const Part& part_;
  const Shares& share_;
  Findings& findings_;
  std::vector<int> slot_of_;  // by chunk
  std::vector<Cell> cells_;   // by rank and slot
  std::vector<Fingerprint> read_;
  std::size_t channel_ = 0;
  int step_ = 0;
};

// One part for each channel and one for the chunks that none touches; a single part of all channels where two of them touch
// the same chunk, which may still be right if they do so on different ranks. Parts are proved one by one to save memory: a
// channel of concurrent streams touches few chunks of many.
std::vector<Part> parts_of(const Schedule& s) {
  constexpr std::size_t nobody = static_cast<std::size_t>(-1);
  std::vector<int> all(static_cast<std::size_t>(all_chunks(s)));
  std::iota(all.begin(), all.end(), 0);
  if (s.channels.size() == 1) return {Part{0, 1, std::move(all)}};

  std::vector<std::size_t> channel_of(all.size(), nobody);
  bool shared = false;
  Step step;
  for (std::size_t channel = 0; channel < s.channels.size() && !shared; ++channel) {
    const auto touch = [&](int first, int count) {
      for (int i = first; i < first + count; ++i) {
        std::size_t& user = channel_of[static_cast<std::size_t>(i)];
        shared = shared || (user != nobody && user != channel);
        user = channel;
      }
    };
    for (int k = 0; k < s.channels[channel].count() && !shared; ++k) {
      s.channels[channel].produce(k, step);
      for (const Transfer& t : step.transfers()) {
        if (!in_range(s, t)) continue;
        touch(t.chunk, t.count);
        touch(t.into, t.count);
      }
    }
  }
  if (shared) return {Part{0, s.channels.size(), std::move(all)}};

  std::vector<Part> parts;
  for (std::size_t channel = 0; channel < s.channels.size(); ++channel) parts.push_back({channel, channel + 1, {}});
  parts.emplace_back();
  for (const int c : all) {
    const std::size_t user = channel_of[static_cast<std::size_t>(c)];
    (user == nobody ? parts.back() : parts[user]).chunks.push_back(c);
  }
  return parts;
}

// What must hold before the schedule can be walked at all.
std::vector<std::string> check_frame(const Schedule& s) {
  std::vector<std::string> problems;
  if (s.ranks < 1) problems.push_back(fmt::format("a schedule of {} ranks", s.ranks));
  if (s.chunks < 1 || s.extra_chunks < 0) problems.push_back(fmt::format("a message of {} + {} extra chunks", s.chunks, s.extra_chunks));
  if (s.channels.empty()) problems.emplace_back("a schedule without channels");
  if (s.servers < 0 || (s.servers > 0 && s.servers >= s.ranks))
    problems.push_back(fmt::format("{} servers leave no worker of {} ranks", s.servers, s.ranks));
  if (s.servers > 0 && s.collective != Collective::allreduce) problems.push_back(fmt::format("servers in a {}", name_of(s.collective)));
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
  if (!problems.empty()) return problems;
  const Shares share(schedule);
  Findings findings;
  for (const Part& part : parts_of(schedule)) {
    const std::size_t cells = static_cast<std::size_t>(schedule.ranks) * part.chunks.size();
    if (cells > most_cells)
      throw RunError(
          fmt::format("{} on {} ranks is too large to be proved right before it runs: {} chunks on each of {} ranks are {}, and at "
                      "most {} can be followed; fewer ranks, pieces or channels make fewer",
                      schedule.name, schedule.ranks, part.chunks.size(), schedule.ranks, cells, most_cells));
    Walk(schedule, part, share, findings).run();
  }
  if (findings.wrong_chunks > 1)
    findings.problems.push_back(fmt::format("after the last step {} chunks are wrong in all", findings.wrong_chunks));
  if (schedule.collective == Collective::barrier && findings.problems.empty())
    if (std::string problem = explain_barrier(schedule); !problem.empty()) findings.problems.push_back(problem);
  return findings.problems;
}

}  // namespace weft

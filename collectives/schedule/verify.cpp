#include "collectives/schedule/verify.hpp"

#include "collectives/schedule/one_hop.hpp"
#include "collectives/schedule/repeated_steps.hpp"
#include "collectives/schedule/replay.hpp"
#include "collectives/schedule/share_trace.hpp"
#include "collectives/schedule/symmetry.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/hash.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace weft {

namespace {

// Which chunks a channel touches, told by ranges.
class Touched {
 public:
  explicit Touched(int chunks) : depth_(static_cast<std::size_t>(chunks) + 1) {}

  void add(int first, int count) {
    ++depth_[static_cast<std::size_t>(first)], --depth_[static_cast<std::size_t>(first + count)];
    least_ = std::min(least_, first), most_ = std::max(most_, first + count);
  }
  // Each chunk that was touched, in ascending order; then none is.
  template <class Each>
  void take(const Each& each) {
    int depth = 0;
    for (int c = least_; c <= most_; ++c) {
      depth += std::exchange(depth_[static_cast<std::size_t>(c)], 0);
      if (depth > 0) each(c);
    }
    least_ = std::numeric_limits<int>::max(), most_ = -1;
  }

 private:
  std::vector<int> depth_;  // by chunk: ranges that begin there less those that ended before it
  int least_ = std::numeric_limits<int>::max(), most_ = -1;
};

// One part for each channel and one for the chunks that none touches; a single part of all channels where two of them touch
// the same chunk, which may still be right if they do so on different ranks. Parts are proved one by one to save memory: a
// channel of concurrent streams touches few chunks of many.
std::vector<Part> parts_of(const Schedule& s) {
  const Part whole{0, s.channels.size(), ChunkSet(0, s.all_chunks())};
  if (s.channels.size() == 1) return {whole};

  std::vector<char> taken(static_cast<std::size_t>(s.all_chunks()));
  Touched touched(s.all_chunks());
  std::vector<Part> parts;
  bool shared = false;
  Step step;
  for (std::size_t channel = 0; channel < s.channels.size(); ++channel) {
    const Steps& steps = s.channels[channel];
    if (const auto* repeated = steps.made_by<RepeatedSteps>()) {
      for (const int c : repeated->chunks_moved())
        if (c < s.all_chunks()) touched.add(c, 1);
    } else {
      for (int k = 0; k < steps.count(); ++k) {
        steps.produce(k, step);
        for (const Transfer& t : step.transfers()) {
          if (!in_range(s, t)) continue;
          touched.add(t.chunk, t.count);
          if (t.into != t.chunk) touched.add(t.into, t.count);
        }
      }
    }
    std::vector<int> chunks;
    touched.take([&](int c) {
      chunks.push_back(c);
      shared = shared || std::exchange(taken[static_cast<std::size_t>(c)], 1) != 0;
    });
    if (shared) return {whole};
    parts.push_back({channel, channel + 1, ChunkSet(std::move(chunks))});
  }
  std::vector<int> of_none;
  for (int c = 0; c < s.all_chunks(); ++c)
    if (!taken[static_cast<std::size_t>(c)]) of_none.push_back(c);
  parts.push_back({0, 0, ChunkSet(std::move(of_none))});
  return parts;
}

bool leaves_chunks_in_place(const Schedule& s, const Part& part) {
  Step step;
  for (std::size_t channel = part.first_channel; channel < part.last_channel; ++channel) {
    if (s.channels[channel].made_by<RepeatedSteps>()) continue;  // they do
    for (int k = 0; k < s.channels[channel].count(); ++k) {
      s.channels[channel].produce(k, step);
      for (const Transfer& t : step.transfers())
        if (t.into != t.chunk) return false;
    }
  }
  return true;
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

// A proof of one schedule, part by part.
class ScheduleProof {
 public:
  ScheduleProof(const Schedule& schedule, const ProofLimits& limits) : schedule_(schedule), limits_(limits), shares_(schedule) {}

  void add(const Part& part) {
    if (part.last_channel - part.first_channel == 1 && !walked_sooner(part) && right_by_symmetry(part)) return;
    if (walk(part, limits_.ranges)) return;
    if (leaves_chunks_in_place(schedule_, part))
      in_several_walks(part);
    else if (!walk(part, limits_.ranges_in_one_walk))
      give_up(limits_.ranges_in_one_walk);
  }

  std::vector<std::string> problems() {
    if (findings_.wrong_chunks > 1)
      findings_.problems.push_back(fmt::format("after the last step {}{} chunks are wrong{}", all_walked_ ? "" : "at least ",
                                               findings_.wrong_chunks, all_walked_ ? " in all" : ""));
    return findings_.problems;
  }

 private:
  // A symmetry renames all chunks, also for a channel of few of them: thousands of channels would take time that grows with the square of
  // their number. What ranks hold of the part's own chunks is less then.
  bool walked_sooner(const Part& part) const { return std::int64_t{schedule_.ranks} * part.chunks.size() <= schedule_.all_chunks(); }

  // What is wrong is said by a walk of all chunks.
  bool right_by_symmetry(const Part& part) {
    std::optional<std::vector<int>> chunks = one_of_each_orbit(schedule_, part.first_channel, part.chunks);
    if (!chunks) return false;
    Findings of_these;
    const Part some{part.first_channel, part.last_channel, ChunkSet(std::move(*chunks))};
    return replay(schedule_, some, shares_, limits_.ranges, of_these) && of_these.problems.empty();
  }

  bool walk(const Part& part, std::int64_t ranges) {
    Findings with_these = findings_;
    if (!replay(schedule_, part, shares_, ranges, with_these)) return false;
    findings_ = std::move(with_these);
    return true;
  }

  // Chunks that stay where they are do not know of one another.
  void in_several_walks(const Part& part) {
    std::vector<std::pair<int, int>> left;  // slots [first, last) of the part
    const auto halve = [&](int first, int last) {
      const int middle = first + (last - first) / 2;
      left.emplace_back(middle, last);
      left.emplace_back(first, middle);
    };
    const int size = part.chunks.size(), least = size / limits_.walks;
    for (halve(0, size); !left.empty();) {
      const auto [first, last] = left.back();
      left.pop_back();
      if (walk({part.first_channel, part.last_channel, part.chunks.some(first, last)}, limits_.ranges)) {
        all_walked_ = left.empty();
        if (!findings_.problems.empty()) return;
      } else if (last - first > std::max(least, 1)) {
        halve(first, last);
      } else {
        give_up(limits_.ranges);
      }
    }
  }

  [[noreturn]] void give_up(std::int64_t ranges) const {
    throw CannotBeProved(
        fmt::format("{} on {} ranks cannot be proved: what they hold of {} chunks falls into more than {} ranges "
                    "that differ; fewer ranks, pieces or channels have fewer",
                    schedule_.name, schedule_.ranks, schedule_.all_chunks(), ranges));
  }

  const Schedule& schedule_;
  const ProofLimits limits_;
  const Shares shares_;
  Findings findings_;
  bool all_walked_ = true;
};

}  // namespace

std::vector<std::string> verify(const Schedule& schedule, const ProofLimits& limits) {
  std::vector<std::string> problems = check_frame(schedule);
  if (!problems.empty() || right_in_one_hop(schedule)) return problems;
  ScheduleProof proof(schedule, limits);
  for (const Part& part : parts_of(schedule)) proof.add(part);
  problems = proof.problems();
  if (schedule.collective == Collective::barrier && problems.empty())
    if (std::string problem = explain_barrier(schedule); !problem.empty()) problems.push_back(problem);
  return problems;
}

}  // namespace weft

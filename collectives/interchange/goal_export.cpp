#include "collectives/interchange/exports.hpp"
#include "kernels/base/error.hpp"

#include <cmath>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace weft {
namespace {

// The operations of one rank, channel by channel.
class GoalRank {
 public:
  // The end of the operations so far, which the next step waits for.
  void begin_step(int channel) {
    now_.clear();
    channel_ = channel;
    before_ = &last_[channel];
  }
  void send(std::int64_t bytes, Rank to, int tag) { add(fmt::format("send {}b to {} tag {} cpu {}", bytes, to, tag, channel_)); }
  void receive(std::int64_t bytes, Rank from, int tag) { add(fmt::format("recv {}b from {} tag {} cpu {}", bytes, from, tag, channel_)); }
  void sum(std::int64_t bytes) { summed_bytes_ += bytes; }

  // Sums follow all of the rank's sends and receives of the step ("own_step"). Several that the next step waits for are joined in any
  // case, so that lines are as many as operations and not as their product.
  void end_step(double reduce_ns_per_byte) {
    const std::int64_t adding_ns = std::llround(static_cast<double>(std::exchange(summed_bytes_, 0)) * reduce_ns_per_byte);
    if (now_.size() > 1 || adding_ns > 0) {
      const int join = label();
      fmt::format_to(std::back_inserter(text_), "l{}: calc {} cpu {}\n", join, adding_ns, channel_);
      for (const int one : now_.empty() ? *before_ : now_) requires_(join, one);
      now_ = {join};
    }
    if (!now_.empty()) last_[channel_] = now_;
  }

  const std::string& text() const { return text_; }

 private:
  int label() { return ++labels_; }
  void requires_(int later, int earlier) { fmt::format_to(std::back_inserter(text_), "l{} requires l{}\n", later, earlier); }
  void add(const std::string& operation) {
    const int own = label();
    fmt::format_to(std::back_inserter(text_), "l{}: {}\n", own, operation);
    for (const int earlier : *before_) requires_(own, earlier);
    now_.push_back(own);
  }

  std::string text_;
  int labels_ = 0, channel_ = 0;
  std::map<int, std::vector<int>> last_;  // by channel
  const std::vector<int>* before_ = nullptr;
  std::vector<int> now_;
  std::int64_t summed_bytes_ = 0;  // in the step
};

}  // namespace

std::string to_goal(const Schedule& s, const GoalOptions& options) {
  const ChunkLayout layout = layout_of(s, options.elements);
  const auto unit = static_cast<std::int64_t>(size_of(options.dtype));
  std::vector<GoalRank> ranks(static_cast<std::size_t>(s.ranks));
  std::map<std::pair<Rank, Rank>, int> tags;
  Step step;
  for (int channel = 0; channel < static_cast<int>(s.channels.size()); ++channel)
    for (int k = 0; k < s.channels[static_cast<std::size_t>(channel)].count(); ++k) {
      s.channels[static_cast<std::size_t>(channel)].produce(k, step);
      std::map<Rank, GoalRank*> taking_part;
      for (const Transfer& t : step.transfers())
        for (const Rank r : {t.from, t.to}) taking_part.emplace(r, &ranks[static_cast<std::size_t>(r)]);
      for (const auto& [r, rank] : taking_part) rank->begin_step(channel);
      for (const Transfer& t : step.transfers()) {
        const std::int64_t bytes = layout.size(t.chunk, t.count) * unit;
        if (t.reduces) taking_part[t.to]->sum(bytes);
        if (t.from == t.to) continue;
        const int tag = tags[{t.from, t.to}]++;
        taking_part[t.from]->send(bytes, t.to, tag);
        taking_part[t.to]->receive(bytes, t.from, tag);
      }
      for (const auto& [r, rank] : taking_part) rank->end_step(options.reduce_ns_per_byte);
    }
  std::string out = fmt::format("num_ranks {}\n", s.ranks);
  for (int r = 0; r < s.ranks; ++r)
    fmt::format_to(std::back_inserter(out), "\nrank {} {{\n{}}}\n", r, ranks[static_cast<std::size_t>(r)].text());
  return out;
}

}  // namespace weft

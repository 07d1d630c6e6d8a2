#include "collectives/interchange/msccl_words.hpp"
#include "collectives/interchange/msccl_xml.hpp"
#include "kernels/base/error.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <span>

namespace weft {
namespace {

// A thread block of a rank and channel: what it sends to one peer, receives from one peer, or does by itself.
struct BlockKey {
  int channel = 0, send = -1, receive = -1;
  auto operator<=>(const BlockKey&) const = default;
};

struct WrittenStep {
  std::string type = {};
  Transfer transfer = {};  // the buffer of this rank only is written
  int step = -1, position = -1;
  std::set<std::pair<int, int>> waits = {};  // block and step
  bool waited_for = false;
};

struct Block {
  BlockKey key;
  std::vector<WrittenStep> steps = {};
};

// What one rank does, filled step by step. A step waits for all that the rank did in its last one; in a step, what writes a chunk
// waits for what reads it and for what wrote it before.
class RankProgram {
 public:
  RankProgram(const Schedule& schedule, Rank rank) : schedule_(schedule), rank_(rank) {}

  // `own`: where the rank's transfers are among those of the step.
  void add_step(int channel, int number, std::span<const Transfer> transfers, const std::vector<int>& own) {
    std::vector<int> reads, writes;
    for (const int i : own) (transfers[static_cast<std::size_t>(i)].to == rank_ ? writes : reads).push_back(i);
    std::vector<std::pair<int, int>> now;
    std::map<int, std::vector<std::pair<int, int>>> readers, writers;  // by chunk
    for (const int i : reads) {
      const Transfer& t = transfers[static_cast<std::size_t>(i)];
      const auto at = add({channel, t.to, -1}, {.type = "s", .transfer = t, .step = number, .position = i}, last_[channel]);
      now.push_back(at);
      for (int c = 0; c < t.count; ++c) readers[t.chunk + c].push_back(at);
    }
    refuse_circles(transfers, writes, number);
    for (const int i : writes) {
      const Transfer& t = transfers[static_cast<std::size_t>(i)];
      const bool local = t.from == rank_;
      std::vector<std::pair<int, int>> waits = last_[channel];
      for (int c = 0; c < t.count; ++c)
        for (const auto* touched : {&readers[t.into + c], &writers[t.into + c]})
          waits.insert(waits.end(), touched->begin(), touched->end());
      const char* type = local ? (t.reduces ? "re" : "cpy") : t.reduces ? "rrc" : "r";
      const auto at = add({channel, -1, local ? -1 : t.from}, {.type = type, .transfer = t, .step = number, .position = i}, waits);
      now.push_back(at);
      for (int c = 0; c < t.count; ++c) {
        if (local) readers[t.chunk + c].push_back(at);
        writers[t.into + c] = {at};
      }
    }
    last_[channel] = std::move(now);
  }

  // With a nop for each further step that one waits for.
  void write(std::string& out, const WrittenBuffers& buffers) const {
    fmt::format_to(std::back_inserter(out), "  <gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"{}\">\n", rank_, buffers.input,
                   buffers.output, buffers.scratch);
    std::vector<std::vector<int>> numbers;  // of the steps, with the nops before them
    for (const Block& block : blocks_) {
      int next = 0;
      numbers.emplace_back();
      for (const WrittenStep& w : block.steps) {
        next += std::max(0, static_cast<int>(w.waits.size()) - 1);
        numbers.back().push_back(next++);
      }
    }
    for (std::size_t b = 0; b < blocks_.size(); ++b) write_block(out, b, numbers);
    out += "  </gpu>\n";
  }

 private:
  std::pair<int, int> add(const BlockKey& key, WrittenStep written, const std::vector<std::pair<int, int>>& waits) {
    const auto [found, added] = numbers_.try_emplace(key, static_cast<int>(blocks_.size()));
    if (added) blocks_.push_back({key});
    Block& block = blocks_[static_cast<std::size_t>(found->second)];
    std::map<int, int> latest;  // of each other block; its own steps are in order anyway
    for (const auto& [other, step] : waits)
      if (other != found->second) latest[other] = std::max(latest.try_emplace(other, step).first->second, step);
    for (const auto& [other, step] : latest) {
      written.waits.emplace(other, step);
      blocks_[static_cast<std::size_t>(other)].steps[static_cast<std::size_t>(step)].waited_for = true;
    }
    block.steps.push_back(std::move(written));
    return {found->second, static_cast<int>(block.steps.size()) - 1};
  }

  // A step reads before it writes; operations one after another may do so only where none must come before itself.
  void refuse_circles(std::span<const Transfer> transfers, const std::vector<int>& writes, int number) const {
    std::set<int> written;
    for (const int i : writes) {
      const Transfer& t = transfers[static_cast<std::size_t>(i)];
      for (int c = 0; c < t.count && t.from == rank_; ++c)
        if (written.contains(t.chunk + c))
          throw InputError(fmt::format("step {} of rank {} copies chunk {} from where the same step has written: MSCCL has no such order",
                                       number, rank_, t.chunk + c));
      for (int c = 0; c < t.count; ++c) written.insert(t.into + c);
    }
  }

  std::pair<char, int> place(int chunk) const {
    const auto [buffer, index] = written_place(schedule_, chunk);
    return {static_cast<char>(buffer), index};
  }

  void write_block(std::string& out, std::size_t b, const std::vector<std::vector<int>>& numbers) const {
    const Block& block = blocks_[b];
    const auto to = std::back_inserter(out);
    fmt::format_to(to, "    <tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"{}\">\n", b, block.key.send, block.key.receive, block.key.channel);
    const auto number_of = [&](const std::pair<int, int>& w) {
      return numbers[static_cast<std::size_t>(w.first)][static_cast<std::size_t>(w.second)];
    };
    for (std::size_t i = 0; i < block.steps.size(); ++i) {
      const WrittenStep& w = block.steps[i];
      int number = numbers[b][i] - std::max(0, static_cast<int>(w.waits.size()) - 1);
      std::pair<int, int> last = {-1, -1};
      for (auto wait = w.waits.begin(); wait != w.waits.end(); ++wait) {
        if (std::next(wait) == w.waits.end())
          last = {wait->first, number_of(*wait)};
        else
          fmt::format_to(to,
                         "      <step s=\"{}\" type=\"nop\" srcbuf=\"i\" srcoff=\"-1\" dstbuf=\"o\" dstoff=\"-1\" cnt=\"0\" depid=\"{}\" "
                         "deps=\"{}\" hasdep=\"0\"/>\n",
                         number++, wait->first, number_of(*wait));
      }
      const bool local = w.transfer.from == w.transfer.to, sends = w.type == "s";
      const auto into = place(w.transfer.into);
      const auto source = sends || local ? place(w.transfer.chunk) : into;
      const auto destination = sends ? source : into;
      fmt::format_to(to,
                     "      <step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" dstoff=\"{}\" cnt=\"{}\" depid=\"{}\" "
                     "deps=\"{}\" hasdep=\"{}\" weft=\"{}.{}\"/>\n",
                     number, w.type, source.first, source.second, destination.first, destination.second, w.transfer.count, last.first,
                     last.second, w.waited_for ? 1 : 0, w.step, w.position);
    }
    out += "    </tb>\n";
  }

  const Schedule& schedule_;
  Rank rank_;
  std::vector<Block> blocks_;
  std::map<BlockKey, int> numbers_;
  std::map<int, std::vector<std::pair<int, int>>> last_;  // by channel: the steps of the rank's last one
};

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const std::string_view entity = c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '"' ? "&quot;" : std::string_view(&c, 1);
    out += entity;
  }
  return out;
}

}  // namespace

std::string to_msccl_xml(const Schedule& s, const MscclOptions& options) {
  refuse_what_has_no_words(s, "MSCCL");
  std::vector<RankProgram> ranks;
  for (Rank r = 0; r < s.ranks; ++r) ranks.emplace_back(s, r);
  Step step;
  for (int c = 0; c < static_cast<int>(s.channels.size()); ++c)
    for (int k = 0; k < s.channels[static_cast<std::size_t>(c)].count(); ++k) {
      s.channels[static_cast<std::size_t>(c)].produce(k, step);
      const std::span<const Transfer> transfers = step.transfers();
      std::map<Rank, std::vector<int>> of_ranks;
      for (int i = 0; i < static_cast<int>(transfers.size()); ++i) {
        const Transfer& t = transfers[static_cast<std::size_t>(i)];
        of_ranks[t.from].push_back(i);
        if (t.to != t.from) of_ranks[t.to].push_back(i);
      }
      for (const auto& [r, own] : of_ranks) ranks[static_cast<std::size_t>(r)].add_step(c, k, transfers, own);
    }
  const bool out_of_place = s.collective == Collective::alltoall;
  const bool rooted = s.collective == Collective::broadcast || s.collective == Collective::reduce;
  std::string out = fmt::format(
      "<algo name=\"{}\" proto=\"{}\" nchannels=\"{}\" nchunksperloop=\"{}\" ngpus=\"{}\" coll=\"{}\" inplace=\"{}\" "
      "outofplace=\"{}\"{}>\n",
      escaped(s.name), options.protocol, s.channels.size(), s.chunks, s.ranks, name_of(s.collective), out_of_place ? 0 : 1,
      out_of_place ? 1 : 0, rooted ? fmt::format(" root=\"{}\"", s.root) : "");
  const WrittenBuffers buffers = written_buffers(s);
  for (const RankProgram& rank : ranks) rank.write(out, buffers);
  return out + "</algo>\n";
}

}  // namespace weft

#include "collectives/interchange/msccl_words.hpp"
#include "collectives/interchange/mscclpp_json.hpp"
#include "collectives/interchange/vector_clocks.hpp"
#include "kernels/base/error.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <span>

#include <nlohmann/json.hpp>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t max_channels_of_an_operation = 8;  // of MSCCL++

// What a thread block does, and what it uses of its GPU, in the order of first use.
struct WrittenBlock {
  Rank rank = 0;
  int channel = 0;                               // of the schedule
  std::string operations = {};                   // as they are written: as values of JSON they would take ten times as much memory
  std::vector<int> channels = {}, buffers = {};  // of the GPU

  void add(std::string_view operation) {
    if (!operations.empty()) operations += ",\n";
    fmt::format_to(std::back_inserter(operations), "    {{{}}}", operation);
  }

  static int index_in(std::vector<int>& known, int id) {
    const auto found = std::ranges::find(known, id);
    const auto index = static_cast<int>(found - known.begin());
    if (found == known.end()) known.push_back(id);
    return index;
  }
};

struct WrittenGpu {
  std::map<std::pair<int, Rank>, int> channels = {};  // by channel of the schedule and peer: the order in which both sides list theirs
  std::vector<std::pair<Rank, BufferKind>> remote = {};
  int staging = 0;  // chunks of scratch behind those of the schedule
};

// Each step of a thread block: it sends what it has, tells the others, waits for what comes, and moves that on. A copy goes straight to
// where it belongs where all that touched that place before is over for certain; else it goes to scratch of its own, as what is added does.
class Writer {
 public:
  Writer(const Schedule& s, bool packets)
      : s_(s),
        packets_(packets),
        gpus_(static_cast<std::size_t>(s.ranks)),
        blocks_(static_cast<std::size_t>(s.ranks) * s.channels.size()),
        memory_(static_cast<int>(blocks_.size())) {
    for (std::size_t b = 0; b < blocks_.size(); ++b)
      blocks_[b].rank = static_cast<Rank>(b % gpus_.size()), blocks_[b].channel = static_cast<int>(b / gpus_.size());
    each_step([&](int c, int, std::span<const Transfer> transfers) {
      for (const Transfer& t : transfers)
        if (t.from != t.to) gpu(t.from).channels[{c, t.to}] = gpu(t.to).channels[{c, t.from}] = 0;
    });
    for (WrittenGpu& one : gpus_) {
      int next = 0;
      for (auto& [key, id] : one.channels) id = next++;
    }
    each_step([&](int c, int k, std::span<const Transfer> transfers) { write_step(c, k, transfers); });
  }

  std::string text(std::string_view protocol) const {
    const bool rooted = s_.collective == Collective::broadcast || s_.collective == Collective::reduce;
    std::string name(name_of(s_.collective));
    std::erase(name, '_');
    std::string out = fmt::format(
        "{{\n\"name\": {}, \"collective\": \"{}\", \"protocol\": \"{}\", \"inplace\": {},{} \"reuse_resources\": false,\n\"gpus\": [\n",
        Json(s_.name).dump(), name, protocol, s_.collective != Collective::alltoall, rooted ? fmt::format(" \"root\": {},", s_.root) : "");
    for (Rank r = 0; r < s_.ranks; ++r) write_gpu(r, out);
    return out + "]\n}\n";
  }

 private:
  // A transfer that arrives in a step, and where: in place, or from where in scratch.
  struct Arrival {
    int position = 0;
    int staged = -1;
  };

  template <class Visit>
  void each_step(Visit visit) const {
    Step step;
    for (int c = 0; c < static_cast<int>(s_.channels.size()); ++c)
      for (int k = 0; k < s_.channels[static_cast<std::size_t>(c)].count(); ++k) {
        s_.channels[static_cast<std::size_t>(c)].produce(k, step);
        visit(c, k, step.transfers());
      }
  }

  WrittenGpu& gpu(Rank rank) { return gpus_[static_cast<std::size_t>(rank)]; }
  int number_of(Rank rank, int channel) const { return channel * s_.ranks + rank; }
  WrittenBlock& block(Rank rank, int channel) { return blocks_[static_cast<std::size_t>(number_of(rank, channel))]; }

  void write_step(int c, int k, std::span<const Transfer> transfers) {
    refuse_read_after_write(k, transfers);
    for (const Transfer& t : transfers)
      for (int i = 0; i < t.count; ++i) memory_.read(number_of(t.from, c), {t.from, t.chunk + i}, k);
    std::map<Rank, std::vector<Arrival>> arrivals;
    std::map<Rank, std::set<Rank>> told, heard;
    std::set<Cell> written;
    for (int i = 0; i < static_cast<int>(transfers.size()); ++i) {
      const Transfer& t = transfers[static_cast<std::size_t>(i)];
      Arrival arrival{.position = i};
      if (t.from != t.to) {
        if (!goes_straight(t, c, written)) arrival.staged = gpu(t.to).staging, gpu(t.to).staging += t.count;
        send(t, c, k, arrival);
        told[t.from].insert(t.to), heard[t.to].insert(t.from);
      }
      for (int n = 0; n < t.count; ++n) written.insert({t.to, t.into + n});
      arrivals[t.to].push_back(arrival);
    }
    std::map<Rank, Clock> clocks;
    for (const auto& [rank, peers] : told) {
      if (!packets_) synchronise("signal", rank, c, peers);
      clocks[rank] = memory_.release(number_of(rank, c));
    }
    for (const auto& [rank, peers] : heard) {
      if (!packets_) synchronise("wait", rank, c, peers);
      for (const Rank peer : peers) memory_.join(number_of(rank, c), clocks[peer]);
    }
    for (const auto& [rank, all] : arrivals)
      for (const Arrival& arrival : all) move_on(transfers[static_cast<std::size_t>(arrival.position)], c, k, arrival);
  }

  // A step reads before it writes; operations one after another may do so only where none must come before itself.
  void refuse_read_after_write(int k, std::span<const Transfer> transfers) const {
    std::set<Cell> written;
    for (const Transfer& t : transfers) {
      for (int c = 0; c < t.count && t.from == t.to; ++c)
        if (written.contains({t.from, t.chunk + c}))
          throw InputError(fmt::format("step {} of rank {} copies chunk {} from where the same step has written: MSCCL++ has no such order",
                                       k, t.from, t.chunk + c));
      for (int c = 0; c < t.count; ++c) written.insert({t.to, t.into + c});
    }
  }

  bool goes_straight(const Transfer& t, int c, const std::set<Cell>& written) const {
    if (t.reduces || packets_) return false;
    for (int i = 0; i < t.count; ++i) {
      const Cell cell{t.to, t.into + i};
      if (written.contains(cell) || !memory_.may_write(number_of(t.from, c), cell)) return false;
    }
    return true;
  }

  static std::string place(std::pair<BufferKind, int> at, int count) {
    return fmt::format(R"({{"type":"{}","index":{},"size":{}}})", static_cast<char>(at.first), at.second, count);
  }
  std::string own_place(int chunk, int count) const { return place(written_place(s_, chunk), count); }
  // Behind the scratch of the schedule.
  std::pair<BufferKind, int> staging_place(int staged) const { return {BufferKind::scratch, written_buffers(s_).scratch + staged}; }

  std::string remote_place(WrittenBlock& from, Rank to, std::pair<BufferKind, int> at, int count) {
    std::vector<std::pair<Rank, BufferKind>>& known = gpu(from.rank).remote;
    const std::pair buffer{to, at.first};
    const auto found = std::ranges::find(known, buffer);
    const auto id = static_cast<int>(found - known.begin());
    if (found == known.end()) known.push_back(buffer);
    return fmt::format(R"({{"buffer_id":{},"index":{},"size":{}}})", WrittenBlock::index_in(from.buffers, id), at.second, count);
  }

  void send(const Transfer& t, int c, int k, const Arrival& arrival) {
    WrittenBlock& from = block(t.from, c);
    const bool straight = arrival.staged < 0;
    const auto into = straight ? written_place(s_, t.into) : staging_place(arrival.staged);
    const std::string remote = remote_place(from, t.to, into, t.count);
    const int id = WrittenBlock::index_in(from.channels, gpu(t.from).channels.at({c, t.to}));
    from.add(fmt::format(R"("name":"{}","src_buff":[{}],"dst_buff":[{}],"channel_type":"memory","channel_ids":[{}]{})",
                         packets_ ? "ppkt" : "put", own_place(t.chunk, t.count), remote, id, straight ? said(c, k, arrival) : ""));
    for (int i = 0; straight && i < t.count; ++i) memory_.write(number_of(t.from, c), {t.to, t.into + i}, k);
  }

  static std::string said(int c, int k, const Arrival& arrival) { return fmt::format(R"(,"weft":[{},{},{}])", c, k, arrival.position); }

  void synchronise(const char* name, Rank rank, int c, const std::set<Rank>& peers) {
    WrittenBlock& own = block(rank, c);
    std::vector<int> ids;
    for (const Rank peer : peers) ids.push_back(WrittenBlock::index_in(own.channels, gpu(rank).channels.at({c, peer})));
    own.add(R"("name":"nop")");
    for (std::span rest(ids); !rest.empty();) {
      const auto some = rest.first(std::min(rest.size(), max_channels_of_an_operation));
      own.add(fmt::format(R"("name":"{}","channel_ids":[{}],"channel_type":"memory")", name, fmt::join(some, ",")));
      rest = rest.subspan(some.size());
    }
    own.add(R"("name":"nop")");
  }

  // What came to scratch, or what a rank does by itself.
  void move_on(const Transfer& t, int c, int k, const Arrival& arrival) {
    const bool local = t.from == t.to;
    if (!local && arrival.staged < 0) return;
    const std::string from = local ? own_place(t.chunk, t.count) : place(staging_place(arrival.staged), t.count);
    const std::string into = own_place(t.into, t.count);
    const bool packets = packets_ && !local;
    const char* name = t.reduces ? (packets ? "repkt" : "re") : packets ? "upkt" : "copy";
    block(t.to, c).add(fmt::format(R"("name":"{}","src_buff":[{}{}],"dst_buff":[{}]{}{})", name, t.reduces ? into + "," : "", from, into,
                                   t.reduces ? R"(,"reduce_op":"sum")" : "", said(c, k, arrival)));
    for (int i = 0; i < t.count; ++i) memory_.write(number_of(t.to, c), {t.to, t.into + i}, k);
  }

  void write_gpu(Rank rank, std::string& out) const {
    const WrittenGpu& one = gpus_[static_cast<std::size_t>(rank)];
    const WrittenBuffers buffers = written_buffers(s_);
    const auto to = std::back_inserter(out);
    fmt::format_to(to, "{{\"id\": {}, \"input_chunks\": {}, \"output_chunks\": {}, \"scratch_chunks\": {},\n \"threadblocks\": [", rank,
                   buffers.input, buffers.output, buffers.scratch + one.staging);
    int id = 0;
    for (const WrittenBlock& block : blocks_) {
      if (block.rank != rank || block.operations.empty()) continue;
      fmt::format_to(to, "{}\n  {{\"id\": {}, \"ops\": [\n{}\n", id == 0 ? "" : ",", id, block.operations);
      const Json channels = {{{"channel_type", "memory"}, {"channel_ids", block.channels}}};
      const Json buffers_used = {{{"access_channel_type", "memory"}, {"remote_buffer_ids", block.buffers}}};
      fmt::format_to(to, "   ],\n   \"channels\": {},\n   \"remote_buffer_refs\": {}}}", block.channels.empty() ? "[]" : channels.dump(),
                     block.buffers.empty() ? "[]" : buffers_used.dump());
      ++id;
    }
    std::vector<Rank> peers;
    for (const auto& [key, channel] : one.channels) peers.push_back(key.second);
    Json remote = Json::array();
    for (const auto& [peer, kind] : one.remote)
      remote.push_back({{"rank", peer}, {"type", std::string(1, static_cast<char>(kind))}, {"access_channel_types", {"memory"}}});
    const Json channels = {{{"channel_type", "memory"}, {"connected_to", peers}}};
    fmt::format_to(to, "],\n \"channels\": {},\n \"remote_buffers\": {}, \"semaphores\": []}}{}\n", peers.empty() ? "[]" : channels.dump(),
                   remote.dump(), rank + 1 < s_.ranks ? "," : "");
  }

  const Schedule& s_;
  bool packets_;
  std::vector<WrittenGpu> gpus_;
  std::vector<WrittenBlock> blocks_;
  SharedMemoryOrder memory_;
};

}  // namespace

std::string to_mscclpp_json(const Schedule& s, const MscclppOptions& options) {
  refuse_what_has_no_words(s, "MSCCL++");
  return Writer(s, options.protocol == "LL").text(options.protocol);
}

}  // namespace weft

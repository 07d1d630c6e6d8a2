#include "collectives/interchange/mscclpp_plan.hpp"

#include "collectives/interchange/mscclpp_reader.hpp"
#include "kernels/base/nearest_name.hpp"
#include "kernels/base/xml.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>

namespace weft {
namespace {

constexpr int most_gpus = 1 << 10, most_chunks = 1 << 22, most_ids = 1 << 16, most_parts = 1 << 10, most_said = 1 << 20;
constexpr std::int64_t most_touched = std::int64_t{1} << 26;  // chunks of all operations together

// How the sources and results of an operation belong together.
enum class Layout { none, pairs, forward, sum };

struct Kind {
  std::string_view name;
  Layout layout = Layout::none;
  PlanSync sync = PlanSync::none;
  int source_packets = 1 << 10, result_packets = 1 << 10;  // from which source, and which result, on they are packets
};

constexpr std::array kinds = {
    Kind{"nop"},
    Kind{"flush"},
    Kind{"signal", Layout::none, PlanSync::signal},
    Kind{"rlxsignal", Layout::none, PlanSync::signal},
    Kind{"wait", Layout::none, PlanSync::wait},
    Kind{"rlxwait", Layout::none, PlanSync::wait},
    Kind{"barrier", Layout::none, PlanSync::barrier},
    Kind{"sem_acquire", Layout::none, PlanSync::acquire},
    Kind{"sem_release", Layout::none, PlanSync::release},
    Kind{"copy", Layout::forward},
    Kind{"put", Layout::pairs},
    Kind{"pws", Layout::pairs, PlanSync::signal},
    Kind{"pwsf", Layout::pairs, PlanSync::signal},
    Kind{"get", Layout::pairs},
    Kind{"re", Layout::sum},
    Kind{"res", Layout::sum},
    Kind{"rre", Layout::sum},
    Kind{"rres", Layout::sum},
    Kind{.name = "ppkt", .layout = Layout::pairs, .result_packets = 0},
    Kind{.name = "cpkt", .layout = Layout::forward, .result_packets = 0},
    Kind{.name = "upkt", .layout = Layout::forward, .source_packets = 0},
    Kind{.name = "rppkt", .layout = Layout::forward, .source_packets = 0, .result_packets = 0},
    Kind{.name = "repkt", .layout = Layout::sum, .source_packets = 1},
    Kind{.name = "respkt", .layout = Layout::sum, .source_packets = 1, .result_packets = 1},
    Kind{.name = "recpkt", .layout = Layout::sum, .source_packets = 1, .result_packets = 1},
    Kind{.name = "recspkt", .layout = Layout::sum, .source_packets = 1, .result_packets = 1},
};

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> in_the_switch = {{
    {"glre", "adds what all GPUs of the group hold in the switch (NVLS multimem load-reduce)"},
    {"glres", "adds what all GPUs of the group hold in the switch and stores the sum to all (NVLS multimem load-reduce and store)"},
    {"gstore", "stores to all GPUs of the group at once in the switch (NVLS multimem store)"},
    {"gstorepkt", "stores packets to all GPUs of the group at once in the switch (NVLS multimem store)"},
}};

enum class ChannelType { memory, port, other };

// The ways of signals of one GPU, in the order of its channels of a type.
struct GpuChannels {
  std::vector<int> out = {}, in = {};
  std::vector<Rank> peers = {};
};

struct RemoteBuffer {
  Rank rank = 0;
  BufferKind buffer = BufferKind::input;
};

class Parser {
 public:
  MscclppPlan parse(const nlohmann::json& json) {
    const PlanValue plan(json, "", problems_);
    if (!json.is_object()) throw InputError("must be an object: an execution plan of MSCCL++");
    read_plan(plan);
    problems_.refuse();
    const auto gpus = plan["gpus"].elements();
    for (Rank r = 0; r < p_.map.ranks; ++r) read_channels(r, gpus[static_cast<std::size_t>(r)]);
    find_chunks(gpus);
    problems_.refuse();
    for (Rank r = 0; r < p_.map.ranks; ++r) read_blocks(r, gpus[static_cast<std::size_t>(r)]);
    problems_.refuse();
    return std::move(p_);
  }

 private:
  void read_plan(const PlanValue& plan) {
    p_.name = plan["name"].text_or("mscclpp");
    p_.map.in_place = plan["inplace"].flag_or(false);
    const std::string collective = plan["collective"].text();
    if (const auto found = collective_written(collective))
      p_.map.collective = *found;
    else if (!collective.empty())
      problems_.add("/collective",
                    "must be one of allreduce, allgather, reducescatter, alltoall, got {}: nothing says what another should do",
                    shown_value(collective));
    const auto gpus = plan["gpus"].elements();
    if (gpus.empty() || gpus.size() > most_gpus) problems_.add("/gpus", "must be 1 to {} GPUs, got {}", most_gpus, gpus.size());
    p_.map.ranks = static_cast<int>(gpus.size());
    p_.root = static_cast<Rank>(plan["root"].number_or(0, 0, std::max(0, p_.map.ranks - 1)));
    for (std::size_t r = 0; r < gpus.size() && r < most_gpus; ++r) {
      if (gpus[r].has("inputChunks") || gpus[r].has("channels") == false)
        problems_.add(gpus[r].where(), "has no \"channels\": plans are read as MSCCL++ writes them since its version 0.7");
      if (gpus[r]["id"].number(0, most_gpus) != static_cast<std::int64_t>(r))
        problems_.add(gpus[r]["id"].where(), "must be {}, its place among the GPUs", r);
    }
  }

  ChannelType type_of(const PlanValue& value) {
    const std::string type = value.text();
    if (type == "memory") return ChannelType::memory;
    if (type == "port") return ChannelType::port;
    if (type != "switch" && type != "none" && !type.empty())
      problems_.add(value.where(), "must be memory, port, switch or none, got {}", shown_value(type));
    return ChannelType::other;
  }

  BufferKind buffer_of(const PlanValue& value) {
    const std::string name = value.text();
    if (name == "i" || name == "o" || name == "s") return static_cast<BufferKind>(name.front());
    if (!name.empty()) problems_.add(value.where(), "must be i, o or s, got {}", shown_value(name));
    return BufferKind::input;
  }

  int way(Rank from, Rank to, ChannelType type, int index) {
    const auto [found, added] = ways_.try_emplace({from, to, type, index}, static_cast<int>(p_.ways.size()));
    if (added) p_.ways.push_back({from, to});
    return found->second;
  }

  // The k-th channel of one GPU to another and the k-th of that one back, of one type, are the two ends of one.
  void read_channels(Rank rank, const PlanValue& gpu) {
    std::map<std::pair<Rank, ChannelType>, int> count;
    for (const PlanValue& channel : gpu["channels"].elements()) {
      const ChannelType type = type_of(channel["channel_type"]);
      if (type == ChannelType::other) continue;
      GpuChannels& all = channels_[{rank, type}];
      for (const PlanValue& peer : channel["connected_to"].elements()) {
        const auto to = static_cast<Rank>(peer.number(0, p_.map.ranks - 1));
        if (to == rank) problems_.add(peer.where(), "must be another GPU, got {}, its own", rank);
        const int index = count[{to, type}]++;
        all.peers.push_back(to);
        all.out.push_back(way(rank, to, type, index));
        all.in.push_back(way(to, rank, type, index));
      }
    }
    for (const PlanValue& remote : gpu["remote_buffers"].elements())
      remote_[rank].push_back({static_cast<Rank>(remote["rank"].number(0, p_.map.ranks - 1)), buffer_of(remote["type"])});
    semaphores_.push_back(static_cast<int>(p_.semaphores.size()));
    for (const PlanValue& semaphore : gpu["semaphores"].elements())
      p_.semaphores.push_back(static_cast<int>(semaphore["init_value"].number_or(0, 0, most_ids)));
  }

  void find_chunks(const std::vector<PlanValue>& gpus) {
    BufferMap& map = p_.map;
    std::int64_t chunks = 0;
    const auto whole = [&](const PlanValue& value, bool one_block) {
      const std::int64_t all = value.number_or(0, 0, most_chunks) * (one_block ? map.ranks : 1);
      if (all == 0) return;
      if (chunks != 0 && all != chunks)
        problems_.add(value.where(), "{}must be the {} chunks of the message, got {}",
                      one_block ? fmt::format("times the {} GPUs ", map.ranks) : "", chunks, all);
      chunks = chunks == 0 ? all : chunks;
    };
    for (const PlanValue& gpu : gpus) {
      whole(gpu["input_chunks"], map.collective == Collective::allgather);
      whole(gpu["output_chunks"], map.collective == Collective::reduce_scatter);
      map.scratch = std::max(map.scratch, static_cast<int>(gpu["scratch_chunks"].number_or(0, 0, most_chunks)));
    }
    find_parts(gpus);
    if (chunks < 1 || std::max<std::int64_t>(chunks, map.scratch) * parts_ > most_chunks)
      return problems_.add("/gpus", "a message must have 1 to {} chunks (input_chunks, output_chunks), got {}{}", most_chunks / parts_,
                           chunks, parts_ > 1 ? fmt::format(", each in {} parts for groups of thread blocks", parts_) : "");
    const bool blocks =
        map.collective == Collective::allgather || map.collective == Collective::reduce_scatter || map.collective == Collective::alltoall;
    if (blocks && chunks % map.ranks != 0)
      problems_.add("/gpus", "the {} chunks of the message must be a multiple of the {} GPUs for {}", chunks, map.ranks,
                    name_of(map.collective));
    map.chunks = static_cast<int>(chunks) * parts_;
    map.scratch *= parts_;
  }

  // Every chunk is cut so that each thread block of a group has whole parts.
  void find_parts(const std::vector<PlanValue>& gpus) {
    for (const PlanValue& gpu : gpus)
      for (const PlanValue& block : gpu["threadblocks"].elements())
        each_operation(block, [&](const PlanValue& operation) {
          if (!operation.has("tbg_info")) return;
          const PlanValue size = operation["tbg_info"]["tbg_size"];
          const std::int64_t parts = std::lcm(std::int64_t{parts_}, size.number(1, most_parts));
          if (parts > most_parts)
            return problems_.add(size.where(), "groups of thread blocks cut a chunk into {} parts, more than {}", parts, most_parts);
          parts_ = static_cast<int>(parts);
        });
  }

  // A pipeline's operations are done once: it repeats them for parts of unit_size bytes, which are no more than the whole where a chunk is
  // no longer.
  template <class Visit>
  void each_operation(const PlanValue& block, Visit visit) {
    for (const PlanValue& operation : block["ops"].elements()) {
      if (!operation.has("ops")) {
        visit(operation);
        continue;
      }
      for (const PlanValue& inner : operation["ops"].elements()) visit(inner);
    }
  }

  void read_blocks(Rank rank, const PlanValue& gpu) {
    std::vector<bool> there;
    barriers_.clear();
    for (const PlanValue& value : gpu["threadblocks"].elements()) {
      const auto id = static_cast<std::size_t>(value["id"].number(0, most_ids));
      if (there.size() <= id) there.resize(id + 1);
      if (there[id]) problems_.add(value["id"].where(), "thread block {} is there already", id);
      there[id] = true;
      p_.blocks.push_back({.gpu = rank, .id = static_cast<int>(id)});
      references_.clear();
      find_references(rank, value);
      each_operation(value, [&](const PlanValue& operation) { read_operation(rank, operation); });
    }
  }

  struct References {
    std::vector<int> channels = {}, buffers = {};  // of the GPU
  };

  void find_references(Rank rank, const PlanValue& block) {
    for (const PlanValue& channel : block["channels"].elements()) {
      const ChannelType type = type_of(channel["channel_type"]);
      if (type == ChannelType::other) continue;
      const auto there = static_cast<std::int64_t>(channels_[{rank, type}].peers.size());
      for (const PlanValue& id : channel["channel_ids"].elements())
        if (const auto one = below(id, there, "channels of its type")) references_[type].channels.push_back(*one);
    }
    for (const PlanValue& reference : block["remote_buffer_refs"].elements())
      for (const PlanValue& id : reference["remote_buffer_ids"].elements())
        if (const auto one = below(id, static_cast<std::int64_t>(remote_[rank].size()), "remote buffers"))
          references_[type_of(reference["access_channel_type"])].buffers.push_back(*one);
  }

  std::optional<int> below(const PlanValue& id, std::int64_t count, std::string_view what) {
    const std::int64_t value = id.number(0, most_ids);
    if (value < count) return static_cast<int>(value);
    problems_.add(id.where(), "must be one of the {} {}, got {}", count, what, value);
    return std::nullopt;
  }

  void read_operation(Rank rank, const PlanValue& value) {
    PlanBlock& block = p_.blocks.back();
    PlanOperation operation{.name = value["name"].text(), .number = static_cast<int>(block.operations.size())};
    const auto kind = std::ranges::find(kinds, std::string_view(operation.name), &Kind::name);
    if (kind == kinds.end()) {
      refuse_name(operation.name, value["name"].where());
    } else {
      const ChannelType type = value.has("channel_type") ? type_of(value["channel_type"]) : ChannelType::other;
      read_sync(rank, value, kind->sync, type, operation);
      if (kind->layout != Layout::none) read_sums(rank, value, *kind, type, operation);
      if (value.has("weft")) read_own_words(value["weft"], operation);
    }
    block.operations.push_back(std::move(operation));
  }

  void refuse_name(const std::string& name, const std::string& where) {
    if (name.empty()) return;
    const auto in_switch = std::ranges::find(in_the_switch, std::string_view(name), &std::pair<std::string_view, std::string_view>::first);
    if (in_switch != in_the_switch.end())
      return problems_.add(where, "{} {}: a schedule of sends, receives and sums has no such transfer", name, in_switch->second);
    std::vector<std::string> names;
    for (const Kind& kind : kinds) names.emplace_back(kind.name);
    const auto near = nearest_name(name, names);
    problems_.add(where, "unknown operation {}{}; read are {}", shown_value(name),
                  near ? fmt::format(" (did you mean \"{}\"?)", *near) : "", fmt::join(names, ", "));
  }

  void read_sync(Rank rank, const PlanValue& value, PlanSync sync, ChannelType type, PlanOperation& operation) {
    operation.sync = sync;
    if (sync == PlanSync::signal || sync == PlanSync::wait) {
      const std::vector<int>& known = references_[type].channels;
      const GpuChannels& all = channels_[{rank, type}];
      if (!value.has("channel_ids")) problems_.add(value.where(), "{} must have \"channel_ids\"", operation.name);
      for (const PlanValue& id : value["channel_ids"].elements())
        if (const auto one = below(id, static_cast<std::int64_t>(known.size()), "channels of its type of the thread block"))
          operation.ids.push_back(
              (sync == PlanSync::signal ? all.out : all.in)[static_cast<std::size_t>(known[static_cast<std::size_t>(*one)])]);
    }
    if (sync == PlanSync::acquire || sync == PlanSync::release) {
      const int begin = semaphores_[static_cast<std::size_t>(rank)];
      const int end = static_cast<std::size_t>(rank) + 1 < semaphores_.size() ? semaphores_[static_cast<std::size_t>(rank) + 1]
                                                                              : static_cast<int>(p_.semaphores.size());
      for (const PlanValue& id : value["semaphore_ids"].elements())
        if (const auto one = below(id, end - begin, "semaphores of the GPU")) operation.ids.push_back(begin + *one);
    }
    if (sync == PlanSync::barrier) {
      const auto meeting = static_cast<int>(value["num_threadblocks"].number(1, most_ids));
      const auto [found, added] = barriers_.try_emplace(value["barrier_id"].number(0, most_ids), static_cast<int>(p_.barriers.size()));
      if (added) p_.barriers.push_back(meeting);
      if (p_.barriers[static_cast<std::size_t>(found->second)] != meeting)
        problems_.add(value["num_threadblocks"].where(), "must be the {} of the barrier elsewhere, got {}",
                      p_.barriers[static_cast<std::size_t>(found->second)], meeting);
      operation.ids.push_back(found->second);
    }
  }

  void read_sums(Rank rank, const PlanValue& value, const Kind& kind, ChannelType type, PlanOperation& operation) {
    if (value.has("reduce_op") && value["reduce_op"].text() != "sum")
      problems_.add(value["reduce_op"].where(), "must be sum: what adds is chosen when a schedule is run");
    std::vector<PlanRange> sources, results;
    const std::pair part = group_part(value);
    const auto read_all = [&](const PlanValue& list, int packets, std::vector<PlanRange>& out) {
      for (const PlanValue& place : list.elements()) {
        out.push_back(read_place(rank, place, type, part));
        out.back().packet = static_cast<int>(out.size()) > packets;
      }
      if (out.empty()) problems_.add(list.where(), "must name at least one buffer for {}", operation.name);
    };
    read_all(value["src_buff"], kind.source_packets, sources);
    read_all(value["dst_buff"], kind.result_packets, results);
    if (sources.empty() || results.empty()) return;
    for (const std::vector<PlanRange>* ranges : {&sources, &results})
      for (const PlanRange& range : *ranges) {
        touched_ += range.count;
        if (range.count != sources.front().count)
          return problems_.add(value.where(), "sources and destinations of {} must be of one size, got {} and {}", operation.name,
                               sources.front().count / parts_, range.count / parts_);
        if (range.packet && range.buffer != BufferKind::scratch)
          return problems_.add(value.where(), "packets of {} must be in scratch", operation.name);
      }
    if (touched_ > most_touched)
      throw InputError(fmt::format("{}: the operations up to here move more than {} chunks", value.where(), most_touched));
    if (kind.layout == Layout::pairs) {
      if (sources.size() != results.size())
        return problems_.add(value.where(), "{} must have as many sources as destinations, got {} and {}", operation.name, sources.size(),
                             results.size());
      for (std::size_t i = 0; i < sources.size(); ++i) operation.sums.push_back({{sources[i]}, {results[i]}});
    } else {
      if (kind.layout == Layout::forward && sources.size() != 1)
        return problems_.add(value.where(), "{} must have one source, got {}", operation.name, sources.size());
      operation.sums.push_back({std::move(sources), std::move(results)});
    }
    refuse_far_places(rank, value, operation);
  }

  // A GPU moves what it holds, or to where it holds it.
  void refuse_far_places(Rank rank, const PlanValue& value, const PlanOperation& operation) {
    for (const PlanSum& sum : operation.sums) {
      const bool far_sources = std::ranges::any_of(sum.sources, [&](const PlanRange& s) { return s.rank != rank; });
      if ((sum.sources.size() > 1 || far_sources) && sum.results.front().rank != rank)
        problems_.add(value.where(), "the first destination of {} must be of the GPU itself", operation.name);
    }
  }

  // Which part of a thread block's group it is, of how many.
  std::pair<int, int> group_part(const PlanValue& value) {
    if (!value.has("tbg_info")) return {0, 1};
    const auto size = static_cast<int>(value["tbg_info"]["tbg_size"].number(1, most_parts));
    return {static_cast<int>(value["tbg_info"]["tb_id"].number(0, size - 1)), size};
  }

  PlanRange read_place(Rank rank, const PlanValue& place, ChannelType type, std::pair<int, int> part) {
    PlanRange out{.rank = rank};
    if (place.has("switch_channel_id")) {
      problems_.add(place.where(), "is memory of several GPUs at once (NVLS multicast), which a schedule does not have");
    } else if (place.has("buffer_id")) {
      const std::vector<int>& known = references_[type].buffers;
      if (const auto one = below(place["buffer_id"], static_cast<std::int64_t>(known.size()), "remote buffers of the thread block")) {
        const RemoteBuffer& remote = remote_[rank][static_cast<std::size_t>(known[static_cast<std::size_t>(*one)])];
        out.rank = remote.rank, out.buffer = remote.buffer;
      }
    } else {
      out.buffer = buffer_of(place["type"]);
    }
    const std::int64_t index = place["index"].number(0, most_chunks), size = place["size"].number(1, most_chunks);
    const std::int64_t there = p_.map.size_of(out.buffer) / parts_;
    if (index + size > there) {
      problems_.add(place.where(), "chunks {} to {} of buffer {} must be among its {}", index, index + size - 1,
                    static_cast<char>(out.buffer), there);
      return out;
    }
    const int piece = static_cast<int>(size) * parts_ / part.second;
    out.first = static_cast<int>(index) * parts_ + piece * part.first;
    out.count = piece;
    return out;
  }

  // "channel.step.position" of Weft's schedule.
  void read_own_words(const PlanValue& value, PlanOperation& operation) {
    std::vector<std::int64_t> numbers;
    for (const PlanValue& number : value.elements()) numbers.push_back(number.number(0, most_said));
    if (numbers.size() != 3) return problems_.add(value.where(), "must be a channel, a step and a place in it, such as [0, 2, 5]");
    operation.said = PlanPosition{static_cast<int>(numbers[0]), static_cast<int>(numbers[1]), static_cast<int>(numbers[2])};
  }

  MscclppPlan p_;
  PlanProblems problems_;
  int parts_ = 1;  // of a chunk
  std::int64_t touched_ = 0;
  std::map<std::tuple<Rank, Rank, ChannelType, int>, int> ways_;
  std::map<std::pair<Rank, ChannelType>, GpuChannels> channels_;
  std::map<Rank, std::vector<RemoteBuffer>> remote_;
  std::vector<int> semaphores_;                   // the first of each GPU
  std::map<std::int64_t, int> barriers_;          // of the GPU that is read
  std::map<ChannelType, References> references_;  // of the thread block that is read
};

}  // namespace

MscclppPlan parse_mscclpp(std::string_view text) {
  nlohmann::json json;
  try {
    json = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw InputError(fmt::format("is no JSON: {}", error.what()));
  }
  return Parser().parse(json);
}

}  // namespace weft

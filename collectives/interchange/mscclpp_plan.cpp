#include "collectives/interchange/mscclpp_plan.hpp"

#include "collectives/interchange/mscclpp_kinds.hpp"
#include "collectives/interchange/mscclpp_wiring.hpp"
#include "kernels/base/json_problem.hpp"
#include "kernels/base/xml.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace weft {
namespace {

constexpr int max_mscclpp_chunks = 1 << 22, max_parts = 1 << 10, max_said = 1 << 20;
constexpr std::int64_t max_touched = std::int64_t{1} << 26;  // chunks of all operations together

class MscclppParser {
 public:
  MscclppPlan parse(const nlohmann::json& json) {
    const PlanValue plan(json, "", problems_);
    if (!json.is_object()) throw InputError("must be an object: an execution plan of MSCCL++");
    read_plan(plan);
    problems_.refuse();
    const auto gpus = plan["gpus"].elements();
    for (Rank r = 0; r < p_.map.ranks; ++r) wiring_.read_gpu(r, gpus[static_cast<std::size_t>(r)]);
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
    if (gpus.empty() || gpus.size() > max_mscclpp_gpus)
      problems_.add("/gpus", "must be 1 to {} GPUs, got {}", max_mscclpp_gpus, gpus.size());
    p_.map.ranks = static_cast<int>(gpus.size());
    p_.root = static_cast<Rank>(plan["root"].number_or(0, 0, std::max(0, p_.map.ranks - 1)));
    for (std::size_t r = 0; r < gpus.size() && r < max_mscclpp_gpus; ++r) {
      if (gpus[r].has("inputChunks") || gpus[r].has("channels") == false)
        problems_.add(gpus[r].where(), "has no \"channels\": plans are read as MSCCL++ writes them since its version 0.7");
      if (gpus[r]["id"].number(0, max_mscclpp_gpus) != static_cast<std::int64_t>(r))
        problems_.add(gpus[r]["id"].where(), "must be {}, its place among the GPUs", r);
    }
  }

  void find_chunks(const std::vector<PlanValue>& gpus) {
    BufferMap& map = p_.map;
    std::int64_t chunks = 0;
    const auto whole = [&](const PlanValue& value, bool one_block) {
      const std::int64_t all = value.number_or(0, 0, max_mscclpp_chunks) * (one_block ? map.ranks : 1);
      if (all == 0) return;
      if (chunks != 0 && all != chunks)
        problems_.add(value.where(), "{}must be the {} chunks of the message, got {}",
                      one_block ? fmt::format("times the {} GPUs ", map.ranks) : "", chunks, all);
      chunks = chunks == 0 ? all : chunks;
    };
    for (const PlanValue& gpu : gpus) {
      whole(gpu["input_chunks"], map.collective == Collective::allgather);
      whole(gpu["output_chunks"], map.collective == Collective::reduce_scatter);
      map.scratch = std::max(map.scratch, static_cast<int>(gpu["scratch_chunks"].number_or(0, 0, max_mscclpp_chunks)));
    }
    find_parts(gpus);
    if (chunks < 1 || std::max<std::int64_t>(chunks, map.scratch) * parts_ > max_mscclpp_chunks)
      return problems_.add("/gpus", "a message must have 1 to {} chunks (input_chunks, output_chunks), got {}{}",
                           max_mscclpp_chunks / parts_, chunks,
                           parts_ > 1 ? fmt::format(", each in {} parts for groups of thread blocks", parts_) : "");
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
          const std::int64_t parts = std::lcm(std::int64_t{parts_}, size.number(1, max_parts));
          if (parts > max_parts)
            return problems_.add(size.where(), "groups of thread blocks cut a chunk into {} parts, more than {}", parts, max_parts);
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
    wiring_.begin_gpu(rank);
    for (const PlanValue& value : gpu["threadblocks"].elements()) {
      const auto id = static_cast<std::size_t>(value["id"].number(0, max_plan_ids));
      if (there.size() <= id) there.resize(id + 1);
      if (there[id]) problems_.add(value["id"].where(), "thread block {} is there already", id);
      there[id] = true;
      p_.blocks.push_back({.gpu = rank, .id = static_cast<int>(id)});
      wiring_.begin_block(value);
      each_operation(value, [&](const PlanValue& operation) { read_operation(rank, operation); });
    }
  }

  void read_operation(Rank rank, const PlanValue& value) {
    PlanBlock& block = p_.blocks.back();
    PlanOperation operation{.name = value["name"].text(), .number = static_cast<int>(block.operations.size())};
    const PlanOperationKind* kind = plan_operation(operation.name);
    if (kind == nullptr) {
      if (!operation.name.empty()) problems_.add(value["name"].where(), "{}", unknown_plan_operation(operation.name));
    } else {
      const PlanChannel type = value.has("channel_type") ? wiring_.type_of(value["channel_type"]) : PlanChannel::other;
      wiring_.read_sync(value, kind->sync, type, operation);
      if (kind->layout != PlanLayout::none) read_sums(rank, value, *kind, type, operation);
      if (value.has("weft")) read_own_words(value["weft"], operation);
    }
    block.operations.push_back(std::move(operation));
  }

  void read_sums(Rank rank, const PlanValue& value, const PlanOperationKind& kind, PlanChannel type, PlanOperation& operation) {
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
    if (touched_ > max_touched)
      throw InputError(fmt::format("{}: the operations up to here move more than {} chunks", value.where(), max_touched));
    if (kind.layout == PlanLayout::pairs) {
      if (sources.size() != results.size())
        return problems_.add(value.where(), "{} must have as many sources as destinations, got {} and {}", operation.name, sources.size(),
                             results.size());
      for (std::size_t i = 0; i < sources.size(); ++i) operation.sums.push_back({{sources[i]}, {results[i]}});
    } else {
      if (kind.layout == PlanLayout::forward && sources.size() != 1)
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
    const auto size = static_cast<int>(value["tbg_info"]["tbg_size"].number(1, max_parts));
    return {static_cast<int>(value["tbg_info"]["tb_id"].number(0, size - 1)), size};
  }

  PlanRange read_place(Rank rank, const PlanValue& place, PlanChannel type, std::pair<int, int> part) {
    PlanRange out{.rank = rank};
    if (place.has("switch_channel_id")) {
      problems_.add(place.where(), "is memory of several GPUs at once (NVLS multicast), which a schedule does not have");
    } else if (place.has("buffer_id")) {
      if (const auto remote = wiring_.remote(place["buffer_id"], type)) out.rank = remote->rank, out.buffer = remote->buffer;
    } else {
      out.buffer = wiring_.buffer_of(place["type"]);
    }
    const std::int64_t index = place["index"].number(0, max_mscclpp_chunks), size = place["size"].number(1, max_mscclpp_chunks);
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
    for (const PlanValue& number : value.elements()) numbers.push_back(number.number(0, max_said));
    if (numbers.size() != 3) return problems_.add(value.where(), "must be a channel, a step and a place in it, such as [0, 2, 5]");
    operation.said = PlanPosition{static_cast<int>(numbers[0]), static_cast<int>(numbers[1]), static_cast<int>(numbers[2])};
  }

  MscclppPlan p_;
  PlanProblems problems_;
  int parts_ = 1;  // of a chunk
  std::int64_t touched_ = 0;
  PlanWiring wiring_{p_, problems_};
};

}  // namespace

MscclppPlan parse_mscclpp(std::string_view text) { return MscclppParser().parse(json_of<nlohmann::json>(text)); }

}  // namespace weft

#include "collectives/interchange/msccl_program.hpp"

#include "kernels/base/xml.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace weft {
namespace {

constexpr int max_msccl_gpus = 1 << 14, max_msccl_chunks = 1 << 24, max_channels = 1 << 10, max_blocks = 1 << 20;

constexpr std::array<std::pair<std::string_view, MscclStep>, 9> types = {{
    {"nop", {}},
    {"s", {.sends = true}},
    {"r", {.receives = true, .stores = true}},
    {"rcs", {.receives = true, .stores = true, .sends = true}},
    {"rrs", {.receives = true, .reduces = true, .sends = true}},
    {"rrc", {.receives = true, .reduces = true, .stores = true}},
    {"rrcs", {.receives = true, .reduces = true, .stores = true, .sends = true}},
    {"cpy", {.stores = true, .local = true}},
    {"re", {.reduces = true, .stores = true, .local = true}},
}};

class MscclParser {
 public:
  MscclProgram parse(const XmlElement& algo) {
    if (algo.name != "algo") throw InputError(fmt::format("line {}: must be <algo>, got <{}>", algo.line, algo.name));
    read_algo(algo);
    for (const XmlElement& child : algo.children)
      if (child.name == "gpu") read_gpu(child);
    problems_.refuse();
    for (std::size_t g = 0; g < p_.gpus.size(); ++g)
      if (p_.gpus[g].line == 0) problems_.add(algo.line, "has no <gpu> with id {} of {}", g, p_.gpus.size());
    find_chunks(algo);
    problems_.refuse();
    for (std::size_t g = 0; g < p_.gpus.size(); ++g) check_gpu(static_cast<Rank>(g));
    problems_.refuse();
    return std::move(p_);
  }

 private:
  void read_algo(const XmlElement& algo) {
    XmlReader in(algo, problems_);
    const std::string* name = algo.attribute("name");
    p_.name = name == nullptr || name->empty() ? "msccl" : *name;
    p_.map.ranks = static_cast<int>(in.number("ngpus", 1, max_msccl_gpus));
    p_.gpus.resize(static_cast<std::size_t>(p_.map.ranks));
    p_.root = static_cast<Rank>(in.number_or("root", 0, 0, p_.map.ranks - 1));
    p_.channels = static_cast<int>(in.number_or("nchannels", 1, 0, max_channels));
    const bool only_out_of_place = in.number_or("outofplace", 0, 0, 1) == 1;
    p_.map.in_place = in.number_or("inplace", only_out_of_place ? 0 : 1, 0, 1) == 1;
    nchunksperloop_ = static_cast<int>(in.number_or("nchunksperloop", 0, 0, max_msccl_chunks));
    const std::string coll = in.text("coll");
    if (coll.empty()) return;
    if (const auto found = collective_written(coll))
      p_.map.collective = *found;
    else
      problems_.add(algo.line, "coll must be one of allreduce, allgather, reduce_scatter, alltoall, broadcast, reduce, got {}{}",
                    shown_value(coll), coll == "custom" ? ": nothing says what a custom collective should do" : "");
  }

  void read_gpu(const XmlElement& element) {
    XmlReader in(element, problems_);
    const auto id = in.number("id", 0, p_.map.ranks - 1);
    MscclGpu& gpu = p_.gpus[static_cast<std::size_t>(id)];
    if (gpu.line != 0) return problems_.add(element.line, "gpu {} stands in line {} already", id, gpu.line);
    gpu.line = element.line;
    i_chunks_ = std::max(i_chunks_, static_cast<int>(in.number_or("i_chunks", 0, 0, max_msccl_chunks)));
    o_chunks_ = std::max(o_chunks_, static_cast<int>(in.number_or("o_chunks", 0, 0, max_msccl_chunks)));
    p_.map.scratch = std::max(p_.map.scratch, static_cast<int>(in.number_or("s_chunks", 0, 0, max_msccl_chunks)));
    for (const XmlElement& child : element.children)
      if (child.name == "tb") gpu.blocks.push_back(read_block(child, static_cast<Rank>(id)));
  }

  MscclBlock read_block(const XmlElement& element, Rank rank) {
    XmlReader in(element, problems_);
    MscclBlock block{.line = element.line};
    block.id = static_cast<int>(in.number("id", 0, max_blocks));
    block.send = static_cast<int>(in.number_or("send", -1, -1, p_.map.ranks - 1));
    block.receive = static_cast<int>(in.number_or("recv", -1, -1, p_.map.ranks - 1));
    block.channel = static_cast<int>(in.number_or("chan", 0, -1, max_channels - 1));
    if (block.channel < 0 && (block.send >= 0 || block.receive >= 0)) problems_.add(element.line, "chan must be a channel, got -1");
    block.channel = std::max(block.channel, 0);
    p_.channels = std::max(p_.channels, block.channel + 1);
    if (block.send == rank || block.receive == rank)
      problems_.add(element.line, "the peer of a thread block must be another GPU, got {}, its own", rank);
    for (const XmlElement& child : element.children)
      if (child.name == "step" || child.name == "op") block.steps.push_back(read_step(child));
    return block;
  }

  MscclStep read_step(const XmlElement& element) {
    XmlReader in(element, problems_);
    const std::string type = in.text("type");
    const auto known = msccl_type(type);
    if (!known) {
      std::vector<std::string_view> names;
      for (const auto& [name, step] : types) names.push_back(name);
      problems_.add(element.line, "type must be one of {}, got {}", fmt::join(names, ", "), shown_value(type));
    }
    MscclStep step = known.value_or(MscclStep{});
    step.line = element.line;
    step.number = static_cast<int>(in.number(element.attribute("s") != nullptr ? "s" : "step", 0, max_blocks));
    step.count = static_cast<int>(in.number_or("cnt", 1, step.is_nop() ? 0 : 1, max_msccl_chunks));
    step.wait_block = static_cast<int>(in.number_or("depid", -1, -1, max_blocks));
    step.wait_step = static_cast<int>(in.number_or("deps", -1, -1, max_blocks));
    if (step.is_nop()) return step;
    const bool old_dialect = element.attribute("srcbuf") != nullptr || element.attribute("dstbuf") != nullptr;
    if (!old_dialect && step.local) problems_.add(element.line, "{} must say srcbuf and dstbuf", type);
    const bool plain_send = step.sends && !step.receives;
    if (!old_dialect) {
      step.source = step.destination = read_place(element, "buf", "off");
    } else {
      if (plain_send || step.reduces || step.local) step.source = read_place(element, "srcbuf", "srcoff");
      if (step.stores) step.destination = read_place(element, "dstbuf", "dstoff");
    }
    read_own_words(element, step);
    return step;
  }

  MscclPlace read_place(const XmlElement& element, const char* buffer, const char* offset) {
    XmlReader in(element, problems_);
    const std::string name = in.text(buffer);
    MscclPlace place;
    if (name == "i" || name == "o" || name == "s")
      place.buffer = static_cast<BufferKind>(name.front());
    else if (!name.empty())
      problems_.add(element.line, "{} must be i, o or s, got {}", buffer, shown_value(name));
    place.offset = static_cast<int>(in.number(offset, 0, max_msccl_chunks));
    return place;
  }

  // "step.position" of Weft's schedule.
  void read_own_words(const XmlElement& element, MscclStep& step) {
    const std::string* said = element.attribute("weft");
    if (said == nullptr) return;
    const std::size_t dot = std::min(said->find('.'), said->size());
    const auto number = whole_number(std::string_view(*said).substr(0, dot));
    const auto position = whole_number(std::string_view(*said).substr(std::min(dot + 1, said->size())));
    const auto in_range = [](const auto& n) { return n && *n >= 0 && *n < 1 << 20; };
    if (!in_range(number) || !in_range(position))
      return problems_.add(element.line, "weft must be a step and a place in it, such as \"2.5\", got {}", shown_value(*said));
    step.step = static_cast<int>(*number), step.position = static_cast<int>(*position);
  }

  void find_chunks(const XmlElement& algo) {
    BufferMap& map = p_.map;
    const auto whole = [&](const char* attribute, int written, bool one_block) {
      if (written == 0) return;
      const std::int64_t all = std::int64_t{written} * (one_block ? map.ranks : 1);
      if (chunks_ != 0 && all != chunks_)
        problems_.add(algo.line, "{} of the GPUs{} must be the {} chunks of the message, got {}", attribute,
                      one_block ? fmt::format(" times {}", map.ranks) : "", chunks_, all);
      if (chunks_ == 0) chunks_ = all;
    };
    chunks_ = nchunksperloop_;
    whole("i_chunks", i_chunks_, map.collective == Collective::allgather);
    whole("o_chunks", o_chunks_, map.collective == Collective::reduce_scatter);
    if (chunks_ < 1 || chunks_ > max_msccl_chunks)
      return problems_.add(algo.line, "a message must have 1 to {} chunks (nchunksperloop, i_chunks, o_chunks), got {}", max_msccl_chunks,
                           chunks_);
    map.chunks = static_cast<int>(chunks_);
    const bool blocks =
        map.collective == Collective::allgather || map.collective == Collective::reduce_scatter || map.collective == Collective::alltoall;
    if (blocks && map.chunks % map.ranks != 0)
      problems_.add(algo.line, "the {} chunks of the message must be a multiple of the {} GPUs for {}", map.chunks, map.ranks,
                    name_of(map.collective));
  }

  void check_gpu(Rank rank) {
    const MscclGpu& gpu = p_.gpus[static_cast<std::size_t>(rank)];
    std::map<int, const MscclBlock*> by_id;
    std::set<std::pair<int, int>> sends, receives;
    for (const MscclBlock& b : gpu.blocks) {
      if (!by_id.emplace(b.id, &b).second) problems_.add(b.line, "thread block {} of gpu {} is there already", b.id, rank);
      if (b.send >= 0 && !sends.emplace(b.send, b.channel).second)
        problems_.add(b.line, "another thread block of gpu {} sends to gpu {} on channel {} already", rank, b.send, b.channel);
      if (b.receive >= 0 && !receives.emplace(b.receive, b.channel).second)
        problems_.add(b.line, "another thread block of gpu {} receives from gpu {} on channel {} already", rank, b.receive, b.channel);
    }
    for (const MscclBlock& b : gpu.blocks) {
      int last = -1;
      for (const MscclStep& s : b.steps) {
        if (s.number <= last) problems_.add(s.line, "steps must be in ascending order, got {} after {}", s.number, last);
        last = s.number;
        check_step(rank, b, s, by_id);
      }
    }
  }

  void check_step(Rank rank, const MscclBlock& b, const MscclStep& s, const std::map<int, const MscclBlock*>& by_id) {
    if (s.sends && b.send < 0) problems_.add(s.line, "sends, and thread block {} of gpu {} has no peer to send to", b.id, rank);
    if (s.receives && b.receive < 0)
      problems_.add(s.line, "receives, and thread block {} of gpu {} has no peer to receive from", b.id, rank);
    const auto inside = [&](const MscclPlace& place) {
      const int size = p_.map.size_of(place.buffer);
      if (std::int64_t{place.offset} + s.count > size)
        problems_.add(s.line, "chunks {} to {} of buffer {} must be among its {}", place.offset, std::int64_t{place.offset} + s.count - 1,
                      static_cast<char>(place.buffer), size);
    };
    if (!s.is_nop() && ((s.sends && !s.receives) || s.reduces || s.local)) inside(s.source);
    if (s.stores) inside(s.destination);
    if (s.wait_block < 0) return;
    const auto found = by_id.find(s.wait_block);
    const bool there =
        found != by_id.end() && std::ranges::any_of(found->second->steps, [&](const MscclStep& o) { return o.number == s.wait_step; });
    if (!there) problems_.add(s.line, "waits for step {} of thread block {}, which gpu {} does not have", s.wait_step, s.wait_block, rank);
  }

  MscclProgram p_;
  LineProblems problems_;
  int nchunksperloop_ = 0, i_chunks_ = 0, o_chunks_ = 0;
  std::int64_t chunks_ = 0;
};

}  // namespace

bool MscclProgram::passes_sums_on() const {
  for (const MscclGpu& gpu : gpus)
    for (const MscclBlock& block : gpu.blocks)
      for (const MscclStep& step : block.steps)
        if (step.receives && step.reduces && !step.stores) return true;
  return false;
}

std::optional<MscclStep> msccl_type(std::string_view type) {
  for (const auto& [name, step] : types)
    if (name == type) return step;
  return std::nullopt;
}

MscclProgram parse_msccl(std::string_view text) { return MscclParser().parse(read_xml(text)); }

}  // namespace weft

#include "kernels/base/gather.hpp"
#include "models/traces/goal.hpp"
#include "models/traces/goal_rank.hpp"

#include <bit>
#include <cstring>
#include <utility>

namespace weft {
namespace {

static_assert(std::endian::native == std::endian::little, "GOAL's binary is little-endian");

constexpr std::uint64_t magic = 4223;
constexpr std::size_t node_bytes = 39;
constexpr std::uint32_t any = UINT32_MAX;

// Bytes that are read one after another; nothing is read behind the end.
class Cursor {
 public:
  Cursor(std::string_view bytes, const std::string& place) : bytes_(bytes), place_(place) {}

  template <class T>
  T take() {
    if (bytes_.size() - at_ < sizeof(T)) throw InputError(fmt::format("{}: breaks off at byte {}", place_, at_));
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  std::size_t left() const { return bytes_.size() - at_; }
  void skip(std::size_t count) { at_ += std::min(count, left()); }

 private:
  std::string_view bytes_;
  const std::string& place_;
  std::size_t at_ = 0;
};

struct Node {
  std::uint8_t type = 0, cpu = 0;
  std::uint32_t peer = 0, tag = 0;
  std::uint64_t size = 0;
  std::uint32_t ends = 0, first_end = 0, starts = 0, first_start = 0;  // who waits for it, in the appendix
};

Node take_node(Cursor& in) {
  Node n;
  in.take<std::uint32_t>();  // how many it waits for: follows from the others
  n.type = in.take<std::uint8_t>();
  n.peer = in.take<std::uint32_t>();
  n.size = in.take<std::uint64_t>();
  n.tag = in.take<std::uint32_t>();
  n.cpu = in.take<std::uint8_t>();
  in.take<std::uint8_t>();  // NIC
  n.ends = in.take<std::uint32_t>();
  n.first_end = in.take<std::uint32_t>();
  n.starts = in.take<std::uint32_t>();
  n.first_start = in.take<std::uint32_t>();
  return n;
}

TracedOperation operation_of(const Node& n, std::uint32_t index, std::uint32_t ranks, const std::string& place) {
  TracedOperation o{.record = index};
  const auto refuse = [&](const std::string& what) { throw InputError(fmt::format("{}, operation {}: {}", place, index, what)); };
  switch (n.type) {
    case 1:
      o.kind = TracedOperation::Kind::send;
      break;
    case 2:
      o.kind = TracedOperation::Kind::receive;
      break;
    case 3:
      if (n.size > longest_goal_ns) refuse(fmt::format("lasts {} ns; at most {} (104 days) can be simulated", n.size, longest_goal_ns));
      o.duration = {static_cast<std::int64_t>(n.size) * 1000};
      o.unit = n.cpu;
      return o;
    default:
      refuse(fmt::format("is of type {}; there are 1 (send), 2 (receive) and 3 (calculation)", n.type));
  }
  const bool receives = o.kind == TracedOperation::Kind::receive;
  if (n.peer >= ranks && !(receives && n.peer == any)) refuse(fmt::format("is a message with rank {}, of {}", n.peer, ranks));
  if (n.tag > static_cast<std::uint32_t>(std::numeric_limits<int>::max()) && !(receives && n.tag == any))
    refuse(fmt::format("has tag {}", n.tag));
  if (n.size > static_cast<std::uint64_t>(max_traced_bytes))
    refuse(fmt::format("is of {} bytes; at most {} can be simulated", n.size, max_traced_bytes));
  o.peer = n.peer == any ? TracedOperation::any_rank : static_cast<Rank>(n.peer);
  o.tag = n.tag == any ? TracedOperation::any_tag : static_cast<int>(n.tag);
  o.bytes = static_cast<std::int64_t>(n.size);
  return o;
}

// What is wrong with its operations comes to `problems`, and the rank is then of no use.
TracedRank rank_of(std::string_view bytes, Rank rank, std::uint32_t ranks, const std::string& file, std::vector<std::string>& problems) {
  const std::size_t before = problems.size();
  const std::string place = fmt::format("{}: rank {}", file, rank);
  Cursor in(bytes, place);
  const auto count = in.take<std::uint32_t>(), roots = in.take<std::uint32_t>();
  in.skip(std::size_t{roots} * sizeof(std::uint32_t));
  if (in.left() / node_bytes < count) throw InputError(fmt::format("{}: {} operations do not fit into {} bytes", place, count, in.left()));
  GoalRank out(rank, place, "operation");
  std::vector<Node> nodes;
  for (std::uint32_t i = 0; i < count && problems.size() < max_problems_of_a_file; ++i) {
    nodes.push_back(take_node(in));
    gather(problems, [&] { out.add(operation_of(nodes.back(), i, ranks, place)); });
  }
  if (problems.size() > before) return {};
  std::vector<std::uint32_t> appendix(in.left() / sizeof(std::uint32_t));
  for (std::uint32_t& entry : appendix) entry = in.take<std::uint32_t>();
  const auto followers = [&](std::uint32_t first, std::uint32_t number) {
    if (number == 0) return std::span<const std::uint32_t>{};
    if (first > appendix.size() || number > appendix.size() - first)
      throw InputError(fmt::format("{}: names {} followers from {} on, of {}", place, number, first, appendix.size()));
    return std::span<const std::uint32_t>(appendix).subspan(first, number);
  };
  const auto known = [&](std::uint32_t follower) {
    if (follower >= count) throw InputError(fmt::format("{}: names operation {}, of {}", place, follower, count));
    return follower;
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    for (const std::uint32_t next : followers(nodes[i].first_end, nodes[i].ends)) out.wait_for_end(known(next), i);
    for (const std::uint32_t next : followers(nodes[i].first_start, nodes[i].starts)) out.wait_for_start(known(next), i);
  }
  return out.finish();
}

}  // namespace

bool looks_like_goal_binary(std::string_view bytes) {
  std::uint64_t first = 0;
  if (bytes.size() < sizeof(first)) return false;
  std::memcpy(&first, bytes.data(), sizeof(first));
  return first == magic;
}

TraceFile parse_goal_binary(std::string_view bytes, const std::string& file) {
  bytes.remove_prefix(sizeof(magic));  // offsets count from behind it
  Cursor in(bytes, file);
  const auto ranks = in.take<std::uint32_t>();
  in.take<std::uint8_t>();  // the most CPUs and NICs of a rank
  in.take<std::uint8_t>();
  if (ranks == 0 || ranks > max_goal_ranks)
    throw InputError(fmt::format("{}: must be of 1 to {} ranks, got {}", file, max_goal_ranks, ranks));
  TraceFile out{.format = "GOAL", .world = static_cast<int>(ranks)};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> extents;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const auto begin = in.take<std::uint64_t>();
    extents.emplace_back(begin, in.take<std::uint64_t>());
  }
  std::vector<std::string> problems;
  for (std::uint32_t rank = 0; rank < ranks && problems.size() < max_problems_of_a_file; ++rank)
    gather(problems, [&] {
      const auto [begin, end] = extents[rank];
      if (begin > end || end > bytes.size())
        throw InputError(fmt::format("{}: rank {}: must lie within {} bytes, got {} to {}", file, rank, bytes.size(), begin, end));
      out.ranks.push_back(rank_of(bytes.substr(begin, end - begin), static_cast<Rank>(rank), ranks, file, problems));
    });
  if (!problems.empty()) throw InputError(std::move(problems));
  return out;
}

}  // namespace weft

#include "collectives/interchange/mscclpp_wiring.hpp"

#include "kernels/base/xml.hpp"

namespace weft {

PlanChannel PlanWiring::type_of(const PlanValue& value) {
  const std::string type = value.text();
  if (type == "memory") return PlanChannel::memory;
  if (type == "port") return PlanChannel::port;
  if (type != "switch" && type != "none" && !type.empty())
    problems_.add(value.where(), "must be memory, port, switch or none, got {}", shown_value(type));
  return PlanChannel::other;
}

BufferKind PlanWiring::buffer_of(const PlanValue& value) {
  const std::string name = value.text();
  if (name == "i" || name == "o" || name == "s") return static_cast<BufferKind>(name.front());
  if (!name.empty()) problems_.add(value.where(), "must be i, o or s, got {}", shown_value(name));
  return BufferKind::input;
}

int PlanWiring::way(Rank from, Rank to, PlanChannel type, int index) {
  const auto [found, added] = ways_.try_emplace({from, to, type, index}, static_cast<int>(plan_.ways.size()));
  if (added) plan_.ways.push_back({from, to});
  return found->second;
}

// The k-th channel of one GPU to another and the k-th of that one back, of one type, are the two ends of one.
void PlanWiring::read_gpu(Rank rank, const PlanValue& gpu) {
  std::map<std::pair<Rank, PlanChannel>, int> count;
  for (const PlanValue& channel : gpu["channels"].elements()) {
    const PlanChannel type = type_of(channel["channel_type"]);
    if (type == PlanChannel::other) continue;
    Channels& all = channels_[{rank, type}];
    for (const PlanValue& peer : channel["connected_to"].elements()) {
      const auto to = static_cast<Rank>(peer.number(0, plan_.map.ranks - 1));
      if (to == rank) problems_.add(peer.where(), "must be another GPU, got {}, its own", rank);
      const int index = count[{to, type}]++;
      all.peers.push_back(to);
      all.out.push_back(way(rank, to, type, index));
      all.in.push_back(way(to, rank, type, index));
    }
  }
  for (const PlanValue& remote : gpu["remote_buffers"].elements())
    remote_[rank].push_back({static_cast<Rank>(remote["rank"].number(0, plan_.map.ranks - 1)), buffer_of(remote["type"])});
  semaphores_.push_back(static_cast<int>(plan_.semaphores.size()));
  for (const PlanValue& semaphore : gpu["semaphores"].elements())
    plan_.semaphores.push_back(static_cast<int>(semaphore["init_value"].number_or(0, 0, max_plan_ids)));
}

void PlanWiring::begin_block(const PlanValue& block) {
  references_.clear();
  for (const PlanValue& channel : block["channels"].elements()) {
    const PlanChannel type = type_of(channel["channel_type"]);
    if (type == PlanChannel::other) continue;
    const auto there = static_cast<std::int64_t>(channels_[{gpu_, type}].peers.size());
    for (const PlanValue& id : channel["channel_ids"].elements())
      if (const auto one = below(id, there, "channels of its type")) references_[type].channels.push_back(*one);
  }
  for (const PlanValue& reference : block["remote_buffer_refs"].elements())
    for (const PlanValue& id : reference["remote_buffer_ids"].elements())
      if (const auto one = below(id, static_cast<std::int64_t>(remote_[gpu_].size()), "remote buffers"))
        references_[type_of(reference["access_channel_type"])].buffers.push_back(*one);
}

// Where a remote buffer of the thread block that is read is.
std::optional<PlanRemote> PlanWiring::remote(const PlanValue& id, PlanChannel type) {
  const std::vector<int>& known = references_[type].buffers;
  const auto one = below(id, std::ssize(known), "remote buffers of the thread block");
  if (!one) return std::nullopt;
  return remote_[gpu_][static_cast<std::size_t>(known[static_cast<std::size_t>(*one)])];
}

std::optional<int> PlanWiring::below(const PlanValue& id, std::int64_t count, std::string_view what) {
  const std::int64_t value = id.number(0, max_plan_ids);
  if (value < count) return static_cast<int>(value);
  problems_.add(id.where(), "must be one of the {} {}, got {}", count, what, value);
  return std::nullopt;
}

void PlanWiring::read_sync(const PlanValue& value, PlanSync sync, PlanChannel type, PlanOperation& operation) {
  operation.sync = sync;
  if (sync == PlanSync::signal || sync == PlanSync::wait) {
    const std::vector<int>& known = references_[type].channels;
    const Channels& all = channels_[{gpu_, type}];
    if (!value.has("channel_ids")) problems_.add(value.where(), "{} must have \"channel_ids\"", operation.name);
    for (const PlanValue& id : value["channel_ids"].elements())
      if (const auto one = below(id, static_cast<std::int64_t>(known.size()), "channels of its type of the thread block"))
        operation.ids.push_back(
            (sync == PlanSync::signal ? all.out : all.in)[static_cast<std::size_t>(known[static_cast<std::size_t>(*one)])]);
  }
  if (sync == PlanSync::acquire || sync == PlanSync::release) {
    const int begin = semaphores_[static_cast<std::size_t>(gpu_)];
    const int end = static_cast<std::size_t>(gpu_) + 1 < semaphores_.size() ? semaphores_[static_cast<std::size_t>(gpu_) + 1]
                                                                            : static_cast<int>(plan_.semaphores.size());
    for (const PlanValue& id : value["semaphore_ids"].elements())
      if (const auto one = below(id, end - begin, "semaphores of the GPU")) operation.ids.push_back(begin + *one);
  }
  if (sync == PlanSync::barrier) {
    const auto meeting = static_cast<int>(value["num_threadblocks"].number(1, max_plan_ids));
    const auto [found, added] = barriers_.try_emplace(value["barrier_id"].number(0, max_plan_ids), static_cast<int>(plan_.barriers.size()));
    if (added) plan_.barriers.push_back(meeting);
    if (plan_.barriers[static_cast<std::size_t>(found->second)] != meeting)
      problems_.add(value["num_threadblocks"].where(), "must be the {} of the barrier elsewhere, got {}",
                    plan_.barriers[static_cast<std::size_t>(found->second)], meeting);
    operation.ids.push_back(found->second);
  }
}

}  // namespace weft

#include "collectives/training/parameter_servers.hpp"

#include "kernels/reduce.hpp"

#include <cstring>
#include <utility>

namespace weft {
namespace {

enum class Way : std::uint64_t { push, pull };

std::uint64_t message_of(Way way, int order) { return static_cast<std::uint64_t>(order) * 2 + static_cast<std::uint64_t>(way); }
Way way_of(std::uint64_t what) { return static_cast<Way>(what % 2); }
int order_of(std::uint64_t what) { return static_cast<int>(what / 2); }

}  // namespace

ParameterServers::ParameterServers(const RankLinks& links, int first_channel, Heard heard)
    : links_(links), heard_(std::move(heard)), from_(static_cast<std::size_t>(links.all())) {
  const std::lock_guard lock(mutex_);  // whoever hears of a push at once waits until there is something to answer with
  peers_.emplace(links_, first_channel, static_cast<MessageLinks::Receiver&>(*this), heard_.broken);
}

ParameterServers::~ParameterServers() { peers_.reset(); }

void ParameterServers::serve(const RankLinks& links, int first_channel) {
  std::mutex mutex;
  std::exception_ptr first;
  const auto broken = [&](std::exception_ptr why) {
    {
      const std::lock_guard lock(mutex);
      if (!first) first = why;
    }
    try {
      std::rethrow_exception(why);
    } catch (const std::exception& e) {
      links.fail(e.what());  // which ends the other threads' waits
    }
  };
  {
    ParameterServers servers(links, first_channel, {.pushed = {}, .ended = {}, .broken = broken});
    servers.peers_->hear_all();
  }
  if (first) std::rethrow_exception(first);
}

void ParameterServers::push(int order, Rank server, ByteSpan memory) {
  {
    const std::lock_guard lock(mutex_);
    pulled_[order] = memory;
  }
  if (server != links_.rank)
    return peers_->send(server, {.what = message_of(Way::push, order), .bytes = memory, .sent = [this, order] { heard_.pushed(order); }});
  heard_.pushed(order);
  add(order, memory);
}

ByteSpan ParameterServers::place(Rank from, std::uint64_t what, std::size_t size) {
  if (way_of(what) == Way::push) {
    std::vector<std::byte>& place = from_[static_cast<std::size_t>(from)];
    place.resize(size);
    return place;
  }
  const std::lock_guard lock(mutex_);
  const auto order = pulled_.find(order_of(what));
  if (order == pulled_.end() || order->second.size() != size)
    throw RunError(
        fmt::format("rank {} sent {} bytes of order {}, which rank {} did not push so", from, size, order_of(what), links_.rank));
  return order->second;
}

void ParameterServers::arrived(Rank from, std::uint64_t what) {
  const int order = order_of(what);
  if (way_of(what) == Way::push) return add(order, from_[static_cast<std::size_t>(from)]);
  {
    const std::lock_guard lock(mutex_);
    pulled_.erase(order);
  }
  heard_.ended(order);
}

void ParameterServers::add(int order, ByteView values) {
  std::shared_ptr<const Sum> whole;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Sum>& sum = sums_[order];
    if (!sum) {
      sum = std::make_shared<Sum>();
      sum->missing = links_.ranks;
      sum->values.resize(values.size() / sizeof(float));
    }
    if (sum->values.size() * sizeof(float) != values.size())
      throw RunError(
          fmt::format("order {} has {} bytes on one rank and {} on another", order, values.size(), sum->values.size() * sizeof(float)));
    reduce(DType::float32, ReduceOp::sum, sum->values.data(), values.data(), sum->values.size());
    if (--sum->missing > 0) return;
    whole = std::move(sum);
    sums_.erase(order);
  }
  answer(order, std::move(whole));
}

void ParameterServers::answer(int order, std::shared_ptr<const Sum> sum) {
  const ByteView bytes = std::as_bytes(std::span(sum->values));
  for (Rank worker = 0; worker < links_.ranks; ++worker)
    if (worker != links_.rank) peers_->send(worker, {.what = message_of(Way::pull, order), .bytes = bytes, .sent = [sum] {}});
  if (links_.rank < links_.ranks) end(order, bytes);
}

// On the server's own host nothing is sent.
void ParameterServers::end(int order, ByteView values) {
  {
    const std::lock_guard lock(mutex_);
    const ByteSpan memory = pulled_.at(order);
    std::memcpy(memory.data(), values.data(), values.size());
    pulled_.erase(order);
  }
  heard_.ended(order);
}

}  // namespace weft

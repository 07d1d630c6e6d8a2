#include "collectives/engines/horovod.hpp"

#include <algorithm>

namespace weft {

std::vector<Problem> problems(const HorovodSettings& settings) {
  std::vector<Problem> found;
  // Cycles that take no time would never let time pass.
  if (settings.cycle_time < 1_us)
    found.push_back({"/cycle_time", fmt::format("must be at least 1us, got {}", to_string(settings.cycle_time))});
  if (settings.fusion_threshold.count < 0)
    found.push_back({"/fusion_threshold", fmt::format("must not be negative, got {}", to_string(settings.fusion_threshold))});
  if (settings.request.count < 4 || settings.request > 64_KiB)
    found.push_back({"/request", fmt::format("must be between 4B and 64KiB, got {}", to_string(settings.request))});
  return found;
}

HorovodEngine::HorovodEngine(const HorovodSettings& settings, const EngineSetup& setup, EngineHost& host)
    : EngineBase(setup, host),
      settings_(settings),
      agreement_(setup, setup.gradients.size() + 1, settings.agreement, host),
      cycle_start_(SimTime{} - settings.cycle_time),
      place_(setup.gradients.size(), -1),
      heard_(setup.gradients.size(), 0) {}

void HorovodEngine::on_begin() {
  negotiated_ = 0;
  plan_cycle();
}

void HorovodEngine::on_ready(int gradient) { queue_.push_back(gradient); }

void HorovodEngine::plan_cycle() { host().set_timer(std::max(host().now(), cycle_start_ + settings_.cycle_time)); }

void HorovodEngine::timer() {
  cycle_start_ = host().now();
  if (cached_.empty() || !settings_.cache) return exchange_lists();
  phase_ = Phase::bits;
  // Bit 0: nothing but what is cached; the others: places in the cache.
  Bits mine(setup().gradients.size() + 1);
  bool all_cached = true;
  for (const int g : queue_) {
    const int at = place_[static_cast<std::size_t>(g)];
    all_cached = all_cached && at >= 0;
    if (at >= 0) mine.set(static_cast<std::size_t>(at) + 1);
  }
  if (all_cached) mine.set(0);
  if (const auto result = agreement_.join(mine)) bits_agreed(*result);
}

void HorovodEngine::bits_agreed(Bits everywhere) {
  List ready;
  for (std::size_t i = 0; i < cached_.size(); ++i)
    if (everywhere.test(i + 1)) ready.push_back(cached_[i]);
  reduce(ready);
  if (everywhere.test(0)) return end_cycle();
  exchange_lists();
}

void HorovodEngine::exchange_lists() {
  phase_ = Phase::lists;
  List list;
  std::erase_if(queue_, [&](int g) {
    const bool uncached = !settings_.cache || place_[static_cast<std::size_t>(g)] < 0;
    if (uncached) list.push_back(g);
    return uncached;
  });
  if (setup().rank != 0) return host().send(0, message(ControlKind::ready_list, list));
  lists_[cycle_][0] = std::move(list);
  answer_if_complete();
}

void HorovodEngine::answer_if_complete() {
  const auto cycle = lists_.find(cycle_);
  if (phase_ != Phase::lists || cycle == lists_.end() || static_cast<int>(cycle->second.size()) < setup().ranks) return;
  List ready;
  for (const auto& [rank, list] : cycle->second)
    for (const int g : list)
      if (++heard_[static_cast<std::size_t>(g)] == setup().ranks) {
        heard_[static_cast<std::size_t>(g)] = 0;
        ready.push_back(g);
      }
  lists_.erase(cycle);
  for (Rank r = 1; r < setup().ranks; ++r) host().send(r, message(ControlKind::answer, ready));
  reduce(ready);
  end_cycle();
}

void HorovodEngine::received(Rank from, std::span<const std::byte> bytes) {
  const ControlKind kind = ControlReader(bytes).kind();
  if (kind == ControlKind::agreement) {
    if (const auto result = agreement_.received(from, bytes)) bits_agreed(*result);
    return;
  }
  std::uint32_t cycle = 0;
  List list = parse(bytes, cycle);
  if (kind == ControlKind::ready_list && setup().rank == 0 && cycle >= cycle_ && lists_[cycle].emplace(from, std::move(list)).second)
    return answer_if_complete();
  if (kind != ControlKind::answer || from != 0 || phase_ != Phase::lists || cycle != cycle_)
    throw RunError(fmt::format("rank {}: unexpected message of cycle {} from rank {}", setup().rank, cycle, from));
  reduce(list);
  end_cycle();
}

void HorovodEngine::reduce(const List& ready) {
  CollectiveOrder order;
  Bytes filled;
  const auto launch = [&] {
    if (order.what.empty()) return;
    order.id = orders_++;
    order.label = fmt::format("fused buffer {} of {} tensor(s)", order.id, order.what.size());
    start(std::exchange(order, {}));
    filled = {};
  };
  for (const int g : ready) {
    if (filled + size(g) > settings_.fusion_threshold) launch();
    order.what.push_back(whole(g));
    filled += size(g);
    if (settings_.cache && place_[static_cast<std::size_t>(g)] < 0) {
      place_[static_cast<std::size_t>(g)] = static_cast<int>(cached_.size());
      cached_.push_back(g);
    }
    std::erase(queue_, g);
  }
  launch();
  negotiated_ += static_cast<int>(ready.size());
}

void HorovodEngine::end_cycle() {
  phase_ = Phase::between;
  ++cycle_;
  if (negotiated_ < gradients()) plan_cycle();
}

std::vector<std::byte> HorovodEngine::message(ControlKind kind, const List& gradients) const {
  ControlWriter writer(kind);
  writer.put(cycle_);
  for (const int g : gradients) {
    writer.put(static_cast<std::uint32_t>(g));
    writer.pad(static_cast<std::size_t>(settings_.request.count) - sizeof(std::uint32_t));
  }
  return writer.take();
}

HorovodEngine::List HorovodEngine::parse(std::span<const std::byte> bytes, std::uint32_t& cycle) const {
  ControlReader reader(bytes);
  cycle = reader.get<std::uint32_t>();
  List list;
  while (!reader.at_end()) {
    const auto g = reader.get<std::uint32_t>();
    if (g >= setup().gradients.size()) throw RunError(fmt::format("rank {}: a ready list names gradient {}", setup().rank, g));
    list.push_back(static_cast<int>(g));
    reader.skip(static_cast<std::size_t>(settings_.request.count) - sizeof(std::uint32_t));
  }
  return list;
}

std::string HorovodEngine::waiting() const {
  if (phase_ == Phase::bits) return fmt::format("cycle {}: {}", cycle_, agreement_.waiting());
  if (phase_ == Phase::between) return EngineBase::waiting();
  if (setup().rank != 0) return fmt::format("cycle {}: waits for the coordinator's answer (rank 0)", cycle_);
  std::vector<Rank> missing;
  for (Rank r = 0; r < setup().ranks; ++r)
    if (!lists_.at(cycle_).contains(r)) missing.push_back(r);
  return fmt::format("cycle {}: waits for the ready lists of rank(s) {}", cycle_, fmt::join(missing, ", "));
}

}  // namespace weft

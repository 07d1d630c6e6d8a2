#include "collectives/engines/ddp.hpp"

namespace weft {

void NoneEngine::on_backward_ended() {
  CollectiveOrder order{.id = step(), .label = "all gradients"};
  for (int g = 0; g < gradients(); ++g) order.what.push_back(whole(g));
  start(std::move(order));
}

std::vector<Problem> problems(const DdpSettings& settings) {
  std::vector<Problem> found;
  for (const auto& [where, size] : {std::pair{"/bucket", settings.bucket}, {"/first_bucket", settings.first_bucket}})
    if (size.count < 1) found.push_back({where, fmt::format("must be at least 1B, got {}", to_string(size))});
  return found;
}

DdpSettings as_sent(DdpSettings settings, Bytes computed, Bytes on_wire) {
  for (Bytes* limit : {&settings.bucket, &settings.first_bucket})
    limit->count = std::max<std::int64_t>(1, static_cast<std::int64_t>(Int128{limit->count} * on_wire.count / computed.count));
  return settings;
}

std::vector<std::vector<int>> ddp_buckets(const DdpSettings& settings, std::span<const Bytes> gradients) {
  std::vector<std::vector<int>> buckets(1);
  Bytes filled;
  for (auto g = static_cast<int>(gradients.size()) - 1; g >= 0; --g) {
    buckets.back().push_back(g);
    filled += gradients[static_cast<std::size_t>(g)];
    if (g == 0 || filled < (buckets.size() == 1 ? settings.first_bucket : settings.bucket)) continue;
    buckets.emplace_back();
    filled = {};
  }
  return buckets;
}

DdpEngine::DdpEngine(const DdpSettings& settings, const EngineSetup& setup, EngineHost& host)
    : EngineBase(setup, host), buckets_(ddp_buckets(settings, setup.gradients)), bucket_of_(setup.gradients.size()) {
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    for (const int g : buckets_[b]) bucket_of_[static_cast<std::size_t>(g)] = b;
}

void DdpEngine::on_begin() {
  next_ = 0;
  missing_.clear();
  for (const auto& bucket : buckets_) missing_.push_back(bucket.size());
}

void DdpEngine::on_ready(int gradient) {
  --missing_[bucket_of_[static_cast<std::size_t>(gradient)]];
  for (; next_ < buckets_.size() && missing_[next_] == 0; ++next_) {
    const auto count = static_cast<int>(buckets_.size());
    CollectiveOrder order{.id = step() * count + static_cast<int>(next_), .label = fmt::format("bucket {} of {}", next_ + 1, count)};
    for (const int g : buckets_[next_]) order.what.push_back(whole(g));
    start(std::move(order));
  }
}

}  // namespace weft

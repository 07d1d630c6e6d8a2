#include "collectives/engines/aiacc.hpp"

#include <algorithm>

namespace weft {

std::vector<Problem> problems(const AiaccSettings& settings) {
  std::vector<Problem> found;
  if (settings.granularity.count < 1)
    found.push_back({"/granularity", fmt::format("must be at least 1B, got {}", to_string(settings.granularity))});
  if (settings.streams < 1 || settings.streams > 1024)
    found.push_back({"/streams", fmt::format("must be between 1 and 1024, got {}", settings.streams)});
  if (!(settings.compute_share >= 0 && settings.compute_share < 1))
    found.push_back({"/compute_share", fmt::format("must be at least 0 and less than 1, got {}", settings.compute_share)});
  return found;
}

AiaccEngine::AiaccEngine(const AiaccSettings& settings, const EngineSetup& setup, EngineHost& host)
    : EngineBase(setup, host), settings_(settings), agreement_(setup, setup.gradients.size(), settings.agreement, host) {}

void AiaccEngine::on_begin() {
  ready_ = agreed_ = Bits(setup().gradients.size());
  agreed_count_ = fresh_count_ = 0;
  fresh_ = {};
  join_if_due();
}

void AiaccEngine::on_ready(int gradient) {
  ready_.set(static_cast<std::size_t>(gradient));
  fresh_ += size(gradient);
  ++fresh_count_;
  join_if_due();
}

void AiaccEngine::received(Rank from, std::span<const std::byte> message) {
  if (const auto result = agreement_.received(from, message)) agreed(*result);
  join_if_due();
}

void AiaccEngine::join_if_due() {
  // When all is agreed, what others ask for is of the next step.
  while (!agreement_.running() && agreed_count_ < gradients() && step() >= 0) {
    const bool enough = fresh_ >= settings_.granularity || (all_ready() && fresh_count_ > 0);
    if (!enough && !agreement_.asked()) return;
    fresh_ = {};
    fresh_count_ = 0;
    const auto result = agreement_.join(ready_);
    if (!result) return;
    agreed(*result);
  }
}

void AiaccEngine::agreed(Bits everywhere) {
  for (int g = 0; g < gradients(); ++g) {
    const auto i = static_cast<std::size_t>(g);
    if (!everywhere.test(i) || agreed_.test(i)) continue;
    agreed_.set(i);
    ++agreed_count_;
    pack(g);
  }
  if (agreed_count_ == gradients()) dispatch();
}

void AiaccEngine::pack(int gradient) {
  for (Bytes done; done < size(gradient);) {
    const Bytes piece{std::min((size(gradient) - done).count, (settings_.granularity - filled_).count)};
    unit_.push_back({gradient, done, piece});
    done += piece;
    filled_ += piece;
    if (filled_ == settings_.granularity) dispatch();
  }
}

void AiaccEngine::dispatch() {
  if (unit_.empty()) return;
  CollectiveOrder order{.id = units_, .stream = units_ % settings_.streams, .algorithm = settings_.algorithm, .what = std::move(unit_)};
  order.label = fmt::format("unit {}", units_++);
  unit_.clear();
  filled_ = {};
  start(std::move(order));
}

std::string AiaccEngine::waiting() const { return agreement_.running() ? agreement_.waiting() : EngineBase::waiting(); }

}  // namespace weft

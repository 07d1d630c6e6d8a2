// One step of a schedule whose messages meet one another but none of another step, simulated for itself: on a copy of the network, as
// nothing must have happened on the real one if a later step turns out to need events. When the next step does the same again at a later
// date, so do its messages.
#pragma once

#include "kernels/base/units.hpp"
#include "sim/network/critical_path.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weft {

template <class Model>
class LoneStep {
 public:
  // Of a message; not_ended while it is under way.
  struct End {
    std::int64_t ended_ps = not_ended;
    LinkId bottleneck = -1;
    std::uint32_t first_span = 0, spans = 0;
  };
  static constexpr std::int64_t not_ended = -1;

  // The shape of the messages is another from now on; `model` knows their routes.
  void forget() { known_ = false, network_.reset(); }
  // The messages are others, or at dates that differ from one another in another way.
  void forget_ends() { known_ = false; }

  // Whether messages that all leave later by so much than those last simulated end later by as much. Where very many flows share links,
  // they end at dates of a grid, which must shift onto itself.
  bool repeats_after(std::int64_t shift_ps) const { return known_ && is_multiple(shift_ps); }
  bool is_multiple(std::int64_t shift_ps) const { return !network_ || shift_ps % network_->coarsest_grid() == 0; }
  void repeat(std::int64_t shift_ps) {
    for (End& end : ends_) end.ended_ps = later(end.ended_ps, shift_ps);
    for (BottleneckSpan& span : spans_) span.until_ps = later(span.until_ps, shift_ps);
  }

  // So many messages, each of which is started or has ended with no time on links.
  void begin(const Model& model, std::size_t messages) {
    if (!network_) network_.emplace(model);
    ends_.assign(messages, {});
    spans_.clear();
    solves_before_ = network_->solves();
  }
  void start(std::uint32_t message, std::uint32_t route, std::int64_t bytes, SimTime at) { network_->start(route, bytes, at, message); }
  void has_ended(std::uint32_t message, std::int64_t at_ps) { ends_[message].ended_ps = at_ps; }
  // Until all have ended. False where some never do.
  bool run(bool recording) {
    while (network_->next_date() != SimTime::never()) {
      network_->advance([&](std::uint32_t message) {
        End& end = ends_[message];
        end.ended_ps = network_->now().ps;
        if (!recording) return;
        const std::span<const BottleneckSpan> earlier = network_->earlier_bottlenecks();
        end.bottleneck = network_->last_bottleneck();
        end.first_span = static_cast<std::uint32_t>(spans_.size());
        end.spans = static_cast<std::uint32_t>(earlier.size());
        spans_.insert(spans_.end(), earlier.begin(), earlier.end());
      });
    }
    known_ = std::ranges::none_of(ends_, [](const End& end) { return end.ended_ps == not_ended; });
    return known_;
  }

  // Of the last run: whether any two met.
  bool met() const { return network_->solves() > solves_before_; }
  const End& end(std::uint32_t message) const { return ends_[message]; }
  std::span<const BottleneckSpan> earlier(const End& end) const { return std::span(spans_).subspan(end.first_span, end.spans); }

 private:
  std::optional<Model> network_;
  std::vector<End> ends_;  // by message
  std::vector<BottleneckSpan> spans_;
  bool known_ = false;
  std::uint64_t solves_before_ = 0;
};

}  // namespace weft

// Transfers of one step of a schedule that share links, one with another or by way of a third. As long as none of them meets a message of
// another step, what becomes of a group is its own affair: it is simulated for itself, on a copy of the network, as nothing must have
// happened on the real one if a later step turns out to need events. In the next step the same group, leaving with the same time between
// its messages, takes as long again. Its flows end at exact dates, however many other groups there are.
#pragma once

#include "kernels/base/units.hpp"
#include "models/fabric/fabric.hpp"
#include "sim/network/critical_path.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace weft {

template <class Model>
class MeetingGroups {
 public:
  // Of a transfer, in a step at hand.
  struct Message {
    std::uint32_t route = 0;  // as the model calls it
    std::int64_t latency_ps = 0, active_ps = 0;
    std::int64_t wire_bytes = 0;  // 0: it is on no link
    std::int64_t end_ps = 0;      // found by solve()
    LinkId bottleneck = -1;
  };

  // Other transfers from now on: so many, over the links that links_of(transfer) gives.
  template <class LinksOf>
  void find(const Model& model, std::uint32_t transfers, const LinksOf& links_of) {
    network_.reset();
    known_.assign(transfers, {});
    spans_.clear();
    std::vector<std::uint32_t> leader(transfers), on_link(model.links(), none);
    std::iota(leader.begin(), leader.end(), 0U);
    const auto leader_of = [&](std::uint32_t i) {
      while (leader[i] != i) i = leader[i] = leader[leader[i]];
      return i;
    };
    for (std::uint32_t i = 0; i < transfers; ++i)
      for (const LinkId link : links_of(i)) {
        std::uint32_t& first = on_link[static_cast<std::size_t>(link)];
        if (first == none) first = i;
        const std::uint32_t one = leader_of(first), other = leader_of(i);
        leader[std::max(one, other)] = std::min(one, other);
      }
    std::vector<std::uint32_t> size(transfers);
    for (std::uint32_t i = 0; i < transfers; ++i) ++size[leader_of(i)];
    largest_ = size.empty() ? 0 : *std::ranges::max_element(size);
    begins_.assign(1, 0);
    std::vector<std::uint32_t> next(transfers, none);  // by leader: the place of its group's next transfer
    for (std::uint32_t i = 0; i < transfers; ++i) {
      if (leader[i] != i || size[i] == 1) continue;
      next[i] = begins_.back();
      begins_.push_back(next[i] + size[i]);
    }
    members_.resize(begins_.back());
    for (std::uint32_t i = 0; i < transfers; ++i) {
      if (std::uint32_t& place = next[leader_of(i)]; place != none) members_[place++] = i;
      known_[i].grouped = size[leader_of(i)] > 1;
    }
    offered_ = solved_ = 0;
  }
  std::size_t largest() const { return largest_; }  // transfers of a group; 1: none shares links

  std::size_t size() const { return begins_.empty() ? 0 : begins_.size() - 1; }
  std::span<const std::uint32_t> transfers_of(std::size_t group) const {
    return std::span(members_).subspan(begins_[group], begins_[group + 1] - begins_[group]);
  }
  bool is_grouped(std::uint32_t transfer) const { return known_[transfer].grouped; }

  // Finds when the messages of a group end, by transfer. False where some never do.
  bool solve(std::size_t group, std::span<Message> messages, const Model& model, bool recording) {
    std::int64_t begin = INT64_MAX;
    for (const std::uint32_t i : transfers_of(group)) begin = std::min(begin, messages[i].active_ps);
    const bool is_known = std::ranges::all_of(transfers_of(group), [&](std::uint32_t i) {
      return known_[i].is_known && known_[i].active_ps == messages[i].active_ps - begin && known_[i].wire_bytes == messages[i].wire_bytes;
    });
    offered_ += static_cast<std::int64_t>(transfers_of(group).size());
    if (!is_known && !simulate(group, messages, model, {begin, recording})) return false;
    for (const std::uint32_t i : transfers_of(group)) {
      messages[i].end_ps = later(begin, known_[i].end_ps);
      messages[i].bottleneck = known_[i].bottleneck;
    }
    return true;
  }
  // Which links limited the transfer's message before, the latest first, if it began to be on links then. Until the next call.
  std::span<const BottleneckSpan> earlier(std::uint32_t transfer, std::int64_t active_ps) {
    const Known& known = known_[transfer];
    shifted_.assign(spans_.begin() + known.first_span, spans_.begin() + known.first_span + known.spans);
    for (BottleneckSpan& span : shifted_) span.until_ps = later(active_ps - known.active_ps, span.until_ps);
    return shifted_;
  }

  // Messages mostly take as long as before: else events cost no more. The first steps do not count.
  bool pays() const { return solved_ <= offered_ / 4 + 4 * static_cast<std::int64_t>(members_.size()); }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  // Of a transfer, when its group was last simulated. Dates count from its group's first byte.
  struct Known {
    std::int64_t active_ps = 0, wire_bytes = 0, end_ps = 0;
    LinkId bottleneck = -1;
    std::uint32_t first_span = 0, spans = 0;
    bool grouped = false, is_known = false;
  };
  struct How {
    std::int64_t begin_ps;
    bool recording;
  };

  bool simulate(std::size_t group, std::span<const Message> messages, const Model& model, const How& how) {
    if (!network_) network_.emplace(model);
    network_->begin_again();
    std::size_t left = 0;
    for (const std::uint32_t i : transfers_of(group)) {
      const Message& m = messages[i];
      Known& known = known_[i];
      known = {.active_ps = m.active_ps - how.begin_ps, .wire_bytes = m.wire_bytes, .grouped = true, .is_known = true};
      known.end_ps = known.active_ps;
      if (m.wire_bytes == 0) continue;
      network_->start(m.route, m.wire_bytes, SimTime{known.active_ps - m.latency_ps}, i);
      ++left;
    }
    solved_ += static_cast<std::int64_t>(left);
    while (network_->next_date() != SimTime::never()) {
      network_->advance([&](std::uint32_t i) {
        Known& known = known_[i];
        known.end_ps = network_->now().ps;
        --left;
        if (!how.recording) return;
        const std::span<const BottleneckSpan> before = network_->earlier_bottlenecks();
        known.bottleneck = network_->last_bottleneck();
        known.first_span = static_cast<std::uint32_t>(spans_.size());
        known.spans = static_cast<std::uint32_t>(before.size());
        spans_.insert(spans_.end(), before.begin(), before.end());
      });
    }
    return left == 0;
  }

  std::optional<Model> network_;
  std::vector<std::uint32_t> begins_, members_;  // of groups of more than one transfer
  std::size_t largest_ = 0;
  std::vector<Known> known_;  // by transfer
  std::vector<BottleneckSpan> spans_, shifted_;
  std::int64_t offered_ = 0, solved_ = 0;  // messages
};

}  // namespace weft

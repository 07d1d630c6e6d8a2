// A world for tests of engines: all ranks in one event loop with random delays, everything from the seed. Collectives end when
// all ranks have reached them, streams keep their order, messages of a pair too; nothing else is in order.
#pragma once

#include "collectives/engines/engines.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <random>
#include <set>

#include <doctest/doctest.h>

namespace weft {

class EngineWorld {
 public:
  struct Shape {
    int ranks = 4, steps = 3;
    std::vector<Bytes> gradients = {};
    SimTime max_delay = 200_us;  // of a message, a gradient, a collective
    bool shuffled = false;       // backward brings gradients in another order on each rank
    Rank lost = -1;              // does nothing from its second step on
  };

  EngineWorld(const EngineSettings& settings, const Shape& shape, std::uint64_t seed) : shape_(shape), random_(seed) {
    for (Rank r = 0; r < shape.ranks; ++r) ranks_.emplace_back(*this, r);
    for (RankWorld& r : ranks_)
      r.engine = make_engine(settings, {.rank = r.rank, .ranks = shape.ranks, .gradients = shape.gradients, .machines = shape.ranks}, r);
    for (RankWorld& r : ranks_) at(now_ + delay(), [this, &r] { begin(r); });
  }

  void run() {
    while (!events_.empty()) {
      const Event e = events_.top();
      events_.pop();
      now_ = e.at;
      e.action();
      if (++happened_ > 20'000'000) FAIL("the world does not come to an end");
    }
  }

  bool finished() const {
    return std::ranges::all_of(ranks_, [&](const RankWorld& r) { return r.steps_done == shape_.steps; });
  }
  // Slices of all orders of rank 0 cover every gradient once a step; all ranks have had the same orders, in the same sequence on
  // each stream; every gradient was reported once a step.
  void check_orders() const {
    const RankWorld& first = ranks_.front();
    for (const RankWorld& r : ranks_) {
      CAPTURE(r.rank);
      CHECK(r.by_stream == first.by_stream);
      CHECK(r.orders.size() == first.orders.size());
      for (const auto& [id, order] : first.orders) {
        REQUIRE(r.orders.contains(id));
        CHECK(r.orders.at(id).what == order.what);
        CHECK(r.orders.at(id).server == order.server);
      }
      for (const int count : r.reduced) CHECK(count == shape_.steps);
    }
    std::vector<std::map<std::int64_t, std::pair<std::int64_t, int>>> covered(shape_.gradients.size());  // offset -> size, how often
    for (const auto& [id, order] : first.orders)
      for (const GradientSlice& s : order.what) {
        auto& slot = covered[static_cast<std::size_t>(s.gradient)][s.offset.count];
        slot = {s.size.count, slot.second + 1};
      }
    for (std::size_t g = 0; g < covered.size() && same_cuts; ++g) {
      std::int64_t end = 0;
      for (const auto& [offset, slot] : covered[g]) {
        CHECK(offset == end);
        CHECK(slot.second == shape_.steps);
        end = offset + slot.first;
      }
      CHECK(end == shape_.gradients[g].count);
    }
    Bytes bytes, all;
    for (const auto& [id, order] : first.orders) bytes += order.size;
    for (const Bytes g : shape_.gradients) all += g;
    CHECK(bytes == shape_.steps * all);
  }

  bool same_cuts = true;  // gradients are cut alike in every step: not with AIACC, whose units depend on what is agreed when
  std::int64_t control_messages = 0, control_bytes = 0;

  const std::map<int, CollectiveOrder>& orders(Rank r) const { return ranks_[static_cast<std::size_t>(r)].orders; }
  int streams_used(Rank r) const { return static_cast<int>(ranks_[static_cast<std::size_t>(r)].by_stream.size()); }
  std::string waiting(Rank r) const { return ranks_[static_cast<std::size_t>(r)].engine->waiting(); }
  SimTime now() const { return now_; }

 private:
  struct RankWorld final : EngineHost {
    RankWorld(EngineWorld& w, Rank r) : world(w), rank(r), reduced(w.shape_.gradients.size(), 0) {}
    SimTime now() const override { return world.now_; }
    void start(const CollectiveOrder& order) override { world.started(*this, order); }
    void send(Rank to, std::vector<std::byte> message) override { world.sent(rank, to, std::move(message)); }
    void set_timer(SimTime when) override {
      world.at(when, [this] {
        if (!world.lost(*this)) engine->timer();
      });
    }
    void gradient_reduced(int gradient) override { ++reduced[static_cast<std::size_t>(gradient)]; }

    EngineWorld& world;
    Rank rank;
    std::unique_ptr<GradientEngine> engine = nullptr;
    int steps_done = 0, steps_begun = 0;
    std::vector<int> reduced;
    std::map<int, CollectiveOrder> orders = {};
    std::map<int, std::vector<int>> by_stream = {};
    std::map<int, std::deque<int>> queued = {};
  };
  struct Event {
    SimTime at;
    std::int64_t order = 0;
    std::function<void()> action;
    bool operator<(const Event& o) const { return at != o.at ? at > o.at : order > o.order; }
  };

  bool lost(const RankWorld& r) const { return r.rank == shape_.lost && r.steps_done >= 1; }
  void at(SimTime when, std::function<void()> action) { events_.push({when, ++order_, std::move(action)}); }
  SimTime delay() { return {1 + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(shape_.max_delay.ps))}; }

  void begin(RankWorld& r) {
    if (lost(r)) return;
    ++r.steps_begun;
    r.engine->begin_step();
    std::vector<int> order;
    for (auto g = static_cast<int>(shape_.gradients.size()) - 1; g >= 0; --g) order.push_back(g);
    if (shape_.shuffled) std::ranges::shuffle(order, random_);
    SimTime when = now_;
    for (const int g : order) {
      when += delay();
      at(when, [&r, g] { r.engine->gradient_ready(g); });
    }
    at(when, [&r] { r.engine->backward_ended(); });
  }

  void sent(Rank from, Rank to, std::vector<std::byte> message) {
    ++control_messages;
    control_bytes += static_cast<std::int64_t>(message.size());
    SimTime& last = last_[{from, to}];
    last = std::max(last, now_ + delay());
    RankWorld& r = ranks_[static_cast<std::size_t>(to)];
    at(last, [this, &r, from, bytes = std::move(message)] {
      if (!lost(r)) r.engine->received(from, bytes);
    });
  }

  void started(RankWorld& r, const CollectiveOrder& order) {
    CHECK(r.orders.emplace(order.id, order).second);
    if (order.server >= 0)
      return at(now_ + delay(), [this, &r, id = order.id] {
        if (lost(r)) return;
        r.engine->pushed(id);
        reached(id);
      });
    r.by_stream[order.stream].push_back(order.id);
    r.queued[order.stream].push_back(order.id);
    if (r.queued[order.stream].size() == 1) reached(order.id);
  }

  void reached(int id) {
    if (++reached_[id] < shape_.ranks) return;
    const SimTime end = now_ + delay();
    for (RankWorld& r : ranks_) at(end + delay(), [this, &r, id] { ended(r, id); });
  }

  void ended(RankWorld& r, int id) {
    if (lost(r)) return;
    const CollectiveOrder& order = r.orders.at(id);
    if (order.server < 0) {
      auto& queue = r.queued[order.stream];
      REQUIRE(queue.front() == id);
      queue.pop_front();
      if (!queue.empty()) reached(queue.front());
    }
    r.engine->ended(id);
    if (!r.engine->idle() || r.steps_done == r.steps_begun) return;
    ++r.steps_done;
    if (r.steps_done < shape_.steps) at(now_ + delay(), [this, &r] { begin(r); });
  }

  Shape shape_;
  std::mt19937_64 random_;
  SimTime now_;
  std::int64_t order_ = 0, happened_ = 0;
  std::priority_queue<Event> events_;
  std::deque<RankWorld> ranks_;
  std::map<std::pair<Rank, Rank>, SimTime> last_;
  std::map<int, int> reached_;
};

// Gradients of ResNet-50 as PyTorch registers them.
inline std::vector<Bytes> resnet50_gradients() {
  std::vector<Bytes> all;
  const auto add = [&](std::int64_t elements) { all.push_back({4 * elements}); };
  const auto block = [&](std::int64_t in, std::int64_t width, bool shortcut) {
    for (const std::int64_t weights : {in * width, 9 * width * width}) add(weights), add(width), add(width);
    add(4 * width * width), add(4 * width), add(4 * width);
    if (shortcut) add(4 * in * width), add(4 * width), add(4 * width);
  };
  add(9408), add(64), add(64);
  std::int64_t in = 64;
  for (const auto& [blocks, width] : {std::pair{3, 64}, {4, 128}, {6, 256}, {3, 512}})
    for (int b = 0; b < blocks; ++b) {
      block(in, width, b == 0);
      in = 4LL * width;
    }
  add(2'048'000), add(1000);
  return all;
}

}  // namespace weft

#include "collectives/transports/threads.hpp"

#include "collectives/transports/on_threads.hpp"
#include "collectives/transports/spin.hpp"
#include "kernels/base/error.hpp"
#include "kernels/reduce.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t max_waits_reported = 16;

}  // namespace

struct ThreadsWorld::Shared {
  ThreadsSettings settings;
  int ranks = 0;
  bool spins = false;  // only where every thread has a core: else spinning keeps the awaited one from running
  std::deque<Endpoint> endpoints;
  std::atomic<bool> failed = false;
  mutable std::mutex mutex;
  std::string reason;
  std::vector<std::string> waits;
};

class ThreadsWorld::Endpoint final : public Transport {
 public:
  Endpoint(Shared& shared, Rank rank, int channel) : shared_(shared), rank_(rank), channel_(channel) {}

  void receive(Rank from, Tag tag, ByteSpan into) override { posted_.push_back({from, tag, into, std::nullopt}); }

  bool receive_reduce(Rank from, Tag tag, DType dtype, ReduceOp op, ByteSpan into) override {
    posted_.push_back({from, tag, into, Reduction{dtype, op}});
    return true;
  }

  void send(Rank to, Tag tag, ByteView bytes) override {
    Message& message = sent_.emplace_back(this, to, tag, bytes);
    Endpoint& peer = shared_.endpoints[static_cast<std::size_t>(channel_ * shared_.ranks + to)];
    Message* head = peer.arrived_.load(std::memory_order_relaxed);
    do message.next = head;
    while (!peer.arrived_.compare_exchange_weak(head, &message, std::memory_order_release, std::memory_order_relaxed));
    peer.notify();
  }

  void wait() override {
    std::stable_sort(posted_.begin(), posted_.end(), [](const Posted& a, const Posted& b) { return a.key() < b.key(); });
    std::erase_if(early_, [&](Message* m) { return deliver(*m); });
    for (;;) {
      const std::uint32_t seen = events_.load();
      if (shared_.failed) give_up();
      take_arrived();
      if (delivered_ == posted_.size() && consumed_.load(std::memory_order_acquire) == sent_.size()) break;
      wait_for_event(seen);
    }
    posted_.clear();
    sent_.clear();
    delivered_ = 0;
    consumed_.store(0, std::memory_order_relaxed);
  }

  void reduce(DType dtype, ReduceOp op, ByteSpan into, ByteView from) override {
    weft::reduce(dtype, op, into.data(), from.data(), into.size() / size_of(dtype));
  }

  void notify() {
    events_.fetch_add(1);
    if (!sleeping_.load()) return;
    const std::lock_guard lock(mutex_);
    wakened_.notify_one();
  }

 private:
  // A send on its way. It stays in the sender's memory, where the receiver finds it by a linked list. A sender that gives up takes
  // it back, so that nobody reads its bytes after wait() has thrown.
  enum class State : std::uint8_t { sent, being_read, taken, withdrawn };
  struct Message {
    Message(Endpoint* from, Rank to_rank, Tag t, ByteView b) : sender(from), to(to_rank), tag(t), bytes(b) {}
    Message* next = nullptr;
    Endpoint* const sender;
    const Rank to;
    const Tag tag;
    const ByteView bytes;
    std::atomic<State> state = State::sent;
  };
  struct Posted {
    Rank from;
    Tag tag;
    ByteSpan into;
    std::optional<Reduction> reduction;
    bool done = false;
    std::pair<Tag, Rank> key() const { return {tag, from}; }
  };

  // What has arrived, first come first: the list is a stack, its reversal keeps each sender's order.
  void take_arrived() {
    Message* stack = arrived_.exchange(nullptr, std::memory_order_acquire);
    Message* first = nullptr;
    while (stack != nullptr) {
      Message* const next = stack->next;
      stack->next = first;
      first = stack;
      stack = next;
    }
    while (first != nullptr) {
      Message* const next = first->next;
      if (!deliver(*first)) early_.push_back(first);
      first = next;
    }
  }

  // False if no receive waits for it yet, or its sender has given up. Once delivered, the message belongs to its sender again.
  bool deliver(Message& m) {
    const std::pair<Tag, Rank> key{m.tag, m.sender->rank_};
    auto p = std::lower_bound(posted_.begin(), posted_.end(), key, [](const Posted& a, const auto& k) { return a.key() < k; });
    while (p != posted_.end() && p->key() == key && p->done) ++p;
    if (p == posted_.end() || p->key() != key) return false;
    if (m.bytes.size() != p->into.size()) fail_size(m, *p);
    State sent = State::sent;
    if (!m.state.compare_exchange_strong(sent, State::being_read, std::memory_order_acquire)) return false;
    if (p->reduction)
      reduce(p->reduction->dtype, p->reduction->op, p->into, m.bytes);
    else if (!m.bytes.empty())
      std::memcpy(p->into.data(), m.bytes.data(), m.bytes.size());
    p->done = true;
    ++delivered_;
    Endpoint& sender = *m.sender;
    m.state.store(State::taken, std::memory_order_release);
    sender.consumed_.fetch_add(1, std::memory_order_release);
    sender.notify();
    return true;
  }

  void wait_for_event(std::uint32_t seen) {
    if (shared_.spins && spin_until([&] { return events_.load(std::memory_order_acquire) != seen; })) return;
    std::unique_lock lock(mutex_);
    sleeping_.store(true);
    std::optional<std::uint64_t> progress;
    const auto wakened = [&] { return events_.load() != seen; };
    while (!wakened_.wait_for(lock, shared_.settings.patience / 2, wakened)) {
      const std::uint64_t now = world_progress();
      if (progress == now) {
        lock.unlock();
        end_run(shared_, fmt::format("no progress for {} ms", shared_.settings.patience.count()));
        return;
      }
      progress = now;
    }
    sleeping_.store(false);
  }

  std::uint64_t world_progress() const {
    std::uint64_t sum = 0;
    for (const Endpoint& e : shared_.endpoints) sum += e.events_.load(std::memory_order_relaxed);
    return sum;
  }

  [[noreturn]] void fail_size(const Message& m, const Posted& p) {
    end_run(shared_, fmt::format("rank {} sent {} bytes to rank {} which expects {} ({})", p.from, m.bytes.size(), rank_, p.into.size(),
                                 to_string(name_of(m.tag))));
    withdraw();
    throw RunError(shared_.reason);
  }

  [[noreturn]] void give_up() {
    const std::string wait = what_is_missing();
    withdraw();
    const std::lock_guard lock(shared_.mutex);
    if (!wait.empty()) shared_.waits.push_back(wait);
    throw RunError(shared_.reason + "\n" + wait);
  }

  void withdraw() {
    for (Message& m : sent_) {
      State sent = State::sent;
      if (m.state.compare_exchange_strong(sent, State::withdrawn, std::memory_order_acquire)) continue;
      while (m.state.load(std::memory_order_acquire) == State::being_read) std::this_thread::yield();
    }
  }

  std::string what_is_missing() const {
    for (const Posted& p : posted_)
      if (!p.done)
        return fmt::format("rank {} waits for {} bytes from rank {} ({})", rank_, p.into.size(), p.from, to_string(name_of(p.tag)));
    for (const Message& m : sent_)
      if (m.state != State::taken)
        return fmt::format("rank {} waits for rank {} to take {} bytes ({})", rank_, m.to, m.bytes.size(), to_string(name_of(m.tag)));
    return {};
  }

  friend class ThreadsWorld;
  static void end_run(Shared& shared, const std::string& reason) {
    {
      const std::lock_guard lock(shared.mutex);
      if (shared.reason.empty()) shared.reason = reason;
      shared.failed = true;
    }
    for (Endpoint& e : shared.endpoints) e.notify();
  }

  Shared& shared_;
  const Rank rank_;
  const int channel_;
  std::vector<Posted> posted_;
  std::size_t delivered_ = 0;
  std::vector<Message*> early_;  // arrived before their receive was posted
  std::deque<Message> sent_;

  // Written by other threads.
  alignas(64) std::atomic<Message*> arrived_ = nullptr;
  std::atomic<std::size_t> consumed_ = 0;
  std::atomic<std::uint32_t> events_ = 0;
  std::atomic<bool> sleeping_ = false;
  std::mutex mutex_;
  std::condition_variable wakened_;
};

ThreadsWorld::ThreadsWorld(int ranks, int channels, ThreadsSettings settings) : shared_(std::make_unique<Shared>()) {
  shared_->settings = settings;
  shared_->ranks = ranks;
  shared_->spins = static_cast<unsigned>(ranks * channels) <= std::thread::hardware_concurrency();
  for (int c = 0; c < channels; ++c)
    for (Rank r = 0; r < ranks; ++r) shared_->endpoints.emplace_back(*shared_, r, c);
}

ThreadsWorld::~ThreadsWorld() = default;

Transport& ThreadsWorld::at(Rank rank, int channel) {
  return shared_->endpoints[static_cast<std::size_t>(channel * shared_->ranks + rank)];
}

void ThreadsWorld::fail(const std::string& reason) { Endpoint::end_run(*shared_, reason); }

std::string ThreadsWorld::report() const {
  const std::lock_guard lock(shared_->mutex);
  std::vector<std::string> waits = shared_->waits;
  std::sort(waits.begin(), waits.end());
  const std::size_t left_out = waits.size() > max_waits_reported ? waits.size() - max_waits_reported : 0;
  waits.resize(waits.size() - left_out);
  std::string text = shared_->reason;
  for (const std::string& w : waits) text += "\n" + w;
  if (left_out > 0) text += fmt::format("\nand {} more", left_out);
  return text;
}

void run_threads(const Schedule& schedule, ReduceOp op, std::span<const Buffer> buffers, ThreadsSettings settings) {
  check(buffers.size() == static_cast<std::size_t>(schedule.ranks), "{} buffers for {} ranks", buffers.size(), schedule.ranks);
  const int channels = static_cast<int>(schedule.channels.size());
  ThreadsWorld world(schedule.ranks, channels, settings);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(schedule.ranks * channels));
  const auto run = [&](std::size_t i) {
    const auto r = static_cast<Rank>(i % static_cast<std::size_t>(schedule.ranks));
    const auto c = static_cast<int>(i / static_cast<std::size_t>(schedule.ranks));
    try {
      FilteredSteps steps(schedule.channels[static_cast<std::size_t>(c)], r);
      run_blocking(steps, c, op, buffers[static_cast<std::size_t>(r)], world.at(r, c));
    } catch (const RunError&) {
      world.fail("a rank stopped");  // where the world did not end the run itself
    } catch (...) {
      errors[i] = std::current_exception();
      world.fail("a rank stopped");
    }
  };
  on_threads(errors.size(), run, [&](const std::string& reason) { world.fail(reason); });
  for (const std::exception_ptr& e : errors)
    if (e) std::rethrow_exception(e);
  if (const std::string report = world.report(); !report.empty()) throw RunError(report);
  if (op == ReduceOp::avg)
    for (Rank r = 0; r < schedule.ranks; ++r) finish_average(schedule, r, buffers[static_cast<std::size_t>(r)]);
}

}  // namespace weft

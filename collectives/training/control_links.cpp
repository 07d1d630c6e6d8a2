#include "collectives/training/control_links.hpp"

#include "collectives/training/frames.hpp"
#include "kernels/base/error.hpp"

#include <array>
#include <cstring>
#include <utility>

namespace weft {
namespace {

constexpr std::uint64_t largest = std::uint64_t{1} << 30;

}  // namespace

ControlLinks::ControlLinks(const RankLinks& links, Received received, Broken broken)
    : links_(links), received_(std::move(received)), broken_(std::move(broken)) {
  const auto guarded = [this](auto run) {
    return [this, run] {
      try {
        run();
      } catch (...) {
        broken_(std::current_exception());
      }
    };
  };
  threads_.emplace_back(guarded([this] { send_all(); }));
  for (Rank from = 0; from < links_.ranks; ++from)
    if (from != links_.rank) threads_.emplace_back(guarded([this, from] { receive_from(from); }));
}

ControlLinks::~ControlLinks() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  more_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void ControlLinks::send(Rank to, std::uint32_t epoch, std::vector<std::byte> message) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({to, epoch, std::move(message)});
  }
  more_.notify_all();
}

void ControlLinks::send_all() {
  Transport& transport = links_.at(links_.rank);
  const auto to_all = [&](auto tell) {
    for (Rank to = 0; to < links_.ranks; ++to)
      if (to != links_.rank) tell(transport, to);
  };
  for (;;) {
    std::unique_lock lock(mutex_);
    more_.wait_for(lock, links_.patience / 4, [&] { return ending_ || !queue_.empty(); });
    const bool ends = ending_;
    std::deque<Outgoing> now = std::exchange(queue_, {});
    lock.unlock();
    for (const Outgoing& one : now) send_frame(transport, one.to, one.epoch, one.bytes);
    if (ends) return to_all(send_farewell);
    if (now.empty()) to_all(send_heartbeat);
  }
}

void ControlLinks::receive_from(Rank from) {
  Transport& transport = links_.at(from);
  while (const std::optional<FrameHeader> header = receive_header(transport, from)) {
    if (header->size > largest) throw RunError(fmt::format("rank {} sent a control message of {} bytes", from, header->size));
    std::vector<std::byte> body(header->size);
    receive_body(transport, from, body);
    received_(from, static_cast<std::uint32_t>(header->what), std::move(body));
  }
}

}  // namespace weft

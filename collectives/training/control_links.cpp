#include "collectives/training/control_links.hpp"

#include "kernels/base/error.hpp"

#include <array>
#include <cstring>
#include <utility>

namespace weft {
namespace {

// Stands before each message. A heartbeat keeps waits from ending where engines have nothing to say.
struct Header {
  std::uint32_t kind, epoch;
  std::uint64_t size;
};
constexpr std::uint32_t heartbeat = 0, control = 1, farewell = 2;
constexpr std::uint64_t largest = std::uint64_t{1} << 30;

constexpr Tag header_tag = 0, body_tag = 1;

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

void ControlLinks::send_one(Transport& transport, Rank to, std::uint32_t kind, std::uint32_t epoch, ByteView bytes) const {
  const Header header{kind, epoch, bytes.size()};
  transport.send(to, header_tag, std::as_bytes(std::span(&header, 1)));
  if (!bytes.empty()) transport.send(to, body_tag, bytes);
  transport.wait();
}

void ControlLinks::send_all() {
  Transport& transport = links_.at(links_.rank);
  const auto to_all = [&](std::uint32_t kind) {
    for (Rank to = 0; to < links_.ranks; ++to)
      if (to != links_.rank) send_one(transport, to, kind, 0, {});
  };
  for (;;) {
    std::unique_lock lock(mutex_);
    more_.wait_for(lock, links_.patience / 4, [&] { return ending_ || !queue_.empty(); });
    const bool ends = ending_;
    std::deque<Outgoing> now = std::exchange(queue_, {});
    lock.unlock();
    for (const Outgoing& one : now) send_one(transport, one.to, control, one.epoch, one.bytes);
    if (ends) return to_all(farewell);
    if (now.empty()) to_all(heartbeat);
  }
}

void ControlLinks::receive_from(Rank from) {
  Transport& transport = links_.at(from);
  for (;;) {
    Header header{};
    transport.receive(from, header_tag, std::as_writable_bytes(std::span(&header, 1)));
    transport.wait();
    if (header.kind == farewell) return;
    if (header.kind == heartbeat) continue;
    if (header.size > largest) throw RunError(fmt::format("rank {} sent a control message of {} bytes", from, header.size));
    std::vector<std::byte> body(header.size);
    if (!body.empty()) {
      transport.receive(from, body_tag, body);
      transport.wait();
    }
    received_(from, header.epoch, std::move(body));
  }
}

}  // namespace weft

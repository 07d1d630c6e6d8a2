#include "collectives/training/message_links.hpp"

#include "collectives/training/frames.hpp"
#include "kernels/base/error.hpp"

#include <algorithm>
#include <utility>

namespace weft {
namespace {

// A channel belongs to one thread on each rank: what two ranks send one another goes over two channels that neither uses with a third.
int channel_between(Rank from, Rank to, int peers) { return 2 * mod(from + to, peers) + (from < to ? 0 : 1); }

}  // namespace

MessageLinks::MessageLinks(const RankLinks& links, int first_channel, Receiver& receiver, ControlLinks::Broken broken)
    : links_(links), receiver_(receiver) {
  const auto start = [&](std::vector<std::thread>& threads, auto run) {
    threads.emplace_back([run, broken] {
      try {
        run();
      } catch (...) {
        broken(std::current_exception());
      }
    });
  };
  for (Rank peer = 0; peer < links_.all(); ++peer) outboxes_.push_back(std::make_unique<Outbox>());
  for (Rank peer = 0; peer < links_.all(); ++peer) {
    if (peer == links_.rank || std::min(peer, links_.rank) >= links_.ranks) continue;
    const int out = first_channel + channel_between(links_.rank, peer, links_.all());
    const int in = first_channel + channel_between(peer, links_.rank, links_.all());
    start(senders_, [this, peer, out] { send_all(peer, out); });
    start(receivers_, [this, peer, in] { receive_all(peer, in); });
  }
}

MessageLinks::~MessageLinks() {
  for (const auto& outbox : outboxes_) {
    {
      const std::lock_guard lock(outbox->mutex);
      outbox->ending = true;
    }
    outbox->more.notify_all();
  }
  for (std::thread& t : senders_) t.join();
  hear_all();
}

void MessageLinks::hear_all() {
  for (std::thread& t : receivers_)
    if (t.joinable()) t.join();
}

void MessageLinks::send(Rank to, Message message) {
  Outbox& outbox = *outboxes_[static_cast<std::size_t>(to)];
  {
    const std::lock_guard lock(outbox.mutex);
    outbox.queue.push_back(std::move(message));
  }
  outbox.more.notify_all();
}

void MessageLinks::send_all(Rank to, int channel) {
  Outbox& outbox = *outboxes_[static_cast<std::size_t>(to)];
  Transport& transport = links_.at(channel);
  for (;;) {
    std::unique_lock lock(outbox.mutex);
    outbox.more.wait_for(lock, links_.patience / 4, [&] { return outbox.ending || !outbox.queue.empty(); });
    const bool ends = outbox.ending;
    std::deque<Message> now = std::exchange(outbox.queue, {});
    lock.unlock();
    for (const Message& one : now) {
      send_frame(transport, to, one.what, one.bytes);
      if (one.sent) one.sent();
    }
    if (ends) return send_farewell(transport, to);
    if (now.empty()) send_heartbeat(transport, to);
  }
}

void MessageLinks::receive_all(Rank from, int channel) {
  Transport& transport = links_.at(channel);
  while (const std::optional<FrameHeader> header = receive_header(transport, from)) {
    const ByteSpan place = receiver_.place(from, header->what, header->size);
    check(place.size() == header->size, "a place of {} bytes for a message of {}", place.size(), header->size);
    receive_body(transport, from, place);
    receiver_.arrived(from, header->what);
  }
}

}  // namespace weft

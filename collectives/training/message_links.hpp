// Messages of bytes between the ranks of a real run, at any time and of any size: each pair's in order, and those of different pairs at
// once. A thread sends to each peer, and another hears of it. Servers on hosts of their own have nothing to say to one another.
#pragma once

#include "collectives/training/control_links.hpp"

#include <memory>

namespace weft {

class MessageLinks {
 public:
  struct Message {
    std::uint64_t what = 0;           // the receiver's to understand
    ByteView bytes = {};              // stay valid and unchanged until `sent`
    std::function<void()> sent = {};  // has left this rank
  };
  // Called by threads of the links, one for each peer.
  class Receiver {
   public:
    virtual ~Receiver() = default;
    // Where the bytes of a message belong, before they come; throws RunError for one that must not come.
    virtual ByteSpan place(Rank from, std::uint64_t what, std::size_t size) = 0;
    virtual void arrived(Rank from, std::uint64_t what) = 0;
  };

  // Channels that it uses from `first_channel` on, where `peers` take part, this one among them.
  static int channels(int peers) { return 2 * peers; }

  MessageLinks(const RankLinks& links, int first_channel, Receiver& receiver, ControlLinks::Broken broken);
  // Says farewell and waits for that of all others; after a failure the run must have been ended before.
  ~MessageLinks();
  MessageLinks(const MessageLinks&) = delete;
  MessageLinks& operator=(const MessageLinks&) = delete;

  void send(Rank to, Message message);
  // Returns when all peers have said farewell, or the run was ended.
  void hear_all();

 private:
  struct Outbox {
    std::mutex mutex = {};
    std::condition_variable more = {};
    std::deque<Message> queue = {};
    bool ending = false;
  };
  void send_all(Rank to, int channel);
  void receive_all(Rank from, int channel);

  RankLinks links_;
  Receiver& receiver_;
  std::vector<std::unique_ptr<Outbox>> outboxes_;  // by peer
  std::vector<std::thread> senders_, receivers_;
};

}  // namespace weft

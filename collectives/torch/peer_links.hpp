// Messages from one rank to another outside of collectives (send and recv). Two ranks meet when they first have something
// for each other; each direction then has a thread of its own, so no message waits for one that goes elsewhere.
#pragma once

#include "collectives/torch/job_thread.hpp"
#include "collectives/torch/meeting.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace weft {

class PeerLinks {
 public:
  // The store must outlive this.
  PeerLinks(KeyStore& store, GroupSettings settings);
  ~PeerLinks();
  // Ends what is not done within this time.
  void end_within(std::chrono::milliseconds time);

  // Return at once. `done` is called by another thread, with what went wrong or with nothing.
  using Done = std::function<void(std::exception_ptr)>;
  void send(Rank to, std::uint32_t tag, ByteView bytes, Done done);
  void receive(Rank from, std::uint32_t tag, ByteSpan into, Done done);

 private:
  struct Link;
  Link& link(Rank peer);

  KeyStore& store_;
  GroupSettings settings_;
  std::mutex mutex_;
  std::map<Rank, std::unique_ptr<Link>> links_;
};

}  // namespace weft

// What the ranks of a job tell each other besides data, over one connection a peer that carries nothing else: why the run ended, what a
// rank waits for, and farewell.
#pragma once

#include "collectives/transports/tcp.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Called by the threads of all channels.
class TcpControl {
 public:
  static constexpr int beside_channels = -1;  // instead of a channel: waits for something else than messages
  static constexpr std::string_view no_progress = "no progress";

  TcpControl(Rank rank, std::vector<Socket> connections, TcpSettings settings);

  Rank rank() const { return rank_; }
  int ranks() const { return static_cast<int>(peers_.size()); }
  const TcpSettings& settings() const { return settings_; }
  std::string name(Rank rank) const { return settings_.name(rank); }

  // Ends the run on all ranks; the first reason stays.
  void end_run(const std::string& why);
  bool failed() const { return failed_; }
  const std::string& reason() const { return reason_; }  // once it has failed

  // Hears what has come from this rank. Called by whichever channel's thread sees something to read.
  void listen(Rank from);
  // What to poll for that; -1 where nothing more will be heard.
  int descriptor(Rank rank) const;
  bool has_finished(Rank rank) const { return peers_[static_cast<std::size_t>(rank)].finished; }

  // What this rank waits for on the channel; "" for no longer.
  void tell_waiting(std::int32_t channel, const std::string& what);
  void say_farewell();
  // What the other ranks wait for, and which have said nothing: a line for each.
  std::string others();

 private:
  struct Peer {
    explicit Peer(Socket s) : control(std::move(s)), silent(!control.open()) {}
    const Socket control;
    std::vector<std::byte> heard;
    std::atomic<bool> silent;  // nothing more will be heard
    std::atomic<bool> finished = false;
    std::map<std::int32_t, std::string> waits;  // by channel: what for
    bool jammed = false;                        // something said has not gone out whole: nothing can follow it
  };

  static void tell(Peer& peer, std::string_view text, std::uint32_t kind = 0);
  std::string take_in(Peer& peer) const;

  const Rank rank_;
  const TcpSettings settings_;
  std::deque<Peer> peers_;
  std::mutex mutex_;
  std::string reason_;
  std::atomic<bool> failed_ = false;
};

}  // namespace weft

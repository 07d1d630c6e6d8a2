// The transport of one actor: messages through SimGrid mailboxes, overheads as sleeps. With real data if there is any.
#pragma once

#include "collectives/executors/transport.hpp"
#include "models/fabric/path_class.hpp"
#include "models/hardware.hpp"
#include "models/message_costs.hpp"
#include "sim/reference/s4u_world.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include <simgrid/s4u.hpp>

namespace weft {

// What a message without bytes asks of SimGrid, which takes a communication with nothing left to send for a finished one,
// its latency unpaid. The bandwidth factor of this size makes it cross in no time.
inline constexpr std::uint64_t nothing_to_carry = std::uint64_t{1} << 60;

// A directed pair of endpoints.
struct S4uPath {
  std::vector<LinkId> links;
  double latency_s = 0;
  PathNature nature = {};
  std::int64_t bytes = 0;  // sent so far
};

class S4uTransport final : public Transport {
 public:
  // Where the world has the pair (from, to).
  class Directory {
   public:
    virtual ~Directory() = default;
    virtual S4uPath& path(Rank from, Rank to) = 0;
    virtual simgrid::s4u::ActorPtr actor(Rank rank, int channel) = 0;
    virtual std::uint64_t bytes_of_an_empty_message() const { return nothing_to_carry; }
    // Whether no rank of this connection has sent to `to` before.
    virtual bool connects(int /*connection*/, Rank /*from*/, Rank /*to*/) { return true; }
  };

  S4uTransport(Directory& directory, const HardwareProfile& hardware, Rank rank, int channel, int connection = -1)
      : directory_(directory),
        hardware_(hardware),
        overheads_(hardware.path_overheads()),
        message_costs_(hardware),
        rank_(rank),
        channel_(channel),
        connection_(connection) {}

  void receive(Rank from, Tag tag, ByteSpan into) override;
  void send(Rank to, Tag tag, ByteView bytes) override;
  void wait() override;
  void reduce(DType dtype, ReduceOp op, ByteSpan into, ByteView from) override;
  void copy(ByteSpan into, ByteView from) override;

  void finish() { pay_debt(); }  // spends the time that the last step still costs
  std::int64_t messages_sent() const { return messages_sent_; }
  std::string waiting() const;  // for whom, if for anybody

 private:
  // The mailboxes of one direction of a pair. A message below the rendezvous threshold leaves without its receiver: its
  // mailbox belongs to the receiver's actor.
  struct Mailboxes {
    simgrid::s4u::Mailbox* eager = nullptr;
    simgrid::s4u::Mailbox* rendezvous = nullptr;
    S4uPath* path = nullptr;  // of what is sent
  };
  struct Pending {
    simgrid::s4u::CommPtr comm;
    Rank peer = 0;
    Tag tag = 0;
    bool receives = false;
    SimTime overhead = {};  // of its path, from its end until the receiver has it
    ByteSpan into;
    void* payload = nullptr;
  };

  bool copied(const S4uPath& path) const { return hardware_.copies(path.nature.kind); }
  bool leaves_at_once(ByteView bytes) const { return static_cast<std::int64_t>(bytes.size()) < hardware_.eager_below().count; }
  bool meets(ByteView bytes) const { return static_cast<std::int64_t>(bytes.size()) >= hardware_.rendezvous_threshold.count; }
  simgrid::s4u::Mailbox* mailbox(Mailboxes& mailboxes, Rank from, Rank to, bool rendezvous);
  Pending& add_pending();
  void pay_debt();
  void deliver(Pending& pending);

  Directory& directory_;
  const HardwareProfile& hardware_;
  const std::array<SimTime, path_class_count> overheads_;
  const MessageCosts message_costs_;
  Rank rank_;
  int channel_;
  int connection_;  // -1: of its own
  std::unordered_map<Rank, Mailboxes> from_peer_, to_peer_;
  std::deque<Pending> pending_;  // the first `started_` are of this step; addresses stay
  std::size_t started_ = 0;
  const Pending* waiting_for_ = nullptr;
  SimTime debt_;  // time spent on this step's receives and reductions, not yet slept
  std::int64_t messages_sent_ = 0;
};

}  // namespace weft

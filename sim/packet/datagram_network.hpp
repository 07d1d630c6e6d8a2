// Agents on the packet network: endpoints send datagrams, programmable switches on the way see each that passes and may
// consume it, change it, or send others. collectives/in_network/datagram.hpp says what agents may rely on.
#pragma once

#include "collectives/in_network/agent.hpp"
#include "models/fabric/fabric.hpp"
#include "models/fabric/routes.hpp"
#include "sim/packet/packet_network.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

namespace weft {

// What it takes to hand a datagram to an agent: a switch's pipeline, a host's receive path. Datagrams queue up for it.
struct AgentCost {
  SimTime delay = {};                   // of each
  std::int64_t packets_per_second = 0;  // at most; 0: no limit
  HostCost host = {};                   // of an endpoint: also of each that it sends
};

// Told when an agent has finished.
class FinishWatcher {
 public:
  virtual ~FinishWatcher() = default;
  virtual void agent_finished(Address address) = 0;
};

// Told whenever an agent has been called.
class CallWatcher {
 public:
  virtual ~CallWatcher() = default;
  virtual void agent_called(Address address) = 0;
  // Agents may yet be started, by somebody who does so when something else has happened.
  virtual bool starts_ahead() const = 0;
};

class DatagramNetwork final : public DatagramSink, private Wire {
 public:
  // Without a pool datagrams carry sizes only. All three, and the agents, must outlive this object, the pool the agents.
  // `wire_share`: what a byte on the wire counts on links whose rates are of something else, such as payload.
  DatagramNetwork(PacketNetwork& network, Routes& routes, PayloadPool* pool = nullptr, double wire_share = 1);

  // Addresses are dense, from 0, each placed once; places come before groups.
  void attach(Address address, int endpoint, Agent& agent, SimTime start = {}, AgentCost cost = {});
  void program(Address address, NodeId at, Agent& agent, AgentCost cost = {});
  void group(Address address, std::vector<Address> members);

  // `watcher` is told as soon as the agent has finished, once for each start. It may start it again.
  void watch(Address address, FinishWatcher& watcher);
  void watch_calls(CallWatcher& watcher) { call_watcher_ = &watcher; }  // of all agents
  void start_again(Address address, SimTime at);
  SimTime now() const { return network_.now(); }

  // Schedules the start of every agent. Throws RunError, as does whatever follows, where more than max_datagrams are under way. Then
  // advance the network until finished(), or until it has nothing pending.
  void begin();
  bool finished() const;
  // Nothing can come of it any more: in at least 20 rounds and 100,000 timers in a row no agent has finished or waited for
  // something else. A round is over when all that was under way at its beginning is: agents have started, timers have fired,
  // datagrams have arrived, got lost or stand in a deadlock. Counted are rounds in which a timer fired, so that something was
  // tried again, after the last link has failed or recovered, and while nobody may yet start an agent (CallWatcher). So links may be slow,
  // timers long, workers late and queues full: only what fails so often in a row looks like this. If a try in 1000 gets through it happens
  // once in 10^43 times.
  bool stuck() const { return stuck_; }
  std::string waiting() const;  // what each agent that has not finished waits for

  std::size_t datagrams_in_flight() const { return records_.size() - free_records_.size(); }

  // Datagrams and bytes on the wire that an agent has sent.
  struct Sent {
    std::int64_t datagrams = 0, bytes = 0;
  };
  Sent sent(Address address) const { return attachments_[static_cast<std::size_t>(address)].sent; }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  static constexpr std::size_t max_datagrams = std::size_t{1} << 22;  // about 2 GiB of them
  static constexpr std::int64_t min_rounds = 20, min_timers = 100'000;

  struct Attachment {
    Agent* agent = nullptr;  // none: a group
    NodeId node = -1;
    int endpoint = -1;  // -1: a switch
    SimTime start = {};
    std::int64_t delay_ps = 0, interval_ps = 0;
    HostCost host = {};
    std::int64_t in_pipeline = 0;  // datagrams
    std::vector<Address> members = {};
    Sent sent = {};
    FinishWatcher* watches = nullptr;
    FinishWatcher* watcher = nullptr;  // the same, from a start until it has been told
    std::int64_t progress = -1;        // when it was last asked
    TimeSeries* recorded = nullptr;    // its level
  };
  struct Record {  // a datagram in the network; the copies of a multicast share it
    Datagram datagram;
    std::uint32_t references = 0;
    bool odd = false;     // of an odd round
    bool stands = false;  // for ever
    SimTime sent = {};
  };
  struct Branch {  // the hops a datagram takes from a node
    std::uint32_t first = none, count = 0;
  };
  enum class Due : std::uint8_t { start, timer, delivery, departure };
  struct Pending {
    Due what;
    Address agent;
    std::uint64_t timer;
    Datagram datagram;
    bool odd = false;
  };
  struct TreeNode {  // of a shortest-path tree
    NodeId parent;
    LinkId link;  // from the parent
  };

  // DatagramSink
  void arrived(const Packet& packet) override;
  void discarded(const Packet& packet) override { release(packet.flow); }
  void stands(const Packet& packet) override;
  void due(std::uint32_t event) override;

  // Wire, of the agent that is being called
  std::int64_t now_ps() const override { return network_.now().ps; }
  void send(Datagram datagram) override;
  void set_timer(std::int64_t after_ps, std::uint64_t name) override;
  Payload new_payload() override { return pool_ ? pool_->take() : Payload(); }

  Attachment& attachment_of(Address address);
  void add(Address address, Attachment attachment);
  static std::int64_t interval_of(AgentCost cost);
  void deliver_at(NodeId node, const Packet& packet);
  void hand_over(Address to, Datagram datagram);
  std::int64_t host_time(const Attachment& attachment, const Datagram& datagram);
  void depart(const Attachment& from, Datagram datagram);
  void into_pipeline(std::int64_t date, Due what, Address agent, Datagram datagram);
  void called(Address address);
  void note_level(Attachment& attachment);
  void note_arrival(const Record& record, Address to);
  void schedule(std::int64_t date, Pending pending);
  void require_room() const;
  std::uint32_t bytes_on_links(const Datagram& datagram) const;
  Datagram take(std::uint32_t record, bool congested);
  void release(std::uint32_t record);

  // Something that began in an odd round, or in an even one, is over. With the last of the round before, a round begins.
  void over(bool odd) {
    --under_way_[odd];
    if (under_way_[!odd_] == 0) begin_round();
  }
  void begin_round();
  bool somebody_is_further(std::int64_t timers);

  // datagram_routes.cpp: where datagrams go
  Branch branch_of(NodeId at, const Datagram& datagram);
  Branch path(NodeId at, const Attachment& from, const Attachment& to);
  Branch tree(NodeId at, NodeId root, Address group);
  void grow_tree(NodeId root, Address group);
  static std::uint64_t tree_key(NodeId at, NodeId root, Address group);
  std::vector<std::vector<Hop>> tree_hops(NodeId root, Address group);
  int endpoint_below(NodeId at) const;
  std::vector<Hop> path_between(NodeId from, NodeId to);
  std::vector<TreeNode> shortest_paths(NodeId root, std::uint64_t salt) const;
  std::vector<Hop> there_and_back(NodeId node) const;

  PacketNetwork& network_;
  Routes& routes_;
  PayloadPool* pool_;
  std::vector<Attachment> attachments_;          // by address
  std::vector<Address> program_at_;              // by node: the agent of a programmable switch, or nobody
  std::vector<std::vector<Address>> agents_at_;  // by endpoint node
  std::vector<int> endpoint_at_;                 // by node; -1: a switch
  std::vector<std::int64_t> free_at_;            // by node: when its pipeline takes the next
  std::vector<Chance> jitter_;                   // by node
  std::deque<Record> records_;
  std::vector<std::uint32_t> free_records_;
  std::deque<Pending> pending_;
  std::vector<std::uint32_t> free_pending_;
  std::size_t in_pipelines_ = 0;                     // datagrams
  std::unordered_map<std::uint64_t, Branch> paths_;  // by where, from whose node, to whose
  std::unordered_map<std::uint64_t, Branch> trees_;  // by where, root and group
  Address current_ = nobody;                         // whose callback runs
  CallWatcher* call_watcher_ = nullptr;
  const double wire_share_;

  bool odd_ = false;                            // the round; what is left of the one before has the other sign
  std::array<std::int64_t, 2> under_way_ = {};  // by the round they began in
  std::int64_t timers_fired_ = 0;               // in this round
  std::size_t asked_ = 0;                       // the place that was asked last
  std::int64_t fruitless_rounds_ = 0, fruitless_timers_ = 0;
  SimTime fruitless_since_ = {};
  bool stuck_ = false;
};

// Runs until every agent has finished. Throws RunError, saying what each waits for, when nothing can come of it any more.
void run_agents(PacketNetwork& network, DatagramNetwork& agents);

}  // namespace weft

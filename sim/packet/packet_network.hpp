// The packet model: output-queued switches with a shared buffer, per-priority queues, marks, drops or pauses, and senders
// with the transports of settings.hpp. The same interface as FluidNetwork, so EventExecutor runs schedules on it unchanged.
//
// Events are few: a packet that meets an idle link is sent on in the event of its arrival (one event a hop); one that has
// to wait costs a second, when the link is free again. A link holds its packets in order, and only its first has an event
// pending, so the queue of events stays as short as the list of busy links. What a packet does at its last link's far end
// is done when it is sent there, with the date of its arrival, unless an answer has to leave from there.
//
// Buffer is counted while a packet waits: it is free when its transmission starts. Pauses take the latency of the link. What comes before
// a pause is heard has a place of its own in the buffer, the headroom of the link; as the rest fills up, pauses come earlier.
#pragma once

#include "kernels/base/prefetch.hpp"
#include "models/fabric/fabric.hpp"
#include "sim/network/timeline.hpp"
#include "sim/packet/chance.hpp"
#include "sim/packet/congestion.hpp"
#include "sim/packet/packet.hpp"
#include "sim/packet/packet_report.hpp"
#include "sim/packet/settings.hpp"
#include "sim/packet/wheel_queue.hpp"

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft {

// Who is told of the datagrams in a PacketNetwork: of each at the end of each of its hops, and of those that get lost.
class DatagramSink {
 public:
  virtual ~DatagramSink() = default;
  virtual void arrived(const Packet& packet) = 0;
  virtual void discarded(const Packet& packet) = 0;
  virtual void stands(const Packet& packet) = 0;  // where it is, for ever; may be told again
  virtual void due(std::uint32_t event) = 0;      // the date it was scheduled for has come
};

// What keeps a message from passing a link whose two directions slow one another down.
std::string contention_of_link(const Fabric& fabric, LinkId link);

class PacketNetwork {
 public:
  using RouteIndex = std::uint32_t;
  static constexpr int dates_at_once = 10'000;  // packets have more dates than the engine can go through

  // `rates`: by link, as packets see them (goodput_of_links). The fabric must outlive the network. Throws InputError for
  // settings with problems or failures of links that do not exist.
  PacketNetwork(const Fabric& fabric, std::vector<BitsPerSecond> rates, const PacketSettings& settings);

  // Routes are numbered in the order they are added. `rate`, where it is not 0: a connection that carries no more payload, because its
  // sender spaces packets and has a window of that rate times the round trip of an idle network.
  RouteIndex add_route(std::span<const Hop> hops, SimTime latency, FlowTerms terms = {}, BitsPerSecond rate = {});
  std::size_t routes() const { return routes_.size(); }

  // A message of `bytes` is ready at `at` (not before now); when its last byte has arrived, `token` goes to `on_end`.
  void start(RouteIndex route, std::int64_t bytes, SimTime at, std::uint32_t token);

  // Where marks are on, this switch marks all that joins a queue of so many bytes, besides what the settings say.
  void mark_from(NodeId at, Bytes queued) { switches_[static_cast<std::size_t>(at)].mark_from = queued.count; }

  // From now on what crosses links, what waits in queues and the windows of senders go there. Call before the first message starts.
  void record_activity(NetworkActivity* activity) { activity_ = activity; }

  // Hands `token` to `on_end` at `at` (not before now): a timer.
  void wake(SimTime at, std::uint32_t token);

  SimTime now() const { return {now_}; }
  SimTime next_date() const { return {queue_.next_date()}; }
  SimTime latency(RouteIndex route) const { return {routes_[route].latency_ps}; }
  std::int64_t sent_beside_messages(RouteIndex route) const { return routes_[route].beside; }

  // Handles all events of the next date. on_end(token) may start new messages. Throws RunError when a sender gives up or
  // nothing can move for good.
  template <class OnEnd>
  void advance(OnEnd&& on_end) {
    now_ = queue_.next_date();
    const auto handle_one = [&](std::uint32_t event) {
      ++events_;
      handle(event);
      for (std::size_t i = 0; i < ended_.size(); ++i) on_end(ended_[i]);
      ended_.clear();
    };
    queue_.pop_date(handle_one, [this](std::uint32_t event) { fetch(event); });
  }

  std::uint64_t events() const { return events_; }
  std::int64_t packet_hops() const { return packet_hops_; }
  PacketReport report() const;

  // Finds what is stuck while other things move: queues in a deadlock, links that failed for good. never_ends(token)
  // is called for every message that needs them. Goes through all that waits in paused queues, so ask when look_due() says.
  bool look_due() const { return events_ >= look_at_; }
  template <class NeverEnds>
  void look(NeverEnds&& never_ends) {
    for (const std::uint32_t flow : look_for_standing()) never_ends(flows_[flow].token);
  }
  // Whether time alone may still change something: a link that fails or recovers.
  bool faults_ahead() const { return faults_left_ > 0; }

  // Which queues wait for which, when nothing moves although there is something to send: a cycle of paused queues if they
  // are in a deadlock, else the queues that cannot be served. "" if nothing waits.
  std::string stall() const;

  // In packets, and where it is.
  struct LongestQueue {
    std::string name = {};
    std::int64_t packets = 0;
  };
  LongestQueue longest_queue() const;

  // Messages whose sender does not know yet that all of it has arrived.
  std::size_t in_flight() const { return flows_.size() - free_flows_.size(); }

 private:
  friend class DatagramNetwork;
  static constexpr std::uint32_t none = UINT32_MAX;
  static constexpr std::uint32_t unknown = UINT32_MAX - 1;
  static constexpr std::int64_t never = WheelQueue::never;
  static constexpr int max_priorities = 8;

  enum class Event : std::uint32_t { arrive, serve, pause, resume, start, end, timer, pace, feedback, fail, recover, due, wake };
  static constexpr int event_bits = 28;
  void schedule(std::int64_t date, Event kind, std::uint32_t index) {
    queue_.push(date, (static_cast<std::uint32_t>(kind) << event_bits) | index);
  }

  // A link on the way of a packet, and what comes after it. Where a multicast parts, several hops come after.
  struct HopEntry {
    std::uint32_t link;
    std::uint32_t before;  // the hop a packet comes from; none at its first
    std::uint32_t next;    // the first hop after it
    std::uint16_t nexts;   // how many; 0: the packet ends here
    std::uint8_t priority : 6;
    bool holds_back : 1;   // what waits there may pause the link that it came over
    bool faster_next : 1;  // a link after it is faster: cut-through must not run dry
  };

  // What many links have in common.
  struct LinkKind {
    std::int64_t bits_per_second = 0;
    std::int64_t full_ps = 0;  // time of a full packet
    std::int64_t head_ps = 0;  // time of what a switch needs before it sends on
    std::int64_t delay_ps = 0;
    std::int64_t ps_per_byte = 0;  // 0: not a whole number
    // Of what came over the link and waits at its far end: from more than this on its sender pauses, down to this it goes on.
    std::int64_t pause_above = never, resume_at = never;
    friend auto operator<=>(const LinkKind&, const LinkKind&) = default;
  };

  static constexpr std::size_t cache_line = 64;
  struct alignas(cache_line) Port {  // the sending side of a link
    std::int64_t free_at = 0;        // when the last packet given to it has left
    Ring<PacketOnWire> wire;
    std::int64_t carried = 0;           // bytes
    std::uint32_t waiting = 0;          // packets, and messages with something to send, in all its queues
    std::uint32_t control_waiting = 0;  // packets in that of the control class
    std::uint32_t at_switch = 0;        // whose buffer its queues use; none: an endpoint's
    std::uint32_t kind = 0;             // in kinds_
    std::uint8_t paused = 0;            // a bit a priority
    std::uint8_t turn = 0;              // the priority served last
    std::uint8_t failures = 0;          // that have begun and not ended
    bool down() const { return failures > 0; }
    bool lossy = false;
    bool serve_pending = false;  // an event will serve it
    std::uint8_t standing = 0;   // a bit a priority: found in a deadlock
  };
  static_assert(sizeof(Port) == cache_line);

  struct alignas(64) Queue {  // one priority of one port; also what the far end knows of the same priority's packets
    Ring<Packet> packets;
    std::int64_t bytes = 0;
    std::uint32_t first_flow = none, last_flow = none;  // messages with something to send, in turn
    bool flows_turn = false;                            // packets of agents and messages take turns
    bool stopped = false;                               // far end: has been told to pause
    std::uint32_t telling = 0;                          // pauses and resumptions on their way
    std::int64_t ingress = 0;                           // far end: bytes that came over this link and wait in the switch
    std::int64_t high_water = 0, marked = 0, dropped = 0, pauses = 0, paused_since = 0, paused_ps = 0;
    Chance chance;  // of marks
    TimeSeries* recorded = nullptr;
  };

  struct Switch {
    std::int64_t used = 0, high_water = 0;
    std::int64_t shared = 0;                  // of its buffer, what is not headroom
    std::vector<std::uint32_t> stopped = {};  // queues of links to it that it has told to pause
    std::int64_t mark_from = INT64_MAX;
  };

  struct RouteState {
    std::int64_t latency_ps;
    std::uint32_t first_hop;
    std::uint32_t hops;
    std::uint32_t back = unknown;  // the first hop of the way back, found when an answer first needs it
    std::uint32_t memory = none;   // what the last message learned of congestion
    TimeSeries* recorded = nullptr;
    BitsPerSecond rate{0};        // of its payload; 0: any
    std::uint32_t window = none;  // packets of a message, for that rate
    std::int64_t free_at = 0;     // its next packet may leave
    std::int64_t beside = 0;      // bytes that were sent beside the messages': headers and retransmissions
  };

  // A message on its way: both ends of it. What a packet that arrives needs is in the first cache line.
  struct alignas(64) Flow {
    std::uint32_t route = 0, token = 0;
    std::uint32_t first_hop = 0;  // of the route
    std::uint32_t packets = 0;
    std::uint32_t last_bytes = 0;   // of the last packet, on the wire
    std::uint32_t expected = 0;     // at the receiver: all before have arrived
    std::uint32_t unanswered = 0;   // at the receiver: arrived since the last acknowledgement
    std::uint32_t outstanding = 0;  // packets and answers in the network
    bool active = false, ended = false, queued = false;
    bool refused = false;           // the receiver has asked to go back and waits
    bool pace_pending = false;      // an event will offer it again; like timer_at it outlives the message
    bool acknowledged = false;      // its packets are answered
    bool rated = false;             // its route has a rate of its own
    std::int64_t arrives_at = 0;    // the last of what has been received
    std::int64_t notify_at = 0;     // at the receiver: no notification before
    std::int64_t send_at = 0;       // not before (pacing)
    std::uint32_t next = 0;         // to send
    std::uint32_t highest = 0;      // all before have been sent
    std::uint32_t acked = 0;        // all before are known to have arrived
    std::uint32_t after = none;     // the next in its queue
    int tries = 0;                  // timeouts in a row
    std::int64_t timer_at = never;  // when its timer event comes
    std::int64_t deadline = never;  // for an answer
    CongestionControl congestion = {};
  };

  struct Feedback {
    std::uint32_t flow, sequence;
    PacketKind kind;
    bool marked;
  };  // an answer without a size, on its way

  // Ports and queues lie without order in tables that may be larger than a cache: those of the next events are asked for before.
  void fetch(std::uint32_t event) const {
    const std::uint32_t index = event & ((1u << event_bits) - 1), kind = event >> event_bits;
    if (kind > static_cast<std::uint32_t>(Event::serve)) return;
    prefetch(&ports_[index]);
    if (kind == static_cast<std::uint32_t>(Event::serve)) prefetch(&queues_[queue_index(index, 0)]);
  }
  void handle(std::uint32_t event);

  // packet_network.cpp
  std::uint32_t add_hops(std::span<const Hop> hops);
  std::uint32_t window_for(BitsPerSecond rate, std::span<const Hop> hops, SimTime latency) const;
  // Several hops that leave one node, side by side, after the hop that leads to it (none: they are the first).
  std::uint32_t add_branches(std::span<const Hop> hops, std::uint32_t before);

  // forwarding.cpp: links, queues and switches
  std::uint32_t queue_index(std::uint32_t port, int priority) const { return port * classes_ + static_cast<std::uint32_t>(priority); }
  const LinkKind& kind_of(const Port& port) const { return kinds_[port.kind]; }
  const LinkKind& kind_of(std::uint32_t link) const { return kind_of(ports_[link]); }
  std::int64_t duration(const Port& port, std::uint32_t bytes) const {
    const LinkKind& kind = kind_of(port);
    if (bytes == full_bytes_) return kind.full_ps;
    if (kind.ps_per_byte != 0) return bytes * kind.ps_per_byte;
    return (Bytes{bytes} / BitsPerSecond{kind.bits_per_second}).ps;
  }
  // Whether what waits there takes shared buffer: not at endpoints, and control packets have room of their own.
  bool buffered(const Port& port, const HopEntry& hop) const { return port.at_switch != none && hop.priority != control_; }
  // Whether what waits for that hop may pause the link that it came over.
  bool holds_back(const HopEntry& before, const Hop& hop) const {
    return hop.priority != control_ && kind_of(before.link).pause_above != never;
  }
  void set_pauses(std::uint32_t link, LinkKind& kind) const;
  void arrive(std::uint32_t port);
  void forward(const Packet& packet, std::uint32_t hop);
  void wait(const Packet& packet, std::uint32_t hop);
  std::int64_t used_at(const Port& port) const { return port.at_switch == none ? 0 : switches_[port.at_switch].used; }
  std::uint32_t switch_at_end(std::uint32_t link) const {
    const NodeId at = fabric_.to(static_cast<LinkId>(link));
    return fabric_.device(at).kind == DeviceKind::network_switch ? static_cast<std::uint32_t>(at) : none;
  }
  // The queue that the packets for this hop came from, which they may hold back.
  std::uint32_t ingress_of(const HopEntry& hop) const { return queue_index(hops_[hop.before].link, hops_[hop.before].priority); }
  // So much of the buffer of the switch at the far end is used; none: it is no switch.
  std::int64_t pause_above(std::uint32_t queue, std::uint32_t at_switch, std::int64_t used) const;
  std::int64_t resume_at(std::uint32_t queue, std::uint32_t at_switch, std::int64_t used) const;
  std::int64_t share_of_free(const Switch& at, std::int64_t used) const;
  // Pauses depend on how much is free.
  bool is_tight(const Switch& at) const { return !at.stopped.empty() && share_of_free(at, at.used) < settings_.pfc.xoff.count; }
  void resume_where_possible(std::uint32_t at_switch);
  std::int64_t headroom(std::uint32_t link) const;
  bool admits(const Port& port, const HopEntry& hop, std::uint32_t bytes) const;
  bool marks(Queue& queue, const Switch& at);
  void wake(std::uint32_t port);
  void serve(std::uint32_t port);
  bool take_next(Port& port, std::uint32_t index, int priority, Packet& packet);
  Packet take_packet(Port& port, Queue& queue);
  void transmit(Port& port, std::uint32_t index, const Packet& packet, std::uint32_t hop);
  std::int64_t head_start(const Port& port, const HopEntry& hop, std::uint32_t bytes, std::int64_t lasts) const;
  void tell(std::uint32_t queue, Event what);
  void paused(std::uint32_t index);
  void resumed(std::uint32_t index);
  void fail(std::uint32_t port);
  void recover(std::uint32_t port);
  void discard(const Packet& packet);
  void note_queue(const HopEntry& hop, Queue& queue);

  // sending.cpp: messages and their transports
  bool ready(const Flow& flow) const { return flow.next < flow.packets && flow.next - flow.acked < window_of(flow); }
  std::uint32_t window_of(const Flow& flow) const {
    const std::uint32_t window = std::visit([](const auto& control) { return control.window(); }, flow.congestion);
    return flow.rated ? std::min(routes_[flow.route].window, window) : window;
  }
  std::uint32_t packet_bytes(const Flow& flow, std::uint32_t sequence) const {
    return sequence + 1 == flow.packets ? flow.last_bytes : full_bytes_;
  }
  void begin(std::uint32_t flow);
  void offer(std::uint32_t flow);
  void enqueue(Flow& flow, std::uint32_t index, Port& port, Queue& queue);
  bool take_from_flow(Queue& queue, Port& port, Packet& packet);
  bool answers(const Packet& packet) const;
  void received(const Packet& packet, std::int64_t date);
  void received_in_order(const Packet& packet, std::int64_t date);
  void answer(std::uint32_t flow, PacketKind kind, bool marked, std::int64_t date);
  void answered(std::uint32_t flow, PacketKind kind, std::uint32_t sequence, bool marked);
  void give_feedback(std::uint32_t record);
  std::uint32_t way_back(RouteState& route);
  std::int64_t timeout_of(const Flow& flow, int tries) const;
  void arm(std::uint32_t flow, std::int64_t deadline);
  void timer(std::uint32_t flow);
  void release_if_done(std::uint32_t flow);
  void note_window(const Flow& flow);

  // stall.cpp
  std::string name_of_queue(std::uint32_t queue) const;
  std::vector<char> standing() const;
  std::vector<std::uint32_t> held_by(const std::vector<char>& standing) const;
  std::vector<std::uint32_t> look_for_standing();
  void add_blocked(std::uint32_t queue, bool packets, std::vector<std::uint32_t>& flows) const;
  [[noreturn]] void give_up(const Flow& flow) const;

  const Fabric& fabric_;
  const PacketSettings settings_;
  std::uint32_t classes_;  // priorities of the fabric, and control
  int control_;
  std::uint32_t full_bytes_;
  MarkEcho echo_;                    // of the transport
  bool acknowledged_;                // packets of all routes are: a window needs it, or something may be lost
  bool order_matters_;               // something may be lost
  std::uint64_t loss_, corruption_;  // probabilities as Chance takes them

  std::int64_t now_ = 0;
  WheelQueue queue_;
  std::vector<LinkKind> kinds_;
  std::vector<Port> ports_;       // by link
  std::vector<Queue> queues_;     // port * classes_ + priority
  std::vector<Switch> switches_;  // by node
  std::vector<Chance> losses_;    // by link; empty without faults
  std::vector<HopEntry> hops_;
  std::vector<RouteState> routes_;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> free_flows_;
  std::vector<CongestionControl> memories_;
  std::vector<Feedback> feedback_;
  std::vector<std::uint32_t> free_feedback_;
  std::vector<std::uint32_t> wakes_;  // the tokens of timers
  std::vector<std::uint32_t> free_wakes_;
  std::vector<std::uint32_t> ended_;
  DatagramSink* datagrams_ = nullptr;
  NetworkActivity* activity_ = nullptr;
  std::vector<LinkId> opposite_;  // by link: the same cable's other direction, found when first needed

  static constexpr std::uint64_t look_interval = 1u << 20;  // events; more where a look is long
  std::uint64_t events_ = 0, look_at_ = look_interval;
  std::uint32_t faults_left_ = 0;
  std::vector<std::uint32_t> faults_ahead_;  // by link
  std::int64_t packet_hops_ = 0, packets_ = 0, resent_ = 0, lost_ = 0, corrupted_ = 0, timeouts_ = 0, notifications_ = 0;
};

}  // namespace weft

#include "sim/packet/packet_network.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace weft {
namespace {

LinkId link_named(const Fabric& fabric, const std::string& name, std::vector<std::string>& problems) {
  for (LinkId id = 0; id < fabric.links(); ++id)
    if (fabric.link_name(id) == name) return id;
  problems.push_back(fmt::format("packet: the fabric has no link \"{}\"", name));
  return 0;
}

std::int64_t round_trip_bytes(std::int64_t delay_ps, std::int64_t bits_per_second) {
  return static_cast<std::int64_t>(2e-12 * static_cast<double>(delay_ps) * static_cast<double>(bits_per_second) / 8);
}

}  // namespace

std::string contention_of_link(const Fabric& fabric, LinkId link) {
  return fmt::format(
      "network \"packet\" serves every link at one rate, but {} has \"contention\" with a \"two_way_rate\" in the server: use network "
      "\"flow\", or set the link's contention to \"none\"",
      fabric.link_name(link));
}

PacketNetwork::PacketNetwork(const Fabric& fabric, std::vector<BitsPerSecond> rates, const PacketSettings& settings)
    : fabric_(fabric),
      settings_(settings),
      classes_(static_cast<std::uint32_t>(fabric.priorities()) + 1),
      control_(fabric.priorities()),
      full_bytes_(static_cast<std::uint32_t>((settings.packet + settings.header).count)),
      echo_(std::visit([](const auto& control) { return control.echo; }, congestion_control(settings_, 0))),
      order_matters_(!settings.pfc.on || settings.faults.any()),
      loss_(Chance::of(settings.faults.loss)),
      corruption_(Chance::of(settings.faults.corruption)) {
  std::vector<std::string> lines;
  for (const Problem& p : problems(settings)) lines.push_back(fmt::format("packet: {} {}", p.where.substr(1), p.what));
  if (fabric.priorities() > max_priorities)
    lines.push_back(fmt::format("packet: at most {} priorities are possible, the fabric uses {}", max_priorities, fabric.priorities()));
  std::vector<std::uint32_t> failing;
  for (const LinkFailure& f : settings.faults.failures) failing.push_back(static_cast<std::uint32_t>(link_named(fabric, f.link, lines)));
  std::vector<char> lossy(rates.size());
  for (std::size_t link = 0; link < rates.size(); ++link)
    lossy[link] = settings.faults.links.empty() && !fabric.link(static_cast<LinkId>(link)).in_server;
  for (const std::string& name : settings.faults.links) lossy[static_cast<std::size_t>(link_named(fabric, name, lines))] = true;
  if (!lines.empty()) throw InputError(std::move(lines));

  for (std::size_t link = 0; link < rates.size(); ++link)  // a link has one rate: that while both directions are used
    if (const TwoWayLoad& load = fabric.link(static_cast<LinkId>(link)).two_way; load.loses() && !load.depends_on_flows())
      rates[link] = std::min(rates[link], load.duplex);
  acknowledged_ = std::visit([](const auto& control) { return control.windowed; }, congestion_control(settings_, 0)) || order_matters_;
  ports_.resize(rates.size());
  queues_.resize(rates.size() * classes_);
  switches_.resize(static_cast<std::size_t>(fabric.devices()));
  faults_ahead_.resize(rates.size());
  std::map<LinkKind, std::uint32_t> known_kinds;  // in kinds_
  for (std::uint32_t link = 0; link < rates.size(); ++link) {
    Port& port = ports_[link];
    const NodeId at = fabric.from(static_cast<LinkId>(link));
    constexpr std::int64_t bit_ps = 8'000'000'000'000;
    port.lossy = lossy[link] && (settings.faults.loss > 0 || settings.faults.corruption > 0);
    LinkKind kind{
        .bits_per_second = rates[link].count,
        .full_ps = (Bytes{full_bytes_} / rates[link]).ps,
        .head_ps = settings.switching == Switching::cut_through ? (settings.cut_through_after / rates[link]).ps : never,
        .delay_ps = fabric.link(static_cast<LinkId>(link)).latency.ps,
        .ps_per_byte = bit_ps % rates[link].count == 0 ? bit_ps / rates[link].count : 0,
    };
    set_pauses(link, kind);
    const auto [known, fresh] = known_kinds.try_emplace(kind, static_cast<std::uint32_t>(kinds_.size()));
    if (fresh) kinds_.push_back(kind);
    port.kind = known->second;
    port.at_switch = fabric.device(at).kind == DeviceKind::network_switch ? static_cast<std::uint32_t>(at) : none;
    for (int p = 0; p <= control_; ++p) queues_[queue_index(link, p)].chance = Chance(settings.seed, queue_index(link, p));
    if (settings.faults.loss > 0 || settings.faults.corruption > 0) losses_.emplace_back(~settings.seed, link);
  }
  for (Switch& at : switches_) at.shared = settings.switch_buffer.count;
  for (std::uint32_t link = 0; link < ports_.size(); ++link)
    if (const std::uint32_t at = switch_at_end(link); at != none) switches_[at].shared -= headroom(link);
  // Most events are of packets that have just been sent: they end their transmission, or arrive.
  std::int64_t ahead_ps = 0;
  for (const LinkKind& kind : kinds_) ahead_ps = std::max(ahead_ps, later(kind.full_ps, kind.delay_ps));
  queue_ = WheelQueue(ahead_ps);
  for (std::size_t i = 0; i < failing.size(); ++i) {
    const LinkFailure& f = settings.faults.failures[i];
    const auto expect = [&](SimTime at, Event what) {
      schedule(at.ps, what, failing[i]);
      ++faults_left_;
      ++faults_ahead_[failing[i]];
    };
    expect(f.at, Event::fail);
    if (f.until != SimTime::never()) expect(f.until, Event::recover);
  }
}

// Between switches, and from a switch to a NIC, pauses are those of PFC. Inside a server a device grants credits for what it has room for,
// as PCIe does: enough that the link never runs dry while a pause or a resumption is on its way.
void PacketNetwork::set_pauses(std::uint32_t index, LinkKind& kind) const {
  const Link& link = fabric_.link(static_cast<LinkId>(index));
  if (fabric_.device(fabric_.to(static_cast<LinkId>(index))).kind == DeviceKind::endpoint) return;
  if (link.in_server) {
    kind.resume_at = round_trip_bytes(kind.delay_ps, kind.bits_per_second) + 2 * full_bytes_;
    kind.pause_above = kind.resume_at + 2 * full_bytes_;
  } else if (settings_.pfc.on) {
    kind.resume_at = settings_.pfc.xon.count;
    kind.pause_above = settings_.pfc.xoff.count;
  }
}

// Of each priority of a link: what comes in the round trip of a pause, the packet that was too much and the one under way.
std::int64_t PacketNetwork::headroom(std::uint32_t link) const {
  const LinkKind& kind = kind_of(link);
  return (round_trip_bytes(kind.delay_ps, kind.bits_per_second) + 2 * full_bytes_) * control_;
}

PacketNetwork::RouteIndex PacketNetwork::add_route(std::span<const Hop> hops, SimTime latency, FlowTerms /*terms*/, BitsPerSecond rate) {
  check(!hops.empty(), "a route without links");
  for (const Hop& hop : hops)
    if (fabric_.link(hop.link).two_way.depends_on_flows()) throw InputError(contention_of_link(fabric_, hop.link));
  routes_.push_back({.latency_ps = latency.ps, .first_hop = add_hops(hops), .hops = static_cast<std::uint32_t>(hops.size()), .rate = rate});
  if (rate.count > 0) routes_.back().window = window_for(rate, hops, latency);
  return static_cast<RouteIndex>(routes_.size() - 1);
}

// What must be under way for the rate in an idle network: a packet that is stored in every switch, and its answer back. Answers that wait
// for further packets need these besides.
std::uint32_t PacketNetwork::window_for(BitsPerSecond rate, std::span<const Hop> hops, SimTime latency) const {
  std::int64_t round_trip = 2 * latency.ps;
  for (const Hop& hop : hops) {
    const Port& port = ports_[static_cast<std::size_t>(hop.link)];
    round_trip += kind_of(port).full_ps + duration(port, static_cast<std::uint32_t>(settings_.acknowledgement.count));
  }
  const Int128 bits = Int128{rate.count} * round_trip, packet = Int128{8} * settings_.packet.count * 1'000'000'000'000;
  return static_cast<std::uint32_t>(std::min<Int128>(1 << 30, (bits + packet - 1) / packet + settings_.acknowledge_every));
}

std::uint32_t PacketNetwork::add_hops(std::span<const Hop> hops) {
  const auto first = static_cast<std::uint32_t>(hops_.size());
  const auto rate = [&](std::uint32_t i) { return kind_of(static_cast<std::uint32_t>(hops[i].link)).bits_per_second; };
  for (std::uint32_t i = 0; i < hops.size(); ++i) {
    const bool last = i + 1 == hops.size();
    hops_.push_back({.link = static_cast<std::uint32_t>(hops[i].link),
                     .before = i == 0 ? none : first + i - 1,
                     .next = first + i + 1,
                     .nexts = static_cast<std::uint16_t>(last ? 0 : 1),
                     .priority = static_cast<std::uint8_t>(hops[i].priority & 63),
                     .holds_back = i > 0 && holds_back(hops_.back(), hops[i]),
                     .faster_next = !last && rate(i + 1) > rate(i)});
  }
  return first;
}

std::uint32_t PacketNetwork::add_branches(std::span<const Hop> hops, std::uint32_t before) {
  const auto first = static_cast<std::uint32_t>(hops_.size());
  for (const Hop& hop : hops)
    hops_.push_back({.link = static_cast<std::uint32_t>(hop.link),
                     .before = before,
                     .next = 0,
                     .nexts = 0,
                     .priority = static_cast<std::uint8_t>(hop.priority & 63),
                     .holds_back = before != none && holds_back(hops_[before], hop),
                     .faster_next = false});
  if (before == none) return first;
  HopEntry& parent = hops_[before];
  parent.next = first;
  parent.nexts = static_cast<std::uint16_t>(hops.size());
  const auto faster = [&](const Hop& hop) {
    return kind_of(static_cast<std::uint32_t>(hop.link)).bits_per_second > kind_of(parent.link).bits_per_second;
  };
  parent.faster_next = std::ranges::any_of(hops, faster);
  return first;
}

void PacketNetwork::wake(SimTime at, std::uint32_t token) {
  if (free_wakes_.empty()) {
    free_wakes_.push_back(static_cast<std::uint32_t>(wakes_.size()));
    wakes_.emplace_back();
  }
  const std::uint32_t index = free_wakes_.back();
  free_wakes_.pop_back();
  wakes_[index] = token;
  schedule(at.ps, Event::wake, index);
}

void PacketNetwork::handle(std::uint32_t event) {
  const std::uint32_t index = event & ((1u << event_bits) - 1);
  switch (static_cast<Event>(event >> event_bits)) {
    case Event::arrive:
      return arrive(index);
    case Event::serve:
      ports_[index].serve_pending = false;
      return serve(index);
    case Event::pause:
      return paused(index);
    case Event::resume:
      return resumed(index);
    case Event::start:
      return begin(index);
    case Event::end:
      flows_[index].ended = true;
      ended_.push_back(flows_[index].token);
      return release_if_done(index);
    case Event::timer:
      return timer(index);
    case Event::pace:
      flows_[index].pace_pending = false;
      return offer(index);
    case Event::feedback:
      return give_feedback(index);
    case Event::fail:
      return fail(index);
    case Event::recover:
      return recover(index);
    case Event::due:
      return datagrams_->due(index);
    case Event::wake:
      ended_.push_back(wakes_[index]);
      return free_wakes_.push_back(index);
  }
}

PacketNetwork::LongestQueue PacketNetwork::longest_queue() const {
  const auto longest = std::ranges::max_element(queues_, {}, [](const Queue& q) { return q.packets.size(); });
  if (longest == queues_.end()) return {};
  return {name_of_queue(static_cast<std::uint32_t>(longest - queues_.begin())), longest->packets.size()};
}

PacketReport PacketNetwork::report() const {
  PacketReport r{
      .queues = {}, .wire_bytes = {}, .switch_high_water = {}, .packet_hops = packet_hops_, .packets = packets_, .resent = resent_};
  r.lost = lost_, r.corrupted = corrupted_, r.timeouts = timeouts_, r.notifications = notifications_;
  for (std::uint32_t link = 0; link < ports_.size(); ++link) {
    const Port& port = ports_[link];
    const double to_send = static_cast<double>(std::max<std::int64_t>(0, port.free_at - now_)) * 1e-12;  // seconds, of the last packet
    r.wire_bytes.push_back(port.carried - std::llround(to_send * static_cast<double>(kind_of(port).bits_per_second) / 8));
    for (int priority = 0; priority <= control_; ++priority) {
      const Queue& q = queues_[queue_index(link, priority)];
      const bool still = (port.paused >> priority & 1) != 0;
      const QueueReport queue{.link = static_cast<LinkId>(link),
                              .priority = priority,
                              .high_water = Bytes{q.high_water},
                              .marked = q.marked,
                              .dropped = q.dropped,
                              .pauses = q.pauses,
                              .paused = SimTime{q.paused_ps + (still ? now_ - q.paused_since : 0)}};
      r.marked += q.marked, r.dropped += q.dropped, r.pauses += q.pauses;
      if (!queue.quiet()) r.queues.push_back(queue);
    }
  }
  for (const Switch& s : switches_) r.switch_high_water.push_back(Bytes{s.high_water});
  return r;
}

}  // namespace weft

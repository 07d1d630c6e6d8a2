#include "sim/packet/datagram_network.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft {

DatagramNetwork::DatagramNetwork(PacketNetwork& network, Routes& routes, PayloadPool* pool, double wire_share)
    : network_(network),
      routes_(routes),
      pool_(pool),
      program_at_(static_cast<std::size_t>(routes.fabric().devices()), nobody),
      agents_at_(static_cast<std::size_t>(routes.fabric().devices())),
      wire_share_(wire_share) {
  check(network.datagrams_ == nullptr, "a packet network with two datagram networks");
  check(program_at_.size() < 1u << 21, "a fabric of {} devices", program_at_.size());
  endpoint_at_.resize(program_at_.size(), -1);
  free_at_.resize(program_at_.size());
  for (std::size_t node = 0; node < program_at_.size(); ++node) jitter_.emplace_back(network.settings_.seed + 1, node);
  for (int e = 0; e < routes.fabric().endpoints(); ++e) endpoint_at_[static_cast<std::size_t>(routes.fabric().node_of(e))] = e;
  network.datagrams_ = this;
}

void DatagramNetwork::add(Address address, Attachment attachment) {
  check(address == static_cast<Address>(attachments_.size()) && address < 1 << 21, "address {} is placed after {} others", address,
        attachments_.size());
  attachments_.push_back(std::move(attachment));
}

void DatagramNetwork::attach(Address address, int endpoint, Agent& agent, SimTime start, AgentCost cost) {
  const NodeId node = routes_.fabric().node_of(endpoint);
  agents_at_[static_cast<std::size_t>(node)].push_back(address);
  add(address, {.agent = &agent,
                .node = node,
                .endpoint = endpoint,
                .start = start,
                .delay_ps = cost.delay.ps,
                .interval_ps = interval_of(cost),
                .host = cost.host});
}

void DatagramNetwork::program(Address address, NodeId at, Agent& agent, AgentCost cost) {
  Address& program = program_at_[static_cast<std::size_t>(at)];
  check(routes_.fabric().device(at).kind == DeviceKind::network_switch && program == nobody, "{} cannot be programmed",
        routes_.fabric().device(at).name);
  program = address;
  add(address, {.agent = &agent, .node = at, .start = {}, .delay_ps = cost.delay.ps, .interval_ps = interval_of(cost)});
}

void DatagramNetwork::group(Address address, std::vector<Address> members) {
  for (const Address member : members) check(attachment_of(member).endpoint >= 0, "address {} of a group is not at an endpoint", member);
  add(address, {.members = std::move(members)});
}

std::int64_t DatagramNetwork::interval_of(AgentCost cost) {
  return cost.packets_per_second == 0 ? 0 : (1'000'000'000'000 + cost.packets_per_second - 1) / cost.packets_per_second;
}

DatagramNetwork::Attachment& DatagramNetwork::attachment_of(Address address) {
  check(address >= 0 && address < static_cast<Address>(attachments_.size()), "a datagram for address {}, which nobody has", address);
  return attachments_[static_cast<std::size_t>(address)];
}

void DatagramNetwork::watch(Address address, FinishWatcher& watcher) { attachment_of(address).watches = &watcher; }

void DatagramNetwork::start_again(Address address, SimTime at) {
  schedule(at.ps, {.what = Due::start, .agent = address, .timer = 0, .datagram = {}});
}

void DatagramNetwork::called(Address address) {
  Attachment& attachment = attachment_of(address);
  if (attachment.watcher && attachment.agent->finished()) std::exchange(attachment.watcher, nullptr)->agent_finished(address);
  if (call_watcher_) call_watcher_->agent_called(address);
}

void DatagramNetwork::begin() {
  for (Address a = 0; a < static_cast<Address>(attachments_.size()); ++a)
    if (attachments_[static_cast<std::size_t>(a)].agent)
      schedule(attachment_of(a).start.ps, {.what = Due::start, .agent = a, .timer = 0, .datagram = {}});
}

bool DatagramNetwork::finished() const {
  return std::ranges::all_of(attachments_, [](const Attachment& p) { return !p.agent || p.agent->finished(); });
}

std::string DatagramNetwork::waiting() const {
  std::string text = "no progress is possible:";
  for (const Attachment& p : attachments_) {
    if (!p.agent || p.agent->finished()) continue;
    if (text.size() > 4000) {
      text += "\n  ...";
      break;
    }
    text += fmt::format("\n  {}: {}", routes_.fabric().device(p.node).name, p.agent->waiting());
  }
  if (stuck())
    text += fmt::format(
        "\nnone of them is further than at {:.3f} us: since then {} timers have fired, and {} times in a row all that was sent has "
        "arrived, got "
        "lost or stands in a deadlock",
        fruitless_since_.microseconds(), fruitless_timers_, fruitless_rounds_);
  return text;
}

void DatagramNetwork::schedule(std::int64_t date, Pending pending) {
  pending.odd = odd_;
  ++under_way_[odd_];
  std::uint32_t index;
  if (free_pending_.empty()) {
    index = static_cast<std::uint32_t>(pending_.size());
    pending_.push_back(std::move(pending));
  } else {
    index = free_pending_.back();
    free_pending_.pop_back();
    pending_[index] = std::move(pending);
  }
  network_.schedule(date, PacketNetwork::Event::due, index);
}

void DatagramNetwork::due(std::uint32_t event) {
  Pending p = std::move(pending_[event]);
  free_pending_.push_back(event);
  current_ = p.agent;
  Agent& agent = *attachment_of(p.agent).agent;
  switch (p.what) {
    case Due::start:
      attachment_of(p.agent).watcher = attachment_of(p.agent).watches;
      agent.start(*this);
      break;
    case Due::timer:
      ++timers_fired_;
      agent.on_timer(*this, p.timer);
      break;
    case Due::departure:
      --in_pipelines_;
      --attachment_of(p.agent).in_pipeline;
      depart(attachment_of(p.agent), std::move(p.datagram));
      break;
    case Due::delivery:
      --in_pipelines_;
      --attachment_of(p.agent).in_pipeline;
      agent.on_datagram(*this, std::move(p.datagram));
      break;
  }
  if (network_.activity_) note_level(attachment_of(p.agent));
  called(p.agent);
  over(p.odd);
}

void DatagramNetwork::note_level(Attachment& attachment) {
  const int level = attachment.agent->level();
  if (level < 0) return;
  const std::string& name = routes_.fabric().device(attachment.node).name;
  if (!attachment.recorded)
    attachment.recorded = attachment.endpoint < 0 ? &network_.activity_->level("aggregators " + name, "in use")
                                                  : &network_.activity_->level("window " + name, "packets");
  attachment.recorded->set(network_.now(), level);
}

// At its end, or at a switch that adds it up.
void DatagramNetwork::note_arrival(const Record& record, Address to) {
  const auto name = [&](Address a) { return routes_.fabric().device(attachment_of(a).node).name; };
  network_.activity_->transfer({.by = "in-network",
                                .from = name(record.datagram.from),
                                .to = name(to),
                                .bytes = record.datagram.wire_bytes,
                                .begin = record.sent,
                                .end = network_.now()});
}

void DatagramNetwork::set_timer(std::int64_t after_ps, std::uint64_t name) {
  check(after_ps >= 0, "a timer {} ps ago", -after_ps);
  schedule(later(network_.now_, after_ps), {.what = Due::timer, .agent = current_, .timer = name, .datagram = {}});
}

std::uint32_t DatagramNetwork::bytes_on_links(const Datagram& datagram) const {
  return wire_share_ == 1 ? static_cast<std::uint32_t>(datagram.wire_bytes)
                          : static_cast<std::uint32_t>(std::ceil(datagram.wire_bytes * wire_share_));
}

void DatagramNetwork::send(Datagram datagram) {
  check(datagram.wire_bytes > 0 && datagram.wire_bytes < 1 << 24, "a datagram of {} bytes", datagram.wire_bytes);
  Sent& sent = attachment_of(current_).sent;
  ++sent.datagrams;
  sent.bytes += datagram.wire_bytes;
  const Attachment& attachment = attachment_of(current_);
  if (!attachment.host.any()) return depart(attachment, std::move(datagram));
  std::int64_t& free_at = free_at_[static_cast<std::size_t>(attachment.node)];
  free_at = later(std::max(network_.now_, free_at), host_time(attachment, datagram));
  into_pipeline(free_at, Due::departure, current_, std::move(datagram));
}

std::int64_t DatagramNetwork::host_time(const Attachment& attachment, const Datagram& datagram) {
  const std::int64_t jitter =
      attachment.host.jitter.ps == 0 ? 0 : jitter_[static_cast<std::size_t>(attachment.node)].below(attachment.host.jitter.ps + 1);
  return attachment.host.of(Bytes{datagram.wire_bytes}).ps + jitter;
}

void DatagramNetwork::into_pipeline(std::int64_t date, Due what, Address agent, Datagram datagram) {
  require_room();
  ++in_pipelines_;
  ++attachment_of(agent).in_pipeline;
  schedule(date, {.what = what, .agent = agent, .timer = 0, .datagram = std::move(datagram)});
}

void DatagramNetwork::depart(const Attachment& from, Datagram datagram) {
  require_room();
  const Branch branch = branch_of(from.node, datagram);
  check(branch.count > 0, "a datagram from {} to {} has nowhere to go", datagram.from, datagram.to);
  std::uint32_t record;
  if (free_records_.empty()) {
    record = static_cast<std::uint32_t>(records_.size());
    records_.emplace_back();
  } else {
    record = free_records_.back();
    free_records_.pop_back();
  }
  const Packet packet{.flow = record,
                      .sequence = 0,
                      .hop = 0,
                      .bytes = bytes_on_links(datagram) & 0xffffffu,
                      .kind = static_cast<std::uint32_t>(PacketKind::datagram) & 7u,
                      .marked = 0,
                      .corrupt = 0};
  records_[record].datagram = std::move(datagram);
  records_[record].references = branch.count;
  records_[record].odd = odd_;
  records_[record].sent = network_.now();
  ++under_way_[odd_];
  for (std::uint32_t i = 0; i < branch.count; ++i) network_.forward(packet, branch.first + i);
}

// Each takes memory, on its way or in a pipeline: what is sent faster than it is handled would go on until there is none.
void DatagramNetwork::require_room() const {
  if (datagrams_in_flight() + in_pipelines_ < max_datagrams) return;
  const Attachment& fullest = *std::ranges::max_element(attachments_, {}, &Attachment::in_pipeline);
  const std::string pipeline =
      fmt::format("{} wait for the pipeline of {}", fullest.in_pipeline, routes_.fabric().device(fullest.node).name);
  const auto [queue, packets] = network_.longest_queue();
  throw RunError(
      fmt::format("{} datagrams are under way at once at {:.3f} us, the most that are simulated: {}. They are sent, or retransmitted, "
                  "faster than they are handled: a longer timeout, fewer slots or a smaller window, faster links or switches",
                  max_datagrams, network_.now().microseconds(),
                  fullest.in_pipeline > packets ? pipeline : fmt::format("{} of them wait at {}", packets, queue)));
}

// A datagram is at the end of a hop: a programmable switch takes it; else it goes on, to each of the hops that follow.
void DatagramNetwork::arrived(const Packet& packet) {
  const PacketNetwork::HopEntry hop = network_.hops_[packet.hop];
  const NodeId node = routes_.fabric().to(static_cast<LinkId>(hop.link));
  const Address program = program_at_[static_cast<std::size_t>(node)];
  if (program != nobody) {
    if (packet.corrupt) {
      ++network_.corrupted_;
      return release(packet.flow);
    }
    if (network_.activity_) note_arrival(records_[packet.flow], program);
    return hand_over(program, take(packet.flow, packet.marked));
  }
  if (hop.nexts == 0) return deliver_at(node, packet);
  records_[packet.flow].references += hop.nexts - 1u;
  for (std::uint32_t i = 0; i < hop.nexts; ++i) network_.forward(packet, hop.next + i);
}

void DatagramNetwork::deliver_at(NodeId node, const Packet& packet) {
  const Address to = records_[packet.flow].datagram.to;
  const Attachment& attachment = attachment_of(to);
  if (attachment.agent) {
    check(attachment.node == node, "a datagram for {} ends at {}", routes_.fabric().device(attachment.node).name,
          routes_.fabric().device(node).name);
    if (network_.activity_) note_arrival(records_[packet.flow], to);
    return hand_over(to, take(packet.flow, packet.marked));
  }
  const auto here = [&](Address a) { return std::ranges::count(attachment.members, a) > 0; };
  const std::vector<Address>& agents = agents_at_[static_cast<std::size_t>(node)];
  if (network_.activity_)
    for (const Address a : agents)
      if (here(a)) note_arrival(records_[packet.flow], a);
  const Datagram datagram = take(packet.flow, packet.marked);
  for (const Address a : agents)
    if (here(a)) hand_over(a, datagram);
}

// Through the agent's pipeline.
void DatagramNetwork::hand_over(Address to, Datagram datagram) {
  Attachment& attachment = attachment_of(to);
  std::int64_t& free_at = free_at_[static_cast<std::size_t>(attachment.node)];
  const std::int64_t taken = std::max(network_.now_, free_at), own = attachment.host.any() ? host_time(attachment, datagram) : 0;
  free_at = later(taken, attachment.interval_ps + own);
  const std::int64_t date = later(taken, attachment.delay_ps + own);
  if (date > network_.now_) return into_pipeline(date, Due::delivery, to, std::move(datagram));
  current_ = to;
  attachment.agent->on_datagram(*this, std::move(datagram));
  if (network_.activity_) note_level(attachment);
  called(to);
}

Datagram DatagramNetwork::take(std::uint32_t record, bool congested) {
  Record& r = records_[record];
  Datagram datagram = r.references == 1 ? std::move(r.datagram) : r.datagram;
  datagram.congested = datagram.congested || congested;
  release(record);
  return datagram;
}

void DatagramNetwork::release(std::uint32_t record) {
  if (--records_[record].references > 0) return;
  records_[record].datagram = {};
  free_records_.push_back(record);
  over(records_[record].odd);
}

void DatagramNetwork::stands(const Packet& packet) {
  Record& record = records_[packet.flow];
  if (std::exchange(record.stands, true)) return;
  over(record.odd);
}

void DatagramNetwork::begin_round() {
  odd_ = !odd_;
  const std::int64_t timers = std::exchange(timers_fired_, 0);
  if (timers == 0 || stuck_) return;
  if (somebody_is_further(timers) || network_.faults_ahead() || (call_watcher_ && call_watcher_->starts_ahead())) {
    fruitless_rounds_ = fruitless_timers_ = 0;
    fruitless_since_ = network_.now();
    return;
  }
  ++fruitless_rounds_;
  fruitless_timers_ += timers;
  stuck_ = fruitless_rounds_ >= min_rounds && fruitless_timers_ >= min_timers;
}

// Than when it was last asked. The first that is answers for all, but as many are asked as timers have fired: it costs no
// more than they did, and what many have said before is known when nobody gets further.
bool DatagramNetwork::somebody_is_further(std::int64_t timers) {
  bool further = false;
  const std::size_t first = asked_;
  for (std::size_t i = 0; i < attachments_.size() && !(further && static_cast<std::int64_t>(i) >= timers); ++i) {
    asked_ = (first + i) % attachments_.size();
    Attachment& attachment = attachments_[asked_];
    if (!attachment.agent) continue;
    const std::int64_t progress = attachment.agent->progress();
    if (progress == attachment.progress) continue;
    attachment.progress = progress;
    further = true;
  }
  return further;
}

void run_agents(PacketNetwork& network, DatagramNetwork& agents) {
  agents.begin();
  while (!agents.finished()) {
    if (agents.stuck() || network.next_date() == SimTime::never()) throw RunError(agents.waiting() + "\n" + network.stall());
    network.advance([](std::uint32_t) {});
    if (network.look_due()) network.look([](std::uint32_t) {});
  }
}

}  // namespace weft

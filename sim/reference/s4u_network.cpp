#include "sim/reference/s4u_network.hpp"

#include "kernels/base/error.hpp"
#include "sim/executor/before_first_message.hpp"
#include "sim/flow/goodput.hpp"
#include "sim/reference/s4u_world.hpp"

#include <deque>
#include <map>
#include <tuple>
#include <vector>

#include <simgrid/s4u.hpp>

namespace weft {

DType type_of_size(std::int64_t bytes) {
  for (const DType type : {DType::uint8, DType::float16, DType::float32, DType::float64})
    if (static_cast<std::int64_t>(size_of(type)) == bytes) return type;
  throw std::logic_error(fmt::format("internal error: elements of {} bytes", bytes));
}

namespace {

Rank member(const Call& call, Rank rank) { return call.members.empty() ? rank : call.members[static_cast<std::size_t>(rank)]; }

// A schedule's ranks among those of the job.
class MembersTransport final : public Transport {
 public:
  MembersTransport(Transport& whole, const Call& call) : whole_(whole), call_(call) {}
  void receive(Rank from, Tag tag, ByteSpan into) override { whole_.receive(member(call_, from), tag, into); }
  void send(Rank to, Tag tag, ByteView bytes) override { whole_.send(member(call_, to), tag, bytes); }
  void wait() override { whole_.wait(); }
  void reduce(DType dtype, ReduceOp op, ByteSpan into, ByteView from) override { whole_.reduce(dtype, op, into, from); }
  void copy(ByteSpan into, ByteView from) override { whole_.copy(into, from); }

 private:
  Transport& whole_;
  const Call& call_;
};

// One operation of one rank: its actors begin when all operations before it have let them.
struct Gate {
  simgrid::s4u::SemaphorePtr open = simgrid::s4u::Semaphore::create(0);
  int before = 0;  // operations that it waits for
  int actors = 1;  // that do it
  int left = 1;    // of them, not done
  std::vector<Gate*> next = {};

  void wait() const {
    for (int i = 0; i < before; ++i) open->acquire();
  }
  void done() {
    if (--left > 0) return;
    for (Gate* gate : next)
      for (int i = 0; i < gate->actors; ++i) gate->open->release();
  }
};

class S4uProgram {
 public:
  S4uProgram(const PlacedProgram& job, Routes& routes, const RankMemory& memory)
      : job_(job),
        routes_(routes),
        memory_(memory),
        world_(job.hardware.in(job.program.calls.empty() ? Regime{} : job.program.calls.front().regime), routes.fabric().endpoints(),
               goodput_of_links(routes.fabric(), job.hardware)) {}

  NetworkRun run() {
    int channels = 0;
    for (const Call& call : job_.program.calls) {
      connect_pairs(call);
      first_channel_.push_back(channels);
      for (const Steps& steps : call.schedule->channels) windows_.emplace_back(steps, call.schedule->ranks);
      channels += static_cast<int>(call.schedule->channels.size());
      refuse_what_is_not_simulated(call);
      const Bytes message{call.elements * call.element_bytes};
      const HardwareProfile in_regime = job_.hardware.in(call.regime);
      before_.push_back(before_first_message(in_regime, *call.schedule, message));
      HardwareProfile& hardware = hardware_.emplace_back(in_regime.for_message(message));
      if (call.reduction) {
        hardware.reduce_launch = *call.reduction;
        hardware.reduce_rate = {};
      }
      sizes_.push_back({.layout = {call.elements, call.schedule->chunks}, .dtype = type_of_size(call.element_bytes)});
    }
    for (Rank rank = 0; rank < job_.program.ranks; ++rank) add_rank(rank, channels);
    return world_.run();
  }

 private:
  // The world's factors do not know the call of a message.
  void refuse_what_is_not_simulated(const Call& call) const {
    if (call.regime != job_.program.calls.front().regime)
      throw InputError("network \"simgrid\" runs all calls of a program in one of NCCL's protocols: use network \"flow\"");
  }

  // Tells the world the path of every pair that exchanges messages, asking for routes in the order of the schedule.
  void connect_pairs(const Call& call) {
    Step step;
    for (int k = 0; k < call.schedule->steps(); ++k) {
      routes_.begin_step();
      for (const Steps& steps : call.schedule->channels) {
        if (k >= steps.count()) continue;
        steps.produce(k, step);
        for (const Transfer& t : step.transfers())
          if (t.from != t.to) connect(endpoint(member(call, t.from)), endpoint(member(call, t.to)));
      }
    }
  }

  void connect(int from, int to) {
    const RouteId id = routes_.of(from, to);
    if (static_cast<std::size_t>(id) >= connected_.size()) connected_.resize(static_cast<std::size_t>(id) + 1);
    if (connected_[static_cast<std::size_t>(id)]) return;
    connected_[static_cast<std::size_t>(id)] = true;
    const Fabric& fabric = routes_.fabric();
    for (const Hop& hop : routes_.hops(id))
      if (const TwoWayLoad& load = fabric.link(hop.link).two_way; load.loses()) world_.lose_two_way(hop.link, load);
    world_.connect(
        from, to, routes_.hops(id), routes_.latency(id),
        {.terms = routes_.terms(id),
         .kind = class_of(fabric, routes_.hops(id)),
         .within_overhead = job_.program.calls.front().regime.protocol == NcclProtocol::automatic ? SimTime{} : routes_.latency(id)});
  }

  int endpoint(Rank rank) const { return job_.placement[static_cast<std::size_t>(rank)]; }

  void add_rank(Rank rank, int channels) {
    const std::vector<Operation>& own = job_.program.of_rank(rank);
    std::vector<Gate*> gates;
    std::map<int, std::size_t> last;  // by stream
    for (std::size_t i = 0; i < own.size(); ++i) {
      Gate& gate = *gates.emplace_back(&gates_.emplace_back());
      if (own[i].is_call())
        gate.actors = gate.left = static_cast<int>(job_.program.calls[static_cast<std::size_t>(own[i].call)].schedule->channels.size());
      std::vector<int> before = own[i].after;
      if (own[i].unit != Operation::no_unit)
        throw InputError("network \"simgrid\" has no computations that wait for a unit: use network \"flow\"");
      if (own[i].in_order) {
        if (const auto at = last.find(own[i].stream); at != last.end()) before.push_back(static_cast<int>(at->second));
        last[own[i].stream] = i;
      }
      gate.before = static_cast<int>(before.size());
      for (const int b : before) gates[static_cast<std::size_t>(b)]->next.push_back(&gate);
    }
    for (std::size_t i = 0; i < own.size(); ++i)
      own[i].is_call() ? add_call(rank, own[i], *gates[i]) : add_computation(rank, own[i], *gates[i], channels + static_cast<int>(i));
  }

  SimTime start(Rank rank) const { return job_.start.empty() ? SimTime{} : job_.start[static_cast<std::size_t>(rank)]; }

  void add_computation(Rank rank, const Operation& o, Gate& gate, int channel) {
    const SimTime lasts = o.duration;
    world_.add_actor(rank, channel, endpoint(rank), start(rank),
                     [lasts](Transport&) {
                       if (lasts.ps > 0) simgrid::s4u::this_actor::sleep_for(lasts.seconds());
                     },
                     {.before = [&gate] { gate.wait(); }, .after = [&gate] { gate.done(); }});
  }

  void add_call(Rank rank, const Operation& o, Gate& gate) {
    const auto c = static_cast<std::size_t>(o.call);
    const Call& call = job_.program.calls[c];
    Rank own = rank;
    if (!call.members.empty()) own = static_cast<Rank>(std::ranges::find(call.members, rank) - call.members.begin());
    const Buffer& buffer = memory_.buffers.empty() ? sizes_[c] : memory_.buffers[static_cast<std::size_t>(rank)];
    for (int channel = 0; channel < gate.actors; ++channel) {
      StepWindow& window = windows_[static_cast<std::size_t>(first_channel_[c] + channel)];
      const int connection =
          connections_.try_emplace({o.stream, channel, call.members}, static_cast<int>(connections_.size())).first->second;
      world_.add_actor(rank, first_channel_[c] + channel, endpoint(rank), start(rank),
                       [this, &window, &buffer, &call, own, channel](Transport& transport) {
                         WindowedSteps steps(window, own);
                         MembersTransport among_members(transport, call);
                         run_blocking(steps, channel, memory_.op, buffer, among_members);
                       },
                       {.before =
                            [this, &gate, c] {
                              gate.wait();
                              if (before_[c].ps > 0) simgrid::s4u::this_actor::sleep_for(before_[c].seconds());
                            },
                        .after = [&gate] { gate.done(); },
                        .hardware = &hardware_[c],
                        .connection = connection});
    }
  }

  const PlacedProgram& job_;
  Routes& routes_;
  const RankMemory& memory_;
  S4uWorld world_;
  std::vector<bool> connected_;     // by route
  std::vector<int> first_channel_;  // by call, of the actors of all calls
  std::deque<StepWindow> windows_;
  std::deque<HardwareProfile> hardware_;  // by call
  std::vector<SimTime> before_ = {};      // by call, what a rank needs before its first message
  std::deque<Buffer> sizes_;              // by call
  std::deque<Gate> gates_;
  std::map<std::tuple<int, int, std::vector<Rank>>, int> connections_;  // by stream, channel, members
};

}  // namespace

NetworkRun run_s4u(const PlacedProgram& program, Routes& routes, const RankMemory& memory) {
  return S4uProgram(program, routes, memory).run();
}

NetworkRun run_s4u(const PlacedSchedule& job, Routes& routes, const RankMemory& memory) {
  Program program = program_of(job.schedule, job.elements, job.element_bytes);
  program.calls.front().regime = job.regime;
  return run_s4u({.program = program, .placement = job.placement, .hardware = job.hardware, .start = job.start}, routes, memory);
}

}  // namespace weft

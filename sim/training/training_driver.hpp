// A training job on a shared network. In each step a rank computes forward, then backward layer by layer (training_rank.hpp), while a
// gradient engine (collectives/engines/engine.hpp) decides when which gradients are reduced; when all are, the rank calls the optimizer and
// goes on with its next step, without waiting for the others. Where forward goes layer by layer it waits for the gradients of each layer
// only, which it updates first. What the engines order is run by order_runner.hpp; control messages cross the same network.
#pragma once

#include "sim/network/shared_network.hpp"
#include "sim/training/control_plane.hpp"
#include "sim/training/order_runner.hpp"
#include "sim/training/placed_training.hpp"
#include "sim/training/training_rank.hpp"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace weft {

template <class Network>
class TrainingDriver final : public Driver, public RoundOwner, private RankWorld, private OrderedRanks {
 public:
  // What the job points to must outlive the driver. `nic_free_at`: by link, shared by all jobs; for SendQueue::nic.
  TrainingDriver(const PlacedTraining& job, Routes& routes, SharedNetwork<Network>& network, std::span<std::int64_t> nic_free_at)
      : job_(job),
        lane_{.routes = routes, .network = network.join(*this), .timeline = job.timeline, .nic_free_at = nic_free_at},
        agenda_(lane_),
        control_(lane_, job_.placement, job_.hardware),
        orders_(job_, lane_, agenda_, *this),
        control_free_at_(static_cast<std::size_t>(job.schedule.workers())),
        step_ends_(static_cast<std::size_t>(job.iterations)),
        unfinished_ranks_(job.schedule.workers()) {
    check(job.iterations > 0, "{} iterations", job.iterations);
    check(!job.forward_by_layer || !job.step.layers.empty(), "a forward pass by layers without any");
    for (Rank r = 0; r < job.schedule.workers(); ++r) ranks_.emplace_back(job_, r, static_cast<RankWorld&>(*this));
  }

  // Its all-reduces are run apart, among those of all jobs that are.
  void run_in(CallsApart& calls) { orders_.run_in(calls); }
  // Its all-reduces are rounds of this open job, of which it is the owner.
  void reduce_in(OpenJobs& network, std::size_t number) { orders_.reduce_in(network, number); }

  void begin() override {
    for (Rank r = 0; r < static_cast<Rank>(ranks_.size()); ++r) rank(r).begin_step(job_.start_of(r));
    settle();
  }

  void ended(std::uint32_t token) override {
    const UnderWay what = lane_.under_way.take(token);
    if (what.kind == UnderWay::Kind::operation_ends)
      happened(what);
    else
      orders_.happened(what);
    settle();
  }

  void never_ends(std::uint32_t) override { blocked_ = true; }  // a step needs all of its messages

  State state() const override {
    if (unfinished_ranks_ == 0) return State::finished;
    if (blocked_) return State::stuck;
    return !lane_.under_way.empty() || orders_.waits_for_rounds() ? State::running : State::stuck;
  }

  std::string waiting() const override {
    constexpr std::size_t most = 4000;
    std::string text = (job_.name.empty() ? "" : "job " + job_.name + ": ") + std::string("no progress is possible:");
    for (const TrainingRank& r : ranks_)
      if (!r.finished() && text.size() < most) text += "\n  " + r.waiting();
    orders_.waiting(text, most);
    return text.size() < most ? text : text + "\n  ...";
  }

  // RoundOwner
  void round_ended(int worker) override {
    orders_.round_ended(worker);
    settle();
  }
  State owner_state() const override { return state(); }
  bool may_begin_rounds() const override { return !blocked_ && !lane_.under_way.empty(); }

  double share() const override { return static_cast<double>(ranks_.front().steps_done()) / static_cast<double>(step_ends_.size()); }

  // Each from the last rank's end of the one before to the last rank's end: together they are the whole time.
  std::vector<Iteration> iterations() const {
    SimTime before = SimTime::never();
    for (Rank r = 0; r < static_cast<Rank>(ranks_.size()); ++r) before = std::min(before, job_.start_of(r));
    std::vector<Iteration> out;
    for (const SimTime end : step_ends_) out.push_back({std::exchange(before, end), end});
    return out;
  }

  // Time that a rank computed in a step, on average.
  SimTime computed() const {
    Int128 sum = 0;
    for (const TrainingRank& r : ranks_) sum += r.computed().ps;
    return averaged(sum);
  }

  // What a rank waited for in a step, on average. What it waited for others at the start and the end is in none.
  Waits waits() const {
    Int128 communication = 0, stragglers = 0, negotiation = 0, kernels = 0;
    for (const TrainingRank& r : ranks_) {
      const Waits& w = r.waits();
      communication += w.communication.ps, stragglers += w.stragglers.ps, negotiation += w.negotiation.ps, kernels += w.kernels.ps;
    }
    return {averaged(communication), averaged(stragglers), averaged(negotiation), averaged(kernels)};
  }

  // Time that a rank spent in kernels of compression in a step: the rank with most of it.
  SimTime compressing() const {
    SimTime most;
    for (const TrainingRank& r : ranks_) most = std::max(most, r.compressing());
    return {most.ps / job_.iterations};
  }

  // Of all steps together, control messages included; rounds are their network's.
  NetworkRun result() const {
    NetworkRun out{.finish = step_ends_.back(),
                   .bytes_on_link = lane_.bytes_on_link(),
                   .bytes_from = lane_.bytes_from(),
                   .messages = orders_.messages() + control_.messages()};
    orders_.sent_apart().add_to(out);
    return out;
  }

 private:
  SimTime averaged(Int128 sum) const { return {static_cast<std::int64_t>(sum / (static_cast<Int128>(ranks_.size()) * job_.iterations))}; }
  TrainingRank& rank(Rank r) { return ranks_[static_cast<std::size_t>(r)]; }

  void settle() {
    agenda_.settle([this](const UnderWay& due) { happened(due); });
    orders_.tidy();
  }

  void happened(const UnderWay& e) {
    switch (static_cast<StepEvent>(e.channel)) {
      case StepEvent::compute_ends:
        return rank(e.from).compute_ended();
      case StepEvent::layer_begins:
        return rank(e.from).begin_layer();
      case StepEvent::phase_ends:
        return orders_.phase_ended(e.from, e.step);
      case StepEvent::push_ends:
        return rank(e.from).engine().pushed(e.step);
      case StepEvent::round_begins:
        return orders_.begin_round(e.from, e.step);
      case StepEvent::round_ends:
        return orders_.finish(e.from, e.step);
      case StepEvent::timer_ends:
        return rank(e.from).engine().timer();
      case StepEvent::control_ends:
        for (int count = control_.arrived(e); count > 0; --count)
          agenda_.at_date(date() + job_.hardware.receive_overhead, StepEvent::control_handed, {.from = e.from, .to = e.to});
        return;
      case StepEvent::control_handed: {
        const auto message = control_.take(e.from, e.to);
        if (job_.spans)
          job_.spans->push_back(
              {job_.name_of(e.to), SpanRecord::Kind::control, 0, fmt::format("from rank {}", job_.name_of(e.from)), message.sent, date()});
        return rank(e.to).engine().received(e.from, message.bytes);
      }
    }
  }

  // RankWorld
  SimTime date() const override { return lane_.network.now(); }
  void at(SimTime when, StepEvent what, Rank r) override { agenda_.at_date(when, what, {.from = r}); }
  void begin_order(Rank r, int stream, const QueuedOrder& order) override { orders_.begin(r, stream, order); }
  void send_control(Rank from, Rank to, std::vector<std::byte> message) override {
    std::int64_t& free_at =
        job_.hardware.send_queue == SendQueue::rank ? orders_.sends_free_at(from) : control_free_at_[static_cast<std::size_t>(from)];
    control_.send(from, to, std::move(message), free_at, static_cast<std::uint32_t>(StepEvent::control_ends));
  }
  void step_ended(int step) override {
    SimTime& last = step_ends_[static_cast<std::size_t>(step)];
    last = std::max(last, date());
  }
  void rank_finished() override { --unfinished_ranks_; }

  // OrderedRanks
  void joined_by_all() override {
    for (TrainingRank& each : ranks_) each.joined_by_all();
  }
  void order_ended(Rank r, int id, int stream) override { rank(r).order_ended(id, stream); }
  SimTime run_kernel(Rank r, SimTime duration) override { return rank(r).run_kernel(duration); }
  void merges_for(Rank r, SimTime duration) override { rank(r).merges_for(duration); }

  const PlacedTraining job_;
  LaneState<Lane<Network>> lane_;
  Agenda<Lane<Network>> agenda_;
  ControlPlane<Lane<Network>> control_;
  OrderRunner<Lane<Network>> orders_;
  std::vector<std::int64_t> control_free_at_;  // of control messages that do not queue up with others
  std::deque<TrainingRank> ranks_;
  std::vector<SimTime> step_ends_;
  int unfinished_ranks_;
  bool blocked_ = false;
};

}  // namespace weft

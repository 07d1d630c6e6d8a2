// A job on a shared network: a schedule, run once or several times.
#pragma once

#include "sim/network/event_executor.hpp"
#include "sim/network/shared_network.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft {

template <class Network>
class ScheduleDriver final : public Driver {
 public:
  // All but `repetition` must outlive the driver. `name` goes with what it waits for; "" where there is one job only.
  ScheduleDriver(const Job& job, Routes& routes, SharedNetwork<Network>& network, Repetition repetition = {}, std::string name = {},
                 std::vector<MessageRecord>* timeline = nullptr)
      : job_(job),
        routes_(routes),
        lane_(network.join(*this)),
        repetition_(repetition),
        connected_(job.hardware),
        name_(std::move(name)),
        timeline_(timeline) {
    check(repetition.iterations > 0, "{} iterations", repetition.iterations);
    connected_.first_use = {};
  }

  void begin() override {
    const SimTime first = job_.start.empty() ? SimTime{} : *std::ranges::min_element(job_.start);
    begin_iteration(job_, first);
    go_on();
  }

  void ended(std::uint32_t token) override {
    executor_->ended(token);
    if (executor_->finished()) go_on();
  }

  void never_ends(std::uint32_t) override { blocked_ = true; }  // a schedule needs all of its messages

  State state() const override {
    if (executor_->finished()) return State::finished;
    return blocked_ || executor_->stuck() ? State::stuck : State::running;
  }

  std::string waiting() const override { return (name_.empty() ? "" : "job " + name_ + ": ") + executor_->waiting(); }

  const std::vector<Iteration>& iterations() const { return iterations_; }

  // Of all iterations together; ranks finish when they end the last.
  NetworkRun result() const {
    NetworkRun run = run_;
    const auto links = static_cast<std::size_t>(routes_.fabric().links());
    run.bytes_on_link.resize(links);
    for (std::size_t route = 0; route < bytes_on_route_.size(); ++route)
      for (const Hop& hop : routes_.hops(static_cast<RouteId>(route)))
        run.bytes_on_link[static_cast<std::size_t>(hop.link)] += bytes_on_route_[route];
    return run;
  }

 private:
  void begin_iteration(const Job& job, SimTime at) {
    iterations_.push_back({at, at});
    executor_.emplace(job, routes_, lane_, timeline_);
    executor_->begin();
  }

  // Iterations without messages end as soon as they have begun.
  void go_on() {
    while (executor_->finished()) {
      end_iteration();
      if (iterations_.size() == static_cast<std::size_t>(repetition_.iterations)) return;
      const SimTime at = run_.finish + repetition_.compute;
      starts_.assign(static_cast<std::size_t>(job_.schedule.ranks), at);
      begin_iteration({.schedule = job_.schedule,
                       .placement = job_.placement,
                       .elements = job_.elements,
                       .element_bytes = job_.element_bytes,
                       .hardware = connected_,
                       .start = starts_,
                       .before_step = job_.before_step},
                      at);
    }
  }

  void end_iteration() {
    const auto bytes = executor_->bytes_on_route();
    bytes_on_route_.resize(std::max(bytes_on_route_.size(), bytes.size()));
    for (std::size_t route = 0; route < bytes.size(); ++route) bytes_on_route_[route] += bytes[route];
    NetworkRun one = executor_->result();
    iterations_.back().end = one.finish;
    one.messages += run_.messages;
    run_ = std::move(one);
  }

  const Job job_;
  Routes& routes_;
  Lane<Network>& lane_;
  const Repetition repetition_;
  HardwareProfile connected_;  // of all iterations but the first
  const std::string name_;
  std::vector<MessageRecord>* timeline_;
  std::optional<EventExecutor<Lane<Network>>> executor_;
  std::vector<SimTime> starts_;
  std::vector<Iteration> iterations_;
  std::vector<std::int64_t> bytes_on_route_;
  NetworkRun run_;
  bool blocked_ = false;
};

}  // namespace weft

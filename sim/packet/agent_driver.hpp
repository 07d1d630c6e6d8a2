// Agents on a packet network that others use at the same time. One DatagramNetwork holds the agents of all jobs, for they
// may meet in a switch.
#pragma once

#include "sim/network/network_run.hpp"
#include "sim/network/shared_network.hpp"
#include "sim/packet/datagram_network.hpp"

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace weft {

class AgentDriver final : public Driver, private FinishWatcher {
 public:
  // `datagrams` was made on network.model(); both must outlive the driver.
  AgentDriver(DatagramNetwork& datagrams, SharedNetwork<PacketNetwork>& network) : datagrams_(datagrams), network_(network.model()) {
    network.join(*this);
  }

  // A job whose iterations begin `before` its workers start and end `after` the last of them has finished; the first of them
  // begins at `first`, and its workers were placed with their starts.
  void add_job(std::vector<Address> workers, Repetition repetition, SimTime first, SimTime before = {}, SimTime after = {},
               std::string name = {}) {
    check(repetition.iterations > 0, "{} iterations", repetition.iterations);
    for (const Address a : workers) {
      datagrams_.watch(a, *this);
      job_of_[a] = jobs_.size();
    }
    const std::size_t count = workers.size();
    jobs_.push_back({std::move(workers), count, repetition, before, after, {{first, first}}, std::move(name)});
    ++unfinished_;
  }
  // Agents that others start: while none has anything to do, the driver's state is theirs.
  void while_idle(std::function<State()> others) { others_ = std::move(others); }
  const std::vector<Iteration>& iterations(std::size_t job) const { return jobs_[job].iterations; }

  void begin() override { datagrams_.begin(); }
  void ended(std::uint32_t) override { check(false, "agents send no messages"); }
  State state() const override {
    if (unfinished_ == 0 && datagrams_.finished()) return others_ ? others_() : State::finished;
    return datagrams_.stuck() ? State::stuck : State::running;
  }
  // Of several jobs, also how far each has come: one that stands still need not have held up the others.
  std::string waiting() const override {
    if (datagrams_.finished()) return "";
    std::string text = datagrams_.waiting();
    if (jobs_.size() == 1 && !others_) return text;
    for (const RepeatedJob& job : jobs_) text += fmt::format("\n{}", came_so_far(job));
    return text;
  }

 private:
  struct RepeatedJob {
    std::vector<Address> workers;
    std::size_t running;
    Repetition repetition;
    SimTime before, after;
    std::vector<Iteration> iterations;
    std::string name;
  };

  static std::string came_so_far(const RepeatedJob& job) {
    const std::size_t ended = job.iterations.size() - (job.running > 0 ? 1 : 0);
    SimTime sum;
    for (std::size_t i = 0; i < ended; ++i) sum += job.iterations[i].time();
    const std::string times =
        ended == 0 ? ""
                   : fmt::format(", of {:.2f} us on average, the last of {:.2f} us", sum.microseconds() / static_cast<double>(ended),
                                 job.iterations[ended - 1].time().microseconds());
    return fmt::format("job {} has ended {} of {} iterations{}", job.name, ended, job.repetition.iterations, times);
  }

  void agent_finished(Address address) override {
    RepeatedJob& job = jobs_[job_of_.at(address)];
    if (--job.running > 0) return;
    job.iterations.back().end = network_.now() + job.after;
    if (job.iterations.size() == static_cast<std::size_t>(job.repetition.iterations)) {
      --unfinished_;
      return;
    }
    const SimTime next = job.iterations.back().end + job.repetition.compute;
    job.iterations.push_back({next, next});
    job.running = job.workers.size();
    for (const Address a : job.workers) datagrams_.start_again(a, next + job.before);
  }

  DatagramNetwork& datagrams_;
  const PacketNetwork& network_;
  std::map<Address, std::size_t> job_of_;
  std::vector<RepeatedJob> jobs_;
  std::size_t unfinished_ = 0;
  std::function<State()> others_ = {};
};

}  // namespace weft

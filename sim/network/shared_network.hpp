// One network model used by several at the same time: jobs that run schedules, agents, flows in the background. Each of
// them is a Driver and has a Lane: the interface of the network, with routes and tokens of its own.
//
//   SharedNetwork<PacketNetwork> network(fabric, goodput_of_links(fabric, hardware), settings);
//   ProgramDriver first(job, routes, network), second(other, routes, network);  // program_driver.hpp
//   DatagramNetwork datagrams(network.model(), routes);                                 // with its agents placed
//   AgentDriver agents(datagrams, network);                                             // packet/agent_driver.hpp
//   run_to_end(network, Around::engine);
#pragma once

#include "kernels/base/beyond_time.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/units.hpp"
#include "models/fabric/fabric.hpp"
#include "sim/engine/kernel_model.hpp"
#include "sim/network/network_model.hpp"
#include "sim/network/run_progress.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weft {

class Driver {
 public:
  // A stuck driver will never finish: what it waits for is not under way, or cannot get through. Neither stuck nor finished
  // is ever left again.
  enum class State { running, stuck, finished };

  virtual ~Driver() = default;
  virtual void begin() = 0;                     // at date 0, in the order the drivers joined
  virtual void ended(std::uint32_t token) = 0;  // a message of its lane has ended now; may start others
  // A message is likely to end after so many others: after 2, 1 and 0: what its end needs, and what that needs.
  virtual void fetch(int, std::uint32_t) {}
  virtual void never_ends(std::uint32_t) {}         // this message of its lane can never arrive; may be called more than once
  virtual bool takes_part() const { return true; }  // once it knows what it does: whether that is anything
  virtual State state() const = 0;                  // the run is over when none is running
  virtual std::string waiting() const = 0;          // who waits for whom, while it has not finished; "" for what another driver says
  virtual double share() const { return 0; }        // of its work that is done, about, 0 to 1; 0: not known
};

// What a driver sees of the network: FluidNetwork's and PacketNetwork's interface.
template <class Network>
class Lane {
 public:
  using RouteIndex = std::uint32_t;
  static constexpr int token_bits = 26;  // and so many messages under way
  static constexpr std::uint32_t max_lanes = 1u << (32 - token_bits);

  Lane(Network& network, std::uint32_t number) : network_(network), tag_(number << token_bits) {
    check(number < max_lanes, "more than {} drivers of one network", max_lanes);
  }

  // Numbered from 0 in the order they are added, whatever other lanes add.
  RouteIndex add_route(std::span<const Hop> hops, SimTime latency, FlowTerms terms = {}, BitsPerSecond rate = {}) {
    const std::uint32_t number = network_.add_route(hops, latency, terms, rate);
    if (count_ == 0) first_ = number;
    if (!numbers_.empty() || number != first_ + count_) {
      while (numbers_.size() < count_) numbers_.push_back(first_ + static_cast<std::uint32_t>(numbers_.size()));
      numbers_.push_back(number);
    }
    return count_++;
  }
  std::size_t routes() const { return count_; }

  void start(RouteIndex route, std::int64_t bytes, SimTime at, std::uint32_t token) {
    check(token < 1u << token_bits, "{} messages of one driver under way", token);
    network_.start(number(route), bytes, at, tag_ | token);
  }

  void wake(SimTime at, std::uint32_t token) {
    check(token < 1u << token_bits, "{} messages of one driver under way", token);
    network_.wake(at, tag_ | token);
  }

  // A message will soon take the route.
  void fetch(RouteIndex route) const {
    if constexpr (requires { network_.fetch_route(route); }) network_.fetch_route(number(route));
  }

  // What the network calls it.
  std::uint32_t number(RouteIndex route) const { return numbers_.empty() ? first_ + route : numbers_[route]; }

  SimTime now() const { return network_.now(); }
  SimTime latency(RouteIndex route) const { return network_.latency(number(route)); }

  // Whether messages may start before now, as long as they reach their links not before now.
  static constexpr bool takes_messages_at_links = requires { Network::reaches_links_after_latency; };

  // Whether it is known what limits messages: then of the one that ends, its driver's `ended` may ask.
  static constexpr bool knows_bottlenecks = requires(Network & network) { network.record_bottlenecks(); };
  // Whether it is known which paths messages have taken, which may be others than those of their routes.
  static constexpr bool knows_paths_taken = requires { Network::knows_paths_taken; };
  template <class Each>
  void for_carried(RouteIndex route, std::int64_t bytes, const Each& each) const {
    network_.for_carried(number(route), bytes, each);
  }
  // Whether it is known how messages travel that meet no other (uncontended.hpp).
  static constexpr bool knows_flows_alone = requires(const Network& network) { network.rate_alone(std::uint32_t{}); };
  const Network& model() const { return network_; }
  Network& model() { return network_; }

 private:
  Network& network_;
  const std::uint32_t tag_;
  std::uint32_t count_ = 0, first_ = 0;  // of its routes; what the network calls the first one
  std::vector<std::uint32_t> numbers_;   // what it calls each; empty where they follow one another
};

template <NetworkModel Network>
class SharedNetwork final : public EventSource {
 public:
  template <class... Args>
  explicit SharedNetwork(Args&&... args) : network_(std::forward<Args>(args)...) {}
  SharedNetwork(const SharedNetwork&) = delete;
  SharedNetwork& operator=(const SharedNetwork&) = delete;

  Network& model() { return network_; }

  // For the constructor of a driver, which must outlive the run.
  Lane<Network>& join(Driver& driver) {
    check(!begun_, "a driver joins a network that runs");
    drivers_.push_back(&driver);
    return lanes_.emplace_back(network_, static_cast<std::uint32_t>(lanes_.size()));
  }

  // Whether nobody else does anything on it.
  bool alone(const Driver& driver) const {
    return std::ranges::all_of(drivers_, [&](const Driver* other) { return other == &driver || !other->takes_part(); });
  }

  // Call once, before it is advanced.
  void begin() {
    begun_ = true;
    for (Driver* driver : drivers_) driver->begin();
  }

  // What is left to happen when no driver is running, such as timers and flows in the background, nobody waits for.
  SimTime next_date() const override {
    while (running_ < drivers_.size() && drivers_[running_]->state() != Driver::State::running) ++running_;
    return failure_ || running_ == drivers_.size() ? SimTime::never() : network_.next_date();
  }

  // Several dates at once where the model has more of them than the engine can go through: nothing else happens in
  // between. An exception must not cross the engine: it comes out in require_finished().
  void advance() override {
    try {
      for (int dates = 0; dates < Network::dates_at_once && next_date() != SimTime::never(); ++dates) network_.advance(ToDrivers{*this});
      constexpr std::uint32_t turns_between = 64;
      if (turns_++ % turns_between == 0) share_ = share();
      run_progress().reached(network_.now(), network_.events(), share_);
      if constexpr (requires { network_.look_due(); })
        if (network_.look_due()) network_.look([this](std::uint32_t token) { driver_of(token).never_ends(own(token)); });
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  // After the run. Throws RunError, saying who waits for whom, when not all drivers have finished.
  void require_finished() const {
    if constexpr (requires { network_.beyond_time(); })
      if (!failure_ && !all_finished() && network_.beyond_time()) throw_beyond_time();
    std::string waiting;
    for (const Driver* driver : drivers_) {
      if (driver->state() == Driver::State::finished) continue;
      const std::string own = driver->waiting();
      if (!waiting.empty() && !own.empty()) waiting += '\n';
      waiting += own;
    }
    if (failure_) rethrow(drivers_.size() > 1 ? waiting : "");
    if (waiting.empty()) return;
    if constexpr (requires { network_.stall(); })
      if (const std::string stall = network_.stall(); !stall.empty()) waiting += "\n" + stall;
    throw RunError(waiting);
  }

 private:
  struct ToDrivers {
    SharedNetwork& network;
    void operator()(std::uint32_t token) const { network.driver_of(token).ended(own(token)); }
    void fetch(int before, std::uint32_t token) const { network.driver_of(token).fetch(before, own(token)); }
  };

  bool all_finished() const {
    return std::ranges::all_of(drivers_, [](const Driver* d) { return d->state() == Driver::State::finished; });
  }
  // Of the driver that is known to have most of its work to do.
  double share() const {
    double least = 1;
    bool known = false;
    for (const Driver* driver : drivers_) {
      const double share = driver->state() == Driver::State::running ? driver->share() : 0;
      if (share > 0) least = std::min(least, share), known = true;
    }
    return known ? least : 0;
  }
  Driver& driver_of(std::uint32_t token) const { return *drivers_[token >> Lane<Network>::token_bits]; }
  static std::uint32_t own(std::uint32_t token) { return token & ((1u << Lane<Network>::token_bits) - 1); }

  // Of several drivers, a failure alone does not say whose it is.
  [[noreturn]] void rethrow(const std::string& waiting) const {
    try {
      std::rethrow_exception(failure_);
    } catch (const BeyondTime&) {
      throw;  // who waits does so for no other reason
    } catch (const RunError& error) {
      if (waiting.empty()) throw;
      throw RunError(fmt::format("{}\n{}", error.what(), waiting));
    }
  }

  Network network_;
  std::deque<Lane<Network>> lanes_;
  std::vector<Driver*> drivers_;     // by lane
  mutable std::size_t running_ = 0;  // those before it are not running any more
  std::exception_ptr failure_;
  bool begun_ = false;
  std::uint32_t turns_ = 0;
  double share_ = 0;
};

// How a shared network is run to its end: in SimGrid's engine (once per process), or without an engine around it.
enum class Around { engine, nothing };

template <class Network>
void run_to_end(SharedNetwork<Network>& network, Around around) {
  network.begin();
  if (around == Around::engine) run_in_engine(network);
  while (network.next_date() != SimTime::never()) network.advance();
  network.require_finished();
}

}  // namespace weft

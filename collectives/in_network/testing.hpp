// A network for tests of agents: datagrams walk a path of places hop by hop and may be lost, doubled, delayed at random and
// marked. Everything follows from the seed.
#pragma once

#include "collectives/in_network/atp.hpp"

#include <algorithm>
#include <map>
#include <queue>
#include <random>
#include <vector>

namespace weft {

struct InjectedFaults {
  double loss = 0, doubling = 0, marking = 0, late = 0;  // of each datagram on each hop
  std::int64_t max_delay_ps = 1'000'000;                 // of a hop, uniform from 1: so datagrams overtake each other
  std::int64_t lateness_ps = 0;                          // what a late one takes on top
};

// Endpoints hang below switches; switches reach each other directly.
class TestNetwork final : private Wire {
 public:
  TestNetwork(std::uint64_t seed, InjectedFaults faults, PayloadPool* pool) : random_(seed), faults_(faults), pool_(pool) {}

  // Agents at one endpoint or below a switch; start in picoseconds.
  void place(Address address, int below, Agent& agent, std::int64_t start_ps = 0) {
    agents_[address] = {&agent, below};
    after(start_ps, {.what = What::start, .place = address});
  }
  void program(Address address, int switch_number, Agent& agent) {
    agents_[address] = {&agent, switch_number};
    programs_[switch_number] = address;
  }
  void group(Address address, std::vector<Address> members) { groups_[address] = std::move(members); }
  // From then on it is silent and deaf.
  void crash(Address address, std::int64_t at_ps = 0) { crashed_[address] = at_ps; }
  std::int64_t now() const { return now_; }

  void start_again(Address address) {
    call(address, [&](Agent& a) { a.start(*this); });
  }

  // Until nothing is pending, it is done or, if a limit is given, as many events have happened.
  template <class Done>
  void run_until(Done done, std::int64_t max_events = INT64_MAX) {
    while (!events_.empty() && max_events-- > 0 && !done()) {
      Event e = events_.top();
      events_.pop();
      now_ = e.at;
      handle(e);
    }
  }
  void run(std::int64_t max_events = INT64_MAX) {
    run_until([] { return false; }, max_events);
  }
  bool pending() const { return !events_.empty(); }

 private:
  enum class What { start, timer, hop };
  struct Event {
    What what = What::hop;
    Address place = nobody;  // of the agent; for a hop also a switch without a program
    int at_switch = -1;      // a hop that ends at a switch
    std::uint64_t timer = 0;
    Datagram datagram = {};
    std::int64_t at = 0, order = 0;
    bool operator<(const Event& o) const { return at != o.at ? at > o.at : order > o.order; }
  };
  struct Seat {
    Agent* agent = nullptr;
    int at = -1;  // switch number
  };

  bool is_program(Address a) const {
    const auto at = programs_.find(agents_.at(a).at);
    return at != programs_.end() && at->second == a;
  }
  void after(std::int64_t delay, Event e) {
    e.at = now_ + delay;
    e.order = ++order_;
    events_.push(std::move(e));
  }
  bool chance(double p) { return p > 0 && std::uniform_real_distribution<double>(0, 1)(random_) < p; }

  // One hop towards an agent, from `from_switch` or the sender's endpoint (-1).
  void hop(Event e) {
    if (chance(faults_.marking)) e.datagram.congested = true;
    const int copies = chance(faults_.doubling) ? 2 : 1;
    for (int i = 0; i < copies; ++i)
      if (!chance(faults_.loss))
        after(1 + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(faults_.max_delay_ps)) +
                  (chance(faults_.late) ? faults_.lateness_ps : 0),
              e);
  }

  void handle(Event& e) {
    if (const auto crashed = crashed_.find(e.place); crashed != crashed_.end() && now_ >= crashed->second && e.at_switch < 0) return;
    if (e.what == What::start) return call(e.place, [&](Agent& a) { a.start(*this); });
    if (e.what == What::timer) return call(e.place, [&](Agent& a) { a.on_timer(*this, e.timer); });
    if (e.at_switch < 0) return call(e.place, [&](Agent& a) { a.on_datagram(*this, std::move(e.datagram)); });
    const auto program = programs_.find(e.at_switch);
    if (program == programs_.end()) return onwards(e.at_switch, std::move(e.datagram), nobody);
    call(program->second, [&](Agent& a) { a.on_datagram(*this, std::move(e.datagram)); });
  }
  template <class Action>
  void call(Address address, Action action) {
    const Address before = std::exchange(current_, address);
    action(*agents_.at(address).agent);
    current_ = before;
  }

  void onwards(int from, Datagram d, Address) {
    const auto group = groups_.find(d.to);
    std::vector<Address> to = group == groups_.end() ? std::vector<Address>{d.to} : group->second;
    std::map<int, bool> parted;  // one copy to each further switch
    const int root = agents_.at(d.from).at;
    for (const Address a : to) {
      const int there = agents_.at(a).at;
      if (is_program(a) && there == from) continue;
      if (group != groups_.end() && from != root && there != from) continue;  // its copy left at the root
      if (there == from)
        hop({.place = a, .datagram = d});
      else if (!std::exchange(parted[there], true))
        hop({.place = a, .at_switch = there, .datagram = d});
    }
  }

  std::int64_t now_ps() const override { return now_; }
  void send(Datagram d) override {
    const Seat& seat = agents_.at(current_);
    if (is_program(current_)) return onwards(seat.at, std::move(d), current_);
    hop({.place = current_, .at_switch = seat.at, .datagram = std::move(d)});
  }
  void set_timer(std::int64_t after_ps, std::uint64_t name) override {
    after(std::max<std::int64_t>(after_ps, 0), {.what = What::timer, .place = current_, .timer = name});
  }
  Payload new_payload() override { return pool_ ? pool_->take() : Payload(); }

  std::mt19937_64 random_;
  InjectedFaults faults_;
  PayloadPool* pool_;
  std::map<Address, Seat> agents_;
  std::map<int, Address> programs_;
  std::map<Address, std::vector<Address>> groups_;
  std::priority_queue<Event> events_;
  std::map<Address, std::int64_t> crashed_;
  Address current_ = nobody;
  std::int64_t now_ = 0, order_ = 0;
};

// Random values of one worker, and what came back.
class TestValues final : public PacketValues {
 public:
  TestValues(std::uint64_t seed, std::size_t packets, std::size_t each)
      : random_(seed), each_(each), own_(packets * each), sums_(packets * each) {
    next_round();
  }
  // Other values, and nothing has come back.
  void next_round() {
    for (std::int32_t& v : own_) v = static_cast<std::int32_t>(random_() % 2'000'001) - 1'000'000;
    std::ranges::fill(sums_, 0);
  }
  void read(std::uint32_t packet, std::span<std::int32_t> values) override {
    std::copy_n(own_.begin() + static_cast<std::ptrdiff_t>(packet * each_), each_, values.begin());
  }
  void write(std::uint32_t packet, std::span<const std::int32_t> sums) override {
    std::copy_n(sums.begin(), each_, sums_.begin() + static_cast<std::ptrdiff_t>(packet * each_));
  }
  const std::vector<std::int32_t>& own() const { return own_; }
  const std::vector<std::int32_t>& sums() const { return sums_; }

 private:
  std::mt19937_64 random_;
  std::size_t each_;
  std::vector<std::int32_t> own_, sums_;
};

}  // namespace weft

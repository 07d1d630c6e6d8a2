// A platform and its actors in SimGrid's own network model, set so that it means what our networks mean: a message waits
// for one path latency, then shares its links in max-min fairness by their weights, without TCP effects.
#pragma once

#include "collectives/executors/transport.hpp"
#include "models/fabric/path_class.hpp"
#include "models/hardware.hpp"
#include "sim/network/network_run.hpp"

#include <functional>
#include <memory>
#include <span>

namespace weft {

// What a path is beside its links and latency.
struct PathNature {
  FlowTerms terms = {};
  PathClass kind = PathClass::rail;
  SimTime within_overhead = {};  // of the overhead of its class, the part that the latency is
};

// What goes with an actor beside its program.
struct ActorOptions {
  std::function<void()> before = {}, after = {};  // the program, in the same actor
  const HardwareProfile* hardware = nullptr;      // instead of the world's; must outlive the run
  int connection = -1;                            // actors of the same number share what first messages have set up
};

// One a process, as SimGrid has one engine a process: run it through in_child().
class S4uWorld {
 public:
  // `goodput` is the rate of each link as messages see it, by LinkId.
  S4uWorld(const HardwareProfile& hardware, int endpoints, std::span<const BitsPerSecond> goodput);
  ~S4uWorld();

  // The path that messages between two endpoints take, and what they terms of it; once for each pair that is used.
  void connect(int from, int to, std::span<const Hop> hops, SimTime latency, PathNature nature = {});

  // What both links lose while messages cross them in both directions. Before connect().
  void lose_two_way(LinkId link, TwoWayLoad load);

  // What one rank does in one channel, as an actor of its own. The transport charges the hardware profile's overheads.
  using Program = std::function<void(Transport&)>;
  void add_actor(Rank rank, int channel, int endpoint, SimTime start, Program program, ActorOptions options = {});

  // Runs all actors to their end. Throws RunError when they wait for one another for ever, saying who for whom, and what
  // a program threw.
  NetworkRun run();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft

// The path that each pair of endpoints uses, under one ECMP policy: chosen on first use, then kept.
#pragma once

#include "kernels/base/large_table.hpp"
#include "models/fabric/fabric.hpp"
#include "models/fabric/path_class.hpp"
#include "models/fabric/switch_tree.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace weft {

using RouteId = std::int32_t;  // dense, in the order of first use

class Routes {
 public:
  // The fabric must outlive the routes.
  Routes(const Fabric& fabric, Ecmp ecmp);

  // An aggregation tree of what these endpoints send, which copies the sum to all of them (switch_tree.hpp): a place that of() takes as one
  // of its two ends, beyond those of the endpoints. What goes up comes down at the same time, packet by packet: the way up and the way down
  // are both the links of both, and a message has half of its bytes on each.
  int add_switches(std::span<const int> endpoints);
  bool are_switches(int place) const { return place >= fabric_.endpoints(); }
  // With no route chosen yet, and the same aggregation trees.
  Routes fresh() const;

  // The route of a pair of different endpoints. With least_loaded each call counts as one flow of the current step, also
  // for a pair that has its route already.
  RouteId of(int from, int to);

  // Asks for the memory that of() will look at first: tables of many pairs are read at places without order.
  void fetch(int from, int to) const;
  static constexpr int fetch_ahead = 8;  // calls of of() before it

  // least_loaded: the flows counted so far belong to earlier steps. Of no effect on the other policies.
  void begin_step();
  // And the routes chosen so far to others, who may send at the same time: of paths with as many flows in a step, a new route takes the
  // one whose busiest link has fewest of theirs.
  void begin_schedule();

  int size() const { return static_cast<int>(latency_.size()); }
  std::span<const Hop> hops(RouteId id) const {  // valid until the next call of of()
    const auto begin = first_hop_[static_cast<std::size_t>(id)];
    return std::span(hops_).subspan(begin, first_hop_[static_cast<std::size_t>(id) + 1] - begin);
  }
  SimTime latency(RouteId id) const { return latency_[static_cast<std::size_t>(id)]; }            // sum over the path
  BitsPerSecond bandwidth(RouteId id) const { return bandwidth_[static_cast<std::size_t>(id)]; }  // least on the path

  PathClass path_class(RouteId id) const { return path_class_[static_cast<std::size_t>(id)]; }
  bool leaves_server(RouteId id) const { return weft::leaves_server(path_class(id)); }
  FlowTerms terms(RouteId id) const { return terms_[static_cast<std::size_t>(id)]; }
  bool to_or_from_switches(RouteId id) const { return of_switches_[static_cast<std::size_t>(id)] != 0; }

  const Fabric& fabric() const { return fabric_; }
  Ecmp ecmp() const { return ecmp_; }

 private:
  // Open addressing with linear probing; the number of slots is a power of two and at most half of them are taken.
  struct Slot {
    std::uint64_t pair = 0;
    RouteId route = -1;
  };

  std::size_t first_place(std::uint64_t pair) const;
  Slot& slot_of(std::uint64_t pair);
  void grow();
  RouteId add_route(int from, int to);
  RouteId add_route_of_tree(int from, int to);
  int choose(int from, int to);
  int least_loaded(int from, int to, int choices);
  void count_flow(RouteId id);

  const Fabric& fabric_;
  Ecmp ecmp_;
  // The links in few bytes: those of a large fabric are asked for without order.
  std::vector<LinkKind> kinds_;
  std::vector<std::uint32_t> kind_of_link_;
  LargeTable<Slot> slots_;
  LargeTable<Hop> hops_;
  LargeTable<std::size_t> first_hop_ = {0};
  LargeTable<SimTime> latency_;
  LargeTable<BitsPerSecond> bandwidth_;
  LargeTable<PathClass> path_class_;
  LargeTable<FlowTerms> terms_;
  LargeTable<char> of_switches_;                          // by route
  std::vector<std::shared_ptr<const SwitchTree>> trees_;  // by place, from that of the last endpoint on
  std::vector<int> flows_;                                // by link, in the current step; least_loaded only
  std::vector<LinkId> loaded_;                            // the links with flows
  std::vector<int> routes_of_others_;                     // by link: those before first_own_; least_loaded only
  RouteId first_own_ = 0;
  std::vector<Hop> candidate_;  // scratch
};

// A seeded mix of a pair, the same on every machine.
std::uint64_t hash_of(std::uint64_t seed, int from, int to);

}  // namespace weft

// Paths around links that are down, as routing finds them once it has noticed.
#pragma once

#include "models/fabric/fabric.hpp"

#include <span>
#include <vector>

namespace weft {

class Detours {
 public:
  // The fabric must outlive it.
  Detours(const Fabric& fabric, Ecmp ecmp);

  // From now on these links are down, and no others.
  void set_down(const std::vector<LinkId>& down);

  // `path` itself where none of its links is down. Else, of the equal-cost paths between its endpoints that are whole, the one that the
  // policy chooses (least_loaded: a hash); where there is none, the shortest way between the switches of its two ends; and where that is
  // cut off too, or a cable of a host is down, `path` again. Numbers at its end that are no links of the fabric stay.
  std::vector<LinkId> around(std::span<const LinkId> path) const;

 private:
  bool whole(std::span<const LinkId> path) const;
  bool is_switch(NodeId node) const { return fabric_.device(node).kind == DeviceKind::network_switch; }
  std::vector<LinkId> equal_cost(NodeId from, NodeId to) const;
  std::vector<LinkId> shortest(NodeId from, NodeId to) const;  // over switches; empty: none, or no way at all

  const Fabric& fabric_;
  const Ecmp ecmp_;
  std::vector<int> endpoint_at_;            // by device; -1: none
  std::vector<std::vector<LinkId>> leave_;  // by switch: its links to other switches
  std::vector<char> down_;                  // by link
};

}  // namespace weft

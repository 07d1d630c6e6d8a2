// What in-network all-reduces did, by job and by switch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

struct InNetworkJobSummary {
  std::string name = {};
  int servers = 0;           // of ATP
  int slots = 0;             // of SwitchML
  std::int64_t packets = 0;  // of the message, in all iterations
  double aggregated = 1;     // the share of them that switches aggregated fully; on `flow` that are expected to be
  // Of its workers together; nothing on `flow`.
  std::int64_t sent = 0;    // gradients
  std::int64_t resent = 0;  // of them, more than once
  std::int64_t timeouts = 0;
  std::int64_t marked = 0;  // results that say that a queue was met
  int largest_window = 0;   // of ATP
  friend bool operator==(const InNetworkJobSummary&, const InNetworkJobSummary&) = default;
};

struct InNetworkSwitchSummary {
  std::string name = {};
  int places = 0;             // aggregators, or slots
  int most_in_use = 0;        // of them, at any time
  std::int64_t packets = 0;   // that it might have added,
  std::int64_t added = 0;     // of which it did,
  std::int64_t collided = 0;  // and whose place another packet had
  friend bool operator==(const InNetworkSwitchSummary&, const InNetworkSwitchSummary&) = default;
};

struct InNetworkSummary {
  std::vector<InNetworkJobSummary> jobs = {};
  std::vector<InNetworkSwitchSummary> switches = {};  // none on `flow`
  int places = 0;                                     // of each switch
  std::string left_out = {};                          // on `flow`: of what happens there
  friend bool operator==(const InNetworkSummary&, const InNetworkSummary&) = default;
};

}  // namespace weft

// The lab's network on this machine, from building to tearing down. Needs root and Linux.
#pragma once

#include "validation/lab/plan.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace weft::lab {

// Why no lab can be built here, found out by building the smallest one; nothing where it can.
std::optional<std::string> obstacle();

// "weft-123" for this process; all namespaces of its labs begin so.
std::string prefix_of_this_process();

// Removes the namespaces of labs whose process is gone: their names. Throws RunError.
std::vector<std::string> remove_leftovers();
// Of all namespaces, those that are a lab's whose process `lives` says is gone.
std::vector<std::string> leftovers_among(const std::vector<std::string>& namespaces, bool (*lives)(pid_t));

// Removes namespaces when this process ends or when the object does, whichever is first: a child that waits for either does
// it, so that it also happens after a signal that cannot be caught.
class Guardian {
 public:
  explicit Guardian(std::vector<std::string> namespaces);
  ~Guardian();  // returns when they are gone
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

 private:
  pid_t child_ = -1;
  int pipe_ = -1;  // its other end is closed with this process
};

class Network {
 public:
  // Throws RunError with what iproute2 said.
  explicit Network(Plan plan);

  const Plan& plan() const { return plan_; }
  std::int64_t dropped_packets() const;  // by all token buckets, so far

 private:
  Plan plan_;
  Guardian guardian_;
};

}  // namespace weft::lab

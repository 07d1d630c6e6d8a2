// One exchange of a plan, run for real by one rank over any transport.
#pragma once

#include "collectives/compression/plan.hpp"
#include "collectives/executors/transport.hpp"
#include "kernels/compression/top_k.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace weft {

class ExchangeRun {
 public:
  // What is done with two lists of entries where an exchange merges: the second into the first.
  using Merge = std::function<void(std::span<Entry> into, std::span<const Entry> from)>;

  // Throws InputError for a schedule that one transport for each rank cannot run: of several channels, or with extra servers.
  ExchangeRun(const Exchange&, Rank);

  // `data` holds the exchange's elements. What merging drops is appended to `dropped`.
  void run(std::byte* data, std::vector<Entry>& dropped, Transport&);

  // The same on memory of any kind that the transport reaches, with room behind the elements for what the schedule needs besides.
  std::size_t memory_bytes() const;
  void run_within(std::byte* memory, const Merge&, Transport&) const;

 private:
  Exchange exchange_;
  Schedule schedule_;
  Rank rank_;
  std::vector<std::byte> scratch_;  // where the schedule needs more memory than the message
};

}  // namespace weft

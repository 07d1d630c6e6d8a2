#include "models/traces/traced_program.hpp"

#include "kernels/base/error.hpp"

#include <functional>
#include <queue>
#include <utility>

#include <fmt/format.h>

namespace weft {

std::string_view name_of(TracedCollective c) {
  if (c == TracedCollective::scatter) return "scatter";
  if (c == TracedCollective::gather) return "gather";
  return name_of(static_cast<Collective>(c));
}

std::string TracedRank::place(std::size_t operation) const {
  return fmt::format("{}: {} {}", file, record_name, operations[operation].record);
}

TracedRank in_order_of_dependence(TracedRank rank, const std::vector<std::vector<std::uint32_t>>& after) {
  const std::size_t count = rank.operations.size();
  std::vector<std::uint32_t> waits(count), place(count), order;
  std::vector<std::vector<std::uint32_t>> next(count);
  for (std::size_t i = 0; i < count; ++i) {
    waits[i] = static_cast<std::uint32_t>(after[i].size());
    for (const std::uint32_t before : after[i]) next[before].push_back(static_cast<std::uint32_t>(i));
  }
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i)
    if (waits[i] == 0) ready.push(static_cast<std::uint32_t>(i));
  while (!ready.empty()) {
    const std::uint32_t i = ready.top();
    ready.pop();
    place[i] = static_cast<std::uint32_t>(order.size());
    order.push_back(i);
    for (const std::uint32_t n : next[i])
      if (--waits[n] == 0) ready.push(n);
  }
  if (order.size() < count)
    for (std::size_t i = 0; i < count; ++i)
      if (waits[i] > 0) throw InputError(fmt::format("{}: waits for an operation that waits for it", rank.place(i)));
  std::vector<TracedOperation> sorted;
  sorted.reserve(count);
  rank.after.clear();
  for (const std::uint32_t i : order) {
    TracedOperation& o = sorted.emplace_back(rank.operations[i]);
    o.first_after = static_cast<std::uint32_t>(rank.after.size());
    for (const std::uint32_t before : after[i]) rank.after.push_back(place[before]);
  }
  rank.operations = std::move(sorted);
  return rank;
}

}  // namespace weft

#include "models/program.hpp"

#include <utility>

#include <fmt/format.h>

namespace weft {

Program program_of(const Schedule& schedule, std::int64_t elements, std::int64_t element_bytes) {
  Program out{.ranks = schedule.ranks};
  out.add_call({.schedule = {std::shared_ptr<const Schedule>{}, &schedule}, .elements = elements, .element_bytes = element_bytes});
  out.operations = {{{.call = 0}}};
  return out;
}

Program back_to_back(const Program& once, int times) {
  Program out = once;
  for (int i = 1; i < times; ++i) {
    const int calls_before = static_cast<int>(out.calls.size());
    out.calls.insert(out.calls.end(), once.calls.begin(), once.calls.end());
    for (std::size_t list = 0; list < once.operations.size(); ++list) {
      const int before = static_cast<int>(out.operations[list].size());
      for (Operation o : once.operations[list]) {
        if (o.is_call()) o.call += calls_before;
        for (int& earlier : o.after) earlier += before;
        out.operations[list].push_back(std::move(o));
      }
    }
  }
  return out;
}

std::vector<std::string> problems(const Program& p) {
  std::vector<std::string> out;
  const auto calls = static_cast<int>(p.calls.size());
  std::vector<std::vector<int>> uses(p.calls.size(), std::vector<int>(static_cast<std::size_t>(p.ranks)));
  for (Rank rank = 0; rank < p.ranks; ++rank) {
    const std::vector<Operation>& own = p.of_rank(rank);
    for (std::size_t i = 0; i < own.size(); ++i) {
      const Operation& o = own[i];
      for (const int before : o.after)
        if (before < 0 || std::cmp_greater_equal(before, i))
          out.push_back(fmt::format("rank {}: operation {} comes after operation {}, which is not before it", rank, i, before));
      if (o.duration.ps < 0) out.push_back(fmt::format("rank {}: operation {} lasts less than nothing", rank, i));
      if (o.call < Operation::no_call || o.call >= calls)
        out.push_back(fmt::format("rank {}: operation {} is call {} of {}", rank, i, o.call, calls));
      else if (o.is_call())
        ++uses[static_cast<std::size_t>(o.call)][static_cast<std::size_t>(rank)];
    }
  }
  for (std::size_t c = 0; c < p.calls.size(); ++c) {
    const Call& call = p.calls[c];
    std::vector<int> wanted(static_cast<std::size_t>(p.ranks), call.members.empty() ? 1 : 0);
    for (const Rank member : call.members)
      if (member < 0 || member >= p.ranks)
        out.push_back(fmt::format("call {}: rank {} of {}", c, member, p.ranks));
      else
        ++wanted[static_cast<std::size_t>(member)];
    for (Rank rank = 0; rank < p.ranks; ++rank)
      if (const auto r = static_cast<std::size_t>(rank); uses[c][r] != wanted[r])
        out.push_back(fmt::format("call {}: rank {} has {} operations for it, {} wanted", c, rank, uses[c][r], wanted[r]));
    const auto members = call.members.empty() ? static_cast<std::size_t>(p.ranks) : call.members.size();
    if (std::cmp_not_equal(call.schedule->ranks, members))
      out.push_back(fmt::format("call {}: a schedule of {} ranks for {} members", c, call.schedule->ranks, members));
  }
  return out;
}

}  // namespace weft

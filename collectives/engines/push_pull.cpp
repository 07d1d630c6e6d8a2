#include "collectives/engines/push_pull.hpp"

#include "kernels/base/error.hpp"

#include <algorithm>
#include <numeric>

namespace weft {
namespace {

using Machine = std::vector<Rank>;

std::vector<Machine> workers_on(const std::vector<int>& machines) {
  std::vector<Machine> out(machines.empty() ? 0 : static_cast<std::size_t>(std::ranges::max(machines)) + 1);
  for (std::size_t w = 0; w < machines.size(); ++w) out[static_cast<std::size_t>(machines[w])].push_back(static_cast<Rank>(w));
  for (const Machine& machine : out) check(!machine.empty(), "a machine without workers");
  return out;
}

// As many as make the shares of all machines equal, or nearly so where that would be many.
int chunks_for(const std::vector<Machine>& machines) {
  constexpr std::size_t many = 1024;
  std::size_t equal = 1, most = 1;
  for (const Machine& machine : machines) {
    most = std::max(most, machine.size());
    if (equal <= many) equal = std::lcm(equal, machine.size());
  }
  return static_cast<int>(std::min(equal, std::max(many, most)));
}

// The share of the i-th GPU of a machine.
Transfer share(const Machine& machine, std::size_t i, int chunks) {
  const ChunkLayout layout{chunks, static_cast<int>(machine.size())};
  const int number = static_cast<int>(i);
  return {.chunk = static_cast<int>(layout.begin(number)), .count = static_cast<int>(layout.size(number, 1))};
}

// Every GPU of a machine to every other; `add` gets the share of who keeps it.
template <class Add>
void within(const Machine& machine, Add add) {
  const std::size_t gpus = machine.size();
  for (std::size_t distance = 1; distance < gpus; ++distance)
    for (std::size_t i = 0; i < gpus; ++i) add(i, (i + distance) % gpus);
}

}  // namespace

Schedule push_pull(const std::vector<int>& machine_of) {
  const std::vector<Machine> machines = workers_on(machine_of);
  const auto workers = static_cast<int>(machine_of.size());
  const Rank server = workers;
  Schedule s{.name = "push_pull", .collective = Collective::allreduce, .ranks = workers + 1, .chunks = chunks_for(machines), .servers = 1};
  const auto part = [&](const Machine& machine, std::size_t i, Rank from, Rank to) {
    Transfer t = share(machine, i, s.chunks);
    t.from = from, t.to = to;
    return t;
  };
  const bool several_gpus = std::ranges::any_of(machines, [](const Machine& machine) { return machine.size() > 1; });
  if (several_gpus) {
    Step& reduce = s.add_step();
    for (const Machine& m : machines) within(m, [&](std::size_t from, std::size_t to) { reduce.reduce(part(m, to, m[from], m[to])); });
  }
  if (machines.size() > 1) {
    Step& push = s.add_step();
    for (const Machine& m : machines)
      for (std::size_t i = 0; i < m.size(); ++i) {
        const Transfer t = part(m, i, m[i], server);
        &m == &machines.front() ? push.copy(t) : push.reduce(t);  // what comes from the first machine begins the sum
      }
    Step& pull = s.add_step();
    for (const Machine& m : machines)
      for (std::size_t i = 0; i < m.size(); ++i) pull.copy(part(m, i, server, m[i]));
  }
  if (several_gpus) {
    Step& gather = s.add_step();
    for (const Machine& m : machines) within(m, [&](std::size_t from, std::size_t to) { gather.copy(part(m, from, m[from], m[to])); });
  }
  return s;
}

}  // namespace weft

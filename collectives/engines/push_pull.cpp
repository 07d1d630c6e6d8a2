#include "collectives/engines/push_pull.hpp"

#include "kernels/base/error.hpp"

namespace weft {
namespace {

// Every GPU of a machine to every other, shares named by who keeps them.
template <class Add>
void within_machines(int workers, int gpus, Add add) {
  for (Rank first = 0; first < workers; first += gpus)
    for (int distance = 1; distance < gpus; ++distance)
      for (int i = 0; i < gpus; ++i) add(first, i, mod(i + distance, gpus));
}

}  // namespace

Schedule push_pull(int workers, int gpus) {
  check(gpus > 0 && workers >= gpus && workers % gpus == 0, "{} workers on machines of {} GPUs", workers, gpus);
  const Rank server = workers;
  Schedule s{.name = "push_pull", .collective = Collective::allreduce, .ranks = workers + 1, .chunks = gpus, .servers = 1};
  if (gpus > 1) {
    Step& reduce = s.add_step();
    within_machines(workers, gpus,
                    [&](Rank first, int from, int to) { reduce.reduce({.from = first + from, .to = first + to, .chunk = to}); });
  }
  Step& push = s.add_step();
  for (Rank w = 0; w < workers; ++w) {
    const Transfer t{.from = w, .to = server, .chunk = w % gpus};
    w < gpus ? push.copy(t) : push.reduce(t);  // what comes from the first machine begins the sum
  }
  Step& pull = s.add_step();
  for (Rank w = 0; w < workers; ++w) pull.copy({.from = server, .to = w, .chunk = w % gpus});
  if (gpus > 1) {
    Step& gather = s.add_step();
    within_machines(workers, gpus,
                    [&](Rank first, int from, int to) { gather.copy({.from = first + from, .to = first + to, .chunk = from}); });
  }
  return s;
}

}  // namespace weft

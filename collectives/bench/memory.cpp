#include "collectives/bench/memory.hpp"

#include "kernels/base/error.hpp"

#include <algorithm>
#include <fstream>

#include <unistd.h>

namespace weft::bench {
namespace {

double gibibytes(double bytes) { return bytes / (1 << 30); }

}  // namespace

std::int64_t memory_bytes() {
  std::int64_t machine = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  std::int64_t group = 0;  // "max" where there is no limit
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> group && group > 0) machine = std::min(machine, group);
  return machine;
}

int ranks_of_this_machine(const Settings& s, int all) { return s.one_of_several() ? 1 : all; }

void require_memory(int ranks, std::int64_t bytes_each, std::int64_t machine_bytes) {
  const double wanted = static_cast<double>(bytes_each) * ranks;
  if (wanted <= static_cast<double>(machine_bytes)) return;
  throw InputError(fmt::format("-e: {} rank{} on this machine need{} {:.1f} GiB for data{}, and it has {:.1f} GiB of memory", ranks,
                               ranks == 1 ? "" : "s", ranks == 1 ? "s" : "", gibibytes(wanted),
                               ranks == 1 ? "" : fmt::format(", {:.1f} GiB each", gibibytes(static_cast<double>(bytes_each))),
                               gibibytes(static_cast<double>(machine_bytes))));
}

}  // namespace weft::bench

#include "collectives/bench/memory.hpp"

#include "kernels/base/error.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>

#include <unistd.h>

namespace weft::bench {
namespace {

constexpr std::size_t page = 4096;

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

void TouchedMemory::resize(std::size_t size) {
  const std::size_t pages = (size / page + 1) * page;
  if (pages > size_) bytes_.reset(static_cast<std::byte*>(std::aligned_alloc(page, size_ = pages)));
  if (!bytes_) throw RunError(fmt::format("no memory for the {} bytes of data of a rank", size));
  std::memset(bytes_.get(), 0, size_);
}

}  // namespace weft::bench

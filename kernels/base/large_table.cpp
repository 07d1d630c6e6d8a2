#include "kernels/base/large_table.hpp"

#include <cstdlib>
#include <new>

#include <sys/mman.h>

namespace weft {
namespace {

constexpr std::align_val_t cache_line{64};

}  // namespace

void* new_table(std::size_t bytes) {
  if (bytes < huge_page) return ::operator new(bytes, cache_line);
  const std::size_t whole_pages = (bytes + huge_page - 1) / huge_page * huge_page;
  void* table = std::aligned_alloc(huge_page, whole_pages);
  if (!table) throw std::bad_alloc();
  ::madvise(table, whole_pages, MADV_HUGEPAGE);  // where it cannot be had, small ones do
  return table;
}

void free_table(void* table, std::size_t bytes) {
  if (bytes < huge_page) return ::operator delete(table, cache_line);
  std::free(table);
}

}  // namespace weft

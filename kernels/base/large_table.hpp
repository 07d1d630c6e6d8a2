// A vector whose memory is asked for in huge pages once it is large: the tables of a run of many ranks are read at places without
// order, and with pages of 4 KiB most of what such a read costs is finding the page.
#pragma once

#include <cstddef>
#include <vector>

namespace weft {

inline constexpr std::size_t huge_page = std::size_t{1} << 21;
// Aligned to a cache line, or to a huge page from one on; free_table wants the same number.
void* new_table(std::size_t bytes);
void free_table(void* table, std::size_t bytes);

template <class T>
struct InLargePages {
  using value_type = T;
  InLargePages() = default;
  template <class U>
  InLargePages(const InLargePages<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(new_table(n * sizeof(T))); }
  void deallocate(T* table, std::size_t n) { free_table(table, n * sizeof(T)); }
  template <class U>
  bool operator==(const InLargePages<U>&) const {
    return true;
  }
};

template <class T>
using LargeTable = std::vector<T, InLargePages<T>>;

}  // namespace weft

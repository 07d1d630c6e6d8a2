#include "collectives/compression/for_elements.hpp"

namespace weft {

CompressionSettings for_elements(CompressionSettings s, std::int64_t elements) {
  if (s.k.count > elements) s.k = Amount::exactly(elements);
  if (s.memory == ErrorMemory::sketch && s.k.of(elements) > s.columns.of(elements)) s.k = Amount::exactly(s.columns.of(elements));
  return s;
}

}  // namespace weft

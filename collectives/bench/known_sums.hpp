// Gradients whose sums every worker knows to the bit: integers, or values whose fixed point sums exactly. They repeat with a
// period that no packet's length divides, from another place on in each round, so that what belongs elsewhere is seen.
#pragma once

#include "kernels/compression/quantise.hpp"
#include "kernels/dtype.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::bench {

class KnownSums {
 public:
  KnownSums(DType dtype, FixedPoint point, int workers, int worker);

  // `elements` of the type.
  void fill(std::uint32_t round, std::int64_t elements, void* gradients) const;
  struct Verdict {
    std::int64_t wrong = 0;
    std::string first_wrong;  // "worker 3, element 17: is 4.5, should be 5"
  };
  Verdict compare(std::uint32_t round, std::int64_t elements, const void* sums) const;

 private:
  // Calls do(first element, offset into a table, bytes) for each stretch without a jump.
  template <class Do>
  void stretches(std::uint32_t round, std::int64_t elements, Do act) const;

  DType dtype_;
  int worker_;
  std::vector<std::byte> own_, sums_;
};

}  // namespace weft::bench

// A worker's gradients as the integers that packets carry: what is sent is quantised as it is read, what comes back becomes
// the type again as it is written. Both may be in one place: a packet is read again only while its sum has not been written.
#pragma once

#include "collectives/in_network/atp.hpp"
#include "kernels/compression/quantise.hpp"
#include "kernels/dtype.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft {

class GradientValues final : public PacketValues {
 public:
  // The part of one worker's buffer that packets 0, 1, ... carry.
  struct Share {
    int worker = 0;
    std::int64_t first_element = 0;  // of the buffer
    std::int64_t elements = 0;
    int each = 1;  // values in a packet
  };

  // `gradients` and `sums`, which must outlive this, are where the part begins: int32, which goes as it is, or floating point.
  GradientValues(DType dtype, const void* gradients, void* sums, FixedPoint point, const Share& share);

  void read(std::uint32_t packet, std::span<std::int32_t> values) override;
  void write(std::uint32_t packet, std::span<const std::int32_t> sums) override;

  bool saturated() const override { return saturated_; }
  void read_floats(std::uint32_t packet, std::span<std::int32_t> words) override;
  void write_floats(std::uint32_t packet, std::span<const std::int32_t> words) override;

  // The first value that did not fit into 32 bits and was sent saturated, "" if all fitted:
  //   worker 2, element 17: 3e+30 times the scale 1e+08 does not fit into 32 bits
  const std::string& unfit_value() const { return unfit_value_; }
  // The first sum that is at the limit, "" if none is: where packets were flagged, the one that did not fit.
  const std::string& limit_sum() const { return limit_sum_; }

 private:
  struct Range {
    std::int64_t begin;
    std::size_t count;
  };
  Range range(std::uint32_t packet) const;
  std::int64_t offset(std::int64_t element) const { return element * static_cast<std::int64_t>(size_of(dtype_)); }
  void name_unfit_value(Range r, std::span<const std::int32_t> fixed);

  DType dtype_;
  const std::byte* gradients_;
  std::byte* sums_;
  FixedPoint point_;
  Share share_;
  bool saturated_ = false;  // in the packet read last
  std::string unfit_value_, limit_sum_;
};

}  // namespace weft

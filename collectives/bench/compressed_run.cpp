#include "collectives/bench/compressed_run.hpp"

#include "kernels/reduce.hpp"

namespace weft::bench {

CompressedRun::CompressedRun(const Settings& s, const std::string& algorithm, Rank rank, std::int64_t elements)
    : compressor_(*s.compression, {{"gradient", elements}}, rank, request_of(s, algorithm)),
      sum_({.request = request_of(s, algorithm), .operand = Operand::gradient, .elements = elements}, rank) {}

void CompressedRun::run(const Buffer& buffer, Transport& transport) {
  compressor_.all_reduce({reinterpret_cast<float*>(buffer.data), static_cast<std::size_t>(buffer.layout.elements)}, transport);
}

void CompressedRun::add_kept(std::span<const float> kept, const Buffer& buffer, Transport& transport) {
  if (kept.empty()) return;  // dense
  std::vector<float> sum(kept.begin(), kept.end());
  std::vector<Entry> none;
  sum_.run(reinterpret_cast<std::byte*>(sum.data()), none, transport);
  reduce(DType::float32, ReduceOp::sum, buffer.data, sum.data(), sum.size());
}

}  // namespace weft::bench

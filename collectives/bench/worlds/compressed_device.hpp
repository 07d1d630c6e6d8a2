// One rank's compressed all-reduces in a benchmark, on its GPU: a world of its own, since the host goes along step by step.
#pragma once

#include "collectives/bench/settings/settings.hpp"
#include "collectives/bench/worlds/stream_world.hpp"
#include "collectives/compression/cuda/device_compressor.hpp"
#include "collectives/transports/cuda/stream_transport.hpp"
#include "kernels/cuda/runtime.hpp"

#include <optional>
#include <string>
#include <vector>

namespace weft::bench {

class CompressedOnDevice final : public StreamWorld {
 public:
  // `transport` carries memory of the device, `host` the host's, by which ranks compare their settings; all must stay.
  CompressedOnDevice(const Settings& settings, Rank rank, cuda::StreamTransport& transport, Transport& host)
      : settings_(settings), rank_(rank), transport_(transport), host_(host) {}

  int ranks() const override { return settings_.ranks; }
  void prepare(const StreamJob&) override;
  void write(Rank, ByteView bytes) override { copy(memory_.data(), bytes.data(), bytes.size()); }
  void read(Rank, ByteSpan bytes) const override { copy(bytes.data(), memory_.data(), bytes.size()); }
  double run(std::int64_t count) override;
  std::vector<float> kept(Rank) const override { return compressor_->kept(transport_); }

  void capture() override { check(false, "a graph of what the host does"); }
  std::vector<MarkedOperation> marked() const override { return {}; }
  std::vector<double> marks_us() const override { return {}; }
  std::vector<ClockOffset> clocks() const override { return {}; }

 private:
  void copy(void* to, const void* from, std::size_t bytes) const;

  const Settings& settings_;
  const Rank rank_;
  cuda::StreamTransport& transport_;
  Transport& host_;
  std::optional<cuda::DeviceCompressor> compressor_;
  cuda::DeviceMemory memory_;
};

}  // namespace weft::bench

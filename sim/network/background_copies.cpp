#include "sim/network/background_copies.hpp"

#include "kernels/error.hpp"

#include <algorithm>

namespace weft {

BackgroundCopies::BackgroundCopies(std::span<const HostCopies> copies, const Fabric& fabric, FluidNetwork& network) : network_(network) {
  const auto add = [&](const HostCopies& entry, int gpu) {
    std::vector<Hop> path;
    check(fabric.append_copy_path(gpu, entry.direction, path), "endpoint {} has no host memory", gpu);
    SimTime latency;
    for (const Hop& hop : path) latency += fabric.link(hop.link).latency;
    const auto route = network.add_route(path, latency, fabric.copy_claim(gpu));
    Stream stream{.route = route, .bytes = entry.bytes.count, .period = entry.period, .scheduled = entry.start, .begun = {}, .record = {}};
    stream.record.endpoint = gpu;
    stream.record.to_host = entry.direction == Fabric::Copy::to_host;
    streams_.push_back(stream);
    begin(static_cast<std::uint32_t>(streams_.size() - 1), entry.start);
  };
  for (const HostCopies& entry : copies) {
    for (const int gpu : entry.gpus) add(entry, gpu);
    if (entry.gpus.empty())
      for (int gpu = 0; gpu < fabric.endpoints(); ++gpu) add(entry, gpu);
  }
  unfinished_ = streams_.size();
}

void BackgroundCopies::begin(std::uint32_t index, SimTime at) {
  Stream& s = streams_[index];
  s.begun = at;
  network_.start(s.route, s.bytes, at, token_bit | index);
}

void BackgroundCopies::ended(std::uint32_t token) {
  const std::uint32_t index = token & ~token_bit;
  Stream& s = streams_[index];
  if (s.record.count++ == 0) --unfinished_;
  s.record.bytes += s.bytes;
  s.record.busy += network_.now() - s.begun;
  s.scheduled += s.period;
  begin(index, std::max(network_.now(), s.scheduled));
}

std::vector<CopyRecord> BackgroundCopies::result() const {
  std::vector<CopyRecord> records;
  for (const Stream& s : streams_) records.push_back(s.record);
  return records;
}

}  // namespace weft

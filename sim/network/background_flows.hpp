// Flows that repeat on a network as long as somebody else uses it: copies to and from host memory, traffic of others.
#pragma once

#include "models/server/host_copies.hpp"
#include "sim/network/network_run.hpp"
#include "sim/network/shared_network.hpp"
#include "sim/network/timeline.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weft {

// When the flows of a stream begin: one after the other, the first at `start`.
struct Rhythm {
  SimTime start = {};
  SimTime stop = SimTime::never();  // none begins from then on
  SimTime period = {};              // from start to start; a flow that takes longer delays the next. 0: back to back
  SimTime on = {}, off = {};        // none begins while it is off, for `off` after each `on` from `start`; on = 0: always on
};

// What became of the flows of one stream; only those that ended.
struct StreamRecord {
  std::int64_t count = 0, bytes = 0;
  SimTime busy;           // their durations, summed
  std::int64_t late = 0;  // those among them that had to wait for the one before
};

template <class Network>
class BackgroundFlows final : public Driver {
 public:
  enum class Awaited { no, once };  // whether the run goes on until each stream has ended a flow

  BackgroundFlows(SharedNetwork<Network>& network, Awaited awaited) : lane_(network.join(*this)), awaited_(awaited) {}

  // Streams are numbered in the order they are added.
  void add(std::span<const Hop> hops, SimTime latency, FlowTerms terms, Bytes bytes, Rhythm rhythm) {
    streams_.push_back({lane_.add_route(hops, latency, terms), bytes.count, rhythm, rhythm.start, {}, {}});
  }

  // From now on the flows of the stream that was added last go there; `who` has all but when.
  void record(NetworkActivity& activity, TransferRecord who) {
    activity_ = &activity;
    who_.resize(streams_.size());
    who_.back() = std::move(who);
  }

  void begin() override {
    unfinished_ = streams_.size();
    for (std::uint32_t i = 0; i < streams_.size(); ++i) begin_flow(i);
  }

  void ended(std::uint32_t token) override {
    Stream& s = streams_[token];
    if (s.record.count++ == 0) --unfinished_;
    s.record.bytes += s.bytes;
    s.record.busy += lane_.now() - s.begun;
    if (s.rhythm.period.ps > 0 && s.begun > s.scheduled) ++s.record.late;
    if (activity_) {
      TransferRecord record = who_[token];
      record.begin = s.begun;
      record.end = lane_.now();
      activity_->transfer(std::move(record));
    }
    s.scheduled += s.rhythm.period;
    begin_flow(token);
  }

  void never_ends(std::uint32_t token) override { blocked_ = blocked_ || streams_[token].record.count == 0; }

  bool takes_part() const override { return !streams_.empty(); }
  State state() const override {
    if (awaited_ == Awaited::no || unfinished_ == 0) return State::finished;
    return blocked_ ? State::stuck : State::running;
  }
  std::string waiting() const override { return fmt::format("{} flows in the background have not ended", unfinished_); }

  std::vector<StreamRecord> result() const {
    std::vector<StreamRecord> records;
    for (const Stream& s : streams_) records.push_back(s.record);
    return records;
  }

 private:
  struct Stream {
    std::uint32_t route;
    std::int64_t bytes;
    Rhythm rhythm;
    SimTime scheduled, begun;  // of the flow under way
    StreamRecord record;
  };

  void begin_flow(std::uint32_t index) {
    Stream& s = streams_[index];
    SimTime at = std::max(lane_.now(), s.scheduled);
    if (s.rhythm.on.ps > 0) {
      const std::int64_t cycle = (s.rhythm.on + s.rhythm.off).ps, phase = (at - s.rhythm.start).ps % cycle;
      if (phase >= s.rhythm.on.ps) s.scheduled = at = at + SimTime{cycle - phase};
    }
    if (at >= s.rhythm.stop) return;
    s.begun = at;
    lane_.start(s.route, s.bytes, at, index);
  }

  Lane<Network>& lane_;
  const Awaited awaited_;
  std::vector<Stream> streams_;
  NetworkActivity* activity_ = nullptr;
  std::vector<TransferRecord> who_;  // by stream, where they are recorded
  std::size_t unfinished_ = 0;
  bool blocked_ = false;  // a stream that has not ended a flow
};

// Copies between GPUs and the host memory next to them. Streams: for each entry, its GPUs in order.
template <class Network>
class BackgroundCopies {
 public:
  BackgroundCopies(std::span<const HostCopies> copies, const Fabric& fabric, SharedNetwork<Network>& network)
      : flows_(network, BackgroundFlows<Network>::Awaited::once) {
    for (const HostCopies& entry : copies) {
      for (const int gpu : entry.gpus) add(entry, gpu, fabric);
      if (entry.gpus.empty())
        for (int gpu = 0; gpu < fabric.endpoints(); ++gpu) add(entry, gpu, fabric);
    }
  }

  std::vector<CopyResult> result() const {
    std::vector<CopyResult> records = who_;
    const std::vector<StreamRecord> streams = flows_.result();
    for (std::size_t i = 0; i < records.size(); ++i)
      records[i].count = streams[i].count, records[i].bytes = Bytes{streams[i].bytes}, records[i].busy = streams[i].busy;
    return records;
  }

 private:
  void add(const HostCopies& entry, int gpu, const Fabric& fabric) {
    std::vector<Hop> path;
    check(fabric.append_copy_path(gpu, entry.direction, path), "endpoint {} has no host memory", gpu);
    SimTime latency;
    for (const Hop& hop : path) latency += fabric.link(hop.link).latency;
    flows_.add(path, latency, fabric.copy_terms(gpu), entry.bytes, {.start = entry.start, .period = entry.period});
    who_.push_back({.gpu = gpu, .to_host = entry.direction == Fabric::Copy::to_host});
  }

  BackgroundFlows<Network> flows_;
  std::vector<CopyResult> who_;  // by stream
};

}  // namespace weft

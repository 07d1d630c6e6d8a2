#include "collectives/bench/rank_run.hpp"

#include "collectives/executors/reference.hpp"

#include <cstring>
#include <iterator>

namespace weft::bench {
namespace {

constexpr int barrier_channel = 4094;

}  // namespace

RankRun::RankRun(const Benchmark& benchmark, Rank rank)
    : b_(benchmark),
      rank_(rank),
      team_(benchmark.threads()),
      records_(static_cast<std::size_t>(benchmark.threads())),
      report_(benchmark.settings, rank, benchmark.hear) {}

void RankRun::run(int channel) {
  if (channel == 0 && !b_.settings.trace.empty()) report_.compare_clocks(transport(), b_.world.one_clock());
  for (const PlannedAlgorithm& a : b_.algorithms) {
    if (channel == 0 && rank_ == 0) b_.hear.begin(a.name);
    for (const std::int64_t elements : a.elements) measure({a, elements}, channel);
  }
  if (channel == 0 && !b_.settings.trace.empty()) report_.finish();
}

void RankRun::measure(const Case& c, int channel) {
  const Schedule& schedule = c.algorithm.schedule;
  if (channel == 0) {
    buffer_ = {{.elements = c.elements, .chunks = schedule.chunks}, b_.settings.dtype, nullptr};
    memory_.resize(buffer_bytes(schedule, c.elements, b_.settings.dtype));
    buffer_.data = memory_.data();
    fill(schedule, b_.settings.op, b_.data, rank_, buffer_);
    measured_ = {};
    begin_compression(c);
    if (compressed_) fill_source(c);
    begin_on_device(c);
  }
  time_runs(c, channel, false, measured_.times_us);
  if (b_.settings.check) check_result(c, channel, Runs{}, measured_.verdict);
  if (runs_out_of_place(b_.settings)) measure_out_of_place(c, channel);
  if (!b_.settings.trace.empty()) trace(c, channel);
  if (channel == 0) report(c);
}

// Each run by itself behind a barrier, or, as nccl-tests does it, one run of all iterations back to back.
void RankRun::time_runs(const Case& c, int channel, bool copied, std::vector<double>& times_us) {
  if (channel == 0) times_us.clear();
  const std::int64_t together = b_.settings.aggregated;
  for (int i = 0; i < b_.settings.warmup; ++i) run_once(c, channel, b_.world.at(rank_, channel), {together, copied});
  const int runs = timed_runs(b_.settings);
  for (int i = 0; i < runs; ++i) {
    const std::int64_t count = together * (b_.settings.iterations / runs);
    const double time_us = run_once(c, channel, b_.world.at(rank_, channel), {count, copied});
    if (channel == 0) times_us.push_back(time_us);
  }
}

void RankRun::fill_source(const Case& c) {
  source_memory_.resize(buffer_bytes(c.algorithm.schedule, c.elements, b_.settings.dtype));
  source_ = {buffer_.layout, buffer_.dtype, source_memory_.data()};
  fill(c.algorithm.schedule, b_.settings.op, b_.data, rank_, source_);
}

void RankRun::measure_out_of_place(const Case& c, int channel) {
  if (channel == 0) fill_source(c);
  time_runs(c, channel, true, measured_.out_of_place_us);
  if (b_.settings.check) check_result(c, channel, Runs{.copied = true}, measured_.out_of_place_verdict);
}

// What the rank brings, from the other buffer to the one that is worked in.
void RankRun::copy_own(const Schedule& s) {
  if (rank_ >= b_.settings.ranks || (s.collective == Collective::broadcast && rank_ != s.root)) return;
  const bool block = s.collective == Collective::allgather;
  const int first = block ? block_begin(s, rank_) : 0, end = block ? block_begin(s, rank_ + 1) : s.chunks;
  const ByteSpan from = source_.chunks(first, end - first), to = buffer_.chunks(first, end - first);
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

void RankRun::begin_compression(const Case& c) {
  if (b_.settings.compression) compressed_.emplace(b_.settings, c.algorithm.name, rank_, c.elements);
}

void RankRun::begin_on_device(const Case& c) {
  StreamWorld* const device = b_.world.device(c.algorithm.name);
  if (device == nullptr) return;
  device_.emplace(*device, b_.settings, c.algorithm, rank_);
  wait_for_all_ranks();
  device_->prepare(buffer_, DeviceRun::Marks::off);
}

// Returns the microseconds that one collective took.
double RankRun::run_once(const Case& c, int channel, Transport& transport_of_channel, Runs runs) {
  // Sums of sums would grow without end.
  if (compressed_ && !device_) std::memcpy(memory_.data(), source_memory_.data(), memory_.size());
  if (device_) {
    if (compressed_) device_->write(source_);
    wait_for_all_ranks();
    return device_->run(runs.count);
  }
  if (channel == 0) wait_for_all_ranks();
  team_.sync();
  const double start = now_us();
  for (std::int64_t i = 0; i < runs.count; ++i) {
    if (runs.copied) {
      if (channel == 0) copy_own(c.algorithm.schedule);
      team_.sync();
    }
    run_collective(c, channel, transport_of_channel);
    team_.sync();
    if (b_.settings.op != ReduceOp::avg) continue;
    if (channel == 0) finish_average(c.algorithm.schedule, rank_, buffer_);
    if (i + 1 < runs.count) team_.sync();
  }
  return (now_us() - start) / static_cast<double>(runs.count);
}

void RankRun::run_collective(const Case& c, int channel, Transport& transport_of_channel) {
  const Schedule& schedule = c.algorithm.schedule;
  if (compressed_) {
    compressed_->run(buffer_, transport_of_channel);
  } else if (c.algorithm.library) {
    if (channel == 0) b_.world.run_library(schedule, b_.settings.op, rank_, buffer_);
  } else {
    FilteredSteps steps(schedule.channels[static_cast<std::size_t>(channel)], rank_);
    run_blocking(steps, channel, b_.settings.op, buffer_, transport_of_channel);
  }
}

void RankRun::wait_for_all_ranks() {
  FilteredSteps steps(b_.barrier.channels[0], rank_);
  run_blocking(steps, barrier_channel, ReduceOp::sum, Buffer{{.elements = 0, .chunks = 1}, DType::uint8, nullptr}, transport());
}

void RankRun::check_result(const Case& c, int channel, Runs runs, Verdict& verdict) {
  const Schedule& schedule = c.algorithm.schedule;
  if (channel == 0) fill(schedule, b_.settings.op, b_.data, rank_, buffer_);
  if (channel == 0) begin_compression(c);
  if (device_ && compressed_) device_->prepare(buffer_, DeviceRun::Marks::off);  // what is kept begins with nothing, too
  if (device_) device_->write(buffer_);
  run_once(c, channel, b_.world.at(rank_, channel), runs);
  if (channel != 0) return;
  if (device_) device_->read(buffer_);
  if (compressed_) add_kept();
  const RankResult result{rank_, buffer_};
  TestData data = b_.data;
  data.scaled_first = device_ && device_->scales_first();
  verdict = verify(schedule, b_.settings.op, data, std::span(&result, 1));
}

void RankRun::add_kept() {
  if (!device_) return compressed_->add_kept(compressed_->kept(), buffer_, transport());
  compressed_->add_kept(device_->kept(), buffer_, transport());
}

void RankRun::trace(const Case& c, int channel) {
  auto& records = records_[static_cast<std::size_t>(channel)];
  records.clear();
  if (device_) {
    wait_for_all_ranks();
    device_->prepare(buffer_, DeviceRun::Marks::on);
    run_once(c, channel, transport(), Runs{});
    records = device_->records();
    return;
  }
  TracingTransport tracing(b_.world.at(rank_, channel), rank_, records);
  run_once(c, channel, tracing, Runs{});
}

void RankRun::report(const Case& c) {
  measured_.clock_error_us = device_ ? device_->clock_error_us() : 0;
  for (const auto& of_channel : records_) measured_.records.insert(measured_.records.end(), of_channel.begin(), of_channel.end());
  report_.report(transport(), c.algorithm.name, c.elements, std::move(measured_));
}

}  // namespace weft::bench

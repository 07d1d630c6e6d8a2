#include "collectives/bench/measure.hpp"

#include "collectives/bench/compressed_run.hpp"
#include "collectives/bench/device_run.hpp"
#include "collectives/bench/memory.hpp"
#include "collectives/bench/plan.hpp"
#include "collectives/bench/team.hpp"
#include "collectives/executors/reference.hpp"
#include "collectives/transports/on_threads.hpp"
#include "kernels/base/error.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>

#include <sched.h>

namespace weft::bench {
namespace {

constexpr int talk_channel = 4095;  // for tags of what the benchmark itself says
constexpr int barrier_channel = 4094;
constexpr int clock_rounds = 32;
constexpr std::size_t page = 4096;

// Page-aligned memory, touched so that no run pays for its first use.
class Memory {
 public:
  std::byte* data() { return bytes_.get(); }
  void resize(std::size_t size) {
    const std::size_t pages = (size / page + 1) * page;
    if (pages > size_) bytes_.reset(static_cast<std::byte*>(std::aligned_alloc(page, size_ = pages)));
    if (!bytes_) throw RunError(fmt::format("no memory for the {} bytes of data of a rank", size));
    std::memset(bytes_.get(), 0, size_);
  }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte[], Free> bytes_;
  std::size_t size_ = 0;
};

// What a rank tells rank 0 after every size; its times follow, then its records if it traced.
struct Told {
  std::int64_t wrong = 0, out_of_place_wrong = 0;
  std::int64_t records = 0;
  double clock_error_us = 0;  // of their times, beside that of comparing the ranks' clocks
  std::array<char, 160> first_wrong = {};
};

template <class T>
ByteSpan bytes_of(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}
template <class T>
ByteSpan bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

Tag talk(int what) { return tag_of({.channel = talk_channel, .step = what}); }
void send_to(Transport& t, Rank to, int what, ByteView bytes) {
  t.send(to, talk(what), bytes);
  t.wait();
}
void receive_from(Transport& t, Rank from, int what, ByteSpan into) {
  t.receive(from, talk(what), into);
  t.wait();
}

struct Case {
  const PlannedAlgorithm& algorithm;
  std::int64_t elements;
};

// What is the same for all ranks of this process.
struct Benchmark {
  World& world;
  const Settings& settings;
  std::vector<PlannedAlgorithm> algorithms;
  Schedule barrier;
  const Hear& hear;
  TestData data;

  // Of each rank: one alone enqueues on a device.
  int threads() const { return world.device() != nullptr ? 1 : settings.cut.channels; }
};

// One rank, run by one thread per channel, or by one where a device does the work. Channel 0's thread also talks to the other ranks.
class RankRun {
 public:
  RankRun(const Benchmark& b, Rank rank) : b_(b), rank_(rank), team_(b.threads()), records_(channels()) {}

  void run(int channel) {
    if (channel == 0 && !b_.settings.trace.empty()) compare_clocks();
    for (const PlannedAlgorithm& a : b_.algorithms) {
      if (channel == 0 && rank_ == 0) b_.hear.begin(a.name);
      for (const std::int64_t elements : a.elements) measure({a, elements}, channel);
    }
    if (channel == 0 && rank_ == 0 && !b_.settings.trace.empty()) {
      for (ClockOffset& c : clocks_) c.error_us += clock_error_us_;
      b_.hear.traces(clocks_, traced_);
    }
  }
  void break_up() { team_.break_up(); }

 private:
  std::size_t channels() const { return static_cast<std::size_t>(b_.threads()); }
  Transport& transport() { return b_.world.at(rank_, 0); }

  void measure(const Case& c, int channel) {
    const Schedule& schedule = c.algorithm.schedule;
    if (channel == 0) {
      buffer_ = {{.elements = c.elements, .chunks = schedule.chunks}, b_.settings.dtype, nullptr};
      memory_.resize(buffer_bytes(schedule, c.elements, b_.settings.dtype));
      buffer_.data = memory_.data();
      fill(schedule, b_.settings.op, b_.data, rank_, buffer_);
      out_of_place_us_.clear();
      verdict_ = out_of_place_verdict_ = {};
      begin_compression(c);
      begin_on_device(c);
    }
    time_runs(c, channel, Runs{.count = b_.settings.aggregated}, times_us_);
    if (b_.settings.check) check_result(c, channel, Runs{}, verdict_);
    if (runs_out_of_place(b_.settings)) measure_out_of_place(c, channel);
    if (!b_.settings.trace.empty()) trace(c, channel);
    if (channel == 0) report(c);
  }

  // Collectives back to back; `copied`: each from the other buffer.
  struct Runs {
    int count = 1;
    bool copied = false;
  };

  void time_runs(const Case& c, int channel, Runs runs, std::vector<double>& times_us) {
    if (channel == 0) times_us.clear();
    for (int i = -b_.settings.warmup; i < b_.settings.iterations; ++i) {
      const double time_us = run_once(c, channel, b_.world.at(rank_, channel), runs);
      if (channel == 0 && i >= 0) times_us.push_back(time_us);
    }
  }

  void measure_out_of_place(const Case& c, int channel) {
    const Schedule& schedule = c.algorithm.schedule;
    if (channel == 0) {
      source_memory_.resize(buffer_bytes(schedule, c.elements, b_.settings.dtype));
      source_ = {buffer_.layout, buffer_.dtype, source_memory_.data()};
      fill(schedule, b_.settings.op, b_.data, rank_, source_);
    }
    time_runs(c, channel, Runs{.count = b_.settings.aggregated, .copied = true}, out_of_place_us_);
    if (b_.settings.check) check_result(c, channel, Runs{.copied = true}, out_of_place_verdict_);
  }

  // What the rank brings, from the other buffer to the one that is worked in.
  void copy_own(const Schedule& s) {
    if (rank_ >= b_.settings.ranks || (s.collective == Collective::broadcast && rank_ != s.root)) return;
    const bool block = s.collective == Collective::allgather;
    const int first = block ? block_begin(s, rank_) : 0, end = block ? block_begin(s, rank_ + 1) : s.chunks;
    const ByteSpan from = source_.chunks(first, end - first), to = buffer_.chunks(first, end - first);
    if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
  }

  void begin_compression(const Case& c) {
    if (b_.settings.compression) compressed_.emplace(b_.settings, c.algorithm.name, rank_, c.elements);
  }

  void begin_on_device(const Case& c) {
    if (b_.world.device() == nullptr) return;
    device_.emplace(*b_.world.device(), b_.settings, c.algorithm, rank_);
    wait_for_all_ranks();
    device_->prepare(buffer_, DeviceRun::Marks::off);
  }

  // Returns the microseconds that one collective took.
  double run_once(const Case& c, int channel, Transport& transport_of_channel, Runs runs) {
    if (device_) return wait_for_all_ranks(), device_->run();                              // one at a time: -m is refused
    if (compressed_) fill(c.algorithm.schedule, b_.settings.op, b_.data, rank_, buffer_);  // sums of sums would grow without end
    if (channel == 0) wait_for_all_ranks();
    team_.sync();
    const double start = now_us();
    for (int i = 0; i < runs.count; ++i) {
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
    return (now_us() - start) / runs.count;
  }

  void run_collective(const Case& c, int channel, Transport& transport_of_channel) {
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

  void wait_for_all_ranks() {
    FilteredSteps steps(b_.barrier.channels[0], rank_);
    run_blocking(steps, barrier_channel, ReduceOp::sum, Buffer{{.elements = 0, .chunks = 1}, DType::uint8, nullptr}, transport());
  }

  void check_result(const Case& c, int channel, Runs runs, Verdict& verdict) {
    const Schedule& schedule = c.algorithm.schedule;
    if (channel == 0) fill(schedule, b_.settings.op, b_.data, rank_, buffer_);
    if (channel == 0) begin_compression(c);
    if (device_) device_->write(buffer_);
    run_once(c, channel, b_.world.at(rank_, channel), runs);
    if (channel != 0) return;
    if (device_) device_->read(buffer_);
    if (compressed_) compressed_->add_kept(buffer_, transport());
    const RankResult result{rank_, buffer_};
    TestData data = b_.data;
    data.scaled_first = device_ && device_->scales_first();
    verdict = verify(schedule, b_.settings.op, data, std::span(&result, 1));
  }

  void trace(const Case& c, int channel) {
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

  // Rank 0 collects; all others tell.
  void report(const Case& c) {
    Told told{.wrong = verdict_.wrong,
              .out_of_place_wrong = out_of_place_verdict_.wrong,
              .clock_error_us = device_ ? device_->clock_error_us() : 0};
    (verdict_.wrong > 0 ? verdict_ : out_of_place_verdict_).first_wrong.copy(told.first_wrong.data(), told.first_wrong.size() - 1);
    std::vector<Record> records;
    for (const auto& of_channel : records_) records.insert(records.end(), of_channel.begin(), of_channel.end());
    told.records = static_cast<std::int64_t>(records.size());
    if (rank_ != 0) {
      send_to(transport(), 0, 0, bytes_of(told));
      send_to(transport(), 0, 1, bytes_of(times_us_));
      send_to(transport(), 0, 5, bytes_of(out_of_place_us_));
      send_to(transport(), 0, 2, bytes_of(records));
      return;
    }
    Row row = row_of(b_.settings, c.algorithm.name, c.elements);
    row.times_us = times_us_;
    row.out_of_place_us = out_of_place_us_;
    add(row, told);
    for (Rank other = 1; other < b_.settings.with_servers(); ++other) {
      receive_from(transport(), other, 0, bytes_of(told));
      receive_from(transport(), other, 1, bytes_of(times_us_));
      receive_from(transport(), other, 5, bytes_of(out_of_place_us_));
      std::vector<Record> theirs(static_cast<std::size_t>(told.records));
      receive_from(transport(), other, 2, bytes_of(theirs));
      records.insert(records.end(), theirs.begin(), theirs.end());
      if (other < b_.settings.ranks) {
        slowest(row.times_us, times_us_);
        slowest(row.out_of_place_us, out_of_place_us_);
      }
      add(row, told);
    }
    b_.hear.row(row);
    if (!b_.settings.trace.empty()) traced_.push_back({c.algorithm.name, row.size_bytes, row.times_us, std::move(records)});
  }

  static void slowest(std::vector<double>& all_us, const std::vector<double>& theirs_us) {
    for (std::size_t i = 0; i < all_us.size(); ++i) all_us[i] = std::max(all_us[i], theirs_us[i]);
  }
  void add(Row& row, const Told& told) {
    clock_error_us_ = std::max(clock_error_us_, told.clock_error_us);
    if (row.first_wrong.empty()) row.first_wrong = told.first_wrong.data();
    row.wrong += told.wrong;
    row.out_of_place_wrong += told.out_of_place_wrong;
  }

  // Rank 0 answers every other rank's question after the time; the quickest answer is the best.
  void compare_clocks() {
    clocks_.assign(static_cast<std::size_t>(b_.settings.with_servers()), {});
    if (b_.world.one_clock()) return;
    for (Rank other = 1; other < b_.settings.with_servers(); ++other) {
      ClockOffset best{.error_us = HUGE_VAL};
      double time = 0;
      for (int round = 0; round < clock_rounds; ++round) {
        if (rank_ == 0) {
          receive_from(transport(), other, 3, {});
          time = now_us();
          send_to(transport(), other, 3, bytes_of(time));
        } else if (rank_ == other) {
          const double asked = now_us();
          transport().receive(0, talk(3), bytes_of(time));
          transport().send(0, talk(3), {});
          transport().wait();
          const double heard = now_us();
          if ((heard - asked) / 2 < best.error_us) best = {(asked + heard) / 2 - time, (heard - asked) / 2};
        }
      }
      if (rank_ == other) send_to(transport(), 0, 4, bytes_of(best));
      if (rank_ == 0) receive_from(transport(), other, 4, bytes_of(clocks_[static_cast<std::size_t>(other)]));
    }
  }

  const Benchmark& b_;
  const Rank rank_;
  Team team_;
  Memory memory_, source_memory_;
  Buffer buffer_, source_;
  std::optional<CompressedRun> compressed_;
  std::optional<DeviceRun> device_;
  std::vector<double> times_us_, out_of_place_us_;
  Verdict verdict_, out_of_place_verdict_;
  std::vector<std::vector<Record>> records_;  // of each channel
  std::vector<ClockOffset> clocks_;           // rank 0's, of all
  double clock_error_us_ = 0;                 // rank 0's: the largest that any told of
  std::vector<TracedRun> traced_;
};

// Where every thread can have a core, each gets its own, as mpirun does with processes: the scheduler may otherwise keep two
// that wait for each other on one.
void bind_to_core(std::size_t thread, std::size_t threads) {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0 || threads > static_cast<std::size_t>(CPU_COUNT(&allowed))) return;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || thread-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    ::sched_setaffinity(0, sizeof one, &one);  // of this thread; without it the run is only slower
    return;
  }
}

// Runs every rank and channel of this process to its end, or to the first error, which is thrown.
void run_all(World& world, std::deque<RankRun>& ranks, int channels) {
  std::mutex mutex;
  std::exception_ptr first;
  const auto stop = [&](const std::string& reason) {
    {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
    }
    world.fail(reason);
    for (RankRun& r : ranks) r.break_up();
  };
  const auto run = [&](RankRun& rank, int channel) {
    try {
      rank.run(channel);
    } catch (const Team::Broken&) {  // another thread's error is the one to report
    } catch (const std::exception& e) {
      stop(e.what());
    }
  };
  if (ranks.size() == 1 && channels == 1) {
    run(ranks.front(), 0);
  } else {
    const auto per_rank = static_cast<std::size_t>(channels);
    const std::size_t all = ranks.size() * per_rank;
    const auto run_bound = [&](std::size_t i) {
      bind_to_core(i, all);
      run(ranks[i / per_rank], static_cast<int>(i % per_rank));
    };
    on_threads(all, run_bound, [&](const std::string& reason) {
      world.fail(reason);
      for (RankRun& r : ranks) r.break_up();
    });
  }
  if (!first) return;
  if (const std::string report = world.report(); !report.empty()) throw RunError(report);
  std::rethrow_exception(first);
}

}  // namespace

double Row::quantile_us(double part) const { return quantile_of(times_us, part); }

double quantile_of(std::vector<double> times_us, double part) {
  std::sort(times_us.begin(), times_us.end());
  const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(times_us.size())));
  return times_us[std::clamp<std::size_t>(rank, 1, times_us.size()) - 1];
}

double variation_percent(const std::vector<double>& times_us) {
  const double n = static_cast<double>(times_us.size());
  const double mean = std::accumulate(times_us.begin(), times_us.end(), 0.0) / n;
  double squares = 0;
  for (const double t : times_us) squares += (t - mean) * (t - mean);
  return mean > 0 ? 100 * std::sqrt(squares / n) / mean : 0;
}

double bus_factor(Collective collective, int ranks) {
  const double n = ranks;
  switch (collective) {
    case Collective::allreduce:
      return 2 * (n - 1) / n;
    case Collective::reduce_scatter:
    case Collective::allgather:
    case Collective::alltoall:
      return (n - 1) / n;
    default:
      return 1;
  }
}

TestData test_data(const Settings& s) { return {.values = s.ranks <= most_ranks_summed_exactly(s.dtype) ? Values::whole : Values::real}; }

Row row_of(const Settings& s, const std::string& algorithm, std::int64_t elements) {
  Row row{.algorithm = algorithm, .size_bytes = elements * static_cast<std::int64_t>(size_of(s.dtype)), .count = elements};
  const Collective c = s.collective;
  if (c == Collective::allgather || c == Collective::reduce_scatter || c == Collective::alltoall) row.count /= s.ranks;
  return row;
}

void measure(World& world, const Settings& settings, const Hear& hear) {
  const Benchmark benchmark{
      .world = world,
      .settings = settings,
      .algorithms = plan(settings, world),
      .barrier = build({.collective = Collective::barrier, .algorithm = "dissemination", .ranks = settings.with_servers()}),
      .hear = hear,
      .data = test_data(settings)};
  std::size_t largest = 0;
  for (const PlannedAlgorithm& a : benchmark.algorithms)
    for (const std::int64_t elements : a.elements) largest = std::max(largest, buffer_bytes(a.schedule, elements, settings.dtype));
  if (runs_out_of_place(settings)) largest *= 2;
  require_memory(ranks_of_this_machine(settings, settings.with_servers()), static_cast<std::int64_t>(largest));
  std::deque<RankRun> ranks;
  for (const Rank r : world.here()) ranks.emplace_back(benchmark, r);
  run_all(world, ranks, benchmark.threads());
}

}  // namespace weft::bench

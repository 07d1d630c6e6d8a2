#include "collectives/transports/cuda/executor.hpp"

#include "collectives/transports/cuda/device_clocks.hpp"
#include "collectives/transports/cuda/device_graphs.hpp"
#include "collectives/transports/cuda/handles.hpp"
#include "collectives/transports/cuda/hold.hpp"
#include "collectives/transports/cuda/plan_resources.hpp"
#include "collectives/transports/cuda/waiting.hpp"
#include "kernels/cuda/reduce.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

namespace weft::cuda {
namespace {

using Kind = StreamOperation::Kind;
using Location = StreamOperation::Location;

// Runs that are enqueued before the host waits for those before them: enough that devices never wait for the host, and few enough for
// CUDA's queues of launches, so that a hold can be put on the first of them.
constexpr std::int64_t runs_ahead = 32;

bool is_here(int device) { return device != elsewhere; }

}  // namespace

class Executor::Work {
 public:
  explicit Work(ExecutorSettings settings)
      : settings_(std::move(settings)),
        devices_(devices_here(settings_.devices)),
        peers_(devices_),
        resources_(settings_.devices),
        clocks_(devices_) {
    check(!devices_.empty(), "an executor of no rank");
    use_device(origin_device());
    origin_ = make_stream();
    start_ = make_event(Timing::off);
    began_ = make_event(Timing::on);
    ended_ = make_event(Timing::on);
    for (OwnedEvent& e : passed_) e = make_event(Timing::off);
  }

  bool stuck() const { return stuck_; }

  bool reads(Rank reader, Rank owner) const {
    return is_here(device_of(reader)) && is_here(device_of(owner)) && peers_.reads(device_of(reader), device_of(owner));
  }

  void prepare(StreamPlan plan) {
    check(static_cast<std::size_t>(plan.ranks) == settings_.devices.size(), "a plan of {} ranks on devices of {}", plan.ranks,
          settings_.devices.size());
    forget_graphs();
    replacement_ = nullptr;
    resources_.prepare(std::move(plan));
  }
  void replace(std::function<void()> enqueue) {
    forget_graphs();
    replacement_ = std::move(enqueue);
  }

  void capture() {
    use_device(origin_device());
    check_cuda(cudaStreamBeginCapture(origin_.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    cudaGraph_t captured = nullptr;
    capturing_ = true;
    try {
      enqueue();
    } catch (...) {
      capturing_ = false;
      if (cudaStreamEndCapture(origin_.get(), &captured) == cudaSuccess) cudaGraphDestroy(captured);
      throw;
    }
    capturing_ = false;
    check_cuda(cudaStreamEndCapture(origin_.get(), &captured), "cudaStreamEndCapture");
    const OwnedGraph graph(captured);
    cudaGraphExec_t executable = nullptr;
    const cudaError_t error = cudaGraphInstantiate(&executable, captured, 0);
    if (error == cudaErrorNotSupported && devices_.size() > 1 && !replacement_) return capture_for_each_device();
    check_cuda(error, "cudaGraphInstantiate");
    graph_ = OwnedGraphExec(executable);
  }

  double run(std::int64_t count) {
    if (plan().marks > 0) compare_clocks();
    use_device(origin_device());
    const bool graphs = graph_.get() != nullptr || device_graphs_;
    if (graphs) hold_.put_on(origin_);  // the host's time for the first launches is no time of the collective
    const LetGo at_the_end(hold_);
    record(began_, origin_);
    for (std::int64_t i = 0; i < count; ++i) {
      ++runs_;
      enqueue_run();
      use_device(origin_device());
      if ((i + 1) % runs_ahead == 0 && i + 1 < count) pass(i / runs_ahead);
    }
    record(ended_, origin_);
    hold_.let_go();
    await(ended_);
    return microseconds_between(began_, ended_) / static_cast<double>(count);
  }

  std::vector<double> marks_us() const {
    std::vector<double> times(static_cast<std::size_t>(plan().marks));
    for (const StreamOperation& o : plan().operations) {
      if (o.kind != Kind::mark || resources_.mark(o.event).get() == nullptr) continue;
      const DeviceClocks::Began& began = clocks_.of(resources_.device_of_stream(o.stream));
      times[static_cast<std::size_t>(o.event)] = microseconds_between(began.event, resources_.mark(o.event));
    }
    return times;
  }
  std::vector<Clock> clocks() const {
    const DeviceClocks::Began& origin = clocks_.of(origin_device());
    std::vector<Clock> all;
    for (const int d : settings_.devices) {
      if (d == origin_device() || d == elsewhere) {
        all.push_back({});
        continue;
      }
      const DeviceClocks::Began& own = clocks_.of(d);
      all.push_back({origin.host_us - own.host_us, origin.error_us + own.error_us});
    }
    return all;
  }
  Start start() const {
    const DeviceClocks::Began& origin = clocks_.of(origin_device());
    return {origin.host_us, origin.error_us};
  }

  void* message(Rank r) const { return resources_.memory(r); }
  Stream stream(Rank r) const { return resources_.first_stream_of(r).get(); }
  int device_of(Rank r) const { return settings_.devices[static_cast<std::size_t>(r)]; }

 private:
  const StreamPlan& plan() const { return resources_.plan(); }
  int origin_device() const { return *std::find_if(settings_.devices.begin(), settings_.devices.end(), is_here); }

  void forget_graphs() {
    graph_ = {};
    device_graphs_.reset();
  }
  void capture_for_each_device() {
    static_cast<void>(cudaGetLastError());  // it would be reported by the next launch
    capturing_ = true;
    const struct Captured {
      bool& capturing;
      ~Captured() { capturing = false; }
    } captured{capturing_};
    device_graphs_.emplace(DeviceGraphs::Source{.plan = plan(),
                                                .device_of = [this](int s) { return resources_.device_of_stream(s); },
                                                .stream = [this](int s) -> const OwnedStream& { return resources_.stream(s); },
                                                .enqueue = [this](const StreamOperation& o) { enqueue(o); }});
  }

  void enqueue_run() {
    if (graph_.get() != nullptr) {
      check_cuda(cudaGraphLaunch(graph_.get(), origin_.get()), "cudaGraphLaunch");
    } else if (device_graphs_) {
      record(start_, origin_);
      device_graphs_->launch(start_, origin_);
    } else {
      enqueue();
    }
  }
  // Between runs: waits until those before the last `runs_ahead` have ended.
  void pass(std::int64_t times) {
    hold_.let_go();
    record(passed_[static_cast<std::size_t>(times % 2)], origin_);
    if (times > 0) await(passed_[static_cast<std::size_t>((times + 1) % 2)]);
  }

  // All streams start after the origin's and are awaited by it: the shape that a capture asks for, too.
  void enqueue() {
    use_device(origin_device());
    record(start_, origin_);
    for (const OwnedStream& s : resources_.streams())
      if (s.get() != nullptr) wait(s, start_);
    if (replacement_)
      replacement_();
    else
      for (const StreamOperation& o : plan().operations) enqueue(o);
    for (int s = 0; s < plan().streams(); ++s) {
      if (resources_.device_of_stream(s) == elsewhere) continue;
      use_device(resources_.device_of_stream(s));
      record(resources_.end(s), resources_.stream(s));
      wait(origin_, resources_.end(s));
    }
  }

  void enqueue(const StreamOperation& o) {
    if (o.kind == Kind::begin_group) return messenger().begin_group();
    if (o.kind == Kind::end_group) return messenger().end_group();
    if (resources_.device_of_stream(o.stream) == elsewhere) return;
    const OwnedStream& stream = resources_.stream(o.stream);
    const auto bytes = static_cast<std::size_t>(o.bytes);
    const auto count = bytes / size_of(plan().dtype);
    use_device(resources_.device_of_stream(o.stream));
    switch (o.kind) {
      case Kind::copy:
        return copy(at(o.into), at(o.from), bytes, stream.get());
      case Kind::reduce:
        return reduce(plan().dtype, plan().op, at(o.into), at(o.from), count, stream.get());
      case Kind::reduce_many: {
        std::vector<const void*> sources;
        for (int s = o.first_source; s < o.first_source + o.sources; ++s)
          sources.push_back(at(plan().sources[static_cast<std::size_t>(s)]));
        return reduce_many(plan().dtype, plan().op, at(o.into), sources, count, stream.get());
      }
      case Kind::divide:
        return scale_average(plan().dtype, at(o.into), count, plan().workers, stream.get());
      case Kind::record:
        return record(resources_.event(o.event), stream);
      case Kind::wait:
        return wait(stream, resources_.event(o.event));
      case Kind::mark:
        // Within a capture an event is an edge only, unless it is called external.
        return check_cuda(cudaEventRecordWithFlags(resources_.mark(o.event).get(), stream.get(),
                                                   capturing_ ? cudaEventRecordExternal : cudaEventRecordDefault),
                          "cudaEventRecordWithFlags");
      case Kind::begin_group:
      case Kind::end_group:
        break;  // of no stream
      case Kind::send:
        return messenger().send(plan().rank_of_stream(o.stream), o.peer, at(o.from), bytes, stream.get());
      case Kind::receive:
        return messenger().receive(plan().rank_of_stream(o.stream), o.peer, at(o.into), bytes, stream.get());
    }
  }

  Messenger& messenger() const {
    check(settings_.messenger != nullptr, "a plan with messages, and no messenger");
    return *settings_.messenger;
  }
  Lookout* lookout() const { return settings_.messenger != nullptr ? settings_.messenger : settings_.lookout; }
  std::byte* at(Location p) const { return resources_.memory(p.memory) + p.offset; }
  static void record(const OwnedEvent& event, const OwnedStream& stream) {
    check_cuda(cudaEventRecord(event.get(), stream.get()), "cudaEventRecord");
  }
  static void wait(const OwnedStream& stream, const OwnedEvent& event) {
    check_cuda(cudaStreamWaitEvent(stream.get(), event.get(), 0), "cudaStreamWaitEvent");
  }

  void compare_clocks() {
    const auto stream_of = [this](int device) -> const OwnedStream& {
      const auto rank = std::find(settings_.devices.begin(), settings_.devices.end(), device) - settings_.devices.begin();
      return resources_.first_stream_of(static_cast<Rank>(rank));
    };
    clocks_.compare(stream_of, [this](const OwnedEvent& e) { await(e); });
  }

  void await(const OwnedEvent& event) {
    try {
      cuda::await(event, {lookout(), settings_.patience}, fmt::format("run {}", runs_));
    } catch (...) {
      stuck_ = true;  // the devices may still use all there is
      throw;
    }
  }

  const ExecutorSettings settings_;
  const std::set<int> devices_;
  const PeerAccess peers_;
  PlanResources resources_;
  DeviceClocks clocks_;
  OwnedStream origin_;  // of rank 0's device
  OwnedEvent start_, began_, ended_;
  std::array<OwnedEvent, 2> passed_;  // of runs that are enqueued in one go, in turn
  std::function<void()> replacement_;
  OwnedGraphExec graph_;
  std::optional<DeviceGraphs> device_graphs_;  // where one graph over all devices is not to be had
  Hold hold_;
  std::int64_t runs_ = 0;
  bool capturing_ = false;
  bool stuck_ = false;
};

Executor::Executor(ExecutorSettings settings) {
  const KeptDevice callers;
  work_ = std::make_unique<Work>(std::move(settings));
}

Executor::~Executor() {
  if (work_->stuck()) static_cast<void>(work_.release());  // freeing would wait for the devices
}

bool Executor::reads(Rank reader, Rank owner) const { return work_->reads(reader, owner); }

void Executor::prepare(StreamPlan plan) {
  const KeptDevice callers;
  work_->prepare(std::move(plan));
}

void Executor::replace(std::function<void()> enqueue) { work_->replace(std::move(enqueue)); }

void Executor::capture() {
  const KeptDevice callers;
  work_->capture();
}

double Executor::run(std::int64_t count) {
  const KeptDevice callers;
  return work_->run(count);
}

std::vector<double> Executor::marks_us() const { return work_->marks_us(); }
std::vector<Executor::Clock> Executor::clocks() const { return work_->clocks(); }
Executor::Start Executor::start() const { return work_->start(); }
void* Executor::message(Rank r) const { return work_->message(r); }
Stream Executor::stream(Rank r) const { return work_->stream(r); }

void Executor::write(Rank r, ByteView from) {
  const KeptDevice callers;
  use_device(work_->device_of(r));
  copy(work_->message(r), from.data(), from.size());
  synchronise();
}

void Executor::read(Rank r, ByteSpan into) const {
  const KeptDevice callers;
  use_device(work_->device_of(r));
  copy(into.data(), work_->message(r), into.size());
  synchronise();
}

}  // namespace weft::cuda

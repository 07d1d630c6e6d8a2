#include "collectives/transports/cuda/executor.hpp"

#include "collectives/transports/cuda/device_graphs.hpp"
#include "collectives/transports/cuda/handles.hpp"
#include "collectives/transports/cuda/waiting.hpp"
#include "kernels/cuda/reduce.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <thread>

namespace weft::cuda {
namespace {

using Kind = StreamOperation::Kind;
using Location = StreamOperation::Location;
using HostClock = std::chrono::steady_clock;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

bool is_here(int device) { return device != elsewhere; }

std::set<int> devices_here(const std::vector<int>& of_ranks) {
  std::set<int> here(of_ranks.begin(), of_ranks.end());
  here.erase(elsewhere);
  return here;
}

double host_us() { return std::chrono::duration<double, std::micro>(HostClock::now().time_since_epoch()).count(); }

// Between every two devices that can.
std::set<std::pair<int, int>> enable_peer_access(const std::set<int>& devices) {
  std::set<std::pair<int, int>> enabled;
  for (const int reader : devices)
    for (const int owner : devices) {
      int can = 0;
      if (reader != owner) check_cuda(cudaDeviceCanAccessPeer(&can, reader, owner), "cudaDeviceCanAccessPeer");
      if (can == 0) continue;
      use_device(reader);
      const cudaError_t error = cudaDeviceEnablePeerAccess(owner, 0);
      if (error != cudaErrorPeerAccessAlreadyEnabled) check_cuda(error, "cudaDeviceEnablePeerAccess");
      static_cast<void>(cudaGetLastError());  // it would be reported by the next launch
      enabled.emplace(reader, owner);
    }
  return enabled;
}

// Holds back what is enqueued on a stream until it is let go: what follows starts together, however long enqueuing takes.
class Hold {
 public:
  void put_on(const OwnedStream& stream) {
    let_go_ = false;
    check_cuda(cudaLaunchHostFunc(stream.get(), &Hold::wait, this), "cudaLaunchHostFunc");
  }
  void let_go() { let_go_ = true; }

 private:
  static void CUDART_CB wait(void* hold) {
    while (!static_cast<const Hold*>(hold)->let_go_) std::this_thread::yield();
  }
  std::atomic<bool> let_go_ = true;
};

// Lets go at the end of a block, whatever happens in it.
struct LetGo {
  Hold& hold;
  explicit LetGo(Hold& h) : hold(h) {}
  LetGo(const LetGo&) = delete;
  LetGo& operator=(const LetGo&) = delete;
  ~LetGo() { hold.let_go(); }
};

}  // namespace

class Executor::Work {
 public:
  explicit Work(ExecutorSettings settings)
      : settings_(std::move(settings)), devices_(devices_here(settings_.devices)), peers_(enable_peer_access(devices_)) {
    check(!devices_.empty(), "an executor of no rank");
    use_device(origin_device());
    origin_ = make_stream();
    start_ = make_event(Timing::off);
    began_ = make_event(Timing::on);
    ended_ = make_event(Timing::on);
    for (const int d : devices_) {
      use_device(d);
      bases_[d].event = make_event(Timing::on);
    }
  }

  bool stuck() const { return stuck_; }

  bool reads(Rank reader, Rank owner) const {
    if (device_of(reader) == elsewhere || device_of(owner) == elsewhere) return false;
    return device_of(reader) == device_of(owner) || peers_.contains({device_of(reader), device_of(owner)});
  }

  void prepare(StreamPlan plan) {
    check(index(plan.ranks) == settings_.devices.size(), "a plan of {} ranks on devices of {}", plan.ranks, settings_.devices.size());
    forget_graphs();
    replacement_ = nullptr;
    const bool same_streams = plan.streams_per_rank == plan_.streams_per_rank && !streams_.empty();
    plan_ = std::move(plan);
    prepare_memories();
    if (!same_streams) prepare_streams();
    prepare_events();
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

  double run() {
    ++runs_;
    if (plan_.marks > 0) compare_clocks();
    use_device(origin_device());
    if (graph_.get() != nullptr) {
      hold_.put_on(origin_);  // the host's time for the launch is no time of the collective
      const LetGo at_the_end(hold_);
      record(began_, origin_);
      check_cuda(cudaGraphLaunch(graph_.get(), origin_.get()), "cudaGraphLaunch");
      record(ended_, origin_);
    } else if (device_graphs_) {
      hold_.put_on(origin_);
      const LetGo at_the_end(hold_);
      record(began_, origin_);
      record(start_, origin_);
      device_graphs_->launch(start_, origin_);
      use_device(origin_device());
      record(ended_, origin_);
    } else {
      record(began_, origin_);
      enqueue();
      use_device(origin_device());
      record(ended_, origin_);
    }
    await(ended_);
    return microseconds_between(began_, ended_);
  }

  std::vector<double> marks_us() const {
    std::vector<double> times(index(plan_.marks));
    for (const StreamOperation& o : plan_.operations)
      if (o.kind == Kind::mark && marks_[index(o.event)].get() != nullptr)
        times[index(o.event)] = microseconds_between(bases_.at(device_of_stream(o.stream)).event, marks_[index(o.event)]);
    return times;
  }
  std::vector<Clock> clocks() const {
    const Base& origin = bases_.at(origin_device());
    std::vector<Clock> all;
    for (const int d : settings_.devices) {
      if (d == origin_device() || d == elsewhere) {
        all.push_back({});
        continue;
      }
      const Base& base = bases_.at(d);
      all.push_back({origin.host_us - base.host_us, origin.error_us + base.error_us});
    }
    return all;
  }
  Start start() const {
    const Base& origin = bases_.at(origin_device());
    return {origin.host_us, origin.error_us};
  }

  void* message(Rank r) const { return memories_[index(r)].memory.data(); }
  Stream stream(Rank r) const { return streams_[index(r * plan_.streams_per_rank)].get(); }
  int device_of(Rank r) const { return settings_.devices[index(r)]; }

 private:
  struct Memory {
    DeviceMemory memory;
    int device = -1;
    std::int64_t bytes = 0;
  };
  // Where a device's clock starts, and when that was on the host.
  struct Base {
    OwnedEvent event;
    double host_us = 0, error_us = 0;
  };

  int origin_device() const { return *std::find_if(settings_.devices.begin(), settings_.devices.end(), is_here); }
  int device_of_stream(int s) const { return device_of(plan_.rank_of_stream(s)); }

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
    device_graphs_.emplace(DeviceGraphs::Source{.plan = plan_,
                                                .device_of = [this](int s) { return device_of_stream(s); },
                                                .stream = [this](int s) -> const OwnedStream& { return streams_[index(s)]; },
                                                .enqueue = [this](const StreamOperation& o) { enqueue(o); }});
  }

  void prepare_memories() {
    memories_.resize(plan_.memories.size());
    for (std::size_t m = 0; m < memories_.size(); ++m) {
      Memory& own = memories_[m];
      const int device = device_of(plan_.rank_of_memory(static_cast<int>(m)));
      if (device == elsewhere || (own.device == device && own.bytes >= plan_.memories[m])) continue;
      own = {};  // before more is asked for
      use_device(device);
      own = {DeviceMemory(static_cast<std::size_t>(plan_.memories[m])), device, plan_.memories[m]};
    }
  }
  void prepare_streams() {
    streams_.clear();
    ends_.clear();
    streams_.resize(index(plan_.streams()));
    ends_.resize(index(plan_.streams()));
    for (int s = 0; s < plan_.streams(); ++s) {
      if (device_of_stream(s) == elsewhere) continue;
      use_device(device_of_stream(s));
      streams_[index(s)] = make_stream();
      ends_[index(s)] = make_event(Timing::off);
    }
  }
  void prepare_events() {
    events_.clear();
    events_.resize(index(plan_.events));
    marks_.clear();
    marks_.resize(index(plan_.marks));
    for (const StreamOperation& o : plan_.operations) {
      if ((o.kind != Kind::record && o.kind != Kind::mark) || device_of_stream(o.stream) == elsewhere) continue;
      use_device(device_of_stream(o.stream));
      if (o.kind == Kind::record)
        events_[index(o.event)] = make_event(Timing::off);
      else
        marks_[index(o.event)] = make_event(Timing::on);
    }
  }

  // All streams start after the origin's and are awaited by it: the shape that a capture asks for, too.
  void enqueue() {
    use_device(origin_device());
    record(start_, origin_);
    for (const OwnedStream& s : streams_)
      if (s.get() != nullptr) wait(s, start_);
    if (replacement_)
      replacement_();
    else
      for (const StreamOperation& o : plan_.operations) enqueue(o);
    for (int s = 0; s < plan_.streams(); ++s) {
      if (device_of_stream(s) == elsewhere) continue;
      use_device(device_of_stream(s));
      record(ends_[index(s)], streams_[index(s)]);
      wait(origin_, ends_[index(s)]);
    }
  }

  void enqueue(const StreamOperation& o) {
    if (o.kind == Kind::begin_group) return messenger().begin_group();
    if (o.kind == Kind::end_group) return messenger().end_group();
    if (device_of_stream(o.stream) == elsewhere) return;
    const OwnedStream& stream = streams_[index(o.stream)];
    const auto bytes = static_cast<std::size_t>(o.bytes);
    const auto count = bytes / size_of(plan_.dtype);
    use_device(device_of_stream(o.stream));
    switch (o.kind) {
      case Kind::copy:
        return copy(at(o.into), at(o.from), bytes, stream.get());
      case Kind::reduce:
        return reduce(plan_.dtype, plan_.op, at(o.into), at(o.from), count, stream.get());
      case Kind::reduce_many: {
        std::vector<const void*> sources;
        for (int s = o.first_source; s < o.first_source + o.sources; ++s) sources.push_back(at(plan_.sources[index(s)]));
        return reduce_many(plan_.dtype, plan_.op, at(o.into), sources, count, stream.get());
      }
      case Kind::divide:
        return scale_average(plan_.dtype, at(o.into), count, plan_.workers, stream.get());
      case Kind::record:
        return record(events_[index(o.event)], stream);
      case Kind::wait:
        return wait(stream, events_[index(o.event)]);
      case Kind::mark:
        // Within a capture an event is an edge only, unless it is called external.
        return check_cuda(cudaEventRecordWithFlags(marks_[index(o.event)].get(), stream.get(),
                                                   capturing_ ? cudaEventRecordExternal : cudaEventRecordDefault),
                          "cudaEventRecordWithFlags");
      case Kind::begin_group:
      case Kind::end_group:
        break;  // of no stream
      case Kind::send:
        return messenger().send(plan_.rank_of_stream(o.stream), o.peer, at(o.from), bytes, stream.get());
      case Kind::receive:
        return messenger().receive(plan_.rank_of_stream(o.stream), o.peer, at(o.into), bytes, stream.get());
    }
  }

  Messenger& messenger() const {
    check(settings_.messenger != nullptr, "a plan with messages, and no messenger");
    return *settings_.messenger;
  }
  std::byte* at(Location p) const { return memories_[index(p.memory)].memory.as<std::byte>() + p.offset; }
  static void record(const OwnedEvent& event, const OwnedStream& stream) {
    check_cuda(cudaEventRecord(event.get(), stream.get()), "cudaEventRecord");
  }
  static void wait(const OwnedStream& stream, const OwnedEvent& event) {
    check_cuda(cudaStreamWaitEvent(stream.get(), event.get(), 0), "cudaStreamWaitEvent");
  }

  void compare_clocks() {
    for (auto& [device, base] : bases_) {
      use_device(device);
      const auto rank = std::find(settings_.devices.begin(), settings_.devices.end(), device) - settings_.devices.begin();
      const double before = host_us();
      record(base.event, streams_[static_cast<std::size_t>(rank * plan_.streams_per_rank)]);
      await(base.event);
      const double after = host_us();
      base.host_us = (before + after) / 2;
      base.error_us = (after - before) / 2;
    }
  }

  void await(const OwnedEvent& event) {
    try {
      cuda::await(event, {settings_.messenger, settings_.patience}, fmt::format("run {}", runs_));
    } catch (...) {
      stuck_ = true;  // the devices may still use all there is
      throw;
    }
  }

  const ExecutorSettings settings_;
  const std::set<int> devices_;
  const std::set<std::pair<int, int>> peers_;  // (reader, owner)
  StreamPlan plan_;
  std::vector<Memory> memories_;
  OwnedStream origin_;  // of rank 0's device
  std::vector<OwnedStream> streams_;
  OwnedEvent start_, began_, ended_;
  std::vector<OwnedEvent> ends_, events_, marks_;
  std::map<int, Base> bases_;  // by device
  std::function<void()> replacement_;
  OwnedGraphExec graph_;
  std::optional<DeviceGraphs> device_graphs_;  // where one graph over all devices is not to be had
  Hold hold_;
  int runs_ = 0;
  bool capturing_ = false;
  bool stuck_ = false;
};

std::vector<int> devices_of_ranks(int ranks, int devices) {
  std::vector<int> all;
  const int used = std::min(ranks, devices);
  for (Rank r = 0; r < ranks; ++r) all.push_back(static_cast<int>(static_cast<std::int64_t>(r) * used / ranks));
  return all;
}

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

double Executor::run() {
  const KeptDevice callers;
  return work_->run();
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

std::string describe_devices(const std::vector<int>& devices) {
  std::map<std::string, std::set<int>> by_name;
  for (const int d : devices_here(devices)) by_name[device_name(d)].insert(d);
  std::vector<std::string> names;
  for (const auto& [name, of_name] : by_name) names.push_back(of_name.size() == 1 ? name : fmt::format("{} x {}", of_name.size(), name));
  int driver = 0, runtime = 0;
  check_cuda(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check_cuda(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  return fmt::format("{}, CUDA driver {}, runtime {}", fmt::join(names, ", "), version_text(driver), version_text(runtime));
}

}  // namespace weft::cuda

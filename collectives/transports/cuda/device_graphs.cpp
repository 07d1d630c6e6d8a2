#include "collectives/transports/cuda/device_graphs.hpp"

#include <optional>
#include <set>

namespace weft::cuda {

using Kind = StreamOperation::Kind;

// The operations in their order, each with its device's part that is open, until another device waits for what is in it.
class DeviceGraphs::Capture {
 public:
  Capture(const Source& source, DeviceGraphs& into) : source_(source), into_(into) {}

  void run() {
    for (const StreamOperation& o : source_.plan.operations) {
      check(o.kind != Kind::begin_group && o.kind != Kind::end_group, "messages in graphs of one device each");
      const int device = source_.device_of(o.stream);
      if (o.kind == Kind::wait && recorded_.at(o.event).device != device)
        wait_for_other(device, recorded_.at(o.event));
      else if (o.kind != Kind::wait || !recorded_.at(o.event).part)  // an earlier part of the device has ended by itself
        open_[device].push_back(&o);
      if (o.kind == Kind::record) recorded_[o.event] = {device, std::nullopt};
    }
    for (const auto& [device, origin] : into_.origins_) close(device);
  }

 private:
  struct Recorded {
    int device = 0;
    std::optional<std::size_t> part = {};  // where that is closed
  };

  void wait_for_other(int device, const Recorded& event) {
    if (!event.part) close(event.device);
    close(device);
    Part& wait = into_.parts_.emplace_back();
    wait.device = device;
    wait.awaited = *event.part;
  }

  // All streams of the part start after the device's origin and are awaited by it.
  void close(int device) {
    const std::vector<const StreamOperation*> operations = std::move(open_[device]);
    open_[device].clear();
    if (operations.empty()) return;
    use_device(device);
    const OwnedStream& origin = into_.origins_.at(device);
    std::set<int> streams;
    for (const StreamOperation* o : operations) streams.insert(o->stream);
    const OwnedEvent begun = make_event(Timing::off);
    std::vector<OwnedEvent> ends;
    check_cuda(cudaStreamBeginCapture(origin.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    cudaGraph_t captured = nullptr;
    try {
      check_cuda(cudaEventRecord(begun.get(), origin.get()), "cudaEventRecord");
      for (const int s : streams) check_cuda(cudaStreamWaitEvent(source_.stream(s).get(), begun.get(), 0), "cudaStreamWaitEvent");
      for (const StreamOperation* o : operations) source_.enqueue(*o);
      for (const int s : streams) {
        const OwnedEvent& end = ends.emplace_back(make_event(Timing::off));
        check_cuda(cudaEventRecord(end.get(), source_.stream(s).get()), "cudaEventRecord");
        check_cuda(cudaStreamWaitEvent(origin.get(), end.get(), 0), "cudaStreamWaitEvent");
      }
    } catch (...) {
      if (cudaStreamEndCapture(origin.get(), &captured) == cudaSuccess) cudaGraphDestroy(captured);
      throw;
    }
    check_cuda(cudaStreamEndCapture(origin.get(), &captured), "cudaStreamEndCapture");
    const OwnedGraph graph(captured);
    cudaGraphExec_t executable = nullptr;
    check_cuda(cudaGraphInstantiate(&executable, captured, 0), "cudaGraphInstantiate");
    Part& part = into_.parts_.emplace_back();
    part.device = device;
    part.graph = OwnedGraphExec(executable);
    part.ended = make_event(Timing::off);
    for (const StreamOperation* o : operations)
      if (o->kind == Kind::record) recorded_[o->event].part = into_.parts_.size() - 1;
  }

  const Source& source_;
  DeviceGraphs& into_;
  std::map<int, std::vector<const StreamOperation*>> open_;
  std::map<int, Recorded> recorded_;  // by event
};

DeviceGraphs::DeviceGraphs(const Source& source) {
  for (int s = 0; s < source.plan.streams(); ++s) {
    const int device = source.device_of(s);
    if (origins_.contains(device)) continue;
    use_device(device);
    origins_[device] = make_stream();
  }
  Capture(source, *this).run();
}

void DeviceGraphs::launch(const OwnedEvent& start, const OwnedStream& end) const {
  const auto wait = [](const OwnedStream& stream, const OwnedEvent& event) {
    check_cuda(cudaStreamWaitEvent(stream.get(), event.get(), 0), "cudaStreamWaitEvent");
  };
  for (const auto& [device, origin] : origins_) {
    use_device(device);
    wait(origin, start);
  }
  for (const Part& part : parts_) {
    use_device(part.device);
    const OwnedStream& origin = origins_.at(part.device);
    if (part.graph.get() == nullptr) {
      wait(origin, parts_[part.awaited].ended);
      continue;
    }
    check_cuda(cudaGraphLaunch(part.graph.get(), origin.get()), "cudaGraphLaunch");
    check_cuda(cudaEventRecord(part.ended.get(), origin.get()), "cudaEventRecord");
  }
  for (const Part& part : parts_)
    if (part.graph.get() != nullptr) wait(end, part.ended);
}

}  // namespace weft::cuda

#include "collectives/training/stream_workers.hpp"

#include "kernels/base/error.hpp"

#include <algorithm>
#include <cstring>

namespace weft {

StreamWorkers::StreamWorkers(const RankLinks& links, int streams, Ended ended, ControlLinks::Broken broken)
    : links_(links), ended_(std::move(ended)), broken_(std::move(broken)), workers_(static_cast<std::size_t>(streams)) {
  for (int s = 0; s < streams; ++s)
    workers_[static_cast<std::size_t>(s)].thread = std::thread([this, s] {
      try {
        work(s);
      } catch (...) {
        broken_(std::current_exception());
      }
    });
}

StreamWorkers::~StreamWorkers() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  more_.notify_all();
  for (Worker& worker : workers_) worker.thread.join();
}

void StreamWorkers::start(int stream, ReduceJob job) {
  check(stream >= 0 && stream < static_cast<int>(workers_.size()), "stream {} of {}", stream, workers_.size());
  {
    const std::lock_guard lock(mutex_);
    workers_[static_cast<std::size_t>(stream)].queue.push_back(std::move(job));
  }
  more_.notify_all();
}

void StreamWorkers::work(int stream) {
  Worker& self = workers_[static_cast<std::size_t>(stream)];
  Transport& transport = links_.at(links_.ranks + stream);
  for (;;) {
    std::unique_lock lock(mutex_);
    more_.wait(lock, [&] { return ending_ || !self.queue.empty(); });
    if (self.queue.empty()) return;
    const ReduceJob job = std::move(self.queue.front());
    self.queue.pop_front();
    lock.unlock();
    if (job.instead)
      job.instead(transport);
    else
      reduce(job, self.memory, transport);
    ended_(job.id);
  }
}

void StreamWorkers::reduce(const ReduceJob& job, std::vector<std::byte>& memory, Transport& transport) const {
  std::size_t bytes = 0;
  for (const ByteSpan slice : job.slices) bytes += slice.size();
  const auto elements = static_cast<std::int64_t>(bytes / size_of(job.dtype));
  memory.resize(std::max(memory.size(), buffer_bytes(*job.schedule, elements, job.dtype)));
  std::size_t at = 0;
  for (const ByteSpan slice : job.slices) {
    std::memcpy(memory.data() + at, slice.data(), slice.size());
    at += slice.size();
  }
  const Buffer buffer{.layout = layout_of(*job.schedule, elements), .dtype = job.dtype, .data = memory.data()};
  for (std::size_t c = 0; c < job.schedule->channels.size(); ++c) {
    FilteredSteps steps(job.schedule->channels[c], links_.rank);
    run_blocking(steps, static_cast<int>(c), job.op, buffer, transport);
  }
  at = 0;
  for (const ByteSpan slice : job.slices) {
    std::memcpy(slice.data(), memory.data() + at, slice.size());
    at += slice.size();
  }
}

}  // namespace weft

#include "validation/workload/ranks.hpp"

#include "collectives/bench/worlds/processes.hpp"
#include "collectives/transports/tcp.hpp"
#include "collectives/transports/threads.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <thread>

#include <sys/mman.h>

namespace weft {
namespace {

// Numbers that processes started from this one share.
class SharedNumbers {
 public:
  explicit SharedNumbers(std::size_t most) : most_(most), bytes_((most + 1) * sizeof(double)) {
    void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw RunError("no memory for results");
    numbers_ = static_cast<double*>(memory);
  }
  ~SharedNumbers() { ::munmap(numbers_, bytes_); }
  SharedNumbers(const SharedNumbers&) = delete;
  SharedNumbers& operator=(const SharedNumbers&) = delete;

  void write(const std::vector<double>& values) {
    check(values.size() <= most_, "{} results, room for {}", values.size(), most_);
    std::ranges::copy(values, numbers_ + 1);
    numbers_[0] = static_cast<double>(values.size());
  }
  std::vector<double> read() const { return {numbers_ + 1, numbers_ + 1 + static_cast<std::size_t>(numbers_[0])}; }

 private:
  std::size_t most_, bytes_;
  double* numbers_ = nullptr;
};

std::vector<double> run_one(const RanksPlan& plan, Rank rank, const std::vector<std::string>& addresses, const TcpListener& listener,
                            const RankProgram& program) {
  TcpWorld world(rank, addresses, listener,
                 {.channels = plan.channels,
                  .stream_rate = plan.stream_rate,
                  .patience = plan.patience,
                  .meeting = plan.patience,
                  .job = plan.job,
                  .secret = plan.secret});
  try {
    return program({.rank = rank,
                    .ranks = plan.ranks,
                    .at = [&](int channel) -> Transport& { return world.at(channel); },
                    .fail = [&](const std::string& why) { world.fail(why); },
                    .patience = plan.patience,
                    .servers = plan.servers});
  } catch (const std::exception& e) {
    world.fail(e.what());
    throw;
  }
}

}  // namespace

std::vector<double> run_over_mpi(const RanksPlan& plan, MpiModule& mpi, const RankProgram& program) {
  try {
    return program({.rank = mpi.rank(),
                    .ranks = plan.ranks,
                    .at = [&](int channel) -> Transport& { return mpi.at(channel); },
                    .fail = [&](const std::string& why) { mpi.fail(why); },
                    .patience = plan.patience,
                    .servers = plan.servers});
  } catch (const std::exception& e) {
    std::fputs(fmt::format("weft bench: {}\n", e.what()).c_str(), stderr);
    mpi.abort();
    throw;  // it does not return, but g++ does not believe that of virtual functions
  }
}

std::vector<double> run_as_threads(const RanksPlan& plan, const RankProgram& program) {
  ThreadsWorld world(plan.all(), plan.channels, {.patience = plan.patience});
  std::vector<double> values;
  std::vector<std::thread> threads;
  std::exception_ptr first;
  std::mutex mutex;
  for (Rank r = 0; r < plan.all(); ++r)
    threads.emplace_back([&, r] {
      try {
        std::vector<double> own = program({.rank = r,
                                           .ranks = plan.ranks,
                                           .at = [&, r](int channel) -> Transport& { return world.at(r, channel); },
                                           .fail = [&](const std::string& why) { world.fail(why); },
                                           .patience = plan.patience,
                                           .servers = plan.servers});
        if (r == 0) values = std::move(own);
      } catch (const std::exception& e) {
        {
          const std::lock_guard lock(mutex);
          if (!first) first = std::current_exception();
        }
        world.fail(e.what());
      }
    });
  for (std::thread& t : threads) t.join();
  if (const std::string report = world.report(); !report.empty()) throw RunError(report);
  if (first) std::rethrow_exception(first);
  return values;
}

std::vector<double> run_over_tcp(const RanksPlan& plan, std::size_t most, const RankProgram& program) {
  if (plan.rank >= 0) {
    const TcpListener listener(plan.hosts[static_cast<std::size_t>(plan.rank)]);
    return run_one(plan, plan.rank, plan.hosts, listener, program);
  }
  std::vector<TcpListener> listeners;
  std::vector<std::string> addresses, names;
  for (Rank r = 0; r < plan.all(); ++r) {
    addresses.push_back(listeners.emplace_back("127.0.0.1:0").address());
    names.push_back(fmt::format("rank {}", r));
  }
  SharedNumbers values(most);
  const int status = bench::run_processes(names, plan.patience, [&](Rank r) {
    const std::vector<double> own = run_one(plan, r, addresses, listeners[static_cast<std::size_t>(r)], program);
    if (r == 0) values.write(own);
    return 0;
  });
  check(status == 0, "ranks ended with status {} and said nothing", status);
  return values.read();
}

}  // namespace weft

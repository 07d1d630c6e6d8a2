#include "validation/train/run.hpp"

#include "collectives/bench/worlds/processes.hpp"
#include "collectives/transports/tcp.hpp"
#include "collectives/transports/threads.hpp"

#include <cerrno>
#include <cstring>
#include <exception>
#include <thread>
#include <type_traits>

#include <sys/mman.h>
#include <unistd.h>

namespace weft::train {
namespace {

Curve run_threads(const TrainingSettings& settings, const Digits& digits, std::chrono::milliseconds patience) {
  const int ranks = settings.allreduce.ranks;
  ThreadsWorld world(ranks, 1, {.patience = patience});
  Curve curve;
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (Rank r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      try {
        Curve own = train(settings, digits, r, world.at(r));
        if (r == 0) curve = std::move(own);
      } catch (const RunError& e) {
        world.fail(e.what());
      } catch (const std::exception& e) {
        errors[static_cast<std::size_t>(r)] = std::current_exception();
        world.fail(e.what());
      }
    });
  for (std::thread& t : threads) t.join();
  for (const std::exception_ptr& e : errors)
    if (e) std::rethrow_exception(e);
  if (const std::string report = world.report(); !report.empty()) throw RunError(report);
  return curve;
}

// A file without a name, in memory, that processes started from this one share.
class SharedFile {
 public:
  SharedFile() : descriptor_(::memfd_create("weft_train", MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw RunError(fmt::format("cannot make a file in memory: {}", std::strerror(errno)));
  }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  ~SharedFile() { ::close(descriptor_); }

  void write(const Curve& curve) const {
    const auto bytes = static_cast<ssize_t>(curve.size() * sizeof(Epoch));
    if (::pwrite(descriptor_, curve.data(), static_cast<std::size_t>(bytes), 0) != bytes)
      throw RunError(fmt::format("cannot hand over the results: {}", std::strerror(errno)));
  }
  Curve read(int epochs) const {
    static_assert(std::is_trivially_copyable_v<Epoch>);
    Curve curve(static_cast<std::size_t>(epochs));
    const auto bytes = static_cast<ssize_t>(curve.size() * sizeof(Epoch));
    if (::pread(descriptor_, curve.data(), static_cast<std::size_t>(bytes), 0) != bytes) throw RunError("rank 0 ended without results");
    return curve;
  }

 private:
  int descriptor_;
};

Curve run_tcp(const TrainingSettings& settings, const Digits& digits, std::chrono::milliseconds patience) {
  std::vector<TcpListener> listeners;
  std::vector<std::string> addresses, names;
  for (Rank r = 0; r < settings.allreduce.ranks; ++r) {
    addresses.push_back(listeners.emplace_back("127.0.0.1:0").address());
    names.push_back(fmt::format("rank {}", r));
  }
  const SharedFile results;
  const int status = bench::run_processes(names, patience, [&](Rank r) {
    TcpWorld world(r, addresses, listeners[static_cast<std::size_t>(r)], {.patience = patience, .meeting = patience, .job = "train"});
    try {
      const Curve curve = train(settings, digits, r, world.at());
      if (r == 0) results.write(curve);
    } catch (const std::exception& e) {
      world.fail(e.what());
      throw;
    }
    return 0;
  });
  check(status == 0, "ranks ended with status {} and said nothing", status);
  return results.read(settings.epochs);
}

}  // namespace

std::string_view name_of(Medium medium) { return medium == Medium::tcp ? "tcp" : "threads"; }

Curve run(const TrainingSettings& settings, const Digits& digits, Medium medium, std::chrono::milliseconds patience) {
  return medium == Medium::tcp ? run_tcp(settings, digits, patience) : run_threads(settings, digits, patience);
}

}  // namespace weft::train

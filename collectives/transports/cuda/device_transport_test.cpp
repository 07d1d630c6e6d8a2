// Device memory over TCP, where a host plays the device: a process for each rank, whose device memory the host may not touch.
#include "collectives/transports/cuda/device_transport.hpp"

#include "collectives/executors/reference.hpp"
#include "collectives/registry/registry.hpp"
#include "collectives/transports/conformance.hpp"
#include "collectives/transports/faulty.hpp"
#include "collectives/transports/tcp.hpp"

#include <array>
#include <cstdlib>

#include <sys/wait.h>
#include <unistd.h>

using namespace weft;

namespace {

// Results are looked at where a rank has them, so reductions are over when they have been asked for.
class Finishing final : public Transport {
 public:
  explicit Finishing(cuda::DeviceTransport& inner) : inner_(inner) {}
  void receive(Rank from, Tag tag, ByteSpan into) override { inner_.receive(from, tag, into); }
  bool receive_reduce(Rank from, Tag tag, DType dtype, ReduceOp op, ByteSpan into) override {
    return inner_.receive_reduce(from, tag, dtype, op, into);
  }
  void send(Rank to, Tag tag, ByteView bytes) override { inner_.send(to, tag, bytes); }
  void wait() override { inner_.wait(); }
  void reduce(DType dtype, ReduceOp op, ByteSpan into, ByteView from) override {
    inner_.reduce(dtype, op, into, from);
    inner_.finish();
  }

 private:
  cuda::DeviceTransport& inner_;
};

// What each of these ranks, a process each, threw: "" for nothing; how it ended, if not by itself.
std::vector<std::string> in_processes(int ranks, const std::function<void(Rank)>& run) {
  std::vector<std::pair<pid_t, int>> children;
  for (Rank r = 0; r < ranks; ++r) {
    std::array<int, 2> pipe{};
    REQUIRE(::pipe(pipe.data()) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      std::string said;
      try {
        run(r);
      } catch (const std::exception& e) {
        said = e.what();
      }
      ::_exit(::write(pipe[1], said.data(), said.size()) == static_cast<ssize_t>(said.size()) ? 0 : 1);
    }
    ::close(pipe[1]);
    children.emplace_back(child, pipe[0]);
  }
  std::vector<std::string> said;
  for (const auto& [child, end] : children) {
    std::array<char, 4096> some{};
    std::string& text = said.emplace_back();
    for (ssize_t got; (got = ::read(end, some.data(), some.size())) > 0;) text.append(some.data(), static_cast<std::size_t>(got));
    ::close(end);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) text = fmt::format("ended by {}", status);
  }
  return said;
}

class Ranks {
 public:
  Ranks(int ranks, conformance::Patience patience) : patience_(patience) {
    for (Rank r = 0; r < ranks; ++r) {
      listeners_.emplace_back("127.0.0.1:0");
      addresses_.push_back(listeners_.back().address());
    }
  }

  // `use(rank, transport of the device)`; messages come late and out of order.
  std::vector<std::string> with_devices(const std::function<void(Rank, cuda::DeviceTransport&)>& use) const {
    return in_processes(static_cast<int>(addresses_.size()), [&](Rank r) {
      TcpWorld world(r, addresses_, listeners_[static_cast<std::size_t>(r)], {.patience = patience_});
      FaultyTransport faulty(world.at(),
                             {.seed = static_cast<std::uint64_t>(r), .longest_delay = std::chrono::microseconds{100}, .reorder = true});
      try {
        cuda::DeviceTransport transport(faulty, {.device = r % cuda::device_count(), .piece_bytes = 65'536});
        use(r, transport);
      } catch (const std::exception& e) {
        world.fail(e.what());
        throw;
      }
    });
  }
  std::vector<std::string> run(const conformance::Body& body) const {
    return with_devices([&](Rank r, cuda::DeviceTransport& transport) {
      Finishing finishing(transport);
      body(r, finishing);
    });
  }

 private:
  conformance::Patience patience_;
  std::vector<TcpListener> listeners_;
  std::vector<std::string> addresses_;
};

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

// A collective on memory of the device; throws what is wrong with its result.
void run_on_device(const Schedule& s, std::int64_t elements, Rank rank, cuda::DeviceTransport& transport) {
  std::vector<std::byte> host(buffer_bytes(s, elements, DType::int32));
  const Buffer on_host{{.elements = elements, .chunks = s.chunks}, DType::int32, host.data()};
  fill(s, ReduceOp::sum, {}, rank, on_host);
  const cuda::DeviceMemory memory(host.size());
  cuda::copy(memory.data(), host.data(), host.size());
  cuda::synchronise();
  FilteredSteps steps(s.channels.front(), rank);
  run_blocking(steps, 0, ReduceOp::sum, {on_host.layout, on_host.dtype, memory.as<std::byte>()}, transport);
  transport.finish();
  cuda::copy(host.data(), memory.data(), host.size());
  cuda::synchronise();
  const RankResult result{rank, on_host};
  conformance::expect(verify(s, ReduceOp::sum, {}, std::span(&result, 1)).wrong == 0,
                      verify(s, ReduceOp::sum, {}, std::span(&result, 1)).first_wrong);
}

}  // namespace

TEST_CASE("conformance: device memory over tcp, staged") { conformance::carries_messages<Ranks>(); }
TEST_CASE("conformance: device memory over tcp ends in time") { conformance::ends_in_time<Ranks>(); }

TEST_CASE("device memory over tcp: schedules leave the right data, and the host never touches it") {
  const Variable guard("WEFT_FAKE_GUARD", "1");
  for (const char* algorithm : {"ring", "recursive_doubling", "halving_doubling", "direct"})
    for (const std::int64_t elements : {0, 5, 100'003}) {
      CAPTURE(algorithm);
      CAPTURE(elements);
      const Schedule s = build({.algorithm = algorithm, .ranks = 4});
      Ranks ranks(4, conformance::enough);
      for (const std::string& said :
           ranks.with_devices([&](Rank r, cuda::DeviceTransport&transport) { run_on_device(s, elements, r, transport); }))
        CHECK(said == "");
    }
}

TEST_CASE("device memory over tcp: without page-locked memory the run ends, on all ranks") {
  const Schedule s = build({.algorithm = "ring", .ranks = 2});
  Ranks ranks(2, conformance::enough);
  const auto said = ranks.with_devices([&](Rank r, cuda::DeviceTransport& transport) {
    if (r == 1) setenv("WEFT_FAKE_PINNED", "0", 1);
    run_on_device(s, 1000, r, transport);
  });
  for (const std::string& e : said) CHECK(e == "cuda: cudaHostAlloc: an error of the fake runtime (fake)");
}

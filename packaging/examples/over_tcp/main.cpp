// Runs the schedule of an algorithm over TCP, on real memory, and checks the sums.
//   over_tcp ALGORITHM RANKS                       all ranks here, a thread each
//   over_tcp ALGORITHM RANK HOST:PORT HOST:PORT... this process is one of the ranks; every rank is given the same list
#include <cstdio>
#include <cstdlib>
#include <future>
#include <string>
#include <vector>

#include <weft/collectives.hpp>

using namespace weft;

namespace {

constexpr std::int64_t elements = 1 << 20;

// What rank `rank` of an all-reduce does. False where a sum is wrong.
bool take_part(const std::string& algorithm, Rank rank, const std::vector<std::string>& addresses, const TcpListener& listener) {
  const int ranks = static_cast<int>(addresses.size());
  const Schedule schedule = build(Request{.collective = Collective::allreduce, .algorithm = algorithm, .ranks = ranks});
  std::vector<float> values(buffer_bytes(schedule, elements, DType::float32) / sizeof(float), static_cast<float>(rank + 1));
  const Buffer buffer{.layout = {.elements = elements, .chunks = schedule.chunks},
                      .dtype = DType::float32,
                      .data = reinterpret_cast<std::byte*>(values.data())};

  TcpWorld world(rank, addresses, listener, {.job = "example " + algorithm});
  FilteredSteps steps(schedule.channels.front(), rank);
  run_blocking(steps, 0, ReduceOp::sum, buffer, world.at());

  for (std::int64_t i = 0; i < elements; ++i)
    if (values[static_cast<std::size_t>(i)] != static_cast<float>(ranks * (ranks + 1) / 2)) return false;
  return true;
}

bool all_here(const std::string& algorithm, int ranks) {
  std::vector<TcpListener> listeners;
  std::vector<std::string> addresses;
  for (Rank r = 0; r < ranks; ++r) {
    listeners.emplace_back("127.0.0.1:0");
    addresses.push_back(listeners.back().address());
  }
  std::vector<std::future<bool>> done;
  for (Rank r = 0; r < ranks; ++r)
    done.push_back(
        std::async(std::launch::async, [&, r] { return take_part(algorithm, r, addresses, listeners[static_cast<std::size_t>(r)]); }));
  bool right = true;
  for (std::future<bool>& one : done) right &= one.get();
  return right;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) {
    std::fprintf(stderr, "over_tcp ALGORITHM RANKS | ALGORITHM RANK HOST:PORT HOST:PORT...\n");
    return 2;
  }
  const std::vector<std::string> addresses(argv + 3, argv + argc);
  const int number = std::atoi(argv[2]);
  const bool right = addresses.empty() ? all_here(argv[1], number)
                                       : take_part(argv[1], number, addresses, TcpListener(addresses.at(static_cast<std::size_t>(number))));
  std::printf("%s of %lld floats over TCP: %s\n", argv[1], static_cast<long long>(elements), right ? "right" : "WRONG");
  return right ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

// What it costs to produce and to prove schedules of 1024 ranks, and to prove large ones. `items_per_second` are transfers.
#include "collectives/registry/registry.hpp"
#include "collectives/schedule/verify.hpp"

#include <utility>

#include <benchmark/benchmark.h>

using namespace weft;

namespace {

Request request(const Algorithm& a) {
  Request q{.collective = a.collective, .algorithm = std::string(a.name), .ranks = 1024};
  if (a.takes_group) q.settings.group = 8;
  if (a.name == "hdrm") q.bigraph = BiGraphShape{.switches = 64, .nodes_per_switch = 16};
  return q;
}

void produce_all_steps(benchmark::State& state, const Request& q) {
  const Schedule s = build(q);
  Step step;
  std::int64_t transfers = 0;
  for (auto _ : state)
    for (const Steps& channel : s.channels)
      for (int k = 0; k < channel.count(); ++k) {
        channel.produce(k, step);
        transfers += static_cast<std::int64_t>(step.transfers().size());
      }
  state.SetItemsProcessed(transfers);
}

void prove(benchmark::State& state, const Request& q) {
  const Schedule s = build(q);
  for (auto _ : state)
    if (!verify(s).empty()) state.SkipWithError("the schedule is wrong");
}

}  // namespace

int main(int argc, char** argv) {
  for (const Algorithm& a : algorithms()) {
    const Request q = request(a);
    const std::string name = fmt::format("{}/{}", name_of(a.collective), a.name);
    benchmark::RegisterBenchmark(("produce/" + name).c_str(), produce_all_steps, q)->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("verify/" + name).c_str(), prove, q)->Unit(benchmark::kMillisecond);
  }
  for (const auto& [algorithm, ranks] : {std::pair{"ring", 4096}, {"halving_doubling", 65536}, {"double_binary_tree", 65536}})
    benchmark::RegisterBenchmark(fmt::format("verify/allreduce/{}/{} ranks", algorithm, ranks).c_str(), prove,
                                 Request{.algorithm = algorithm, .ranks = ranks})
        ->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}

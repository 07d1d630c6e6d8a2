#include "sim/training/training_driver.hpp"

#include "collectives/engines/push_pull.hpp"
#include "collectives/registry/registry.hpp"
#include "models/fabric/fabric_spec.hpp"
#include "sim/flow/flow_network.hpp"
#include "sim/flow/fluid.hpp"
#include "sim/flow/goodput.hpp"
#include "sim/packet/packet_network.hpp"

#include <numeric>

#include <doctest/doctest.h>

using namespace weft;

namespace {

// Four layers of 8 MiB: 1 ms forward each, 2 ms backward, and 1 ms for the optimizer.
const TrainingStep four_layers{.forward = 4_ms,
                               .optimizer = 1_ms,
                               .backward = {{2_ms, {3}}, {2_ms, {2}}, {2_ms, {1}}, {2_ms, {0}}},
                               .gradients = {8_MiB, 8_MiB, 8_MiB, 8_MiB}};
constexpr SimTime compute_alone = 13_ms;

struct Ran {
  SimTime finish, first, computed;
  std::int64_t messages = 0;
  Waits waits = {};
  friend bool operator==(const Ran&, const Ran&) = default;
};

enum class On { flow, packet };

struct Question {
  EngineSettings engine = NoneSettings{};
  int ranks = 4;
  TrainingStep step = four_layers;
  BitsPerSecond bandwidth = 100_Gbps;
  HardwareProfile hardware = {};
  int iterations = 1;
  std::vector<SimTime> start = {};
  bool forward_by_layer = false, merged = false;
  std::function<double(Rank, int)> slowdown = {};

  // Parameter servers, on machines of one GPU: beside the workers, or one for each behind them.
  std::vector<PlacedServer> servers() const {
    const BytepsSettings* byteps = std::get_if<BytepsSettings>(&engine);
    std::vector<PlacedServer> out;
    for (int s = 0; byteps && s < byteps_servers(*byteps, {.ranks = ranks, .machines = ranks}); ++s)
      out.push_back({.endpoint = byteps->server_hosts == ServerHosts::extra ? ranks + s : s, .name = ranks + s});
    return out;
  }
  std::vector<int> placement() const {
    std::vector<int> out(static_cast<std::size_t>(ranks));
    std::iota(out.begin(), out.end(), 0);
    return out;
  }
  FabricSpec spec() const { return Star{.nodes = std::max(2, 2 * ranks), .host_link = {bandwidth, 500_ns}}; }

  template <class Network, class... Args>
  Ran run(const Fabric& fabric, Args&&... args) const {
    Routes routes(fabric, {});
    SharedNetwork<Network> network(std::forward<Args>(args)...);
    const Schedule schedule = build(Request{.ranks = ranks}), push = push_pull(placement());
    const MergedSchedule together = merge_steps(schedule, 4);
    const std::vector<int> places = placement();
    std::vector<std::int64_t> nic_free_at(static_cast<std::size_t>(fabric.links()));
    TrainingDriver<Network> driver({.step = step,
                                    .engine = engine,
                                    .schedule = merged ? together.schedule : schedule,
                                    .stands_for = merged ? std::span(together.stands_for) : std::span<const std::vector<StandsFor>>{},
                                    .push_pull = &push,
                                    .servers = servers(),
                                    .machines = ranks,
                                    .placement = places,
                                    .hardware = hardware,
                                    .start = start,
                                    .iterations = iterations,
                                    .forward_by_layer = forward_by_layer,
                                    .slowdown = slowdown},
                                   routes, network, nic_free_at);
    run_to_end(network, Around::nothing);
    const std::vector<Iteration> steps = driver.iterations();
    return {steps.back().end, steps.front().end, driver.computed(), driver.result().messages, driver.waits()};
  }
  Ran on(On where) const {
    const auto fabric = build(spec());
    const auto rates = goodput_of_links(*fabric, hardware);
    return where == On::flow ? run<FluidNetwork>(*fabric, rates) : run<PacketNetwork>(*fabric, *fabric, rates, PacketSettings{});
  }

  // The all-reduce of all gradients, by itself.
  SimTime all_reduce() const {
    const auto fabric = build(spec());
    Routes routes(*fabric, {});
    const Schedule schedule = build(Request{.ranks = ranks});
    const std::vector<int> places = placement();
    return run_flow_bare(
               {.schedule = schedule, .placement = places, .elements = step.size().count / 4, .element_bytes = 4, .hardware = hardware},
               *fabric, routes)
        .finish;
  }
};

constexpr On networks[] = {On::flow, On::packet};
const EngineSettings all_engines[] = {NoneSettings{}, DdpSettings{}, HorovodSettings{}, AiaccSettings{}, BytepsSettings{}};

}  // namespace

TEST_CASE("training: without overlap a step is compute and one all-reduce, to the picosecond") {
  const HardwareProfile costly{.send_overhead = 2_us, .receive_overhead = 1_us, .reduce_launch = 3_us};
  for (const HardwareProfile& hardware : {HardwareProfile{}, costly}) {
    const Question none{.hardware = hardware};
    CHECK(none.on(On::flow).finish == compute_alone + none.all_reduce());
    // One bucket that only the last gradient fills.
    const Question one_bucket{.engine = DdpSettings{.bucket = 1_GiB, .first_bucket = 1_GiB}, .hardware = hardware};
    CHECK(one_bucket.on(On::flow).finish == none.on(On::flow).finish);
    // Nobody waits but for the sum, so steps follow one another.
    const Question three{.hardware = hardware, .iterations = 3};
    CHECK(three.on(On::flow).finish == 3 * none.on(On::flow).finish);
    CHECK(three.on(On::flow).computed == compute_alone);
  }
}

TEST_CASE("training: buckets hide what they can, and no more") {
  for (const BitsPerSecond bandwidth : {10_Gbps, 40_Gbps, 400_Gbps}) {
    CAPTURE(to_string(bandwidth));
    const Question none{.bandwidth = bandwidth};
    const Question ddp{.engine = DdpSettings{.bucket = 8_MiB, .first_bucket = 1_MiB}, .bandwidth = bandwidth};
    const SimTime finish = ddp.on(On::flow).finish, alone = none.all_reduce();
    CHECK(finish < none.on(On::flow).finish);
    CHECK(finish >= std::max(compute_alone, alone));
    // The last bucket has nothing to hide behind: a quarter of the bytes, and the optimizer afterwards.
    Question quarter = none;
    quarter.step.gradients = {8_MiB};
    CHECK(finish >= compute_alone + quarter.all_reduce());
    if (bandwidth == 400_Gbps) CHECK(finish == compute_alone + quarter.all_reduce());
  }
}

TEST_CASE("training: every engine comes to its end on both networks, with the bytes of all gradients on the wire, and again alike") {
  for (const EngineSettings& engine : all_engines)
    for (const On network : networks) {
      CAPTURE(name_of(engine));
      CAPTURE(static_cast<int>(network));
      const Question q{.engine = engine, .iterations = 3};
      const Ran ran = q.on(network);
      CHECK(ran.finish > 3 * compute_alone);
      CHECK(ran.finish < 3 * (compute_alone + 4 * q.all_reduce()));
      CHECK(ran == q.on(network));
    }
}

TEST_CASE("training: one GPU by itself takes as long as it computes, whatever the engine, but for the cycles of Horovod") {
  for (const EngineSettings& engine : {EngineSettings{NoneSettings{}}, EngineSettings{DdpSettings{}}, EngineSettings{AiaccSettings{}}}) {
    CAPTURE(name_of(engine));
    CHECK(Question{.engine = engine, .ranks = 1, .iterations = 2}.on(On::flow).finish == 2 * compute_alone);
  }
  const SimTime horovod = Question{.engine = HorovodSettings{}, .ranks = 1}.on(On::flow).finish;
  CHECK(horovod >= compute_alone);
  CHECK(horovod <= compute_alone + HorovodSettings{}.cycle_time);
}

TEST_CASE("training: more bandwidth never slows a step down, and longer layers hide more") {
  for (const EngineSettings& engine : all_engines) {
    CAPTURE(name_of(engine));
    SimTime before = SimTime::never();
    for (const BitsPerSecond bandwidth : {5_Gbps, 10_Gbps, 20_Gbps, 40_Gbps, 80_Gbps}) {
      const SimTime finish = Question{.engine = engine, .bandwidth = bandwidth}.on(On::flow).finish;
      CHECK(finish <= before);
      before = finish;
    }
    TrainingStep longer = four_layers;
    longer.forward = 2 * longer.forward;
    for (TrainingStep::Backward& layer : longer.backward) layer.duration = 2 * layer.duration;
    const Ran small = Question{.engine = engine, .bandwidth = 20_Gbps}.on(On::flow);
    const Ran large = Question{.engine = engine, .step = longer, .bandwidth = 20_Gbps}.on(On::flow);
    CHECK(large.finish > small.finish);
    CHECK(large.finish - large.computed <= small.finish - small.computed);
  }
}

TEST_CASE("training: an active stream takes its share of the backward pass") {
  const EngineSettings free_of_charge = AiaccSettings{.granularity = 8_MiB, .streams = 4, .compute_share = 0};
  const EngineSettings costly = AiaccSettings{.granularity = 8_MiB, .streams = 4, .compute_share = 0.1};
  CHECK(Question{.engine = free_of_charge, .bandwidth = 10_Gbps}.on(On::flow).computed == compute_alone);
  CHECK(Question{.engine = costly, .bandwidth = 10_Gbps}.on(On::flow).computed > compute_alone);
}

TEST_CASE("training: control messages cross the network and pay their overheads") {
  const HardwareProfile costly{.send_overhead = 50_us, .receive_overhead = 50_us};
  TrainingStep tiny = four_layers;
  tiny.gradients = {4_KiB, 4_KiB, 4_KiB, 4_KiB};
  // One all-reduce of four ranks has 24 messages; what is more is the engine's.
  const Ran none = Question{.step = tiny, .hardware = costly}.on(On::flow);
  CHECK(none.messages == 24);
  const Ran horovod = Question{.engine = HorovodSettings{}, .step = tiny, .hardware = costly}.on(On::flow);
  CHECK(horovod.messages > none.messages);
  const EngineSettings slow = AiaccSettings{.granularity = 1_MiB};
  const Ran with = Question{.engine = slow, .step = tiny, .hardware = costly}.on(On::flow);
  CHECK(with.finish > none.finish);  // a ring over the bits first
}

TEST_CASE("training: a rank that starts late is waited for in the sum, not in the forward pass") {
  const Question late{.iterations = 2, .start = {0_us, 0_us, 0_us, 5_ms}};
  CHECK(late.on(On::flow).finish > Question{.iterations = 2}.on(On::flow).finish);
  CHECK(late.on(On::flow).finish <= Question{.iterations = 2}.on(On::flow).finish + 5_ms);
}

TEST_CASE("training: with layers waiting for their own gradients, forward hides what is behind them, and nothing is lost") {
  TrainingStep by_layer = four_layers;
  for (int g = 0; g < 4; ++g) by_layer.layers.push_back({.duration = 1_ms, .update = 250_us, .gradients = {g}});
  const EngineSettings buckets = DdpSettings{.bucket = 8_MiB, .first_bucket = 8_MiB};
  for (const BitsPerSecond bandwidth : {10_Gbps, 40_Gbps, 400_Gbps}) {
    CAPTURE(to_string(bandwidth));
    const Question plain{.engine = buckets, .step = by_layer, .bandwidth = bandwidth, .iterations = 3};
    Question layered = plain;
    layered.forward_by_layer = true;
    CHECK(layered.on(On::flow).finish <= plain.on(On::flow).finish);
    CHECK(layered.on(On::flow).computed == compute_alone);
  }
  // One GPU reduces nothing: three whole steps.
  CHECK(Question{.engine = buckets, .ranks = 1, .step = by_layer, .iterations = 3, .forward_by_layer = true}.on(On::flow).finish ==
        3 * compute_alone);
  // DDP brings the first layer last, so the step ends no earlier; BytePS sends it first.
  const Question priority{
      .engine = BytepsSettings{.partition = 1_MiB}, .step = by_layer, .bandwidth = 10_Gbps, .iterations = 3, .forward_by_layer = true};
  Question all = priority;
  all.forward_by_layer = false;
  CHECK(priority.on(On::flow).finish < all.on(On::flow).finish);
}

TEST_CASE("training: one partition through one parameter server is a push of all, a pull of all, and nothing else") {
  // 8 MiB from each of 4 workers into the server's 100 Gb/s, and back: 2 x (4 x 8 MiB / 100 Gb/s + two links of 500 ns).
  TrainingStep one = four_layers;
  one.backward = {{8_ms, {0}}};
  one.gradients = {8_MiB};
  const Question q{.engine = BytepsSettings{.partition = 8_MiB, .servers = 1, .server_hosts = ServerHosts::extra}, .step = one};
  CHECK(q.on(On::flow).finish == compute_alone + 2 * (32_MiB / 100_Gbps + 1_us));
  CHECK(q.on(On::flow).messages == 8);
  // On a worker's machine its own share stays there: three quarters.
  const Question beside{.engine = BytepsSettings{.partition = 8_MiB, .servers = 1}, .step = one};
  CHECK(beside.on(On::flow).finish == compute_alone + 2 * (24_MiB / 100_Gbps + 1_us));
}

TEST_CASE("training: hosts of their own for parameter servers take load from the workers' links") {
  for (const On network : networks) {
    const Question workers{.engine = BytepsSettings{.partition = 1_MiB}, .bandwidth = 10_Gbps};
    const Question extra{.engine = BytepsSettings{.partition = 1_MiB, .server_hosts = ServerHosts::extra}, .bandwidth = 10_Gbps};
    CHECK(extra.on(network).finish < workers.on(network).finish);
  }
}

TEST_CASE("training: what a rank waits for adds up to what it does not compute") {
  for (const EngineSettings& engine : all_engines) {
    CAPTURE(name_of(engine));
    const Ran ran = Question{.engine = engine, .bandwidth = 10_Gbps, .iterations = 2}.on(On::flow);
    // All ranks are alike, so they begin and end together, and nobody waits for another's compute. Only parameter servers have more or
    // less to do: those that are done first wait at the end.
    const double rest = (ran.finish - 2 * (ran.computed + ran.waits.sum())).seconds() / ran.finish.seconds();
    CHECK(rest > -1e-3);
    CHECK(rest < (std::holds_alternative<BytepsSettings>(engine) ? 0.02 : 1e-3));
    CHECK(ran.waits.communication > SimTime{});
  }
  const Ran horovod = Question{.engine = HorovodSettings{.cycle_time = 5_ms}}.on(On::flow);
  CHECK(horovod.waits.negotiation > SimTime{});
  CHECK(Question{}.on(On::flow).waits.negotiation == SimTime{});
  // One rank computes twice as long: the three others wait for it as long as it does, which is three quarters of that on average.
  Question straggler{};
  straggler.slowdown = [](Rank r, int) { return r == 3 ? 2.0 : 1.0; };
  CHECK(straggler.on(On::flow).waits.stragglers >= SimTime{3 * 12'000'000'000 / 4});
  CHECK(straggler.on(On::flow).finish == Question{}.on(On::flow).finish + compute_alone);
}

TEST_CASE("training: steps of a ring put together take the time of the ring where all ranks are alike") {
  const HardwareProfile costly{.send_overhead = 2_us, .receive_overhead = 3_us, .reduce_launch = 1_us};
  for (const int ranks : {4, 16, 33}) {
    Question exact{.ranks = ranks, .hardware = costly};
    Question merged = exact;
    merged.merged = true;
    const double a = exact.on(On::flow).finish.seconds(), b = merged.on(On::flow).finish.seconds();
    CAPTURE(ranks);
    CHECK(b == doctest::Approx(a).epsilon(1e-4));
    CHECK(merged.on(On::flow).messages == exact.on(On::flow).messages);
    exact.engine = merged.engine = AiaccSettings{.granularity = 2_MiB, .streams = 4};
    exact.bandwidth = merged.bandwidth = 10_Gbps;
    CHECK(merged.on(On::flow).finish.seconds() == doctest::Approx(exact.on(On::flow).finish.seconds()).epsilon(0.03));
  }
}

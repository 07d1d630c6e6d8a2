// What one connection carries, and what messages between servers cost on their way through host memory.
#include "models/fabric/fabric_spec.hpp"
#include "sim/executor/program_driver.hpp"
#include "sim/flow/fluid.hpp"
#include "sim/flow/goodput.hpp"
#include "sim/packet/packet_network.hpp"

#include <doctest/doctest.h>

using namespace weft;

namespace {

enum class On { flow, packet };
constexpr On networks[] = {On::flow, On::packet};

// Messages of one size from endpoint 0 to endpoint 1 of a star of 30 Gb/s, as many on each stream, one behind the other.
struct Question {
  int streams = 1, on_each = 1;
  Bytes size = 10_MB;
  HardwareProfile hardware = {};
  SimTime latency = 1_us;  // of each of two links

  Program program() const {
    auto message = std::make_shared<Schedule>(Schedule{.name = "message", .collective = Collective::broadcast, .ranks = 2});
    message->add_step().copy({.from = 0, .to = 1, .chunk = 0});
    Program out{.ranks = 2};
    out.operations.resize(1);
    for (int i = 0; i < streams * on_each; ++i) {
      const int call = out.add_call({.name = "message", .schedule = message, .elements = size.count});
      out.operations.front().push_back({.id = std::to_string(i), .call = call, .stream = i % streams});
    }
    return out;
  }

  template <class Network, class... Args>
  SimTime run(const Fabric& fabric, Args&&... args) const {
    Routes routes(fabric, {});
    SharedNetwork<Network> network(std::forward<Args>(args)...);
    const Program all = program();
    const std::vector<int> places = {0, 1};
    ProgramDriver<Network> driver({.program = all, .placement = places, .hardware = hardware}, routes, network);
    run_to_end(network, Around::nothing);
    return driver.iterations().back().end;
  }
  SimTime on(On where) const {
    const auto fabric = build(FabricSpec{Star{.nodes = 2, .host_link = {30_Gbps, latency}}});
    const auto rates = goodput_of_links(*fabric, hardware);
    if (where == On::flow) return run<FluidNetwork>(*fabric, rates);
    return run<PacketNetwork>(*fabric, *fabric, rates, PacketSettings{});
  }
};

const HardwareProfile tcp{.stream_rate = 10_Gbps};

}  // namespace

TEST_CASE("connections: one flow cannot fill the link, three can, and further ones share it") {
  // 10 MB / 10 Gb/s = 8 ms, and two links of 1 us.
  CHECK(Question{.hardware = tcp}.on(On::flow) == 8_ms + 2_us);
  CHECK(Question{.streams = 2, .hardware = tcp}.on(On::flow) == 8_ms + 2_us);
  CHECK(Question{.streams = 3, .hardware = tcp}.on(On::flow) == 8_ms + 2_us);
  // Six times 80 Mb over 30 Gb/s: 16 ms, although each could have 10 Gb/s.
  CHECK(Question{.streams = 6, .hardware = tcp}.on(On::flow) == 16_ms + 2_us);
  // Without a rate of its own the one flow has the link: 80 Mb / 30 Gb/s.
  CHECK(Question{}.on(On::flow) == 10_MB / 30_Gbps + 2_us);
}

TEST_CASE("connections: messages of one connection share its rate, whether side by side or one behind the other") {
  CHECK(Question{.on_each = 3, .hardware = tcp}.on(On::flow) == 3 * (8_ms + 2_us));
  FluidNetwork network({30_Gbps});
  const std::vector<Hop> hops = {{.link = 0}};
  const auto capped = network.add_route(hops, 0_us, {}, 10_Gbps), other = network.add_route(hops, 0_us, {}, 10_Gbps);
  std::vector<SimTime> ends(3);
  for (const std::uint32_t token : {0u, 1u}) network.start(capped, 10'000'000, 0_us, token);
  network.start(other, 10'000'000, 0_us, 2);
  while (network.next_date() != SimTime::never()) network.advance([&](std::uint32_t token) { ends[token] = network.now(); });
  CHECK(ends == std::vector{16_ms, 16_ms, 8_ms});
}

TEST_CASE("connections: the packet network agrees, by a window and the spacing of packets") {
  for (const int streams : {1, 2, 3, 6})
    for (const SimTime latency : {1_us, 50_us, 500_us}) {
      CAPTURE(streams);
      CAPTURE(to_string(latency));
      const Question q{.streams = streams, .hardware = tcp, .latency = latency};
      const double flow = q.on(On::flow).seconds(), packet = q.on(On::packet).seconds();
      CHECK(packet == doctest::Approx(flow).epsilon(0.01));
    }
  for (const On network : networks)
    CHECK(Question{.streams = 3, .hardware = tcp}.on(network) < Question{.on_each = 3, .hardware = tcp}.on(network));
}

TEST_CASE("connections: a message between servers goes through host memory, and streams overlap their copies with the wire") {
  const HardwareProfile staged{.staging_rate = 100_Gbps};
  const SimTime copy = 10_MB / 100_Gbps, wire = 10_MB / 30_Gbps + 2_us;
  for (const On network : networks) {
    CAPTURE(static_cast<int>(network));
    const SimTime bare = Question{}.on(network);
    CHECK(Question{.hardware = staged}.on(network) == copy + bare + copy);
    // The sender goes on when its message has arrived: its next copy goes out while the receiver's comes in.
    CHECK(Question{.on_each = 2, .hardware = staged}.on(network) == 2 * (copy + bare) + copy);
  }
  // Two streams: the second copy out ends while the first message is on the wire, whose rest the two share. Both have arrived at
  // copy + 2 wires, but for the latency that they have in common; the first one arrives 2 x copy earlier, so that copies in do not meet.
  CHECK(Question{.streams = 2, .hardware = staged}.on(On::flow) == copy + 2 * wire - 2_us + copy);
  // A copy engine that is slower than the wire decides: copies out one behind the other.
  const HardwareProfile slow{.staging_rate = 10_Gbps};
  CHECK(Question{.streams = 3, .hardware = slow}.on(On::flow) == 3 * 8_ms + wire + 8_ms);
}

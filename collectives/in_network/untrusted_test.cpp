// Agents on a network that is not trusted: whatever a header says, it is dropped and counted or does no more than a lost or
// doubled datagram would. Under the sanitizers this finds what reaches beyond a table.
#include "collectives/in_network/atp_server.hpp"
#include "collectives/in_network/atp_switch.hpp"
#include "collectives/in_network/atp_worker.hpp"
#include "collectives/in_network/switchml.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include <doctest/doctest.h>

namespace weft {
namespace {

constexpr int values = 4;
constexpr Address server_address = 100, group = 101, own_switch = 102;

class Sink final : public Wire {
 public:
  explicit Sink(PayloadPool& pool) : pool_(pool) {}
  std::int64_t sent = 0;

 private:
  std::int64_t now_ps() const override { return 0; }
  void send(Datagram) override { ++sent; }
  void set_timer(std::int64_t, std::uint64_t) override {}
  Payload new_payload() override { return pool_.take(); }
  PayloadPool& pool_;
};

// A header that is all noise, or `good` with one byte or a few changed: the latter get further.
template <class H>
Header disturbed(std::mt19937_64& random, const H& good) {
  Header h;
  h.set(good);
  if (random() % 4 == 0) {
    for (std::byte& b : h.bytes()) b = static_cast<std::byte>(random());
  } else {
    for (std::uint64_t i = 0; i <= random() % 3; ++i)
      h.bytes()[random() % sizeof(H)] = random() % 2 ? static_cast<std::byte>(random()) : static_cast<std::byte>(random() % 4);
  }
  return h;
}

Datagram noise(PayloadPool& pool, std::mt19937_64& random, const Header& header, Address to) {
  Datagram d{.from = static_cast<Address>(random() % 8), .to = to, .wire_bytes = 306, .congested = random() % 2 == 0};
  d.header = header;
  d.payload = pool.take();
  for (std::int32_t& v : d.payload.mutable_values()) v = static_cast<std::int32_t>(random());
  return d;
}

const AtpSettings four_values{.payload = Bytes{4 * values}, .aggregators = 8, .initial_window = 4, .largest_window = 8};

}  // namespace

TEST_CASE("untrusted: no header makes ATP's agents reach beyond what they have") {
  PayloadPool pool(values);
  const std::vector<int> workers_at = {0, 0, 0, 1, 1, 2};  // switch 2 aggregates nothing
  const AtpTree tree = plan_atp_tree(workers_at, 3, std::vector{0, 1, 3});
  constexpr std::uint32_t packets = 40;
  AtpSwitch program(four_values, {atp_walk(four_values, {}), atp_walk(four_values, {.job = 1})}, {server_address});
  AtpServer at_server(four_values, tree, {server_address, group, 1, packets});
  AtpWorker worker(four_values, {0, server_address, 1, tree.members[0], packets});
  Sink wire(pool);
  worker.start(wire);
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    const AtpMember& m = tree.members[random() % tree.members.size()];
    AtpHeader good{.bits = AtpBits::one(m.bit),
                   .flow = 1,
                   .sequence = static_cast<std::uint32_t>(random() % packets),
                   .fan_in_1 = static_cast<std::uint16_t>(m.fan_in_1),
                   .fan_in_2 = static_cast<std::uint16_t>(m.fan_in_2),
                   .rack = static_cast<std::uint16_t>(m.rack),
                   .kind = random() % 8 ? AtpKind::gradient : AtpKind::parameter,
                   .level = static_cast<std::uint8_t>(m.level),
                   .edge = static_cast<std::uint8_t>(m.edge)};
    const Header header = disturbed(random, good);
    program.on_datagram(wire, noise(pool, random, header, server_address));
    at_server.on_datagram(wire, noise(pool, random, header, server_address));
    good.kind = AtpKind::parameter;
    good.sequence = static_cast<std::uint32_t>(random() % packets);
    worker.on_datagram(wire, noise(pool, random, disturbed(random, good), 0));
  }
  CHECK(program.statistics().malformed > 50'000);
  CHECK(at_server.statistics().malformed > 50'000);
  CHECK(at_server.statistics().received > 10'000);
  CHECK(program.statistics().gradients > 10'000);
  CHECK(pool.in_use() < 1000);
}

TEST_CASE("untrusted: no header makes SwitchML's agents reach beyond what they have") {
  PayloadPool pool(values);
  const SwitchmlSettings settings{.slots = 8, .payload = Bytes{4 * values}};
  constexpr std::uint32_t packets = 40;
  SwitchmlSwitch program(settings, own_switch, {{3, 5, group}, {2, 0, group}, {1, 3, group}});
  SwitchmlWorker worker(settings, {0, own_switch, 0, 0, 5, packets});
  Sink wire(pool);
  worker.start(wire);
  std::mt19937_64 random(2);
  for (int i = 0; i < 200'000; ++i) {
    const auto packet = static_cast<std::uint32_t>(random() % packets);
    const SwitchmlHeader good{.packet = packet,
                              .job = 0,
                              .slot = packet % 5,
                              .worker = static_cast<std::uint16_t>(random() % 3),
                              .version = static_cast<std::uint8_t>(packet / 5 % 2)};
    program.on_datagram(wire, noise(pool, random, disturbed(random, good), own_switch));
    worker.on_datagram(wire, noise(pool, random, disturbed(random, good), 0));
  }
  CHECK(program.statistics().malformed > 50'000);
  CHECK(program.statistics().aggregated > 50);
  CHECK(worker.statistics().malformed > 10'000);
  CHECK(worker.finished());
}

TEST_CASE("untrusted: what is malformed is counted, and what is right beside it is not") {
  PayloadPool pool(values);
  Sink wire(pool);
  const AtpTree tree = plan_atp_tree(std::vector{0, 0}, 0, std::vector{0});
  AtpServer at_server(four_values, tree, {server_address, group, 0, 2});
  std::mt19937_64 random(3);
  const AtpHeader good{.bits = AtpBits::one(0), .kind = AtpKind::gradient, .level = 1};
  const auto give = [&](AtpHeader h) {
    Header header;
    header.set(h);
    at_server.on_datagram(wire, noise(pool, random, header, server_address));
  };
  std::vector<AtpHeader> wrong(8, good);
  wrong[0].flow = 1;
  wrong[1].sequence = 2;
  wrong[2].bits = {};
  wrong[3].bits = AtpBits::one(2);
  wrong[4].level = 2, wrong[4].bits = AtpBits::one(1);
  wrong[5].rack = 1;
  wrong[6].level = 3;
  wrong[7].kind = AtpKind::parameter;
  for (const AtpHeader& h : wrong) give(h);
  CHECK(at_server.statistics().malformed == 8);
  CHECK(at_server.statistics().received == 0);
  give(good);
  CHECK(at_server.statistics().malformed == 8);
  CHECK(at_server.statistics().merged == 1);
}

}  // namespace weft

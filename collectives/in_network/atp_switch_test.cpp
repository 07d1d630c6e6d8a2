#include "collectives/in_network/atp_switch.hpp"

#include "collectives/in_network/atp_server.hpp"

#include <doctest/doctest.h>

namespace weft {
namespace {

class Recorder final : public Wire {
 public:
  std::vector<Datagram> sent;
  std::int64_t now = 0;

 private:
  std::int64_t now_ps() const override { return now; }
  void send(Datagram datagram) override { sent.push_back(std::move(datagram)); }
  void set_timer(std::int64_t, std::uint64_t) override {}
  Payload new_payload() override { return {}; }
};

const AtpSettings one_aggregator{.aggregators = 1};
constexpr Address server = 9;

// Of a worker below the switch, two of which meet there; one rack in all.
Datagram gradient(int worker, AtpHeader h) {
  h.bits = AtpBits::one(worker);
  h.fan_in_1 = 2;
  Datagram d{.from = worker, .to = server, .wire_bytes = 306};
  d.header.set(h);
  return d;
}
AtpHeader header(const Datagram& d) { return d.header.as<AtpHeader>(); }

}  // namespace

TEST_CASE("atp switch: a mark on any input survives in the sum, whole or partial, and in what is passed on") {
  for (const int marked : {0, 1}) {
    CAPTURE(marked);
    for (const bool by_header : {false, true})
      for (const bool again : {false, true}) {
        AtpSwitch program(one_aggregator, {atp_walk(one_aggregator, {})}, {server});
        Recorder wire;
        for (const int worker : {0, 1}) {
          Datagram d = gradient(worker, {.resend = worker == 1 && again, .marked = worker == marked && by_header});
          d.congested = worker == marked && !by_header;
          program.on_datagram(wire, d);
        }
        REQUIRE(wire.sent.size() == 1);
        CHECK(header(wire.sent[0]).marked == 1);
        CHECK(header(wire.sent[0]).resend == again);
        CHECK(header(wire.sent[0]).level == (again ? 1 : 2));
      }
  }
  AtpSwitch program(one_aggregator, {atp_walk(one_aggregator, {})}, {server});
  Recorder wire;
  program.on_datagram(wire, gradient(0, {.sequence = 0}));
  Datagram other = gradient(0, {.sequence = 1});
  other.congested = true;
  program.on_datagram(wire, other);
  REQUIRE(wire.sent.size() == 1);
  CHECK(header(wire.sent[0]).marked == 1);
  CHECK(header(wire.sent[0]).edge == 1);
  CHECK(header(wire.sent[0]).resend == 1);
}

TEST_CASE("atp switch: what is retransmitted frees its aggregator, added or not") {
  for (const int worker : {0, 1}) {  // 0 has been counted, 1 has not
    CAPTURE(worker);
    AtpSwitch program(one_aggregator, {atp_walk(one_aggregator, {})}, {server});
    Recorder wire;
    program.on_datagram(wire, gradient(0, {}));
    CHECK(program.claimed(wire.now) == 1);
    CHECK(wire.sent.empty());
    program.on_datagram(wire, gradient(worker, {.resend = 1}));
    CHECK(program.claimed(wire.now) == 0);
    REQUIRE(wire.sent.size() == 1);
    CHECK(header(wire.sent[0]).bits.count() == worker + 1);
  }
}

TEST_CASE("atp switch: an aggregator of what is known to be finished is claimed again, and an old copy claims none") {
  AtpSwitch program(one_aggregator, {atp_walk(one_aggregator, {})}, {server});
  Recorder wire;
  program.on_datagram(wire, gradient(0, {.sequence = 4}));
  program.on_datagram(wire, gradient(0, {.sequence = 5, .finished = 5}));
  CHECK(wire.sent.empty());
  CHECK(program.statistics().collisions == 0);
  CHECK(program.statistics().aggregated == 2);
  CHECK(program.statistics().most_in_use == 1);

  AtpSwitch idle(one_aggregator, {atp_walk(one_aggregator, {})}, {server});
  idle.on_datagram(wire, gradient(0, {.sequence = 4, .finished = 5}));
  CHECK(wire.sent.empty());
  CHECK(idle.statistics().most_in_use == 0);
  CHECK(idle.statistics().duplicates == 1);
}

TEST_CASE("atp switch: an aggregator to which nothing has come for its timeout is another's, at either level") {
  const std::int64_t timeout = one_aggregator.aggregator_timeout.ps;
  for (const auto edge : {std::uint8_t{0}, std::uint8_t{1}}) {
    CAPTURE(edge);
    AtpSwitch program(one_aggregator, {atp_walk(one_aggregator, {}), atp_walk(one_aggregator, {})}, {server});
    Recorder wire;
    const auto comes = [&](int worker, std::int32_t flow, std::int64_t at) {
      wire.now = at;
      program.on_datagram(wire, gradient(worker, {.flow = flow, .fan_in_2 = 2, .edge = edge}));
    };
    comes(0, 0, 5);
    comes(0, 1, timeout + 5);  // not yet: it passes
    CHECK(program.statistics().collisions == 1);
    CHECK(program.claimed(wire.now) == 1);
    comes(0, 1, timeout + 6);
    CHECK(program.statistics().collisions == 1);
    CHECK(program.statistics().reclaimed == 1);
    comes(1, 1, 2 * timeout);  // of the new one
    CHECK(program.statistics().completed == 1);
    CHECK(wire.sent.size() == 2);
  }
}

TEST_CASE("atp server: a mark in the header of a gradient is in the parameters") {
  const AtpTree tree = plan_atp_tree(std::vector{0, 0}, 0, std::vector{0});
  for (const int marked : {0, 1}) {
    CAPTURE(marked);
    AtpServer ps(one_aggregator, tree, {.self = server, .workers = 20, .packets = 1});
    Recorder wire;
    for (const int worker : {0, 1}) ps.on_datagram(wire, gradient(worker, {.edge = 2, .marked = worker == marked}));
    REQUIRE(wire.sent.size() == 1);
    CHECK(header(wire.sent[0]).marked == 1);
    CHECK(wire.sent[0].to == 20);
  }
}

}  // namespace weft

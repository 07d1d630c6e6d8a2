#include "sim/packet/settings.hpp"

#include <doctest/doctest.h>

using namespace weft;

namespace {

std::string first_problem(const PacketSettings& s) {
  const auto found = problems(s);
  CHECK(found.size() <= 1);
  return found.empty() ? "" : found.front().where + " " + found.front().what;
}

template <class Change>
std::string after(Change change) {
  PacketSettings s;
  change(s);
  return first_problem(s);
}

}  // namespace

TEST_CASE("packet settings: the defaults have no problems") { CHECK(first_problem({}) == ""); }

TEST_CASE("packet settings: each impossible value is refused, and says what is allowed") {
  using S = PacketSettings;
  CHECK(after([](S& s) { s.packet = 65_KiB; }) == "/packet must be between 1 B and 64KiB, got 65KiB");
  CHECK(after([](S& s) { s.header = 2_KiB; }) == "/header must be between 0 B and 1KiB, got 2KiB");
  CHECK(after([](S& s) { s.cut_through_after = 0_B; }) == "/cut_through_after must be more than 0 B, got 0B");
  CHECK(after([](S& s) { s.switch_buffer = 1_KiB; }) == "/switch_buffer must hold at least one packet = 4KiB, got 1KiB");
  CHECK(after([](S& s) { s.dynamic_threshold = 0; }) == "/dynamic_threshold must be more than 0, got 0");
  CHECK(after([](S& s) { s.ecn.min = 0_B; }) == "/ecn/min must be more than 0 B, got 0B");
  CHECK(after([](S& s) { s.ecn.max = 1_KB; }) == "/ecn/max must be at least min = 400KB, got 1KB");
  CHECK(after([](S& s) { s.ecn.probability = 1.5; }) == "/ecn/probability must be between 0 and 1, got 1.5");
  CHECK(after([](S& s) { s.pfc.xon = 2_MiB; }) == "/pfc/xon must be between 0 B and xoff = 1MiB, got 2MiB");
  CHECK(after([](S& s) { s.dcqcn.gain = 0; }) == "/dcqcn/gain must be more than 0 and at most 1, got 0");
  CHECK(after([](S& s) { s.dcqcn.increase_interval = 0_us; }) == "/dcqcn/increase_interval must be more than 0 s, got 0s");
  CHECK(after([](S& s) { s.window = 1_KiB; }).substr(0, 50) == "/window must hold at least one packet = 4KiB, got ");
  CHECK(after([](S& s) { s.acknowledge_every = 65, s.transport = PacketTransport::dctcp; }) ==
        "/acknowledge_every must not be more than the 64 packets of /packet/window = 256KiB, got 65");
  CHECK(after([](S& s) { s.acknowledge_every = 65, s.transport = PacketTransport::rdma; }) == "");
  CHECK(after([](S& s) { s.timeout = 0_s; }) == "/timeout must be more than 0 s, got 0s");
  CHECK(after([](S& s) { s.retries = -1; }) == "/retries must be between 0 and 40, got -1");
  CHECK(after([](S& s) { s.retries = 40; }) == "/timeout doubled 40 times must be at most 3600s, got 1ms");
  CHECK(after([](S& s) { s.faults.loss = 1; }) == "/faults/loss must be at least 0 and less than 1, got 1");
  CHECK(after([](S& s) { s.faults.corruption = -0.1; }) == "/faults/corruption must be at least 0 and less than 1, got -0.1");
  CHECK(after([](S& s) { s.faults.failures = {{"a->b", 5_us, 5_us}}; }) == "/faults/failures/0/until must come after at = 5us, got 5us");
}

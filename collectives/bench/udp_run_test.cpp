#include "collectives/bench/udp_run.hpp"

#include "collectives/bench/known_sums.hpp"
#include "collectives/bench/testing.hpp"
#include "collectives/bench/worlds/processes.hpp"

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include <doctest/doctest.h>
#include <unistd.h>

using namespace weft;
using namespace weft::bench;
using namespace std::chrono_literals;

namespace {

std::vector<std::string> over_udp(std::vector<std::string> flags) {
  flags.insert(flags.begin(), {"--transport", "udp"});
  return flags;
}
Settings udp_settings(std::vector<std::string> flags) { return settings_of(over_udp(std::move(flags))); }
std::vector<std::string> udp_problems(std::vector<std::string> flags) { return problems_of(over_udp(std::move(flags))); }

struct Ended {
  int status = 0;
  std::string table;
};

// With what worker 0 prints; `before` is called first in every node's process.
Ended run(
    const Settings& s, const std::function<void(int)>& before = [](int) {}) {
  const std::string file = std::filesystem::temp_directory_path() / ("weft_udp_run_test." + std::to_string(::getpid()));
  const auto node = [&](int number, const std::vector<std::string>& addresses, const UdpSockets& own) {
    before(number);
    std::ofstream out(number == 0 ? file : "/dev/null");
    std::streambuf* const usual = std::cout.rdbuf(out.rdbuf());
    const auto restore = std::unique_ptr<std::streambuf, std::function<void(std::streambuf*)>>(usual, [](auto* b) { std::cout.rdbuf(b); });
    return run_udp_node(s, number, addresses, own);
  };
  Ended ended{.status = run_udp_here(s, node), .table = {}};
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  ended.table = text.str();
  ::unlink(file.c_str());
  return ended;
}

// A signal to a process of its own, while it is busy.
void soon(int signal) {
  std::thread([=] {
    std::this_thread::sleep_for(400ms);
    ::kill(::getpid(), signal);
  }).detach();
}

std::string failure(const Settings& s, const std::function<void(int)>& before) {
  try {
    run(s, before);
  } catch (const RunError& e) {
    return e.what();
  }
  return "nothing failed";
}

}  // namespace

TEST_CASE("udp bench: known gradients add up to known sums, and what is moved, of another round or one bit off is wrong") {
  for (const DType dtype : {DType::int32, DType::float32, DType::float16, DType::bfloat16, DType::float64}) {
    CAPTURE(name_of(dtype));
    const KnownSums known(dtype, {}, 2, 1);
    const std::size_t elements = 200'000, unit = size_of(dtype);
    std::vector<std::byte> own(elements * unit), sums(own.size());
    known.fill(3, elements, own.data());
    CHECK(known.compare(3, elements, own.data()).wrong > 190'000);
    const KnownSums alone(dtype, {}, 1, 0);  // what comes back is what was sent, but for the rounding to fixed point
    alone.fill(3, elements, sums.data());
    if (dtype != DType::int32) {
      std::vector<std::int32_t> fixed(elements);
      CHECK(quantise(dtype, {}, sums.data(), fixed) == 0);
      dequantise(dtype, {}, fixed, sums.data());
    }
    CHECK(alone.compare(3, elements, sums.data()).wrong == 0);
    CHECK(alone.compare(4, elements, sums.data()).wrong > 190'000);
    sums[131'073 * unit] ^= std::byte{1};
    const KnownSums::Verdict v = alone.compare(3, elements, sums.data());
    CHECK(v.wrong == 1);
    CHECK(v.first_wrong.starts_with("worker 0, element 131073: is "));
    CHECK(alone.compare(3, elements - 1, sums.data() + unit).wrong > 190'000);
  }
}

TEST_CASE("udp bench: both algorithms add up exactly with loss, copies and disorder, and the table says so") {
  for (const char* dtype : {"int32", "float32"}) {
    CAPTURE(dtype);
    const Ended ended = run(udp_settings(
        {"--algorithm", "atp,switchml", "-n",           "3",    "--servers", "2",  "--switches", "2",   "-b",        "4K", "-e",     "64K",
         "-f",          "16",           "--iterations", "2",    "-w",        "1",  "--dtype",    dtype, "--timeout", "2",  "--loss", "0.02",
         "--duplicate", "0.05",         "--reorder",    "0.05", "--payload", "512"}));
    CHECK(ended.status == 0);
    CHECK(ended.table.find("# Out of bounds values : 0 OK\n") != std::string::npos);
    CHECK(ended.table.find("# algorithm switchml\n") != std::string::npos);
    CHECK(ended.table.find("packets fully aggregated by switches") != std::string::npos);
    CHECK(ended.table.find("; 512 bytes of values and 92 of headers in a datagram") != std::string::npos);
  }
}

TEST_CASE("udp bench: one rank, a message of one value, and more servers than values") {
  for (const std::vector<std::string>& flags : {std::vector<std::string>{"-n", "1"}, {"-n", "2", "-b", "4", "--servers", "3"}}) {
    std::vector<std::string> all = flags;
    all.insert(all.end(), {"--algorithm", "atp,switchml", "--iterations", "2", "-w", "0"});
    const Ended ended = run(udp_settings(all));
    CHECK(ended.status == 0);
    CHECK(ended.table.find("# Out of bounds values : 0 OK\n") != std::string::npos);
  }
}

TEST_CASE("udp bench: ranks and servers hang where it is said, some switches only pass on, and sums are right") {
  for (const std::vector<std::string>& flags : {std::vector<std::string>{"--switches", "3", "--below", "2,0,2,0,1"},
                                                {"--switches", "3", "--below", "2,0,2,0,1", "--passing", "0,1"},
                                                {"--switches", "2", "--passing", "0"}}) {
    std::vector<std::string> all = flags;
    all.insert(all.end(), {"-n", "4", "--algorithm", "atp,switchml", "-b", "32K", "--iterations", "2", "-w", "1", "--loss", "0.01",
                           "--timeout", "2", "--initial-window", "4", "--mtu", "3000"});
    const Ended ended = run(udp_settings(all));
    CHECK(ended.status == 0);
    CHECK(ended.table.find("# Out of bounds values : 0 OK\n") != std::string::npos);
  }
  const Ended none = run(udp_settings({"--passing", "0", "-b", "32K", "--iterations", "1"}));
  CHECK(none.status == 0);
  CHECK(none.table.find("# 0.00 % of 24 packets fully aggregated by switches") != std::string::npos);
}

TEST_CASE("udp bench: SwitchML has no servers unless some are asked for") {
  CHECK(udp_settings({"--algorithm", "switchml"}).cut.servers == 0);
  CHECK(udp_settings({"--algorithm", "switchml,atp"}).cut.servers == 1);
  CHECK(udp_settings({"--algorithm", "switchml", "--hosts", "a:1,b:1,c:1", "--rank", "0"}).ranks == 2);
}

TEST_CASE("udp bench: a process that is killed ends the run, and it is said who waits for whom") {
  // Nodes: workers 0 to 2, server 0, switch 0.
  const std::vector<std::string> names = {"worker 0", "worker 1", "worker 2", "server 0", "switch 0"};
  for (const int victim : {1, 3, 4}) {
    CAPTURE(victim);
    const std::string said = failure(udp_settings({"-n", "3", "-b", "8M", "--iterations", "1000000"}), [&](int node) {
      if (node == victim) soon(SIGKILL);
    });
    CAPTURE(said);
    const std::string& name = names[static_cast<std::size_t>(victim)];
    CHECK(said.find(name + " is gone: its connection ended without a farewell\n") != std::string::npos);
    CHECK(said.find(name + " was ended by signal 9 (Killed)") != std::string::npos);
    CHECK(said.find(victim == 1 ? "\nworker 0 waits for " : "\nworker 1 waits for ") != std::string::npos);
  }
}

TEST_CASE("udp bench: a process that stands still ends the run after the patience, and is not left behind") {
  const std::string said = failure(udp_settings({"-n", "3", "-b", "8M", "--iterations", "1000000", "--patience", "0.4"}), [&](int node) {
    if (node == 1) soon(SIGSTOP);
  });
  CAPTURE(said);
  CHECK(said.starts_with("no progress for "));  // 400 ms, or 800 where the others have the sums already
  CHECK(said.find("\nworker 0 waits for ") != std::string::npos);
  CHECK(said.find("\nworker 2 waits for ") != std::string::npos);
  CHECK(said.find("worker 1 did not end with the others and was killed") != std::string::npos);
}

TEST_CASE("udp bench: where everything is lost, all say what they wait for") {
  const std::string said = failure(udp_settings({"-n", "2", "-b", "1K", "--loss", "1", "--patience", "0.3"}), [](int) {});
  CHECK(said.find("no progress for 300 ms\n") != std::string::npos);
  CHECK(said.find("server 0 waits for packet 0 of 1 of flow 0 from all of its workers") != std::string::npos);
  CHECK(said.find("worker 1 waits for packet 0 of 1 of flow 0 to come back from its parameter server") != std::string::npos);
}

TEST_CASE("udp bench: all that cannot be is said at once") {
  CHECK(udp_problems({"--algorithm", "ring", "--aggregators", "0", "--slots", "0", "--payload", "1410", "--loss", "1.5", "--duplicate",
                      "-1", "--window", "0", "--timeout", "0"}) ==
        std::vector<std::string>{"--algorithm: over udp must be one of atp, switchml, got \"ring\"",
                                 "--aggregators: must be at least 1, got 0", "--slots: must be at least 1, got 0",
                                 "--window: must be 1 to 1048576, got 0",
                                 "--payload: must be a multiple of 4 bytes and more than 0, got 1410",
                                 "--payload: 1410 bytes of values and 92 of headers must fit into --packet = 1500",
                                 "--timeout: must be more than 0 and at most 60000 ms, got 0",
                                 "--loss: must be a probability, 0 to 1, got 1.5", "--duplicate: must be a probability, 0 to 1, got -1"});
  CHECK(udp_problems({"--reorder", "nan", "--packet", "65536"}) ==
        std::vector<std::string>{"--packet: must be at most 65535 bytes, what UDP can carry, got 65536",
                                 "--reorder: must be a probability, 0 to 1, got nan"});
  CHECK(udp_problems({"--collective", "alltoall", "--dtype", "int64", "--op", "max", "--channels", "2", "--servers", "-1"}) ==
        std::vector<std::string>{"--servers: must be 1 to 1024, got -1",
                                 "--collective: in-network aggregation is for allreduce only, got alltoall",
                                 "--op: in-network aggregation adds; it cannot do max",
                                 "--dtype: packets carry int32 or, as fixed point, floating point, not int64",
                                 "--channels, --pieces, --group, --inner, --up, --down: cut schedules, not what udp runs"});
  CHECK(udp_problems({"-n", "3", "--switches", "2", "--below", "0,1,2", "--passing", "-1", "--initial-window", "0", "--mtu", "0"}) ==
        std::vector<std::string>{"--initial-window: must be at least 1, got 0", "--mtu: must be at least 1 byte, got 0",
                                 "--below: must name a switch for each of 3 ranks, then of 1 servers, got 3",
                                 "--below: must name one of the 2 switches, 0 to 1, got 2",
                                 "--passing: must name one of the 2 switches, 0 to 1, got -1"});
  CHECK(udp_problems({"--algorithm", "switchml", "--passing", "0", "--server-hosts", "extra"}) ==
        std::vector<std::string>{"--server-hosts: over udp servers are processes of their own",
                                 "--passing: leaves no switch that adds, and switchml needs one"});
  CHECK(udp_problems({"-n", "300", "--switches", "2"}) ==
        std::vector<std::string>{"--algorithm atp: 150 workers meet at a switch, and a packet has bits for 128"});
  CHECK(udp_problems({"--hosts", "a:1,b:1"}) ==
        std::vector<std::string>{"--hosts: must name workers, then 1 servers, then 1 switches, got 2 hosts",
                                 "--rank: must say which of the 2 hosts this is, 0 to 1, got -1"});
  CHECK(udp_problems({"--hosts", "a:1,b,c:1,d:x,e:0,:5,a:1,a:1", "--rank", "0"}) ==
        std::vector<std::string>{"--hosts: \"b\" must be written host:port", "--hosts: \"d:x\" must be written host:port",
                                 "--hosts: \"e:0\": the port must be 1 to 65535", "--hosts: \":5\" must be written host:port",
                                 "--hosts: names a:1 twice"});
  CHECK(udp_problems({"--aggregators", "2147483647"}) ==
        std::vector<std::string>{"--algorithm atp: /aggregators: must be at most 1048576, got 2147483647"});
  CHECK(udp_problems({"--servers", "0"}) == std::vector<std::string>{"--servers: must be 1 to 1024, got 0"});
  CHECK(udp_settings({"--servers", "0", "--algorithm", "switchml"}).cut.servers == 0);
  CHECK(udp_problems({"-n", "0", "--switches", "0"}) ==
        std::vector<std::string>{"-n: must be 1 to 1024, got 0", "--switches: must be 1 to 1024, got 0"});
  CHECK(udp_settings({"--hosts", "a:1,b:1,c:1,d:1,e:1", "--rank", "4", "--servers", "2"}).ranks == 2);
}

TEST_CASE("udp bench: processes end with the worst status, each line is heard once, and a patience of theirs ends those that stay") {
  const std::vector<std::string> names = {"a", "b", "c"};
  CHECK(run_processes(names, 1s, [](int) { return 0; }) == 0);
  CHECK(run_processes(names, 1s, [](int i) { return i == 1 ? 1 : 0; }) == 1);
  CHECK_THROWS_WITH_AS(run_processes(names, 1s, [](int i) -> int { throw RunError("lost\n" + std::string(i ? "b" : "a")); }),
                       doctest::Contains("lost\n"), RunError);
  const auto begin = std::chrono::steady_clock::now();
  CHECK_THROWS_WITH_AS(run_processes(names, 100ms,
                                     [](int i) -> int {
                                       if (i == 0) throw RunError("no");
                                       if (i == 2) std::this_thread::sleep_for(100s);
                                       return 0;
                                     }),
                       "no\nc did not end with the others and was killed", RunError);
  CHECK(std::chrono::steady_clock::now() - begin < 50s);
}

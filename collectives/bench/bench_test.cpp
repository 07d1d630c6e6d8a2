#include "collectives/bench/memory.hpp"
#include "collectives/bench/run_local.hpp"
#include "collectives/bench/testing.hpp"
#include "collectives/bench/worlds/processes.hpp"
#include "collectives/bench/worlds/worlds.hpp"
#include "kernels/testing/scratch_folder.hpp"

#include <csignal>
#include <fstream>
#include <iostream>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace weft;
using namespace weft::bench;

namespace {

Heard measured_on_threads(const std::vector<std::string>& flags) {
  const Settings s = settings_of(flags);
  Heard heard;
  measure(*threads_world(s), s, heard.hear());
  return heard;
}

}  // namespace

TEST_CASE("bench: more memory than there is is refused before it is asked for") {
  constexpr std::int64_t gib = 1 << 30;
  require_memory(2, 4 * gib, 8 * gib);
  CHECK_THROWS_WITH_AS(require_memory(2, 64 * gib, 8 * gib),
                       "-e: 2 ranks on this machine need 128.0 GiB for data, 64.0 GiB each, and it has 8.0 GiB of memory", InputError);
  CHECK_THROWS_WITH_AS(require_memory(1, 9 * gib, 8 * gib),
                       "-e: 1 rank on this machine needs 9.0 GiB for data, and it has 8.0 GiB of memory", InputError);
  CHECK(memory_bytes() > 0);
  CHECK_THROWS_WITH_AS(measured_on_threads({"-b", "1024G"}), doctest::Contains("-e: 2 ranks on this machine need 4096.0 GiB for data"),
                       InputError);  // for two buffers
  CHECK_THROWS_WITH_AS(measured_on_threads({"-b", "1024G", "--in-place"}),
                       doctest::Contains("-e: 2 ranks on this machine need 2048.0 GiB for data"), InputError);
  CHECK_THROWS_WITH_AS(measured_on_threads({"-b", "1024G", "--collective", "alltoall", "--algorithm", "pairwise"}),
                       doctest::Contains("-e: 2 ranks on this machine need 4096.0 GiB for data"), InputError);
}

TEST_CASE("bench: a process whose table cannot be written fails") {
  const auto print_in_vain = [](int) {
    ::dup2(::open("/dev/full", O_WRONLY), STDOUT_FILENO);
    std::cout << "a table\n";
    return 0;
  };
  CHECK_THROWS_WITH_AS(run_processes({"rank 0"}, std::chrono::seconds(5), print_in_vain),
                       "what was printed is not complete: cannot write to standard output: No space left on device", RunError);
}

TEST_CASE("bench: what an algorithm forbids is bad input") {
  CHECK_THROWS_WITH_AS(measured_on_threads({"--algorithm", "rink"}),
                       doctest::Contains("--algorithm rink: /algorithm: unknown allreduce algorithm"), InputError);
  CHECK_THROWS_WITH_AS(measured_on_threads({"--algorithm", "mpi"}), "--algorithm: \"mpi\" is the library's own and needs --transport mpi",
                       InputError);
}

TEST_CASE("bench: every algorithm and size becomes a row with right data") {
  const Heard heard = measured_on_threads({"-n", "3", "--algorithm", "ring,direct", "-b", "4", "-e", "1K", "-f", "16", "--iterations", "3",
                                           "-I", "1", "-w", "1", "--channels", "2"});
  REQUIRE(heard.rows.size() == 6);
  for (const Row& r : heard.rows) {
    CHECK(r.wrong == 0);
    CHECK(r.times_us.size() == 3);
    CHECK(r.quantile_us(0) <= r.median_us());
    CHECK(r.median_us() <= r.quantile_us(1));
  }
  CHECK(heard.rows[1].size_bytes == 64);
  CHECK(heard.rows[3].algorithm == "direct");
}

TEST_CASE("bench: out of place, each collective begins with each rank's own data in another buffer, and runs back to back are right") {
  for (const char* collective : {"allreduce", "reduce_scatter", "allgather", "broadcast", "reduce"})
    for (const char* op : {"sum", "avg"})
      for (const char* channels : {"1", "3"})
        for (const auto& timing : {std::pair{"1", "1"}, {"4", "1"}, {"1", "0"}, {"3", "0"}}) {
          const char* const together = timing.first;
          const char* const each = timing.second;
          CAPTURE(collective);
          CAPTURE(op);
          CAPTURE(channels);
          CAPTURE(together);
          CAPTURE(each);
          const std::size_t times = std::string_view(each) == "1" ? 2 : 1;  // back to back there is one for all
          const bool rooted = std::string_view(collective) == "broadcast" || std::string_view(collective) == "reduce";
          const Heard heard =
              measured_on_threads({"-n",           "3",   "--collective", collective, "--algorithm", rooted ? "chain" : "ring",
                                   "--op",         op,    "--channels",   channels,   "-m",          together,
                                   "-b",           "400", "-i",           "100",      "-e",          "700",
                                   "--iterations", "2",   "-w",           "1",        "-I",          each});
          REQUIRE(heard.rows.size() == 4);
          for (const Row& row : heard.rows) {
            CHECK(row.out_of_place_us.size() == times);
            CHECK(row.times_us.size() == times);
            CHECK(row.wrong == 0);
            CHECK(row.out_of_place_wrong == 0);
          }
          CHECK(heard.rows[1].size_bytes == 500);
        }
  CHECK(measured_on_threads({"-b", "1K", "--in-place", "--iterations", "1"}).rows.at(0).out_of_place_us.empty());
}

TEST_CASE("bench: compressed all-reduces lose nothing of the gradients, for all compressions") {
  for (const char* name : {"gs_sgd", "gtopk", "sketched_sgd", "topk_allgather", "dense"}) {
    CAPTURE(name);
    std::vector<std::string> arguments = {"-n", "3", "-b", "1K", "-e", "16K", "--iterations", "3", "--compression", name};
    if (name != std::string_view("dense")) arguments.insert(arguments.end(), {"--k", "5%"});
    const Heard heard = measured_on_threads(arguments);
    REQUIRE(heard.rows.size() == 3);
    for (const Row& row : heard.rows) {
      CHECK(row.wrong == 0);
      CHECK(row.times_us.size() == 3);
    }
  }
}

TEST_CASE("bench: servers on extra hosts run beside the ranks, which alone are counted") {
  const Settings s = settings_of({"-n",
                                  "3",
                                  "--algorithm",
                                  "parameter_server",
                                  "--servers",
                                  "2",
                                  "--server-hosts",
                                  "extra",
                                  "-b",
                                  "4",
                                  "-e",
                                  "1K",
                                  "-f",
                                  "16",
                                  "--op",
                                  "avg",
                                  "--channels",
                                  "2",
                                  "--pieces",
                                  "3",
                                  "--trace",
                                  "unused.json"});
  Heard heard;
  measure(*threads_world(s), s, heard.hear());
  REQUIRE(heard.rows.size() == 3);
  for (const Row& r : heard.rows) CHECK(r.wrong == 0);
  CHECK(heard.clocks.size() == 5);
  Rank last = 0;
  for (const Record& r : heard.traces.at(0).records) last = std::max(last, r.rank);
  CHECK(last == 4);
  CHECK(settings_of({"--transport", "tcp", "--hosts", "a:1,b:1,c:1", "--rank", "2", "--server-hosts", "extra"}).ranks == 2);
  CHECK(ranks_among(5, s, "mpirun started") == 3);
  CHECK_THROWS_WITH_AS(ranks_among(6, s, "mpirun started"), "-n: mpirun started 6 ranks, 2 of them servers, got 3", InputError);
  CHECK_THROWS_WITH_AS(ranks_among(2, s, "mpirun started"), "--servers: mpirun started 2 ranks, which leaves none beside 2 servers",
                       InputError);
}

TEST_CASE("bench: parameter servers over tcp, on the hosts of workers and on extra ones") {
  for (const char* hosts : {"workers", "extra"}) {
    CAPTURE(hosts);
    const Settings s = settings_of({"-n",
                                    "3",
                                    "--transport",
                                    "tcp",
                                    "--algorithm",
                                    "parameter_server",
                                    "--servers",
                                    "2",
                                    "--server-hosts",
                                    hosts,
                                    "-b",
                                    "300K",
                                    "--iterations",
                                    "2",
                                    "-I",
                                    "1",
                                    "-w",
                                    "1",
                                    "--pieces",
                                    "2"});
    const auto run = [&](Rank rank, const std::vector<std::string>& addresses, const TcpListener& own) {
      Heard heard;
      const auto world = tcp_world(s, rank, addresses, own);
      measure(*world, s, heard.hear());
      const bool processes = static_cast<int>(addresses.size()) == (s.cut.server_hosts == ServerHosts::extra ? 5 : 3);
      const bool right = rank != 0 || (heard.rows.size() == 1 && heard.rows[0].wrong == 0 && heard.rows[0].times_us.size() == 2);
      return processes && right ? 0 : 1;
    };
    CHECK(run_local_processes(s, run) == 0);
  }
}

TEST_CASE("bench: all collectives run, counted as nccl-tests counts") {
  for (const char* collective : {"allreduce", "reduce_scatter", "allgather", "broadcast", "reduce", "alltoall", "barrier"}) {
    CAPTURE(collective);
    const std::string algorithm = algorithm_names(*collective_named(collective)).front();
    const Heard heard =
        measured_on_threads({"-n", "4", "--collective", collective, "--algorithm", algorithm, "-b", "64", "--iterations", "1"});
    REQUIRE(heard.rows.size() == 1);
    CHECK(heard.rows[0].wrong == 0);
    const bool shared = std::string(collective).find("all") == 0 && std::string(collective) != "allreduce";
    if (std::string(collective) != "barrier")
      CHECK(heard.rows[0].count == (shared || std::string(collective) == "reduce_scatter" ? 4 : 16));
  }
}

TEST_CASE("bench: a trace holds every operation of one run") {
  const ScratchFolder folder;
  const std::string path = folder / "trace.json";
  const Heard heard = measured_on_threads({"-n", "2", "-b", "1K", "--iterations", "2", "--trace", path});
  REQUIRE(heard.traces.size() == 1);
  REQUIRE(heard.clocks.size() == 2);
  CHECK(heard.traces[0].times_us.size() == 2);
  CHECK(heard.traces[0].records.size() == 8);  // 2 steps of 2 ranks, each a send and a receive
  for (const Record& r : heard.traces[0].records) {
    CHECK(r.bytes == 512);
    CHECK(r.peer == 1 - r.rank);
    CHECK(r.start_us <= r.end_us);
  }
  write_trace(path, settings_of({"-n", "2"}), heard.clocks, heard.traces);
  std::ifstream in(path);
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  REQUIRE(lines.size() == 1 + 1 + 8);
  CHECK(lines[0]["format"] == "weft trace");
  CHECK(lines[0]["ranks"] == 2);
  CHECK(lines[1]["algorithm"] == "ring");
  CHECK(lines[1]["times_us"].size() == 2);
  CHECK(lines[2]["op"] == "receive_reduce");
}

TEST_CASE("bench: local processes end with the worst status, and each complaint is heard once") {
  const Settings s = settings_of({"-n", "3", "--transport", "tcp"});
  CHECK(run_local_processes(s, [](Rank, const auto& addresses, const auto&) { return addresses.size() == 3 ? 0 : 1; }) == 0);
  CHECK(run_local_processes(s, [](Rank r, const auto&, const auto&) { return r == 1 ? 1 : 0; }) == 1);
  CHECK_THROWS_WITH_AS(run_local_processes(s, [](Rank, const auto&, const auto&) -> int { throw RunError("lost"); }), "lost", RunError);
  CHECK_THROWS_WITH_AS(run_local_processes(s, [](Rank, const auto&, const auto&) -> int { throw InputError("bad"); }), "bad", InputError);
  CHECK_THROWS_WITH_AS(run_local_processes(s,
                                           [](Rank r, const auto&, const auto&) -> int {
                                             if (r == 2) std::raise(SIGKILL);
                                             return 0;
                                           }),
                       "rank 2 was ended by signal 9 (Killed)", RunError);
}

TEST_CASE("bench: over tcp a rank that is killed ends the run with one message and no hang") {
  const Settings s = settings_of({"-n", "3", "--transport", "tcp", "-b", "1K", "--iterations", "100000"});
  const auto die_early = [&](Rank rank, const std::vector<std::string>& addresses, const TcpListener& own) {
    const auto world = tcp_world(s, rank, addresses, own);
    if (rank == 1) std::raise(SIGKILL);
    measure(*world, s, Heard().hear());
    return 0;
  };
  CHECK_THROWS_WITH_AS(run_local_processes(s, die_early),
                       "rank 1 is gone: its connection ended without a farewell\nrank 1 was ended by signal 9 (Killed)", RunError);
}

TEST_CASE("bench: clocks of processes on one host agree within the stated error") {
  const Settings s = settings_of({"-n", "2", "--transport", "tcp", "-b", "1K", "--iterations", "1", "--trace", "unused.json"});
  const auto compare = [&](Rank rank, const std::vector<std::string>& addresses, const TcpListener& own) {
    Heard heard;
    const auto world = tcp_world(s, rank, addresses, own);
    measure(*world, s, heard.hear());
    if (rank != 0) return 0;
    const ClockOffset c = heard.clocks.at(1);
    return std::abs(c.offset_us) <= c.error_us + 1 && c.error_us > 0 && !heard.traces.at(0).records.empty() ? 0 : 1;
  };
  CHECK(run_local_processes(s, compare) == 0);
}

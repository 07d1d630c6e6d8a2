#include "collectives/bench/bench.hpp"

#include "collectives/bench/measure.hpp"
#include "collectives/bench/memory.hpp"
#include "collectives/bench/run_local.hpp"
#include "collectives/bench/settings/settings.hpp"
#include "collectives/bench/table.hpp"
#include "collectives/bench/worlds/processes.hpp"
#include "collectives/bench/worlds/worlds.hpp"
#include "kernels/base/error.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace weft;
using namespace weft::bench;

namespace {

Settings settings_of(std::vector<const char*> flags) {
  flags.insert(flags.begin(), "bench");
  return *parse(static_cast<int>(flags.size()), flags.data());
}

std::vector<std::string> problems_of(std::vector<const char*> flags) {
  try {
    settings_of(std::move(flags));
  } catch (const InputError& e) {
    return e.problems();
  }
  return {};
}

struct Heard {
  std::vector<Row> rows;
  std::vector<TracedRun> traces;
  std::vector<ClockOffset> clocks;
  Hear hear() {
    return {.begin = [](const std::string&) {},
            .row = [this](const Row& r) { rows.push_back(r); },
            .traces = [this](const auto& c, const auto& t) { clocks = c, traces = t; }};
  }
};

Heard measured_on_threads(std::vector<const char*> flags) {
  const Settings s = settings_of(std::move(flags));
  Heard heard;
  measure(*threads_world(s), s, heard.hear());
  return heard;
}

std::vector<std::string> tokens(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

}  // namespace

TEST_CASE("bench: sizes are binary multiples") {
  CHECK(parse_size("8") == 8);
  CHECK(parse_size("64K") == 64 << 10);
  CHECK(parse_size("256MiB") == 256 << 20);
  CHECK(parse_size("1G") == 1 << 30);
  CHECK(parse_size("64k") == 64 << 10);
  CHECK(parse_size("1g") == 1 << 30);
  for (const char* wrong : {"", "K", "8KB", "-8", "1.5M", "8 K", "99999999999999999999", "2000000G"}) {
    CAPTURE(wrong);
    CHECK_THROWS_WITH_AS(parse_size(wrong),
                         (std::string("a size is written 512, 64K, 256M or 1G, at most 1024G, got \"") + wrong + "\"").c_str(), InputError);
  }
}

TEST_CASE("bench: flags of nccl-tests mean what they mean there, and -n is refused where it could be either") {
  const auto parsed = [](std::vector<const char*> args) {
    args.insert(args.begin(), "weft bench");
    return *parse(static_cast<int>(args.size()), args.data());
  };
  CHECK(parsed({"-n", "3"}).ranks == 3);
  CHECK(parsed({"-t", "2", "-g", "3"}).ranks == 6);
  CHECK(parsed({"-g", "4", "--iters", "7"}).iterations == 7);
  CHECK(parsed({"-d", "half", "-o", "max"}).dtype == DType::float16);
  CHECK(parsed({"-d", "double"}).dtype == DType::float64);
  CHECK(parsed({"--collective", "broadcast", "--algorithm", "chain", "-r", "1"}).root == 1);
  CHECK_THROWS_WITH_AS(parsed({"-g", "4", "-n", "20"}),
                       "-n: is the number of ranks here, and of iterations in nccl-tests: beside -t, -g or --ranks write --iters",
                       InputError);
  CHECK_THROWS_WITH_AS(parsed({"-g", "4", "--ranks", "4"}), "--ranks: follows from -t and -g: leave one of them out", InputError);
}

TEST_CASE("bench: what is no flag is named, with the one that was meant and all that there are") {
  const auto said = [](std::vector<const char*> flags) {
    const std::vector<std::string> problems = problems_of(std::move(flags));
    return problems.size() == 1 ? problems.front() : "";
  };
  CHECK(
      said({"--algoritm", "ring"})
          .starts_with("unknown argument \"--algoritm\" (did you mean \"--algorithm\"?); allowed: --help, -h, --transport, --algorithm, "));
  CHECK(said({"-n", "2", "ring"}).starts_with("unknown argument \"ring\"; allowed: --help, "));
}

TEST_CASE("bench: all that is wrong with a command line is said at once") {
  CHECK(problems_of({"--dtype", "float", "-b", "1M", "-e", "1K", "-f", "1", "--iterations", "0"}) ==
        std::vector<std::string>{"--dtype: must be one of float16, bfloat16, float32, float64, int32, int64, uint8, got \"float\"",
                                 "-e: must be at least -b = 1048576, got 1024", "-f: must be 2 to 1048576, got 1",
                                 "--iterations: must be at least 1, got 0"});
  CHECK(problems_of({"--op", "band"}) == std::vector<std::string>{"--op: band is not defined on float32"});
  CHECK(problems_of({"-b", "2"}) == std::vector<std::string>{"-b: must hold one float32 of 4 bytes, got 2"});
  CHECK(problems_of({"-n", "100000"}) == std::vector<std::string>{"-n: must be 1 to 1024, got 100000"});
  CHECK(problems_of({"--transport", "tcp", "--hosts", "a:1,b:1", "-n", "3"}) ==
        std::vector<std::string>{"-n: --hosts names 2 ranks, got 3", "--rank: must say which of the 2 hosts this is, 0 to 1, got -1"});
  CHECK(problems_of({"--hosts", "a:1,b:1"}) == std::vector<std::string>{"--hosts, --rank: only for --transport tcp, udp and nccl"});
  CHECK(problems_of({"--algorithm", "ring,atp", "--loss", "0.1", "--payload", "8"}) ==
        std::vector<std::string>{"--algorithm: \"atp\" needs in-network aggregation: --transport udp",
                                 "--payload, --loss: only for --transport udp"});
  CHECK(problems_of({"--server-hosts", "none"}) == std::vector<std::string>{"--server-hosts: must be one of workers, extra, got \"none\""});
  CHECK(problems_of({"--servers", "2000", "--server-hosts", "extra"}) ==
        std::vector<std::string>{"--servers: must be at most 1024, got 2000"});
  CHECK(problems_of({"--transport", "tcp", "--hosts", "a:1,b:1", "--rank", "0", "--servers", "2", "--server-hosts", "extra"}) ==
        std::vector<std::string>{"--hosts: must name a rank before the 2 servers, got 2 hosts"});
  CHECK(problems_of({"--trace", "/nowhere/trace.json"}) == std::vector<std::string>{"--trace: there is no folder /nowhere to write to"});
  for (const char* patience : {"1e300", "0", "-1", "1e-9", "nan", "inf"}) {
    CAPTURE(patience);
    CHECK(problems_of({"--patience", patience}).at(0).starts_with("--patience: must be 0.001 to 1000000 seconds, got "));
  }
  CHECK(problems_of({"-f", "2147483647"}) == std::vector<std::string>{"-f: must be 2 to 1048576, got 2147483647"});
  for (const char* channels : {"-1", "0", "4094"})
    CHECK(problems_of({"--channels", channels}) ==
          std::vector<std::string>{fmt::format("--channels: must be 1 to 4093, got {}", channels)});
  CHECK(problems_of({"--servers", "0"}) == std::vector<std::string>{"--servers: must be 1 to 1024, got 0"});
  CHECK(problems_of({"--connections", "2", "--zero-copy"}) ==
        std::vector<std::string>{"--connections, --zero-copy: only for --transport tcp"});
  CHECK(problems_of({"--stream-rate", "30Mbps"}) == std::vector<std::string>{"--stream-rate: only for --transport tcp"});
  CHECK(problems_of({"--transport", "tcp", "--stream-rate", "30"}) ==
        std::vector<std::string>{"--stream-rate: \"30\" has no unit: write for example \"30Gbps\""});
  CHECK(problems_of({"--transport", "tcp", "--stream-rate", "0bps"}) ==
        std::vector<std::string>{"--stream-rate: must be at least 8Kbps, got 0bps"});
  CHECK(problems_of({"--transport", "tcp", "--hosts", "a:1,b:0", "--rank", "0"}) ==
        std::vector<std::string>{"--hosts: \"b:0\": the port must be 1 to 65535"});
}

TEST_CASE("bench: the secret of a job over several machines comes from a file or the environment, and is not in what is printed") {
  const std::string file = std::filesystem::temp_directory_path() / fmt::format("weft_bench_test_secret.{}", ::getpid());
  std::ofstream(file) << "sesame\n";
  ::setenv("WEFT_JOB_SECRET", "from the environment", 1);
  const Settings of_file = settings_of({"--transport", "tcp", "--hosts", "a:1,b:1", "--rank", "0", "--secret-file", file.c_str()});
  CHECK(of_file.secret == "sesame");
  CHECK(job_of(of_file).find("sesame") == std::string::npos);
  CHECK(settings_of({"--transport", "tcp", "--hosts", "a:1,b:1", "--rank", "0"}).secret == "from the environment");
  ::unsetenv("WEFT_JOB_SECRET");
  CHECK(settings_of({"--transport", "tcp", "--hosts", "a:1,b:1", "--rank", "0"}).secret == "");
  CHECK(
      problems_of({"--transport", "tcp", "--secret-file", file.c_str()}) ==
      std::vector<std::string>{"--secret-file: needs --hosts or --meeting; processes that weft bench starts itself share a random secret"});
  std::filesystem::remove(file);
  CHECK(problems_of({"--transport", "tcp", "--hosts", "a:1,b:1", "--rank", "0", "--secret-file", file.c_str()}) ==
        std::vector<std::string>{"--secret-file: the job's secret cannot be read from " + file + ": No such file or directory"});
}

TEST_CASE(
    "bench: what processes say to each other of their job has the settings of two_level, so that one with others is refused at once") {
  const auto job = [](std::vector<const char*> flags) {
    flags.insert(flags.begin(), {"--algorithm", "two_level", "-t", "4", "--group", "2"});
    return job_of(settings_of(std::move(flags)));
  };
  const std::string plain = job({});
  CHECK(plain.ends_with(" --group 2"));
  CHECK(job({"--inner", "ring"}) == plain + " --inner ring");
  CHECK(job({"--up", "chain"}) == plain + " --up chain");
}

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

TEST_CASE("bench: steps between sizes and collectives back to back are refused where they have no meaning") {
  CHECK(problems_of({"-b", "1K", "-e", "2K", "-i", "2", "-f", "2"}) ==
        std::vector<std::string>{"-f: sizes are multiplied by it, or -i is added: leave one of them out",
                                 "-i: must be at least 4 bytes, a float32 and for at most 10000 sizes, got 2"});
  CHECK(problems_of({"-b", "1K", "-e", "1G", "-i", "4"}) ==
        std::vector<std::string>{"-i: must be at least 107375 bytes, a float32 and for at most 10000 sizes, got 4"});
  CHECK(problems_of({"-m", "0"}) == std::vector<std::string>{"-m: must be 1 to 1000000, got 0"});
  CHECK(problems_of({"-m", "2", "--compression", "gtopk"}) == std::vector<std::string>{"-m: must be 1 with --compression, got 2"});
  CHECK(problems_of({"-J", "/nowhere/a.json"}) == std::vector<std::string>{"-J: there is no folder /nowhere to write to"});
}

TEST_CASE("bench: a table has both buffers, and -J writes them with their runs as nccl-tests does") {
  const Settings s = settings_of({"-n", "4", "-b", "1M", "-i", "1M", "-e", "2M", "--dtype", "float16", "-I", "1"});
  std::ostringstream out;
  Table table(out, s);
  table.row(
      {.algorithm = "ring", .size_bytes = 1'000'000, .count = 500'000, .times_us = {100, 90, 130}, .out_of_place_us = {200, 100, 400}});
  std::istringstream lines(out.str());
  std::string line;
  std::getline(lines, line);
  // 1 MB in the medians of 200 and 100 us: 5 and 10 GB/s; busbw is 1.5 times that
  CHECK(tokens(line) == std::vector<std::string>{"1000000", "500000", "float16", "sum",    "-1",     "200.00", "5.00",
                                                 "7.50",    "0",      "100.00",  "400.00", "N/A",    "53.5",   "100.00",
                                                 "10.00",   "15.00",  "0",       "90.00",  "130.00", "N/A",    "15.9"});
  const auto json = nlohmann::json::parse(table.json());
  CHECK(json["version"] == 3);
  CHECK(json["args"][0] == "all_reduce_perf");
  CHECK(json["args"][1] == "-n");
  CHECK(json["config"]["step_bytes"] == 1 << 20);
  CHECK(json["config"]["devices"].size() == 4);
  const auto& result = json["results"].at(0);
  CHECK(result["type"] == "half");
  CHECK(result["root"] == "    -1");
  CHECK(result["out_of_place"]["time"] == 200);
  CHECK(result["out_of_place"]["bus_bw"] == 7.5);
  CHECK(result["in_place"]["alg_bw"] == 10);
  CHECK(result["in_place_per_iter"]["times_us"] == std::vector<double>{100, 90, 130});
  CHECK(json["average_bus_bandwidth"]["bandwidth"] == 11.25);
  CHECK(json["out_of_bounds"]["okay"] == "true");
}

TEST_CASE("bench: compressed all-reduces lose nothing of the gradients, for all compressions") {
  for (const char* name : {"gs_sgd", "gtopk", "sketched_sgd", "topk_allgather", "dense"}) {
    CAPTURE(name);
    const Heard heard = measured_on_threads({"-n", "3", "-b", "1K", "-e", "16K", "--iterations", "3", "--compression", name, "--k", "5%"});
    REQUIRE(heard.rows.size() == 3);
    for (const Row& row : heard.rows) {
      CHECK(row.wrong == 0);
      CHECK(row.times_us.size() == 3);
    }
  }
}

TEST_CASE("bench: compressions that cannot be run are refused, all at once") {
  CHECK(problems_of({"--compression", "gs_gsd", "--k", "0", "--columns", "some", "--rows", "0"}) ==
        std::vector<std::string>{"--columns: \"some\": write a count (1000) or a share of the elements (1%)",
                                 "--compression: unknown compression \"gs_gsd\", must be one of gs_sgd, gtopk, sketched_sgd, "
                                 "topk_allgather, dense (did you mean \"gs_sgd\"?)",
                                 "--k: must be at least 1, got 0"});
  CHECK(problems_of({"--compression", "gs_sgd", "--columns", "0", "--rows", "0"}) ==
        std::vector<std::string>{"--rows: must be 1 to 31, got 0", "--columns: must be 1 to 2147483647, got 0"});
  CHECK(problems_of({"--compression", "gtopk", "--k", "257"}).empty());  // all of them
  CHECK(problems_of({"--k", "1%"}) == std::vector<std::string>{"--k: only with --compression"});
  CHECK(problems_of({"--compression", "gtopk", "--collective", "allgather", "--dtype", "float16", "--op", "max", "--channels", "2"}) ==
        std::vector<std::string>{"--compression: compresses allreduce, not allgather", "--compression: compresses float32, not float16",
                                 "--compression: compresses sums, not max", "--channels: must be 1 with --compression, got 2"});
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
        measured_on_threads({"-n", "4", "--collective", collective, "--algorithm", algorithm.c_str(), "-b", "64", "--iterations", "1"});
    REQUIRE(heard.rows.size() == 1);
    CHECK(heard.rows[0].wrong == 0);
    const bool shared = std::string(collective).find("all") == 0 && std::string(collective) != "allreduce";
    if (std::string(collective) != "barrier")
      CHECK(heard.rows[0].count == (shared || std::string(collective) == "reduce_scatter" ? 4 : 16));
  }
}

TEST_CASE("bench: busbw factors are those of nccl-tests") {
  CHECK(bus_factor(Collective::allreduce, 4) == 1.5);
  CHECK(bus_factor(Collective::alltoall, 4) == 0.75);
  CHECK(bus_factor(Collective::broadcast, 4) == 1);
}

TEST_CASE("bench: back to back a row has the 13 fields of nccl-tests, and the header says what its time is") {
  const Settings s = settings_of({"-n", "4", "-b", "1M", "--iters", "7"});
  std::ostringstream out;
  Table table(out, s);
  table.begin("ring");
  table.row({.algorithm = "ring", .size_bytes = 1'000'000, .count = 250'000, .times_us = {100}, .out_of_place_us = {200}});
  std::istringstream lines(out.str());
  std::vector<std::string> last;
  for (std::string line; std::getline(lines, line);) last = tokens(line);
  CHECK(last == std::vector<std::string>{"1000000", "250000", "float32", "sum", "-1", "200.00", "5.00", "7.50", "0", "100.00", "10.00",
                                         "15.00", "0"});
  CHECK(out.str().find("i_min") == std::string::npos);
  const auto json = nlohmann::json::parse(table.json());
  CHECK(json["config"]["per_iter_timing"] == "false");
  CHECK(!json["results"].at(0).contains("in_place_per_iter"));
  CHECK(times_each_iteration(settings_of({"-b", "1M", "--trace", "unused.json"})));
  CHECK(!times_each_iteration(s));
  CHECK(timed_runs(s) == 1);
}

TEST_CASE("bench: a row reads like nccl-tests' with -I 1, and wrong data make the footer fail") {
  const Settings s = settings_of({"-n", "4", "-b", "1M", "-I", "1"});
  std::ostringstream out;
  Table table(out, s);
  table.row(
      {.algorithm = "ring", .size_bytes = 1'000'000, .count = 250'000, .times_us = {130, 100, 90}, .wrong = 2, .first_wrong = "rank 1"});
  table.footer();
  std::istringstream lines(out.str());
  std::string line;
  std::getline(lines, line);
  // 1 MB in the median time of 100 us is 10 GB/s; the mean is 106.67, the standard deviation 17.0
  CHECK(tokens(line) == std::vector<std::string>{"1000000", "250000", "float32", "sum", "-1", "100.00", "10.00", "15.00", "2", "90.00",
                                                 "130.00", "N/A", "15.9"});  // of three times none is the 99th percentile
  CHECK(out.str().find("# rank 1\n") != std::string::npos);
  CHECK(out.str().find("# Out of bounds values : 2 FAILED\n") != std::string::npos);
  CHECK(out.str().find("# Avg bus bandwidth    : 15\n") != std::string::npos);
  CHECK(table.wrong() == 2);
}

TEST_CASE("bench: a trace holds every operation of one run") {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / fmt::format("weft_bench_test_{}.json", ::getpid());
  const std::string path = file.string();
  const Heard heard = measured_on_threads({"-n", "2", "-b", "1K", "--iterations", "2", "--trace", path.c_str()});
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
  std::filesystem::remove(file);
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

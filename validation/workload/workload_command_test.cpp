#include "validation/workload/workload_command.hpp"

#include "collectives/transports/tcp.hpp"
#include "kernels/files/files.hpp"
#include "kernels/testing/problems_of.hpp"
#include "kernels/testing/scratch_folder.hpp"
#include "kernels/testing/shell.hpp"
#include "sim/json/json_text.hpp"

#include <filesystem>
#include <future>
#include <sstream>

#include <doctest/doctest.h>

namespace weft {
namespace {

// A scenario that trains a small net of measured layers, so that steps are short.
class SmallTraining {
 public:
  SmallTraining() {
    Json layers = Json::array();
    for (int i = 0; i < 4; ++i)
      layers.push_back({{"name", fmt::format("layer{}", i)}, {"parameters", 20'000 + 5'000 * i}, {"forward", "1ms"}, {"backward", "2ms"}});
    write_file(folder_ / "net.json", Json{{"schema", 1}, {"name", "small"}, {"batch", 4}, {"layers", layers}}.dump());
    Json scenario = {{"schema", 1},
                     {"name", "small"},
                     {"fabric", {{"type", "star"}, {"nodes", 3}, {"link", {{"bandwidth", "10Gbps"}, {"latency", "5us"}}}}},
                     {"workload",
                      {{"model", {{"file", "net.json"}}},
                       {"batch_per_gpu", 4},
                       {"device", "v100"},
                       {"optimizer", "none"},
                       {"engine", {"none", "ddp", "horovod", {{"name", "aiacc"}, {"streams", 2}, {"granularity", "64KiB"}}}},
                       {"algorithm", "ring"}}}};
    write_file(file(), scenario.dump());
  }
  std::string file() const { return (folder_ / "s.json").string(); }

 private:
  ScratchFolder folder_;
};

std::vector<std::string> refused(const WorkloadArguments& arguments) {
  std::ostringstream out;
  return problems_of([&] { run_workload(arguments, out); });
}

}  // namespace

TEST_CASE("workload: the steps of every engine run for real, over threads and tcp, and each takes what it computes at least") {
  const SmallTraining training;
  for (const char* transport : {"threads", "tcp"}) {
    CAPTURE(transport);
    std::ostringstream out;
    CHECK(run_workload({.file = training.file(), .transport = transport, .iterations = 3, .warmup = 1}, out) == 0);
    std::istringstream lines(out.str());
    std::string line;
    int rows = 0;
    while (std::getline(lines, line)) {
      if (line.starts_with("#")) continue;
      ++rows;
      std::istringstream cells(line);
      std::string engine, algorithm;
      double step_us = 0, compute_us = 0;
      cells >> engine >> algorithm >> step_us >> compute_us;
      CAPTURE(line);
      CHECK(compute_us >= 11'999);  // 4 x (1 + 2) ms; aiacc's streams take a little from backward
      CHECK(compute_us <= 12'500);
      CHECK(step_us >= compute_us);
    }
    CHECK(rows == 4);
  }
}

TEST_CASE("workload: compressed steps run for real, and lose nothing; each row says what its kernels took") {
  const SmallTraining training;
  for (const char* transport : {"threads", "tcp"}) {
    CAPTURE(transport);
    std::ostringstream out;
    CHECK(run_workload({.file = training.file(),
                        .set = {R"(/workload/engine=["ddp", {"name": "aiacc", "streams": 2, "granularity": "64KiB"}])",
                                R"(/workload/compression=["dense", "gtopk", "gs_sgd"])"},
                        .transport = transport,
                        .iterations = 2,
                        .warmup = 1},
                       out) == 0);  // what was sent and what is kept is compared in it
    std::istringstream lines(out.str());
    int rows = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("#")) continue;
      ++rows;
      CAPTURE(line);
      std::istringstream cells(line);
      std::string engine, algorithm, compression;
      double step_us = 0, compute_us = 0, exposed_us = 0, kernels_us = 0;
      for (cells >> engine; engine.back() != ','; engine += algorithm) cells >> algorithm;
      cells >> algorithm >> compression >> step_us >> compute_us >> exposed_us >> kernels_us;
      CHECK((kernels_us > 0) == (compression != "dense"));
      CHECK(step_us >= compute_us);
    }
    CHECK(rows == 6);
  }
}

TEST_CASE("workload: processes that would run other steps, or know another secret, say so before they begin") {
  const SmallTraining training;
  const auto said = [&](const std::string& first, const std::string& second, const std::string& secret = {}) {
    std::vector<std::string> hosts;
    {
      const TcpListener one("127.0.0.1:0"), other("127.0.0.1:0");  // whose ports are free then
      hosts = {one.address(), other.address()};
    }
    const auto rank = [&](Rank own, const std::string& set, const std::string& file) {
      std::ostringstream out;
      try {
        run_workload({.file = training.file(),
                      .set = {"/workload/ranks=2", set},
                      .transport = "tcp",
                      .iterations = 1,
                      .warmup = 0,
                      .timeout_s = 3,
                      .hosts = hosts,
                      .rank = own,
                      .secret_file = file},
                     out);
      } catch (const std::exception& error) {
        return std::string(error.what());
      }
      return std::string();
    };
    auto beside = std::async(std::launch::async, rank, 1, second, secret);
    const std::string own = rank(0, first, "");
    return own + beside.get();
  };
  const std::string ddp = "/workload/engine=ddp";
  CHECK(said(ddp, ddp).empty());
  for (const char* other : {"/workload/engine=horovod", R"(/workload/engine=["ddp", "none"])"}) {
    CAPTURE(other);
    CHECK(said(ddp, other).find("workload and engines") != std::string::npos);
  }
  write_file(training.file() + ".secret", "sesame\n");
  CHECK(said(ddp, ddp, training.file() + ".secret").find("do not have the same job's secret") != std::string::npos);
  std::ostringstream out;
  CHECK_THROWS_WITH_AS(run_workload({.file = training.file(), .transport = "tcp", .secret_file = "s"}, out),
                       "--secret-file: needs --hosts; processes that weft bench starts itself need none", InputError);
}

TEST_CASE("workload: byteps runs for real, its servers beside the workers and on hosts of their own") {
  const SmallTraining training;
  for (const char* transport : {"threads", "tcp"}) {
    CAPTURE(transport);
    std::ostringstream out;
    CHECK(run_workload({.file = training.file(),
                        .set = {"/fabric/nodes=5", "/workload/ranks=3",
                                R"(/workload/engine=[{"name": "byteps", "partition": "32KiB"}, "none",
                                   {"name": "byteps", "servers": 2, "server_hosts": "extra"}])"},
                        .transport = transport,
                        .iterations = 2,
                        .warmup = 0},
                       out) == 0);
    CHECK(out.str().find("byteps(servers=2,server_hosts=extra)") != std::string::npos);
    CHECK(out.str().find("3 ranks over ") != std::string::npos);
  }
  CHECK(refused({.file = training.file(),
                 .set = {"/fabric/nodes=5", "/workload/ranks=3",
                         R"(/workload/engine={"name": "byteps", "server_hosts": "extra", "servers": 2})"},
                 .transport = "tcp",
                 .hosts = {"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"},
                 .rank = 0}) == std::vector<std::string>{"--hosts: must have the addresses of 3 ranks and 2 servers behind them, got 3"});
}

TEST_CASE("workload: a straggler's steps take longer, for all ranks") {
  const SmallTraining training;
  const auto median_us = [&](const std::string& stragglers) {
    std::ostringstream out;
    run_workload(
        {.file = training.file(), .set = {"/workload/engine=none", "/workload/stragglers=" + stragglers}, .iterations = 3, .warmup = 0},
        out);
    std::istringstream lines(out.str());
    std::string line;
    while (std::getline(lines, line) && line.starts_with("#")) continue;
    std::istringstream cells(line);
    std::string engine, algorithm;
    double step_us = 0;
    cells >> engine >> algorithm >> step_us;
    return step_us;
  };
  CHECK(median_us(R"({"spread": 20, "ranks": [1]})") > 1.5 * median_us(R"({"spread": 0})"));
}

TEST_CASE("workload: settings are chosen by real steps") {
  const SmallTraining training;
  std::ostringstream out;
  CHECK(run_workload({.file = training.file(),
                      .set = {"/workload/engine=aiacc",
                              R"(/sweep={"/workload/engine/granularity": ["32KiB", "256KiB"], "/workload/engine/streams": [1, 2]})"},
                      .transport = "tcp",
                      .iterations = 2,
                      .warmup = 0,
                      .tune = 6},
                     out) == 0);
  CHECK(out.str().find("# 4 real steps chose among 4 points by ensemble") != std::string::npos);  // then all have been tried
  CHECK(out.str().find("# best: /workload/engine/granularity=") != std::string::npos);
}

TEST_CASE("workload: a rank that is killed is named, and the run ends with status 1") {
  const SmallTraining training;
  const std::string command = fmt::format(
      "{} bench --workload {} --transport tcp --iterations 100000 --timeout 5 2>&1 & run=$!; "
      "for i in $(seq 100); do sleep 0.1; ranks=$(pgrep -P $run); [ $(echo $ranks | wc -w) -ge 3 ] && break; done; "
      "sleep 1; kill -9 $(echo $ranks | cut -d' ' -f2) || kill $run; wait $run",
      WEFT_BINARY, training.file());
  const Ran ran = shell(command);
  CAPTURE(ran.printed);
  CHECK(ran.status == 1);
  CHECK(ran.printed.find("rank 1") != std::string::npos);
}

TEST_CASE("workload: what cannot be run is refused, all at once") {
  const SmallTraining training;
  CHECK(refused({.file = training.file(), .transport = "nccl", .iterations = 0, .timeout_s = 0, .rank = 2}) ==
        std::vector<std::string>{"--iterations: must be at least 1, got 0", "--timeout: must be above 0, got 0",
                                 "--transport: unknown transport \"nccl\"; allowed: \"threads\", \"tcp\", \"mpi\" with --workload",
                                 "--rank: needs --transport tcp and --hosts with the address of every rank, got rank 2 of 0"});
  CHECK(refused({.file = training.file(), .set = {"/workload/dtype=float16"}}).size() == 1);
  CHECK(refused({.file = training.file(), .set = {R"(/workload/compression={"name": "gs_sgd", "memory": "sketch", "k": "1%"})"}}) ==
        std::vector<std::string>{training.file() +
                                 ": /workload/compression: a real run of training steps keeps errors by gradient: \"memory\" must be "
                                 "\"dense\", got \"sketch\""});
  CHECK(refused({.file = training.file(), .set = {R"(/workload={"algorithm": "ring", "size": "1MiB"})"}}) ==
        std::vector<std::string>{training.file() + ": /workload/model: missing: --workload runs training steps"});
}

}  // namespace weft

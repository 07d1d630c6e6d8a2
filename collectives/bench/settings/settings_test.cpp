#include "collectives/bench/settings/settings.hpp"

#include "collectives/bench/testing.hpp"
#include "kernels/testing/scratch_folder.hpp"

#include <cstdlib>
#include <filesystem>

#include <doctest/doctest.h>

using namespace weft;
using namespace weft::bench;

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
  CHECK(settings_of({"-n", "3"}).ranks == 3);
  CHECK(settings_of({"-t", "2", "-g", "3"}).ranks == 6);
  CHECK(settings_of({"-g", "4", "--iters", "7"}).iterations == 7);
  CHECK(settings_of({"-d", "half", "-o", "max"}).dtype == DType::float16);
  CHECK(settings_of({"-d", "double"}).dtype == DType::float64);
  CHECK(settings_of({"--collective", "broadcast", "--algorithm", "chain", "-r", "1"}).root == 1);
  CHECK_THROWS_WITH_AS(settings_of({"-g", "4", "-n", "20"}),
                       "-n: is the number of ranks here, and of iterations in nccl-tests: beside -t, -g or --ranks write --iters",
                       InputError);
  CHECK_THROWS_WITH_AS(settings_of({"-g", "4", "--ranks", "4"}), "--ranks: follows from -t and -g: leave one of them out", InputError);
}

TEST_CASE("bench: what is no flag is named, with the one that was meant and all that there are") {
  const auto said = [](const std::vector<std::string>& flags) {
    const std::vector<std::string> problems = problems_of(flags);
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

TEST_CASE("bench: a seed is a whole number that is not negative, in decimal digits") {
  CHECK(settings_of({"--transport", "udp", "--seed", "18446744073709551615"}).in_network.faults.seed == 18'446'744'073'709'551'615u);
  CHECK(settings_of({"--transport", "udp"}).in_network.faults.seed == UdpSettings{}.faults.seed);
  for (const char* seed : {"-1", "1x", "1.5", " 1", "18446744073709551616"}) {
    CAPTURE(seed);
    CHECK(problems_of({"--transport", "udp", "--seed", seed}) ==
          std::vector<std::string>{fmt::format("--seed: must be a whole number that is not negative, got {}", seed)});
  }
  CHECK(problems_of({"--seed", "-1"}) == std::vector<std::string>{"--seed: only for --transport udp"});
}

TEST_CASE("bench: the secret of a job over several machines comes from a file or the environment, and is not in what is printed") {
  const ScratchFolder folder;
  const std::string file = folder.file("secret", "sesame\n");
  ::setenv("WEFT_JOB_SECRET", "from the environment", 1);
  const Settings of_file = settings_of({"--transport", "tcp", "--hosts", "a:1,b:1", "--rank", "0", "--secret-file", file});
  CHECK(of_file.secret == "sesame");
  CHECK(job_of(of_file).find("sesame") == std::string::npos);
  CHECK(settings_of({"--transport", "tcp", "--hosts", "a:1,b:1", "--rank", "0"}).secret == "from the environment");
  ::unsetenv("WEFT_JOB_SECRET");
  CHECK(settings_of({"--transport", "tcp", "--hosts", "a:1,b:1", "--rank", "0"}).secret == "");
  CHECK(
      problems_of({"--transport", "tcp", "--secret-file", file}) ==
      std::vector<std::string>{"--secret-file: needs --hosts or --meeting; processes that weft bench starts itself share a random secret"});
  std::filesystem::remove(file);
  CHECK(problems_of({"--transport", "tcp", "--hosts", "a:1,b:1", "--rank", "0", "--secret-file", file}) ==
        std::vector<std::string>{"--secret-file: the job's secret cannot be read from " + file + ": No such file or directory"});
}

TEST_CASE(
    "bench: what processes say to each other of their job has the settings of two_level, so that one with others is refused at once") {
  const auto job = [](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"--algorithm", "two_level", "-t", "4", "--group", "2"});
    return job_of(settings_of(flags));
  };
  const std::string plain = job({});
  CHECK(plain.ends_with(" --group 2"));
  CHECK(job({"--inner", "ring"}) == plain + " --inner ring");
  CHECK(job({"--up", "chain"}) == plain + " --up chain");
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

TEST_CASE("bench: a file that it reads, or did not write, is not replaced by -J and --trace") {
  const ScratchFolder folder;
  const std::string thesis = folder.file("thesis.txt", "my thesis").string(), secret = folder.file("secret", "1234").string();
  CHECK(problems_of({"-J", thesis, "--trace", thesis}) ==
        std::vector<std::string>{
            fmt::format("-J {0}: {0} exists and is not a result of weft bench; write to another place, or give --force to replace it",
                        thesis),
            fmt::format("--trace {0}: {0} exists and is not a trace of weft bench; write to another place, or give --force to replace it",
                        thesis)});
  CHECK(problems_of({"-J", thesis, "--force"}).empty());
  CHECK(problems_of({"--transport", "tcp", "--hosts", "127.0.0.1:4001,127.0.0.1:4002", "--rank", "0", "--secret-file", secret, "-J", secret,
                     "--force"}) ==
        std::vector<std::string>{fmt::format("-J {0}: {0} is read by this command; write to another file", secret)});
  CHECK(problems_of({"-J", folder.file("old.json", R"({"version": 3, "tool": "weft bench"})").string(), "--trace",
                     folder.file("old.jsonl", R"({"channels":1,"format":"weft trace"})").string()})
            .empty());
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
  CHECK(problems_of({"--compression", "gtopk", "--rows", "3", "--k", "1%"}) == std::vector<std::string>{"--rows: gtopk has none"});
  CHECK(problems_of({"--compression", "dense", "--k", "1%"}) == std::vector<std::string>{"--k: dense has none"});
  CHECK(problems_of({"--compression", "gtopk", "--collective", "allgather", "--dtype", "float16", "--op", "max", "--channels", "2"}) ==
        std::vector<std::string>{"--compression: compresses allreduce, not allgather", "--compression: compresses float32, not float16",
                                 "--compression: compresses sums, not max", "--channels: must be 1 with --compression, got 2"});
}

#include "validation/compare/compare_command.hpp"

#include "collectives/bench/start.hpp"
#include "kernels/base/statistics.hpp"
#include "kernels/files/files.hpp"
#include "sim/cases/cases.hpp"
#include "sim/cases/describe.hpp"
#include "sim/engine/in_child.hpp"
#include "sim/experiment.hpp"
#include "sim/results/version.hpp"
#include "sim/scenario/scenario_fields.hpp"
#include "validation/compare/comparison.hpp"
#include "validation/measurements/trace.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <span>
#include <utility>

#include <unistd.h>

namespace weft {
namespace {

namespace fs = std::filesystem;

bool is_flag(std::string_view argument, std::string_view flag) {
  return argument.starts_with(flag) && (argument.size() == flag.size() || argument[flag.size()] == '=');
}

// The arguments without these flags and their values.
std::vector<std::string> without(std::span<const char* const> arguments, std::initializer_list<std::string_view> flags) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const bool drop = std::any_of(flags.begin(), flags.end(), [&](std::string_view flag) { return is_flag(argument, flag); });
    if (!drop)
      out.emplace_back(argument);
    else if (argument.find('=') == argument.npos)
      ++i;
  }
  return out;
}

// Where weft_bench leaves its trace.
class TemporaryFile {
 public:
  TemporaryFile() : path_((fs::temp_directory_path() / "weft_compare_XXXXXX").string()) {
    const int fd = ::mkstemp(path_.data());
    if (fd < 0) throw RunError(fmt::format("{}: cannot be created: {}", path_, std::strerror(errno)));
    ::close(fd);
  }
  ~TemporaryFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

bool is_library(const std::string& algorithm) { return algorithm == "mpi" || algorithm == "nccl"; }

std::vector<AlgorithmChoice> schedules_of(const bench::Settings& s) {
  std::vector<AlgorithmChoice> out;
  std::vector<std::string> problems;
  const std::vector<std::string> known = algorithm_names(s.collective);
  for (const std::string& name : s.algorithms) {
    if (is_library(name)) continue;
    if (find_algorithm(s.collective, name))
      out.push_back({name, bench::request_of(s, name).settings});
    else
      problems.push_back("--algorithm: " + unknown_name("algorithm", name, known));
  }
  if (out.empty() && problems.empty())
    problems.push_back(fmt::format("--compare: {} is a library's own, so there is no schedule to simulate", fmt::join(s.algorithms, ", ")));
  if (!problems.empty()) throw InputError(problems);
  return out;
}

// Kernels at the rates of one core of the machine that they were measured on.
std::vector<CompressionChoice> compressions_of(const bench::Settings& settings) {
  if (!settings.compression) return {};
  return {{.settings = *settings.compression}};
}

struct Asked {
  bench::Settings settings;
  Scenario scenario;
};

// Nothing where help was asked for and printed. Throws InputError with the problems of both.
std::optional<Asked> read(int argc, const char* const* argv) {
  Asked out;
  std::vector<std::string> problems;
  const auto noting_problems = [&](const auto& action) {
    try {
      action();
    } catch (const InputError& error) {
      for (const std::string& problem : error.problems()) problems.push_back("weft bench: " + problem);
    }
  };
  bool help = false;
  noting_problems([&] {
    const auto settings = bench::parse(argc, argv);
    help = !settings;
    if (settings) out.settings = *settings;
  });
  if (help) return std::nullopt;
  if (!problems.empty()) {  // the scenario's own are still to be said, with a workload that is in order
    for (int i = 1; i < argc; ++i)
      if (const std::string_view argument = argv[i]; is_flag(argument, "--compare"))
        out.settings.compare = argument.find('=') != argument.npos ? argument.substr(argument.find('=') + 1)
                               : i + 1 < argc                      ? argv[i + 1]
                                                                   : "";
    out.settings.ranks = 1;
  }
  if (!out.settings.compare.empty()) noting_problems([&] { out.scenario = scenario_of(out.settings); });
  if (!problems.empty()) throw InputError(problems);
  return out;
}

SimTime simulated(const Scenario& scenario, const std::string& algorithm, std::int64_t size_bytes) {
  for (const AlgorithmChoice& choice : scenario.workload.algorithms)
    if (choice.name == algorithm)
      return SimTime{std::stoll(in_child([&] { return std::to_string(simulate(scenario, choice, Bytes{size_bytes}).time.ps); }))};
  check(false, "{} was measured and not asked for", algorithm);
  return {};
}

std::string header(const Asked& asked) {
  const Scenario& s = asked.scenario;
  const std::string links = describe_links(s.fabric.spec);
  std::string out =
      fmt::format("\n# measured here over {}, simulated on {} ({})\n", asked.settings.transport, asked.settings.compare, s.name);
  out += fmt::format("#   simulated: fabric {}{}{}; hardware {}, network {}, order {}, seed {}\n", describe(s.fabric.spec, s.server),
                     links.empty() ? "" : "; ", links, describe(s.hardware), name_of(s.network), order_policy, s.seed);
  if (!s.workload.compressions.empty())
    out += fmt::format("#   compression {}, its kernels simulated at the rates of one core\n", label(*asked.settings.compression));
  return out + fmt::format("#   {} of {} on {} ranks, channels {}, pieces {}; measured: median of {} runs of the slowest rank's time\n#\n",
                           name_of(s.workload.collective), name_of(s.workload.dtype), s.workload.ranks, asked.settings.cut.channels,
                           asked.settings.cut.pieces, asked.settings.iterations);
}

}  // namespace

bool asks_to_compare(int argc, const char* const* argv) {
  return std::any_of(argv + 1, argv + argc, [](const char* argument) { return is_flag(argument, "--compare"); });
}

Scenario scenario_of(const bench::Settings& settings) {
  const Workload workload{.collective = settings.collective,
                          .algorithms = schedules_of(settings),
                          .sizes = {Bytes{settings.first_bytes}},
                          .dtype = settings.dtype,
                          .op = settings.op,
                          .root = settings.root,
                          .ranks = settings.ranks,
                          .compressions = compressions_of(settings)};
  const std::vector<Case> cases = load_cases(settings.compare, {{"/workload", Form<Workload>::write(workload)}});
  std::vector<std::string> problems;
  if (cases.size() != 1 || !cases.front().axes.empty())
    problems.push_back(
        fmt::format("{}: /sweep: one cluster is to be simulated, and this stands for {} cases", settings.compare, cases.size()));
  const Scenario& scenario = cases.front().scenario;
  const auto* bigraph = std::get_if<BiGraph>(&scenario.fabric.spec);
  if (bigraph && settings.switches > 0 && settings.switches != bigraph->switches)
    problems.push_back(fmt::format("{}: /fabric/switches: must be those of --switches, {}, got {}", settings.compare, settings.switches,
                                   bigraph->switches));
  if (!problems.empty()) throw InputError(problems);
  return scenario;
}

int compare_command(int argc, const char* const* argv, std::ostream& out) {
  auto asked = read(argc, argv);
  if (!asked) return 0;
  const TemporaryFile trace;
  std::vector<std::string> arguments = without({argv + 1, argv + argc}, {"--compare", "--trace"});
  arguments.insert(arguments.end(), {"--trace", trace.path()});
  out.flush();
  if (const int status = bench::run_bench(arguments); status != 0) return status;

  if (fs::file_size(trace.path()) == 0) return 0;  // not rank 0's process, which hears of every time
  const Trace measured = read_trace(trace.path());
  bench::Settings& settings = asked->settings;
  if (!settings.trace.empty()) write_file(settings.trace, read_file(trace.path()));
  if (std::exchange(settings.ranks, measured.ranks) != settings.ranks) asked->scenario = scenario_of(settings);
  std::vector<Compared> rows;
  for (const TraceRun& run : measured.runs) {
    if (is_library(run.algorithm)) continue;
    rows.push_back(
        {run.size_bytes, run.algorithm, median(run.times_us), simulated(asked->scenario, run.algorithm, run.size_bytes).microseconds()});
  }
  out << header(*asked) << to_table(rows) << std::flush;
  return 0;
}

}  // namespace weft

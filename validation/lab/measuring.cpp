#include "validation/lab/measuring.hpp"

#include "kernels/files/files.hpp"
#include "sim/cases/jobs.hpp"
#include "validation/lab/in_network.hpp"

#include <algorithm>
#include <array>

namespace weft::lab {
namespace {

constexpr double fewest_runs = 3, max_runs = 50;
constexpr const char* name_of_steps = "steps";
constexpr const char* begin_of_steps = "# measured: ";

bool has_flag(const std::vector<std::string>& arguments, std::string_view flag) {
  return std::ranges::any_of(arguments, [&](const std::string& a) { return a == flag || a.starts_with(std::string(flag) + "="); });
}

// Rank by rank, then the extra servers. A workload's algorithms may be placed differently.
std::vector<Host> hosts_of(const Scenario& scenario, const AlgorithmChoice& algorithm, const Plan& plan) {
  std::vector<Host> out;
  for (const int endpoint : placement_of_workload(scenario, algorithm)) out.push_back(plan.hosts[static_cast<std::size_t>(endpoint)]);
  return out;
}

// The ranks of all engines, and behind them the parameter servers of the engine that has most of them.
std::vector<Host> hosts_of_steps(const Scenario& scenario, const Plan& plan) {
  std::vector<Host> most;
  for (const EngineChoice& engine : scenario.workload.training.engines) {
    Scenario one = scenario;
    one.workload.training.engines = {engine};
    if (std::vector<Host> hosts = hosts_of(one, scenario.workload.algorithms.front(), plan); hosts.size() > most.size())
      most = std::move(hosts);
  }
  return most;
}

}  // namespace

std::string short_label(const Workload& w, const AlgorithmChoice& algorithm) {
  const auto same = std::ranges::count(w.algorithms, algorithm.name, &AlgorithmChoice::name);
  return is_in_network(algorithm.name) && same == 1 ? algorithm.name : label(algorithm);
}

void refuse_what_the_scenario_says(const std::vector<std::string>& arguments) {
  constexpr std::array taken = {"--transport",
                                "--algorithm",
                                "--collective",
                                "-n",
                                "--ranks",
                                "-b",
                                "--minbytes",
                                "-e",
                                "--maxbytes",
                                "--dtype",
                                "--op",
                                "--root",
                                "--channels",
                                "--pieces",
                                "--group",
                                "--inner",
                                "--servers",
                                "--hosts",
                                "--rank",
                                "--trace",
                                "--switches",
                                "-f",
                                "--stepfactor",
                                "-i",
                                "--stepbytes",
                                "--in-place",
                                "--server-hosts",
                                "--payload",
                                "--packet",
                                "--timeout",
                                "--window",
                                "--initial-window",
                                "--mtu",
                                "--aggregators",
                                "--slots",
                                "--below",
                                "--passing",
                                "--loss",
                                "--seed",
                                "--compression",
                                "--rows",
                                "--columns",
                                "--k",
                                "--stream-rate",
                                "--workload",
                                "--set",
                                "--tune"};
  std::vector<std::string> problems;
  for (const char* flag : taken)
    if (has_flag(arguments, flag)) problems.push_back(fmt::format("weft lab: {} is the scenario's to say, or the lab's", flag));
  if (!problems.empty()) throw InputError(std::move(problems));
}

Measuring::Measuring(const LabArguments& arguments, const Scenario& scenario, const Fabric& fabric, const Plan& plan)
    : arguments_(arguments), scenario_(scenario), fabric_(fabric), plan_(plan) {
  if (arguments.output.empty()) return;
  refuse_to_replace(outputs(), {arguments.scenario}, arguments.force);
  std::error_code failed;
  std::filesystem::create_directories(arguments.output, failed);
  if (failed) throw InputError(fmt::format("-o {}: cannot be written to: {}", arguments.output, failed.message()));
}

Measurement Measuring::measure(const AlgorithmChoice& algorithm, Bytes size, double expected_us) const {
  const std::string name = name_of_run(algorithm, size);
  const std::string table =
      run_bench(is_in_network(algorithm.name) ? over_udp(algorithm, size, expected_us) : over_tcp(algorithm, size, expected_us, name));
  if (!arguments_.output.empty()) write_file(file_of(name, ".txt"), table);
  const Measurements read = parse_measurements(table, name, {.collective = std::string(name_of(scenario_.workload.collective))});
  if (read.rows.empty()) throw RunError(fmt::format("weft bench printed no result:\n{}", table));
  return read.rows.front();
}

std::vector<MeasuredStep> Measuring::measure_steps(std::size_t rows, double expected_us) const {
  std::vector<std::string> arguments = {"--workload", arguments_.scenario};
  for (const std::string& setting : arguments_.set) arguments.insert(arguments.end(), {"--set", setting});
  add_stream_rate(arguments);
  add_how_often(expected_us, arguments);
  const std::string table =
      run_bench({.program = {"weft", "bench"}, .nodes = hosts_of_steps(scenario_, plan_), .arguments = std::move(arguments)});
  if (!arguments_.output.empty()) write_file(file_of(name_of_steps, ".txt"), table);
  std::vector<MeasuredStep> steps = read_steps(table);
  if (steps.size() != rows) throw RunError(fmt::format("weft bench printed {} rows of {}:\n{}", steps.size(), rows, table));
  return steps;
}

std::string Measuring::name_of_run(const AlgorithmChoice& algorithm, Bytes size) const {
  return fmt::format("{}_{}", short_label(scenario_.workload, algorithm), to_string(size));
}

std::filesystem::path Measuring::file_of(const std::string& run, const char* kind) const {
  return std::filesystem::path(arguments_.output) / (run + kind);
}

std::vector<OutputFile> Measuring::outputs() const {
  std::vector<OutputFile> out;
  const std::string argument = "-o " + arguments_.output;
  if (scenario_.workload.training.given())
    return {{file_of(name_of_steps, ".txt"), argument, "a table of weft bench --workload",
             [](std::string_view text) { return text.starts_with(begin_of_steps); }}};
  for (const AlgorithmChoice& algorithm : scenario_.workload.algorithms)
    for (const Bytes size : scenario_.workload.sizes) {
      const std::string name = name_of_run(algorithm, size);
      out.push_back({file_of(name, ".txt"), argument, "a table of weft bench",
                     [](std::string_view text) { return text.find("# weft bench: ") != text.npos; }});
      if (!is_in_network(algorithm.name))
        out.push_back({file_of(name, ".json"), argument, "a trace of weft bench",
                       [](std::string_view text) { return text.substr(0, text.find('\n')).find("\"weft trace\"") != text.npos; }});
    }
  return out;
}

BenchRun Measuring::over_udp(const AlgorithmChoice& algorithm, Bytes size, double expected_us) const {
  InNetworkBench bench = in_network_bench(scenario_, algorithm, fabric_, plan_);
  BenchRun out{.transport = "udp", .nodes = std::move(bench.nodes), .arguments = std::move(bench.arguments)};
  add_what_all_have(size, expected_us, out.arguments);
  return out;
}

BenchRun Measuring::over_tcp(const AlgorithmChoice& algorithm, Bytes size, double expected_us, const std::string& name) const {
  const Workload& w = scenario_.workload;
  const AlgorithmSettings& s = algorithm.settings;
  std::vector<std::string> out = {
      "--algorithm", algorithm.name,         "--collective", std::string(name_of(w.collective)), "--op",     std::string(name_of(w.op)),
      "--root",      std::to_string(w.root), "--channels",   std::to_string(s.channels),         "--pieces", std::to_string(pieces_of(s))};
  const auto add = [&](std::initializer_list<std::string> more) { out.insert(out.end(), more); };
  for (const CompressionChoice& c : w.compressions)
    if (c.compresses()) {
      add({"--compression", c.settings.name, "--k", weft::to_string(c.settings.k)});
      if (sends_sketches(c.settings.name))
        add({"--rows", std::to_string(c.settings.rows), "--columns", weft::to_string(c.settings.columns)});
    }
  if (s.group > 0) add({"--group", std::to_string(s.group)});
  if (!s.inner.empty()) add({"--inner", s.inner});
  if (!s.up.empty()) add({"--up", s.up});
  if (!s.down.empty()) add({"--down", s.down});
  if (s.servers > 0) add({"--servers", std::to_string(s.servers)});
  if (extra_servers(s) > 0) add({"--server-hosts", "extra"});
  if (const auto* bigraph = std::get_if<BiGraph>(&scenario_.fabric.spec)) add({"--switches", std::to_string(bigraph->switches)});
  if (!arguments_.output.empty()) add({"--trace", std::filesystem::absolute(file_of(name, ".json")).string()});
  add_stream_rate(out);
  add_what_all_have(size, expected_us, out);
  return {.nodes = hosts_of(scenario_, algorithm, plan_), .arguments = std::move(out)};
}

void Measuring::add_what_all_have(Bytes size, double expected_us, std::vector<std::string>& out) const {
  out.insert(out.end(), {"-b", std::to_string(size.count), "--dtype", std::string(name_of(scenario_.workload.dtype)), "--in-place"});
  add_how_often(expected_us, out);
}

void Measuring::add_stream_rate(std::vector<std::string>& out) const {
  if (const BitsPerSecond rate = scenario_.hardware.stream_rate; rate.count > 0)
    out.insert(out.end(), {"--stream-rate", weft::to_string(rate)});
}

void Measuring::add_how_often(double expected_us, std::vector<std::string>& out) const {
  const auto add = [&](std::initializer_list<std::string> more) { out.insert(out.end(), more); };
  if (!has_flag(arguments_.bench, "-w") && !has_flag(arguments_.bench, "--warmup")) add({"-w", "1"});
  if (!has_flag(arguments_.bench, "--iterations"))
    add({"--iterations", fmt::format("{:.0f}", std::clamp(arguments_.row_s * 1e6 / expected_us, fewest_runs, max_runs))});
  // What is simulated is one collective by itself; training steps are timed one by one anyway.
  const bool of_steps = !out.empty() && out.front() == "--workload";
  if (!of_steps && !has_flag(arguments_.bench, "-I") && !has_flag(arguments_.bench, "--per_iter_timing")) add({"-I", "1"});
  out.insert(out.end(), arguments_.bench.begin(), arguments_.bench.end());
}

}  // namespace weft::lab

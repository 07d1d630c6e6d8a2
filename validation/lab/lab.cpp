#include "validation/lab/lab.hpp"

#include "sim/results/output_files.hpp"
#include "sim/scenario/files.hpp"
#include "sim/scenario/jobs.hpp"
#include "sim/scenario/sized.hpp"
#include "validation/fit/fit.hpp"
#include "validation/lab/compare.hpp"
#include "validation/lab/in_network.hpp"
#include "validation/lab/network.hpp"
#include "validation/lab/ranks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <ostream>

namespace weft {
namespace {

constexpr double fewest_runs = 3, most_runs = 50;

bool has_flag(const std::vector<std::string>& arguments, std::string_view flag) {
  return std::ranges::any_of(arguments, [&](const std::string& a) { return a == flag || a.starts_with(std::string(flag) + "="); });
}

// Settings of datagrams would make a table wide: they are said once above it where they need not tell algorithms apart.
std::string short_label(const Workload& w, const AlgorithmChoice& algorithm) {
  const auto same = std::ranges::count(w.algorithms, algorithm.name, &AlgorithmChoice::name);
  return is_in_network(algorithm.name) && same == 1 ? algorithm.name : label(algorithm);
}

// What the scenario says, weft bench must not be told otherwise.
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
                                "--servers",
                                "--hosts",
                                "--rank",
                                "--trace",
                                "--switches",
                                "-f",
                                "--stepfactor",
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
                                "--k"};
  std::vector<std::string> problems;
  for (const char* flag : taken)
    if (has_flag(arguments, flag)) problems.push_back(fmt::format("weft lab: {} is the scenario's to say, or the lab's", flag));
  if (!problems.empty()) throw InputError(std::move(problems));
}

// Rank by rank, then the extra servers. A workload's algorithms may be placed differently.
std::vector<lab::Host> hosts_of(const Scenario& scenario, const AlgorithmChoice& algorithm, const lab::Plan& plan) {
  std::vector<lab::Host> out;
  for (const int endpoint : placement_of_workload(scenario, algorithm)) out.push_back(plan.hosts[static_cast<std::size_t>(endpoint)]);
  return out;
}

class Measuring {
 public:
  Measuring(const LabArguments& arguments, const Scenario& scenario, const Fabric& fabric, const lab::Plan& plan)
      : arguments_(arguments), scenario_(scenario), fabric_(fabric), plan_(plan) {
    if (arguments.output.empty()) return;
    refuse_to_replace(outputs(), {arguments.scenario}, arguments.force);
    std::filesystem::create_directories(arguments.output);
  }

  // `expected_us` decides how often it is run.
  Measurement measure(const AlgorithmChoice& algorithm, Bytes size, double expected_us) const {
    const std::string name = name_of_run(algorithm, size);
    const std::string table = lab::run_bench(is_in_network(algorithm.name) ? over_udp(algorithm, size, expected_us)
                                                                           : over_tcp(algorithm, size, expected_us, name));
    if (!arguments_.output.empty()) write_file(file_of(name, ".txt"), table);
    const Measurements read = parse_measurements(table, name, {.collective = std::string(name_of(scenario_.workload.collective))});
    if (read.rows.empty()) throw RunError(fmt::format("weft bench printed no result:\n{}", table));
    return read.rows.front();
  }

 private:
  std::string name_of_run(const AlgorithmChoice& algorithm, Bytes size) const {
    return fmt::format("{}_{}", short_label(scenario_.workload, algorithm), to_string(size));
  }
  std::filesystem::path file_of(const std::string& run, const char* kind) const {
    return std::filesystem::path(arguments_.output) / (run + kind);
  }
  std::vector<OutputFile> outputs() const {
    std::vector<OutputFile> out;
    const std::string argument = "-o " + arguments_.output;
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

  lab::BenchRun over_udp(const AlgorithmChoice& algorithm, Bytes size, double expected_us) const {
    lab::InNetworkBench bench = lab::in_network_bench(scenario_, algorithm, fabric_, plan_);
    lab::BenchRun out{"udp", std::move(bench.nodes), std::move(bench.arguments)};
    add_what_all_have(size, expected_us, out.arguments);
    return out;
  }

  lab::BenchRun over_tcp(const AlgorithmChoice& algorithm, Bytes size, double expected_us, const std::string& name) const {
    const Workload& w = scenario_.workload;
    const AlgorithmSettings& s = algorithm.settings;
    std::vector<std::string> out = {"--algorithm",  algorithm.name,
                                    "--collective", std::string(name_of(w.collective)),
                                    "--op",         std::string(name_of(w.op)),
                                    "--root",       std::to_string(w.root),
                                    "--channels",   std::to_string(s.channels),
                                    "--pieces",     std::to_string(pieces_of(s))};
    const auto add = [&](std::initializer_list<std::string> more) { out.insert(out.end(), more); };
    for (const CompressionChoice& c : w.compressions)
      if (c.compresses()) {
        add({"--compression", c.settings.name, "--k", weft::to_string(c.settings.k)});
        if (sends_sketches(c.settings.name))
          add({"--rows", std::to_string(c.settings.rows), "--columns", weft::to_string(c.settings.columns)});
      }
    if (s.group > 0) add({"--group", std::to_string(s.group)});
    if (s.servers > 0) add({"--servers", std::to_string(s.servers)});
    if (extra_servers(s) > 0) add({"--server-hosts", "extra"});
    if (const auto* bigraph = std::get_if<BiGraph>(&scenario_.fabric.spec)) add({"--switches", std::to_string(bigraph->switches)});
    if (!arguments_.output.empty()) add({"--trace", std::filesystem::absolute(file_of(name, ".json")).string()});
    add_what_all_have(size, expected_us, out);
    return {"tcp", hosts_of(scenario_, algorithm, plan_), std::move(out)};
  }

  void add_what_all_have(Bytes size, double expected_us, std::vector<std::string>& out) const {
    const auto add = [&](std::initializer_list<std::string> more) { out.insert(out.end(), more); };
    add({"-b", std::to_string(size.count), "--dtype", std::string(name_of(scenario_.workload.dtype)), "--in-place"});
    if (!has_flag(arguments_.bench, "-w") && !has_flag(arguments_.bench, "--warmup")) add({"-w", "1"});
    if (!has_flag(arguments_.bench, "--iterations"))
      add({"--iterations", fmt::format("{:.0f}", std::clamp(arguments_.row_s * 1e6 / expected_us, fewest_runs, most_runs))});
    out.insert(out.end(), arguments_.bench.begin(), arguments_.bench.end());
  }

  const LabArguments& arguments_;
  const Scenario& scenario_;
  const Fabric& fabric_;
  const lab::Plan& plan_;
};

// The first algorithm of which no switch takes part, if there is one: links give it their payload's rate, which is to be found out.
const AlgorithmChoice& to_be_fitted(const Workload& w) {
  const auto found = std::ranges::find_if(w.algorithms, [](const AlgorithmChoice& a) { return !is_in_network(a.name); });
  return found == w.algorithms.end() ? w.algorithms.front() : *found;
}

// That one at the smallest and at the largest size: all that the prediction of the others may know.
bool is_fitted(const Workload& w, const AlgorithmChoice& algorithm, Bytes size) {
  return algorithm == to_be_fitted(w) && (size == std::ranges::min(w.sizes) || size == std::ranges::max(w.sizes));
}

// Beside switches that take part, schedules over TCP are predicted on the flow network, and the table says so.
std::optional<NetworkKind> predicted_on(const Scenario& s, const AlgorithmChoice& algorithm) {
  const bool beside = lab::programs_of(s) == lab::Programs::yes && s.network == NetworkKind::packet && !is_in_network(algorithm.name);
  return beside ? std::optional(NetworkKind::flow) : std::nullopt;
}

std::vector<FitPoint> measure_all(const LabArguments& a, const Scenario& scenario, const Fabric& fabric, const lab::Plan& plan,
                                  std::ostream& err) {
  const Measuring measuring(a, scenario, fabric, plan);
  const Workload& w = scenario.workload;
  Simulator simulator(scenario);
  std::vector<FitPoint> points;
  for (const AlgorithmChoice& algorithm : w.algorithms)
    for (const Bytes size : w.sizes) {
      FitPoint p{{},
                 {std::string(name_of(w.collective)), algorithm, w.ranks, size, predicted_on(scenario, algorithm)},
                 is_fitted(w, algorithm, size)};
      p.measured = measuring.measure(algorithm, size, simulator.time_us(p.setup, scenario.hardware));
      err << fmt::format("weft: {} {}: {:.1f} us\n", short_label(w, algorithm), to_string(size), p.measured.time_us);
      points.push_back(std::move(p));
    }
  return points;
}

// "200Mbps", or "100Mbps to 200Mbps".
std::string rates_of(const Fabric& fabric) {
  BitsPerSecond low = fabric.link(0).bandwidth, high = low;
  for (LinkId link = 1; link < fabric.links(); ++link) {
    low = std::min(low, fabric.link(link).bandwidth);
    high = std::max(high, fabric.link(link).bandwidth);
  }
  return low == high ? to_string(low) : to_string(low) + " to " + to_string(high);
}

void print_cluster(const Scenario& scenario, const Fabric& fabric, const lab::Plan& plan, std::ostream& out) {
  out << fmt::format("# {}: {} hosts and {} switches on this machine, {} links of {}, packets of {} B\n", scenario.name, fabric.endpoints(),
                     static_cast<int>(boost::num_vertices(fabric.graph())) - fabric.endpoints(), fabric.links(), rates_of(fabric),
                     plan.packet_bytes);
  for (const CompressionChoice& compression : scenario.workload.compressions)
    out << fmt::format("# compression {}, its kernels predicted at the rates of one core\n", label(compression));
  for (const AlgorithmChoice& algorithm : scenario.workload.algorithms)
    if (is_in_network(algorithm.name))
      out << fmt::format("# {} over UDP with software switches, predicted on the network \"{}\"\n", label(algorithm),
                         name_of(scenario.network));
  if (scenario.network == NetworkKind::packet) out << "# schedules over TCP, predicted on the network \"flow\"\n";
}

void print_fit(const FitResult& result, const Workload& w, std::ostream& out) {
  out << fmt::format("# fitted to {} at {} and {}:", label(to_be_fitted(w)), to_string(std::ranges::min(w.sizes)),
                     to_string(std::ranges::max(w.sizes)));
  for (const FittedParameter& p : result.parameters)
    out << fmt::format(" {} {}{}", p.parameter.name, shown(p.parameter.unit, p.value), p.determined ? "" : " (as it was)");
  out << "\n#\n";
}

std::vector<Problem> problems_of(const Scenario& s, const Fabric& fabric) {
  std::vector<Problem> out = lab::problems(fabric, s.fabric.ecmp, lab::programs_of(s));
  for (Problem& p : lab::in_network_problems(s, fabric)) out.push_back(std::move(p));
  const auto refuse = [&](const char* where, bool there, const char* what) {
    if (there) out.push_back({where, what});
  };
  refuse("/server", !s.server.is_sub_node(), "a host of the lab is one rank with one network device (\"sub_node\")");
  for (const auto& [where, there] :
       {std::pair{"/jobs", !s.jobs.empty()}, std::pair{"/traffic", !s.traffic.empty()}, std::pair{"/copies", !s.copies.empty()}})
    refuse(where, there, "the lab runs the workload alone");
  const auto in_sketch = [](const CompressionChoice& c) { return c.settings.memory == ErrorMemory::sketch; };
  refuse("/workload/compression", std::ranges::any_of(s.workload.compressions, in_sketch),
         "weft bench keeps errors in a vector (\"dense\")");
  for (std::size_t i = 0; i < s.workload.algorithms.size(); ++i)
    refuse(fmt::format("/workload/algorithm/{}", i).c_str(), depends_on_size(s, s.workload.algorithms[i]),
           "its schedule depends on the size, which `weft bench` does not follow: give \"pieces\", and no algorithm nccl");
  refuse("/start_skew", s.start_skew.has_value(), "the lab starts all ranks at once");
  refuse("/faults", s.faults.any(), "no link of the lab fails");
  refuse("/repeat", s.repeat.has_value(), "the lab repeats what it measures by itself");
  refuse("/workload/iterations", s.workload.iterations > 1, "the lab decides how often each collective is run");
  return out;
}

int clean(std::ostream& out) {
  const auto gone = lab::remove_leftovers();
  for (const std::string& name : gone) out << "removed " << name << "\n";
  if (gone.empty()) out << "nothing is left of any lab\n";
  return 0;
}

}  // namespace

const std::vector<std::string>& default_lab_fit() {
  static const std::vector<std::string> names = {"send_overhead", "wire_efficiency"};
  return names;
}

int lab_command(const LabArguments& a, std::ostream& out, std::ostream& err) {
  if (a.clean) return clean(out);
  if (a.scenario.empty()) throw InputError("weft lab: a scenario is missing");
  refuse_what_the_scenario_says(a.bench);
  std::vector<Setting> settings;
  for (const std::string& text : a.set) settings.push_back(parse_setting(text));
  const OpenScenario open(a.scenario, settings, a.fit.empty() ? default_lab_fit() : a.fit);
  const Scenario& scenario = open.scenario();
  const auto fabric = build(scenario.fabric.spec);
  const lab::Programs programs = lab::programs_of(scenario);
  if (const auto found = problems_of(scenario, *fabric); !found.empty()) throw InputError(lines_of(a.scenario, found));
  if (const auto why = lab::obstacle()) throw InputError("weft lab: " + *why);

  const lab::Network network(lab::plan(*fabric, scenario.fabric.ecmp, lab::prefix_of_this_process(), programs));
  const std::vector<FitPoint> points = measure_all(a, scenario, *fabric, network.plan(), err);
  const FitResult result = fit(open, points, {.folds = 0});

  std::vector<lab::Compared> rows;
  for (std::size_t i = 0; i < points.size(); ++i)
    rows.push_back({short_label(scenario.workload, points[i].setup.algorithm), points[i].setup.size, points[i].measured.time_us,
                    result.simulated_us[i], points[i].fitted});
  print_cluster(scenario, *fabric, network.plan(), out);
  print_fit(result, scenario.workload, out);
  out << lab::to_table(rows) << fmt::format("# packets dropped: {}\n", network.dropped_packets());
  const bool good = 100 * lab::errors_of(rows).median <= a.allowed_percent && lab::order_of(rows).wrong.empty();
  return a.allowed_percent > 0 && !good ? 1 : 0;
}

}  // namespace weft

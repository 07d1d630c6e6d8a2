#include "validation/lab/lab.hpp"

#include "kernels/files/files.hpp"
#include "sim/cases/sized.hpp"
#include "validation/fit/fit.hpp"
#include "validation/lab/compare.hpp"
#include "validation/lab/in_network.hpp"
#include "validation/lab/measuring.hpp"
#include "validation/lab/network.hpp"
#include "validation/lab/steps.hpp"

#include <algorithm>
#include <optional>
#include <ostream>

namespace weft {
namespace {

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
  const lab::Measuring measuring(a, scenario, fabric, plan);
  const Workload& w = scenario.workload;
  Simulator simulator(scenario);
  std::vector<FitPoint> points;
  for (const AlgorithmChoice& algorithm : w.algorithms)
    for (const Bytes size : w.sizes) {
      FitPoint p{{},
                 {std::string(name_of(w.collective)), algorithm, w.ranks, size, predicted_on(scenario, algorithm)},
                 is_fitted(w, algorithm, size)};
      p.measured = measuring.measure(algorithm, size, simulator.time_us(p.setup, scenario.hardware));
      err << fmt::format("weft: {} {}: {:.1f} us\n", lab::short_label(w, algorithm), to_string(size), p.measured.time_us);
      points.push_back(std::move(p));
    }
  return points;
}

// The cluster that the fit came to.
Scenario fitted(const OpenScenario& open, const FitResult& result) {
  std::vector<double> values;
  for (const FittedParameter& p : result.parameters) values.push_back(p.value);
  Scenario out = open.scenario(values);
  out.hardware = open.hardware(values);
  return out;
}

std::vector<lab::Compared> compared(const Scenario& scenario, const std::vector<FitPoint>& points, const FitResult& result) {
  std::vector<lab::Compared> rows;
  for (std::size_t i = 0; i < points.size(); ++i)
    rows.push_back({lab::short_label(scenario.workload, points[i].setup.algorithm), points[i].setup.size, points[i].measured.time_us,
                    result.simulated_us[i], points[i].fitted});
  return rows;
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

void print_cluster(const Scenario& scenario, const std::vector<CompressionChoice>& compressions, const Fabric& fabric,
                   const lab::Plan& plan, std::ostream& out) {
  out << fmt::format("# {}: {} hosts and {} switches on this machine, {} links of {}, packets of {} B\n", scenario.name, fabric.endpoints(),
                     fabric.devices() - fabric.endpoints(), fabric.links(), rates_of(fabric), plan.packet_bytes);
  for (const CompressionChoice& compression : compressions)
    if (compression.compresses())
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
           "its schedule depends on the size, which `weft bench` does not follow: give \"pieces\", two_level an \"inner\", and no "
           "algorithm nccl or mpi");
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
  lab::refuse_what_the_scenario_says(a.bench);
  const std::vector<Setting> settings = parse_settings(a.set);
  const std::vector<std::string>& parameters = a.fit.empty() ? default_lab_fit() : a.fit;
  const std::optional<Scenario> steps = lab::steps_to_run(a.scenario, settings);
  const OpenScenario open(a.scenario, steps ? lab::allreduces_instead_of_steps(*steps, settings) : settings, parameters);
  const Scenario& scenario = open.scenario();
  const auto fabric = build(scenario.fabric.spec);
  const lab::Programs programs = lab::programs_of(scenario);
  std::vector<Problem> found = problems_of(scenario, *fabric);
  if (steps)
    for (Problem& p : lab::problems_of_steps(*steps)) found.push_back(std::move(p));
  if (!found.empty()) throw InputError(lines_of(a.scenario, found));
  if (const auto why = lab::obstacle()) throw InputError("weft lab: " + *why);

  const lab::Network network(lab::plan(*fabric, scenario.fabric.ecmp, lab::prefix_of_this_process(), programs));
  const std::vector<FitPoint> points = measure_all(a, scenario, *fabric, network.plan(), err);
  const FitResult result = fit(open, points, {.folds = 0});

  print_cluster(scenario, (steps ? *steps : scenario).workload.compressions, *fabric, network.plan(), out);
  print_fit(result, scenario.workload, out);
  std::vector<lab::Compared> rows = compared(scenario, points, result);
  if (steps) {
    for (const lab::Compared& row : rows)
      out << fmt::format("# {} of {}: measured {:.1f} us, with that {:.1f} us\n", row.algorithm, to_string(row.size), row.measured_us,
                         row.predicted_us);
    const std::vector<lab::ComparedStep> done = lab::compare_steps(a, *steps, fitted(open, result), network.plan());
    rows = lab::times_of(done);
    out << "#\n" << lab::exposed_table(done) << "#\n";
  }
  out << lab::to_table(rows) << fmt::format("# packets dropped: {}\n", network.dropped_packets());
  const bool good = 100 * lab::errors_of(rows).median <= a.allowed_percent && lab::order_of(rows).wrong.empty();
  return a.allowed_percent > 0 && !good ? 1 : 0;
}

}  // namespace weft

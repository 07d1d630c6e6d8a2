#include "validation/calibrate/calibrate.hpp"

#include "kernels/base/gather.hpp"
#include "kernels/base/plural.hpp"
#include "kernels/base/statistics.hpp"
#include "kernels/files/files.hpp"
#include "kernels/files/output_files.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/farm/job_ranks.hpp"
#include "sim/json/json_text.hpp"
#include "sim/scenario/hardware_fields.hpp"
#include "validation/calibrate/fit_text.hpp"
#include "validation/calibrate/measured_file.hpp"
#include "validation/calibrate/profile_origin.hpp"
#include "validation/fit/defaults.hpp"
#include "validation/fit/profile_text.hpp"
#include "validation/measurements/lines.hpp"
#include "validation/measurements/renames.hpp"
#include "validation/plot/log_plot.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <set>

namespace weft {
namespace {

RowSelection rows_of(const CalibrateArguments& a, const std::vector<MeasuredFile>& files) {
  std::vector<std::string> names;
  for (const MeasuredFile& file : files) names.push_back(file.name);
  for (const std::string& place : a.exclude) {
    const auto colon = place.rfind(':');
    const bool names_data = colon != place.npos && std::ranges::find(names, place.substr(0, colon)) != names.end();
    if (!names_data || place.find_first_not_of("0123456789", colon + 1) != place.npos || colon + 1 == place.size())
      throw InputError(fmt::format("--exclude {}: must be FILE:LINE, the file one of those to read ({})", place, fmt::join(names, ", ")));
  }
  return {.only = a.only,
          .system = a.system,
          .in_place = a.in_place,
          .smallest_bytes = a.smallest_bytes,
          .largest_bytes = a.largest_bytes,
          .exclude = a.exclude};
}

// "ring, tree"; of measurements that do not say theirs "none".
std::string listed(const std::set<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : names) out.push_back(name.empty() ? "none" : name);
  return fmt::format("{}", fmt::join(out, ", "));
}

// Why a file that holds measurements gives none.
std::string none_selected(const std::string& file, const Measurements& read, const CalibrateArguments& a) {
  const std::string text = fmt::format("{}: none of its {} measurements is selected", file, read.not_selected);
  if (read.of_other_buffer == read.not_selected)
    return text + (a.in_place ? "; they are out-of-place times, which are used without --in-place"
                              : "; they are in-place times, which --in-place uses");
  std::string there;
  if (!a.only.empty()) there += "; algorithms that it names: " + listed(read.algorithms);
  if (!a.system.empty()) there += "; systems that it names: " + listed(read.systems);
  return text + there;
}

bool is_among(const std::string& name, const std::set<std::string>& algorithms) {
  return std::ranges::any_of(algorithms, [&](const std::string& a) { return a == name || without_settings(a) == name; });
}

// What selects, or renames, nothing is a slip.
void refuse_idle_options(const CalibrateArguments& a, const Renames& renames, const std::set<std::string>& algorithms,
                         const std::set<std::string>& excluded, const std::vector<Measurement>& rows) {
  std::vector<std::string> problems;
  for (const std::string& place : a.exclude)
    if (!excluded.contains(place)) problems.push_back(fmt::format("--exclude {}: there is no measurement in this line", place));
  for (const std::string& name : a.only)
    if (!is_among(name, algorithms))
      problems.push_back(fmt::format("--only {}: no measurement is of it; algorithms that are named: {}", name, listed(algorithms)));
  std::set<std::string> selected, copies;  // copies between the GPUs of a matrix run no algorithm
  for (const Measurement& row : rows) (row.from < 0 ? selected : copies).insert(row.algorithm);
  for (const auto& [measured, ours] : renames)
    if (copies.contains(measured))
      problems.push_back(fmt::format("--rename {}={}: \"{}\" is of copies between two GPUs, which run no algorithm: leave it out", measured,
                                     label(ours), measured));
    else if (!is_among(measured, selected))
      problems.push_back(fmt::format(
          "--rename {}={}: no measurement is of \"{}\"; algorithms of those selected: {}{}", measured, label(ours), measured,
          listed(selected), selected.contains("") ? fmt::format("; some name none, which --rename \"={}\" names", label(ours)) : ""));
  if (!problems.empty()) throw InputError(std::move(problems));
}

// Whether a file that was refused holds measurements besides the lines that cannot be used.
bool has_good_lines(const MeasuredFile& file, const CalibrateArguments& a, const RowSelection& select) {
  try {
    return !read_measurements(file, {.skip_bad = true, .collective = a.collective, .select = select}).rows.empty();
  } catch (const InputError&) {
    return false;
  }
}

std::vector<Measurement> read_all(const CalibrateArguments& a, const Renames& renames, const std::vector<MeasuredFile>& files,
                                  std::ostream& err) {
  const RowSelection select = rows_of(a, files);
  std::vector<Measurement> rows, unsaid;  // the second of files whose collective is not said behind their names
  std::set<std::string> algorithms, excluded;
  std::vector<std::string> problems, none;
  bool can_skip = false;
  for (const MeasuredFile& file : files) {
    const std::size_t before = problems.size();
    gather(problems, [&] {
      Measurements read = read_measurements(file, {.skip_bad = a.skip_bad, .collective = a.collective, .select = select});
      rows.insert(rows.end(), read.rows.begin(), read.rows.end());
      if (file.collective.empty()) unsaid.insert(unsaid.end(), read.rows.begin(), read.rows.end());
      algorithms.insert(read.algorithms.begin(), read.algorithms.end());
      excluded.insert(read.excluded.begin(), read.excluded.end());
      for (const std::string& note : read.notes) err << "weft: " << note << "\n";
      for (const std::string& line : read.skipped) err << "weft: skipped " << line << "\n";
      if (read.rows.empty()) none.push_back(none_selected(file.name, read, a));
    });
    can_skip = can_skip || (problems.size() > before && !a.skip_bad && has_good_lines(file, a, select));
  }
  if (can_skip) problems.emplace_back("add --skip-bad to go on without lines that cannot be used");
  if (!problems.empty()) throw InputError(std::move(problems));
  if (rows.empty()) throw InputError(std::move(none));
  if (!a.collective.empty())
    if (const std::string said = contradicted(collective_spelled(a.collective), unsaid); !said.empty())
      throw InputError(fmt::format("--collective {}: the files say themselves that {} was measured; leave it out", a.collective, said));
  refuse_idle_options(a, renames, algorithms, excluded, rows);
  for (const std::string& line : none) err << "weft: left out " << line << "\n";
  return rows;
}

constexpr std::string_view written_by_calibrate = "Written by weft calibrate";

bool is_calibrated_profile(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  return json.is_object() && json.contains("calibration");
}

// The profile and its plot, which stands beside it; the scenario.
std::vector<OutputFile> outputs_of(const CalibrateArguments& a) {
  std::vector<OutputFile> out;
  if (!a.scenario_output.empty())
    out.push_back({a.scenario_output, "--write-scenario " + a.scenario_output, "a scenario of weft calibrate",
                   [](std::string_view text) { return text.find(written_by_calibrate) != text.npos; }});
  if (a.output.empty()) return out;
  const std::filesystem::path profile(a.output);
  std::filesystem::path plot = profile;
  plot.replace_extension(".svg");
  out.push_back({profile, "-o " + a.output, "a profile of weft calibrate", is_calibrated_profile});
  out.push_back(
      {plot, "the plot of -o " + a.output, "a plot of weft calibrate", [](std::string_view text) { return text.starts_with("<svg"); }});
  return out;
}

std::vector<PlotSeries> series_of(const std::vector<FitPoint>& points, const std::vector<double>& simulated_us) {
  std::vector<PlotSeries> out;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Measurement& m = points[i].measured;
    std::string name = m.algorithm.empty() ? m.collective : m.algorithm;
    name += fmt::format(", {} ranks", points[i].setup.ranks);
    auto at = std::ranges::find(out, name, &PlotSeries::name);
    if (at == out.end()) at = out.insert(out.end(), {name, {}});
    at->points.push_back({static_cast<double>(m.size_bytes), m.time_us, simulated_us[i], points[i].fitted});
  }
  return out;
}

std::vector<double> values_of(const FitResult& result) {
  std::vector<double> out;
  for (const FittedParameter& p : result.parameters) out.push_back(p.value);
  return out;
}

HardwareProfile fitted_hardware(const OpenScenario& open, const FitResult& result) {
  HardwareProfile out = open.hardware(values_of(result));
  out.cost_by_size = result.cost_by_size;
  return out;
}

// Whether the scenario that is written finds the profile that is written, and can name it.
bool is_found_beside(const CalibrateArguments& a) {
  const std::filesystem::path profile(a.output), beside = std::filesystem::path(a.scenario_output).parent_path() / "hardware";
  return !a.output.empty() && profile.extension() == ".json" && profile.parent_path().lexically_normal() == beside.lexically_normal();
}

// A star grows with what is measured: as many nodes as the largest scale that was fitted has.
int most_nodes(const std::vector<FitPoint>& points, const Server& server) {
  const int gpus = server.gpu_count();
  int out = 0;
  for (const FitPoint& p : points)
    if (p.fitted) out = std::max({out, p.setup.nodes, p.setup.from < 0 ? (p.setup.ranks + gpus - 1) / gpus : 0});
  return out;
}

std::string scenario_text(const OpenScenario& open, const std::vector<FitPoint>& points, const FitResult& result,
                          const CalibrateArguments& a) {
  Json out = open.left_open(values_of(result));
  const Scenario& fitted = open.scenario();
  if (const auto* star = std::get_if<Star>(&fitted.fabric.spec))
    if (const int nodes = most_nodes(points, fitted.server); nodes > star->nodes) out["fabric"]["nodes"] = nodes;
  Json written = HardwareForm::write(fitted_hardware(open, result));
  written.erase("profile");  // all values are there: the scenario needs no other profile, and has the calibration of none
  out["hardware"] = is_found_beside(a) ? Json(std::filesystem::path(a.output).stem().string()) : std::move(written);
  const std::string before = out.value("description", "");
  out["description"] = fmt::format("{} from {}.{}{}", written_by_calibrate, a.scenario, before.empty() ? "" : " ", before);
  return out.dump(2) + "\n";
}

void write_outputs(const CalibrateArguments& a, const OpenScenario& open, const std::vector<FitPoint>& points, const FitResult& result) {
  if (!a.scenario_output.empty()) {
    make_folder_of(a.scenario_output);
    write_file(a.scenario_output, scenario_text(open, points, result, a));
  }
  if (a.output.empty()) return;
  const std::filesystem::path profile(a.output);
  make_folder_of(profile);
  write_file(profile, profile_text(open, points, result, origin_of(a, points)));
  write_file(std::filesystem::path(profile).replace_extension(".svg"),
             to_svg(fmt::format("{}: measured and simulated", profile.stem().string()), series_of(points, result.simulated_us)));
}

// Large calls that take so much longer than their links need are more often given in another unit than that slow. Ranks that share a NIC
// need its links for longer than by themselves, as a simulation shows; one does, of the call between nodes among the fewest ranks.
std::string doubt_of_unit(const std::vector<FitPoint>& points, Simulator& simulator) {
  constexpr Bytes large = 1_MiB;
  constexpr double doubtful = 100;
  std::vector<double> times;
  const FitPoint* fewest = nullptr;
  for (const FitPoint& p : points)
    if (const double least_us = simulator.wire_limit_us(p.setup); least_us > 0 && p.setup.size >= large) {
      times.push_back(p.measured.time_us / least_us);
      const auto later = [](const FitPoint& of) { return std::pair{of.setup.nodes == 1, of.setup.ranks}; };
      if (!fewest || later(p) < later(*fewest)) fewest = &p;
    }
  const double usual = times.empty() ? 0 : median(std::move(times));
  if (usual < doubtful) return {};
  const double likely_us = fewest->measured.time_us / doubtful;
  if (simulator.least_us(fewest->setup, likely_us) > likely_us) return {};
  return fmt::format(
      "calls of {} and more take {:.0f} times as long as the scenario's links need for their bytes (median): are the times in "
      "microseconds?",
      to_string(large), usual);
}

}  // namespace

int calibrate_command(const CalibrateArguments& a, std::ostream& out, std::ostream& err) {
  // Under mpirun or srun rank 0 does it alone: a fit is some 15 s of one core, each step of which needs the one before.
  if (const auto job = job_ranks(); job && job->rank > 0) return 0;
  const std::vector<MeasuredFile> files = measured_files(a.data);
  std::vector<std::filesystem::path> inputs{a.scenario};
  for (const MeasuredFile& file : files) inputs.emplace_back(file.name);
  const std::vector<OutputFile> outputs = outputs_of(a);
  std::vector<std::string> problems;
  gather(problems, [&] { refuse_to_replace(outputs, inputs, a.force); });
  gather(problems, [&] { refuse_unwritable(outputs); });
  const std::vector<Setting> settings = parse_settings(a.set, problems);
  gather(problems, [&] { OpenScenario(a.scenario, settings, a.fit); });
  Renames renames;
  gather(problems, [&] { renames = renames_in(a.rename); });
  std::vector<Measurement> rows;
  gather(problems, [&] { rows = read_all(a, renames, files, err); });
  if (!problems.empty()) throw InputError(std::move(problems));
  const Server server = OpenScenario(a.scenario, settings, {}).scenario().server;
  std::vector<std::string> names = a.fit;
  if (names.empty() && std::ranges::all_of(rows, [](const Measurement& row) { return row.from >= 0; })) names = parameters_of_pairs(server);
  const OpenScenario asked(a.scenario, settings, names);
  if (const int gpus = server.gpu_count(); a.flat && gpus > 1)
    throw InputError(fmt::format("--flat: the scenario's servers have {}, on which ranks of one node sit: leave it out",
                                 counted(gpus, name_of_endpoint(server))));
  const Selection selection{
      .renames = std::move(renames), .hold_out = !a.all, .wire_is_known = !asked.fits_rates_of_links(), .flat = a.flat};
  Simulator simulator(asked.scenario());
  const UsedMeasurements used = usable(rows, simulator, selection);
  OpenScenario open = open_for(a.scenario, settings, names, used.points, simulator);
  for (const std::string& line : used.assumed) err << "weft: " << line << "\n";
  constexpr std::size_t max_lines = 8;
  for (std::size_t i = 0; i < std::min(max_lines, used.left_out.size()); ++i) err << "weft: left out " << used.left_out[i] << "\n";
  if (used.left_out.size() > max_lines) err << fmt::format("weft: and {} more lines left out\n", used.left_out.size() - max_lines);
  if (used.points.empty()) throw InputError("none of the measurements can be simulated by this scenario");
  if (const std::string doubt = doubt_of_unit(used.points, simulator); !doubt.empty()) err << "weft: " << doubt << "\n";

  FitOptions options{.folds = a.folds, .starts = a.starts, .seed = a.seed};
  const std::vector<LibraryFit> libraries = libraries_that_may_have_run(open, used.points, options);
  open = with_library_that_ran(open, libraries);
  if (!asked.has_pointers()) {
    constexpr std::int64_t max_messages = 20'000;  // with no costs everybody sends at once, and flows that meet take long
    Simulator by_its_rules(open.scenario());
    by_its_rules.tell_beyond(max_messages);
    for (const std::string& line : impossible_series(used.points, by_its_rules)) err << "weft: " << line << "\n";
  }
  options.say = [&](const std::string& text) { err << "weft: " << text << "\n"; };
  const FitResult result = fit(open, used.points, options);
  print_fit(result, used.points, fitted_hardware(open, result), server, out);
  if (!open.usual().empty())
    out << fmt::format("# as is usual of hosts, since no call that was measured needs them: {}\n", fmt::join(open.usual(), ", "));
  if (const auto& alike = open.alike())
    out << fmt::format("# {} as {}: between servers only paths over {} were measured\n", alike->parameter, alike->as,
                       alike->as == "rail_overhead" ? "one switch" : "several switches");
  out << said_of_libraries(libraries);
  write_outputs(a, open, used.points, result);
  for (const OutputFile& output : outputs) out << fmt::format("# written: {}\n", output.file.string());
  if (!a.output.empty() && !a.scenario_output.empty() && !is_found_beside(a)) {
    const std::filesystem::path scenario(a.scenario_output), name = std::filesystem::path(a.output).filename().replace_extension(".json");
    out << fmt::format("# {} has the fitted values themselves; with -o {} it names the profile, and runs say how sure they are\n",
                       scenario.string(), (scenario.parent_path() / "hardware" / name).string());
  }
  return 0;
}

}  // namespace weft

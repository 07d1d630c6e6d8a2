#include "sim/cli/program.hpp"

#include "kernels/base/nearest_name.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/export_command.hpp"
#include "sim/cli/tune_command.hpp"
#include "sim/results/version.hpp"
#include "sim/scenario/form.hpp"
#include "sim/scenario/networks.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>

namespace weft {
namespace {

struct Arguments {
  RunArguments run;
  bool dot = false, json = false, simgrid = false;
  bool results_schema = false;
};

TopologyFormat format_of(const Arguments& a) {
  if (a.dot + a.json + a.simgrid > 1) throw InputError("weft topo: give one of --dot, --json and --simgrid");
  return a.dot ? TopologyFormat::dot : a.json ? TopologyFormat::json : a.simgrid ? TopologyFormat::simgrid : TopologyFormat::summary;
}

void add_scenarios(CLI::App* command, ScenarioArguments& arguments) {
  command->add_option("FILE", arguments.files, "Scenario files (JSON)")->required();
  command->add_option("--set", arguments.set, "Set a key of the scenario: /pointer=value (may be repeated)")
      ->allow_extra_args(false)
      ->type_name("POINTER=VALUE");
  std::string names;
  for (const NetworkTraits& network : networks()) names += fmt::format("{}{}", names.empty() ? "" : ", ", network.name);
  command->add_option("--network", arguments.network, "Simulate on this network: " + names)->type_name("NAME");
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_snames()) out.push_back("-" + name);
  return out;
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) out.push_back(command->get_name());
  return out;
}

// CLI11 stops at the first thing it does not know; this says what was meant.
void refuse_unknown(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands())
    for (const std::string& left : command->remaining())
      if (left != "--")  // CLI11 leaves what ends the options among what it does not know
        throw InputError(fmt::format("weft {}: {}", command->get_name(), unknown_name("argument", left, flags_of(*command))));
  if (!app.get_subcommands().empty()) return;
  const auto left = app.remaining();
  if (left.empty()) throw InputError("weft: a command is missing; write one of " + quoted_list(commands_of(app)));
  if (left.front().starts_with("-")) throw InputError("weft: " + unknown_name("argument", left.front(), flags_of(app)));
  throw InputError("weft: " + unknown_name("command", left.front(), commands_of(app)));
}

int run_chosen(int argc, char** argv, std::span<const Command> more_commands) {
  for (const Command& more : more_commands)
    if (more.run && argc > 1 && std::string_view(argv[1]) == more.name) return more.run(argc - 1, argv + 1);

  CLI::App app("Weft simulates collective operations on GPU clusters.", "weft");
  app.set_version_flag("--version", fmt::format("weft {} ({})", version(), commit()));
  app.allow_extras();
  app.require_subcommand(0, 1);

  Arguments a;
  ScenarioArguments& scenarios = a.run.scenarios;
  std::function<int()> chosen;
  const auto command = [&](const char* name, const char* does, std::function<int()> what) {
    CLI::App* added = app.add_subcommand(name, does);
    added->allow_extras();
    added->callback([&chosen, what = std::move(what)] { chosen = what; });
    return added;
  };
  CLI::App* run = command("run", "Simulate scenarios and print a table", [&] { return run_command(a.run, std::cout, std::cerr); });
  add_scenarios(run, scenarios);
  run->add_option("-o,--output", a.run.output,
                  "Write results.csv and results.json into this folder; those of the same scenarios are replaced")
      ->type_name("DIR");
  run->add_flag("--trace", a.run.trace, "Write trace.json too, for Perfetto (needs -o; networks flow and packet)");
  run->add_flag("--force", a.run.force, "Replace files in DIR that are not results of the same scenarios");
  run->add_flag("--quiet", a.run.quiet, "No progress bar");
  TuneArguments tune_arguments;
  declare_tune(*command("tune", "Choose what a scenario sweeps: the settings that are best",
                        [&] { return tune_command(tune_arguments, std::cout, std::cerr); }),
               tune_arguments);
  CLI::App* check = command("check", "Prove schedules correct, count flows on links, look for deadlock",
                            [&] { return check_command(scenarios, std::cout); });
  add_scenarios(check, scenarios);
  CLI::App* topo = command("topo", "Describe or draw the fabric", [&] { return topo_command(scenarios, format_of(a), std::cout); });
  add_scenarios(topo, scenarios);
  topo->add_flag("--dot", a.dot, "As Graphviz");
  topo->add_flag("--json", a.json, "As a graph that a scenario can hold");
  topo->add_flag("--simgrid", a.simgrid, "As a SimGrid platform");
  ExportArguments export_arguments;
  declare_export(*command("export", "Write a schedule for other programs: MSCCL, GOAL, Graphviz",
                          [&] { return export_command(export_arguments, std::cout); }),
                 export_arguments);
  command("list", "List algorithms, fabrics, servers, networks, hardware profiles, types", [&] { return list_command(std::cout); });
  CLI::App* schema =
      command("schema", "Print the JSON Schema of scenarios, or of results", [&] { return schema_command(a.results_schema, std::cout); });
  schema->add_flag("--results", a.results_schema, "Of results.json");
  CLI::App* show = command("show", "Print the fully resolved scenario", [&] { return show_command(scenarios, std::cout); });
  add_scenarios(show, scenarios);
  for (const Command& more : more_commands) {
    CLI::App* added = app.add_subcommand(more.name, more.does);
    if (more.run) continue;
    added->allow_extras();
    added->callback([&chosen, run_it = more.declare(*added)] { chosen = run_it; });
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help, --version
    return app.exit(done);
  } catch (const CLI::ParseError& error) {
    refuse_unknown(app);  // says more where it can
    throw InputError(std::string("weft: ") + error.what());
  }
  refuse_unknown(app);
  return chosen();
}

}  // namespace

int run_program(int argc, char** argv, std::span<const Command> more_commands) {
  int status = exit_ok;
  try {
    status = run_chosen(argc, argv, more_commands);
  } catch (const InputError& error) {
    for (const std::string& problem : error.problems()) std::cerr << problem << "\n";
    return exit_bad_input;
  } catch (const std::exception& error) {
    std::cerr << "weft: " << error.what() << "\n";
    return exit_run_failed;
  }
  // What was printed may still be in a buffer, whichever way it was.
  if (std::cout.flush().good() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  std::cerr << "weft: standard output: cannot be written (is the disk full?)\n";
  return std::max<int>(status, exit_run_failed);
}

}  // namespace weft

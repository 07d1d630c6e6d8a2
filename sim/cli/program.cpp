#include "sim/cli/program.hpp"

#include "kernels/base/nearest_name.hpp"
#include "kernels/base/program_folder.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/numbers.hpp"
#include "sim/cli/run_weft.hpp"
#include "sim/farm/job_ranks.hpp"
#include "sim/json/form.hpp"
#include "sim/results/version.hpp"
#include "sim/scenario/networks.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace weft {
namespace {

// What a simulation frees is the next one's: a fit makes tens of thousands, and to get the memory from the system each time took them up to
// two fifths of their time.
void keep_memory() {
#ifdef __GLIBC__
  constexpr int at_once = 64 << 20, largest = 32 << 20, never = 1 << 30;  // `largest` is the most that glibc takes
  mallopt(M_TOP_PAD, at_once);
  mallopt(M_TRIM_THRESHOLD, never);
  mallopt(M_MMAP_THRESHOLD, largest);
#endif
}

struct Arguments {
  RunArguments run;
  bool dot = false, svg = false, json = false, simgrid = false, nccl = false;
  bool results_schema = false;
};

TopologyFormat format_of(const Arguments& a) {
  if (a.dot + a.svg + a.json + a.simgrid + a.nccl > 1)
    throw InputError("weft topo: give one of --dot, --svg, --json, --simgrid and --nccl");
  return a.dot       ? TopologyFormat::dot
         : a.svg     ? TopologyFormat::svg
         : a.json    ? TopologyFormat::json
         : a.simgrid ? TopologyFormat::simgrid
         : a.nccl    ? TopologyFormat::nccl
                     : TopologyFormat::summary;
}

// Traces instead of the scenarios' workloads.
void add_program(CLI::App* command, ProgramFiles& program) {
  command
      ->add_option(
          "--program", program.files,
          "Run these traces (Chakra, Kineto, PyTorch, GOAL; files or folders) instead of the scenario's workload; without FILE on a "
          "switch with 100 Gb/s a rank")
      ->type_name("TRACE...");
  command->add_option("--ranks", program.ranks, "Spread the traces to so many ranks (needs --program)")->check(CLI::Range(1, 1 << 20));
  command->add_flag("--lenient", program.lenient,
                    "Fill in what the traces leave out with defaults that are printed, instead of refusing them");
}

enum class NetworkFlag { simulates, sets };

void add_scenarios(CLI::App* command, ScenarioArguments& arguments, bool needed = true, NetworkFlag network = NetworkFlag::sets) {
  command->add_option("FILE", arguments.files, "Scenario files (JSON)")->required(needed);
  command->add_option("--set", arguments.set, "Set a key of the scenario: /pointer=value (may be repeated)")
      ->allow_extra_args(false)
      ->type_name("POINTER=VALUE");
  std::string names;
  for (const NetworkTraits& one : networks()) names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
  const char* what =
      network == NetworkFlag::simulates ? "Simulate on this network: " : "Set the scenario's network, as --set /network=NAME: ";
  command->add_option("--network", arguments.network, what + names)->type_name("NAME");
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_snames()) out.push_back("-" + name);
  return out;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::App* command : commands_of(app)) out.push_back(command->get_name());
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
  if (left.empty()) throw InputError("weft: a command is missing; write one of " + quoted_list(command_names(app)));
  if (left.front().starts_with("-")) throw InputError("weft: " + unknown_name("argument", left.front(), flags_of(app)));
  throw InputError("weft: " + unknown_name("command", left.front(), command_names(app)));
}

// CLI11 says which value it could not use, and not what it may be.
std::string not_a_number(const CLI::App& app, const std::string& said) {
  for (const CLI::App* command : app.get_subcommands())
    for (const CLI::Option* option : command->get_options())
      if (said == fmt::format("Could not convert: {} = {}", option->get_name(), fmt::join(option->results(), ","))) {
        const std::string type = option->get_type_name();
        const bool whole = type == "N" || type == "N,..." || type == "INT" || type == "UINT";
        return fmt::format("weft {}: {}: must be {}, got {}", command->get_name(), option->get_name(),
                           whole ? "a whole number that is not negative" : "a number", fmt::join(option->results(), ","));
      }
  return "weft: " + said;
}

// Of weft_tools: its further commands. Of weft: none, and what it has no command for, help included, is the other program's to answer.
using MoreCommands = std::optional<std::span<const Command>>;

int run_chosen(int argc, char** argv, MoreCommands more_commands) {
  for (const Command& more : more_commands.value_or(std::span<const Command>()))
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
  add_scenarios(run, scenarios, false, NetworkFlag::simulates);
  add_program(run, scenarios.program);
  run->add_option("-o,--output", a.run.output,
                  "Write results.csv and results.json into this folder; those of the same scenarios are replaced")
      ->type_name("DIR");
  run->add_option("--format", a.run.format,
                  "Print table (default; as wide as the terminal or COLUMNS, colours unless NO_COLOR is set), csv, json or markdown")
      ->type_name("NAME");
  run->add_flag("--trace", a.run.trace,
                "Write trace.json too, for Perfetto (needs -o; networks flow and packet): every message of every row, which of many rows "
                "or ranks are gigabytes");
  run->add_flag("--report", a.run.report, "Write report.html and details.json too: one page with charts of it all (needs -o)");
  run->add_flag(
         "--what-if", a.run.what_if,
         "Simulate each row again with its limiting link at twice the bandwidth, and say what that gains; =N: with each of the N that "
         "limit it most")
      ->option_text("[=N]")
      ->check([number = whole_number(1, max_what_if)](const std::string& written) -> std::string {
        return written == "true" ? "" : number(written);  // without =N
      });
  run->add_flag("--force", a.run.force, "Replace files in DIR that are not results of the same scenarios");
  run->add_flag("--resume", a.run.resume, "Continue an earlier run: keep the rows that are in DIR already");
  run->add_flag("--reproducible", a.run.reproducible, "Write 0 for wall_s, so that the same scenario gives the same bytes");
  run->add_flag("--unproved", a.run.unproved, "Simulate schedules that are too large to be proved too; their rows say so");
  run->add_flag("--quiet", a.run.quiet, "Show no progress bar");
  ReportArguments report_arguments;
  CLI::App* report = command("report", "Show the results of a folder as one page with charts",
                             [&] { return report_command(report_arguments, std::cout); });
  report->add_option("DIR", report_arguments.folder, "A folder that weft run -o has written")->required();
  report->add_option("-o,--output", report_arguments.output, "Write the page here instead of DIR/report.html")->type_name("FILE");
  report->add_flag("--force", report_arguments.force, "Replace a file that is not a report on the same scenarios");
  CLI::App* check = command("check", "Prove schedules correct, count flows on links, look for deadlock",
                            [&] { return check_command(scenarios, std::cout); });
  add_scenarios(check, scenarios, false);
  add_program(check, scenarios.program);
  CLI::App* topo =
      command("topo", "Describe or draw the fabric", [&] { return topo_command(scenarios, format_of(a), std::cout, std::cerr); });
  add_scenarios(topo, scenarios);
  topo->add_flag("--dot", a.dot, "Print the fabric for Graphviz, in tiers; above 64 devices like ones are drawn together");
  topo->add_flag("--svg", a.svg, "Print the same drawing as SVG");
  topo->add_flag("--json", a.json, "Print the fabric as the \"graph\" of a scenario");
  topo->add_flag("--simgrid", a.simgrid, "Print the fabric as a SimGrid platform (XML)");
  topo->add_flag("--nccl", a.nccl, "Print one of its servers as a topology file of NCCL (NCCL_TOPO_FILE)");
  command("list", "List algorithms, fabrics, servers, networks, hardware profiles, types", [&] { return list_command(std::cout); });
  CLI::App* schema =
      command("schema", "Print the JSON Schema of scenarios, or of results", [&] { return schema_command(a.results_schema, std::cout); });
  schema->add_flag("--results", a.results_schema, "Print the schema of results.json instead of the scenario's");
  CLI::App* show = command("show", "Print the fully resolved scenario", [&] { return show_command(scenarios, std::cout); });
  add_scenarios(show, scenarios);
  const auto has_command = [&](std::string_view name) { return name == "--version" || std::ranges::count(command_names(app), name) > 0; };
  if (!more_commands && (argc < 2 || !has_command(argv[1]))) return become_program("weft_tools", argc, argv);
  for (const Command& more : more_commands.value_or(std::span<const Command>())) {
    CLI::App* added = app.add_subcommand(more.name, more.does);
    if (more.describe) more.describe(*added);
    if (more.run) continue;
    added->allow_extras();
    added->callback([&chosen, run_it = more.declare(*added)] { chosen = run_it; });
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help, --version
    if (app.get_subcommands().empty() && !app.remaining().empty()) refuse_unknown(app);
    return app.exit(done);
  } catch (const CLI::ConversionError& error) {
    refuse_unknown(app);
    throw InputError(not_a_number(app, error.what()));
  } catch (const CLI::ParseError& error) {
    refuse_unknown(app);  // says more where it can
    throw InputError(std::string("weft: ") + error.what());
  }
  refuse_unknown(app);
  return chosen();
}

int run_program(int argc, char** argv, MoreCommands more_commands) {
  keep_memory();
  int status = exit_ok;
  try {
    status = run_chosen(argc, argv, more_commands);
  } catch (const InputError& error) {
    if (const auto job = job_ranks(); job && job->rank > 0) return exit_ok;  // rank 0 says it, and its status is the job's
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

}  // namespace

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

int run_weft(int argc, char** argv) { return run_program(argc, argv, std::nullopt); }

int run_weft_tools(int argc, char** argv, std::span<const Command> more_commands) { return run_program(argc, argv, more_commands); }

}  // namespace weft

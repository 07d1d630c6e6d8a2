#include "validation/commands.hpp"

#include "collectives/bench/settings/settings.hpp"
#include "collectives/bench/start.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/completion.hpp"
#include "sim/cli/export_command.hpp"
#include "sim/cli/manual.hpp"
#include "sim/cli/numbers.hpp"
#include "sim/cli/plot_command.hpp"
#include "sim/cli/program.hpp"
#include "sim/cli/tune_command.hpp"
#include "sim/json/form.hpp"
#include "sim/results/version.hpp"
#include "validation/advise/advise.hpp"
#include "validation/calibrate/calibrate.hpp"
#include "validation/compare/compare_command.hpp"
#include "validation/lab/lab.hpp"
#include "validation/measurements/lines.hpp"
#include "validation/replay/replay.hpp"
#include "validation/timeline/timeline_command.hpp"
#include "validation/train/train_command.hpp"
#include "validation/validate.hpp"
#include "validation/workload/workload_command.hpp"

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>

namespace weft {
namespace {

// With what another command line of the same name does.
void describe_bench(CLI::App& app) {
  bench::describe(app);
  app.add_option("--workload", "Run the training steps of a scenario for real instead; its own options: weft bench --workload FILE --help")
      ->type_name("FILE");
}

bool asks_for_help(int argc, const char* const* argv) {
  return std::any_of(argv + 1, argv + argc, [](std::string_view a) { return a == "--help" || a == "-h"; });
}

int bench_or_compare(int argc, char** argv) {
  if (asks_for_workload(argc, argv)) return workload_command(argc, argv, std::cout);
  if (asks_for_help(argc, argv)) {
    CLI::App app("", "weft bench");
    describe_bench(app);
    std::cout << app.help();
    return exit_ok;
  }
  return asks_to_compare(argc, argv) ? compare_command(argc, argv, std::cout) : bench::start_bench(argc, argv);
}

// Of a file or folder to write.
std::string not_empty(const std::string& name) { return name.empty() ? "must name a file or folder, got \"\"" : ""; }

void add_force(CLI::App& command, bool& force) { command.add_flag("--force", force, "Replace files that this command did not write"); }

// "1MiB" as a number of bytes; a bare number is one.
std::string in_bytes(std::string& text) {
  if (const auto count = number_in(text); count && *count >= 0) return "";
  try {
    text = std::to_string(parse_bytes(text).count);
    return "";
  } catch (const InputError&) {
    return fmt::format("must be a size as in 4096, 64KiB or 1MB (B, KiB, MiB, GiB, KB, MB, GB), got \"{}\"", text);
  }
}

std::string not_one(const std::string& folds) {
  return folds == "1" ? "must be 0 or at least 2: of one part nothing is left to fit to" : "";
}

std::function<int()> declare_calibrate(CLI::App& command) {
  const auto a = std::make_shared<CalibrateArguments>();
  command
      .add_option(
          "DATA", a->data,
          "Measurements: nccl-tests (text or JSON), OSU and Intel MPI tables, p2pBandwidthLatencyTest, CSV, traces of weft bench; with "
          "how many ranks and nodes, which collective and algorithm were measured where a file does not say: osu_4.txt:ranks=64,nodes=4")
      ->required()
      ->type_name("FILE[:ranks=N,nodes=N,collective=NAME,algorithm=NAME,back_to_back=N]");
  command.add_option("--scenario", a->scenario, "The cluster they were measured on (JSON); its hardware is where the fit starts")
      ->required()
      ->type_name("FILE");
  command.add_option("--set", a->set, "Set a key of the scenario: /pointer=value (may be repeated)")
      ->allow_extra_args(false)
      ->type_name("POINTER=VALUE");
  command
      .add_option(
          "--fit", a->fit,
          "Parameters to choose: names of the hardware profile, pointers to times and rates of the scenario (/server/links/*/bandwidth)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  command.add_option("-o,--output", a->output, "Write the profile here, and its plot beside it")->check(not_empty)->type_name("PROFILE");
  command.add_option("--write-scenario", a->scenario_output, "Write the scenario here, with what was fitted")
      ->check(not_empty)
      ->type_name("FILE");
  add_force(command, a->force);
  command
      .add_option("--rename", a->rename,
                  "What a measured algorithm is called here, as in ring_ompi=ring or ring=ring(channels=8) (may be repeated)")
      ->allow_extra_args(false)
      ->type_name("MEASURED=OURS");
  command.add_option("--only", a->only, "Use these measured algorithms only")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  command.add_option("--system", a->system, "Use measurements of systems with this in their name only")->type_name("TEXT");
  command.add_option("--collective", a->collective, "What was measured, for files that do not say; of one file FILE:collective=NAME")
      ->type_name("NAME");
  command.add_option("--smallest", a->smallest_bytes, "Leave out smaller messages")
      ->transform(CLI::Validator(in_bytes, ""))
      ->type_name("SIZE");
  command.add_option("--largest", a->largest_bytes, "Leave out larger messages")
      ->transform(CLI::Validator(in_bytes, ""))
      ->type_name("SIZE");
  command.add_option("--exclude", a->exclude, "Leave out this line (may be repeated)")->allow_extra_args(false)->type_name("FILE:LINE");
  command.add_flag("--in-place", a->in_place, "Use the in-place times");
  command.add_flag("--skip-bad", a->skip_bad, "Go on without lines that cannot be used");
  command.add_flag("--flat", a->flat, "Take ranks of one node for nodes of their own, where the scenario's nodes are one endpoint each");
  command.add_flag("--all", a->all, "Fit to all points; otherwise every second size of a series is held out");
  command.add_option("--folds", a->folds, "Cross-validation: parts of the fitted points (0: none)")
      ->check(CLI::Range(0, 100))
      ->check(not_one)
      ->type_name("K");
  command.add_option("--starts", a->starts, "How many starts the search has")->check(CLI::Range(1, 1000))->type_name("N");
  add_unsigned(command, "--seed", a->seed, "Seed of the starts");
  return [a] { return calibrate_command(*a, std::cout, std::cerr); };
}

std::function<int()> declare_exporting(CLI::App& command) {
  const auto a = std::make_shared<ExportArguments>();
  declare_export(command, *a);
  return [a] { return export_command(*a, std::cout, std::cerr); };
}

std::function<int()> declare_plotting(CLI::App& command) {
  const auto a = std::make_shared<PlotArguments>();
  declare_plot(command, *a);
  return [a] { return plot_command(*a, std::cout); };
}

std::function<int()> declare_replay(CLI::App& command) {
  const auto a = std::make_shared<ReplayArguments>();
  command.add_option("TRACE", a->trace, "A trace of weft bench, or of an application (validation/measurements/README.md)")->required();
  command.add_option("--scenario", a->scenario, "The cluster to simulate it on (JSON)")->required()->type_name("FILE");
  command.add_option("--set", a->set, "Set a key of the scenario: /pointer=value (may be repeated)")
      ->allow_extra_args(false)
      ->type_name("POINTER=VALUE");
  command.add_option("--ranks", a->ranks, "The same operations by so many ranks instead of the trace's")->type_name("N");
  command.add_option("--rename", a->rename, "What a traced algorithm is called here, as in mine=ring (may be repeated)")
      ->allow_extra_args(false)
      ->type_name("MEASURED=OURS");
  command.add_option("-o,--output", a->output, "Write all operations here, as CSV")->check(not_empty)->type_name("FILE");
  add_force(command, a->force);
  command.add_flag("--skip-bad", a->skip_bad, "Go on without lines that cannot be used");
  return [a] { return replay_command(*a, std::cout, std::cerr); };
}

std::function<int()> declare_timeline(CLI::App& command) {
  const auto a = std::make_shared<TimelineArguments>();
  command.add_option("FILE", a->files, "Traces of weft bench --trace, and trace.json of weft run --trace")->required();
  command.add_option("-o,--output", a->output, "Write the timeline for Perfetto here")->required()->check(not_empty)->type_name("FILE");
  add_force(command, a->force);
  return [a] { return timeline_command(*a, std::cout); };
}

std::function<int()> declare_advise(CLI::App& command) {
  const auto a = std::make_shared<AdviseArguments>();
  command.add_option("SCENARIO", a->scenario, "The cluster and the collective (JSON); of one size only: from 8 B to 8 GiB")->required();
  command.add_option("--set", a->set, "Set a key of the scenario: /pointer=value (may be repeated)")
      ->allow_extra_args(false)
      ->type_name("POINTER=VALUE");
  command
      .add_option("-o,--output", a->output,
                  "Write advice.csv, advice.svg (who is first where), selection.csv (weft bench --algorithm auto), nccl_tuner.conf (NCCL's "
                  "example tuner plugin) and nccl_settings.sh into this folder")
      ->check(not_empty)
      ->type_name("DIR");
  add_force(command, a->force);
  return [a] { return advise_command(*a, std::cout, std::cerr); };
}

std::function<int()> declare_train(CLI::App& command) {
  const auto a = std::make_shared<TrainArguments>();
  command.add_option("--compression", a->compressions, "One compression or several: gs_sgd, gtopk, sketched_sgd, topk_allgather, dense")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  command.add_option("--rows", a->rows, "Rows of a sketch, 1 to 31")->type_name("N");
  command.add_option("--columns", a->columns, "Columns of a sketch: a count, or a share of the parameters (10%)")->type_name("AMOUNT");
  command.add_option("--k", a->k, "Elements that a step updates: a count, or a share of the parameters (1%)")->type_name("AMOUNT");
  command.add_option("--momentum", a->momentum, "Momentum of gradients before they are compressed; 0 is none")->type_name("SHARE");
  command.add_option("--memory", a->memory, "Where what was not sent is kept: dense, or sketch at the root")->type_name("NAME");
  command.add_option("--algorithm", a->algorithm, "Algorithm of the all-reduces of what is not compressed")->type_name("NAME");
  command.add_option("--transport", a->transport, "Transport: threads, or tcp with a process for each rank")->type_name("NAME");
  command.add_option("-n,--ranks", a->ranks, "How many ranks train together")->type_name("N");
  command.add_option("--model", a->model, "Model: mlp, or logistic regression")->type_name("NAME");
  command.add_option("--hidden", a->hidden, "Widths of the hidden layers of mlp")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("N,...");
  command.add_option("--epochs", a->epochs, "Epochs: passes over all images")->type_name("N");
  command.add_option("--batch", a->batch, "Images of each rank in a step")->type_name("N");
  command.add_option("--learning-rates", a->learning_rates, "Learning rates, each for an equal part of the epochs")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("RATE,...");
  command
      .add_option("--warm-up", a->warm_up,
                  "Shares of elements sent in the first epochs, where more than --k and errors are not kept in the sketch; or none")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("SHARE,...");
  add_unsigned(command, "--seed", a->seed, "Seed of parameters, order of images and sketches");
  command.add_option("--seeds", a->seeds, "Train so many times, with this seed and those after it")->type_name("N");
  command.add_option("--target", a->target, "Accuracy whose time to reach the summary of several runs gives")->type_name("SHARE");
  command.add_option("--scenario", a->scenario, "Simulate each step on this cluster (JSON)")->type_name("FILE");
  command.add_option("--set", a->set, "Set a key of the scenario: /pointer=value (may be repeated)")
      ->allow_extra_args(false)
      ->type_name("POINTER=VALUE");
  command.add_option("--gradient", a->gradient, "Time of forward and backward in a simulated step")->type_name("TIME");
  command.add_option("--timeout", a->timeout_s, "Seconds without progress after which a run ends")->type_name("S");
  command.add_option("--data", a->data, "Images (validation/data/digits) instead of those that ship")->type_name("FILE");
  command
      .add_option("-o,--output", a->output, "Write all epochs here, as CSV, and their plot beside it; to a name in .md a page with tables")
      ->check(not_empty)
      ->type_name("FILE");
  add_force(command, a->force);
  return [a] { return train_command(*a, std::cout); };
}

std::function<int()> declare_tuning(CLI::App& command) {
  const auto a = std::make_shared<TuneArguments>();
  declare_tune(command, *a);
  return [a] { return tune_command(*a, std::cout, std::cerr); };
}

std::function<int()> declare_validate(CLI::App& command) {
  const auto a = std::make_shared<ValidateArguments>();
  command.add_option("REFERENCE", a->references, "Reference files (JSON); without any, all that ship");
  command.add_flag("--points", a->points, "Print every point");
  command.add_flag("--check", a->check, "Fail if a held-out error grew, a claim no longer holds, or the documentation is out of date");
  command.add_flag("--skip-bad", a->skip_bad, "Go on without lines of measurements that cannot be used");
  command.add_flag("--refit", a->refit, "First fit the profiles of references again, as these say");
  command.add_flag("--renew", a->renew, "Write the tables of the documentation and the errors that --check compares with");
  return [a] { return validate_command(*a, std::cout, std::cerr); };
}

std::function<int()> declare_lab(CLI::App& command) {
  const auto a = std::make_shared<LabArguments>();
  command.add_option("SCENARIO", a->scenario, "What to build and run (JSON); its hardware is where the fit starts")->type_name("FILE");
  command.add_option("BENCH", a->bench, "After --: further arguments of weft bench")->type_name("ARGUMENT");
  command.add_option("--set", a->set, "Set a key of the scenario: /pointer=value (may be repeated)")
      ->allow_extra_args(false)
      ->type_name("POINTER=VALUE");
  command.add_option("--fit", a->fit, "Parameters to choose by the first algorithm's smallest and largest size")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  command.add_option("-o,--output", a->output, "Keep the tables and traces of weft bench in this folder")
      ->check(not_empty)
      ->type_name("DIR");
  add_force(command, a->force);
  command.add_option("--time", a->row_s, "About how many seconds each algorithm is run at each size")
      ->check(number_above_zero())
      ->type_name("S");
  command.add_option("--check", a->allowed_percent, "Fail if the median error is larger, or the order of algorithms wrong")
      ->check(number_above_zero())
      ->type_name("PERCENT");
  command.add_flag("--clean", a->clean, "Remove what labs that were killed have left, and do nothing else");
  return [a] { return lab_command(*a, std::cout, std::cerr); };
}

std::function<int()> declare_help(CLI::App& command) {
  struct HelpArguments {
    std::string command;
    bool man = false;
  };
  const auto a = std::make_shared<HelpArguments>();
  command.add_option("COMMAND", a->command, "The command to explain");
  command.add_flag("--man", a->man, "Print the manual page, weft(1), instead");
  return [a, &program = *command.get_parent()] {
    std::cout << (a->man ? man_page(program, version()) : help_of(program, a->command));
    return exit_ok;
  };
}

std::function<int()> declare_completion(CLI::App& command) {
  const auto shell = std::make_shared<std::string>();
  command.add_option("SHELL", *shell, "The shell: bash")->required();
  return [shell, &program = *command.get_parent()] {
    if (*shell != "bash") throw InputError(fmt::format("weft completion: {}", unknown_name("shell", *shell, {"bash"})));
    std::cout << bash_completion(program);
    return exit_ok;
  };
}

}  // namespace

std::span<const Command> validation_commands() {
  static const std::array commands = {
      Command{"advise", "Say which algorithm is fastest at which size, and write it for NCCL and weft bench", declare_advise},
      Command{
          "bench", "Run an algorithm for real: threads, TCP, MPI, CUDA, NCCL (weft bench --help)", {}, bench_or_compare, describe_bench},
      Command{"calibrate", "Fit a hardware profile to measurements", declare_calibrate},
      Command{"export", "Write a schedule for other programs: MSCCL, MSCCL++, GOAL, Graphviz", declare_exporting},
      Command{"lab", "Build a scenario's fabric on this machine, run it for real and compare (root)", declare_lab},
      Command{"plot", "Draw a figure from results, for a paper", declare_plotting},
      Command{"replay", "Simulate a measured trace again, operation by operation", declare_replay},
      Command{"timeline", "Show measured and simulated traces one above the other, in Perfetto", declare_timeline},
      Command{"train", "Train a small model for real with compressed all-reduces", declare_train},
      Command{"tune", "Search the swept settings of a scenario for the shortest time", declare_tuning},
      Command{"validate", "Simulate everything measured or published that ships, and say how wrong we are", declare_validate},
      Command{"help", "Explain a command, or list all", declare_help},
      Command{"completion", "Print a script that completes command lines", declare_completion},
  };
  return commands;
}

}  // namespace weft

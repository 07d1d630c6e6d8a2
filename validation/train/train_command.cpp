#include "validation/train/train_command.hpp"

#include "kernels/base/gather.hpp"
#include "kernels/base/nearest_name.hpp"
#include "kernels/files/files.hpp"
#include "kernels/files/output_files.hpp"
#include "sim/cases/cases.hpp"
#include "sim/cases/plan.hpp"
#include "sim/cases/training_check.hpp"
#include "sim/files/shipped.hpp"
#include "validation/train/model.hpp"
#include "validation/train/report.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>

namespace weft {
namespace {

using Lines = std::vector<std::string>;

// One of the names, or a line that says what may be written.
std::size_t chosen(const char* flag, const std::string& found, const Lines& allowed, Lines& wrong) {
  const auto at = std::find(allowed.begin(), allowed.end(), found);
  if (at != allowed.end()) return static_cast<std::size_t>(at - allowed.begin());
  const auto near = nearest_name(found, allowed);
  wrong.push_back(fmt::format("{}: must be one of {}, got \"{}\"{}", flag, fmt::join(allowed, ", "), found,
                              near ? fmt::format(" (did you mean \"{}\"?)", *near) : ""));
  return 0;
}

Amount amount(const char* flag, const std::string& text, Lines& wrong) {
  try {
    return parse_amount(text);
  } catch (const InputError& e) {
    wrong.push_back(fmt::format("{}: {}", flag, e.what()));
    return Amount::exactly(1);
  }
}

double share(const char* flag, const std::string& text, Lines& wrong) {
  Lines ignored;
  const Amount found = amount(flag, text, ignored);
  if (ignored.empty() && found.share > 0 && found.share <= 1) return found.share;
  wrong.push_back(fmt::format("{}: must be a share above 0% and up to 100%, such as 95%, got {}", flag, text));
  return 1;
}

struct Plan {
  std::vector<train::TrainingSettings> trainings;  // each compression with each seed
  train::Medium medium = train::Medium::threads;
  train::Digits digits;
  double target = 0;
  std::vector<Case> clusters;  // of the scenario: none, one, or those of its sweep
  SimTime gradient;
};

std::vector<Case> clusters_of(const TrainArguments& a) {
  if (a.scenario.empty()) return {};
  std::vector<Case> cases = load_cases(a.scenario, parse_settings(a.set));
  for (const Case& one : cases) refuse_training(a.scenario, one.scenario);
  return cases;
}

train::TrainingSettings settings_of(const TrainArguments& a, Lines& wrong) {
  train::TrainingSettings s;
  s.hidden = chosen("--model", a.model, {"mlp", "logistic"}, wrong) == 1 ? std::vector<int>{} : a.hidden;
  s.compression = {.name = "dense",
                   .rows = a.rows,
                   .columns = amount("--columns", a.columns, wrong),
                   .k = amount("--k", a.k, wrong),
                   .momentum = a.momentum};
  s.allreduce = {.algorithm = a.algorithm, .ranks = a.ranks};
  s.epochs = a.epochs;
  s.batch = a.batch;
  s.learning_rates = a.learning_rates;
  s.warm_up.clear();
  if (a.warm_up != Lines{"none"})
    for (const std::string& text : a.warm_up) s.warm_up.push_back(share("--warm-up", text, wrong));
  return s;
}

SimTime gradient_of(const TrainArguments& a, Lines& wrong) {
  if (!a.gradient) return {};
  try {
    const SimTime time = parse_time(*a.gradient);
    if (time.ps < 0) wrong.push_back(fmt::format("--gradient: must not be negative, got {}", *a.gradient));
    return time;
  } catch (const InputError& e) {
    wrong.push_back(fmt::format("--gradient: {}", e.what()));
    return {};
  }
}

bool is_page(const std::filesystem::path& output) { return output.extension() == ".md"; }
std::filesystem::path plot_beside(std::filesystem::path table) { return table.replace_extension(".svg"); }

// Asked before anything runs.
void check_output(const TrainArguments& a) {
  if (a.output.empty()) return;
  const std::string argument = "-o " + a.output;
  if (!is_page(a.output) && std::filesystem::path(a.output).extension() != ".csv")
    throw InputError(argument + ": must end in .csv, beside which the plot is written as .svg, or in .md for a page");
  const auto output = [&](const std::filesystem::path& file, const char* what, std::string_view beginning) {
    return OutputFile{.file = file, .argument = argument, .what = what, .replaces = [beginning](std::string_view text) {
                        return text.starts_with(beginning);
                      }};
  };
  std::vector<OutputFile> outputs;
  if (is_page(a.output)) {
    outputs = {output(a.output, "a page of weft train", train::begin_of_page)};
  } else {
    outputs = {output(a.output, "a table of weft train", train::begin_of_csv), output(plot_beside(a.output), "a plot", "<svg")};
  }
  std::vector<std::filesystem::path> inputs;
  for (const std::string& input : {a.scenario, a.data})
    if (!input.empty()) inputs.emplace_back(input);
  refuse_to_replace(outputs, inputs, a.force);
  refuse_missing_folder(argument, a.output);
}

// Flags that none of the compressions, or the model, has.
void refuse_what_changes_nothing(const TrainArguments& a, Lines& wrong) {
  const TrainArguments usual;
  const auto& names = a.compressions;
  const auto is_known = [](const std::string& name) { return std::ranges::find(compression_names(), name) != compression_names().end(); };
  if (!std::ranges::all_of(names, is_known)) return;  // said where they are
  const std::string listed = fmt::format("{}", fmt::join(names, ", "));
  const auto refuse = [&](bool is_given, const char* flag, const char* what) {
    if (is_given) wrong.push_back(fmt::format("{}: {}; {} {} none", flag, what, listed, names.size() == 1 ? "has" : "have"));
  };
  if (std::ranges::none_of(names, sends_sketches)) {
    refuse(a.rows != usual.rows, "--rows", "is of sketches");
    refuse(a.columns != usual.columns, "--columns", "is of sketches");
    refuse(a.memory == "sketch", "--memory", "sketch needs a sketch");
  }
  if (std::ranges::none_of(names, is_sparse)) {
    refuse(a.k != usual.k, "--k", "is of compressions that choose elements");
    refuse(a.warm_up != usual.warm_up && a.warm_up != Lines{"none"}, "--warm-up", "is of compressions that choose elements");
  }
  if (a.model == "logistic" && a.hidden != usual.hidden) wrong.emplace_back("--hidden: is of the model mlp; logistic has no hidden layers");
}

Plan plan_of(const TrainArguments& a) {
  Lines wrong;
  Plan plan;
  plan.medium = chosen("--transport", a.transport, {"threads", "tcp"}, wrong) == 1 ? train::Medium::tcp : train::Medium::threads;
  plan.target = share("--target", a.target, wrong);
  const train::TrainingSettings common = settings_of(a, wrong);
  const bool in_sketch = chosen("--memory", a.memory, {"dense", "sketch"}, wrong) == 1;
  if (a.seeds < 1 || a.seeds > 1000) wrong.push_back(fmt::format("--seeds: must be 1 to 1000, got {}", a.seeds));
  if (!a.set.empty() && a.scenario.empty()) wrong.push_back("--set: there is no --scenario to set keys of");
  if (a.gradient && a.scenario.empty()) wrong.push_back("--gradient: there is no --scenario whose steps would take it");
  if (!(a.timeout_s > 0 && a.timeout_s <= 86400))
    wrong.push_back(fmt::format("--timeout: must be more than 0 and at most 86400, got {:.6g}", a.timeout_s));
  refuse_what_changes_nothing(a, wrong);
  if (const std::string missing = missing_shipped("validation"); a.data.empty() && !missing.empty()) wrong.push_back(missing);
  plan.gradient = gradient_of(a, wrong);
  gather(wrong, [&] { plan.clusters = clusters_of(a); });
  if (!wrong.empty()) throw InputError(wrong);

  plan.digits =
      train::read_digits(a.data.empty() ? shipped("validation") / "data" / "digits" / "digits.csv" : std::filesystem::path(a.data));
  for (const std::string& name : a.compressions)
    for (int i = 0; i < a.seeds; ++i) {
      train::TrainingSettings one = common;
      one.compression.name = name;
      one.compression.memory = in_sketch && sends_sketches(name) ? ErrorMemory::sketch : ErrorMemory::dense;
      one.seed = one.compression.seed = a.seed + static_cast<std::uint64_t>(i);
      plan.trainings.push_back(one);
      for (const Problem& p : train::problems(one, plan.digits.training)) wrong.push_back(fmt::format("{}: {}", p.where, p.what));
    }
  std::sort(wrong.begin(), wrong.end());
  wrong.erase(std::unique(wrong.begin(), wrong.end()), wrong.end());
  if (!wrong.empty()) throw InputError(wrong);
  return plan;
}

// Of each epoch; epochs that send as much are simulated once.
std::vector<train::StepTime> simulated_steps(const train::TrainingSettings& s, const train::Curve& curve, SimTime gradient,
                                             const Scenario& cluster) {
  std::map<std::int64_t, train::StepTime> known;
  std::vector<train::StepTime> out;
  const std::int64_t parameters = train::Model(s.hidden, s.seed).size();
  for (const train::Epoch& epoch : curve) {
    auto at = known.find(epoch.k);
    if (at == known.end()) {
      CompressionSettings compression = s.compression;
      if (is_sparse(compression.name)) compression.k = Amount::exactly(epoch.k);
      const CompressionPlan step = weft::plan(compression, parameters, s.allreduce);
      at = known.emplace(epoch.k, train::simulated_step(step, gradient, cpu_core_rates(), cluster)).first;
    }
    out.push_back(at->second);
  }
  return out;
}

void print_head(const TrainArguments& a, const Plan& plan, std::ostream& out) {
  const train::TrainingSettings& s = plan.trainings.front();
  std::string layers = fmt::format("{}", train::Images::pixels);
  for (const int width : s.hidden) layers += fmt::format("-{}", width);
  out << fmt::format("# {} {}-{}, {} parameters; {} ranks over {}, {} images of each in a step; {} images to learn from, {} to judge by\n",
                     a.model, layers, train::Images::classes, train::Model(s.hidden, s.seed).size(), s.allreduce.ranks,
                     name_of(plan.medium), s.batch, plan.digits.training.count(), plan.digits.test.count());
  const auto in_sketch = [](const train::TrainingSettings& one) { return one.compression.memory == ErrorMemory::sketch; };
  if (!s.warm_up.empty() && std::ranges::any_of(plan.trainings, in_sketch))
    out << "# no warm-up where errors are kept in the sketch: of more elements than it has columns it knows no values\n";
  if (!plan.clusters.empty())
    out << fmt::format("# simulated on {}: {} for a gradient, kernels at the rates of {}, then the exchanges one after the other\n",
                       plan.clusters.front().scenario.name, to_string(plan.gradient), cpu_core_rates().name);
  if (plan.clusters.size() > 1 && !is_page(a.output))
    out << fmt::format("# of the {} clusters of its sweep this table has the first, {}; a page (-o FILE.md) has all of them\n",
                       plan.clusters.size(), axes_label(plan.clusters.front()));
}

// What the page says that it was written by.
std::string command_of(const TrainArguments& a) {
  const TrainArguments usual;
  std::string out = "./weft train --compression " + fmt::format("{}", fmt::join(a.compressions, ","));
  const auto add = [&out](const char* flag, const auto& value, const auto& unless) {
    if (value != unless) out += fmt::format(" {} {}", flag, value);
  };
  add("--rows", a.rows, usual.rows);
  add("--columns", a.columns, usual.columns);
  add("--k", a.k, usual.k);
  add("--momentum", a.momentum, usual.momentum);
  add("--memory", a.memory, usual.memory);
  add("--algorithm", a.algorithm, usual.algorithm);
  add("--transport", a.transport, usual.transport);
  add("-n", a.ranks, usual.ranks);
  add("--model", a.model, usual.model);
  add("--hidden", fmt::format("{}", fmt::join(a.hidden, ",")), fmt::format("{}", fmt::join(usual.hidden, ",")));
  add("--epochs", a.epochs, usual.epochs);
  add("--batch", a.batch, usual.batch);
  add("--learning-rates", fmt::format("{}", fmt::join(a.learning_rates, ",")), fmt::format("{}", fmt::join(usual.learning_rates, ",")));
  add("--warm-up", fmt::format("{}", fmt::join(a.warm_up, ",")), fmt::format("{}", fmt::join(usual.warm_up, ",")));
  add("--seed", a.seed, usual.seed);
  add("--seeds", a.seeds, usual.seeds);
  add("--target", a.target, usual.target);
  if (!a.scenario.empty()) out += " --scenario " + a.scenario;
  for (const std::string& setting : a.set) out += " --set '" + setting + "'";
  if (a.gradient) out += " --gradient " + *a.gradient;
  return out + " -o " + a.output;
}

}  // namespace

int train_command(const TrainArguments& a, std::ostream& out) {
  check_output(a);
  const Plan plan = plan_of(a);
  print_head(a, plan, out);
  const std::chrono::milliseconds patience(static_cast<std::int64_t>(a.timeout_s * 1000));
  std::vector<train::Run> runs;
  for (const train::TrainingSettings& s : plan.trainings) {
    for (const Case& cluster : plan.clusters) {  // before anything runs: does it fit?
      const std::int64_t parameters = train::Model(s.hidden, s.seed).size();
      static_cast<void>(train::simulated_step(weft::plan(s.compression, parameters, s.allreduce), {}, cpu_core_rates(), cluster.scenario));
    }
    train::Run run{.settings = s, .medium = plan.medium, .curve = train::run(s, plan.digits, plan.medium, patience)};
    for (const Case& cluster : plan.clusters)
      run.others.push_back({axes_label(cluster), simulated_steps(s, run.curve, plan.gradient, cluster.scenario)});
    if (!run.others.empty()) run.steps = run.others.front().steps;
    if (run.others.size() < 2) run.others.clear();
    runs.push_back(std::move(run));
  }
  if (runs.size() == 1)
    print_epochs(runs.front(), out);
  else
    print_summary(runs, plan.target, out);
  if (is_page(a.output)) {
    write_file(a.output, train::to_page(runs, plan.target, command_of(a)));
  } else if (!a.output.empty()) {
    write_file(a.output, to_csv(runs));
    const std::string x = plan.clusters.empty() ? "epochs" : "simulated seconds on " + plan.clusters.front().scenario.name;
    const bool seeds = std::ranges::any_of(runs, [&](const train::Run& r) { return r.settings.seed != runs.front().settings.seed; });
    write_file(plot_beside(a.output), to_svg(seeds ? "Accuracy, mean and spread over seeds" : "Accuracy", x, lines_of(runs)));
  }
  return 0;
}

}  // namespace weft

#include "sim/cli/tune_command.hpp"

#include "kernels/base/gather.hpp"
#include "kernels/files/files.hpp"
#include "kernels/files/output_files.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/cli/job_of_ranks.hpp"
#include "sim/cli/numbers.hpp"
#include "sim/cli/tune_text.hpp"
#include "sim/results/progress.hpp"
#include "sim/tune/tune_cache.hpp"

#include <algorithm>
#include <ostream>

namespace weft {
namespace {

namespace fs = std::filesystem;

void refuse_small(const char* flag, std::int64_t value, std::vector<std::string>& problems) {
  constexpr std::int64_t most = 1'000'000;
  if (value < 1 || value > most) problems.push_back(fmt::format("{}: must be between 1 and {}, got {}", flag, most, value));
}

// Everything that is wrong with the arguments, and with the scenario.
TunableScenario checked(const TuneArguments& a) {
  std::vector<std::string> wrong;
  refuse_small("--evaluations", a.evaluations, wrong);
  refuse_small("--batch", a.batch, wrong);
  refuse_small("--seeds", a.seeds, wrong);
  for (const Problem& problem : problems(TunerSettings{.method = a.method}))
    wrong.push_back(fmt::format("--{}: {}", problem.where, problem.what));
  if (a.resume && !a.output) wrong.emplace_back("--resume: needs -o DIR, where the evaluations are that it goes on from");
  if (a.force && !a.output) wrong.emplace_back("--force: needs -o DIR, where it replaces files");
  const TuneArguments usual;
  if (!a.compare && a.seeds != usual.seeds) wrong.emplace_back("--seeds: is of --compare; --seed is that of the search");
  if (a.compare && (a.method != usual.method || a.evaluations != usual.evaluations || a.batch != usual.batch))
    wrong.emplace_back("--compare: tries all methods, one evaluation at a time; leave out --method, --evaluations and --batch");
  if (a.compare && (a.output || a.cache)) wrong.emplace_back("--compare: prints a table and writes nothing; leave out -o and --cache");
  std::vector<Setting> settings = parse_settings(a.scenario.set, wrong);
  std::optional<TunableScenario> scenario;
  if (!a.scenario.network.empty()) settings.push_back({"/network", a.scenario.network});
  if (a.scenario.files.size() == 1)
    gather(wrong, [&] { scenario = TunableScenario::load(a.scenario.files.front(), settings); });
  else
    wrong.push_back(fmt::format("weft tune: must have one scenario, got {}", a.scenario.files.size()));
  if (!wrong.empty()) throw InputError(wrong);
  return std::move(*scenario);
}

// The folder of -o: evaluations.csv, best.json and tune.json.
class TuneFolder {
 public:
  TuneFolder(const TuneArguments& a, const TunableScenario& scenario) : folder_(*a.output), arguments_(a), scenario_(scenario) {
    const std::string argument = "-o " + folder_.string();
    refuse_empty_name("-o", folder_.string(), "a folder");
    std::error_code failed;
    fs::create_directories(folder_, failed);
    if (failed) throw InputError(fmt::format("{}: cannot be written to: {}", argument, failed.message()));
    // tune.json, which is written first, says of which scenario all of them are.
    const fs::path about = folder_ / "tune.json";
    std::error_code unknown;
    const std::string of = fs::is_regular_file(about, unknown) ? scenario_of_tune(read_file(about)) : "";
    const bool is_of_it = of.empty() || of == scenario.name();
    const auto of_tune = [&](const char* name, bool (*is_one)(std::string_view)) {
      return OutputFile{.file = folder_ / name,
                        .argument = argument,
                        .what = fmt::format("a result of weft tune on \"{}\"", scenario.name()),
                        .replaces = [is_one, is_of_it](std::string_view text) { return is_of_it && is_one(text); }};
    };
    std::vector<fs::path> inputs(a.scenario.files.begin(), a.scenario.files.end());
    if (a.cache) inputs.emplace_back(*a.cache);
    refuse_to_replace(
        {of_tune("evaluations.csv", is_evaluations_csv), of_tune("best.json", is_best_scenario), of_tune("tune.json", is_tune_provenance)},
        inputs, a.force);
  }

  // What an earlier run of the same search has tried. Nothing where there is none; throws InputError where it is of another.
  std::vector<Evaluation> earlier() const {
    const fs::path about = folder_ / "tune.json", table = folder_ / "evaluations.csv";
    if (!fs::exists(table)) return {};
    const Json json = Json::parse(read_file(about), nullptr, false);
    if (json.is_discarded() || !json.is_object() || json.value("searched", Json()) != Json::parse(scenario_.text()))
      throw InputError(fmt::format("--resume: {} is of another scenario or other choices; tune into another folder, or without --resume",
                                   about.string()));
    std::vector<Evaluation> out = evaluations_from_csv(read_file(table), table.string(), scenario_.pointers());
    if (std::ssize(out) > arguments_.evaluations)
      throw InputError(fmt::format("--evaluations: must be at least {}, as many as {} has, to go on from these, got {}", out.size(),
                                   table.string(), arguments_.evaluations));
    return out;
  }

  void write(const TuneRun& run) const {
    if (run.evaluations.empty()) return;
    write_file(folder_ / "tune.json", tune_provenance(scenario_, arguments_));
    write_file(folder_ / "evaluations.csv", to_csv(run.evaluations, scenario_.pointers(), scenario_.trains()));
    if (run.best) write_file(folder_ / "best.json", best_scenario(scenario_, run, folder_));
  }

 private:
  fs::path folder_;
  const TuneArguments& arguments_;
  const TunableScenario& scenario_;
};

// The file of --cache: best settings by model and fabric.
class CacheFile {
 public:
  CacheFile(std::string file, const TunableScenario& scenario) : file_(std::move(file)), scenario_(scenario) {
    refuse_empty_name("--cache", file_, "a file");
    refuse_missing_folder("--cache " + file_, file_);
    std::error_code unknown;
    if (fs::exists(file_, unknown)) cache_ = TuneCache::from_json(read_file(file_), file_);
    const Scenario here = scenario.at(Point(scenario.choices().size(), 0.0)).scenario;
    fabric_ = graph_of(*build(here.fabric.spec, here.server));
    name_ = fmt::format("{} on {}", scenario.trains() ? here.workload.training.model.table->name : scenario.name(), scenario.name());
    if (scenario.trains())
      model_ = graph_of(*here.workload.training.model.table);
    else
      for (const Bytes size : here.workload.sizes)
        model_.labels.push_back(fmt::format("{} {}", name_of(here.workload.collective), to_string(size)));
  }

  // The point whose settings are nearest to the best ones of the model and fabric that are most alike.
  std::optional<Point> first(std::ostream& out) const {
    const auto match = cache_.find(model_, fabric_);
    if (!match) return std::nullopt;
    std::vector<Setting> settings;
    for (const auto& [pointer, value] : match->entry->settings) settings.push_back({pointer, Json::parse(value, nullptr, false)});
    out << fmt::format("# {}: begins with the best settings of {}, which differs by {:.0f} %\n", file_, match->entry->name,
                       100 * match->difference);
    return scenario_.nearest(settings);
  }

  void add(const TuneRun& run, const Evaluator& evaluator) {
    if (!run.best) return;
    TunedSettings entry{
        .name = name_, .model = model_, .fabric = fabric_, .settings = {}, .cost = evaluator.cost(run.evaluations[*run.best])};
    const std::vector<std::string> pointers = scenario_.pointers();
    const std::vector<Json> values = scenario_.values(run.points[*run.best]);
    for (std::size_t i = 0; i < pointers.size(); ++i)
      if (!values[i].is_null()) entry.settings[pointers[i]] = values[i].dump();
    cache_.add(std::move(entry));
    write_file(file_, cache_.to_json());
  }

 private:
  std::string file_, name_;
  const TunableScenario& scenario_;
  TuneCache cache_;
  LabelledGraph model_, fabric_;
};

}  // namespace

void declare_tune(CLI::App& command, TuneArguments& a) {
  command
      .add_option("FILE", a.scenario.files, "A scenario (JSON): what its sweep sets, and its lists of engines and algorithms, is chosen")
      ->required();
  command.add_option("--set", a.scenario.set, "Set a key of the scenario: /pointer=value (may be repeated)")
      ->allow_extra_args(false)
      ->type_name("POINTER=VALUE");
  command.add_option("--network", a.scenario.network, "Simulate on this network, as weft run does")->type_name("NAME");
  command.add_option("--method", a.method, "How to search: ensemble, grid, population, bayesian, hyperband")->type_name("NAME");
  command.add_option("--evaluations,--budget", a.evaluations, "How many points are simulated at most")->type_name("N");
  command.add_option("--batch", a.batch, "Points that are asked for before results are known: what may run at once")->type_name("N");
  add_unsigned(command, "--seed", a.seed, "Seed of the search");
  command.add_option("-o,--output", a.output, "Write evaluations.csv, best.json (ready to run) and tune.json into this folder")
      ->type_name("DIR");
  command.add_flag("--resume", a.resume, "Do not simulate again what DIR/evaluations.csv has");
  command
      .add_option("--cache", a.cache,
                  "Begin with the best settings in this file for the most similar model and fabric, and keep ours in it")
      ->type_name("FILE");
  command.add_flag("--compare", a.compare, "Simulate all points, and say how many evaluations each method needs");
  command.add_option("--seeds", a.seeds, "Searches of each method for --compare")->type_name("N");
  command.add_flag("--force", a.force, "Replace files in DIR that are not results of weft tune on this scenario");
  command.add_flag("--quiet", a.quiet, "Show no progress bar");
}

namespace {

// What a search begins with besides the scenario: what rank 0 knows from files, and tells the others in a batch without tasks.
struct Beginning {
  std::vector<Evaluation> earlier = {};
  std::optional<Point> first = {};
};

constexpr const char* the_beginning = "the beginning";

void tell(Farm& farm, const Beginning& beginning, const TunableScenario& scenario) {
  Json text = {{"earlier", to_csv(beginning.earlier, scenario.pointers(), scenario.trains())}};
  if (beginning.first) text["first"] = *beginning.first;
  farm.leader->begin(the_beginning, {});
  farm.leader->end(text.dump());
}

// Nothing where rank 0 has ended.
std::optional<Beginning> told(Farm& farm, const TunableScenario& scenario) {
  const FarmWorker::Tasks none = {.start = [](std::size_t) {},
                                  .waiting = [] { return std::vector<pollfd>(); },
                                  .ended = [] { return std::vector<std::pair<std::size_t, std::string>>(); },
                                  .interrupted = [] { return false; }};
  const std::optional<std::string> text = farm.worker->serve(the_beginning, none);
  if (!text) return std::nullopt;
  const Json json = Json::parse(*text);
  Beginning out{.earlier = evaluations_from_csv(json.at("earlier").get<std::string>(), "rank 0", scenario.pointers())};
  if (json.contains("first")) out.first = json.at("first").get<Point>();
  return out;
}

TunePlan plan_of(const TuneArguments& a, const TunableScenario& scenario, const std::optional<Point>& first) {
  return {.settings = {.method = a.method, .seed = a.seed, .min_fidelity = min_share(scenario)},
          .budget = {.evaluations = static_cast<int>(a.evaluations), .batch = static_cast<int>(a.batch)},
          .first = first};
}

// Of a rank other than 0: the same search, which comes to the same points.
void help_to_tune(const TuneArguments& a, const TunableScenario& scenario, Farm& farm, unsigned workers) {
  Evaluator evaluator(
      scenario, [](const std::string&) {}, &farm, workers);
  if (a.compare) {
    compare_methods(scenario, a, evaluator);
    return;
  }
  const std::optional<Beginning> beginning = told(farm, scenario);
  if (!beginning) return;
  for (const Evaluation& evaluation : beginning->earlier) evaluator.remember(evaluation);
  tune(scenario, plan_of(a, scenario, beginning->first), evaluator, [](const TuneRun&) {});
}

}  // namespace

int tune_command(const TuneArguments& a, std::ostream& out, std::ostream& err) {
  const TunableScenario scenario = checked(a);
  JobOfRanks job(a.output.value_or(""), "-o DIR");
  if (job.helps()) return job.help(err, [&](Farm& farm, unsigned workers) { help_to_tune(a, scenario, farm, workers); });
  const std::int64_t points = scenario.space().size();
  std::optional<TuneFolder> folder;
  if (a.output) folder.emplace(a, scenario);
  Farm* const farm = job.lead();
  Progress progress(static_cast<std::size_t>(a.compare ? points : std::min(points, a.evaluations)), !a.quiet);
  Evaluator evaluator(
      scenario, [&](const std::string& last) { progress.done(last); }, farm, job.workers());
  if (a.compare) {
    const std::string table = compare_methods(scenario, a, evaluator);
    progress.clear();
    out << table << std::flush;
    return exit_ok;
  }
  std::optional<CacheFile> cache;
  if (a.cache) cache.emplace(*a.cache, scenario);
  Beginning beginning;
  if (a.resume) beginning.earlier = folder->earlier();
  for (const Evaluation& evaluation : beginning.earlier) evaluator.remember(evaluation);

  out << tune_heading(scenario, a);
  if (cache) beginning.first = cache->first(out);
  if (farm) tell(*farm, beginning, scenario);
  const TuneRun run = tune(scenario, plan_of(a, scenario, beginning.first), evaluator, [&](const TuneRun& so_far) {
    if (folder) folder->write(so_far);
  });
  progress.clear();
  out << tune_table(scenario, run) << std::flush;
  job.tell(err);
  if (evaluator.interrupted()) {
    err << fmt::format("weft: interrupted after {} evaluations{}\n", run.evaluations.size(), folder ? "; --resume goes on" : "");
    return exit_run_failed;
  }
  if (!run.best) {
    err << fmt::format("weft: none of {} evaluations succeeded\n", run.evaluations.size());
    return exit_run_failed;
  }
  if (cache) cache->add(run, evaluator);
  return exit_ok;
}

}  // namespace weft

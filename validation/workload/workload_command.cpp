#include "validation/workload/workload_command.hpp"

#include "collectives/bench/settings/settings.hpp"
#include "collectives/registry/registry.hpp"
#include "collectives/transports/job_secret.hpp"
#include "collectives/transports/launch.hpp"
#include "kernels/base/statistics.hpp"
#include "sim/cases/describe.hpp"
#include "sim/cli/numbers.hpp"
#include "sim/cli/runner.hpp"
#include "sim/experiment.hpp"
#include "sim/results/table.hpp"
#include "sim/scenario/algorithms.hpp"
#include "sim/training/training_step.hpp"
#include "sim/tune/evaluations.hpp"
#include "sim/tune/tunable_scenario.hpp"
#include "sim/tune/tuner.hpp"
#include "validation/workload/for_real.hpp"
#include "validation/workload/ranks.hpp"
#include "validation/workload/steps_table.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <ostream>
#include <set>
#include <span>

#include <CLI/CLI.hpp>

namespace weft {
namespace {

// One engine with one algorithm and one way to compress, as a rank runs it.
struct Candidate {
  ReductionChoice choice;
  RowRequest request;
};

const std::vector<std::string>& real_transports() {
  static const std::vector<std::string> all = {"threads", "tcp", "mpi"};
  return all;
}

Candidate candidate(const Scenario& scenario, const RowRequest& request) {
  Scenario one = scenario;
  one.workload.training.engines = {*request.engine};
  const Request of_schedule = request_of(one, *request.algorithm);
  auto schedule = std::make_shared<Schedule>(build(of_schedule));
  Prover().require_correct(*schedule, of_schedule);
  Candidate out{{.engine = request.engine->settings, .schedule = std::move(schedule)}, request};
  if (request.compression && request.compression->compresses()) out.choice.compression = {request.compression->settings, of_schedule};
  return out;
}

// What the ranks of a run must have for all of its rows.
struct Needs {
  RankShape shape = {};
  int servers = 0;  // on hosts of their own

  void add(const RowRequest& request) {
    shape.streams = std::max(shape.streams, streams_of(request.engine->settings));
    shape.pushes |= std::holds_alternative<BytepsSettings>(request.engine->settings);
    servers = std::max(servers, extra_servers_of_engine(scenario_of(request)));
  }
};

std::vector<Setting> settings_of(const WorkloadArguments& a) {
  std::vector<Setting> out = parse_settings(a.set);
  if (a.ranks > 0) out.push_back({"/workload/ranks", a.ranks});
  return out;
}

void check_arguments(const WorkloadArguments& a) {
  std::vector<std::string> wrong;
  const auto at_least = [&](const char* flag, int value, int least) {
    if (value < least) wrong.push_back(fmt::format("{}: must be at least {}, got {}", flag, least, value));
  };
  at_least("--iterations", a.iterations, 1);
  at_least("--warmup", a.warmup, 0);
  at_least("--tune", a.tune, 0);
  at_least("-n", a.ranks, 0);
  if (a.timeout_s <= 0) wrong.push_back(fmt::format("--timeout: must be above 0, got {}", a.timeout_s));
  if (std::ranges::find(real_transports(), a.transport) == real_transports().end())
    wrong.push_back(fmt::format("--transport: {} with --workload", unknown_name("transport", a.transport, real_transports())));
  for (const Problem& p : problems(TunerSettings{.method = a.method})) wrong.push_back(fmt::format("--{}: {}", p.where, p.what));
  if (a.rank >= 0 && (a.transport != "tcp" || a.rank >= static_cast<int>(a.hosts.size())))
    wrong.push_back(
        fmt::format("--rank: needs --transport tcp and --hosts with the address of every rank, got rank {} of {}", a.rank, a.hosts.size()));
  if (a.hosts.empty() && !a.secret_file.empty())
    wrong.emplace_back("--secret-file: needs --hosts; processes that weft bench starts itself need none");
  if (a.rank < 0 && !a.hosts.empty()) wrong.emplace_back("--hosts: needs --rank, which of them this process is");
  if (!a.stream_rate.empty() && a.transport != "tcp") wrong.emplace_back("--stream-rate: only for --transport tcp");
  if (!a.stream_rate.empty()) try {
      bench::parse_stream_rate(a.stream_rate);
    } catch (const InputError& e) {
      wrong.emplace_back(e.what());
    }
  if (a.tune > 0 && a.rank >= 0 && a.hosts.empty()) wrong.emplace_back("--tune: needs all ranks");
  if (!wrong.empty()) throw InputError(wrong);
}

// For each candidate: medians of the step, of compute and of kernels; bytes sent, messages, orders.
constexpr std::size_t numbers_a_row = 6;

std::vector<double> measure(RealRank& rank, const WorkloadArguments& a) {
  std::vector<double> seconds, computed, kernels;
  StepMeasurement last;
  for (int i = 0; i < a.warmup + a.iterations; ++i) {
    last = rank.step();
    if (i < a.warmup) continue;
    seconds.push_back(last.seconds);
    computed.push_back(last.computed_s);
    kernels.push_back(last.kernels_s);
  }
  rank.check_nothing_lost();
  return {median(seconds),
          median(computed),
          median(kernels),
          static_cast<double>(last.sent_bytes),
          static_cast<double>(last.messages),
          static_cast<double>(last.orders)};
}

// Where ranks of the command's transport run.
class Ranks {
 public:
  // `plans`: of everything that is to be run.
  Ranks(const WorkloadArguments& a, std::span<const RanksPlan> plans) : over_tcp_(a.transport == "tcp"), rank_(a.rank) {
    if (a.transport != "mpi") return;
    MpiSettings settings{.patience = plans.front().patience, .rest = std::chrono::microseconds(50)};
    for (const RanksPlan& plan : plans) settings.channels = std::max(settings.channels, plan.channels);
    mpi_ = load_mpi(settings);
    rank_ = mpi_->rank();
    for (const RanksPlan& plan : plans)
      if (plan.all() != mpi_->ranks())
        throw InputError(fmt::format("-n: mpirun started {} ranks, but the steps have {} ranks and {} servers behind them", mpi_->ranks(),
                                     plan.ranks, plan.servers));
  }
  bool prints() const { return rank_ <= 0; }
  std::vector<double> run(const RanksPlan& plan, std::size_t most, const RankProgram& program) const {
    if (mpi_) return run_over_mpi(plan, *mpi_, program);
    return over_tcp_ ? run_over_tcp(plan, most, program) : run_as_threads(plan, program);
  }

 private:
  bool over_tcp_;
  Rank rank_;
  std::unique_ptr<MpiModule> mpi_;
};

// All that ranks of the same run have in common, in a few digits: peers with other settings than these would wait for other messages.
std::string digest(const std::string& of) {
  std::string out;
  const Proof hash = keyed_hash({}, std::as_bytes(std::span(of)));
  for (const std::byte b : std::span(hash).first(4)) out += fmt::format("{:02x}", b);
  return out;
}

std::vector<std::int64_t> bytes_of(const std::vector<Bytes>& sizes) {
  std::vector<std::int64_t> out;
  for (const Bytes size : sizes) out.push_back(size.count);
  return out;
}

// `rows`: what is run of it, in order.
std::string settings_in_common(const Scenario& scenario, const std::vector<RowRequest>& rows) {
  std::string out = to_json(scenario).at("workload").dump();
  for (const RowRequest& row : rows) out += "\n" + name_of(row);
  const StepWork work = step_work(scenario);
  out += fmt::format("\n{} {} {}", work.forward.ps, work.optimizer.ps, fmt::join(bytes_of(work.gradients), ","));
  for (const auto& layer : work.backward) out += fmt::format("\n{} {}", layer.duration.ps, fmt::join(layer.gradients, ","));
  return out;
}

// `in_common`: what must be the same for all ranks besides.
RanksPlan plan_of(const WorkloadArguments& a, const Scenario& scenario, const Needs& needs, const std::string& in_common) {
  const RankLinks links{.ranks = scenario.workload.ranks, .at = {}, .fail = {}, .servers = needs.servers};
  return {.ranks = links.ranks,
          .servers = links.servers,
          .channels = RealRank::channels(links, needs.shape),
          .job = fmt::format("training -w {} --iterations {} --tune {} --stream-rate {}, workload and engines {}, {} of {}", a.warmup,
                             a.iterations, a.tune, a.stream_rate.empty() ? "none" : a.stream_rate, digest(in_common), scenario.name,
                             scenario.workload.training.model.table->name)
                     .substr(0, 200),
          .patience = std::chrono::milliseconds(std::llround(a.timeout_s * 1000)),
          .hosts = a.hosts,
          .rank = a.rank,
          .secret = a.hosts.empty() ? "" : secret_in_file_or_environment(a.secret_file),
          .stream_rate = a.stream_rate.empty() ? BitsPerSecond{0} : bench::parse_stream_rate(a.stream_rate)};
}

SimTime as_time(double seconds) { return {std::llround(seconds * 1e12)}; }

// The row of `weft run` with what was measured. Links are not known.
Row measured_row(const Scenario& scenario, const Candidate& of, const double* numbers) {
  const TrainingChoice& t = scenario.workload.training;
  const StepWork work = step_work(scenario);
  const SimTime time = as_time(numbers[0]), computed = std::min(as_time(numbers[1]), time);
  std::optional<CompressionResult> compressed;
  if (of.request.compression) compressed = {.compression = label(*of.request.compression), .kernels = as_time(numbers[2])};
  return {.scenario = scenario.name,
          .fabric = std::string(type_name(scenario.fabric.spec)),
          .network = scenario.network,
          .algorithm = label(*of.request.algorithm),
          .ranks = scenario.workload.ranks,
          .size = of.request.size,
          .dtype = scenario.workload.dtype,
          .time = time,
          .wire_bytes_per_rank = Bytes{static_cast<std::int64_t>(numbers[3])},
          .messages = static_cast<std::int64_t>(numbers[4]),
          .training = TrainingResult{.model = t.model.table->name,
                                     .engine = label(*of.request.engine),
                                     .batch_per_gpu = t.batch_per_gpu,
                                     .compute = computed,
                                     .exposed = time - computed,
                                     .samples_per_s = static_cast<double>(scenario.workload.ranks) * t.batch_per_gpu / time.seconds(),
                                     .scaling_efficiency = work.compute().seconds() / time.seconds()},
          .compressed = std::move(compressed)};
}

std::string compared_table(const std::vector<Row>& rows, const std::vector<RowRequest>& requests, const std::vector<Case>& cases) {
  std::size_t width = 30;
  for (const RowRequest& request : requests) width = std::max(width, name_of(request).size());
  std::string out = fmt::format("# {:<{}}  {:>14}  {:>14}  {:>8}\n", "engine", width, "measured (us)", "simulated (us)", "error");
  std::vector<double> errors;
  const std::vector<Result> simulated = run_rows(requests, cases, simulated_row, {});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!simulated[i].row) throw RunError(simulated[i].failure);
    const double error = simulated[i].row->time.microseconds() / rows[i].time.microseconds() - 1;
    errors.push_back(std::abs(error));
    out += fmt::format("  {:<{}}  {:>14.2f}  {:>14.2f}  {:>+7.1f}%\n", name_of(requests[i]), width, rows[i].time.microseconds(),
                       simulated[i].row->time.microseconds(), 100 * error);
  }
  return out + fmt::format("# median error {:.1f} %\n", 100 * median(errors));
}

std::vector<RowRequest> of_case(const std::vector<RowRequest>& requests, std::size_t case_index) {
  std::vector<RowRequest> out;
  std::ranges::copy_if(requests, std::back_inserter(out), [&](const RowRequest& r) { return r.case_index == case_index; });
  return out;
}

Needs needs_of(const std::vector<RowRequest>& requests, std::size_t case_index) {
  Needs out;
  for (const RowRequest& request : of_case(requests, case_index)) out.add(request);
  return out;
}

int run_measured(const WorkloadArguments& a, std::ostream& out) {
  std::vector<Case> cases = load_cases(a.file, settings_of(a));
  compress_on_core(cases);
  std::set<std::string> wrong;
  const std::vector<RowRequest> requests = rows_of(cases);
  for (const RowRequest& request : requests) {
    if (!request.engine)
      wrong.insert(fmt::format("{}: /workload/model: missing: --workload runs training steps", a.file));
    else
      for (const Problem& p : problems_for_real(request)) wrong.insert(fmt::format("{}: {}: {}", a.file, p.where, p.what));
  }
  std::vector<RanksPlan> plans;
  for (std::size_t c = 0; c < cases.size() && wrong.empty(); ++c)
    plans.push_back(plan_of(a, cases[c].scenario, needs_of(requests, c), settings_in_common(cases[c].scenario, of_case(requests, c))));
  for (const RanksPlan& plan : plans)
    if (a.rank >= 0 && plan.all() != static_cast<int>(a.hosts.size()))
      wrong.insert(fmt::format("--hosts: must have the addresses of {} ranks{}, got {}", plan.ranks,
                               plan.servers > 0 ? fmt::format(" and {} servers behind them", plan.servers) : "", a.hosts.size()));
  if (!wrong.empty()) throw InputError(std::vector<std::string>(wrong.begin(), wrong.end()));
  const Ranks ranks(a, plans);
  std::vector<Row> rows;
  for (std::size_t c = 0; c < cases.size(); ++c) {
    const Scenario& scenario = cases[c].scenario;
    std::vector<Candidate> candidates;
    for (const RowRequest& request : of_case(requests, c)) candidates.push_back(candidate(scenario, request));
    const Needs needs = needs_of(requests, c);
    const StepWork work = step_work(scenario);
    const std::vector<double> numbers = ranks.run(plans[c], candidates.size() * numbers_a_row, [&](const RankLinks& links) {
      std::vector<double> all;
      if (links.rank >= links.ranks) return serve(links, needs.shape), all;
      RealRank rank(links, work, needs.shape);
      for (const Candidate& one : candidates) {
        rank.use(one.choice);
        const std::vector<double> own = measure(rank, a);
        all.insert(all.end(), own.begin(), own.end());
      }
      rank.end();
      return all;
    });
    if (!ranks.prints()) continue;  // rank 0 has the table
    for (std::size_t i = 0; i < candidates.size(); ++i)
      rows.push_back(measured_row(scenario, candidates[i], numbers.data() + i * numbers_a_row));
    const std::vector<Row> measured(rows.end() - static_cast<std::ptrdiff_t>(candidates.size()), rows.end());
    if (const std::string axes = axes_label(cases[c]); !axes.empty()) out << "# case: " << axes << "\n";
    out << to_table(measured, {a.transport, a.iterations}) << std::flush;
  }
  if (a.compare && ranks.prints()) out << compared_table(rows, requests, cases) << std::flush;
  return exit_ok;
}

// Every rank has the same tuner, and tells it the same times: all choose alike without a word.
int run_tuned(const WorkloadArguments& a, std::ostream& out) {
  const TunableScenario open = TunableScenario::load(a.file, settings_of(a));
  if (!open.trains()) throw InputError(fmt::format("{}: /workload/model: missing: --workload runs training steps", a.file));
  Needs needs;
  std::set<std::string> wrong;
  for (const std::string& pointer : open.pointers())
    if (!pointer.starts_with("/workload/engine") && !pointer.starts_with("/workload/algorithm"))
      wrong.insert(
          fmt::format("{}: /sweep: --tune chooses engines, their settings and algorithms; {} is not one of them", a.file, pointer));
  for (std::size_t i = 0; i < open.choices().size(); ++i)
    for (std::size_t option = 0; option < open.choices()[i].options.size(); ++option) {
      Point point(open.choices().size(), 0.0);
      point[i] = static_cast<double>(option);
      const std::vector<Case> one = {open.at(point)};
      for (const RowRequest& request : rows_of(one)) {
        for (const Problem& p : problems_for_real(request)) wrong.insert(fmt::format("{}: {}: {}", a.file, p.where, p.what));
        needs.add(request);
      }
    }
  if (!wrong.empty()) throw InputError(std::vector<std::string>(wrong.begin(), wrong.end()));
  const Scenario scenario = open.at(Point(open.choices().size(), 0.0)).scenario;
  const StepWork work = step_work(scenario);
  const auto choice_at = [&](const Point& point) {
    const std::vector<Case> one = {open.at(point)};
    return candidate(one.front().scenario, rows_of(one).front()).choice;
  };
  const std::size_t axes = open.choices().size();
  // Of each step: the point and its time; then the best point and what is measured with it.
  const std::size_t most = static_cast<std::size_t>(a.tune) * (axes + 1) + axes + numbers_a_row;
  const RanksPlan plan =
      plan_of(a, scenario, needs, fmt::format("{}\n{}\n{} {}", settings_in_common(scenario, {}), open.text(), a.method, a.seed));
  const Ranks ranks(a, std::span(&plan, 1));
  const std::vector<double> numbers = ranks.run(plan, most, [&](const RankLinks& links) {
    std::vector<double> all;
    if (links.rank >= links.ranks) return serve(links, needs.shape), all;
    RealRank rank(links, work, needs.shape);
    Tuner tuner(open.space(), {.method = a.method, .seed = a.seed});
    for (int step = 0; step < a.tune; ++step) {
      const std::vector<Trial> trials = tuner.ask(1);
      if (trials.empty()) break;  // everything has been tried
      std::optional<ReductionChoice> choice;
      try {
        choice = choice_at(trials.front().point);
      } catch (const InputError&) {  // options that do not go together, on all ranks alike
        tuner.tell(trials.front().id, INFINITY);
        continue;
      }
      rank.use(*choice);
      const double seconds = rank.step().seconds;
      tuner.tell(trials.front().id, seconds);
      all.insert(all.end(), trials.front().point.begin(), trials.front().point.end());
      all.push_back(seconds);
    }
    if (!tuner.best()) throw RunError("none of the steps could be run: options do not go together");
    const Point best = tuner.best()->point;
    rank.use(choice_at(best));
    const std::vector<double> measured = measure(rank, a);
    all.insert(all.end(), best.begin(), best.end());
    all.insert(all.end(), measured.begin(), measured.end());
    rank.end();
    return all;
  });
  if (!ranks.prints()) return exit_ok;
  const auto settings_at = [&](const double* point) {
    const std::vector<Json> values = open.values(Point(point, point + axes));
    const std::vector<std::string> pointers = open.pointers();
    std::string text;
    for (std::size_t i = 0; i < pointers.size(); ++i)
      if (!values[i].is_null()) text += fmt::format("{}{}={}", text.empty() ? "" : ", ", pointers[i], cell_of(values[i]));
    return text;
  };
  const std::size_t steps = (numbers.size() - axes - numbers_a_row) / (axes + 1);
  out << fmt::format("# {} real steps chose among {} points by {}, seed {}; those that were better than all before:\n", steps,
                     open.space().size(), a.method, a.seed);
  double least = INFINITY;
  for (std::size_t i = 0; i < steps; ++i) {
    const double* step = numbers.data() + i * (axes + 1);
    if (step[axes] >= least) continue;
    least = step[axes];
    out << fmt::format("  step {:>4}  {:>12.2f} us  {}\n", i + 1, least * 1e6, settings_at(step));
  }
  const double* best = numbers.data() + steps * (axes + 1);
  std::vector<Case> cases = {open.at(Point(best, best + axes))};
  compress_on_core(cases);
  const std::vector<RowRequest> requests = rows_of(cases);
  const std::vector<Row> rows = {measured_row(cases.front().scenario, candidate(cases.front().scenario, requests.front()), best + axes)};
  out << "# best: " << settings_at(best) << "\n" << to_table(rows, {a.transport, a.iterations}) << std::flush;
  if (a.compare) out << compared_table(rows, {requests.front()}, cases) << std::flush;
  return exit_ok;
}

}  // namespace

bool asks_for_workload(int argc, const char* const* argv) {
  return std::any_of(argv + 1, argv + argc, [](std::string_view a) { return a == "--workload" || a.starts_with("--workload="); });
}

int run_workload(const WorkloadArguments& arguments, std::ostream& out) {
  check_arguments(arguments);
  return arguments.tune > 0 ? run_tuned(arguments, out) : run_measured(arguments, out);
}

int workload_command(int argc, const char* const* argv, std::ostream& out) {
  WorkloadArguments a;
  CLI::App app("Runs the training steps of a scenario for real: timed compute, real gradients, real streams.", "weft bench");
  app.add_option("--workload", a.file, "A scenario that trains (JSON)")->required()->type_name("FILE");
  app.add_option("--transport", a.transport, "threads, tcp with a process for each rank, or mpi under mpirun")->type_name("NAME");
  app.add_option("-n,--ranks", a.ranks, "Ranks; those of the scenario when not given")->type_name("N");
  app.add_option("--set", a.set, "Set a key of the scenario: /pointer=value (may be repeated)")
      ->allow_extra_args(false)
      ->type_name("POINTER=VALUE");
  app.add_option("--iterations", a.iterations, "Steps that count")->type_name("N");
  app.add_option("-w,--warmup", a.warmup, "Steps before those that count")->type_name("N");
  app.add_option("--tune", a.tune, "Real steps that choose what the scenario sweeps, or settings of its engine, before those")
      ->type_name("N");
  app.add_option("--method", a.method, "How --tune searches: ensemble, grid, population, bayesian, hyperband")->type_name("NAME");
  add_unsigned(app, "--seed", a.seed, "Of --tune");
  app.add_option("--timeout", a.timeout_s, "Seconds without progress after which a run ends")->type_name("S");
  app.add_flag("--compare", a.compare, "Simulate the same on the scenario's cluster, and print the error");
  app.add_option("--hosts", a.hosts, "tcp: host:port of every rank; then this process is one of them")
      ->delimiter(',')
      ->type_name("ADDRESS,...");
  app.add_option("--rank", a.rank, "tcp: which of --hosts this process is")->type_name("N");
  app.add_option("--stream-rate", a.stream_rate, "tcp: hold each connection to so much; kernels pace it")->type_name("RATE");
  app.add_option("--secret-file", a.secret_file,
                 "With --hosts: a file with the secret that all processes of the run share; by default the value of WEFT_JOB_SECRET")
      ->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {
    return app.exit(done);
  } catch (const CLI::ParseError& error) {
    throw InputError(std::string("weft bench --workload: ") + error.what());
  }
  const auto job = a.transport == "mpi" ? launched(own_environment()) : std::nullopt;
  if (job && a.ranks == 0) a.ranks = job->ranks;
  try {
    return run_workload(a, out);
  } catch (const InputError&) {  // every rank finds the same
    if (!job || job->rank == 0) throw;
    return exit_bad_input;
  }
}

}  // namespace weft

#include "sim/cases/cases.hpp"

#include "kernels/base/gather.hpp"
#include "kernels/files/files.hpp"
#include "models/traces/read_traces.hpp"
#include "models/traces/traced_job.hpp"
#include "sim/cases/compatibility.hpp"
#include "sim/cases/text_key.hpp"
#include "sim/files/utf8.hpp"
#include "sim/json/pointer.hpp"
#include "sim/scenario/algorithms.hpp"
#include "sim/scenario/profiles.hpp"
#include "sim/scenario/scenario_fields.hpp"

#include <set>

namespace weft {
namespace {

const Json& schema() {
  static const Json it = Form<Scenario>::schema();
  return it;
}

bool written(const Json& scenario, const char* pointer) { return scenario.contains(Json::json_pointer(pointer)); }

// Fills in what follows from other keys.
void resolve(const Json& as_written, const std::string& name, Scenario& scenario) {
  if (scenario.name.empty()) scenario.name = name;
  if (Workload& w = scenario.workload; w.trace.given()) {
    if (w.algorithms.empty()) w.algorithms = {default_algorithm()};
    Bytes sum;
    for (const TracedRank& rank : w.trace.program->ranks)
      for (const TracedOperation& o : rank.operations)
        if (o.kind != TracedOperation::Kind::receive && o.bytes > 0) sum += Bytes{std::min(o.bytes, max_message.count)};
    // What each rank puts in, on average.
    w.sizes = {Bytes{sum.count / static_cast<std::int64_t>(w.trace.program->ranks.size())}};
  } else if (!w.program.empty()) {  // its size is what its collectives and messages have together
    if (w.algorithms.empty()) w.algorithms = {default_algorithm()};
    Bytes sum;
    for (const OperationSpec& o : w.program) sum += o.size.value_or(o.send.value_or(Bytes{}));
    w.sizes = {sum};
  } else if (w.collective == Collective::barrier && w.sizes.empty()) {
    w.sizes = {Bytes{0}};
  }
  scenario.workload.ranks = ranks_of(scenario);
  if (const TrainingChoice& training = scenario.workload.training; training.given()) {
    const DType on_wire = training.gradient_dtype.value_or(scenario.workload.dtype);
    scenario.workload.sizes = {training.model.table->parameters() * Bytes{static_cast<std::int64_t>(size_of(on_wire))}};
    if (training.stragglers.spread > 0 && !written(as_written, "/workload/stragglers/seed"))
      scenario.workload.training.stragglers.seed = scenario.seed;
  }
  if (!written(as_written, "/fabric/ecmp/seed")) scenario.fabric.ecmp.seed = scenario.seed;
  if (!written(as_written, "/placement/seed")) scenario.placement.seed = scenario.seed;
  for (AlgorithmChoice& choice : scenario.workload.algorithms) choice = with_server_defaults(scenario, choice);
  for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
    JobChoice& job = scenario.jobs[i];
    if (job.name.empty()) job.name = fmt::format("job{}", i + 1);
    if (job.ranks == 0) job.ranks = scenario.workload.ranks;
    if (!written(as_written, fmt::format("/jobs/{}/placement/seed", i).c_str())) job.placement.seed = scenario.seed;
  }
  for (std::size_t i = 0; i < scenario.traffic.size(); ++i)
    if (!written(as_written, fmt::format("/traffic/{}/seed", i).c_str())) scenario.traffic[i].seed = scenario.seed;
  if (scenario.network == NetworkKind::packet && !scenario.packet) scenario.packet.emplace();
  if (scenario.packet && !written(as_written, "/packet/seed")) scenario.packet->seed = scenario.seed;
  if (scenario.repeat && !written(as_written, "/repeat/seed")) scenario.repeat->seed = scenario.seed;
  if (scenario.start_skew && !written(as_written, "/start_skew/seed")) scenario.start_skew->seed = scenario.seed;
}

// A problem at a place that the sweep sets is one of the sweep's value: what the file itself has there may be good.
void name_the_sweep(const std::vector<Setting>& axes, std::vector<Problem>& problems) {
  for (Problem& problem : problems)
    for (const Setting& axis : axes)
      if (problem.where == axis.pointer || problem.where.starts_with(axis.pointer + "/")) {
        problem.what += " (a value of \"sweep\")";
        break;
      }
}

}  // namespace

std::vector<Case> expand(Json json, const std::vector<Setting>& settings, const std::string& name, Input& in) {
  const JsonPath root;
  std::vector<Case> out;
  if (!json.is_object()) return in.unwanted(root, "an object", json), out;
  for (const Setting& setting : settings)
    if (setting.pointer.starts_with("/sweep/"))
      in.problem({nullptr, "--set"},
                 fmt::format("a sweep is set as a whole, such as /sweep={{\"/workload/size\": [\"1MiB\"]}}, got {}", setting.pointer));
    else if (const auto wrong = set_at(json, setting.pointer, setting.value, schema()))
      in.problem({nullptr, "--set"}, *wrong);
  Json sweep;
  if (json.contains("sweep")) {
    sweep = std::move(json["sweep"]);
    json.erase("sweep");
    if (sweep.is_null()) in.unwanted(root.in("sweep"), "an object of pointers to lists, or a list of settings", sweep);
  }
  const JsonPath of_sweep = root.in("sweep");
  const auto all_settings = settings_of(sweep, of_sweep, in);
  refuse_swept(settings, all_settings, in);
  for (std::size_t i = 0; i < all_settings.size(); ++i)  // of a product all cases are alike
    if (!keeps_settings(all_settings[i], sweep.is_array() ? of_sweep.at(i) : of_sweep, in) && sweep.is_object()) break;
  for (std::size_t i = 0; i < all_settings.size(); ++i) {
    const std::size_t before = in.problems.size();
    Json one = json;
    for (const Setting& axis : all_settings[i])
      if (const auto wrong = set_at(one, axis.pointer, axis.value, schema()))
        in.problem(sweep.is_array() ? of_sweep.at(i) : of_sweep, *wrong);
    Scenario scenario;
    Form<Scenario>::read(one, root, in, scenario);
    Input found{.problems = {in.problems.begin() + static_cast<std::ptrdiff_t>(before), in.problems.end()}};
    check_compatibility(one, scenario, found);
    in.problems.resize(before);
    name_the_sweep(all_settings[i], found.problems);
    for (Problem& problem : found.problems)
      if (std::find(in.problems.begin(), in.problems.end(), problem) == in.problems.end()) in.problems.push_back(std::move(problem));
    if (in.problems.empty()) {
      resolve(one, name, scenario);
      out.push_back({std::move(scenario), all_settings[i]});
    }
    constexpr std::size_t enough = 1000;
    if (in.problems.size() > enough) break;
  }
  if (in.problems.empty() && !in.files.empty()) {
    const std::string held = key_of(in.files);
    for (Case& one : out) one.scenario.read_from = held;
  }
  return out;
}

namespace {

// The workload with trace files in the place of what it did, on as many ranks as they are of.
void take_program(const ProgramFiles& program, Json& scenario) {
  if (!scenario.is_object()) return;
  Json workload = Json::object();
  if (scenario.contains("workload") && scenario["workload"].is_object())
    for (const char* key : {"algorithm", "iterations", "compute"})
      if (scenario["workload"].contains(key)) workload[key] = scenario["workload"][key];
  Json files = Json::array();
  for (const std::string& file : program.files) files.push_back(std::filesystem::absolute(file).string());
  workload["program"] = {{"files", std::move(files)}, {"lenient", program.lenient}};
  if (program.ranks > 0) workload["ranks"] = program.ranks;
  scenario["workload"] = std::move(workload);
}

}  // namespace

std::vector<Case> cases_of_program(const ProgramFiles& program, const std::vector<Setting>& settings) {
  const std::vector<std::filesystem::path> files(program.files.begin(), program.files.end());
  const auto trace = std::make_shared<const TracedProgram>(read_traces(files));
  const int nodes = program.ranks > 0 ? program.ranks : world_of(*trace);
  if (nodes == 0)
    throw InputError(fmt::format("{}: does not say how many ranks there are: give --ranks N, or a scenario", program.files.front()));
  const ProfileLibrary profiles = ProfileLibrary::beside("");
  Input in{.profiles = &profiles};
  Json json = {{"schema", 1},
               {"fabric", {{"type", "star"}, {"nodes", nodes}, {"link", {{"bandwidth", "100Gbps"}, {"latency", "500ns"}}}}},
               {"workload", Json::object()}};
  take_program(program, json);
  in.files.insert(files.begin(), files.end());
  in.traces[json["workload"]["program"]["files"].get<std::vector<std::string>>()] = trace;
  std::vector<Case> cases = expand(std::move(json), settings, files.front().stem().string(), in);
  if (!in.problems.empty()) throw InputError(lines_of("--program", in.problems));
  return cases;
}

std::vector<Case> load_cases(const std::filesystem::path& file, const std::vector<Setting>& settings, const ProgramFiles& program) {
  const std::string text = as_utf8(read_file(file));
  const ProfileLibrary profiles = ProfileLibrary::beside(file);
  Input in{.profiles = &profiles, .folder = file.parent_path()};
  Json json = parse_json(text, in.problems);
  std::vector<Case> cases;
  const bool readable = in.problems.empty() || !json.is_null();
  if (readable && !program.files.empty()) take_program(program, json);
  if (readable) cases = expand(std::move(json), settings, file.stem().string(), in);
  if (!in.problems.empty()) throw InputError(lines_of(file.string(), in.problems));
  return cases;
}

Setting parse_setting(const std::string& text) {
  const auto equals = text.find('=');
  if (text.empty() || text.front() != '/' || equals == text.npos)
    throw InputError(fmt::format("--set: must be /pointer=value, such as /workload/size=1MiB, got {}", shown(Json(text))));
  const std::string value = text.substr(equals + 1);
  std::vector<Problem> not_json;
  Json parsed = parse_json(value, not_json);
  if (!not_json.empty() && (value.starts_with('{') || value.starts_with('[') || value.starts_with('"')))
    throw InputError(lines_of("--set " + text.substr(0, equals), not_json));
  return {text.substr(0, equals), not_json.empty() ? std::move(parsed) : Json(value)};
}

std::vector<Setting> parse_settings(const std::vector<std::string>& texts) {
  std::vector<std::string> problems;
  std::vector<Setting> out = parse_settings(texts, problems);
  if (!problems.empty()) throw InputError(std::move(problems));
  return out;
}

std::vector<Setting> parse_settings(const std::vector<std::string>& texts, std::vector<std::string>& problems) {
  std::vector<Setting> out;
  for (const std::string& text : texts) gather(problems, [&] { out.push_back(parse_setting(text)); });
  return out;
}

Json to_json(const Scenario& scenario) { return Form<Scenario>::write(scenario); }

Json to_json(const std::vector<Case>& cases) {
  check(!cases.empty(), "a scenario stands for no case");
  std::vector<Json> all;
  for (const Case& one : cases) all.push_back(to_json(one.scenario));
  Json out = all.front(), sweep = Json::array();
  std::set<std::string> different;  // keys
  const auto compare = [&](const Json& one, const Json& other) {
    for (const auto& item : one.items())
      if (!other.contains(item.key()) || other.at(item.key()) != item.value()) different.insert(item.key());
  };
  for (const Json& scenario : all) compare(scenario, out), compare(out, scenario);
  for (const Json& scenario : all) {
    Json setting = Json::object();
    for (const std::string& key : different)
      if (scenario.contains(key)) setting["/" + key] = scenario.at(key);
    sweep.push_back(std::move(setting));
  }
  if (all.size() > 1) out["sweep"] = std::move(sweep);
  return out;
}

Json scenario_schema() {
  Json out = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "Weft scenario"}};
  out.update(schema());
  return out;
}

}  // namespace weft

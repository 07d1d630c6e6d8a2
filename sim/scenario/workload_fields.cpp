// What ranks do: a collective, a program or training, and jobs beside it.
#include "sim/scenario/compression_fields.hpp"
#include "sim/scenario/scenario_fields.hpp"
#include "sim/scenario/sizes.hpp"
#include "sim/scenario/trace_fields.hpp"
#include "sim/scenario/training_fields.hpp"

namespace weft {
namespace {

struct AllRanks {
  static constexpr int value = 0;
  static constexpr const char* word = "all";
};

struct RanksOfWorkload {
  static constexpr int value = 0;
  static constexpr const char* word = "as_workload";
};

}  // namespace

Declaration<OperationSpec> Declared<OperationSpec>::declaration() {
  using O = OperationSpec;
  auto after = optional("after", &O::after, "The ids of operations that must have ended on a rank before it begins this one.");
  after = written_if(after, [](const O& o) { return !o.after.empty(); });
  auto ranks = optional_as<OrWord<std::vector<int>, AllOfThem>>("ranks", &O::ranks,
                                                                "The ranks that take part, none of them twice; the others skip it.");
  return {.doc = "What every rank does once: a computation, a collective, or a message from one rank to another.",
          .fields = {required("id", &O::id, "The name of the operation, which later operations refer to in \"after\"."),
                     optional("compute", &O::compute, "The operation is a computation of this time."),
                     optional("collective", &O::collective, "The operation is this collective of all ranks, or of those in \"ranks\"."),
                     optional("size", &O::size, "The message size of the collective in bytes."),
                     optional("algorithm", &O::algorithm, "The algorithm of the collective; as the workload's when not given."),
                     optional("send", &O::send, "The operation is a message of this size, which one rank sends and another receives."),
                     optional("from", &O::from, "The rank that sends the message."),
                     optional("to", &O::to, "The rank that receives the message."),
                     optional("stream", &O::stream,
                              "Operations of one rank on one stream follow one another in the order of the program; those on different "
                              "streams run side by side."),
                     after, ranks}};
}

Declaration<Workload> Declared<Workload>::declaration() {
  using W = Workload;
  auto algorithm = required_as<OneOrList<AlgorithmChoice>>("algorithm", &W::algorithms, "One algorithm, or several to compare.");
  auto size =
      required_as<SizesForm>("size", &W::sizes,
                             "Bytes of the message (nccl-tests' \"size\"): one, a list, or from one to another by a factor; not with a "
                             "\"program\" or a \"model\", which have their own. An all-to-all rounds it down to as many whole elements for "
                             "each rank. A barrier has none: "
                             "0B when not given.");
  algorithm.unless = {"program"};
  size.unless = {"program", "model"};
  size.spared_by = [](const Json& workload) {
    return workload.value("collective", Json()) == Form<Collective>::write(Collective::barrier);
  };
  size = written_if(size, [](const W& w) { return !w.has_program() && !w.training.given(); });
  auto program =
      optional("program", &W::program,
               "Instead of one collective of one size: operations with dependencies, in streams, the same for all ranks; or what "
               "trace files hold.");
  program.writes([](const W& w) {
    if (w.trace.given()) return Form<TraceFiles>::write({w.trace.files, w.trace.lenient});
    return w.program.empty() ? Json(Json::value_t::discarded) : Form<std::vector<OperationSpec>>::write(w.program);
  });
  program.reads([](const Json& json, const JsonPath& where, Input& in, W& w) { return read_program(json, where, in, w); });
  program.schema = [] {
    Json operations = Form<std::vector<OperationSpec>>::schema();
    operations["minItems"] = 1;
    return Json{{"oneOf", Json::array({std::move(operations), Form<TraceFiles>::schema()})}};
  };
  program.wanted = "a list of operations, or {\"files\": [...]}";
  program = not_empty(program);
  Declaration<W> out{
      .doc = "The workload: what the ranks do and how.",
      .fields = {
          optional("collective", &W::collective, "The collective operation that the ranks run."), algorithm, program, size,
          optional("dtype", &W::dtype, "The data type of the elements."),
          optional("op", &W::op, "The reduction operator that combines the elements."),
          optional("root", &W::root, "The root rank of broadcast and reduce.", at_least(0)),
          optional_as<OrWord<int, AllRanks>>("ranks", &W::ranks,
                                             "The number of ranks, which take the first endpoints of the placement; \"all\" takes all of "
                                             "them but those of extra parameter servers.",
                                             at_least(1)),
          optional("iterations", &W::iterations,
                   "The number of times that the collective is run; the time in the result is the average of one.", between(1, 1'000'000)),
          optional("compute", &W::compute, "The time from the end of an iteration to the start of the next.", at_least(SimTime{}))}};
  out.fields.append(training_fields());
  out.fields.push_back(compression_field());
  return out;
}

Declaration<JobChoice> Declared<JobChoice>::declaration() {
  using J = JobChoice;
  return {
      .doc =
          "A collective beside the workload; keys that are not given are those of the workload, but \"size\" must be given beside "
          "one that trains.",
      .fields = {optional("name", &J::name, "The name of the job, which goes with its results; job1, job2, ... when not given."),
                 optional("collective", &J::collective, "The collective operation that the ranks run."),
                 optional("algorithm", &J::algorithm, "The algorithm of the job; that of the row when not given."),
                 optional("size", &J::size, "The message size in bytes; when not given, that of the row's workload."),
                 optional("dtype", &J::dtype, "The data type of the elements."),
                 optional_as<OrWord<int, RanksOfWorkload>>("ranks", &J::ranks, "The number of ranks of the job.", at_least(1)),
                 optional("placement", &J::placement,
                          "The placement of the job's ranks among the endpoints that the workload and the jobs before it leave free."),
                 optional("share_endpoints", &J::share_endpoints,
                          "Its ranks may sit on endpoints of the workload and of other jobs, and share their NICs and links; false "
                          "when not given."),
                 optional("start", &J::start, "The time at which the ranks of the job start.", at_least(SimTime{})),
                 optional("iterations", &J::iterations, "The number of times that the collective is run.", between(1, 1'000'000)),
                 optional("compute", &J::compute, "The time from the end of an iteration to the start of the next.", at_least(SimTime{}))}};
}

}  // namespace weft

#include "sim/scenario/trace_fields.hpp"

#include "models/traces/read_traces.hpp"
#include "sim/scenario/scenario_fields.hpp"

namespace weft {

Declaration<TraceFiles> Declared<TraceFiles>::declaration() {
  using T = TraceFiles;
  return {
      .doc = "A program that trace files hold.",
      .fields = {
          not_empty(required("files", &T::files,
                             "Traces of Chakra (protobuf or JSON, one file a rank), Kineto, PyTorch's execution trace or GOAL, packed by "
                             "gzip or not, or folders of them; relative to the scenario.")),
          optional(
              "lenient", &T::lenient,
              "What the files do not say (a size, the other end of a message) is taken as a message says, instead of being refused.")}};
}

bool read_program(const Json& json, const JsonPath& where, Input& in, Workload& w) {
  if (!json.is_object()) return Form<std::vector<OperationSpec>>::read(json, where, in, w.program);
  TraceFiles choice;
  if (!Form<TraceFiles>::read(json, where, in, choice)) return false;
  for (const std::string& file : choice.files) in.files.insert(in.folder / file);
  auto& program = in.traces[choice.files];
  if (!program) try {
      std::vector<std::filesystem::path> files;
      for (const std::string& file : choice.files) files.push_back(in.folder / file);
      program = std::make_shared<const TracedProgram>(read_traces(files));
    } catch (const InputError& error) {
      for (const std::string& problem : error.problems()) in.problem(where.in("files"), problem);
      return false;
    }
  w.trace = {.files = std::move(choice.files), .lenient = choice.lenient, .program = program};
  return true;
}

}  // namespace weft

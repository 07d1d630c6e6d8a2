// The Python module weft._weft: JSON text in, JSON text out. package/__init__.py makes dictionaries of it.
#include "sim/library/run_scenario.hpp"
#include "sim/results/version.hpp"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace {

using namespace weft;
namespace py = pybind11;

Json parsed(const std::string& text) {
  std::vector<Problem> problems;
  Json out = parse_json(text, problems);
  if (!problems.empty()) throw InputError(problems.front().what);
  return out;
}

ScenarioSettings settings_of(const std::string& folder, const std::vector<std::string>& set, unsigned workers) {
  return {.set = parse_settings(set), .folder = folder, .workers = workers};
}

std::string run(const std::string& scenario, const std::string& folder, const std::vector<std::string>& set, unsigned workers) {
  const py::gil_scoped_release others_go_on;
  Json out = Json::array();
  for (const ScenarioRow& row : run_scenario(parsed(scenario), settings_of(folder, set, workers))) out.push_back(columns(row));
  return out.dump();
}

std::string schedule(const std::string& scenario, const std::string& folder, const std::vector<std::string>& set) {
  const Schedule schedule = schedule_of(parsed(scenario), settings_of(folder, set, 1));
  Json transfers = Json::array();
  Step step;
  for (std::size_t channel = 0; channel < schedule.channels.size(); ++channel)
    for (int k = 0; k < schedule.channels[channel].count(); ++k) {
      schedule.channels[channel].produce(k, step);
      for (const Transfer& t : step.transfers())
        transfers.push_back({{"channel", channel},
                             {"step", k},
                             {"from", t.from},
                             {"to", t.to},
                             {"chunk", t.chunk},
                             {"count", t.count},
                             {"into", t.into},
                             {"reduces", t.reduces}});
    }
  const Json out = {{"name", schedule.name},
                    {"collective", name_of(schedule.collective)},
                    {"ranks", schedule.ranks},
                    {"chunks", schedule.chunks},
                    {"extra_chunks", schedule.extra_chunks},
                    {"servers", schedule.servers},
                    {"root", schedule.root},
                    {"steps", schedule.steps()},
                    {"messages", schedule.messages()},
                    {"transfers", std::move(transfers)}};
  return out.dump();
}

}  // namespace

PYBIND11_MODULE(_weft, m) {
  py::register_exception<InputError>(m, "InputError", PyExc_ValueError);
  py::register_exception<RunError>(m, "RunError", PyExc_RuntimeError);
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Interrupted& interrupted) {  // is a RunError too, and the last translator is asked first
      PyErr_SetString(PyExc_KeyboardInterrupt, interrupted.what());
    }
  });
  m.def("run", run);
  m.def("schedule", schedule);
  m.def("schema", [] { return scenario_schema().dump(); });
  m.attr("version") = version();
}

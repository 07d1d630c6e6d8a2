// The Python module weft_torch._C.
#include "collectives/torch/process_group.hpp"

#include <pybind11/chrono.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

namespace py = pybind11;

namespace {

using namespace weft;

struct Options {
  std::string id, algorithm, transport, host;
};

c10::intrusive_ptr<TorchBackend> create(const c10::intrusive_ptr<c10d::Store>& store, int rank, std::vector<std::string> names,
                                        std::chrono::milliseconds timeout, const Options& o) {
  const py::gil_scoped_release others_may_run;
  ProcessGroupSettings settings;
  settings.id = o.id;
  settings.algorithm = o.algorithm;
  settings.group.rank = rank;
  settings.group.names = std::move(names);
  settings.group.timeout = timeout;
  settings.group.job = "torch with WEFT_ALGORITHM=\"" + o.algorithm + "\", WEFT_TRANSPORT=\"" + o.transport + "\"";
  settings.group.host = o.host;
  settings.group.carrier = carrier_named(o.transport);
  return c10::make_intrusive<ProcessGroupWeft>(store, std::move(settings));
}

ProcessGroupWeft& ours(TorchBackend& group) {
  auto* const weft_group = dynamic_cast<ProcessGroupWeft*>(&group);
  if (weft_group == nullptr)
    throw std::invalid_argument("the process group is of the backend " + group.getBackendName() + ", must be weft");
  return *weft_group;
}

}  // namespace

PYBIND11_MODULE(_C, m) {
  m.def(
      "create",
      [](const c10::intrusive_ptr<c10d::Store>& store, int rank, std::vector<std::string> names, std::chrono::milliseconds timeout,
         std::string id, std::string algorithm, std::string transport, std::string host) {
        return create(store, rank, std::move(names), timeout, {id, algorithm, transport, host});
      },
      py::arg("store"), py::arg("rank"), py::arg("names"), py::arg("timeout"), py::arg("id"), py::arg("algorithm"), py::arg("transport"),
      py::arg("host"));
  m.def("carrier", [](TorchBackend& group) { return ours(group).carrier(); });
  m.def("finish_all", &ProcessGroupWeft::finish_all, py::call_guard<py::gil_scoped_release>());
  m.def("record_collectives", &record_collectives);
  m.def("take_recorded_collectives", [] {
    py::list all;
    for (const RecordedCollective& r : take_recorded_collectives())
      all.append(py::make_tuple(r.group, r.op, r.bytes, r.algorithm, r.start_ns, r.end_ns));
    return all;
  });
}

// The Python module weft_torch._C.
#include "collectives/torch/process_group.hpp"
#include "kernels/base/error.hpp"

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

CompressionSettings compression(const py::dict& d) {
  CompressionSettings s;
  s.name = d["name"].cast<std::string>();
  s.rows = d["rows"].cast<int>();
  s.columns = parse_amount(d["columns"].cast<std::string>());
  s.k = parse_amount(d["k"].cast<std::string>());
  s.seed = d["seed"].cast<std::uint64_t>();
  s.momentum = d["momentum"].cast<double>();
  const auto memory = d["memory"].cast<std::string>();
  for (const ErrorMemory m : {ErrorMemory::dense, ErrorMemory::sketch}) {
    s.memory = m;
    if (name_of(m) == memory) return s;
  }
  throw InputError("memory: must be dense or sketch, got \"" + memory + "\"");
}

// A compressor and the group whose thread runs it.
struct GroupCompressor {
  c10::intrusive_ptr<TorchBackend> group;
  std::shared_ptr<Compressor> compressor;
  std::vector<std::int64_t> sizes;

  GroupCompressor(c10::intrusive_ptr<TorchBackend> g, const py::dict& settings,
                  const std::vector<std::pair<std::string, std::int64_t>>& named)
      : group(std::move(g)) {
    std::vector<TensorShape> tensors;
    for (const auto& [name, elements] : named) tensors.push_back({name, elements}), sizes.push_back(elements);
    compressor = std::make_shared<Compressor>(compression(settings), std::move(tensors), ours(*group).getRank(), group->getSize());
  }
};

}  // namespace

PYBIND11_MODULE(_C, m) {
  py::class_<GroupCompressor>(m, "Compressor")
      .def(py::init<c10::intrusive_ptr<TorchBackend>, const py::dict&, const std::vector<std::pair<std::string, std::int64_t>>&>())
      .def("all_reduce", [](GroupCompressor& c, const at::Tensor& t) { return ours(*c.group).compressed_allreduce(c.compressor, t); })
      .def("set_k", [](GroupCompressor& c, const std::string& k) { return ours(*c.group).set_k(c.compressor, parse_amount(k)); })
      .def("sizes", [](const GroupCompressor& c) { return c.sizes; });
  m.def("check_compression", [](const py::dict& settings, std::int64_t elements) { require_sound(compression(settings), elements); });
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

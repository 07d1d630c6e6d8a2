#include "sim/results/row.hpp"

#include "sim/scenario/files.hpp"
#include "sim/scenario/scenario_fields.hpp"

namespace weft {

double algbw_GBps(const Row& row) {
  return row.time.ps > 0 ? static_cast<double>(row.size.count) * 1000.0 / static_cast<double>(row.time.ps) : 0.0;
}

double busbw_factor(Collective collective, int ranks) {
  const double n = ranks;
  switch (collective) {
    case Collective::allreduce:
      return 2.0 * (n - 1.0) / n;
    case Collective::reduce_scatter:
    case Collective::allgather:
    case Collective::alltoall:
      return (n - 1.0) / n;
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::barrier:
      return 1.0;
  }
  return 1.0;
}

double busbw_GBps(const Row& row) { return algbw_GBps(row) * busbw_factor(row.collective, row.ranks); }

std::string too_fast(const Row& row) {
  constexpr double rounding = 1e-6;
  const double limit = row.bottleneck.bytes_per_second() / 1e9;
  if (limit <= 0.0 || row.aggregates || busbw_GBps(row) <= limit * (1.0 + rounding)) return "";
  return fmt::format("{} {} on {} ({} ranks): busbw {:.4f} GB/s passes the {:.4f} GB/s of the bottleneck link; this is a bug in the model",
                     row.algorithm, to_string(row.size), row.fabric, row.ranks, busbw_GBps(row), limit);
}

const std::vector<Column>& columns() {
  static const std::vector<Column> all = {
      {"scenario", [](const Row& r) { return Json(r.scenario); }},
      {"fabric", [](const Row& r) { return Json(r.fabric); }},
      {"network", [](const Row& r) { return Json(name_of(r.network)); }},
      {"algorithm", [](const Row& r) { return Json(r.algorithm); }},
      {"collective", [](const Row& r) { return Json(name_of(r.collective)); }},
      {"ranks", [](const Row& r) { return Json(r.ranks); }},
      {"size_bytes", [](const Row& r) { return Json(r.size.count); }},
      {"dtype", [](const Row& r) { return Json(name_of(r.dtype)); }},
      {"time_us", [](const Row& r) { return Json(static_cast<double>(r.time.ps) / 1e6); }},
      {"algbw_GBps", [](const Row& r) { return Json(algbw_GBps(r)); }},
      {"busbw_GBps", [](const Row& r) { return Json(busbw_GBps(r)); }},
      {"wire_bytes_per_rank", [](const Row& r) { return Json(r.wire_bytes_per_rank.count); }},
      {"messages", [](const Row& r) { return Json(r.messages); }},
      {"steps", [](const Row& r) { return Json(r.steps); }},
      {"max_flows_per_link", [](const Row& r) { return Json(r.max_flows_per_link); }},
      {"busiest_link", [](const Row& r) { return Json(r.busiest_link); }},
      {"busiest_link_utilization", [](const Row& r) { return Json(r.busiest_link_utilization); }},
      {"wall_s", [](const Row& r) { return Json(r.wall_s); }},
  };
  return all;
}

template <>
struct Declared<CopyResult> {
  static Declaration<CopyResult> declaration() {
    using C = CopyResult;
    return {.doc = "Copies on their way from a worker.",
            .fields = {required("gpu", &C::gpu, ""), required("to_host", &C::to_host, ""), required("count", &C::count, ""),
                       required("bytes", &C::bytes, ""), required("busy", &C::busy, "")}};
  }
};

template <>
struct Declared<Row> {
  static Declaration<Row> declaration() {
    using R = Row;
    return {.doc = "A row on its way from a worker.",
            .fields = {required("scenario", &R::scenario, ""),
                       required("fabric", &R::fabric, ""),
                       required("network", &R::network, ""),
                       required("algorithm", &R::algorithm, ""),
                       required("collective", &R::collective, ""),
                       required("ranks", &R::ranks, ""),
                       required("size", &R::size, ""),
                       required("dtype", &R::dtype, ""),
                       required("op", &R::op, ""),
                       required("root", &R::root, ""),
                       required("time", &R::time, ""),
                       required("wire_bytes", &R::wire_bytes_per_rank, ""),
                       required("messages", &R::messages, ""),
                       required("steps", &R::steps, ""),
                       required("max_flows", &R::max_flows_per_link, ""),
                       required("most_shared_link", &R::most_shared_link, ""),
                       required("most_shared_step", &R::most_shared_step, ""),
                       required("busiest_link", &R::busiest_link, ""),
                       required("utilization", &R::busiest_link_utilization, ""),
                       required("wall_s", &R::wall_s, ""),
                       required("bottleneck", &R::bottleneck, ""),
                       required("aggregates", &R::aggregates, ""),
                       required("notes", &R::notes, ""),
                       required("copies", &R::copies, "")}};
  }
};

std::string to_text(const Row& row) { return Form<Row>::write(row).dump(); }

Row row_from_text(const std::string& text) {
  Input in;
  Row row;
  Form<Row>::read(parse_json(text, in.problems), Place{}, in, row);
  check(in.problems.empty(), "a worker sent no row: {}", fmt::join(lines_of("row", in.problems), "; "));
  return row;
}

}  // namespace weft

// The programs of nccl-tests, and what is refused of their tables and of their JSON alike.
#include "validation/measurements/lines.hpp"

#include <utility>

namespace weft {

std::optional<std::string_view> collective_of_nccl_program(std::string_view program) {
  if (const auto slash = program.rfind('/'); slash != program.npos) program.remove_prefix(slash + 1);
  if (program.ends_with("_mpi")) program.remove_suffix(4);
  for (const auto& [name, collective] : {std::pair<std::string_view, std::string_view>{"all_reduce_perf", "allreduce"},
                                         {"reduce_scatter_perf", "reduce_scatter"},
                                         {"all_gather_perf", "allgather"},
                                         {"broadcast_perf", "broadcast"},
                                         {"reduce_perf", "reduce"},
                                         {"alltoall_perf", "alltoall"},
                                         {"alltoallv_perf", ""},
                                         {"gather_perf", ""},
                                         {"hypercube_perf", ""},
                                         {"scatter_perf", ""},
                                         {"sendrecv_perf", ""}})
    if (program == name) return collective;
  return {};
}

std::string unknown_nccl_program(std::string_view program) {
  return fmt::format(
      "\"{}\" is none of the programs of nccl-tests that Weft simulates: all_gather_perf, all_reduce_perf, alltoall_perf, broadcast_perf, "
      "reduce_perf, reduce_scatter_perf",
      program);
}

std::string several_groups(std::size_t count) {
  return fmt::format(
      "the ranks are in {} groups (NCCL_TESTS_SPLIT), which all call the collective at the same time; only one group of all ranks is "
      "simulated",
      count);
}

std::string compressed_is_none(std::string_view compression) {
  return fmt::format("what was measured is compressed ({}), and costs are fitted to calls that are not", compression);
}

std::string cpu_time_is_none(std::string_view found) {
  return fmt::format("{}: the CPU time of a launch is no time of the collective; measure without -C", found);
}

std::string wrong_somewhere(std::int64_t results) {
  return fmt::format("{} result{} of the run {} wrong and no row says which; the time of a wrong result is none", results,
                     results == 1 ? "" : "s", results == 1 ? "was" : "were");
}

std::string elements_of(std::string_view type, std::string_view operation) {
  if (operation.empty() || operation == "none") return std::string(type);
  return fmt::format("{} {}", type, operation);
}

}  // namespace weft

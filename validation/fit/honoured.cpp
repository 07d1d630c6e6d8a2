#include "validation/fit/honoured.hpp"

#include "sim/scenario/files.hpp"

#include <algorithm>

namespace weft {

std::vector<Problem> not_honoured(const Scenario& s, const Honours& honours) {
  std::vector<Problem> out;
  const auto refuse = [&](const char* pointer, bool there, const std::string& what) {
    if (there) out.push_back({pointer, what});
  };
  const bool in_network = std::ranges::all_of(s.workload.algorithms, [](const AlgorithmChoice& a) { return is_in_network(a.name); });
  const bool on_packet = s.network == NetworkKind::packet && in_network && honours.in_network_on_packet;
  refuse("/server", !s.server.is_sub_node(),
         fmt::format("only servers of one GPU and one NIC (\"sub_node\") are simulated beside measurements, got {} GPUs and {} NICs",
                     s.server.gpu_count(), s.server.nic_count()));
  refuse("/network", s.network != NetworkKind::flow && !on_packet,
         fmt::format("schedules are simulated on \"flow\" beside measurements, got \"{}\"", name_of(s.network)));
  constexpr const char* alone = "beside measurements the workload is simulated alone";
  refuse("/jobs", !s.jobs.empty(), alone);
  refuse("/traffic", !s.traffic.empty(), alone);
  refuse("/copies", !s.copies.empty(), alone);
  refuse("/start_skew", s.start_skew.has_value(), "beside measurements all ranks start at once");
  refuse("/workload/iterations", s.workload.iterations > 1, "beside measurements the collective is simulated once");
  return out;
}

void refuse_not_honoured(const std::string& file, const Scenario& scenario, const Honours& honours) {
  if (const auto problems = not_honoured(scenario, honours); !problems.empty()) throw InputError(lines_of(file, problems));
}

}  // namespace weft

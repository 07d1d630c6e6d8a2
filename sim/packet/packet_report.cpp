#include "sim/packet/packet_report.hpp"

#include <algorithm>

namespace weft {

PacketSummary summary(const PacketReport& report, const Fabric& fabric, std::size_t max_queues) {
  PacketSummary out{.packets = report.packets,
                    .resent = report.resent,
                    .marked = report.marked,
                    .dropped = report.dropped,
                    .lost = report.lost,
                    .corrupted = report.corrupted,
                    .pauses = report.pauses,
                    .timeouts = report.timeouts,
                    .notifications = report.notifications,
                    .queues_in_use = static_cast<std::int64_t>(report.queues.size())};
  for (std::size_t node = 0; node < report.switch_high_water.size(); ++node) {
    if (report.switch_high_water[node] <= out.switch_high_water) continue;
    out.switch_high_water = report.switch_high_water[node];
    out.fullest_switch = fabric.device(static_cast<NodeId>(node)).name;
  }
  std::vector<QueueReport> longest = report.queues;
  std::ranges::stable_sort(longest, [](const QueueReport& a, const QueueReport& b) { return a.high_water > b.high_water; });
  longest.resize(std::min(longest.size(), max_queues));
  for (const QueueReport& q : longest)
    out.queues.push_back({fabric.link_name(q.link), q.priority, q.high_water, q.marked, q.dropped, q.pauses, q.paused});
  return out;
}

}  // namespace weft

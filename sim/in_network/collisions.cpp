#include "sim/in_network/collisions.hpp"

#include <algorithm>
#include <cmath>

namespace weft {

std::vector<double> collision_shares(const std::vector<AtpLoad>& jobs, double aggregators) {
  std::vector<double> share(jobs.size(), 0.0);
  const auto held = [&](std::size_t j) {
    const AtpLoad& job = jobs[j];
    const double copies = 1 + share[j] * (job.workers - 1);  // of a packet, on the server's link
    const double most = job.window;
    if (job.uneven) return most;
    if (copies <= job.servers || share[j] < 1e-6) return std::min(most, job.packets_per_second * job.held_for);
    const double rate = job.packets_per_second * job.servers / copies;
    return std::clamp(rate * job.held_for + job.servers * job.queue / copies, 0.0, std::max(most - rate * job.elsewhere, 1.0));
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<double> in_aggregators(jobs.size());
    double all = 0;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      in_aggregators[j] = jobs[j].present * std::min(held(j) * (1 - share[j]), jobs[j].aggregators);
      if (jobs[j].aggregators == aggregators) all += in_aggregators[j];
    }
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      const bool shared = jobs[j].aggregators == aggregators;
      const double by_others = shared ? std::min(1.0, (all - in_aggregators[j]) / aggregators) : 0;
      const double turns = std::max(1.0, std::ceil(held(j) / jobs[j].aggregators - 1e-9));
      share[j] = (share[j] + 1 - (1 - by_others) / turns) / 2;
    }
  }
  return share;
}

}  // namespace weft

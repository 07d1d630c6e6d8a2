#include "sim/in_network/collisions.hpp"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

// Times are those of so many packets on the worker's link.
class Windows {
 public:
  explicit Windows(const AtpLoad& job)
      : job_(job),
        held_for_(job.packets_per_second * job.held_for),
        round_trip_(job.packets_per_second * (job.held_for + job.elsewhere)),
        more_(job.workers - 1),
        each_(1 / (job.servers * job.server_speed)) {}

  struct Mean {
    double share = 0, time = 0;  // of a packet
    double places = 0;           // the share of time for which the job would hold one alone
  };

  // `free`: the share of its places that others leave it.
  Mean mean(double free) const {
    if (job_.uneven) {
      const double turns = std::max(1.0, std::ceil(job_.window / job_.aggregators - 1e-9)), c = 1 - free / turns;
      return {c, time_of(job_.window, c) / job_.window, taken(job_.window)};
    }
    constexpr int steps = 32;
    const double largest = marked_window(free);
    double packets = 0, collided = 0, time = 0, places = 0;
    for (int i = 0; i < steps; ++i) {
      const double window = std::min(job_.window, largest * (steps + i + 0.5) / (2 * steps)), c = share(window, free),
                   took = time_of(window, c), queued = std::max(0.0, beyond_round_trip(window, c));
      packets += window;
      collided += window * c;
      time += took;
      places += took * taken(window * (held_for_ + queued) / took);
    }
    return {collided / packets, time / packets, places / time};
  }

 private:
  double on_server_link(double c) const { return std::max(1.0, each_ * (1 + more_ * c)); }
  double held(double window, double c) const { return window - std::max(0.0, window - held_for_) / on_server_link(c); }
  double taken(double packets) const { return packets < job_.aggregators ? packets / job_.aggregators : 1; }
  double next_share(double window, double c, double free) const {
    const double packets = held(window, c);
    return 1 - free * (packets > job_.aggregators ? job_.aggregators / packets : 1);
  }
  // With m = e (1 + k c), (1 - c) (W m - W + b) = free A m is a square in c.
  double share(double window, double free) const {
    const double first = next_share(window, 0, free);
    if (next_share(window, first, free) <= first) return first;
    const double a = window * each_ * more_, b = window * (each_ - 1) + held_for_, places = free * job_.aggregators * each_;
    const double p = a - b - places * more_;
    return std::clamp((p + std::sqrt(std::max(0.0, p * p + 4 * a * (b - places)))) / (2 * a), first, 1.0);
  }
  double time_of(double window, double c) const { return std::max(round_trip_, window * on_server_link(c)); }
  // Of a window that comes to the servers' links where some of it collides: what waits for them.
  double beyond_round_trip(double window, double c) const { return c > 0 ? window * each_ * (1 + more_ * c) - round_trip_ : 0; }
  bool marked(double window, double free) const { return beyond_round_trip(window, share(window, free)) > job_.queue / job_.server_speed; }
  // At which packets are marked; twice its limit where none below is.
  double marked_window(double free) const {
    double unmarked = 0, too_large = 2 * job_.window;
    if (!marked(too_large, free)) return too_large;
    for (int i = 0; i < 50; ++i) {
      const double window = (unmarked + too_large) / 2;
      (marked(window, free) ? too_large : unmarked) = window;
    }
    return unmarked;
  }

  const AtpLoad& job_;
  double held_for_, round_trip_;
  double more_;  // packets on the servers' links of one that collides
  double each_;  // time of a packet on a server's link, for each of the job's
};

}  // namespace

std::vector<AtpCollisions> expected_collisions(const std::vector<AtpLoad>& jobs, double aggregators) {
  constexpr int rounds = 200;
  constexpr double close = 1e-9;
  std::vector<double> by_others(jobs.size(), 0.0);
  std::vector<Windows::Mean> mean(jobs.size());
  for (int round = 0; round < rounds; ++round) {
    double all = 0, moved = 0;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      mean[j] = Windows(jobs[j]).mean(1 / (1 + by_others[j]));
      if (jobs[j].aggregators == aggregators) all += jobs[j].present * mean[j].places;
    }
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      const double others = jobs[j].aggregators == aggregators ? std::max(0.0, all - jobs[j].present * mean[j].places) : 0;
      moved = std::max(moved, std::abs(others - by_others[j]));
      by_others[j] = (by_others[j] + others) / 2;
    }
    if (moved < close) break;
  }
  std::vector<AtpCollisions> out;
  for (std::size_t j = 0; j < jobs.size(); ++j) out.push_back({mean[j].share, mean[j].time / jobs[j].packets_per_second});
  return out;
}

}  // namespace weft

#include "sim/results/row.hpp"

namespace weft {

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

double fairness(const std::vector<JobResult>& jobs) {
  double sum = 0, squares = 0;
  for (const JobResult& job : jobs) {
    const double speed = 1 / job.slowdown();
    sum += speed;
    squares += speed * speed;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(jobs.size()) * squares) : 1.0;
}

double aggregated_share(const InNetworkSummary& summary) {
  double packets = 0, aggregated = 0;
  for (const InNetworkJobSummary& job : summary.jobs) {
    packets += static_cast<double>(job.packets);
    aggregated += job.aggregated * static_cast<double>(job.packets);
  }
  return packets > 0 ? aggregated / packets : 1.0;
}

std::string too_fast(const Row& row) {
  constexpr double rounding = 1e-6;
  const double limit = row.bottleneck.bytes_per_second() / 1e9;
  // Ranks of an all-reduce may divide its traffic unequally, as trees do: behind a slow cable one need send the message only once.
  const bool may_be_unequal = row.fabric == "graph" && row.collective == Collective::allreduce;
  const double least_sent = may_be_unequal ? algbw_GBps(row) : busbw_GBps(row);
  if (limit <= 0.0 || row.ranks < 2 || row.aggregates || !has_busbw(row) || least_sent <= limit * (1.0 + rounding)) return "";
  return fmt::format("{} {} on {} ({} ranks): busbw {:.4f} GB/s passes the {:.4f} GB/s of the bottleneck link; this is a bug in the model",
                     row.algorithm, to_string(row.size), row.fabric, row.ranks, busbw_GBps(row), limit);
}

}  // namespace weft

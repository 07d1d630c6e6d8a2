#include "kernels/base/statistics.hpp"
#include "validation/advise/advise.hpp"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

// Between two sizes, on a logarithmic axis.
Bytes between(Bytes low, Bytes high) {
  return {static_cast<std::int64_t>(std::sqrt(static_cast<double>(low.count)) * std::sqrt(static_cast<double>(high.count)))};
}

struct First {
  Bytes size;
  std::size_t candidate;
};

// Who is next at a size, and by how much of the first's time later.
struct Second {
  double later = HUGE_VAL;
  std::size_t candidate = 0;
};

}  // namespace

std::vector<AdvisedRange> advised_ranges(const AdviseTimes& times, const std::function<bool(std::size_t)>& counts,
                                         const std::set<Bytes>& asked) {
  constexpr double as_good = 1.005;
  std::vector<First> firsts;
  for (const auto& [size, of_candidates] : times) {
    std::optional<std::size_t> best;
    for (const auto& [candidate, time] : of_candidates)
      if (counts(candidate) && (!best || time < of_candidates.at(*best))) best = candidate;
    if (!best) continue;
    const double enough = as_good * static_cast<double>(of_candidates.at(*best).ps);
    for (const auto& [candidate, time] : of_candidates)
      if (counts(candidate) && static_cast<double>(time.ps) <= enough) {
        best = candidate;  // the simplest of equals
        break;
      }
    if (!firsts.empty())
      if (const auto before = of_candidates.find(firsts.back().candidate);
          before != of_candidates.end() && static_cast<double>(before->second.ps) <= enough)
        best = firsts.back().candidate;
    firsts.push_back({size, *best});
  }
  std::vector<AdvisedRange> out;
  for (std::size_t i = 0; i < firsts.size();) {
    std::size_t end = i + 1;
    while (end < firsts.size() && firsts[end].candidate == firsts[i].candidate) ++end;
    const std::size_t candidate = firsts[i].candidate;
    AdvisedRange range{.from = out.empty() ? firsts[i].size : Bytes{out.back().to.count + 1},
                       .to = end < firsts.size() ? between(firsts[end - 1].size, firsts[end].size) : firsts[end - 1].size,
                       .candidate = candidate,
                       .first = times.at(firsts[i].size).at(candidate),
                       .last = times.at(firsts[end - 1].size).at(candidate)};
    std::vector<Second> seconds, seconds_where_asked;
    for (std::size_t k = i; k < end; ++k) {
      const auto& here = times.at(firsts[k].size);
      Second second;
      for (const auto& [other, time] : here) {
        if (other == candidate || !counts(other)) continue;
        const double later = static_cast<double>(time.ps) / static_cast<double>(std::max<std::int64_t>(here.at(candidate).ps, 1)) - 1;
        if (later < second.later) second = {later, other};
      }
      if (second.later == HUGE_VAL) continue;
      seconds.push_back(second);
      if (asked.contains(firsts[k].size)) seconds_where_asked.push_back(second);
    }
    range.alone = seconds.empty();
    if (!seconds.empty()) {
      range.min_ahead = std::max(0.0, std::ranges::min(seconds, {}, &Second::later).later);
      std::vector<Second>& judged = seconds_where_asked.empty() ? seconds : seconds_where_asked;
      std::ranges::stable_sort(judged, {}, &Second::later);
      const Second& middle = judged[(judged.size() - 1) / 2];
      range.runner_up = middle.candidate;
      std::vector<double> ahead;
      for (const Second& s : judged) ahead.push_back(s.later);
      range.ahead = std::max(0.0, median(std::move(ahead)));
    }
    out.push_back(range);
    i = end;
  }
  return out;
}

}  // namespace weft

#include "sim/report/details.hpp"

#include "sim/report/fabric_picture.hpp"
#include "sim/results/activity_shown.hpp"
#include "sim/results/version.hpp"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

constexpr std::size_t max_slices = 1500, max_rank_rows = 64, max_series = 12, max_points = 128;

double us(SimTime time) { return static_cast<double>(time.ps) / 1e6; }

// By rank, or by as many ranks together as leave max_rank_rows: the share of each interval in which they compute, and in which something
// of theirs is on its way.
class RankRows {
 public:
  RankRows(const Timeline& timeline, SimTime width) : timeline_(timeline), width_(width) {
    int ranks = 0;
    for (const MessageRecord& m : timeline.messages) ranks = std::max({ranks, m.from + 1, m.to + 1});
    for (const SpanRecord& s : timeline.spans) ranks = std::max(ranks, s.rank + 1);
    each_ = (static_cast<std::size_t>(ranks) + max_rank_rows - 1) / max_rank_rows;
    ranks_ = static_cast<std::size_t>(ranks);
  }

  Json json() const {
    if (ranks_ == 0) return Json::array();
    std::vector<std::vector<Interval>> sending(ranks_), computing(ranks_);
    for (const MessageRecord& m : timeline_.messages) sending[static_cast<std::size_t>(m.from)].push_back({m.active, m.ended});
    for (const SpanRecord& s : timeline_.spans)
      if (s.kind == SpanRecord::Kind::compute) computing[static_cast<std::size_t>(s.rank)].push_back({s.begin, s.end});
    Json out = Json::array();
    for (std::size_t first = 0; first < ranks_; first += each_) {
      const std::size_t last = std::min(ranks_, first + each_) - 1;
      Json row = {{"rank", first}, {"sends", shares(sending, first, last)}};
      if (last > first) row["to"] = last;
      if (!timeline_.spans.empty()) row["computes"] = shares(computing, first, last);
      out.push_back(std::move(row));
    }
    return out;
  }

 private:
  struct Interval {
    SimTime begin, end;
  };

  // In percent.
  std::vector<int> shares(std::vector<std::vector<Interval>>& of, std::size_t first, std::size_t last) const {
    TimeSeries busy(TimeSeries::Of::amount);
    for (std::size_t rank = first; rank <= last; ++rank) {
      std::ranges::sort(of[rank], {}, &Interval::begin);
      SimTime until = {};
      for (const Interval& one : of[rank]) {  // what overlaps counts once
        if (one.end > until && one.end > one.begin)
          busy.add(std::max(one.begin, until), one.end, static_cast<double>((one.end - std::max(one.begin, until)).ps));
        until = std::max(until, one.end);
      }
    }
    std::vector<int> out;
    const double full = static_cast<double>(width_.ps) * static_cast<double>(last - first + 1);
    for (const double value : busy.over(width_, timeline_.activity.end)) out.push_back(static_cast<int>(std::lround(100 * value / full)));
    return out;
  }

  const Timeline& timeline_;
  const SimTime width_;
  std::size_t ranks_ = 0, each_ = 1;
};

// [rank, "s" or "c" or "r" or "m", channel or stream, begin, duration, text]; nothing where there are too many.
Json slices(const Timeline& timeline) {
  Json out = Json::array();
  if (timeline.messages.size() + timeline.spans.size() > max_slices) return out;
  for (const SpanRecord& s : timeline.spans) {
    const char* kind = s.kind == SpanRecord::Kind::compute ? "c" : s.kind == SpanRecord::Kind::control ? "m" : "r";
    out.push_back({s.rank, kind, s.stream, us(s.begin), us(s.end - s.begin), s.name});
  }
  for (const MessageRecord& m : timeline.messages)
    out.push_back(
        {m.from, "s", m.channel, us(m.active), us(m.ended - m.active), fmt::format("step {} to rank {}, {} B", m.step, m.to, m.bytes)});
  return out;
}

std::string head_of(const std::vector<std::string>& scenarios) { return R"({"weft_details_of":)" + Json(scenarios).dump(); }

}  // namespace

Json row_details(const Timeline& timeline, const Row& row) {
  Json out = Json::object();
  if (!timeline.fabric || timeline.activity.end.ps == 0) return out;  // a network that records nothing
  out["end_us"] = us(timeline.activity.end);
  out["fabric"] = fabric_picture(timeline, row);
  const ShownActivity shown = shown_activity(timeline, max_series, max_points);
  out["interval_us"] = us(shown.width);
  out["series"] = Json::array();
  for (const ShownSeries& s : shown.series)
    out["series"].push_back({{"kind", s.kind}, {"name", s.name}, {"unit", s.unit}, {"values", s.values}});
  out["ranks"] = RankRows(timeline, shown.width).json();
  out["messages"] = timeline.messages.size();
  out["slices"] = slices(timeline);
  return out;
}

std::string to_details(const DetailsOfRun& run, const std::vector<std::string>& rows) {
  return fmt::format("{},\"weft\":{},\"arguments\":{},\"rows\":[\n{}\n]}}\n", head_of(run.scenarios), Json(version()).dump(),
                     Json(run.arguments).dump(), fmt::join(rows, ",\n"));
}

bool is_details_of(std::string_view text, const std::vector<std::string>& scenarios) { return text.starts_with(head_of(scenarios)); }

}  // namespace weft

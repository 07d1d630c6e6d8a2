#include "sim/results/trace_events.hpp"

#include "kernels/base/error.hpp"
#include "sim/results/activity_shown.hpp"

#include <algorithm>
#include <numeric>

namespace weft {
namespace {

std::int64_t whole_ns(SimTime time) { return (time.ps + 500) / 1000; }
std::string shown_us(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

}  // namespace

std::size_t TraceEvents::slice(const TrackKey& track, std::string name, SimTime begin, SimTime end, Json args) {
  const int number = tracks_.try_emplace(track, static_cast<int>(tracks_.size())).first->second;
  std::string text = "\"name\":" + Json(std::move(name)).dump();
  if (!args.empty()) text += ",\"args\":" + args.dump();
  slices_.push_back({number, whole_ns(begin), std::max(whole_ns(begin), whole_ns(end)), std::move(text)});
  return slices_.size() - 1;
}

void TraceEvents::counter(const std::string& name, const std::string& unit, SimTime at, double value) {
  counters_ += fmt::format(",\n{{\"ph\":\"C\",\"name\":{},\"pid\":{},\"ts\":{},\"args\":{{{}:{}}}}}", Json(name).dump(), process_,
                           shown_us(whole_ns(at)), Json(unit).dump(), Json(value).dump());
}

std::string TraceEvents::text() const {
  std::vector<std::size_t> order(slices_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const Slice &x = slices_[a], &y = slices_[b];
    return x.begin_ns != y.begin_ns ? x.begin_ns < y.begin_ns : x.end_ns < y.end_ns;
  });
  std::vector<std::vector<std::int64_t>> free_at(tracks_.size());  // by track and lane
  std::vector<std::size_t> lane(slices_.size());
  for (const std::size_t i : order) {
    std::vector<std::int64_t>& lanes = free_at[static_cast<std::size_t>(slices_[i].track)];
    const auto at = std::ranges::find_if(lanes, [&](std::int64_t free) { return free <= slices_[i].begin_ns; });
    lane[i] = static_cast<std::size_t>(at - lanes.begin());
    if (at == lanes.end()) lanes.push_back(0);
    lanes[lane[i]] = slices_[i].end_ns;
  }

  std::string out = fmt::format(
      "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{0},\"args\":{{\"name\":{1}}}}},\n"
      "{{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":{0},\"args\":{{\"sort_index\":{0}}}}}",
      process_, Json(name_).dump());
  std::vector<std::size_t> first_thread(tracks_.size());
  std::size_t threads = 1;  // 0 would be the process's own
  for (const auto& [key, track] : tracks_) {
    first_thread[static_cast<std::size_t>(track)] = threads;
    for (std::size_t l = 0; l < free_at[static_cast<std::size_t>(track)].size(); ++l, ++threads)
      out += fmt::format(
          ",\n{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{0},\"tid\":{1},\"args\":{{\"name\":{2}}}}},\n"
          "{{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":{0},\"tid\":{1},\"args\":{{\"sort_index\":{1}}}}}",
          process_, threads, Json(l == 0 ? key.label : fmt::format("{} ({})", key.label, l + 1)).dump());
  }
  const auto thread_of = [&](std::size_t i) { return first_thread[static_cast<std::size_t>(slices_[i].track)] + lane[i]; };
  for (const std::size_t i : order) {
    const Slice& s = slices_[i];
    out += fmt::format(",\n{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},{}}}", process_, thread_of(i), shown_us(s.begin_ns),
                       shown_us(s.end_ns - s.begin_ns), s.name_and_args);
  }
  for (std::size_t a = 0; a < arrows_.size(); ++a) {
    const auto [from, to] = arrows_[a];
    const std::string head = fmt::format("\"cat\":\"message\",\"name\":\"message\",\"id\":\"{}.{}\",\"pid\":{}", process_, a, process_);
    const std::int64_t last_ns = std::max(slices_[to].begin_ns, slices_[to].end_ns - 1);  // within the slice, whose end is not
    out += fmt::format(",\n{{\"ph\":\"s\",{},\"tid\":{},\"ts\":{}}},\n{{\"ph\":\"f\",\"bp\":\"e\",{},\"tid\":{},\"ts\":{}}}", head,
                       thread_of(from), shown_us(slices_[from].begin_ns), head, thread_of(to), shown_us(last_ns));
  }
  return out + counters_;
}

namespace {

using What = TrackKey::What;
enum Group { of_workload, of_jobs, of_others };

std::string end_of_label(What what, int number) {
  switch (what) {
    case What::computes:
      return "computes";
    case What::stream:
      return fmt::format("collectives on stream {}", number);
    case What::pushes:
      return "pushes to parameter servers";
    case What::control:
      return "control messages";
    case What::sends:
      return fmt::format("sends, channel {}", number);
    case What::receives:
      return fmt::format("receives, channel {}", number);
    case What::reduces:
      return fmt::format("reduces, channel {}", number);
  }
  check(false, "a track of nothing");
  return {};
}

class RowEvents {
 public:
  RowEvents(const Timeline& timeline, std::size_t row, const std::string& label) : timeline_(timeline), events_(row, label) {}

  std::string text() {
    for (const SpanRecord& span : timeline_.spans) add(span);
    for (const MessageRecord& message : timeline_.messages) add(message, of_workload, "");
    for (const JobMessages& job : timeline_.activity.beside)
      for (const MessageRecord& message : job.messages) add(message, of_jobs, job.job);
    for (const TransferRecord& transfer : timeline_.activity.transfers) add(transfer);
    if (timeline_.fabric) add_counters();
    return events_.text();
  }

 private:
  // Of those of the engine's parameter servers; not negative where it is one.
  int server(Group group, int rank) const {
    const int number = rank - static_cast<int>(timeline_.placement.size());
    return group == of_workload && number < static_cast<int>(timeline_.servers.size()) ? number : -1;
  }

  std::string where(Group group, int rank) const {
    const int server_number = server(group, rank);
    const bool is_placed = group == of_workload && (server_number >= 0 || static_cast<std::size_t>(rank) < timeline_.placement.size());
    if (!timeline_.fabric || !is_placed) return "";
    const int place = server_number >= 0 ? timeline_.servers[static_cast<std::size_t>(server_number)]
                                         : timeline_.placement[static_cast<std::size_t>(rank)];
    if (place >= timeline_.fabric->endpoints()) return " (switches)";
    return " " + timeline_.fabric->device(timeline_.fabric->node_of(place)).name;
  }

  // In what another rank does.
  std::string name(Group group, int rank) const {
    const int number = server(group, rank);
    return number >= 0 ? fmt::format("server {}", number) : fmt::format("{}", rank);
  }

  TrackKey track(Group group, const std::string& job, int rank, What what, int number) const {
    const char* kind = server(group, rank) >= 0 ? "" : "rank ";
    return {.group = group,
            .who = job,
            .rank = rank,
            .what = what,
            .number = number,
            .label = fmt::format("{}{}{}{}{}: {}", job, job.empty() ? "" : " ", kind, name(group, rank), where(group, rank),
                                 end_of_label(what, number))};
  }

  void add(const SpanRecord& span) {
    const What what = span.kind == SpanRecord::Kind::compute   ? What::computes
                      : span.kind == SpanRecord::Kind::control ? What::control
                      : span.stream < 0                        ? What::pushes
                                                               : What::stream;
    events_.slice(track(of_workload, "", span.rank, what, what == What::stream ? span.stream : 0), span.name, span.begin, span.end);
  }

  void add(const MessageRecord& m, Group group, const std::string& job) {
    const Json args = {{"bytes", m.bytes}, {"waited_us", static_cast<double>((m.active - m.posted).ps) / 1e6}};
    const std::size_t sent = events_.slice(track(group, job, m.from, What::sends, m.channel),
                                           fmt::format("step {} to {}", m.step, name(group, m.to)), m.active, m.ended, args);
    if (m.from == m.to) return;
    events_.arrow(sent, events_.slice(track(group, job, m.to, What::receives, m.channel),
                                      fmt::format("step {} from {}", m.step, name(group, m.from)), m.active, m.ended));
  }

  void add(const TransferRecord& t) {
    const auto key = [&](const std::string& at, What what, const char* does) {
      return TrackKey{.group = of_others, .who = t.by + " " + at, .what = what, .label = fmt::format("{} {} {}", t.by, at, does)};
    };
    const std::size_t sent = events_.slice(key(t.from, What::sends, "sends"), "to " + t.to, t.begin, t.end, {{"bytes", t.bytes}});
    events_.arrow(sent, events_.slice(key(t.to, What::receives, "receives"), "from " + t.from, t.begin, t.end));
  }

  void add_counters() {
    const ShownActivity shown = shown_activity(timeline_);
    for (const ShownSeries& series : shown.series) {
      double last = 0;
      for (std::size_t i = 0; i <= series.values.size(); ++i) {
        const double value = i < series.values.size() ? series.values[i] : 0;
        if (value == last) continue;
        events_.counter(series.name, series.unit, std::min(SimTime{static_cast<std::int64_t>(i) * shown.width.ps}, timeline_.activity.end),
                        last = value);
      }
    }
  }

  const Timeline& timeline_;
  TraceEvents events_;
};

}  // namespace

std::string trace_events(const Timeline& timeline, std::size_t row_number, const std::string& row_label) {
  return RowEvents(timeline, row_number, row_label).text();
}

}  // namespace weft

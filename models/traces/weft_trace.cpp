#include "models/traces/weft_trace.hpp"

#include "kernels/base/gather.hpp"
#include "models/traces/builder.hpp"
#include "models/traces/json_access.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <tuple>

namespace weft {
namespace {

constexpr int max_ranks = 1 << 16;
constexpr std::int64_t max_steps = std::int64_t{1} << 30;
constexpr std::uint64_t host_work = std::uint64_t{1} << 40;  // ids of what is computed between collectives lie this far behind theirs

struct Line {
  std::uint64_t number = 0;
  std::string op = {};
  Rank rank = 0, peer = 0;
  std::int64_t run = 0, channel = 0, step = 0, message = 0, bytes = 0;
  double start_us = 0, end_us = 0;  // on rank 0's clock
};

bool is_message(const Line& line) {
  return line.op == "send" || line.op == "receive" || line.op == "receive_reduce" || line.op == "reduce";
}
bool is_computation(const Line& line) { return line.op == "compute" || line.op == "gradient"; }

std::optional<TracedCollective> traced_collective(std::string_view op) {
  for (int c = 0; c <= static_cast<int>(TracedCollective::gather); ++c)
    if (name_of(static_cast<TracedCollective>(c)) == op) return static_cast<TracedCollective>(c);
  return std::nullopt;
}

SimTime from_us(double us) { return SimTime{std::llround(us * 1e6)}; }

class WeftTraceReader {
 public:
  WeftTraceReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  TraceFile read() {
    for (std::uint64_t number = 1; !text_.empty(); ++number) {
      const std::string_view line = text_.substr(0, text_.find('\n'));
      text_.remove_prefix(std::min(text_.size(), line.size() + 1));
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      gather(problems_, [&] {
        const TraceJson json = parse_trace_json(line, file_, number);
        if (!json.is_object()) throw InputError(place(number) + ": must be a JSON object");
        if (ranks_ == 0)
          read_header(json, number);
        else if (!json.contains("times_us"))
          read_line(json, number);
      });
      if (ranks_ == 0 || problems_.size() >= max_problems_of_a_file) break;  // what follows cannot be judged
    }
    if (problems_.empty() && lines_.empty()) problems_.push_back(file_ + ": holds no operation");
    if (!problems_.empty()) throw InputError(problems_);
    return program();
  }

 private:
  std::string place(std::uint64_t number) const { return fmt::format("{}: line {}", file_, number); }

  std::int64_t whole(const TraceJson& json, const char* key, std::uint64_t number, std::int64_t least, std::int64_t most,
                     std::optional<std::int64_t> otherwise = {}) const {
    const auto value = whole_member(json, key, place(number));
    if (!value && otherwise) return *otherwise;
    if (!value) throw InputError(fmt::format("{}: \"{}\" is missing", place(number), key));
    if (*value < least || *value > most)
      throw InputError(fmt::format("{}: \"{}\" must be {} to {}, got {}", place(number), key, least, most, *value));
    return *value;
  }

  double time(const TraceJson& json, const char* key, std::uint64_t number) const {
    const TraceJson* value = member(json, key);
    if (!value || !value->is_number() || !(std::abs(value->get<double>()) <= 1e18))
      throw InputError(
          fmt::format("{}: \"{}\" must be a number of microseconds, got {}", place(number), key, value ? shown_json(*value) : "nothing"));
    return value->get<double>();
  }

  void read_header(const TraceJson& json, std::uint64_t number) {
    if (text_member(json, "format") != "weft trace")
      throw InputError(place(number) + ": the first line must be the header, with \"format\": \"weft trace\"");
    const std::int64_t ranks = whole(json, "ranks", number, 1, max_ranks);
    const bool extra = text_member(json, "server_hosts").value_or("workers") == "extra";
    root_ = static_cast<Rank>(whole(json, "root", number, 0, ranks - 1, 0));
    const std::int64_t servers = extra ? std::max<std::int64_t>(1, whole(json, "servers", number, 0, max_ranks, 1)) : 0;
    if (const TraceJson* clocks = member(json, "clocks"); clocks && clocks->is_array())
      for (const TraceJson& clock : *clocks) offsets_.push_back(time(clock, "offset_us", number));
    if (!offsets_.empty() && std::cmp_not_equal(offsets_.size(), ranks + servers))
      throw InputError(fmt::format("{}: \"clocks\" must have an entry for each of the {} ranks, got {}", place(number), ranks + servers,
                                   offsets_.size()));
    ranks_ = static_cast<int>(ranks + servers);
  }

  void read_line(const TraceJson& json, std::uint64_t number) {
    Line line{.number = number};
    line.op = text_member(json, "op").value_or("");
    line.rank = static_cast<Rank>(whole(json, "rank", number, 0, ranks_ - 1));
    line.run = whole(json, "run", number, 0, 1'000'000, 0);
    line.bytes = whole(json, "bytes", number, 0, max_traced_bytes);
    const double offset = offsets_.empty() ? 0 : offsets_[static_cast<std::size_t>(line.rank)];
    line.start_us = time(json, "start_us", number) - offset;
    line.end_us = time(json, "end_us", number) - offset;
    if (line.end_us < line.start_us)
      throw InputError(fmt::format("{}: ends at {} us, before its start at {} us", place(number), line.end_us, line.start_us));
    if (line.end_us - line.start_us > static_cast<double>(longest_traced_us))
      throw InputError(
          fmt::format("{}: takes {:g} us, at most {} are read", place(number), line.end_us - line.start_us, longest_traced_us));
    if (is_computation(line)) return;  // what lies between collectives is computed again as a whole
    if (is_message(line)) {
      line.peer = static_cast<Rank>(whole(json, "peer", number, 0, ranks_ - 1));
      line.channel = whole(json, "channel", number, 0, max_steps, 0);
      line.step = whole(json, "step", number, 0, max_steps);
      line.message = whole(json, "message", number, 0, max_steps, 0);
      has_messages_ = true;
    } else if (!traced_collective(line.op)) {
      throw InputError(
          fmt::format("{}: \"op\" must be send, receive, receive_reduce, reduce, compute, gradient or a collective, got \"{}\"",
                      place(number), line.op));
    } else {
      has_collectives_ = true;
    }
    lines_.push_back(std::move(line));
  }

  TraceFile program() {
    if (has_messages_ && has_collectives_)
      throw InputError(file_ + ": has the messages of schedules and collectives as a whole: one or the other can be run");
    TraceFile out{.format = "Weft", .world = ranks_};
    std::vector<std::vector<const Line*>> of_ranks(static_cast<std::size_t>(ranks_));
    for (const Line& line : lines_) of_ranks[static_cast<std::size_t>(line.rank)].push_back(&line);
    Missing missing;
    for (Rank rank = 0; rank < ranks_; ++rank) {
      RankBuilder builder(file_, "line");
      builder.rank().rank = rank;
      auto& own = of_ranks[static_cast<std::size_t>(rank)];
      if (has_messages_)
        add_messages(own, builder);
      else
        add_collectives(own, builder);
      out.ranks.push_back(builder.finish(missing));
    }
    missing.move_to(out.missing);
    if (std::ranges::any_of(lines_, [](const Line& l) { return l.op == "receive_reduce"; }))
      out.notes.push_back("the trace does not say what adding while receiving took: its messages are simulated without that");
    return out;
  }

  void add_messages(std::vector<const Line*>& lines, RankBuilder& builder) {
    std::ranges::stable_sort(lines, {}, [](const Line* l) { return std::tuple(l->run, l->channel, l->step, l->op == "reduce"); });
    std::vector<std::uint64_t> of_run_before, of_run;
    std::vector<std::uint64_t> step_before, step;
    const Line* last = nullptr;
    for (const Line* line : lines) {
      const bool other_run = last && line->run != last->run, other_channel = other_run || (last && line->channel != last->channel);
      if (other_channel || (last && line->step != last->step)) step_before = std::exchange(step, {});
      if (other_channel) of_run.insert(of_run.end(), step_before.begin(), step_before.end());
      if (other_run) of_run_before = std::exchange(of_run, {});
      if (other_channel) step_before.clear();
      std::vector<std::uint64_t> waits = step_before.empty() ? of_run_before : step_before;
      if (line->op == "reduce") waits.insert(waits.end(), step.begin(), step.end());  // it adds what the step has received
      builder.add(line->number, message_of(*line), std::move(waits));
      step.push_back(line->number);
      last = line;
    }
  }

  TracedOperation message_of(const Line& line) {
    TracedOperation out{.peer = line.peer, .bytes = line.bytes, .duration = from_us(line.end_us - line.start_us), .record = line.number};
    if (line.op == "reduce") {
      out.kind = TracedOperation::Kind::compute;
      return out;
    }
    out.kind = line.op == "send" ? TracedOperation::Kind::send : TracedOperation::Kind::receive;
    out.tag = tags_.try_emplace({line.run, line.channel, line.step, line.message}, static_cast<int>(tags_.size())).first->second;
    return out;
  }

  void add_collectives(std::vector<const Line*>& lines, RankBuilder& builder) {
    double origin = lines_.front().start_us;
    for (const Line& line : lines_) origin = std::min(origin, line.start_us);
    std::ranges::stable_sort(lines, {}, [](const Line* l) { return l->start_us; });
    const int all = builder.group({.name = "all", .size = ranks_, .all = true});
    std::multimap<double, const Line*> ends;  // of those before
    for (const Line* at : lines) {
      const Line& line = *at;
      const auto later = ends.upper_bound(line.start_us);
      const Line* before = later == ends.begin() ? nullptr : std::prev(later)->second;  // the last that had ended
      ends.emplace(line.end_us, at);
      const double between_us = line.start_us - (before ? before->end_us : origin);
      TracedOperation host{.duration = from_us(std::min(between_us, static_cast<double>(longest_traced_us))), .record = line.number};
      builder.add(host_work + line.number, host, before ? std::vector{before->number} : std::vector<std::uint64_t>{});
      const TracedCollective collective = *traced_collective(line.op);
      const bool of_blocks = collective == TracedCollective::allgather || collective == TracedCollective::gather;
      builder.add(line.number,
                  {.kind = TracedOperation::Kind::collective,
                   .collective = collective,
                   .group = all,
                   .peer = root_,
                   .tag = TracedOperation::no_sequence,
                   .bytes = of_blocks ? line.bytes / ranks_ : line.bytes,  // the trace says the whole message
                   .duration = from_us(line.end_us - line.start_us),
                   .record = line.number},
                  {host_work + line.number});
    }
  }

  std::string_view text_;
  const std::string& file_;
  int ranks_ = 0;
  Rank root_ = 0;
  std::vector<double> offsets_ = {};
  std::vector<Line> lines_ = {};
  bool has_messages_ = false, has_collectives_ = false;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>, int> tags_ = {};  // of messages, the same at both ends
  std::vector<std::string> problems_ = {};
};

}  // namespace

bool looks_like_weft_trace(std::string_view text) {
  const std::string_view first = text.substr(0, text.find('\n'));
  return first.find("\"format\"") != first.npos && first.find("\"weft trace\"") != first.npos;
}

TraceFile parse_weft_trace(std::string_view text, const std::string& file) { return WeftTraceReader(text, file).read(); }

}  // namespace weft

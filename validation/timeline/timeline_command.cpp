#include "validation/timeline/timeline_command.hpp"

#include "kernels/files/files.hpp"
#include "kernels/files/output_files.hpp"
#include "sim/cli/commands.hpp"
#include "sim/results/trace_events.hpp"
#include "sim/results/version.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <set>
#include <tuple>

namespace weft {
namespace {

using What = TrackKey::What;

constexpr const char* head = R"({"displayTimeUnit":"ns","otherData":{"weft_timeline":)";

TrackKey track_of(const TraceOperation& o) {
  const auto key = [&](What what, std::string does) {
    return TrackKey{.rank = o.rank, .what = what, .number = o.channel, .label = fmt::format("rank {}: {}", o.rank, does)};
  };
  if (o.op == "send") return key(What::sends, fmt::format("sends, channel {}", o.channel));
  if (o.op == "receive" || o.op == "receive_reduce") return key(What::receives, fmt::format("receives, channel {}", o.channel));
  if (o.op == "reduce") return key(What::reduces, fmt::format("reduces, channel {}", o.channel));
  return key(What::stream, "collectives");
}

std::string name_of(const TraceOperation& o) {
  if (o.op == "send") return fmt::format("step {} to {}", o.step, o.peer);
  if (o.op == "receive" || o.op == "receive_reduce") return fmt::format("step {} from {}", o.step, o.peer);
  if (o.op == "reduce") return fmt::format("step {}", o.step);
  return o.algorithm.empty() ? o.op : o.op + " " + o.algorithm;
}

// What both ends of a message say of it.
using MessageKey = std::tuple<int, int, int, int, int>;
MessageKey key_of(const TraceOperation& o, int from, int to) { return {from, to, o.channel, o.step, o.message}; }

std::string measured(const std::string& text, const std::string& file, std::size_t& process) {
  const Trace trace = parse_trace(text, file);
  std::string out;
  for (const TraceRun& run : trace.runs) {
    if (run.operations.empty()) continue;
    if (!out.empty()) out += ",\n";
    out += measured_events(trace, run, process++);
  }
  if (out.empty()) throw InputError(fmt::format("{}: holds no operation, only times", file));
  return out;
}

// Its processes and arrows get numbers that no other file's have.
std::string simulated(const std::string& text, const std::string& file, std::size_t& process) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("traceEvents") || !json["traceEvents"].is_array())
    throw InputError(fmt::format("{}: must be a trace of weft bench --trace, or trace.json of weft run --trace", file));
  const std::size_t first = process;
  std::string out;
  for (Json& event : json["traceEvents"]) {
    if (!event.is_object() || !event.contains("pid") || !event["pid"].is_number_unsigned())
      throw InputError(fmt::format("{}: an event has no process: {}", file, shown(event)));
    const std::size_t own = first + event["pid"].get<std::size_t>();
    process = std::max(process, own + 1);
    event["pid"] = own;
    if (event.contains("id")) event["id"] = fmt::format("{}.{}", first, event["id"].get<std::string>());
    if (event.value("name", "") == "process_sort_index") event["args"]["sort_index"] = own;
    if (event.value("name", "") == "process_name") event["args"]["name"] = "simulated " + event["args"].value("name", "");
    if (!out.empty()) out += ",\n";
    out += event.dump();
  }
  return out;
}

}  // namespace

std::string measured_events(const Trace& trace, const TraceRun& run, std::size_t process) {
  TraceEvents events(process, fmt::format("measured {}: {}{}", trace.system.empty() ? trace.file : trace.system, run.algorithm,
                                          run.size_bytes > 0 ? ", " + to_string(Bytes{run.size_bytes}) : ""));
  double first_us = std::numeric_limits<double>::infinity();
  for (const TraceOperation& o : run.operations) first_us = std::min(first_us, o.start_us);
  const auto time = [&](double us) { return SimTime{std::llround((us - first_us) * 1e6)}; };
  std::map<MessageKey, std::size_t> sent;
  std::vector<std::pair<MessageKey, std::size_t>> received;
  for (const TraceOperation& o : run.operations) {
    const std::size_t slice = events.slice(track_of(o), name_of(o), time(o.start_us), time(o.end_us), {{"bytes", o.bytes}});
    if (o.op == "send") sent.emplace(key_of(o, o.rank, o.peer), slice);
    if (o.op == "receive" || o.op == "receive_reduce") received.emplace_back(key_of(o, o.peer, o.rank), slice);
  }
  for (const auto& [key, slice] : received)
    if (const auto from = sent.find(key); from != sent.end()) events.arrow(from->second, slice);
  return events.text();
}

int timeline_command(const TimelineArguments& arguments, std::ostream& out) {
  std::vector<std::filesystem::path> inputs(arguments.files.begin(), arguments.files.end());
  refuse_to_replace({{.file = arguments.output,
                      .argument = "-o " + arguments.output,
                      .what = "a timeline of weft timeline",
                      .replaces = [](std::string_view text) { return text.starts_with(head); }}},
                    inputs, arguments.force);
  refuse_missing_folder("-o " + arguments.output, arguments.output);
  std::string events;
  std::size_t processes = 0;
  for (const std::string& file : arguments.files) {
    const std::string text = read_file(file);
    const bool of_run = text.starts_with(R"({"displayTimeUnit")");
    if (!events.empty()) events += ",\n";
    events += of_run ? simulated(text, file, processes) : measured(text, file, processes);
  }
  write_file(arguments.output, fmt::format("{}{}}},\"traceEvents\":[\n{}\n]}}\n", head, Json(version()).dump(), events));
  out << fmt::format("{}: {} runs, one above the other; open it in https://ui.perfetto.dev\n", arguments.output, processes);
  return exit_ok;
}

}  // namespace weft

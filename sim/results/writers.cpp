#include "sim/results/writers.hpp"

#include "sim/results/version.hpp"

#include <algorithm>
#include <set>

namespace weft {
namespace {

std::string csv_field(const Json& value) {
  if (value.is_null()) return "";
  std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2U : 1U, c);
  return quoted + "\"";
}

std::vector<std::string> swept_pointers(const std::vector<Case>& cases) {
  std::vector<std::string> out;
  for (const Case& one : cases)
    for (const Setting& axis : one.axes)
      if (std::find(out.begin(), out.end(), axis.pointer) == out.end()) out.push_back(axis.pointer);
  return out;
}

Json axes_of(const Case& one) {
  Json out = Json::object();
  for (const Setting& axis : one.axes) out[axis.pointer] = axis.value;
  return out;
}

// One line for each job; the row alone where the network is not shared.
std::vector<std::pair<Row, const JobResult*>> lines_of_row(const Row& row) {
  std::vector<std::pair<Row, const JobResult*>> out;
  for (const JobResult& job : row.jobs) out.emplace_back(row_of_job(row, job), &job);
  if (out.empty()) out.emplace_back(row, nullptr);
  return out;
}

bool any_jobs(const std::vector<Result>& results) {
  return std::any_of(results.begin(), results.end(), [](const Result& r) { return r.row && !r.row->jobs.empty(); });
}

Json json_of(const PacketSummary& p) {
  Json queues = Json::array();
  for (const QueueSummary& q : p.queues)
    queues.push_back({{"link", q.link},
                      {"priority", q.priority},
                      {"high_water_bytes", q.high_water.count},
                      {"marked", q.marked},
                      {"dropped", q.dropped},
                      {"pauses", q.pauses},
                      {"paused_us", static_cast<double>(q.paused.ps) / 1e6}});
  return {{"packets", p.packets},
          {"resent", p.resent},
          {"marked", p.marked},
          {"dropped", p.dropped},
          {"lost", p.lost},
          {"corrupted", p.corrupted},
          {"pauses", p.pauses},
          {"timeouts", p.timeouts},
          {"notifications", p.notifications},
          {"fullest_switch", p.fullest_switch},
          {"switch_high_water_bytes", p.switch_high_water.count},
          {"queues_in_use", p.queues_in_use},
          {"longest_queues", std::move(queues)}};
}

Json json_of(const InNetworkSummary& s) {
  Json jobs = Json::array(), switches = Json::array();
  for (const JobInNetwork& j : s.jobs)
    jobs.push_back({{"job", j.name},
                    {"servers", j.servers},
                    {"slots", j.slots},
                    {"packets", j.packets},
                    {"aggregated_share", j.aggregated},
                    {"sent", j.sent},
                    {"resent", j.resent},
                    {"timeouts", j.timeouts},
                    {"marked", j.marked},
                    {"largest_window", j.largest_window}});
  for (const SwitchInNetwork& at : s.switches)
    switches.push_back({{"switch", at.name},
                        {"places", at.places},
                        {"most_in_use", at.most_in_use},
                        {"packets", at.packets},
                        {"added", at.added},
                        {"collided", at.collided}});
  return {{"places", s.places}, {"left_out", s.left_out}, {"jobs", std::move(jobs)}, {"switches", std::move(switches)}};
}

Json json_of(const Row& row, const JobResult& job) {
  Json out = Json::object();
  for (const JobColumn& column : job_columns()) out[column.name] = column.value(job);
  const Row of_job = row_of_job(row, job);
  for (const Column& column : columns())
    for (const char* own : {"algorithm", "collective", "ranks", "size_bytes", "dtype", "time_us", "algbw_GBps", "busbw_GBps",
                            "wire_bytes_per_rank", "messages", "steps", "max_flows_per_link"})
      if (column.name == own) out[own] = column.value(of_job);
  return out;
}

// By which a trace is known again.
std::string trace_head(const std::vector<std::string>& names) {
  return R"({"displayTimeUnit":"ns","otherData":{"weft_run_on":)" + Json(names).dump();
}

std::string joined(const std::vector<std::string>& fields) { return fmt::format("{}\n", fmt::join(fields, ",")); }

}  // namespace

std::string to_csv(const std::vector<Result>& results, const std::vector<Case>& cases) {
  const std::vector<std::string> axes = swept_pointers(cases);
  std::vector<std::string> header;
  for (const Column& column : columns()) header.push_back(column.name);
  const bool jobs = any_jobs(results);
  if (jobs)
    for (const JobColumn& column : job_columns()) header.push_back(column.name);
  for (const std::string& pointer : axes) header.push_back(csv_field(pointer));
  std::string out = joined(header);
  for (const Result& result : results) {
    if (!result.row) continue;
    const Json settings = axes_of(cases[result.request.case_index]);
    for (const auto& [row, job] : lines_of_row(*result.row)) {
      std::vector<std::string> fields;
      for (const Column& column : columns()) fields.push_back(csv_field(column.value(row)));
      if (jobs)
        for (const JobColumn& column : job_columns()) fields.push_back(job ? csv_field(column.value(*job)) : "");
      for (const std::string& pointer : axes) fields.push_back(settings.contains(pointer) ? csv_field(settings.at(pointer)) : "");
      out += joined(fields);
    }
  }
  return out;
}

std::string to_json(const std::vector<Result>& results, const std::vector<Case>& cases) {
  Json resolved = Json::array(), rows = Json::array(), failed = Json::array();
  for (const Case& one : cases) {
    Json entry = {{"axes", axes_of(one)}, {"scenario", to_json(one.scenario)}};
    entry["hardware_sources"] = one.scenario.hardware.sources;
    if (!one.scenario.server.sources.empty()) entry["server_sources"] = one.scenario.server.sources;
    resolved.push_back(std::move(entry));
  }
  for (const Result& result : results) {
    Json line = Json::object();
    line["case"] = result.request.case_index;
    if (result.row) {
      for (const Column& column : columns()) line[column.name] = column.value(*result.row);
      for (const CopyResult& copy : result.row->copies)
        line["copies"].push_back({{"gpu", copy.gpu},
                                  {"direction", copy.to_host ? "gpu_to_host" : "host_to_gpu"},
                                  {"count", copy.count},
                                  {"bytes", copy.bytes.count},
                                  {"bandwidth_GBps", copy.GBps()}});
      for (const JobResult& job : result.row->jobs) line["jobs"].push_back(json_of(*result.row, job));
      if (result.row->jobs.size() > 1) line["fairness"] = fairness(result.row->jobs);
      for (const TrafficResult& t : result.row->traffic)
        line["traffic"].push_back({{"streams", t.streams}, {"count", t.count}, {"bytes", t.bytes.count}, {"bandwidth_GBps", t.GBps()}});
      if (result.row->in_network) line["in_network"] = json_of(*result.row->in_network);
      if (result.row->packet) line["packet"] = json_of(*result.row->packet);
      rows.push_back(std::move(line));
    } else {
      line["algorithm"] = label(*result.request.algorithm);
      line["size_bytes"] = result.request.size.count;
      line["why"] = result.failure.empty() ? "not finished" : result.failure;
      failed.push_back(std::move(line));
    }
  }
  Json out = {{"schema", 1}, {"kind", "simulated"}, {"weft", {{"version", version()}, {"commit", commit()}}}, {"order", order_policy}};
  out["scenarios"] = names_of(cases);
  out["cases"] = std::move(resolved);
  out["rows"] = std::move(rows);
  if (!failed.empty()) out["failed"] = std::move(failed);
  return out.dump(2) + "\n";
}

namespace {

// The threads of a rank in the trace of training steps.
constexpr int tracks = 4096, compute_track = 0, control_track = 1, first_stream_track = 3, message_track = tracks - 1;

int track_of(const SpanRecord& span) {
  if (span.kind == SpanRecord::Kind::compute) return compute_track;
  return span.kind == SpanRecord::Kind::control ? control_track : first_stream_track + std::min(span.stream, tracks - 8);
}

std::string name_of_track(int track) {
  if (track == compute_track) return "compute";
  if (track == control_track) return "control messages";
  if (track == message_track) return "messages";
  return track < first_stream_track ? "pushes" : fmt::format("stream {}", track - first_stream_track);
}

}  // namespace

std::string trace_events(const Timeline& timeline, std::size_t row_number, const std::string& row_label) {
  const auto us = [](SimTime time) { return Json(static_cast<double>(time.ps) / 1e6).dump(); };
  Json process = {{"ph", "M"}, {"name", "process_name"}, {"pid", row_number}};
  process["args"]["name"] = row_label;
  std::string out = process.dump();
  const bool trains = !timeline.spans.empty();
  std::set<int> used;
  const auto thread = [&](int rank, int track) { return trains ? *used.insert(rank * tracks + track).first : rank; };
  for (const SpanRecord& s : timeline.spans)
    out += fmt::format(",\n{{\"ph\":\"X\",\"name\":{},\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{}}}", Json(s.name).dump(), row_number,
                       thread(s.rank, track_of(s)), us(s.begin), us(s.end - s.begin));
  for (const MessageRecord& m : timeline.messages)
    out += fmt::format(
        ",\n{{\"ph\":\"X\",\"name\":\"step {} to {}\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},"
        "\"args\":{{\"bytes\":{},\"channel\":{},\"waited_us\":{}}}}}",
        m.step, m.to, row_number, thread(m.from, message_track), us(m.active), us(m.ended - m.active), m.bytes, m.channel,
        us(m.active - m.posted));
  for (const int tid : used)
    out += fmt::format(",\n{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":\"rank {} {}\"}}}}",
                       row_number, tid, tid / tracks, name_of_track(tid % tracks));
  return out;
}

std::string to_trace(const std::vector<Result>& results, const std::vector<Case>& cases) {
  std::string events;
  for (const Result& result : results)
    if (!result.trace.empty()) events.append(events.empty() ? "" : ",\n").append(result.trace);
  return fmt::format("{},\"weft\":{}}},\"traceEvents\":[\n{}\n]}}\n", trace_head(names_of(cases)), Json(version()).dump(), events);
}

std::vector<std::string> names_of(const std::vector<Case>& cases) {
  std::set<std::string> names;
  for (const Case& one : cases) names.insert(one.scenario.name);
  return {names.begin(), names.end()};
}

bool is_csv_of(std::string_view text, const std::vector<std::string>& names) {
  const auto line = text.find('\n');
  if (!text.starts_with(columns()[0].name + "," + columns()[1].name + ",") || line == text.npos) return false;
  const std::string_view first_row = text.substr(line + 1);
  return std::ranges::any_of(names, [&](const std::string& name) { return first_row.starts_with(csv_field(name) + ","); });
}

bool is_json_of(std::string_view text, const std::vector<std::string>& names) {
  const auto end = text.find(",\n  \"cases\"");  // a key of the outermost object, which what is written ends its head with
  if (end == text.npos) return false;
  const Json head = Json::parse(std::string(text.substr(0, end)) + "}", nullptr, false);
  return head.is_object() && head.contains("weft") && head.value("kind", "") == "simulated" && head.contains("scenarios") &&
         head.at("scenarios") == names;
}

bool is_trace_of(std::string_view text, const std::vector<std::string>& names) { return text.starts_with(trace_head(names)); }

}  // namespace weft

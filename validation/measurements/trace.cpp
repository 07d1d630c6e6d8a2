#include "validation/measurements/trace.hpp"

#include "collectives/registry/measured_label.hpp"
#include "kernels/files/files.hpp"
#include "sim/json/json_text.hpp"
#include "validation/measurements/lines.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft {
namespace {

constexpr int newest_version = 1;
constexpr int max_ranks = 1 << 20;

// One line's object; says what is wrong with the values that are asked of it.
class Record {
 public:
  Record(const Json& json, std::vector<std::string>& problems) : json_(json), problems_(problems) {}

  bool has(const char* key) const { return json_.contains(key); }

  std::int64_t whole(const char* key, std::int64_t low, std::int64_t high, std::optional<std::int64_t> otherwise = {}) {
    const auto at = json_.find(key);
    if (at == json_.end() && otherwise) return *otherwise;
    if (at == json_.end()) return problem(fmt::format("\"{}\" is missing", key)), low;
    const double value = at->is_number() ? at->get<double>() : std::nan("");
    if (value != std::floor(value) || !(value >= static_cast<double>(low)) || !(value <= static_cast<double>(high)))
      return problem(fmt::format("\"{}\" must be a whole number from {} to {}, got {}", key, low, high, shown(*at))), low;
    return at->get<std::int64_t>();
  }
  double number(const char* key) {
    const auto at = json_.find(key);
    if (at == json_.end()) return problem(fmt::format("\"{}\" is missing", key)), 0;
    if (!at->is_number() || !std::isfinite(at->get<double>()))
      return problem(fmt::format("\"{}\" must be a number, got {}", key, shown(*at))), 0;
    return at->get<double>();
  }
  std::string text(const char* key, const char* otherwise = nullptr) {
    const auto at = json_.find(key);
    if (at == json_.end() && otherwise) return otherwise;
    if (at == json_.end() || !at->is_string())
      return problem(fmt::format("\"{}\" must be a string, got {}", key, at == json_.end() ? "nothing" : shown(*at))), "";
    return at->get<std::string>();
  }
  const Json* list(const char* key) {
    const auto at = json_.find(key);
    if (at == json_.end()) return nullptr;
    if (!at->is_array()) return problem(fmt::format("\"{}\" must be a list, got {}", key, shown(*at))), nullptr;
    return &*at;
  }
  void problem(std::string text) { problems_.push_back(std::move(text)); }
  bool good() const { return problems_.empty(); }

 private:
  const Json& json_;
  std::vector<std::string>& problems_;
};

// What a rank computed and when its gradients were there: for people and for models of training, not to be simulated again.
bool is_computation(std::string_view op) { return op == "compute" || op == "gradient"; }
bool is_message(std::string_view op) { return op == "send" || op == "receive" || op == "receive_reduce" || op == "reduce"; }

class TraceReader {
 public:
  TraceReader(std::string file, bool skip_bad) : skip_bad_(skip_bad) { trace_.file = std::move(file); }

  Trace read(std::string_view text) {
    const auto lines = lines_in(text);
    bool has_header = false;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (trimmed(lines[i]).empty()) continue;
      std::vector<Problem> syntax;
      const Json json = parse_json(lines[i], syntax);
      std::vector<std::string> problems;
      for (const Problem& p : syntax)
        problems.push_back(has_header ? p.what
                                      : fmt::format("the first line must be the header of a trace, as weft bench --trace writes it, and no "
                                                    "other JSON: {}",
                                                    p.what));
      if (problems.empty() && !json.is_object()) problems.push_back("must be a JSON object");
      if (problems.empty()) {
        Record record(json, problems);
        if (!has_header)
          read_header(record);
        else if (json.contains("times_us"))
          read_run(record, i + 1);
        else
          read_operation(record, i + 1);
      }
      for (const std::string& p : problems) problems_.push_back(fmt::format("{}:{}: {}", trace_.file, i + 1, p));
      if (!has_header && !problems.empty()) throw InputError(problems_);  // what follows cannot be judged
      has_header = true;
    }
    if (!has_header) throw InputError(fmt::format("{}: is empty", trace_.file));
    return finish();
  }

 private:
  void read_header(Record& record) {
    if (record.text("format") != "weft trace") return record.problem("the first line must be the header, with \"format\": \"weft trace\"");
    record.whole("version", 1, newest_version);
    trace_.system = record.text("system", "");
    trace_.ranks = static_cast<int>(record.whole("ranks", 1, max_ranks));
    trace_.collective = record.text("collective", "");
    trace_.dtype = record.text("dtype", "float32");
    trace_.root = static_cast<int>(record.whole("root", 0, trace_.ranks - 1, 0));
    trace_.channels = static_cast<int>(record.whole("channels", 1, 1024, 1));
    trace_.pieces = static_cast<int>(record.whole("pieces", 1, 1 << 20, 1));
    trace_.group = static_cast<int>(record.whole("group", 0, max_ranks, 0));
    trace_.compression = record.text("compression", "");
    trace_.inner = record.text("inner", "");
    trace_.up = record.text("up", "");
    trace_.down = record.text("down", "");
    trace_.servers = static_cast<int>(record.whole("servers", 0, max_ranks, 0));
    if (const std::string hosts = record.text("server_hosts", "workers"); hosts == "extra")
      trace_.extra_servers = std::max(trace_.servers, 1);
    else if (hosts != "workers")
      record.problem(fmt::format("\"server_hosts\" must be \"workers\" or \"extra\", got \"{}\"", hosts));
    const Json* clocks = record.list("clocks");
    if (!clocks || clocks->empty()) return;
    if (std::cmp_not_equal(clocks->size(), trace_.with_servers()))
      return record.problem(
          fmt::format("\"clocks\" must have an entry for each of the {} ranks, got {}", trace_.with_servers(), clocks->size()));
    for (const Json& clock : *clocks) {
      if (!clock.is_object() || !clock.contains("offset_us") || !clock.at("offset_us").is_number())
        return record.problem(fmt::format("\"clocks\": each must have the number \"offset_us\", got {}", shown(clock)));
      offsets_.push_back(clock.at("offset_us").get<double>());
    }
  }

  TraceRun& run(std::int64_t index) {
    const auto i = static_cast<std::size_t>(index);
    if (trace_.runs.size() <= i) trace_.runs.resize(i + 1);
    return trace_.runs[i];
  }

  void read_run(Record& record, std::size_t line) {
    const std::int64_t index = record.whole("run", 0, 1'000'000);
    TraceRun read{.algorithm = record.text("algorithm"), .size_bytes = record.whole("size_bytes", 0, std::int64_t{1} << 50), .line = line};
    if (const Json* times = record.list("times_us"))
      for (const Json& time : *times) {
        if (!time.is_number() || !(time.get<double>() > 0) || time.get<double>() > longest_us)
          return record.problem(
              fmt::format("\"times_us\": must be numbers above 0, at most {:g} (106 days), got {}", longest_us, shown(time)));
        read.times_us.push_back(time.get<double>());
      }
    if (!record.good()) return;
    TraceRun& known = run(index);
    if (known.line != 0) return record.problem(fmt::format("run {} has been described in line {} already", index, known.line));
    read.operations = std::move(known.operations);
    known = std::move(read);
  }

  void read_operation(Record& record, std::size_t line) {
    const std::int64_t index = record.whole("run", 0, 1'000'000, 0);
    TraceOperation o;
    o.line = line;
    o.rank = static_cast<int>(record.whole("rank", 0, trace_.with_servers() - 1));
    o.op = record.text("op");
    o.bytes = record.whole("bytes", 0, std::int64_t{1} << 50);
    o.start_us = record.number("start_us");
    o.end_us = record.number("end_us");
    o.peer = o.rank;
    if (is_message(o.op)) {
      o.peer = static_cast<int>(record.whole("peer", 0, trace_.with_servers() - 1));
      o.channel = static_cast<int>(record.whole("channel", 0, 1023, 0));
      o.step = static_cast<int>(record.whole("step", 0, 1 << 30));
      o.message = static_cast<int>(record.whole("message", 0, 1 << 30, 0));
    } else if (collective_named(o.op)) {
      o.algorithm = record.text("algorithm", "");
    } else if (record.good() && !is_computation(o.op)) {
      record.problem(
          fmt::format("\"op\" must be send, receive, receive_reduce, reduce, compute, gradient or a collective, got \"{}\"", o.op));
    }
    if (record.good() && o.end_us < o.start_us)
      record.problem(fmt::format("ends at {} us, before its start at {} us", o.end_us, o.start_us));
    if (!record.good() || is_computation(o.op)) return;
    if (!offsets_.empty()) {
      const double offset = offsets_[static_cast<std::size_t>(o.rank)];
      o.start_us -= offset, o.end_us -= offset;
    }
    run(index).operations.push_back(std::move(o));
  }

  // Times may count from anywhere; what happened between the first start and the last end has to fit into the simulator's time.
  void refuse_long_runs() {
    for (TraceRun& run : trace_.runs) {
      double first = std::numeric_limits<double>::infinity();
      for (const TraceOperation& o : run.operations) first = std::min(first, o.start_us);
      std::erase_if(run.operations, [&](const TraceOperation& o) {
        const bool late = !(o.end_us - first <= longest_us);
        if (late)
          problems_.push_back(
              fmt::format("{}:{}: ends {:g} us after the first operation of its run has started; at most {:g} us (106 days) are read",
                          trace_.file, o.line, o.end_us - first, longest_us));
        return late;
      });
    }
  }

  Trace finish() {
    refuse_long_runs();
    std::erase_if(trace_.runs, [](const TraceRun& r) { return r.operations.empty() && r.times_us.empty(); });
    if (trace_.runs.empty() && problems_.empty()) problems_.push_back(fmt::format("{}: holds no operation", trace_.file));
    if (!problems_.empty() && (!skip_bad_ || trace_.runs.empty())) throw InputError(std::move(problems_));
    trace_.skipped = std::move(problems_);
    return std::move(trace_);
  }

  const bool skip_bad_;
  Trace trace_;
  std::vector<double> offsets_;  // by rank; none if all clocks are one
  std::vector<std::string> problems_;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

Trace parse_trace(std::string_view text, const std::string& file, bool skip_bad) { return TraceReader(file, skip_bad).read(text); }

Trace read_trace(const std::filesystem::path& file, bool skip_bad) { return parse_trace(read_file(file), file.string(), skip_bad); }

namespace {

std::string label_of(const Trace& trace, const std::string& algorithm) {
  const auto collective = collective_named(trace.collective);
  if (!collective) return algorithm;
  return measured_label(*collective, algorithm,
                        {.group = trace.group,
                         .servers = trace.servers,
                         .server_hosts = trace.extra_servers > 0 ? ServerHosts::extra : ServerHosts::workers,
                         .channels = trace.channels,
                         .pieces = trace.pieces,
                         .inner = trace.inner,
                         .up = trace.up,
                         .down = trace.down});
}

}  // namespace

void read_trace_times(std::string_view text, RowSink& sink) {
  const Trace trace = parse_trace(text, sink.file(), sink.options().skip_bad);
  for (const std::string& line : trace.skipped) sink.skip(line);
  if (!trace.compression.empty()) return sink.problem(1, compressed_is_none(trace.compression));
  for (const TraceRun& run : trace.runs) {
    if (run.times_us.empty()) continue;
    Measurement row{.source = {},
                    .system = trace.system,
                    .ranks = trace.ranks,
                    .collective = trace.collective,
                    .algorithm = label_of(trace, run.algorithm)};
    row.size_bytes = run.size_bytes;
    row.time_us = median(run.times_us);
    if (sink.wants(run.line, row)) sink.add(run.line, row);
  }
}

}  // namespace weft

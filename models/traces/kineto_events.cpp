#include "models/traces/kineto_events.hpp"

#include "kernels/base/gather.hpp"
#include "models/traces/builder.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace weft {
namespace {

// The end of the JSON value that begins at `at`: behind its last bracket. Text in quotes is skipped.
std::size_t end_of_value(std::string_view text, std::size_t at) {
  int depth = 0;
  for (bool quoted = false; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c == '\\')
        ++at;
      else if (c == '"')
        quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return at + 1;
  }
  return std::string_view::npos;
}

// Where the list of events begins, and what stands around it.
struct Parts {
  std::string_view events = {};  // without brackets
  std::string rest = {};         // JSON of the rest, on the same lines
};

Parts parts_of(std::string_view text, const std::string& file) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string_view::npos) throw InputError(file + ": is empty");
  std::size_t open = first;
  if (text[first] == '{') {
    const std::size_t key = text.find("\"traceEvents\"");
    open = key == std::string_view::npos ? key : text.find('[', key);
    if (open == std::string_view::npos) throw InputError(file + ": has no list \"traceEvents\"");
  }
  const std::size_t end = end_of_value(text, open);
  if (end == std::string_view::npos) throw InputError(fmt::format("{}: breaks off in \"traceEvents\", at byte {}", file, text.size()));
  Parts out{.events = text.substr(open + 1, end - open - 2)};
  if (text[first] != '{') {
    out.rest = "{}";
    return out;
  }
  const auto lines = static_cast<std::size_t>(std::ranges::count(out.events, '\n'));
  out.rest = fmt::format("{}[{}]{}", text.substr(0, open), std::string(lines, '\n'), text.substr(end));
  return out;
}

// Most events are of no interest: an operator of the CPU, a flow from a launch to its kernel.
bool may_matter(std::string_view event) {
  constexpr std::array<std::string_view, 9> signs = {"kernel\"",           "Kernel\"", "gpu_mem", "Memcpy\"",       "Memset\"",
                                                     "record_param_comms", "nccl:",    "gloo:",   "mtia_ccp_events"};
  return std::ranges::any_of(signs, [&](std::string_view sign) { return event.find(sign) != std::string_view::npos; });
}

std::vector<Rank> ranks_in(const TraceJson& list) {
  std::vector<Rank> out;
  if (!list.is_array()) return out;
  for (const TraceJson& rank : list)
    if (rank.is_number_unsigned() && rank < 1 << 24)
      out.push_back(rank.get<Rank>());
    else
      return {};
  return out;
}

// "[0, 1, 2]"; one that is cut off ("...") says nothing.
std::vector<Rank> ranks_in(const std::string& text) {
  if (text.find("...") != std::string::npos) return {};
  return ranks_in(TraceJson::parse(text, nullptr, false));
}

// The elements of the first tensor of an operator.
std::optional<std::int64_t> elements_of_dims(const TraceJson& args) {
  const TraceJson* dims = member(args, "Input Dims");
  if (!dims || !dims->is_array() || dims->empty()) return std::nullopt;
  const TraceJson* first = &dims->front();
  while (first->is_array() && !first->empty() && first->front().is_array()) first = &first->front();
  if (!first->is_array() || first->empty()) return std::nullopt;
  double elements = 1;
  for (const TraceJson& dim : *first) {
    if (!dim.is_number_unsigned()) return std::nullopt;
    elements *= dim.get<double>();
  }
  if (elements > 1e15) return std::nullopt;
  return static_cast<std::int64_t>(elements);
}

CommunicationFacts facts_of(const TraceJson& args, const std::string& place) {
  CommunicationFacts out;
  out.name = text_member(args, "Collective name").value_or("");
  const auto count = [&](const char* key) {
    const auto value = whole_member(args, key, place);
    if (value && (*value < 0 || *value > std::int64_t{1} << 50))
      throw InputError(fmt::format("{}: \"{}\" must be from 0 to 2^50, got {}", place, key, *value));
    return value;
  };
  out.in_elements = count("In msg nelems");
  out.out_elements = count("Out msg nelems");
  if (const auto dtype = text_member(args, "dtype")) out.element_bytes = bytes_of_type(*dtype);
  out.uneven = uneven_parts(text_member(args, "In split size").value_or(""), text_member(args, "Out split size").value_or(""));
  out.sequence = whole_member(args, "Seq", place);
  out.source = whole_member(args, "Src Rank", place);
  out.destination = whole_member(args, "Dst Rank", place);
  out.group_name = text_member(args, "Process Group Name");
  out.group_size = static_cast<int>(std::clamp<std::int64_t>(whole_member(args, "Group size", place).value_or(0), 0, 1 << 24));
  if (const auto ranks = text_member(args, "Process Group Ranks")) out.group_ranks = ranks_in(*ranks);
  const auto start = whole_member(args, "Global rank start", place), stride = whole_member(args, "Global rank stride", place);
  if (out.group_ranks.empty() && start && stride && *start >= 0 && *stride > 0 && *stride < 1 << 20 && *start < 1 << 20 &&
      out.group_size < 1 << 20)
    for (int i = 0; i < out.group_size; ++i) out.group_ranks.push_back(static_cast<Rank>(*start + i * *stride));
  if (!out.in_elements) {  // what operators have noted of their tensors
    out.in_elements = elements_of_dims(args);
    if (const TraceJson* types = member(args, "Input type");
        out.in_elements && types && types->is_array() && !types->empty() && types->front().is_string())
      out.element_bytes = bytes_of_type(types->front().get<std::string>());
  }
  return out;
}

std::optional<KinetoEvent::Kind> kind_of(const std::string& category, const std::string& name) {
  std::string small;
  for (const char c : category) small += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (small == "kernel" || small == "mtia_ccp_events") return KinetoEvent::Kind::kernel;
  if (small == "gpu_memcpy" || small == "gpu_memset" || small == "memcpy" || small == "memset") return KinetoEvent::Kind::copy;
  if (name == "record_param_comms") return KinetoEvent::Kind::recorded;
  if ((name.starts_with("nccl:") || name.starts_with("gloo:")) && small != "gpu_user_annotation") return KinetoEvent::Kind::annotation;
  return std::nullopt;
}

// What stands behind a key of the object itself, without the quotes of a text; "" where nothing does.
std::string_view text_behind(std::string_view object, std::string_view key) {
  int depth = 0;
  for (std::size_t at = 0; at < object.size(); ++at) {
    const char c = object[at];
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c != '"') continue;
    const std::size_t open = ++at;
    while (at < object.size() && object[at] != '"') at += object[at] == '\\' ? 2 : 1;
    if (depth != 1 || object.substr(open, at - open) != key) continue;
    std::size_t value = object.find_first_not_of(" \t\r\n", at + 1);
    if (value == std::string_view::npos || object[value] != ':') continue;
    value = object.find_first_not_of(" \t\r\n\"", value + 1);
    if (value == std::string_view::npos) return "";
    return object.substr(value, object.find_first_of(" \t\r\n\",}", value) - value);
  }
  return "";
}

// Of a decimal number of microseconds, to the picosecond: as a double, microseconds since 1970 are rounded to a quarter of one.
std::optional<Int128> picoseconds_in(std::string_view text) {
  double roughly = 0;  // decides what a number is
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), roughly);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(roughly) || std::abs(roughly) > 9e18) return std::nullopt;
  const std::size_t exponent_at = std::min(text.find_first_of("eE"), text.size());
  int power = 6;  // of ten, for the digits
  if (exponent_at < text.size()) {
    const std::size_t digits_at = exponent_at + (text.substr(exponent_at + 1).starts_with('+') ? 2 : 1);
    int exponent = 0;
    if (std::from_chars(text.data() + digits_at, text.data() + text.size(), exponent).ec != std::errc{}) return 0;  // so small
    power += std::max(exponent, -1000);
  }
  constexpr auto most = Int128{1'000'000'000'000'000'000} * 1'000'000'000'000;
  Int128 digits = 0;
  bool fraction = false;
  for (const char c : text.substr(0, exponent_at)) {
    if (c == '.') fraction = true;
    if (c < '0' || c > '9') continue;
    const bool kept = digits < most;
    if (kept) digits = 10 * digits + (c - '0');
    power += (kept ? 0 : 1) - (fraction ? 1 : 0);
  }
  for (; power > 0 && digits != 0; --power) digits *= 10;
  for (; power < -1 && digits != 0; ++power) digits /= 10;
  if (power == -1) digits = (digits + 5) / 10;
  return text.starts_with('-') ? -digits : digits;
}

Int128 picoseconds_of(std::string_view event, const char* key, const std::string& place) {
  const std::string_view text = text_behind(event, key);
  if (const auto time = picoseconds_in(text)) return *time;
  const TraceJson json = TraceJson::parse(event, nullptr, false);
  const TraceJson* value = member(json, key);
  throw InputError(fmt::format("{}: \"{}\" must be a number of microseconds, got {}", place, key, value ? shown_json(*value) : "nothing"));
}

// From the first event on.
SimTime since(Int128 first, Int128 date, const std::string& place) {
  const Int128 most = Int128{longest_traced_us} * 1'000'000, passed = date - first;
  if (passed > most || passed < -most)
    throw InputError(fmt::format("{}: is {:.6g} us from the file's first event; at most {} (104 days) can be simulated", place,
                                 static_cast<double>(passed) / 1e6, longest_traced_us));
  return {static_cast<std::int64_t>(passed)};
}

struct DatedEvent {
  Int128 date = 0;  // ps, as the file counts
  KinetoEvent event;
};

std::optional<DatedEvent> event_of(std::string_view text, const std::string& place) {
  TraceJson json = TraceJson::parse(text, nullptr, false);
  if (json.is_discarded()) throw InputError(fmt::format("{}: {}", place, json_problem(text).what));
  const auto phase = text_member(json, "ph");
  KinetoEvent out{.name = text_member(json, "name").value_or("")};
  const auto kind = kind_of(text_member(json, "cat").value_or(""), out.name);
  if (kind && phase && (*phase == "B" || *phase == "E"))
    throw InputError(fmt::format("{}: \"{}\" must be one event with its duration (\"ph\": \"X\", \"dur\"), got its {} (\"ph\": \"{}\")",
                                 place, out.name, *phase == "B" ? "beginning" : "end", *phase));
  if (!kind || !phase || *phase != "X") return std::nullopt;
  out.kind = *kind;
  const Int128 date = picoseconds_of(text, "ts", place), lasts = member(json, "dur") ? picoseconds_of(text, "dur", place) : 0;
  if (lasts < 0 || lasts > Int128{9'000'000'000'000} * 1'000'000)
    throw InputError(fmt::format("{}: \"dur\" must be from 0 to 9e12 us, got {}", place, shown_json(*member(json, "dur"))));
  out.lasts = {static_cast<std::int64_t>(lasts)};
  const TraceJson* args = member(json, "args");
  const TraceJson none = TraceJson::object();
  const TraceJson& all = args && args->is_object() ? *args : none;
  const TraceJson* stream = member(all, "stream");
  const TraceJson* thread = member(json, "tid");
  if (stream && stream->is_number_integer())
    out.stream = stream->get<std::int64_t>();
  else if (thread && thread->is_number_integer())
    out.stream = thread->get<std::int64_t>();
  for (const char* key : {"External id", "external id"})
    if (const TraceJson* id = member(all, key); id && id->is_number_integer()) out.external_id = id->get<std::int64_t>();
  if (const TraceJson* id = member(all, "correlation"); id && id->is_number_integer()) out.correlation = id->get<std::int64_t>();
  if (out.kind != KinetoEvent::Kind::copy) out.facts = facts_of(all, place);
  return DatedEvent{date, std::move(out)};
}

void read_header(const std::string& rest, const std::string& file, KinetoFile& out) {
  const TraceJson json = parse_trace_json(rest, file);
  const TraceJson* info = member(json, "distributedInfo");
  if (!info) return;
  const std::string place = file + ": /distributedInfo";
  const auto rank = whole_member(*info, "rank", place), world = whole_member(*info, "world_size", place);
  constexpr std::int64_t most = 1 << 24;
  if (world && (*world < 1 || *world > most))
    throw InputError(fmt::format("{}/world_size: must be between 1 and {}, got {}", place, most, *world));
  if (rank && (*rank < 0 || *rank >= world.value_or(most)))
    throw InputError(fmt::format("{}/rank: must be between 0 and {}, got {}", place, world.value_or(most) - 1, *rank));
  out.rank = static_cast<Rank>(rank.value_or(-1));
  out.world = static_cast<int>(world.value_or(0));
  const TraceJson* groups = member(*info, "pg_config");
  if (!groups || !groups->is_array()) return;
  for (const TraceJson& group : *groups) {
    const auto name = text_member(group, "pg_name");
    const TraceJson* ranks = member(group, "ranks");
    if (!name || !ranks) continue;
    std::vector<Rank> listed = ranks_in(*ranks);
    if (!listed.empty()) out.groups[*name] = std::move(listed);
  }
}

}  // namespace

namespace {

// Kernels of older traces do not say what they move: what launched them does.
void read_launches(std::string_view events, const std::string& file, Int128 first, KinetoFile& out) {
  for (const KinetoEvent& e : out.events)
    if (is_communication_kernel(e) && !e.facts.in_elements && e.correlation) out.launches[*e.correlation] = {};
  if (out.launches.empty()) return;
  std::map<std::int64_t, KinetoLaunch> found;
  for (std::size_t at = events.find('{'); at != std::string_view::npos;) {
    const std::size_t end = end_of_value(events, at);
    const std::string_view event = events.substr(at, end - at);
    at = events.find('{', end);
    if (event.find("Launch") == std::string_view::npos || event.find("correlation") == std::string_view::npos) continue;
    const TraceJson json = TraceJson::parse(event, nullptr, false);
    const TraceJson* args = member(json, "args");
    const TraceJson* id = args ? member(*args, "correlation") : nullptr;
    const TraceJson* thread = member(json, "tid");
    if (!id || !id->is_number_integer() || !thread || !thread->is_number_integer() || !out.launches.contains(id->get<std::int64_t>()))
      continue;
    if (text_member(json, "cat").value_or("").find("ernel") != std::string::npos) continue;  // the kernel itself
    const std::string place = file + ": a launch";
    found[id->get<std::int64_t>()] = {thread->get<std::int64_t>(), since(first, picoseconds_of(event, "ts", place), place)};
  }
  out.launches = std::move(found);
}

}  // namespace

bool is_communication_kernel(const KinetoEvent& e) {
  return e.kind == KinetoEvent::Kind::kernel &&
         (!e.facts.name.empty() || e.name.starts_with("nccl") || e.name.find("ncclKernel") != std::string::npos ||
          e.name.find("ncclDevKernel") != std::string::npos || e.name.find("rcclGenericKernel") != std::string::npos);
}

KinetoFile read_kineto_events(std::string_view text, const std::string& file) {
  const Parts parts = parts_of(text, file);
  KinetoFile out;
  std::vector<std::string> problems;
  gather(problems, [&] { read_header(parts.rest, file, out); });
  std::uint64_t number = 0;
  std::vector<Int128> dates;
  for (std::size_t at = parts.events.find('{'); at != std::string_view::npos; ++number) {
    const std::size_t end = end_of_value(parts.events, at);
    if (end == std::string_view::npos) {
      problems.push_back(fmt::format("{}: event {}: breaks off", file, number));
      break;
    }
    const std::string_view event = parts.events.substr(at, end - at);
    if (may_matter(event))
      gather(problems, [&] {
        auto read = event_of(event, fmt::format("{}: event {}", file, number));
        if (!read) return;
        read->event.number = number;
        dates.push_back(read->date);
        out.events.push_back(std::move(read->event));
      });
    if (problems.size() >= max_problems_of_a_file) break;
    at = parts.events.find('{', end);
  }
  if (!problems.empty()) throw InputError(std::move(problems));
  const Int128 first = dates.empty() ? 0 : *std::ranges::min_element(dates);
  for (std::size_t i = 0; i < dates.size(); ++i) {
    KinetoEvent& event = out.events[i];
    event.start = since(first, dates[i] + event.lasts.ps, fmt::format("{}: event {}", file, event.number)) - event.lasts;
  }
  read_launches(parts.events, file, first, out);
  return out;
}

}  // namespace weft

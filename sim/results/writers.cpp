#include "sim/results/writers.hpp"

#include "sim/results/result_fields.hpp"
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

bool any_jobs(const std::vector<Result>& results) {
  return std::any_of(results.begin(), results.end(), [](const Result& r) { return r.row && !r.row->jobs.empty(); });
}

const ResultField<JobResult>* field_of_job(std::string_view name) {
  const auto fields = fields_of<JobResult>();
  const auto at = std::ranges::find(fields, name, &ResultField<JobResult>::name);
  return at == fields.end() ? nullptr : &*at;
}

bool is_column(const ResultField<Row>& field) { return field.where != Shown::json_only; }

// Columns of jobs only, after those of rows.
std::vector<const ResultField<JobResult>*> job_columns() {
  std::vector<const ResultField<JobResult>*> out;
  for (const ResultField<JobResult>& field : fields_of<JobResult>())
    if (std::ranges::find(fields_of<Row>(), std::string_view(field.name), &ResultField<Row>::name) == fields_of<Row>().end())
      out.push_back(&field);
  return out;
}

// One line for each job; the row alone where the network is not shared.
std::vector<std::vector<std::string>> lines_of_row(const Row& row, bool with_jobs) {
  std::vector<std::vector<std::string>> out(std::max<std::size_t>(1, row.jobs.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const JobResult* job = row.jobs.empty() ? nullptr : &row.jobs[i];
    for (const ResultField<Row>& field : fields_of<Row>()) {
      if (!is_column(field)) continue;
      const auto* own = i > 0 ? field_of_job(field.name) : nullptr;  // the first is the workload, which the row is about
      if (const Json shown = own ? own->show(*job) : Json(); !shown.is_null())
        out[i].push_back(csv_field(shown));
      else
        out[i].push_back(i == 0 || field.where == Shown::for_all ? csv_field(field.show(row)) : "");
    }
    if (with_jobs)
      for (const ResultField<JobResult>* field : job_columns()) out[i].push_back(job ? csv_field(field->show(*job)) : "");
  }
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
  const bool jobs = any_jobs(results);
  std::vector<std::string> header;
  for (const ResultField<Row>& field : fields_of<Row>())
    if (is_column(field)) header.emplace_back(field.name);
  if (jobs)
    for (const ResultField<JobResult>* field : job_columns()) header.emplace_back(field->name);
  for (const std::string& pointer : axes) header.push_back(csv_field(pointer));
  std::string out = joined(header);
  for (const Result& result : results) {
    if (!result.row) continue;
    const Json settings = axes_of(cases[result.request.case_index]);
    for (std::vector<std::string>& line : lines_of_row(*result.row, jobs)) {
      for (const std::string& pointer : axes) line.push_back(settings.contains(pointer) ? csv_field(settings.at(pointer)) : "");
      out += joined(line);
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
      line.update(show(*result.row));
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

Json results_schema() {
  const auto object = [](Json properties, std::vector<std::string> optional) {
    Json required = Json::array();
    for (const auto& item : properties.items())
      if (std::ranges::find(optional, item.key()) == optional.end()) required.push_back(item.key());
    return Json{{"type", "object"}, {"properties", std::move(properties)}, {"required", required}, {"additionalProperties", false}};
  };
  const auto list = [](Json items) { return Json{{"type", "array"}, {"items", std::move(items)}}; };
  const Json text = {{"type", "string"}}, number = {{"type", "integer"}}, any = {{"type", "object"}};
  const Json index = {{"type", "integer"}, {"description", "Which of the cases the row is of, from 0."}};
  Json row = schema_of<Row>();
  row["properties"]["case"] = index;
  row["required"].push_back("case");
  Json scenario = any, why = text, axes = any;
  scenario["description"] = "The scenario of the case, every default filled in, as scenario.schema.json describes it.";
  axes["description"] = "What the sweep set, by JSON pointer.";
  why["description"] = "Why there is no row.";
  const Json cases =
      object({{"axes", axes}, {"scenario", scenario}, {"hardware_sources", any}, {"server_sources", any}}, {"server_sources"});
  const Json failed = object({{"case", index}, {"algorithm", text}, {"size_bytes", number}, {"why", why}}, {});
  Json out = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "Results of weft run"}};
  out.update(object({{"schema", {{"const", 1}}},
                     {"kind", {{"const", "simulated"}}},
                     {"weft", object({{"version", text}, {"commit", text}}, {})},
                     {"order", text},
                     {"scenarios", list(text)},
                     {"cases", list(cases)},
                     {"rows", list(row)},
                     {"failed", list(failed)}},
                    {"failed"}));
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
  if (!text.starts_with(fmt::format("{},{},", fields_of<Row>()[0].name, fields_of<Row>()[1].name)) || line == text.npos) return false;
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

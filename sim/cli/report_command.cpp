#include "kernels/files/files.hpp"
#include "kernels/files/output_files.hpp"
#include "sim/cli/commands.hpp"
#include "sim/json/json_text.hpp"
#include "sim/report/details.hpp"
#include "sim/report/report.hpp"
#include "sim/results/writers.hpp"

#include <algorithm>
#include <filesystem>
#include <ostream>

namespace weft {
namespace {

namespace fs = std::filesystem;

bool is_row_of(const Json& row, std::size_t cases) {
  const auto is = [&](const char* key, bool (Json::*of_type)() const noexcept) { return row.contains(key) && (row.at(key).*of_type)(); };
  return row.is_object() && is("case", &Json::is_number_unsigned) && row.at("case").get<std::size_t>() < cases &&
         is("scenario", &Json::is_string) && is("algorithm", &Json::is_string) && is("size_bytes", &Json::is_number) &&
         is("time_us", &Json::is_number) && row.contains("busbw_GBps");
}

// The names of its scenarios. Throws InputError where it is not what `weft run` writes.
std::vector<std::string> scenarios_of(const std::string& results, const fs::path& file) {
  const Json json = Json::parse(results, nullptr, false);
  const auto refuse = [&](const std::string& why) { throw InputError(fmt::format("{}: {}", file.string(), why)); };
  if (json.is_discarded()) refuse("is not JSON; weft run -o DIR writes it");
  const auto has = [&](const char* key) { return json.contains(key) && json.at(key).is_array(); };
  if (!json.is_object() || !json.contains("kind") || json.at("kind") != "simulated" || !has("rows") || !has("scenarios") || !has("cases") ||
      !std::ranges::all_of(json.at("scenarios"), &Json::is_string) || !json.contains("schema"))
    refuse("is not a result of weft run; weft run -o DIR writes it");
  if (json.at("schema") != 1) refuse(fmt::format("has schema {}, and this weft reads 1", json.at("schema").dump()));
  const Json& rows = json.at("rows");
  if (rows.empty()) refuse("has no rows; weft run -o DIR writes them");
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!is_row_of(rows.at(i), json.at("cases").size()))
      refuse(fmt::format("/rows/{} is not as weft run -o DIR writes it (weft schema --results)", i));
  return json.at("scenarios").get<std::vector<std::string>>();
}

// What belongs to these results, row by row; nothing where there is none.
std::string details_beside(const fs::path& folder, const std::vector<std::string>& scenarios, std::size_t rows) {
  const fs::path file = folder / "details.json";
  if (!fs::exists(file)) return "";
  std::string text = read_file(file);
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !is_details_of(text, scenarios) || json.at("rows").size() != rows)
    throw InputError(fmt::format("{}: is not of the results beside it; run again with --report, or remove it", file.string()));
  return text;
}

}  // namespace

int report_command(const ReportArguments& arguments, std::ostream& out) {
  if (arguments.output) {
    refuse_empty_name("-o", *arguments.output, "a file");
    refuse_missing_folder("-o " + *arguments.output, *arguments.output);
  }
  const fs::path folder = arguments.folder, results_file = folder / "results.json";
  if (!fs::is_directory(folder))
    throw InputError(fmt::format("{}: is not a folder; give one that weft run -o DIR has written", folder.string()));
  require_report();
  const std::string results = read_file(results_file);
  const std::vector<std::string> scenarios = scenarios_of(results, results_file);
  const fs::path page = arguments.output ? fs::path(*arguments.output) : folder / "report.html";
  const auto replaces = [&](std::string_view text) { return is_report_of(text, scenarios); };
  refuse_to_replace({{.file = page,
                      .argument = arguments.output ? "-o " + *arguments.output : folder.string(),
                      .what = fmt::format("a report on {}", quoted_list(scenarios)),
                      .replaces = replaces}},
                    {results_file, folder / "details.json"}, arguments.force);
  write_file(page, report_page(results, details_beside(folder, scenarios, Json::parse(results).at("rows").size())));
  out << page.string() << "\n";
  return exit_ok;
}

}  // namespace weft

#include "sim/results/result_folder.hpp"

#include "kernels/files/files.hpp"
#include "kernels/files/output_files.hpp"
#include "sim/results/row_journal.hpp"
#include "sim/results/writers.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <unistd.h>

namespace weft {
namespace {

void make_folder(const std::filesystem::path& folder, const std::string& argument) {
  const auto refuse = [&](const std::string& why) { throw InputError(fmt::format("{}: cannot be written to: {}", argument, why)); };
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) refuse(failed.message());
  if (!std::filesystem::is_directory(folder, failed)) refuse("it is not a folder");
  if (::access(folder.c_str(), W_OK | X_OK) != 0) refuse(std::strerror(errno));
}

// Of the results of these scenarios; 0 where the file has none.
std::size_t rows_in(const std::filesystem::path& file, const std::vector<std::string>& names) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(file, unknown) || !is_json_of(read_beginning(file), names)) return 0;
  const Json json = Json::parse(read_file(file), nullptr, false);
  return json.is_object() && json.contains("rows") ? json.at("rows").size() : 0;
}

}  // namespace

ResultFolder::ResultFolder(std::filesystem::path folder, const std::vector<Case>& cases, const ResultFolderOptions& options)
    : folder_(std::move(folder)), cases_(cases) {
  refuse_empty_name("-o", folder_.string(), "a folder");
  const std::string argument = "-o " + folder_.string();
  make_folder(folder_, argument);
  const std::vector<std::string> names = names_of(cases);
  const auto output = [&](const char* file, bool (*of_these)(std::string_view, const std::vector<std::string>&)) {
    return OutputFile{.file = folder_ / file,
                      .argument = argument,
                      .what = fmt::format("a result of weft run on {}", quoted_list(names)),
                      .replaces = [of_these, names](std::string_view text) { return of_these(text, names); }};
  };
  std::vector<OutputFile> outputs = {output("results.csv", is_csv_of), output("results.json", is_json_of)};
  if (options.trace) outputs.push_back(output("trace.json", is_trace_of));
  for (const char* journal : {"rows.jsonl", "rows.new.jsonl"}) outputs.push_back(output(journal, is_journal_of));
  for (const ExtraFile& file : options.extra)
    if (file.wanted) {
      outputs.push_back(output(file.name, file.is_of));
      wanted_.push_back(file);
    }
  refuse_to_replace(outputs, options.inputs, options.force);
  earlier_rows_ = rows_in(folder_ / "results.json", names);
  const auto find_stale = [&](const char* file, bool (*of_these)(std::string_view, const std::vector<std::string>&)) {
    std::error_code unknown;
    const auto old = folder_ / file;
    if (std::filesystem::is_regular_file(old, unknown) && of_these(read_beginning(old), names)) stale_.push_back(old);
  };
  if (!options.trace) find_stale("trace.json", is_trace_of);
  for (const ExtraFile& file : options.extra)
    if (!file.wanted) find_stale(file.name, file.is_of);
}

bool ResultFolder::write(const std::vector<Result>& results, bool whole) {
  const auto rows = static_cast<std::size_t>(std::ranges::count_if(results, [](const Result& o) { return o.row.has_value(); }));
  if (rows == 0 || (!whole && rows < earlier_rows_)) return false;
  write_file(folder_ / "results.csv", to_csv(results, cases_));
  write_file(folder_ / "results.json", to_json(results, cases_));
  if (std::any_of(results.begin(), results.end(), [](const Result& o) { return !o.trace.empty(); }))
    write_file(folder_ / "trace.json", to_trace(results, cases_));
  for (const ExtraFile& file : wanted_) write_file(folder_ / file.name, file.text(results));
  std::error_code gone;
  for (const std::filesystem::path& file : stale_)
    if (std::filesystem::remove(file, gone)) removed_.push_back(file.filename().string());
  stale_.clear();
  earlier_rows_ = 0;
  return true;
}

}  // namespace weft

// The folder of `weft run -o`: results.csv, results.json and trace.json of the same scenarios are replaced there, anything
// else is left alone (output_files.hpp).
#pragma once

#include "sim/results/result.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// A file beside the results that is made from them.
struct ExtraFile {
  const char* name;
  bool wanted = false;  // else one of these scenarios is removed, for it would be of earlier results
  bool (*is_of)(std::string_view text, const std::vector<std::string>& scenarios);
  std::function<std::string(const std::vector<Result>&)> text;
};

struct ResultFolderOptions {
  std::vector<std::filesystem::path> inputs = {};  // which no result may replace
  bool trace = false;                              // trace.json is asked for
  bool force = false;                              // replace whatever is there
  std::vector<ExtraFile> extra = {};
};

class ResultFolder {
 public:
  // Makes the folder if it is missing. Throws InputError where nothing can be written or something may not be replaced:
  // before anything runs. The cases must outlive this.
  ResultFolder(std::filesystem::path folder, const std::vector<Case>& cases, const ResultFolderOptions& options);

  // results.csv and results.json, trace.json if any result has a trace, and what else is wanted; what is there of earlier results of
  // these scenarios is removed, for it is not of these. Nothing is written when there is no row, nor, unless the results are `whole`,
  // over earlier ones with more rows: false. Throws RunError.
  bool write(const std::vector<Result>& results, bool whole = true);

  // Names of the files of earlier results that write() has removed.
  const std::vector<std::string>& removed() const { return removed_; }

 private:
  std::filesystem::path folder_;
  const std::vector<Case>& cases_;
  std::size_t earlier_rows_ = 0;
  std::vector<ExtraFile> wanted_ = {};
  std::vector<std::filesystem::path> stale_ = {};
  std::vector<std::string> removed_ = {};
};

}  // namespace weft

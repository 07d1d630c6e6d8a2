// Our CSV: a line of column names, then one measurement a line. "size_bytes" and "time_us" must be there ("median_us" and
// "median_MBps" stand for the time in summaries of many runs); other columns that we do not know are left alone, and named.
#include "validation/measurements/lines.hpp"
#include "validation/measurements/osu_titles.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace weft {

std::optional<std::vector<std::string>> csv_fields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"')
      fields.back() += line[++i];
    else if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else
      fields.back() += c;
  }
  if (quoted) return {};
  return fields;
}

namespace {

constexpr std::array known_columns = {
    "source",         "system",  "cloud",      "env",         "device",          "nodes",        "gpus",    "ranks",
    "ranks_per_node", "ppn",     "collective", "algorithm",   "benchmark",       "back_to_back", "time_of", "gpus_of_a_process",
    "size_bytes",     "time_us", "median_us",  "median_MBps", "inplace_time_us", "algbw_GBps"};

// "Size_Bytes" is "size_bytes", "Avg Latency (us)" is "avglatency(us)".
std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != ' ' && c != '\t') out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

class Columns {
 public:
  // Says what is wrong with the names.
  std::vector<std::string> set(const std::vector<std::string>& names) {
    std::vector<std::string> problems;
    for (std::size_t i = 0; i < names.size(); ++i) {
      names_.emplace_back(trimmed(names[i]));
      const auto known = std::ranges::find(known_columns, plain(names[i]), [](std::string_view column) { return plain(column); });
      const std::string name(known == known_columns.end() ? trimmed(names[i]) : *known);
      if (!at_.emplace(name, i).second) problems.push_back(fmt::format("column \"{}\" is there twice", name));
    }
    is_osu_ = take("time_us", "avglatency(us)");
    is_mean_ = is_osu_;
    is_osu_ = is_osu_ || take("time_us", "latency(us)");
    if (!is_osu_) take("time_us", "latency_us");
    if (is_osu_) take("size_bytes", "size");
    const bool has_time = has("time_us") || has("median_us") || has("median_MBps");
    if (!has("size_bytes")) problems.push_back(missing("size_bytes", names));
    if (!has_time) problems.push_back(missing("time_us", names));
    count_ = names.size();
    return problems;
  }
  bool has(const std::string& name) const { return at_.contains(name); }
  // As the file calls it.
  std::string called(const std::string& name) const {
    const auto at = at_.find(name);
    return at == at_.end() ? name : names_[at->second];
  }
  // Whether size and time are called as OSU calls them, and the time the mean of the ranks.
  bool is_osu() const { return is_osu_; }
  bool is_mean() const { return is_mean_; }
  std::size_t count() const { return count_; }
  // Those that nobody reads.
  std::vector<std::string> unknown() const {
    std::vector<std::string> out;
    for (const auto& [name, at] : at_)
      if (std::ranges::find(known_columns, name) == known_columns.end()) out.push_back(fmt::format("\"{}\"", name));
    return out;
  }
  std::string_view in(const std::vector<std::string>& fields, const std::string& name) const {
    const auto at = at_.find(name);
    return at == at_.end() ? std::string_view{} : trimmed(fields[at->second]);
  }

 private:
  // A column of the same quantity in another unit is the likeliest slip.
  static std::string missing(const std::string& wanted, const std::vector<std::string>& names) {
    const std::string quantity = wanted.substr(0, wanted.find('_'));
    std::string text = fmt::format("column \"{}\" is missing", wanted);
    for (const std::string& name : names)
      if (trimmed(name) == quantity || trimmed(name).starts_with(quantity + "_"))
        return fmt::format("{}: \"{}\" must be given in {} and be called \"{}\"", text, trimmed(name),
                           wanted == "time_us" ? "microseconds" : "bytes", wanted);
    return fmt::format("{}; the columns are {}", text, fmt::join(names, ", "));
  }

  // A column of another name for the one that is missing.
  bool take(const std::string& wanted, std::string_view other) {
    const auto found = std::ranges::find_if(at_, [&](const auto& column) { return plain(column.first) == other; });
    if (found == at_.end() || has(wanted)) return false;
    const std::size_t at = found->second;
    at_.erase(found);
    at_.emplace(wanted, at);
    return true;
  }

  std::map<std::string, std::size_t> at_;
  std::vector<std::string> names_;
  bool is_osu_ = false, is_mean_ = false;
  std::size_t count_ = 0;
};

// "4" of "4.0", as spreadsheets write it.
std::string_view without_zeros(std::string_view number) {
  const auto point = number.find('.');
  const bool is_whole = point != 0 && point != number.npos && number.find_first_not_of('0', point + 1) == number.npos;
  return is_whole ? number.substr(0, point) : number;
}

class CsvReader {
 public:
  CsvReader(const Columns& columns, RowSink& sink) : columns_(columns), sink_(sink) {}

  void read(std::size_t line, const std::vector<std::string>& fields) {
    line_ = line, fields_ = &fields, good_ = true;
    Measurement row;
    row.source = text("source");
    row.system = columns_.has("cloud") ? fmt::format("{} {} {}", text("cloud"), text("env"), text("device")) : std::string(text("system"));
    row.algorithm = text("algorithm");
    const bool has_in_place = !text("inplace_time_us").empty();
    if (!(has_in_place && text("time_us").empty())) read_buffer(row);
    row.in_place = true;
    if (has_in_place && good_) read_buffer(row);
  }

 private:
  std::string_view text(const char* column) const { return columns_.in(*fields_, column); }

  void read_buffer(Measurement row) {
    if (!sink_.wants(line_, row)) {
      if (const auto us = number_in(text(row.in_place ? "inplace_time_us" : "time_us"))) sink_.add_other_buffer(line_, *us);
      return;
    }
    row.nodes = count("nodes"), row.gpus = count("gpus"), row.ranks = count("ranks");
    read_ranks_of_a_node(row);
    row.collective = text("collective");
    row.back_to_back = count("back_to_back");
    row.gpus_of_a_process = std::max(1, count("gpus_of_a_process"));
    row.of_rank_0 = text("time_of") == "rank_0";
    if (const auto of = text("time_of"); !row.of_rank_0 && !of.empty() && of != "ranks") wrong("time_of", "ranks or rank_0");
    if (columns_.has("benchmark"))
      read_benchmark(row);
    else if (columns_.is_osu())
      read_as_osu(row);
    if (row.of_rank_0 && row.back_to_back == 1 && has_root(row.collective)) wrong("time_of", "ranks, where every call is timed by itself");
    if (row.collective == "latency" || row.collective.ends_with("bandwidth")) row.ranks = 2;
    if (const auto size = whole_number_in(without_zeros(text("size_bytes"))))
      row.size_bytes = *size;
    else
      wrong("size_bytes", "a whole number of bytes");
    row.time_us = row.in_place ? number("inplace_time_us") : time_of(row);
    if (good_) sink_.add(line_, row, row.in_place ? std::nullopt : number_in(text("algbw_GBps")));
  }

  void read_ranks_of_a_node(Measurement& row) {
    const char* column = columns_.has("ranks_per_node") ? "ranks_per_node" : "ppn";
    const int ranks = count(column);
    if (ranks == 0) return;
    row.gpus = ranks;
    if (row.nodes > 0) return;
    if (row.ranks % ranks != 0) wrong("ranks", fmt::format("a multiple of {}, {}", column, ranks));
    row.nodes = row.ranks / ranks;
  }
  void wrong(const char* column, std::string_view wanted) {
    good_ = false;
    sink_.problem(line_, fmt::format("{} must be {}, got \"{}\"", columns_.called(column), wanted, text(column)));
  }
  double number(const char* column) {
    const auto value = number_in(text(column));
    if (!value) wrong(column, "a number");
    return value.value_or(0);
  }
  int count(const char* column) {
    if (text(column).empty()) return 0;
    const auto value = whole_number_in(text(column));
    if (!value || *value < 0 || *value > 10'000'000) wrong(column, "a whole number, at least 0");
    return static_cast<int>(value.value_or(0));
  }
  double time_of(const Measurement& row) {
    if (!text("median_MBps").empty()) {
      const double rate = number("median_MBps");
      if (good_ && !(rate > 0)) wrong("median_MBps", "more than 0");
      return static_cast<double>(row.size_bytes) / rate;
    }
    return number(columns_.has("time_us") ? "time_us" : "median_us");
  }
  void read_as_osu(Measurement& row) {
    const std::string collective = collective_spelled(row.collective.empty() ? sink_.options().collective : row.collective);
    const auto found = std::ranges::find(osu_benchmarks(), collective, &OsuBenchmark::collective);
    row.size_of_a_rank = found != osu_benchmarks().end() && found->size_of_a_rank;
    row.mean_of_ranks = columns_.is_mean();
    if (row.back_to_back == 0) row.back_to_back = 1;
  }
  void read_benchmark(Measurement& row) {
    const auto& known = osu_benchmarks();
    const auto found = std::ranges::find(known, text("benchmark"), &OsuBenchmark::program);
    if (found == known.end()) {
      good_ = false;
      return sink_.problem(line_, unknown_osu_benchmark(text("benchmark")));
    }
    row.collective = found->collective;
    row.size_of_a_rank = found->size_of_a_rank;
    row.mean_of_ranks = !is_point_to_point(row.collective);
    if (row.back_to_back == 0) row.back_to_back = 1;  // there is a barrier between its calls
  }

  const Columns& columns_;
  RowSink& sink_;
  std::size_t line_ = 0;
  const std::vector<std::string>* fields_ = nullptr;
  bool good_ = true;
};

// No name of a column does, so the names stand above it, behind a #.
bool begins_with_number(const std::vector<std::string>& fields) { return number_in(trimmed(fields.front())).has_value(); }

}  // namespace

void read_csv(std::string_view text, RowSink& sink) {
  Columns columns;
  CsvReader reader(columns, sink);
  bool has_header = false;
  const auto read_header = [&](const std::vector<std::string>& names, std::size_t line) {
    has_header = true;
    const auto problems = columns.set(names);
    for (const std::string& problem : problems) sink.problem(line, problem);
    if (const auto unknown = columns.unknown(); problems.empty() && !unknown.empty())
      sink.note(fmt::format("no use is made of the column{} {}", unknown.size() > 1 ? "s" : "", fmt::join(unknown, ", ")));
    return problems.empty();
  };
  const auto lines = lines_in(text);
  std::optional<std::size_t> comment;  // the last one above
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].starts_with('#')) comment = i;
    if (trimmed(lines[i]).empty() || lines[i].starts_with('#')) continue;
    const auto fields = csv_fields(lines[i]);
    if (!fields) {
      sink.problem(i + 1, "a double quote is not closed");
      continue;
    }
    if (!has_header) {
      const auto names = comment && begins_with_number(*fields) ? csv_fields(lines[*comment].substr(1)) : std::nullopt;
      const bool in_comment = names && names->size() == fields->size();
      if (!read_header(in_comment ? *names : *fields, in_comment ? *comment + 1 : i + 1)) return;
      if (!in_comment) continue;
    }
    if (fields->size() != columns.count())
      sink.problem(i + 1, fmt::format("must have {} fields, as the first line has, got {}", columns.count(), fields->size()));
    else
      reader.read(i + 1, *fields);
  }
}

}  // namespace weft

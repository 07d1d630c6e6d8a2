// The tables of the Intel MPI Benchmarks, MPI-1 part: "# Benchmarking Allreduce", "# #processes = 8", a line of column names that begins
// with "#bytes", then rows. Of collectives the mean over the ranks is taken, as OSU's is, and of those with a root the longest; what they
// take for no bytes says nothing.
#include "validation/measurements/lines.hpp"

#include <algorithm>
#include <array>

namespace weft {
namespace {

struct ImbBenchmark {
  std::string_view name, collective;
  bool size_of_a_rank = false;
};
constexpr std::array imb_tables = {
    ImbBenchmark{"PingPong", "latency"},        ImbBenchmark{"Allreduce", "allreduce"}, ImbBenchmark{"Allgather", "allgather", true},
    ImbBenchmark{"Alltoall", "alltoall", true}, ImbBenchmark{"Reduce", "reduce"},       ImbBenchmark{"Reduce_scatter", "reduce_scatter"},
    ImbBenchmark{"Bcast", "broadcast"},         ImbBenchmark{"Barrier", "barrier"}};

struct ImbRow {
  std::size_t line = 0;
  std::vector<std::string_view> words;
};

// One table, and where its columns are.
struct ImbTable {
  const ImbBenchmark* benchmark = nullptr;
  int ranks = 0;
  std::size_t columns = 0;
  std::optional<std::size_t> size = {}, time = {}, most = {}, defects = {};
  bool has_names = false;   // rows begin with the benchmark and its processes, as of old releases
  bool is_refused = false;  // with its title or its columns, so that nothing is said of its rows
  std::vector<ImbRow> rows = {};
};

constexpr std::string_view imb_title = "# Benchmarking ";

// "# Benchmarking Allreduce", also with tabs between the words and a number behind them, as spreadsheets make of it.
bool begins_a_table(std::span<const std::string_view> words) { return words.size() > 2 && words[0] == "#" && words[1] == "Benchmarking"; }

std::string benchmark_in(std::span<const std::string_view> words) {
  const bool is_numbered = words.size() > 3 && whole_number_in(words.back());
  return fmt::format("{}", fmt::join(words.subspan(2, words.size() - 2 - (is_numbered ? 1 : 0)), " "));
}

void begin(ImbTable& table, const std::string& name, std::size_t line, RowSink& sink) {
  const auto found = std::ranges::find(imb_tables, name, &ImbBenchmark::name);
  table = {.benchmark = found == imb_tables.end() ? nullptr : &*found, .is_refused = found == imb_tables.end()};
  if (table.benchmark) return;
  std::vector<std::string_view> known;
  for (const ImbBenchmark& b : imb_tables) known.push_back(b.name);
  sink.problem(line, fmt::format("\"{}\" is none of the Intel MPI Benchmarks that Weft simulates: {}", name, fmt::join(known, ", ")));
}

constexpr std::string_view names_column = "#Benchmarking";

bool names_imb_columns(std::string_view line) {
  return line.starts_with("#bytes") || line.starts_with("#repetitions") ||
         (line.starts_with(names_column) && line.find("#repetitions") != line.npos);
}

void read_columns(ImbTable& table, const std::vector<std::string_view>& names, std::size_t line, RowSink& sink) {
  table.columns = names.size();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == "#bytes") table.size = i;
    if (names[i] == "t[usec]" || names[i] == "t_avg[usec]") table.time = i;
    if (names[i] == "t_max[usec]") table.most = i;
    if (names[i] == "defects") table.defects = i;
  }
  table.has_names = names[0] == names_column;
  const auto refuse = [&](const std::string& why) {
    sink.problem(line, why);
    table.is_refused = true;
  };
  for (const auto& read : {table.size, table.time, table.most, table.defects})
    if (const auto count = read ? std::ranges::count(names, names[*read]) : 0; count > 1)
      return refuse(fmt::format("has {} columns \"{}\", and nothing says which is meant: keep one of them", count, names[*read]));
  if (!table.time) refuse(fmt::format("must have a column t[usec] or t_avg[usec], the columns are \"{}\"", fmt::join(names, " ")));
}

// Whether it is the last of the rows and its last number has fewer decimals than each one above it: IMB prints as many in every row.
bool is_cut(const ImbTable& table, const ImbRow& row) {
  const auto decimals = [](const ImbRow& one) { return decimals_in(one.words.back()); };
  return table.rows.size() > 2 && &row == &table.rows.back() && number_in(row.words.back()) &&
         std::all_of(table.rows.begin(), table.rows.end() - 1, [&](const ImbRow& one) { return decimals(one) > decimals(row); });
}

void read_row(const ImbTable& table, const ImbRow& found, RowSink& sink) {
  const auto& [line, words] = found;
  Measurement row{.ranks = table.ranks, .collective = std::string(table.benchmark->collective)};
  row.size_of_a_rank = table.benchmark->size_of_a_rank;
  if (!sink.wants(line, row)) return;
  if (words.size() < table.columns)
    return sink.problem(
        line, fmt::format("must have the {} columns that are named above, got \"{}\": it was cut", table.columns, fmt::join(words, " ")));
  const auto size = table.size ? whole_number_in(words[*table.size]) : 0;
  const auto time = number_in(words[*table.time]);
  if (!size || !time) return sink.problem(line, fmt::format("must be a size in bytes and times, got \"{}\"", fmt::join(words, " ")));
  if (is_cut(table, found))
    return sink.problem(line, fmt::format("the line was cut: {} has fewer decimals than the numbers above it", words.back()));
  if (const auto defects = table.defects ? number_in(words[*table.defects]) : 0; !defects || *defects != 0)
    return sink.problem(line, fmt::format("the result was wrong (defects: {}); the time of a wrong result is none", words[*table.defects]));
  if (*size == 0 && table.size && row.collective != "latency") return;
  row.size_bytes = *size;
  row.time_us = *time;
  if (has_root(row.collective)) {
    const auto most = table.most ? number_in(words[*table.most]) : std::nullopt;
    row.time_us = most.value_or(row.time_us);
    row.mean_of_ranks = !most;
  }
  sink.add(line, std::move(row));
}

// A row of all columns behind something else.
std::optional<RowBehindPrefix> row_behind_prefix(const ImbTable& table, std::string_view line) {
  auto found = behind_prefix(line, table.columns);
  if (!found || !std::ranges::all_of(found->words, [](std::string_view word) { return number_in(word).has_value(); })) return {};
  const auto whole = [&](std::size_t at) { return whole_number_in(found->words[at]).has_value(); };
  const bool is_row = whole(0) && (!table.size || whole(1)) && decimals_in(found->words[*table.time]) > 0;
  return is_row ? std::move(found) : std::nullopt;
}

bool is_imb_row(const ImbTable& table, std::span<const std::string_view> words) {
  return table.has_names ? words[0] == table.benchmark->name : are_mostly_numbers(words);
}

// A size, repetitions and times, above which a title or the names of columns are missing.
void refuse_headless(std::span<const std::string_view> words, std::size_t line, RowSink& sink) {
  constexpr std::size_t fewest = 4;
  const bool is_like_one = words.size() >= fewest && whole_number_in(words[0]) && whole_number_in(words[1]).value_or(0) > 0 &&
                           std::ranges::all_of(words.subspan(2), [](std::string_view w) { return number_in(w) && decimals_in(w) > 0; });
  if (is_like_one)
    sink.problem(line, "looks like a row of a table without its title and column names above it; give these lines too, or remove the row");
}

void end_table(ImbTable& table, RowSink& sink) {
  for (const ImbRow& row : table.rows) read_row(table, row, sink);
  table.rows.clear();
}

}  // namespace

bool holds_imb(std::string_view text) {
  return text.find("#repetitions") != text.npos &&
         (text.find(imb_title) != text.npos ||
          std::ranges::any_of(lines_in(text), [](std::string_view line) { return begins_a_table(words_in(line)); }));
}

void read_imb(std::string_view text, RowSink& sink) {
  ImbTable table;
  const auto lines = lines_in(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = trimmed(lines[i]);
    const auto words = words_in(line);
    if (begins_a_table(words)) {
      end_table(table, sink);
      begin(table, benchmark_in(words), i + 1, sink);
    } else if (const auto prefix = before_title(lines, i, imb_title, "#")) {
      sink.problem(i + 1, title_behind(*prefix));
    } else if (table.is_refused || words.empty()) {
      continue;
    } else if (!table.benchmark) {
      refuse_headless(words, i + 1, sink);
    } else if (words.size() > 2 && words[1] == "#processes" && words[2] == "=") {
      const auto ranks = words.size() > 3 ? whole_number_in(words[3]) : std::nullopt;
      if (ranks && *ranks > 0 && *ranks < 1 << 20)
        table.ranks = static_cast<int>(*ranks);
      else
        sink.problem(i + 1, fmt::format("must be a number of processes, got \"{}\"", line));
    } else if (names_imb_columns(line)) {
      end_table(table, sink);
      read_columns(table, words, i + 1, sink);
    } else if (line.starts_with('#')) {
      continue;
    } else if (!table.time) {
      refuse_headless(words, i + 1, sink);
    } else if (is_imb_row(table, words)) {
      table.rows.push_back({i + 1, words});
    } else if (const auto row = row_behind_prefix(table, line)) {
      sink.problem(i + 1, row_behind(*row));
    }
  }
  end_table(table, sink);
}

}  // namespace weft

// The tables of the OSU micro-benchmarks: "# OSU MPI Latency Test v7.1", "# Size  Latency (us)", then size and value.
#include "validation/measurements/launch_line.hpp"
#include "validation/measurements/lines.hpp"
#include "validation/measurements/osu_titles.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <map>
#include <utility>

namespace weft {
namespace {

// One table of a file, and what its rows have in common.
struct OsuTable {
  bool known = false;
  bool is_bandwidth = false;
  bool has_most = false;  // the time of the rank that took longest, behind the mean and the least
  bool has_validation = false;
  std::size_t columns = 0;   // that the line of their names has at least
  bool is_of_pairs = false;  // osu_mbw_mr, which says below its title how many pairs send at once
  bool is_of_one_pair = false;
  Measurement row;
};

struct OsuLine {
  std::size_t number = 0;
  std::string_view text;
};

// Of a benchmark whose library is "MPI-CUDA", "MPI-ROCM", "NCCL" or the like, where no line below says that its buffers were on the host.
constexpr std::string_view device_memory = "device memory", host_memory = "host memory";

// What the commands in a file say of the tables below them.
class Launches {
 public:
  void add(LaunchLine launch) { new_[launch.program].push_back(std::move(launch)); }
  // Of the table whose title is next: the ranks and nodes of the commands that stand above it, behind the table before of the same
  // program; those of that table where there are none.
  const LaunchLine& of(std::string_view program) {
    LaunchLine& last = last_[std::string(program)];
    if (const auto found = new_.extract(std::string(program))) {
      const std::vector<LaunchLine>& all = found.mapped();
      const bool is_one = std::ranges::all_of(all, [&](const LaunchLine& l) { return l.ranks == all[0].ranks && l.nodes == all[0].nodes; });
      last = is_one ? all[0] : LaunchLine{};
    }
    return last;
  }

 private:
  std::map<std::string, std::vector<LaunchLine>> new_;
  std::map<std::string, LaunchLine> last_;  // by program
};

// What a file's tables have in common.
struct OsuFile {
  Launches launches;
  bool has_title = false;  // above the line that is read
  bool has_device = false;
  bool says_known = false;  // a problem lists the benchmarks that are simulated
};

OsuTable table_titled(std::string_view title, std::size_t line, OsuFile& file, RowSink& sink) {
  const bool is_of_pairs = osu_name_in(title) == title_of_pairs;
  const OsuBenchmark* found = osu_benchmark_titled(title);
  if (!found) {
    sink.problem(line,
                 std::exchange(file.says_known, true) ? fmt::format("\"{}\" is none of them either", title) : unknown_osu_benchmark(title));
    return {};
  }
  OsuTable out{.known = true, .is_bandwidth = found->collective.ends_with("bandwidth"), .is_of_pairs = is_of_pairs, .row = {}};
  out.row.collective = found->collective;
  out.row.size_of_a_rank = found->size_of_a_rank;
  const LaunchLine& launch = file.launches.of(found->program);
  if (is_point_to_point(found->collective)) {
    out.row.ranks = 2;
    if (launch.ranks == 2) out.row.nodes = launch.nodes;
  } else if (sink.options().ranks == 0) {
    out.row.ranks = launch.ranks, out.row.nodes = launch.nodes;
  }
  return out;
}

// "# [ pairs: 1 ] [ window size: 64 ]", where only what osu_bw measures too is simulated.
void read_pairs_line(std::span<const std::string_view> words, std::size_t line, OsuTable& table, RowSink& sink) {
  const auto behind = [&](std::string_view name) {
    const auto found = std::ranges::find(words, name);
    return found == words.end() || found + 1 == words.end() ? std::string_view("nothing") : *(found + 1);
  };
  table.is_of_one_pair = behind("pairs:") == "1" && behind("size:") == "64";
  if (!table.is_of_one_pair)
    sink.problem(line, fmt::format("osu_mbw_mr must be of 1 pair with a window of 64, which is what osu_bw measures, got {} and {}",
                                   behind("pairs:"), behind("size:")));
  table.known = table.is_of_one_pair;
}

bool has_size(const OsuTable& table) { return table.row.collective != "barrier"; }

// "Latency (us)" where it stands several times in the line of column names, with how often; the unit tells a column's end.
struct RepeatedColumn {
  std::string name;
  std::ptrdiff_t count = 1;
};

RepeatedColumn repeated_column(std::string_view text, std::string_view unit) {
  std::vector<std::string> names;
  text.remove_prefix(1);
  if (text = trimmed(text); text.starts_with("Size")) text.remove_prefix(4);
  for (auto end = text.find(unit); end != text.npos; end = text.find(unit)) {
    names.emplace_back(trimmed(text.substr(0, end + unit.size())));
    text.remove_prefix(end + unit.size());
  }
  for (const std::string& name : names)
    if (const auto count = std::ranges::count(names, name); count > 1) return {name, count};
  return {};
}

void read_osu_columns(std::string_view text, std::size_t line, OsuTable& table, RowSink& sink) {
  const std::string_view unit = table.is_of_pairs ? "MB/s" : table.is_bandwidth ? "(MB/s)" : "(us)";
  table.known = text.find(unit) != text.npos && table.is_of_pairs == table.is_of_one_pair;
  table.has_most = text.find("Min Latency") < text.find("Max Latency") && text.find("Max Latency") != text.npos;
  table.has_validation = text.find("Validation") != text.npos;
  table.columns = (has_size(table) ? 2 : 1) + (table.has_most ? 2 : 0) + (text.find("Iterations") != text.npos ? 1 : 0) +
                  (table.has_validation ? 1 : 0);
  if (const auto [name, count] = repeated_column(text, unit); count > 1) {
    table.known = false;
    return sink.problem(line,
                        fmt::format("has {} columns \"{}\", and nothing says which is meant: keep the sizes and one of them", count, name));
  }
  if (table.known) return;
  sink.problem(line, table.is_of_pairs && !table.is_of_one_pair
                         ? "osu_mbw_mr must say above its columns how many pairs sent: \"# [ pairs: 1 ] [ window size: 64 ]\""
                         : fmt::format("the values must be in {}, the columns are \"{}\"", unit, trimmed(text.substr(1))));
}

std::string_view value_in(const OsuLine& line, const OsuTable& table) {
  const auto words = words_in(line.text);
  const std::size_t at = has_size(table) ? 1 : 0;
  return words.size() > at ? words[at] : std::string_view();
}

// Whether the last of the rows has fewer decimals than each one before it: OSU prints as many in every row.
bool is_last_cut(const std::vector<OsuLine>& rows, const OsuTable& table) {
  constexpr std::size_t fewest = 3;
  if (rows.size() < fewest) return false;
  const auto decimals = [&](const OsuLine& row) { return decimals_in(value_in(row, table)); };
  return number_in(value_in(rows.back(), table)) && decimals(rows.back()) < decimals(rows.front()) &&
         std::all_of(rows.begin(), rows.end() - 1, [&](const OsuLine& row) { return decimals(row) == decimals(rows.front()); });
}

// Whether a row has more than the size and the mean that are named above it. Some versions name no other columns, but print with -f the
// least, the most and the iterations too.
bool is_wider_than_named(std::span<const std::string_view> words, const OsuTable& table) {
  return table.columns == 2 && words.size() > 2 && has_size(table) && !is_point_to_point(table.row.collective) &&
         std::ranges::all_of(words, [](std::string_view word) { return number_in(word).has_value(); });
}

bool is_full_row(std::span<const std::string_view> words) {
  if (words.size() != 5 || !whole_number_in(words[4])) return false;
  const auto mean = number_in(words[1]), least = number_in(words[2]), most = number_in(words[3]);
  return mean && least && most && *least <= *mean && *mean <= *most;
}

void read_row(std::size_t line, std::string_view text, const OsuTable& table, RowSink& sink) {
  const auto words = words_in(text);
  if (!sink.wants(line, table.row)) return;
  const bool sized = has_size(table);
  const auto size = sized ? whole_number_in(words[0]) : 0;
  const auto value = words.size() > (sized ? 1 : 0) ? number_in(words[sized ? 1 : 0]) : std::nullopt;
  if (!size || !value) return sink.problem(line, fmt::format("must be a size in bytes and a number, got \"{}\"", text));
  if (words.size() < table.columns)
    return sink.problem(line, fmt::format("must have the {} columns that are named above, got \"{}\": it was cut", table.columns, text));
  const bool is_wider = is_wider_than_named(words, table);
  if (is_wider && !is_full_row(words))
    return sink.problem(line,
                        fmt::format("must have the {} columns that are named above, or mean, least, most and iterations (-f), got \"{}\"",
                                    table.columns, text));
  if (table.has_validation && words.back() == "Fail")
    return sink.problem(line, "the result was wrong (Validation: Fail); the time of a wrong result is none");
  if (table.is_bandwidth && !(*value > 0))
    return sink.problem(line, fmt::format("the bandwidth must be more than 0 MB/s, got {:g}", *value));
  Measurement row = table.row;
  row.size_bytes = *size;
  row.time_us = table.is_bandwidth ? static_cast<double>(*size) / *value : *value;
  if (!is_point_to_point(row.collective)) {
    const auto most = (table.has_most || is_wider) && words.size() > 3 && has_root(row.collective) ? number_in(words[3]) : std::nullopt;
    row.time_us = most.value_or(row.time_us);
    row.mean_of_ranks = !most;
  }
  sink.add(line, std::move(row));
}

// It begins with a size, whatever became of the value: "3 nodes allocated" is no row.
bool is_osu_row(std::span<const std::string_view> words) {
  if (are_mostly_numbers(words)) return true;
  return words.size() > 1 && whole_number_in(words[0]) &&
         (words.size() == 2 || std::isalpha(static_cast<unsigned char>(words[1].front())) == 0);
}

// The next row of the table, as wide as the others, behind something else: sizes are powers of two, and values have decimals.
std::optional<RowBehindPrefix> row_behind_prefix(std::string_view line, const OsuTable& table, const std::vector<OsuLine>& rows) {
  auto found = behind_prefix(line, rows.empty() ? table.columns : words_in(rows.front().text).size());
  if (!found || !has_size(table) || found->words.size() < 2) return {};
  const auto size = whole_number_in(found->words[0]);
  const auto before = rows.empty() ? std::optional<std::int64_t>(-1) : whole_number_in(words_in(rows.back().text).front());
  const bool goes_on = size && before && *size > *before && std::has_single_bit(static_cast<std::uint64_t>(*size));
  return goes_on && number_in(found->words[1]) && decimals_in(found->words[1]) > 0 ? std::move(found) : std::nullopt;
}

// What another program printed behind the table, such as steps of LAMMPS: other columns, and sizes that do not go on.
bool ends_table(const OsuLine& line, const std::vector<OsuLine>& rows) {
  if (line.text.starts_with("```")) return !rows.empty();
  if (rows.empty()) return false;
  const auto words = words_in(line.text), first = words_in(rows.front().text), last = words_in(rows.back().text);
  const auto size = whole_number_in(words.front()), before = whole_number_in(last.front());
  return words.size() > first.size() && are_mostly_numbers(words) && size && before && *size <= *before;
}

// A size and a time, above which a title is missing.
void refuse_headless(const OsuLine& line, RowSink& sink) {
  const auto words = words_in(line.text);
  const auto size = words.size() > 1 ? whole_number_in(words[0]) : std::nullopt;
  const bool is_like_one = size && *size > 0 && std::has_single_bit(static_cast<std::uint64_t>(*size)) && decimals_in(words[1]) > 0 &&
                           std::ranges::all_of(words, [](std::string_view word) { return number_in(word).has_value(); });
  if (is_like_one)
    sink.problem(line.number, "looks like a row of a table without its title above it; give its lines of # too, or remove the row");
}

void read_rows(const std::vector<OsuLine>& rows, const OsuTable& table, RowSink& sink) {
  for (const OsuLine& row : rows)
    if (&row == &rows.back() && is_last_cut(rows, table))
      sink.problem(row.number, fmt::format("the line was cut: {} has fewer decimals than the values above it, which have {}",
                                           value_in(row, table), decimals_in(value_in(rows.front(), table))));
    else
      read_row(row.number, row.text, table, sink);
}

// One profile cannot follow both.
void refuse_both_memories(RowSink& sink) {
  const auto& rows = sink.rows();
  const auto of = [&](std::string_view memory) { return std::ranges::find(rows, memory, &Measurement::system); };
  const auto host = of(host_memory), device = of(device_memory);
  if (!sink.options().select || host == rows.end() || device == rows.end()) return;
  sink.refuse(
      fmt::format("holds times of host memory ({}) and of device memory ({}), which are not the same measurement; take one with "
                  "--system \"{}\" or --system \"{}\"",
                  host->where, device->where, host_memory, device_memory));
}

}  // namespace

void read_osu(std::string_view text, RowSink& sink) {
  OsuTable table;
  OsuFile file;
  std::vector<OsuLine> rows;  // of the table
  const auto lines = lines_in(text);
  for (std::size_t i = 0; i < lines.size(); ++i)
    file.has_device |= is_osu_title(lines, i) && is_of_device_library(trimmed(lines[i]).substr(1));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = trimmed(lines[i]);
    if (is_osu_title(lines, i)) {
      read_rows(std::exchange(rows, {}), table, sink);
      const std::string_view title = trimmed(line.substr(1));
      table = table_titled(title, i + 1, file, sink);
      file.has_title = true;
      if (file.has_device) table.row.system = is_of_device_library(title) ? device_memory : host_memory;
    } else if (const auto prefix = before_title(lines, i, osu_title, "#")) {
      sink.problem(i + 1, title_behind(*prefix));
    } else if (file.has_device && line.starts_with("# Send Buffer on HOST") && line.find("Receive Buffer on HOST") != line.npos) {
      table.row.system = host_memory;
    } else if (table.is_of_pairs && line.starts_with("# [ pairs:")) {
      read_pairs_line(words_in(line), i + 1, table, sink);
    } else if (auto launch = launch_in(line, "osu_")) {
      file.launches.add(std::move(*launch));
    } else if (!file.has_title) {
      refuse_headless({i + 1, line}, sink);
    } else if (table.known && names_osu_columns(line)) {
      read_osu_columns(line, i + 1, table, sink);
    } else if (table.known && !line.empty() && !line.starts_with('#')) {
      if (ends_table({i + 1, line}, rows))
        read_rows(std::exchange(rows, {}), std::exchange(table, {}), sink);
      else if (is_osu_row(words_in(line)))
        rows.push_back({i + 1, line});
      else if (const auto row = row_behind_prefix(line, table, rows))
        sink.problem(i + 1, row_behind(*row));
    }
  }
  read_rows(rows, table, sink);
  refuse_both_memories(sink);
}

}  // namespace weft

#include "models/traces/read_traces.hpp"

#include "kernels/base/error.hpp"
#include "models/traces/builder.hpp"
#include "models/traces/chakra.hpp"
#include "models/traces/file_bytes.hpp"
#include "models/traces/goal.hpp"
#include "models/traces/json_access.hpp"
#include "models/traces/kineto.hpp"
#include "models/traces/pytorch_trace.hpp"
#include "models/traces/weft_trace.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <set>
#include <thread>
#include <variant>

#include <fmt/ranges.h>

namespace weft {
namespace {

namespace fs = std::filesystem;

// LICENSE, README.md and the like, which lie beside traces in a folder.
bool is_about_others(const fs::path& file) {
  const std::string name = file.filename().string(), end = file.extension().string();
  const bool in_capitals = std::ranges::all_of(name, [](unsigned char c) { return std::isupper(c) || c == '_' || c == '-'; });
  return name.starts_with(".") || in_capitals || end == ".md" || end == ".rst" || end == ".log";
}

std::vector<fs::path> files_of(const std::vector<fs::path>& given) {
  std::vector<fs::path> out;
  for (const fs::path& file : given) {
    std::error_code error;
    if (!fs::is_directory(file, error)) {
      out.push_back(file);
      continue;
    }
    std::vector<fs::path> inside;
    for (const fs::directory_entry& entry : fs::directory_iterator(file))
      if (entry.is_regular_file() && !is_about_others(entry.path())) inside.push_back(entry.path());
    if (inside.empty()) throw InputError(fmt::format("{}: holds no trace", file.string()));
    std::ranges::sort(inside);
    out.insert(out.end(), inside.begin(), inside.end());
  }
  return out;
}

// What one file turned out to be, or what is wrong with it.
struct Outcome {
  TraceFile trace = {};
  std::vector<TracedGroup> groups = {};
  std::vector<std::string> problems = {};
};

Outcome outcome_of(const fs::path& file) {
  Outcome out;
  try {
    const std::string bytes = read_trace_bytes(file);
    if (bytes.size() < 1 << 20 && bytes.starts_with("{") && looks_like_comm_groups(bytes))
      out.groups = parse_comm_groups(bytes, file.string());
    else
      out.trace = parse_trace_file(bytes, file.string());
  } catch (const InputError& error) {
    out.problems = error.problems();
  }
  return out;
}

// Files are independent of one another: as many at once as there are cores.
std::vector<Outcome> outcomes_of(const std::vector<fs::path>& files) {
  std::vector<Outcome> out(files.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++) out[i] = outcome_of(files[i]);
  };
  std::vector<std::thread> others;
  const std::size_t most = std::min<std::size_t>(files.size(), std::max(1U, std::thread::hardware_concurrency()));
  for (std::size_t i = 1; i < most; ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  return out;
}

// Numbers ranks by what the files say, or their names, or else by the order in which they are given.
void number_ranks(std::vector<TracedRank>& ranks, int world, std::vector<std::string>& problems) {
  for (TracedRank& rank : ranks)
    if (rank.rank == TracedRank::not_said) rank.rank = rank_in_name(rank.file);
  // The number in the name of the only file may be anything.
  if (ranks.size() == 1 && (ranks.front().rank == TracedRank::not_said || (world > 0 && ranks.front().rank >= world)))
    ranks.front().rank = 0;
  if (std::ranges::any_of(ranks, [](const TracedRank& r) { return r.rank == TracedRank::not_said; }))
    for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i].rank = static_cast<Rank>(i);
  std::ranges::stable_sort(ranks, {}, &TracedRank::rank);
  for (std::size_t i = 1; i < ranks.size(); ++i)
    if (ranks[i].rank == ranks[i - 1].rank)
      problems.push_back(fmt::format("{}: is of rank {}, as is {}", ranks[i].file, ranks[i].rank, ranks[i - 1].file));
}

// Gives ranks to groups of which files say no more than a name.
class Groups {
 public:
  Groups(TracedProgram& program, const std::vector<TracedGroup>& named) : program_(program), named_(named) {}

  void resolve() {
    for (const TracedRank& rank : program_.ranks)
      for (std::size_t g = 0; g < rank.groups.size(); ++g)
        if (is_used(rank, static_cast<int>(g))) users_[rank.groups[g].name].insert(rank.rank);
    for (TracedRank& rank : program_.ranks)
      for (TracedGroup& group : rank.groups)
        if (!group.all && group.ranks.empty()) resolve(rank, group);
    missing_.move_to(program_.missing);
  }

 private:
  static bool is_used(const TracedRank& rank, int group) {
    return std::ranges::any_of(rank.operations,
                               [&](const TracedOperation& o) { return o.kind == TracedOperation::Kind::collective && o.group == group; });
  }

  void resolve(const TracedRank& rank, TracedGroup& group) {
    if (const auto named = std::ranges::find(named_, group.name, &TracedGroup::name); named != named_.end()) {
      group.ranks = named->ranks;
      return;
    }
    const std::set<Rank>& users = users_[group.name];
    const bool by_all = program_.ranks.size() > 1 && users.size() == program_.ranks.size() &&
                        (program_.world == 0 || std::cmp_equal(program_.world, users.size()));
    if ((group.size > 0 && group.size == program_.world) || (by_all && (group.size == 0 || std::cmp_equal(group.size, users.size())))) {
      group.all = true;
    } else if (group.size > 0 && std::cmp_equal(users.size(), group.size)) {
      group.ranks.assign(users.begin(), users.end());
    } else if (program_.ranks.size() == 1) {
      missing_.add(
          fmt::format("which ranks are in group \"{}\" is not said (a file {{\"{}\": [0, 1, ...]}} beside the traces would); taken as all",
                      group.name, group.name),
          rank.file);
      group.all = true;
    } else {
      missing_.add(
          fmt::format(
              "which ranks are in group \"{}\" is not said (a file {{\"{}\": [0, 1, ...]}} beside the traces would); taken as those "
              "that use it: {}",
              group.name, group.name, fmt::join(users, ", ")),
          rank.file);
      group.ranks.assign(users.begin(), users.end());
    }
    if (!group.all && group.ranks.empty()) group.ranks = {rank.rank};
  }

  TracedProgram& program_;
  const std::vector<TracedGroup>& named_;
  std::map<std::string, std::set<Rank>> users_;
  Missing missing_;
};

}  // namespace

Rank rank_in_name(const std::string& file) {
  const std::string name = fs::path(file).filename().string();
  const auto number_at = [&](std::size_t at) -> Rank {
    std::int64_t value = 0;
    const std::size_t begin = at;
    while (at < name.size() && std::isdigit(static_cast<unsigned char>(name[at])) != 0 && value < 1 << 24)
      value = value * 10 + (name[at++] - '0');
    return at == begin || value >= 1 << 24 ? TracedRank::not_said : static_cast<Rank>(value);
  };
  for (const std::string_view word : {"rank", "worker", "Rank"})
    if (std::size_t at = name.find(word); at != std::string::npos) {
      at += word.size();
      while (at < name.size() && (name[at] == '-' || name[at] == '_' || name[at] == '.')) ++at;
      if (const Rank rank = number_at(at); rank != TracedRank::not_said) return rank;
    }
  for (const std::string_view ending : {".et", ".et.gz", ".json", ".json.gz"}) {
    if (!name.ends_with(ending)) continue;
    const std::size_t end = name.size() - ending.size();
    std::size_t begin = end;
    while (begin > 0 && std::isdigit(static_cast<unsigned char>(name[begin - 1])) != 0) --begin;
    if (begin < end && (begin == 0 || name[begin - 1] == '.' || name[begin - 1] == '_' || name[begin - 1] == '-')) return number_at(begin);
  }
  return TracedRank::not_said;
}

TraceFile parse_trace_file(std::string_view bytes, const std::string& file) {
  if (bytes.empty()) throw InputError(file + ": is empty");
  if (looks_like_goal_binary(bytes)) return parse_goal_binary(bytes, file);
  const std::size_t first = bytes.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first != std::string_view::npos && (bytes[first] == '{' || bytes[first] == '[')) {
    if (looks_like_weft_trace(bytes)) return parse_weft_trace(bytes, file);
    if (looks_like_chakra_json(bytes)) return parse_chakra_json(bytes, file);
    if (looks_like_kineto(bytes)) return parse_kineto(bytes, file);
    if (looks_like_pytorch_trace(bytes)) return parse_pytorch_trace(bytes, file);
    throw InputError(
        fmt::format("{}: is JSON of no known trace: neither Kineto (\"traceEvents\"), nor Chakra (\"workload_graph\"), nor PyTorch's "
                    "execution trace (\"nodes\"), nor Weft's (\"format\": \"weft trace\")",
                    file));
  }
  const std::string_view text = bytes.substr(bytes.starts_with("\xef\xbb\xbf") ? 3 : 0);
  if (looks_like_goal_text(text)) return parse_goal_text(text, file);
  if (looks_like_chakra(bytes)) return parse_chakra(bytes, file);
  throw InputError(fmt::format(
      "{}: is no trace of a known format: Chakra (protobuf, JSON), Kineto, PyTorch's execution trace, GOAL (text, binary), Weft's own",
      file));
}

TracedProgram joined(std::vector<TraceFile> files, const std::vector<TracedGroup>& groups) {
  TracedProgram out;
  std::vector<std::string> problems;
  for (TraceFile& file : files) {
    if (out.format.empty()) out.format = file.format;
    if (out.format != file.format)
      throw InputError(fmt::format("{}: is a trace of {}, the file before of {}: give files of one format", file.ranks.front().file,
                                   file.format, out.format));
    out.world = std::max(out.world, file.world);
    for (TracedRank& rank : file.ranks) out.ranks.push_back(std::move(rank));
    out.missing.insert(out.missing.end(), file.missing.begin(), file.missing.end());
    out.notes.insert(out.notes.end(), file.notes.begin(), file.notes.end());
  }
  if (out.ranks.empty()) throw InputError("the files hold no trace");
  for (const TracedGroup& group : groups)
    for (const Rank member : group.ranks) out.world = std::max(out.world, member + 1);
  number_ranks(out.ranks, out.world, problems);
  if (!problems.empty()) throw InputError(std::move(problems));
  const bool said = std::ranges::any_of(files, [](const TraceFile& file) { return file.world > 0; });
  if (!said && out.world > 0) out.world = std::max(out.world, out.ranks.back().rank + 1);  // groups need not hold all ranks
  if (out.world > 0 && out.ranks.back().rank >= out.world)
    throw InputError(fmt::format("{}: is of rank {}, of {} ranks", out.ranks.back().file, out.ranks.back().rank, out.world));
  Groups(out, groups).resolve();
  return out;
}

TracedProgram read_traces(const std::vector<fs::path>& files) {
  std::vector<TraceFile> traces;
  std::vector<TracedGroup> groups;
  std::vector<std::string> problems;
  for (Outcome& outcome : outcomes_of(files_of(files))) {
    problems.insert(problems.end(), outcome.problems.begin(), outcome.problems.end());
    groups.insert(groups.end(), outcome.groups.begin(), outcome.groups.end());
    if (!outcome.trace.ranks.empty()) traces.push_back(std::move(outcome.trace));
  }
  if (!problems.empty()) throw InputError(std::move(problems));
  return joined(std::move(traces), groups);
}

}  // namespace weft

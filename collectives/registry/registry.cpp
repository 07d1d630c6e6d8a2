#include "collectives/registry/registry.hpp"

#include "collectives/registry/built_in.hpp"
#include "collectives/schedule/compose.hpp"
#include "collectives/schedule/verify.hpp"
#include "kernels/base/nearest_name.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace weft {

namespace {

using Problems = std::vector<Problem>;

std::vector<Algorithm>& table() {
  static std::vector<Algorithm> all(built_in_algorithms().begin(), built_in_algorithms().end());
  return all;
}

Cost uncut_cost(const Algorithm& a, const Request& q) { return a.cost != nullptr ? a.cost(q) : traffic(a.build(q)).counted; }

// Of the schedule in a file.
void fits_file(const Request& q, Problems& problems) {
  const ImportedSchedule& imported = q.settings.imported;
  if (!imported.given()) {
    problems.push_back({"/file", "msccl needs the file of a schedule: MSCCL XML or MSCCL++ JSON"});
    return;
  }
  const Schedule& s = *imported.schedule;
  if (s.collective != q.collective)
    problems.push_back({"/file", fmt::format("holds an {}, not an {}", name_of(s.collective), name_of(q.collective))});
  if (s.ranks != q.ranks) problems.push_back({"/ranks", fmt::format("must be the {} of {}, got {}", s.ranks, imported.file, q.ranks)});
  const bool rooted = s.collective == Collective::broadcast || s.collective == Collective::reduce;
  if (rooted && s.root != q.root) problems.push_back({"/root", fmt::format("must be the {} of {}, got {}", s.root, imported.file, q.root)});
}

constexpr Algorithm imported(Collective collective) {
  return {.name = "msccl",
          .collective = collective,
          .description = "The schedule of a file: MSCCL XML or MSCCL++ JSON.",
          .source = "Cowan et al. 2023 (MSCCLang)",
          .can_be_cut = false,
          .constrain = fits_file,
          .build = [](const Request& q) { return *q.settings.imported.schedule; },
          .cost = [](const Request& q) { return traffic(*q.settings.imported.schedule).counted; }};
}

const std::array imported_table = {imported(Collective::allreduce), imported(Collective::reduce_scatter), imported(Collective::allgather),
                                   imported(Collective::broadcast), imported(Collective::reduce),         imported(Collective::alltoall)};

Problem unknown_algorithm(const Request& q) {
  const std::vector<std::string> names = algorithm_names(q.collective);
  std::string what =
      fmt::format("unknown {} algorithm \"{}\", must be one of {}", name_of(q.collective), q.algorithm, fmt::join(names, ", "));
  if (const auto near = nearest_name(q.algorithm, names)) what += fmt::format(" (did you mean \"{}\"?)", *near);
  return {"/algorithm", what};
}

void check_cuts(const Algorithm& a, const Request& q, Problems& problems) {
  constexpr int most = 1 << 16;
  const auto check_cut = [&](const char* where, int n) {
    if (n < 1 || n > most)
      problems.push_back({where, fmt::format("must be 1 to {}, got {}", most, n)});
    else if (n > 1 && !a.can_be_cut)
      problems.push_back(
          {where, fmt::format("must be 1 for {} {}, which cannot be cut further, got {}", a.name, name_of(a.collective), n)});
  };
  if (q.settings.segment.count > 0 && !a.can_be_cut)
    problems.push_back({"/segment", fmt::format("{} {} cannot be cut", a.name, name_of(a.collective))});
  if (q.settings.segment.count > 0 && q.settings.pieces > 0)
    problems.push_back({"/segment", "the pieces follow from it: leave \"pieces\" or it out"});
  check_cut("/channels", channels_of(q.settings));
  check_cut("/pieces", pieces_of(q.settings));
  if (q.settings.segment.count < 0)
    problems.push_back({"/segment", fmt::format("must not be negative, got {}", to_string(q.settings.segment))});
}

// The uncut cost is known to be right here; chunks must still be counted by an int, extra ones included.
void check_size(const Algorithm& a, const Request& q, Problems& problems) {
  constexpr std::int64_t max_chunks = std::int64_t{1} << 28;
  const std::int64_t parts = std::int64_t{channels_of(q.settings)} * pieces_of(q.settings);
  const std::int64_t chunks = a.cuts_itself ? std::int64_t{2} * q.ranks : uncut_cost(a, q).chunks;
  if (chunks > max_chunks / parts)
    problems.push_back({pieces_of(q.settings) > 1 ? "/pieces" : "/channels",
                        fmt::format("cut the message of {} chunks into {} parts; together they may be {}", chunks, parts, max_chunks)});
}

const Algorithm& allowed(const Request& request) {
  const std::vector<Problem> problems = constraints(request);
  if (!problems.empty()) {
    std::vector<std::string> lines;
    for (const Problem& p : problems) lines.push_back(fmt::format("{}: {}", p.where, p.what));
    throw InputError(lines);
  }
  return *find_algorithm(request.collective, request.algorithm);
}

}  // namespace

int extra_servers(const AlgorithmSettings& settings) {
  return settings.server_hosts == ServerHosts::extra ? std::max(settings.servers, 1) : 0;
}

std::span<const Algorithm> algorithms() { return table(); }

void add_algorithm(const Algorithm& algorithm) {
  const bool is_name = !algorithm.name.empty() && std::ranges::all_of(algorithm.name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!is_name)
    throw InputError(
        fmt::format("an algorithm's name is of small letters, digits and underscores, such as my_ring, got \"{}\"", algorithm.name));
  if (find_algorithm(algorithm.collective, algorithm.name) != nullptr)
    throw InputError(fmt::format("{} has an algorithm \"{}\" already", name_of(algorithm.collective), algorithm.name));
  if (algorithm.build == nullptr)
    throw InputError(fmt::format("the algorithm \"{}\" has nothing that builds its schedule", algorithm.name));
  table().push_back(algorithm);
}

std::span<const Algorithm> imported_algorithms() { return imported_table; }

std::vector<std::string> algorithm_names(Collective collective) {
  std::vector<std::string> names;
  for (const Algorithm& a : table())
    if (a.collective == collective) names.emplace_back(a.name);
  for (const Algorithm& a : imported_table)
    if (a.collective == collective) names.emplace_back(a.name);
  return names;
}

const Algorithm* find_algorithm(Collective collective, std::string_view name) {
  for (const Algorithm& a : table())
    if (a.collective == collective && a.name == name) return &a;
  for (const Algorithm& a : imported_table)
    if (a.collective == collective && a.name == name) return &a;
  return nullptr;
}

std::vector<Problem> constraints(const Request& request) {
  const Algorithm* a = find_algorithm(request.collective, request.algorithm);
  if (a == nullptr) return {unknown_algorithm(request)};
  std::vector<Problem> problems;
  if (request.ranks < 1 || request.ranks > a->max_ranks)
    problems.push_back(
        {"/ranks", fmt::format("must be 1 to {} for {} {}, got {}", a->max_ranks, a->name, name_of(a->collective), request.ranks)});
  if (request.ranks >= 1 && (request.root < 0 || request.root >= request.ranks))
    problems.push_back({"/root", fmt::format("must be a rank, 0 to {}, got {}", request.ranks - 1, request.root)});
  if (request.settings.group != 0 && !a->takes_group && !a->staggers && !a->takes_library)
    problems.push_back({"/group", fmt::format("{} {} has no groups, got {}", a->name, name_of(a->collective), request.settings.group)});
  if (request.settings.servers != 0 && !a->takes_servers)
    problems.push_back(
        {"/servers", fmt::format("{} {} has no servers, got {}", a->name, name_of(a->collective), request.settings.servers)});
  if (request.settings.server_hosts != ServerHosts::workers && !a->takes_servers)
    problems.push_back({"/server_hosts", fmt::format("{} {} has no servers, got \"{}\"", a->name, name_of(a->collective),
                                                     name_of(request.settings.server_hosts))});
  if (!request.settings.inner.empty() && !a->takes_inner)
    problems.push_back(
        {"/inner", fmt::format("{} {} has no inner algorithm, got \"{}\"", a->name, name_of(a->collective), request.settings.inner)});
  for (const auto& [where, name] : {std::pair{"/up", &request.settings.up}, std::pair{"/down", &request.settings.down}})
    if (!name->empty() && !a->takes_inner)
      problems.push_back({where, fmt::format("{} {} has no leaders of groups, got \"{}\"", a->name, name_of(a->collective), *name)});
  if (request.settings.library && !a->takes_library)
    problems.push_back({"/library", fmt::format("{} {} is of no library, got \"{}\"", a->name, name_of(a->collective),
                                                name_of(*request.settings.library))});
  if (request.settings.nics != 0 && a->name != "nccl")
    problems.push_back(
        {"/nics", fmt::format("{} {} asks nothing of NICs, got {}", a->name, name_of(a->collective), request.settings.nics)});
  if (request.settings.pxn && (a->name != "nccl" || a->collective != Collective::alltoall))
    problems.push_back({"/pxn", fmt::format("is of nccl alltoall, got it for {} {}", a->name, name_of(a->collective))});
  if (request.settings.imported.given() && a->name != "msccl")
    problems.push_back(
        {"/file", fmt::format("{} {} is not read from a file, got {}", a->name, name_of(a->collective), request.settings.imported.file)});
  check_cuts(*a, request, problems);
  if (a->constrain != nullptr) a->constrain(request, problems);
  if (problems.empty()) check_size(*a, request, problems);
  return problems;
}

Schedule build(const Request& request) {
  const Algorithm& a = allowed(request);
  if (a.cuts_itself) {
    Schedule schedule = a.build(request);
    if (request.settings.last_piece != 1) schedule.last_piece = {pieces_of(request.settings), request.settings.last_piece};
    return schedule;
  }
  const Schedule cut = channels(pipelined(a.build(request), pieces_of(request.settings)), channels_of(request.settings));
  return a.staggers && request.settings.group > 1 ? staggered(cut, request.settings.group) : cut;
}

Cost cost(const Request& request) {
  const Algorithm& a = allowed(request);
  const int pieces = pieces_of(request.settings), parts = pieces * channels_of(request.settings);
  Cost cost = uncut_cost(a, request);
  if (a.cuts_itself) return cost;
  if (cost.steps > 0) cost.steps += pieces - 1;
  cost.messages *= parts;
  cost.max_chunks_sent *= parts;
  cost.chunks *= parts;
  return cost;
}

}  // namespace weft

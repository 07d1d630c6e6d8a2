#include "collectives/registry/built_in_composed.hpp"

#include "collectives/algorithms/two_level.hpp"
#include "collectives/registry/limits.hpp"
#include "collectives/schedule/compose.hpp"

#include <limits>

namespace weft {
namespace {

constexpr Bytes longest{std::numeric_limits<std::int64_t>::max()};

Request mpi_request(const Request& q, Bytes size) {
  const MpiChoice chosen = mpi_choice(library_of(q.settings), {q.collective, q.ranks, size, q.settings.group});
  Request out = q;
  out.algorithm = chosen.algorithm;
  out.settings.library.reset();
  out.settings.segment = chosen.segment;
  out.settings.inner = chosen.inner;
  out.settings.up = chosen.up;
  out.settings.down = chosen.down;
  const bool grouped = find_algorithm(q.collective, out.algorithm)->takes_inner;
  out.settings.group = !grouped ? 0 : chosen.inner.empty() ? q.ranks : q.settings.group;
  return out;
}

// What the leaders do, unless it is said; they are a group no more.
Request two_level_request(const Request& q, Bytes size) {
  Request out = q;
  if (!q.settings.inner.empty()) return out;
  out.settings.inner = open_mpi_choice({q.collective, q.ranks / q.settings.group, size}).algorithm;
  if (out.settings.inner == q.algorithm) out.settings.inner = q.collective == Collective::barrier ? "dissemination" : "recursive_doubling";
  return out;
}

Request request_of_leaders(const Request& q) {
  return {.collective = q.collective,
          .algorithm = two_level_request(q, longest).settings.inner,
          .ranks = q.ranks / q.settings.group,
          .root = q.root / q.settings.group};
}

// What the ranks of a group do to or from its leader, which comes first; nothing where it is two_level's own tree.
Request request_of_group(const Request& q, Collective collective, const std::string& algorithm) {
  return {.collective = collective, .algorithm = algorithm, .ranks = q.settings.group};
}
std::optional<Schedule> in_group(const Request& q, Collective collective, const std::string& algorithm) {
  if (algorithm.empty()) return std::nullopt;
  return build(request_of_group(q, collective, algorithm));
}

void fits_group(const Request& q, const char* where, Collective collective, const std::string& algorithm, Problems& problems) {
  if (algorithm.empty()) return;
  const bool goes_there = q.collective == collective || q.collective == Collective::allreduce;
  const Algorithm* known = find_algorithm(collective, algorithm);
  if (!goes_there)
    problems.push_back(
        {where, fmt::format("two_level {} does no {} in its groups, got \"{}\"", name_of(q.collective), name_of(collective), algorithm)});
  else if (known != nullptr && (known->takes_group || known->takes_servers || known->cuts_itself || known->chooses != nullptr))
    problems.push_back({where, fmt::format("is one algorithm in a group, without groups, servers and channels, got \"{}\"", algorithm)});
  else
    for (const Problem& p : constraints(request_of_group(q, collective, algorithm))) problems.push_back({where, p.what});
}

void fits_leaders(const Request& q, Problems& problems) {
  const std::size_t before = problems.size();
  groups_divide(q, problems);
  if (q.ranks < 1 || problems.size() > before) return;
  fits_group(q, "/up", Collective::reduce, q.settings.up, problems);
  fits_group(q, "/down", Collective::broadcast, q.settings.down, problems);
  if (q.settings.inner.empty()) return;
  const Algorithm* inner = find_algorithm(q.collective, q.settings.inner);
  if (inner != nullptr && (inner->takes_group || inner->takes_servers || inner->chooses != nullptr)) {
    problems.push_back(
        {"/inner", fmt::format("is one algorithm among the leaders, without groups and servers, got \"{}\"", q.settings.inner)});
    return;
  }
  for (const Problem& p : constraints(request_of_leaders(q)))
    problems.push_back({"/inner", p.where == "/algorithm"
                                      ? p.what
                                      : fmt::format("{} of {} leaders: {}", q.settings.inner, q.ranks / q.settings.group, p.what)});
}

template <Schedule (*function)(const Groups&, const Schedule&)>
Schedule two_level(const Request& q) {
  return function(groups_of(q), build(request_of_leaders(q)));
}
Schedule two_level_allreduce_of(const Request& q) {
  return two_level_allreduce(groups_of(q), in_group(q, Collective::reduce, q.settings.up), build(request_of_leaders(q)),
                             in_group(q, Collective::broadcast, q.settings.down));
}
Schedule two_level_broadcast_of(const Request& q) {
  return two_level_broadcast(groups_of(q), q.root, build(request_of_leaders(q)), in_group(q, Collective::broadcast, q.settings.down));
}
Schedule two_level_reduce_of(const Request& q) {
  return two_level_reduce(groups_of(q), q.root, in_group(q, Collective::reduce, q.settings.up), build(request_of_leaders(q)));
}

Algorithm two_level_of(Collective collective, std::string_view description, Schedule (*build)(const Request&)) {
  return {.name = "two_level",
          .collective = collective,
          .description = description,
          .source = "Karonis et al. 2000; Luo et al. 2020 (HAN)",
          .can_be_cut = collective != Collective::allgather && collective != Collective::barrier,
          .takes_group = true,
          .takes_inner = true,
          .constrain = fits_leaders,
          .chooses = two_level_request,
          .build = build};
}

void fits_library(const Request& q, Problems& problems) {
  if (q.settings.group == 0) return;
  if (leads_hosts(library_of(q.settings))) return groups_divide(q, problems);
  problems.push_back({"/group", fmt::format("is of the libraries mpich and intel_mpi, whose hosts have leaders; {} sees ranks only, got {}",
                                            name_of(library_of(q.settings)), q.settings.group)});
}

}  // namespace

Algorithm two_level_algorithm(Collective collective) {
  switch (collective) {
    case Collective::allreduce:
      return two_level_of(collective, "A tree inside each group to its leader, another algorithm among the leaders, the tree back.",
                          two_level_allreduce_of);
    case Collective::allgather:
      return two_level_of(collective,
                          "A leader of each group gathers its blocks, the leaders all-gather, and each copies all to its group.",
                          two_level<two_level_allgather>);
    case Collective::broadcast:
      return two_level_of(collective, "Another algorithm among the leaders of groups, then a tree inside each group.",
                          two_level_broadcast_of);
    case Collective::reduce:
      return two_level_of(collective, "A tree inside each group to its leader, then another algorithm among the leaders.",
                          two_level_reduce_of);
    case Collective::barrier:
      return two_level_of(collective, "A tree inside each group to its leader, another algorithm among the leaders, the tree back.",
                          two_level<two_level_barrier>);
    default:
      throw InputError(fmt::format("two_level has no {}", name_of(collective)));
  }
}

Algorithm mpi_algorithm(Collective collective) {
  return {.name = "mpi",
          .collective = collective,
          .description =
              "What an MPI library runs for the number of ranks and the size: Open MPI, by the fixed rules of its component "
              "tuned, or MPICH.",
          .source = "Open MPI, coll_tuned_decision_fixed.c; MPICH, src/mpi/coll",
          .can_be_cut = false,
          .takes_library = true,
          .max_ranks = collective == Collective::alltoall ? max_in_one_step : Algorithm{}.max_ranks,
          .constrain = fits_library,
          .chooses = mpi_request,
          .build = [](const Request& q) { return build(mpi_request(q, longest)); },
          .cost = [](const Request& q) { return cost(mpi_request(q, longest)); }};
}

}  // namespace weft

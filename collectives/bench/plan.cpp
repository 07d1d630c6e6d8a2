#include "collectives/bench/plan.hpp"

#include "kernels/base/error.hpp"

#include <utility>

#include <fmt/format.h>

namespace weft::bench {
namespace {

Schedule library_schedule(const Settings& s) {
  Schedule schedule{.name = "library", .collective = s.collective, .ranks = s.ranks, .chunks = s.ranks, .root = s.root};
  if (s.collective == Collective::alltoall) schedule.extra_chunks = s.ranks;
  return schedule;
}

// Where blocks of one size only are defined.
bool equal_blocks(const Settings& s, const PlannedAlgorithm& planned) {
  const std::string& algorithm = planned.name;
  if (algorithm == "msccl") return needs_equal_chunks(planned.schedule);
  const bool blocks = s.collective == Collective::allgather || s.collective == Collective::reduce_scatter;
  return s.collective == Collective::alltoall || (algorithm == "nccl" && blocks);
}

std::vector<std::int64_t> sizes(const Settings& s, const PlannedAlgorithm& planned) {
  if (s.collective == Collective::barrier) return {0};
  std::vector<std::int64_t> all;
  for (std::int64_t bytes = s.first_bytes; bytes <= s.last_bytes; bytes = s.next_bytes(bytes)) {
    std::int64_t elements = bytes / static_cast<std::int64_t>(size_of(s.dtype));
    if (equal_blocks(s, planned)) elements -= elements % planned.schedule.chunks;
    if (all.empty() || all.back() != elements) all.push_back(elements);
  }
  return all;
}

}  // namespace

namespace {

// Of the algorithms that are no schedules; "" of all others.
std::string_view transport_of(std::string_view algorithm) {
  if (algorithm == "mpi" || algorithm == "nccl") return algorithm;
  return algorithm == "one_shot" || algorithm == "two_shot" ? "cuda or nccl, or --device gpu over tcp and mpi" : "";
}

std::string label_of(const Selected& selected) {
  const AlgorithmSettings& s = selected.settings;
  std::string out = selected.algorithm;
  if (s.channels > 1) out += fmt::format(", {} channels", s.channels);
  if (s.pieces > 1) out += fmt::format(", {} pieces", s.pieces);
  return out;
}

// One after another, each with the sizes that the table selects it for.
std::vector<PlannedAlgorithm> selected_algorithms(const Settings& s) {
  std::vector<PlannedAlgorithm> all;
  const Selected* last = nullptr;
  for (std::int64_t bytes = s.first_bytes; bytes <= s.last_bytes; bytes = s.next_bytes(bytes)) {
    const Selected* selected = selected_for(s.selection, s.collective, s.ranks, bytes);
    if (!selected)
      throw InputError(fmt::format("--selection: has no line for {} of {} bytes on {} ranks", name_of(s.collective), bytes, s.ranks));
    if (selected != last) {
      const Request request = request_of(s, *selected);
      std::vector<std::string> problems;
      for (const Problem& p : constraints(request))
        problems.push_back(fmt::format("--selection: {}: {}: {}", selected->algorithm, p.where, p.what));
      if (!problems.empty()) throw InputError(std::move(problems));
      all.push_back({.name = label_of(*selected), .schedule = build(request), .library = false, .elements = {}});
      check(std::cmp_less_equal(all.back().schedule.channels.size(), s.cut.channels), "{} channels for {} threads",
            all.back().schedule.channels.size(), s.cut.channels);
      all.back().schedule.channels.resize(static_cast<std::size_t>(s.cut.channels));  // threads without steps of their own
      last = selected;
    }
    Settings one = s;
    one.first_bytes = one.last_bytes = bytes;
    one.step_bytes = 1;
    PlannedAlgorithm at{.name = selected->algorithm, .schedule = {}, .library = false, .elements = {}};
    at.schedule.chunks = all.back().schedule.chunks;
    const std::vector<std::int64_t> elements = sizes(one, at);
    if (all.back().elements.empty() || all.back().elements.back() != elements.front()) all.back().elements.push_back(elements.front());
    if (s.collective == Collective::barrier) break;
  }
  return all;
}

}  // namespace

std::vector<PlannedAlgorithm> plan(const Settings& s, const Medium& medium) {
  if (!s.selection.empty()) return selected_algorithms(s);
  std::vector<PlannedAlgorithm> all;
  std::vector<std::string> problems;
  for (const std::string& name : s.algorithms) {
    const std::string_view home = transport_of(name);
    PlannedAlgorithm planned{.name = name, .schedule = {}, .library = medium.has_own(name) || !home.empty(), .elements = {}};
    if (planned.library && !medium.has_own(name)) {
      problems.push_back(fmt::format("--algorithm: \"{}\" is {} own and needs --transport {}", name,
                                     name == home ? "the library's" : "a transport's", home));
    } else if (planned.library && extra_servers(s.cut) > 0) {
      problems.push_back(fmt::format("--algorithm: \"{}\" has no servers; leave out --server-hosts", name));
    } else if (planned.library && !medium.runs_own(name, s.collective, s.dtype, s.op)) {
      problems.push_back(fmt::format("--algorithm: \"{}\" has no {} of {} {} to compare with", name, name_of(s.collective),
                                     name_of(s.dtype), name_of(s.op)));
    } else if (planned.library) {
      planned.schedule = library_schedule(s);
    } else {
      const Request request = request_of(s, name);
      for (const Problem& p : constraints(request)) problems.push_back(fmt::format("--algorithm {}: {}: {}", name, p.where, p.what));
      if (problems.empty()) planned.schedule = build(request);
    }
    if (!problems.empty()) continue;
    planned.elements = sizes(s, planned);
    all.push_back(std::move(planned));
  }
  if (!problems.empty()) throw InputError(problems);
  return all;
}

}  // namespace weft::bench

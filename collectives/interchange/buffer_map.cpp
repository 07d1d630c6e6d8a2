#include "collectives/interchange/buffer_map.hpp"

#include "collectives/schedule/verify.hpp"
#include "kernels/base/error.hpp"

#include <algorithm>
#include <cctype>
#include <exception>

namespace weft {
namespace {

int rounded_up(int count, int unit) { return (count + unit - 1) / unit * unit; }

}  // namespace

int BufferMap::size_of(BufferKind kind) const {
  if (kind == BufferKind::scratch) return scratch;
  const bool one_block = kind == BufferKind::input ? collective == Collective::allgather
                                                   : collective == Collective::reduce_scatter && kind == BufferKind::output;
  return one_block ? block() : chunks;
}

int BufferMap::chunk(Rank rank, BufferKind kind, int offset) const {
  if (kind == BufferKind::scratch) return scratch_begin() + offset;
  const int in_message = size_of(kind) == chunks ? offset : rank * block() + offset;
  return kind == BufferKind::output && output_aside() ? chunks + in_message : in_message;
}

int BufferMap::aside(int chunk, int n) const { return scratch_begin() + rounded_up(scratch, chunks) + n * chunks + chunk % chunks; }

std::pair<std::string_view, int> BufferMap::shown(int chunk) const {
  if (chunk >= scratch_begin()) return {"scratch", chunk - scratch_begin()};
  return chunk < chunks ? std::pair<std::string_view, int>{output_aside() ? "input" : "message", chunk}
                        : std::pair<std::string_view, int>{"output", chunk - chunks};
}

std::vector<std::pair<int, int>> BufferMap::closing_copies(Rank rank) const {
  std::vector<std::pair<int, int>> out;
  const bool exchanged_in_place = collective == Collective::alltoall && in_place;
  if (exchanged_in_place)
    for (int c = 0; c < chunks; ++c) out.emplace_back(c, chunks + c);
  if (exchanged_in_place || collective == Collective::alltoall || !choice.own_output) return out;
  const int first = collective == Collective::reduce_scatter ? rank * block() : 0;
  const int count = size_of(BufferKind::output);
  for (int c = first; c < first + count; ++c) out.emplace_back(chunks + c, c);
  return out;
}

std::optional<Collective> collective_written(std::string name) {
  std::erase(name, '_');
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (name == "reducescatter") name = "reduce_scatter";
  const auto found = collective_named(name);
  return found == Collective::barrier ? std::nullopt : found;
}

Schedule first_proved(const std::vector<MemoryChoice>& choices, const std::function<Schedule(MemoryChoice)>& build) {
  std::vector<std::string> problems;
  for (const MemoryChoice& choice : choices) {
    problems.clear();
    try {
      Schedule schedule = build(choice);
      for (const std::string& problem : verify(schedule))
        problems.push_back(fmt::format("is no right {}: {}", name_of(schedule.collective), problem));
      if (problems.empty()) return schedule;
    } catch (const CannotBeProved& e) {
      problems = {e.what()};
    } catch (const InputError& e) {
      problems = e.problems();
    }
  }
  throw InputError(problems);
}

}  // namespace weft

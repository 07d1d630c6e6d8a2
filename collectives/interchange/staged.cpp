#include "collectives/interchange/staged.hpp"

#include "collectives/interchange/vector_clocks.hpp"
#include "kernels/base/index.hpp"

#include <algorithm>
#include <map>

namespace weft {
namespace {

constexpr int no_reader = -1, several = -2;

}  // namespace

std::vector<std::vector<StagedPart>> staged_parts(const std::vector<PlanEvent>& events, const BufferMap& map) {
  struct Written {
    int event = no_reader, offset = 0;
  };
  std::vector<std::vector<int>> readers(events.size());  // of each chunk that a transfer brings into scratch
  std::map<Cell, Written> written;
  for (int i = 0; i < static_cast<int>(events.size()); ++i) {
    const Transfer& t = events[at(i)].transfer;
    for (int c = 0; c < t.count; ++c)
      if (const auto found = written.find({t.from, t.chunk + c}); found != written.end()) {
        int& reader = readers[at(found->second.event)][at(found->second.offset)];
        reader = reader == no_reader && t.from == t.to ? i : several;
      }
    const bool staged = t.from != t.to && !t.reduces && t.into >= map.scratch_begin();
    if (staged) readers[at(i)].assign(at(t.count), no_reader);
    for (int c = 0; c < t.count; ++c) {
      const Cell cell{t.to, t.into + c};
      // A sum made in scratch needs what was there before.
      if (const auto found = written.find(cell); t.reduces && found != written.end())
        readers[at(found->second.event)][at(found->second.offset)] = several;
      written.erase(cell);
      if (staged) written[cell] = {i, c};
    }
  }
  std::vector<std::vector<StagedPart>> out(events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Transfer& t = events[i].transfer;
    for (int c = 0; c < std::ssize(readers[i]);) {
      int end = c + 1;
      while (end < t.count && readers[i][at(end)] == readers[i][at(c)]) ++end;
      const int reader = readers[i][at(c)];
      const bool whole = reader >= 0 && events[at(reader)].transfer.chunk == t.into + c && events[at(reader)].transfer.count == end - c;
      out[i].push_back({c, end - c, whole ? reader : no_reader});
      c = end;
    }
    if (std::ranges::all_of(out[i], [](const StagedPart& part) { return part.reader == no_reader; })) out[i].clear();
  }
  return out;
}

}  // namespace weft

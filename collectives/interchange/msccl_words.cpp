#include "collectives/interchange/msccl_words.hpp"

#include "kernels/base/error.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace weft {

WrittenBuffers written_buffers(const Schedule& s) {
  const int block = s.chunks / s.ranks;
  const int scratch = s.extra_chunks - (s.collective == Collective::alltoall ? s.chunks : 0);
  return {s.collective == Collective::allgather ? block : s.chunks, s.collective == Collective::reduce_scatter ? block : s.chunks,
          std::max(scratch, 0)};
}

std::pair<BufferKind, int> written_place(const Schedule& s, int chunk) {
  const bool exchanged = s.collective == Collective::alltoall;
  if (chunk < s.chunks) return {s.collective == Collective::allgather ? BufferKind::output : BufferKind::input, chunk};
  if (exchanged && chunk < 2 * s.chunks) return {BufferKind::output, chunk - s.chunks};
  return {BufferKind::scratch, chunk - (exchanged ? 2 : 1) * s.chunks};
}

void refuse_what_has_no_words(const Schedule& s, std::string_view format) {
  std::vector<std::string> problems;
  if (s.collective == Collective::barrier) problems.push_back(fmt::format("a barrier moves no data: {} has none", format));
  if (s.servers > 0) problems.push_back(fmt::format("{} of the ranks are servers beside the collective: {} has none", s.servers, format));
  const bool blocks =
      s.collective == Collective::allgather || s.collective == Collective::reduce_scatter || s.collective == Collective::alltoall;
  if (blocks && s.chunks % s.ranks != 0)
    problems.push_back(fmt::format("the {} chunks must be a multiple of the {} ranks for {}", s.chunks, s.ranks, format));
  if (!problems.empty()) throw InputError(problems);
}

}  // namespace weft

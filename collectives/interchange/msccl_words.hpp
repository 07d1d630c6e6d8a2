// What MSCCL's XML and MSCCL++'s JSON have in common when a schedule is written: their buffers, and what they have no words for.
#pragma once

#include "collectives/interchange/buffer_map.hpp"

#include <string_view>
#include <utility>

namespace weft {

// Chunks of the buffers of each GPU.
struct WrittenBuffers {
  int input = 0, output = 0, scratch = 0;
};
WrittenBuffers written_buffers(const Schedule& schedule);

// The buffer that a chunk of a schedule is in, and its index there.
std::pair<BufferKind, int> written_place(const Schedule& schedule, int chunk);

// Throws InputError where a schedule cannot be written as `format`.
void refuse_what_has_no_words(const Schedule& schedule, std::string_view format);

}  // namespace weft

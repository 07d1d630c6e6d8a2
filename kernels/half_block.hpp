// Blocks of float16 to and from float32 with the machine's own instructions where the instruction set has them: the
// same bits as half.hpp, several times faster. (bfloat16 needs none: it is a shift.)
#pragma once

#include "kernels/half.hpp"
#include "kernels/simd.hpp"

#include <cstddef>

namespace weft {

// Any count; the buffers do not overlap.
void to_floats(InstructionSet, const float16* from, float* to, std::size_t count);
void to_float16s(InstructionSet, const float* from, float16* to, std::size_t count);

}  // namespace weft

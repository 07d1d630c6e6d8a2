// Gathers many small tensors into one buffer, one after the other without gaps, and puts them back: one message instead
// of many.
#pragma once

#include <cstddef>
#include <span>

namespace weft {

using ConstPiece = std::span<const std::byte>;
using Piece = std::span<std::byte>;

std::size_t packed_size(std::span<const ConstPiece>);

// The buffer is exactly as long as the pieces together. Pieces and buffer do not overlap.
void pack(std::span<const ConstPiece> pieces, std::span<std::byte> buffer);
void unpack(std::span<const std::byte> buffer, std::span<const Piece> pieces);

}  // namespace weft

#include "kernels/pack.hpp"

#include "kernels/base/error.hpp"

#include <cstring>

namespace weft {
namespace {

template <class Pieces>
std::size_t total(const Pieces& pieces) {
  std::size_t bytes = 0;
  for (const auto& piece : pieces) bytes += piece.size();
  return bytes;
}

// Calls copy(piece, offset of the piece); an empty piece may have no address, which memcpy must not see.
template <class Pieces, class Copy>
void for_each_piece(const Pieces& pieces, std::size_t buffer_bytes, Copy copy) {
  check(total(pieces) == buffer_bytes, "pieces of {} B and a buffer of {} B", total(pieces), buffer_bytes);
  std::size_t offset = 0;
  for (const auto& piece : pieces) {
    if (!piece.empty()) copy(piece, offset);
    offset += piece.size();
  }
}

}  // namespace

std::size_t packed_size(std::span<const ConstPiece> pieces) { return total(pieces); }

void pack(std::span<const ConstPiece> pieces, std::span<std::byte> buffer) {
  for_each_piece(pieces, buffer.size(),
                 [&](ConstPiece piece, std::size_t offset) { std::memcpy(buffer.data() + offset, piece.data(), piece.size()); });
}

void unpack(std::span<const std::byte> buffer, std::span<const Piece> pieces) {
  for_each_piece(pieces, buffer.size(),
                 [&](Piece piece, std::size_t offset) { std::memcpy(piece.data(), buffer.data() + offset, piece.size()); });
}

}  // namespace weft

#include "kernels/pack.hpp"

#include "kernels/pack_ops.hpp"
#include "kernels/testing/backend.hpp"

#include <array>
#include <memory>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;
using test::backends;

namespace {

using Bytes = std::vector<std::byte>;

// Tensor t is made of bytes t + 1, t + 2, ...
std::vector<Bytes> tensors(const std::vector<std::size_t>& sizes) {
  std::vector<Bytes> all;
  for (std::size_t size : sizes) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(all.size() + 1 + i);
    all.push_back(bytes);
  }
  return all;
}

Bytes joined(const std::vector<Bytes>& all) {
  Bytes together;
  for (const Bytes& bytes : all) together.insert(together.end(), bytes.begin(), bytes.end());
  return together;
}

}  // namespace

TEST_CASE("tensors lie one after the other in the buffer, and come back as they were") {
  const auto many = tensors(std::vector<std::size_t>(300, 13));
  for (const auto& from : {tensors({}), tensors({0}), tensors({1}), tensors({4, 0, 7, 1, 4096, 3}), tensors({100000, 1, 100000}), many}) {
    const Bytes expected = joined(from);
    const std::vector<ConstPiece> pieces(from.begin(), from.end());
    CHECK(packed_size(pieces) == expected.size());
    for (const auto& on : backends()) {
      CAPTURE(on.name);
      Bytes buffer(expected.size());
      on.pack(pieces, buffer);
      CHECK(buffer == expected);

      std::vector<Bytes> back;
      for (const Bytes& tensor : from) back.emplace_back(tensor.size());
      on.unpack(buffer, std::vector<Piece>(back.begin(), back.end()));
      CHECK(back == from);
    }
  }
}

TEST_CASE("threads that copy together copy every byte and touch no other, however both sides are aligned") {
  for (const std::size_t bytes : {0, 1, 3, 4, 5, 15, 16, 17, 19, 20, 31, 32, 33, 40, 63, 64, 65, 200})
    for (std::size_t from = 0; from < 16; ++from)
      for (std::size_t to = 0; to < 16; ++to) {
        alignas(16) std::array<std::byte, 256> source{}, target{};
        for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i + 1);
        for (unsigned thread = 0; thread < 3; ++thread) copy_bytes({thread, 3}, target.data() + to, source.data() + from, bytes);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < target.size(); ++i) {
          const bool copied = i >= to && i < to + bytes;
          wrong += target[i] != (copied ? source[from + i - to] : std::byte{0});
        }
        CAPTURE(bytes);
        CAPTURE(from);
        CAPTURE(to);
        CHECK(wrong == 0);
      }
}

TEST_CASE("no word is read that holds a byte beside those to copy") {
  for (const std::size_t bytes : {1, 16, 19, 20, 37, 64})
    for (std::size_t from = 0; from < 16; ++from)
      for (std::size_t to = 0; to < 4; ++to) {
        // The memory ends where the bytes do: the address sanitizer guards what is behind.
        const std::unique_ptr<std::byte[]> memory(new std::byte[from + bytes]());
        alignas(16) std::array<std::byte, 128> target{};
        copy_bytes({0, 1}, target.data() + to, memory.get() + from, bytes);
        CHECK(target[0] == std::byte{0});
      }
}

TEST_CASE("a buffer of another size than the pieces is our own bug") {
  Bytes piece(3), buffer(4);
  CHECK_THROWS_WITH_AS(pack(std::vector<ConstPiece>{piece}, buffer), "internal error: pieces of 3 B and a buffer of 4 B", std::logic_error);
  CHECK_THROWS_WITH_AS(unpack(buffer, std::vector<Piece>{piece, piece}), "internal error: pieces of 6 B and a buffer of 4 B",
                       std::logic_error);
}

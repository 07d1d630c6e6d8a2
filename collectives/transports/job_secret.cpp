#include "collectives/transports/job_secret.hpp"

#include "kernels/base/error.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <sys/random.h>

namespace weft {
namespace {

constexpr std::size_t block_bytes = 64;
constexpr std::size_t longest_secret = 4096;

constexpr std::array<std::uint32_t, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

class Sha256 {
 public:
  void add(std::span<const std::byte> bytes) {
    length_ += bytes.size();
    for (const std::byte b : bytes) {
      block_[filled_++] = b;
      if (filled_ == block_bytes) take_block();
    }
  }
  Proof finish() {
    const std::uint64_t bits = length_ * 8;
    constexpr std::array<std::byte, 1> end = {std::byte{0x80}}, zero = {std::byte{0}};
    add(end);
    while (filled_ != block_bytes - sizeof bits) add(zero);
    std::array<std::byte, sizeof bits> length;
    for (std::size_t i = 0; i < length.size(); ++i) length[i] = static_cast<std::byte>(bits >> (56 - 8 * i));
    add(length);
    Proof out;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(state_[i / 4] >> (24 - 8 * (i % 4)));
    return out;
  }

 private:
  void take_block() {
    filled_ = 0;
    std::array<std::uint32_t, 64> w{};
    for (std::size_t i = 0; i < block_bytes; ++i) w[i / 4] = w[i / 4] << 8 | std::to_integer<std::uint32_t>(block_[i]);
    for (std::size_t i = 16; i < w.size(); ++i) {
      const std::uint32_t a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) + w[i - 7] + (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (std::size_t i = 0; i < w.size(); ++i) {
      const std::uint32_t t1 =
          h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + round_constants[i] + w[i];
      const std::uint32_t t2 = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const std::array<std::uint32_t, 8> more = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < more.size(); ++i) state_[i] += more[i];
  }

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, block_bytes> block_ = {};
  std::size_t filled_ = 0;
  std::uint64_t length_ = 0;
};

Proof sha256(std::span<const std::byte> first, std::span<const std::byte> second) {
  Sha256 hash;
  hash.add(first);
  hash.add(second);
  return hash.finish();
}

}  // namespace

Proof keyed_hash(std::span<const std::byte> key, std::span<const std::byte> message) {
  std::array<std::byte, block_bytes> inner{}, outer{};
  if (key.size() > block_bytes)
    std::ranges::copy(sha256(key, {}), inner.begin());
  else
    std::ranges::copy(key, inner.begin());
  for (std::size_t i = 0; i < block_bytes; ++i) {
    outer[i] = inner[i] ^ std::byte{0x5c};
    inner[i] ^= std::byte{0x36};
  }
  return sha256(outer, sha256(inner, message));
}

bool equal_in_constant_time(const Proof& a, const Proof& b) {
  std::byte different{0};
  for (std::size_t i = 0; i < a.size(); ++i) different |= a[i] ^ b[i];
  return different == std::byte{0};
}

void fill_with_random_bytes(std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t got = ::getrandom(into.data(), into.size(), 0);
    if (got < 0 && errno != EINTR) throw RunError(fmt::format("the system gives no random numbers: {}", std::strerror(errno)));
    if (got > 0) into = into.subspan(static_cast<std::size_t>(got));
  }
}

std::string random_secret() {
  std::string out(32, '\0');
  fill_with_random_bytes(std::as_writable_bytes(std::span(out)));
  return out;
}

std::string secret_in_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(longest_secret + 1, '\0');
  if (!in.read(text.data(), static_cast<std::streamsize>(text.size())) && !in.eof())
    throw InputError(fmt::format("the job's secret cannot be read from {}: {}", path, std::strerror(errno)));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > longest_secret) throw InputError(fmt::format("{}: a job's secret is at most {} bytes", path, longest_secret));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (text.empty()) throw InputError(fmt::format("{}: holds no secret, it is empty", path));
  return text;
}

std::string secret_in_file_or_environment(const std::string& path) {
  if (!path.empty()) return secret_in_file(path);
  const char* const from_environment = std::getenv("WEFT_JOB_SECRET");
  return from_environment != nullptr ? from_environment : "";
}

}  // namespace weft

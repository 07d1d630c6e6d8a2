// What the processes of one job know and nobody else: they prove to each other that they know it, and never send it.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

namespace weft {

// HMAC-SHA-256 (RFC 2104, FIPS 180-4).
using Proof = std::array<std::byte, 32>;
Proof keyed_hash(std::span<const std::byte> key, std::span<const std::byte> message);

// In a time that does not depend on where they differ.
bool equal_in_constant_time(const Proof& a, const Proof& b);

// From the system's source of random numbers.
void fill_with_random_bytes(std::span<std::byte> into);
std::string random_secret();

// The content of a file, without the line's end behind it. Throws InputError where it cannot be read or holds nothing, or too much.
std::string secret_in_file(const std::string& path);

// What the file holds or, where none is named, the value of WEFT_JOB_SECRET; empty: there is none.
std::string secret_in_file_or_environment(const std::string& path);

}  // namespace weft

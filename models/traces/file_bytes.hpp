// The bytes of a trace file, unpacked where gzip packed them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace weft {

// More is refused, packed or not: nobody's memory holds it many times.
constexpr std::size_t max_trace_bytes = std::size_t{4} << 30;

// Throws InputError "FILE: cannot be read: why", also where what is packed breaks off or is longer than max_trace_bytes.
std::string read_trace_bytes(const std::filesystem::path& file);

// The same of bytes at hand; `file` is named in messages.
std::string unpacked(std::string bytes, const std::string& file, std::size_t most = max_trace_bytes);

}  // namespace weft

#include "models/traces/file_bytes.hpp"

#include "kernels/base/error.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>

#include <fmt/format.h>
#include <zlib.h>

namespace weft {
namespace {

bool is_gzip(std::string_view bytes) { return bytes.size() > 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b'; }

class Inflater {
 public:
  explicit Inflater(const std::string& file) : file_(file) {
    constexpr int gzip = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, gzip) != Z_OK) refuse("there is no memory to unpack it");
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  std::string inflate_all(std::string& packed, std::size_t most) {
    std::string out;
    std::size_t given = 0, made = 0;
    for (bool ended = false; !ended;) {
      if (stream_.avail_in == 0 && given < packed.size()) {
        const std::size_t piece = std::min<std::size_t>(packed.size() - given, std::numeric_limits<uInt>::max());
        stream_.next_in = reinterpret_cast<Bytef*>(packed.data() + given);
        stream_.avail_in = static_cast<uInt>(piece);
        given += piece;
      }
      constexpr std::size_t step = 1 << 16;
      if (out.size() == made) out.resize(std::max(2 * made, step));
      const std::size_t room = std::min<std::size_t>(out.size() - made, std::numeric_limits<uInt>::max());
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + made);
      stream_.avail_out = static_cast<uInt>(room);
      const int status = inflate(&stream_, Z_NO_FLUSH);
      made += room - stream_.avail_out;
      if (made > most) refuse(fmt::format("it unpacks to more than {} bytes", most));
      if (status == Z_STREAM_END) {
        ended = stream_.avail_in == 0 && given == packed.size();
        if (!ended && inflateReset(&stream_) != Z_OK) refuse("what is packed is damaged");  // gzip files may follow one another
      } else if (status == Z_BUF_ERROR && stream_.avail_in == 0 && given == packed.size()) {
        refuse("what is packed breaks off");
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        refuse("what is packed is damaged");
      }
    }
    out.resize(made);
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const { throw InputError(fmt::format("{}: cannot be read: {}", file_, why)); }

  const std::string& file_;
  z_stream stream_ = {};
};

}  // namespace

std::string unpacked(std::string bytes, const std::string& file, std::size_t most) {
  if (!is_gzip(bytes)) return bytes;
  return Inflater(file).inflate_all(bytes, most);
}

std::string read_trace_bytes(const std::filesystem::path& file) {
  const auto refuse = [&](const std::string& why) { throw InputError(fmt::format("{}: cannot be read: {}", file.string(), why)); };
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) refuse("it is a folder");
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse(std::strerror(errno));
  std::string bytes;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (!error) {
    if (size > max_trace_bytes) refuse(fmt::format("it has {} bytes; at most {} are read", size, max_trace_bytes));
    bytes.resize(static_cast<std::size_t>(size));
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<std::size_t>(in.gcount()));
  } else {  // a pipe
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  return unpacked(std::move(bytes), file.string());
}

}  // namespace weft

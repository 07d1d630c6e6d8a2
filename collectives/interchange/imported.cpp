#include "collectives/interchange/imported.hpp"

#include "collectives/interchange/msccl_xml.hpp"
#include "collectives/interchange/mscclpp_json.hpp"
#include "kernels/base/error.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace weft {
namespace {

std::string read_whole(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) throw InputError(fmt::format("cannot be read: {}", std::strerror(errno)));
  std::string out;
  char buffer[1 << 16];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, file.get())) {
    out.append(buffer, got);
    if (out.size() > max_schedule_bytes) throw InputError(fmt::format("is longer than {} MiB", max_schedule_bytes >> 20));
  }
  if (std::ferror(file.get()) != 0) throw InputError(fmt::format("cannot be read: {}", std::strerror(errno)));
  return out;
}

}  // namespace

Schedule read_schedule(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == std::string_view::npos) throw InputError("line 1: is empty; must be MSCCL XML or MSCCL++ JSON");
  if (text[first] == '{') return read_mscclpp_json(text.substr(first));
  return read_msccl_xml(text);
}

ImportedSchedule import_schedule(const std::string& path, std::string named) {
  try {
    return {std::move(named), std::make_shared<const Schedule>(read_schedule(read_whole(path)))};
  } catch (const InputError& e) {
    std::vector<std::string> lines;
    for (const std::string& problem : e.problems()) lines.push_back(fmt::format("{}: {}", path, problem));
    throw InputError(lines);
  }
}

bool needs_equal_chunks(const Schedule& s) {
  if (s.collective == Collective::alltoall) return true;
  Step step;
  for (const Steps& channel : s.channels)
    for (int k = 0; k < channel.count(); ++k) {
      channel.produce(k, step);
      for (const Transfer& t : step.transfers())
        if (t.chunk % s.chunks != t.into % s.chunks) return true;
    }
  return false;
}

}  // namespace weft

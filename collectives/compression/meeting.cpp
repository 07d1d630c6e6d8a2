#include "collectives/compression/meeting.hpp"

#include "collectives/executors/blocking.hpp"
#include "kernels/base/hash.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

namespace weft {
namespace {

// What ranks compare, in words and as numbers.
struct Field {
  const char* name;
  std::string (*text)(std::int64_t);
};

std::string as_number(std::int64_t value) { return fmt::format("{}", value); }
std::string as_seed(std::int64_t value) { return fmt::format("{}", static_cast<std::uint64_t>(value)); }
std::string as_compression(std::int64_t value) {
  const auto names = compression_names();
  return value >= 0 && value < static_cast<std::int64_t>(names.size()) ? std::string(names[static_cast<std::size_t>(value)]) : "unknown";
}
std::string as_double(std::int64_t value) { return fmt::format("{:.6g}", std::bit_cast<double>(value)); }
std::string as_memory(std::int64_t value) { return std::string(name_of(value == 1 ? ErrorMemory::sketch : ErrorMemory::dense)); }
std::string as_exchanges(std::int64_t value) { return fmt::format("#{:08x}", static_cast<std::uint64_t>(value) >> 32); }

constexpr std::array<Field, 9> fields = {{{"name", as_compression},
                                          {"elements", as_number},
                                          {"k", as_number},
                                          {"rows", as_number},
                                          {"columns", as_number},
                                          {"seed", as_seed},
                                          {"momentum", as_double},
                                          {"memory", as_memory},
                                          {"exchanges", as_exchanges}}};
using Record = std::array<std::int64_t, fields.size()>;

// Which collectives are run by which algorithms, in one number.
std::int64_t hash_of(const CompressionPlan& plan) {
  std::uint64_t hash = golden_ratio;
  const auto add = [&hash](std::uint64_t value) { hash = mixed(hash ^ value) + golden_ratio; };
  for (const Phase& phase : plan.phases)
    if (const auto* exchange = std::get_if<Exchange>(&phase)) {
      add(static_cast<std::uint64_t>(exchange->request.collective));
      for (const char letter : exchange->request.algorithm) add(static_cast<unsigned char>(letter));
      add(static_cast<std::uint64_t>(exchange->request.settings.group));
      add(static_cast<std::uint64_t>(exchange->request.settings.servers));
      add(static_cast<std::uint64_t>(exchange->request.settings.pieces));
      add(static_cast<std::uint64_t>(exchange->elements));
    }
  return static_cast<std::int64_t>(hash);
}

Record record_of(const CompressionSettings& s, const CompressionPlan& plan) {
  const auto names = compression_names();
  const bool sketches = sends_sketches(s.name);
  return {std::find(names.begin(), names.end(), s.name) - names.begin(),
          plan.elements,
          plan.k,
          sketches ? s.rows : 0,
          plan.sketch.columns,
          sketches ? static_cast<std::int64_t>(s.seed) : 0,
          std::bit_cast<std::int64_t>(s.momentum),
          s.memory == ErrorMemory::sketch ? 1 : 0,
          hash_of(plan)};
}

std::string differences(const Record& of_rank, const Record& of_root, Rank rank) {
  std::vector<std::string> out;
  for (std::size_t f = 0; f < fields.size(); ++f)
    if (of_rank[f] != of_root[f])
      out.push_back(
          fmt::format("{} {} on rank {}, {} on rank 0", fields[f].name, fields[f].text(of_rank[f]), rank, fields[f].text(of_root[f])));
  return fmt::format("ranks were started with different compression settings: {}", fmt::join(out, "; "));
}

}  // namespace

void meet(const CompressionSettings& settings, const CompressionPlan& plan, Rank rank, Transport& transport) {
  std::vector<Record> all(static_cast<std::size_t>(plan.ranks));
  all[static_cast<std::size_t>(rank)] = record_of(settings, plan);
  const Schedule schedule = build({.collective = Collective::allgather, .algorithm = "bruck", .ranks = plan.ranks});
  const auto elements = static_cast<std::int64_t>(fields.size()) * plan.ranks;
  const Buffer buffer{{.elements = elements, .chunks = schedule.chunks}, DType::int64, reinterpret_cast<std::byte*>(all.data())};
  FilteredSteps steps(schedule.channels.front(), rank);
  run_blocking(steps, 0, ReduceOp::sum, buffer, transport);
  for (Rank r = 1; r < plan.ranks; ++r)
    if (all[static_cast<std::size_t>(r)] != all[0]) throw RunError(differences(all[static_cast<std::size_t>(r)], all[0], r));
}

}  // namespace weft

#include "collectives/engines/engines.hpp"

#include <algorithm>
#include <array>

namespace weft {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

}  // namespace

std::span<const EngineEntry> engines() {
  static const std::array<EngineEntry, 5> all{{
      {"none", "one all-reduce of all gradients after the backward pass", "the reference without overlap", NoneSettings{}},
      {"ddp", "buckets in the order of the backward pass, launched as they fill", "PyTorch DistributedDataParallel; Li et al., VLDB 2020",
       DdpSettings{}},
      {"horovod", "a coordinator collects ready lists in cycles and answers with fused all-reduces",
       "Sergeev & Del Balso, arXiv 1802.05799; version 0.21", HorovodSettings{}},
      {"byteps", "partitions by priority to parameter servers", "Jiang et al., OSDI 2020", BytepsSettings{}},
      {"aiacc", "units of one granularity on many streams, agreed upon by a reduced bit vector", "Lin et al., ICDCS 2022", AiaccSettings{}},
  }};
  return all;
}

const EngineEntry* find_engine(std::string_view name) {
  const auto found = std::ranges::find(engines(), name, &EngineEntry::name);
  return found == engines().end() ? nullptr : &*found;
}

std::string_view name_of(const EngineSettings& settings) { return engines()[settings.index()].name; }

std::vector<Problem> problems(const EngineSettings& settings) {
  return std::visit(Overloaded{[](const NoneSettings&) { return std::vector<Problem>{}; }, [](const auto& s) { return problems(s); }},
                    settings);
}

std::vector<std::string> remarks(const EngineSettings& settings, std::span<const Bytes> gradients) {
  Bytes all;
  for (const Bytes g : gradients) all += g;
  const auto larger = [&](const char* what, Bytes size, const char* meaning) {
    if (size < all) return std::vector<std::string>{};
    return std::vector{fmt::format("a {} of {} holds the whole model ({}): {}", what, to_string(size), to_string(all), meaning)};
  };
  const auto ddp = [&](const DdpSettings& s) {
    if (s.first_bucket >= all) return larger("first bucket", s.first_bucket, "one bucket, nothing overlaps");
    return larger("bucket", s.bucket, "all that the first bucket leaves is in one");
  };
  return std::visit(Overloaded{ddp, [&](const AiaccSettings& s) { return larger("granularity", s.granularity, "one unit, on one stream"); },
                               [](const auto&) { return std::vector<std::string>{}; }},
                    settings);
}

std::unique_ptr<GradientEngine> make_engine(const EngineSettings& settings, const EngineSetup& setup, EngineHost& host) {
  return std::visit(
      Overloaded{
          [&](const NoneSettings& s) -> std::unique_ptr<GradientEngine> { return std::make_unique<NoneEngine>(s, setup, host); },
          [&](const DdpSettings& s) -> std::unique_ptr<GradientEngine> { return std::make_unique<DdpEngine>(s, setup, host); },
          [&](const HorovodSettings& s) -> std::unique_ptr<GradientEngine> { return std::make_unique<HorovodEngine>(s, setup, host); },
          [&](const BytepsSettings& s) -> std::unique_ptr<GradientEngine> { return std::make_unique<BytepsEngine>(s, setup, host); },
          [&](const AiaccSettings& s) -> std::unique_ptr<GradientEngine> { return std::make_unique<AiaccEngine>(s, setup, host); }},
      settings);
}

}  // namespace weft

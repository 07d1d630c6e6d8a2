#include "collectives/engines/byteps.hpp"

#include <algorithm>

namespace weft {

std::vector<Problem> problems(const BytepsSettings& settings) {
  std::vector<Problem> found;
  if (settings.partition.count < 1)
    found.push_back({"/partition", fmt::format("must be at least 1B, got {}", to_string(settings.partition))});
  if (settings.credit < 1) found.push_back({"/credit", fmt::format("must be at least 1, got {}", settings.credit)});
  if (settings.servers < 0 || settings.servers > max_byteps_servers)
    found.push_back({"/servers", fmt::format("must be between 0 and {}, got {}", max_byteps_servers, settings.servers)});
  return found;
}

int byteps_servers(const BytepsSettings& settings, const EngineSetup& setup) {
  return settings.servers > 0 ? settings.servers : setup.machines;
}

int byteps_server(int gradient, int partition, int servers) {
  std::uint64_t hash = 5381;
  for (const char c : std::to_string((std::uint64_t{static_cast<std::uint32_t>(gradient)} << 16) + static_cast<std::uint32_t>(partition)))
    hash = hash * 33 + static_cast<std::uint64_t>(c);
  return static_cast<int>(hash % static_cast<std::uint64_t>(servers));
}

BytepsEngine::BytepsEngine(const BytepsSettings& settings, const EngineSetup& setup, EngineHost& host)
    : EngineBase(setup, host), settings_(settings), servers_(byteps_servers(settings, setup)), first_{0} {
  for (int g = 0; g < gradients(); ++g) first_.push_back(first_.back() + partitions(g));
}

int BytepsEngine::partitions(int gradient) const {
  return static_cast<int>((size(gradient).count + settings_.partition.count - 1) / settings_.partition.count);
}

void BytepsEngine::on_ready(int gradient) {
  for (int p = 0; p < partitions(gradient); ++p) queue_.emplace(gradient, p);
  send_what_fits();
}

void BytepsEngine::pushed(int) {
  --leaving_;
  send_what_fits();
}

void BytepsEngine::send_what_fits() {
  while (!queue_.empty() && leaving_ < settings_.credit) {
    const auto [g, p] = *queue_.begin();
    queue_.erase(queue_.begin());
    ++leaving_;
    const Bytes offset = p * settings_.partition;
    const Bytes piece{std::min((size(g) - offset).count, settings_.partition.count)};
    start({.id = step() * first_.back() + first_[static_cast<std::size_t>(g)] + p,
           .size = piece,
           .server = byteps_server(g, p, servers_),
           .priority = g,
           .what = {{g, offset, piece}},
           .label = fmt::format("partition {} of gradient {}", p, g)});
  }
}

}  // namespace weft

// All gradient engines by name: what the reader may accept and every run builds its engines from.
#pragma once

#include "collectives/engines/aiacc.hpp"
#include "collectives/engines/byteps.hpp"
#include "collectives/engines/ddp.hpp"
#include "collectives/engines/horovod.hpp"

#include <memory>
#include <variant>

namespace weft {

using EngineSettings = std::variant<NoneSettings, DdpSettings, HorovodSettings, BytepsSettings, AiaccSettings>;

struct EngineEntry {
  std::string_view name;
  std::string_view description;  // one sentence
  std::string_view source;
  EngineSettings defaults;
};
std::span<const EngineEntry> engines();
const EngineEntry* find_engine(std::string_view name);
std::string_view name_of(const EngineSettings&);

// Places are pointers relative to the engine: /bucket, /streams.
std::vector<Problem> problems(const EngineSettings&);
// What holds and the user may not expect: a bucket that is larger than the model.
std::vector<std::string> remarks(const EngineSettings&, std::span<const Bytes> gradients);

// Only for settings without problems. The host must outlive the engine.
std::unique_ptr<GradientEngine> make_engine(const EngineSettings& settings, const EngineSetup& setup, EngineHost& host);

}  // namespace weft

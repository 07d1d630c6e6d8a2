// What the flow network says to a measurement, in this process: no SimGrid engine around it, so it may be asked many times. To ATP
// and SwitchML the packet network, where it is the scenario's.
#pragma once

#include "models/routes.hpp"
#include "sim/scenario/scenario.hpp"
#include "validation/measurements/measurement.hpp"
#include "validation/renames.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft {

// What a measurement measured, in our words.
struct Experiment {
  std::string collective;  // of a measurement: also "latency", "bandwidth" and "bidirectional_bandwidth"
  AlgorithmChoice algorithm;
  int ranks = 0;
  Bytes size;
};

// The window of osu_bw and osu_bibw: so many messages are on their way, in each direction that is measured, before anybody waits.
constexpr int bandwidth_window = 64;

class Simulator {
 public:
  // Throws InputError if the fabric cannot be built.
  explicit Simulator(Scenario scenario);
  ~Simulator();
  Simulator(Simulator&&) noexcept;
  Simulator& operator=(Simulator&&) noexcept;

  const Scenario& scenario() const { return scenario_; }

  // Microseconds, as the measurement counts them: of a bandwidth, one message's share of all that were on their way.
  double time_us(const Experiment& experiment, const HardwareProfile& hardware);

  // The least time in which any algorithm without aggregation can do it on links that cost nothing but their bandwidth.
  double wire_limit_us(const Experiment& experiment) const;

 private:
  struct Prepared;
  Prepared& prepared(const Experiment& experiment);
  double in_network_us(const Experiment& experiment, const HardwareProfile& hardware) const;

  Scenario scenario_;
  std::unique_ptr<Fabric> fabric_;
  std::map<std::string, std::unique_ptr<Prepared>> prepared_;
};

// Which of our algorithms a measured name means: what `renames` says, the name itself, a synonym ("rabenseifner", "tree"), or
// either with the library behind it ("ring_ompi"). Its settings are those of `otherwise` where that has one of the name and the
// renaming gives none. No name: the first of `otherwise`. Nothing: we do not have it.
std::optional<AlgorithmChoice> algorithm_measured(const Measurement& measurement, const Renames& renames,
                                                  const std::vector<AlgorithmChoice>& otherwise);

}  // namespace weft

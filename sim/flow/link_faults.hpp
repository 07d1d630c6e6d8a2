// Failures of links and switches on the flow network: at their dates links lose their rate, and routes follow after a time.
#pragma once

#include "models/fabric/analysis/detours.hpp"
#include "models/faults.hpp"
#include "sim/flow/fluid.hpp"
#include "sim/network/shared_network.hpp"

#include <vector>

namespace weft {

class LinkFaults final : public Driver {
 public:
  // Joins the network, before any other driver and before it knows any route. `fabric` must outlive it.
  LinkFaults(const Faults& faults, const Fabric& fabric, Ecmp ecmp, SharedNetwork<FluidNetwork>& network);

  void begin() override;
  void ended(std::uint32_t token) override;
  State state() const override { return State::finished; }  // nobody waits for it
  std::string waiting() const override { return ""; }

 private:
  struct Entry {
    Failure failure;
    std::vector<LinkId> links;
    bool lasts(SimTime at) const { return failure.at <= at && at < failure.until; }
  };
  // A date at which links change, or routes.
  struct Change {
    SimTime at;
    bool of_routes;
  };

  void apply(const Change& change);
  void change_links(SimTime at);
  void change_routes(SimTime as_of);

  FluidNetwork& model_;
  Lane<FluidNetwork>& lane_;
  Detours detours_;
  const SimTime reroute_after_;
  std::vector<Entry> entries_;
  std::vector<Change> changes_;  // in the order of their dates
};

}  // namespace weft

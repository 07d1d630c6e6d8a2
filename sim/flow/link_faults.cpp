#include "sim/flow/link_faults.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace weft {

LinkFaults::LinkFaults(const Faults& faults, const Fabric& fabric, Ecmp ecmp, SharedNetwork<FluidNetwork>& network)
    : model_(network.model()), lane_(network.join(*this)), detours_(fabric, ecmp), reroute_after_(faults.reroute_after) {
  std::vector<SimTime> dates;
  for (const Failure& failure : faults.failures) {
    entries_.push_back({failure, links_of(failure, fabric)});
    dates.push_back(failure.at);
    if (failure.until != SimTime::never()) dates.push_back(failure.until);
  }
  std::ranges::sort(dates);
  dates.erase(std::unique(dates.begin(), dates.end()), dates.end());
  for (const SimTime at : dates) changes_.push_back({at, false});
  for (const SimTime at : dates)
    if (at + reroute_after_ != SimTime::never()) changes_.push_back({at + reroute_after_, true});
  std::ranges::stable_sort(changes_, [](const Change& a, const Change& b) { return a.at < b.at; });
  model_.expect_faults(
      static_cast<int>(changes_.size()), [this](std::span<const LinkId> path) { return detours_.around(path); },
      [&fabric](LinkId link) {
        if (link >= fabric.links()) return std::string("the rate cap of a flow");
        return fabric.link_name(link) + (fabric.link(link).in_server ? " (in a server, where nothing is rerouted)" : "");
      });
}

void LinkFaults::begin() {
  for (std::uint32_t i = 0; i < changes_.size(); ++i)
    if (changes_[i].at == SimTime{})
      apply(changes_[i]);  // before others add routes
    else
      lane_.wake(changes_[i].at, i);
}

void LinkFaults::ended(std::uint32_t token) { apply(changes_[token]); }

void LinkFaults::apply(const Change& change) {
  if (change.of_routes)
    change_routes(change.at - reroute_after_);
  else
    change_links(change.at);
  model_.changed();
}

// Of failures of one link at once the worst counts.
void LinkFaults::change_links(SimTime at) {
  std::map<LinkId, double> remaining;
  for (const Entry& entry : entries_)
    for (const LinkId link : entry.links) {
      double& least = remaining.try_emplace(link, 1.0).first->second;
      if (entry.lasts(at)) least = std::min(least, entry.failure.remaining);
    }
  for (const auto& [link, share] : remaining) model_.set_remaining(link, share);
}

void LinkFaults::change_routes(SimTime as_of) {
  std::vector<LinkId> down;
  for (const Entry& entry : entries_)
    if (entry.failure.remaining == 0 && entry.lasts(as_of)) down.insert(down.end(), entry.links.begin(), entry.links.end());
  detours_.set_down(down);
  model_.reroute();
}

}  // namespace weft

#include "sim/scenario/fault_fields.hpp"

#include "models/server/server_fabric.hpp"
#include "sim/scenario/networks.hpp"

#include <algorithm>

namespace weft {
namespace {

struct Never {
  static constexpr SimTime value = SimTime::never();
  static constexpr const char* word = "never";
};

Field<Failure> name_field(const char* name, std::string Failure::*member, const char* doc) {
  auto out = optional(name, member, doc);
  out.writes([member](const Failure& f) { return (f.*member).empty() ? Json(Json::value_t::discarded) : Json(f.*member); });
  return out;
}

}  // namespace

Declaration<Failure> Declared<Failure>::declaration() {
  using F = Failure;
  return {
      .doc = "A link, a cable or a switch that fails or slows down for a time; one of the three is named.",
      .fields = {
          name_field("link", &F::link, "The direction of a cable that fails, such as \"leaf0->spine2\"."),
          name_field("cable", &F::cable, "The cable that fails in both directions, by the name of either, such as \"leaf0->spine2\"."),
          name_field("switch", &F::network_switch,
                     "The switch that fails, with all of its cables, such as \"spine2\", or the device inside a server: \"server0/nic0\"."),
          optional("at", &F::at, "The time at which it fails.", at_least(SimTime{})),
          optional_as<OrWord<SimTime, Never>>("until", &F::until, "The time at which it works again."),
          optional("remaining", &F::remaining,
                   "The share of its bandwidth that is left, at least 0 and less than 1: 0 is a failure, more a link that is slow.")}};
}

Declaration<Faults> Declared<Faults>::declaration() {
  using F = Faults;
  return {.doc = "What goes wrong with the fabric while the workload runs; each row says what that costs.",
          .fields = {optional("failures", &F::failures, "Links, cables and switches that fail or slow down."),
                     optional_as<OrWord<SimTime, Never>>(
                         "reroute_after", &F::reroute_after,
                         "The time from a failure or recovery until routes follow it (detection and convergence); what is on a failed link "
                         "waits until then. \"never\": routes stay, and it waits until the link works again.",
                         at_least(SimTime{}))}};
}

Field<Scenario> faults_field() {
  auto out = optional("faults", &Scenario::faults, "Links and switches that fail or slow down, and what routing makes of it.");
  out.writes([](const Scenario& s) { return s.faults.any() ? Form<Faults>::write(s.faults) : Json(Json::value_t::discarded); });
  return out;
}

std::vector<Problem> fault_problems(const Scenario& s) {
  if (!s.faults.any()) return {};
  const NetworkTraits& network = traits_of(s.network);
  if (!network.faults)
    return {{"/faults", fmt::format("links fail on {} only, got \"{}\"", networks_that(&NetworkTraits::faults), network.name)}};
  std::vector<Problem> out;
  for (Problem& problem : problems(s.faults, *build(s.fabric.spec, s.server)))
    out.push_back({"/faults" + problem.where, std::move(problem.what)});
  if (!network.reroutes) {
    if (s.faults.reroute_after != SimTime::never())
      out.push_back({"/faults/reroute_after", fmt::format("routes change on {} only: write \"never\" for \"{}\", whose senders retransmit",
                                                          networks_that(&NetworkTraits::reroutes), network.name)});
    for (std::size_t i = 0; i < s.faults.failures.size(); ++i)
      if (const double remaining = s.faults.failures[i].remaining; remaining > 0)
        out.push_back({fmt::format("/faults/failures/{}/remaining", i),
                       fmt::format("links slow down on {} only: must be 0 for \"{}\", got {}", networks_that(&NetworkTraits::reroutes),
                                   network.name, remaining)});
  }
  std::vector<AlgorithmChoice> algorithms = s.workload.algorithms;
  for (const JobChoice& job : s.jobs)
    if (job.algorithm) algorithms.push_back(*job.algorithm);
  const auto in_network = std::ranges::find_if(algorithms, [](const AlgorithmChoice& a) { return is_in_network(a.name); });
  if (network.reroutes && in_network != algorithms.end())
    out.push_back(
        {"/faults", fmt::format("{} on the network \"{}\" knows no failures: its trees of flows stay; use \"packet\", or leave it out",
                                in_network->name, network.name)});
  return out;
}

std::string describe(const Faults& faults) {
  if (!faults.any()) return "";
  std::vector<std::string> parts;
  for (const Failure& failure : faults.failures) parts.push_back(describe(failure));
  return fmt::format("{}; {}", fmt::join(parts, ", "),
                     faults.reroute_after == SimTime::never() ? "routes stay"
                     : faults.reroute_after == SimTime{}      ? "routes follow at once"
                                                              : "routes follow after " + to_string(faults.reroute_after));
}

}  // namespace weft

#include "collectives/in_network/deployment.hpp"

#include <algorithm>
#include <numeric>

namespace weft {
namespace {

std::vector<Address> consecutive(Address first, int count) {
  std::vector<Address> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), first);
  return out;
}

// Of a round. SwitchML's workers count on by as many slots as there are.
std::uint32_t packets_of(std::int64_t values, int each, std::uint32_t rounds) {
  constexpr std::int64_t most = UINT32_MAX - (1 << 20);
  const std::int64_t packets = (values + each - 1) / each;
  if (packets > most / rounds)
    throw InputError(fmt::format("{} x {} values are {} packets of {}, and there are numbers for {}", rounds, values,
                                 static_cast<double>(packets) * rounds, each, most));
  return static_cast<std::uint32_t>(packets);
}

}  // namespace

std::vector<Address> AtpFlow::members() const { return consecutive(first_worker, workers()); }

AtpWorker::Place AtpFlow::worker_place(int worker) const {
  return {.self = first_worker + worker,
          .server = server,
          .flow = number,
          .member = tree.members[static_cast<std::size_t>(worker)],
          .packets = packets};
}

AtpServer::Place AtpFlow::server_place() const { return {.self = server, .workers = group, .flow = number, .packets = rounds * packets}; }

AtpDeployment deploy_atp(const AtpSettings& settings, std::span<const AtpJob> jobs, std::span<const int> programmable) {
  AtpDeployment out;
  Address next = 0;
  for (std::size_t j = 0; j < jobs.size(); ++j)
    for (std::size_t s = 0; s < jobs[j].shares.size(); ++s) {
      const AtpShare& share = jobs[j].shares[s];
      const AtpTurn turn{.job = static_cast<int>(j),
                         .jobs = static_cast<int>(jobs.size()),
                         .flow = static_cast<int>(s),
                         .flows = static_cast<int>(jobs[j].shares.size())};
      const auto workers = static_cast<Address>(jobs[j].workers_at.size());
      out.flows.push_back({.number = static_cast<int>(out.flows.size()),
                           .job = static_cast<int>(j),
                           .share = share,
                           .packets = packets_of(share.values, settings.values_per_packet, jobs[j].rounds),
                           .rounds = jobs[j].rounds,
                           .first_worker = next,
                           .server = next + workers,
                           .tree = plan_atp_tree(jobs[j].workers_at, share.at, programmable),
                           .walk = atp_walk(settings, turn)});
      next += workers + 1;
    }
  for (const int at : programmable) {
    AtpSwitchPlace& place = out.switches.emplace_back(AtpSwitchPlace{.at = at, .self = next++});
    for (const AtpFlow& flow : out.flows)
      if (flow.share.at == at) place.attached.push_back(flow.server);
  }
  for (AtpFlow& flow : out.flows) flow.group = next++;
  return out;
}

std::vector<AtpWalk> AtpDeployment::walks() const {
  std::vector<AtpWalk> out;
  for (const AtpFlow& flow : flows) out.push_back(flow.walk);
  return out;
}

std::vector<Address> SwitchmlJobPlace::members() const { return consecutive(first_worker, workers); }

SwitchmlWorker::Place SwitchmlJobPlace::worker_place(int worker) const {
  return {.self = first_worker + worker, .at = at, .job = number, .worker = worker, .slots = slots, .packets = packets};
}

SwitchmlDeployment deploy_switchml(const SwitchmlSettings& settings, std::span<const SwitchmlJob> jobs) {
  SwitchmlDeployment out;
  Address next = 0;
  for (const SwitchmlJob& job : jobs) {
    const auto together = std::ranges::count_if(jobs, [&](const SwitchmlJob& other) { return other.at == job.at; });
    out.jobs.push_back({.number = static_cast<int>(out.jobs.size()),
                        .workers = job.workers,
                        .slots = settings.slots / static_cast<int>(together),
                        .packets = packets_of(job.values, settings.values_per_packet, job.rounds),
                        .first_worker = next});
    next += job.workers;
    if (std::ranges::none_of(out.switches, [&](const SwitchmlSwitchPlace& s) { return s.at == job.at; }))
      out.switches.push_back({.at = job.at});
  }
  for (SwitchmlSwitchPlace& place : out.switches) place.self = next++;
  for (SwitchmlJobPlace& job : out.jobs) job.group = next++;
  for (std::size_t j = 0; j < jobs.size(); ++j)
    for (SwitchmlSwitchPlace& place : out.switches) {
      const bool here = place.at == jobs[j].at;
      SwitchmlJobPlace& job = out.jobs[j];
      if (here) job.at = place.self;
      place.pools.push_back({.workers = job.workers, .slots = here ? job.slots : 0, .group = job.group});
    }
  return out;
}

}  // namespace weft

#include "collectives/in_network/deployment.hpp"

#include "collectives/in_network/atp_switch.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace weft {
namespace {

using Role = InNetworkDeployment::Role;

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

template <class Settings>
std::vector<Settings> settings_by_job(std::span<const InNetworkTask> tasks) {
  std::vector<Settings> out;
  for (const InNetworkTask& task : tasks) out.push_back(std::get<Settings>(task.settings));
  return out;
}

InNetworkDeployment deploy_atp(std::span<const InNetworkTask> tasks, std::span<const int> programmable) {
  struct Plan {  // what agents refer to
    std::vector<AtpSettings> settings;
    std::vector<AtpFlow> flows;
    std::vector<AtpWalk> walks;
  };
  const auto plan = std::make_shared<Plan>(Plan{settings_by_job<AtpSettings>(tasks), atp_flows(tasks, programmable), {}});
  InNetworkDeployment out{.jobs = std::vector<InNetworkDeployment::Job>(tasks.size()),
                          .places = plan->settings.front().places(),
                          .values_per_packet = plan->settings.front().values_per_packet(),
                          .floats = plan->settings.front().floats};
  for (const AtpFlow& flow : plan->flows) {
    const auto j = static_cast<std::size_t>(flow.job);
    const AtpSettings& settings = plan->settings[j];
    const int server = out.jobs[j].servers++;
    out.jobs[j].packets += std::int64_t{flow.rounds} * flow.packets;
    for (int w = 0; w < flow.workers(); ++w)
      out.seats.push_back({.role = Role::worker,
                           .self = flow.first_worker + w,
                           .job = flow.job,
                           .number = w,
                           .at = tasks[j].workers_at[static_cast<std::size_t>(w)],
                           .first_value = flow.first_value,
                           .values = flow.values,
                           .agent = [plan, &settings, part = flow.worker_part(w)](PacketValues* values) {
                             return std::make_unique<AtpWorker>(settings, part, values);
                           }});
    out.seats.push_back({.role = Role::server,
                         .self = flow.server(),
                         .job = flow.job,
                         .number = server,
                         .at = tasks[j].servers_at[static_cast<std::size_t>(server)],
                         .agent = [plan, &settings, &flow](PacketValues*) {
                           return std::make_unique<AtpServer>(settings, flow.tree, flow.server_part());
                         }});
    out.groups.push_back({flow.group, consecutive(flow.first_worker, flow.workers())});
    plan->walks.push_back(flow.walk);
  }
  for (const int at : programmable) {
    std::vector<Address> attached;
    for (const InNetworkDeployment::Seat& seat : out.seats)
      if (seat.role == Role::server && seat.at == at) attached.push_back(seat.self);
    out.seats.push_back(
        {.role = Role::program, .self = static_cast<Address>(out.seats.size()), .at = at, .agent = [plan, attached](PacketValues*) {
           return std::make_unique<AtpSwitch>(plan->settings.front(), plan->walks, attached);
         }});
  }
  return out;
}

// Jobs that add up in the same switch share its slots evenly.
InNetworkDeployment deploy_switchml(std::span<const InNetworkTask> tasks, std::span<const int>) {
  struct Plan {
    std::vector<SwitchmlSettings> settings;
    std::vector<SwitchmlPool> pools;
  };
  const auto plan = std::make_shared<Plan>(Plan{settings_by_job<SwitchmlSettings>(tasks), {}});
  const SwitchmlSettings& of_switch = plan->settings.front();
  InNetworkDeployment out{.places = of_switch.places(), .values_per_packet = of_switch.values_per_packet()};
  std::vector<int> switches;  // each that a job adds up in, once
  Address workers = 0;
  for (const InNetworkTask& task : tasks) {
    if (std::ranges::find(switches, task.meets_at) == switches.end()) switches.push_back(task.meets_at);
    workers += static_cast<Address>(task.workers_at.size());
  }
  Address group = workers + static_cast<Address>(switches.size());
  for (std::size_t j = 0; j < tasks.size(); ++j) {
    const InNetworkTask& task = tasks[j];
    const int slots = of_switch.places() / static_cast<int>(std::ranges::count(tasks, task.meets_at, &InNetworkTask::meets_at));
    const std::uint32_t packets = packets_of(task.values, of_switch.values_per_packet(), task.rounds);
    const auto at = static_cast<Address>(std::ranges::find(switches, task.meets_at) - switches.begin());
    const int count = static_cast<int>(task.workers_at.size());
    out.jobs.push_back({.packets = std::int64_t{task.rounds} * packets, .slots = slots});
    out.groups.push_back({group, consecutive(static_cast<Address>(out.seats.size()), count)});
    plan->pools.push_back({.workers = count, .slots = slots, .group = group++});
    for (int w = 0; w < count; ++w) {
      const SwitchmlWorker::Part part{.self = static_cast<Address>(out.seats.size()),
                                      .at = workers + at,
                                      .job = static_cast<int>(j),
                                      .worker = w,
                                      .slots = slots,
                                      .packets = packets,
                                      .open = task.open};
      out.seats.push_back({.role = Role::worker,
                           .self = part.self,
                           .job = part.job,
                           .number = w,
                           .at = task.workers_at[static_cast<std::size_t>(w)],
                           .values = task.values,
                           .agent = [plan, part](PacketValues* values) {
                             return std::make_unique<SwitchmlWorker>(plan->settings[static_cast<std::size_t>(part.job)], part, values);
                           }});
    }
  }
  for (const int at : switches) {
    std::vector<SwitchmlPool> pools = plan->pools;  // without slots where a job adds up elsewhere
    for (std::size_t j = 0; j < tasks.size(); ++j)
      if (tasks[j].meets_at != at) pools[j].slots = 0;
    const auto self = static_cast<Address>(out.seats.size());
    out.seats.push_back({.role = Role::program, .self = self, .at = at, .agent = [plan, self, pools](PacketValues*) {
                           return std::make_unique<SwitchmlSwitch>(plan->settings.front(), self, pools);
                         }});
  }
  return out;
}

// In the order of InNetworkSettings.
const InNetworkProtocol protocols[] = {
    {"atp", "In-network aggregation by edge switches with free aggregators; parameter servers finish the sums.", "Lao et al. 2021",
     AtpSettings{}, deploy_atp},
    {"switchml", "In-network aggregation by one switch with a pool of slots, without parameter servers.", "Sapio et al. 2021",
     SwitchmlSettings{}, deploy_switchml},
};
static_assert(std::size(protocols) == std::variant_size_v<InNetworkSettings>);

}  // namespace

std::span<const InNetworkProtocol> in_network_protocols() { return protocols; }

const InNetworkProtocol* find_in_network(std::string_view name) {
  const auto found = std::ranges::find(protocols, name, &InNetworkProtocol::name);
  return found == std::end(protocols) ? nullptr : found;
}

const InNetworkProtocol& protocol_of(const InNetworkSettings& settings) { return protocols[settings.index()]; }

Bytes payload_of(const InNetworkSettings& settings) {
  return std::visit([](const auto& s) { return s.payload; }, settings);
}
Bytes packet_of(const InNetworkSettings& settings) {
  return std::visit([](const auto& s) { return s.packet; }, settings);
}
const HostCost& host_of(const InNetworkSettings& settings) {
  return std::visit([](const auto& s) -> const HostCost& { return s.host; }, settings);
}
std::vector<Problem> problems(const InNetworkSettings& settings) {
  return std::visit([](const auto& s) { return problems(s); }, settings);
}

InNetworkDeployment deploy(std::span<const InNetworkTask> tasks, std::span<const int> programmable) {
  return protocol_of(tasks.front().settings).deploy(tasks, programmable);
}

AtpWorker::Part AtpFlow::worker_part(int worker) const {
  return {.self = first_worker + worker,
          .server = server(),
          .flow = number,
          .member = tree.members[static_cast<std::size_t>(worker)],
          .packets = packets,
          .open = open};
}

ShareOfValues share_of_server(std::int64_t values, std::int64_t s, std::int64_t servers) {
  const std::int64_t first = values * s / servers;
  return {first, values * (s + 1) / servers - first};
}

std::vector<AtpFlow> atp_flows(std::span<const InNetworkTask> tasks, std::span<const int> programmable) {
  std::vector<AtpFlow> out;
  Address next = 0;
  for (std::size_t j = 0; j < tasks.size(); ++j) {
    const InNetworkTask& task = tasks[j];
    const AtpSettings& settings = std::get<AtpSettings>(task.settings);
    const auto servers = static_cast<std::int64_t>(task.servers_at.size());
    for (std::int64_t s = 0; s < servers; ++s) {
      const auto [first, values] = share_of_server(task.values, s, servers);
      const AtpTurn turn{.job = static_cast<int>(j),
                         .jobs = static_cast<int>(tasks.size()),
                         .flow = static_cast<int>(s),
                         .flows = static_cast<int>(servers)};
      out.push_back({.number = static_cast<int>(out.size()),
                     .job = static_cast<int>(j),
                     .first_value = first,
                     .values = values,
                     .packets = packets_of(values, settings.values_per_packet(), task.rounds),
                     .rounds = task.rounds,
                     .open = task.open,
                     .first_worker = next,
                     .tree = plan_atp_tree(task.workers_at, task.servers_at[static_cast<std::size_t>(s)], programmable),
                     .walk = atp_walk(settings, turn)});
      next = out.back().server() + 1;
    }
  }
  next += static_cast<Address>(programmable.size());
  for (AtpFlow& flow : out) flow.group = next++;
  return out;
}

}  // namespace weft

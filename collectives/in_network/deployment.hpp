// What an in-network protocol is to those who run it, on whatever carries its datagrams: settings, a deployment of agents by address,
// and what they count (agent.hpp). Switches go by any numbers; "at" is the number of the switch that something hangs below.
#pragma once

#include "collectives/in_network/atp_server.hpp"
#include "collectives/in_network/atp_worker.hpp"
#include "collectives/in_network/switchml.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace weft {

// Of a job, of the protocol of the same place in in_network_protocols().
using InNetworkSettings = std::variant<AtpSettings, SwitchmlSettings>;
Bytes payload_of(const InNetworkSettings&);
Bytes packet_of(const InNetworkSettings&);
const HostCost& host_of(const InNetworkSettings&);
std::vector<Problem> problems(const InNetworkSettings&);

struct InNetworkTask {
  InNetworkSettings settings = {};
  std::vector<int> workers_at = {};  // of each worker
  std::vector<int> servers_at = {};  // of each server, which has an equal part of the message
  int meets_at = -1;                 // the switch that adds everything up, of a protocol without servers
  std::int64_t values = 0;
  std::uint32_t rounds = 1;  // how often it is added up
  bool open = false;         // instead: rounds are added one by one (InNetworkAgent::add_round), each of at most so many values
};

// Addresses are dense, from 0: the seats in their order, then the groups.
struct InNetworkDeployment {
  enum class Role { worker, server, program };
  struct Seat {
    Role role = Role::worker;
    Address self = nobody;
    int job = -1;                              // none of a program
    int number = 0;                            // among the job's workers or servers
    int at = 0;                                // of a program: its switch
    std::int64_t first_value = 0, values = 0;  // of a worker: the part of the message that goes this way
    std::function<std::unique_ptr<InNetworkAgent>(PacketValues*)> agent = {};
  };
  struct Group {
    Address self = nobody;
    std::vector<Address> members = {};
  };
  struct Job {
    std::int64_t packets = 0;  // of all rounds; of an open task, of the largest
    int servers = 0, slots = 0;
  };

  std::vector<Seat> seats = {};
  std::vector<Group> groups = {};
  std::vector<Job> jobs = {};
  int places = 0;  // of each switch, for packets
  int values_per_packet = 1;
  bool floats = false;  // sums that do not fit become floating point
};

struct InNetworkProtocol {
  std::string_view name, description, source;
  InNetworkSettings defaults;
  // `programmable` are the switches that can run a program, each once. Jobs that share a switch agree on what is its own.
  InNetworkDeployment (*deploy)(std::span<const InNetworkTask> tasks, std::span<const int> programmable);
};
std::span<const InNetworkProtocol> in_network_protocols();
const InNetworkProtocol* find_in_network(std::string_view name);  // nullptr where there is none
inline bool is_in_network(std::string_view name) { return find_in_network(name) != nullptr; }
const InNetworkProtocol& protocol_of(const InNetworkSettings&);

// Of tasks of one protocol. Throws InputError where more meet at a switch than a packet has bits for, or a message has more packets
// than numbers.
InNetworkDeployment deploy(std::span<const InNetworkTask> tasks, std::span<const int> programmable);

// Of `values` values, those that server s of so many adds up.
struct ShareOfValues {
  std::int64_t first = 0, count = 0;
};
ShareOfValues share_of_server(std::int64_t values, std::int64_t s, std::int64_t servers);

// One job's traffic with one of its servers. All of a job's workers have an agent in each of its flows.
struct AtpFlow {
  int number = 0;
  int job = 0;
  std::int64_t first_value = 0, values = 0;
  std::uint32_t packets = 0;  // of a round
  std::uint32_t rounds = 1;
  bool open = false;              // rounds are added one by one
  Address first_worker = nobody;  // worker w's agent is first_worker + w; the server's follows
  Address group = nobody;         // of the worker agents
  AtpTree tree = {};
  AtpWalk walk = {};  // through the aggregators of every switch

  int workers() const { return static_cast<int>(tree.members.size()); }
  Address server() const { return first_worker + workers(); }
  AtpWorker::Part worker_part(int worker) const;
  AtpServer::Part server_part() const {
    return {.self = server(), .workers = group, .flow = number, .packets = open ? 0 : rounds * packets};
  }
};
std::vector<AtpFlow> atp_flows(std::span<const InNetworkTask> tasks, std::span<const int> programmable);

}  // namespace weft

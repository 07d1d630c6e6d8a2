// Where the agents of in-network all-reduces are, on whatever carries their datagrams: addresses, flows, trees, groups and
// pools. Switches go by any numbers; "at" is the number of the switch that something hangs below.
#pragma once

#include "collectives/in_network/atp_server.hpp"
#include "collectives/in_network/atp_worker.hpp"
#include "collectives/in_network/switchml.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

// The part of a job's message that one parameter server adds up.
struct AtpShare {
  int at = 0;
  std::int64_t first_value = 0, values = 0;
};

struct AtpJob {
  std::vector<int> workers_at;   // of each worker
  std::vector<AtpShare> shares;  // of each server
  std::uint32_t rounds = 1;      // how often it is added up
};

// One job's traffic with one of its servers. All of a job's workers have an agent in each of its flows.
struct AtpFlow {
  int number = 0;
  int job = 0;
  AtpShare share = {};
  std::uint32_t packets = 0;  // of a round
  std::uint32_t rounds = 1;
  Address first_worker = nobody;  // worker w's agent is first_worker + w
  Address server = nobody;
  Address group = nobody;  // of the worker agents
  AtpTree tree = {};
  AtpWalk walk = {};  // through the aggregators of every switch

  int workers() const { return static_cast<int>(tree.members.size()); }
  std::vector<Address> members() const;
  AtpWorker::Place worker_place(int worker) const;
  AtpServer::Place server_place() const;
};

struct AtpSwitchPlace {
  int at = 0;
  Address self = nobody;
  std::vector<Address> attached = {};  // servers below it
};

// Addresses are dense, from 0: the workers and the server of each flow, then the switches, then the groups.
struct AtpDeployment {
  std::vector<AtpFlow> flows;  // by number: of the first job's servers, of the second's, ...
  std::vector<AtpSwitchPlace> switches;

  std::vector<AtpWalk> walks() const;  // by flow
};

// `programmable` are the switches that run ATP's program, each once; flows meet at the others without being added. Throws
// InputError where more meet at a switch than a packet has bits for, or a message has more packets than numbers.
AtpDeployment deploy_atp(const AtpSettings& settings, std::span<const AtpJob> jobs, std::span<const int> programmable);

struct SwitchmlJob {
  int workers = 1;
  int at = 0;  // the switch that adds up
  std::int64_t values = 0;
  std::uint32_t rounds = 1;  // how often it is added up
};

struct SwitchmlJobPlace {
  int number = 0;
  int workers = 0;
  int slots = 0;
  std::uint32_t packets = 0;
  Address first_worker = nobody, at = nobody, group = nobody;

  std::vector<Address> members() const;
  SwitchmlWorker::Place worker_place(int worker) const;
};

struct SwitchmlSwitchPlace {
  int at = 0;
  Address self = nobody;
  std::vector<SwitchmlPool> pools = {};  // by job; without slots where it adds up elsewhere
};

// Addresses are dense, from 0: the workers of each job, then the switches, then the groups.
struct SwitchmlDeployment {
  std::vector<SwitchmlJobPlace> jobs;
  std::vector<SwitchmlSwitchPlace> switches;  // each that a job adds up in, once
};

// Jobs that add up in the same switch share its slots evenly.
SwitchmlDeployment deploy_switchml(const SwitchmlSettings& settings, std::span<const SwitchmlJob> jobs);

}  // namespace weft

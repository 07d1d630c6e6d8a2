// The rounds of open in-network jobs (in_network.hpp) by agents on the packet network.
#pragma once

#include "collectives/in_network/agent.hpp"
#include "sim/in_network/in_network.hpp"
#include "sim/packet/datagram_network.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace weft {

class AgentRounds final : public OpenJobs, private CallWatcher {
 public:
  // An agent for each flow of a job: the worker's with each of its servers, and those servers'.
  struct Member {
    Address address;
    InNetworkAgent* agent;
  };
  struct Job {
    RoundOwner* owner = nullptr;  // none: not an open job
    std::vector<std::vector<Member>> workers = {};
    std::vector<InNetworkAgent*> servers = {};  // none of a protocol without
    int values_per_packet = 1;
  };

  // The network must outlive this, the agents and owners the run.
  explicit AgentRounds(DatagramNetwork& datagrams) : datagrams_(datagrams) {}

  // Call once, after all agents are placed.
  void set_jobs(std::vector<Job> jobs);
  void begin_round(std::size_t job, int worker, std::int64_t elements) override;
  bool stuck() const override { return datagrams_.stuck(); }
  std::int64_t packets(std::size_t job) const { return packets_[job]; }  // of all rounds
  // What the owners say while there is nothing to do: running, if one is.
  Driver::State owners() const;

 private:
  struct Progress {
    std::int64_t begun = 0, ended = 0;
  };

  void agent_called(Address address) override;
  bool starts_ahead() const override;

  DatagramNetwork& datagrams_;
  std::vector<Job> jobs_;
  std::vector<std::vector<Progress>> progress_;  // by job and worker
  std::vector<std::int64_t> begun_, packets_;    // by job: rounds that some worker has begun
  std::vector<std::pair<int, int>> worker_of_;   // by address: job and worker; -1: of no open job
  std::vector<std::int64_t> ended_;              // by address: rounds, when it was last called
};

}  // namespace weft

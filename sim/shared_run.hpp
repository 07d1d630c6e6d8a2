// Several jobs and the traffic of others on one fabric at the same time.
#pragma once

#include "models/traffic.hpp"
#include "sim/network/event_executor.hpp"
#include "sim/network/schedule_driver.hpp"
#include "sim/packet/packet_report.hpp"
#include "sim/packet/settings.hpp"

#include <span>
#include <string>
#include <vector>

namespace weft {

struct Tenant {
  std::string name;  // goes with what it waits for
  Job job;
  Repetition repetition = {};
  std::vector<MessageRecord>* timeline = nullptr;
};

struct TenantRun {
  std::vector<Iteration> iterations;
  NetworkRun run;
};

// What became of the flows of one entry of the traffic; only those that ended.
struct TrafficRecord {
  std::int64_t streams = 0;  // pairs of sender and receiver
  std::int64_t count = 0, bytes = 0;
  SimTime busy;  // their durations, summed
};

struct SharedRun {
  std::vector<TenantRun> jobs;
  std::vector<TrafficRecord> traffic;
  std::vector<CopyRecord> copies;
  SimTime finish;                           // of the last job
  std::vector<std::int64_t> bytes_on_link;  // of all jobs; not of traffic and copies
  std::uint64_t events = 0, solves = 0;
};

// All tenants have one hardware profile. In the engine: once per process. Traffic goes on until the last job has finished.
// Throws RunError, saying who waits for whom, when some job makes no progress.
SharedRun run_shared_flow(std::span<const Tenant> tenants, std::span<const TrafficSpec> traffic, std::span<const HostCopies> copies,
                          Routes& routes, Around around);
SharedRun run_shared_packet(std::span<const Tenant> tenants, std::span<const TrafficSpec> traffic, Routes& routes,
                            const PacketSettings& settings, PacketReport* report, Around around);

}  // namespace weft

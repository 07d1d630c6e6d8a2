// What trace.json and the report show of a row besides its result: who did what when, and how much links, queues and switches were used.
#pragma once

#include "models/fabric/fabric.hpp"
#include "sim/network/network_run.hpp"
#include "sim/network/time_series.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weft {

// What went from one endpoint to another beside the messages of schedules: a flow of the traffic, a datagram of an agent.
struct TransferRecord {
  std::string by = {};  // "traffic 0", "atp"
  std::string from = {}, to = {};
  std::int64_t bytes = 0;
  SimTime begin, end;
};

// A job beside the workload.
struct JobMessages {
  std::string job = {};
  std::vector<MessageRecord> messages = {};
};

// How many packets or aggregators there were, or bytes.
struct LevelRecord {
  std::string unit = {};
  TimeSeries series{TimeSeries::Of::level};
};

struct NetworkActivity {
  // Longer records would not be looked at, and memory is bounded: of what comes later only its share of links is known.
  static constexpr std::size_t max_transfers = 100'000;
  static constexpr int max_links = 20'000;  // over time; of larger fabrics only bytes_on_link

  std::vector<TimeSeries> bits_on_link = {};  // by LinkId
  std::vector<std::int64_t> bytes_on_link = {};
  std::map<std::string, LevelRecord> levels = {};  // "queue leaf0->spine1", "window node0->node1", "aggregators leaf0"
  std::vector<TransferRecord> transfers = {};
  std::deque<JobMessages> beside = {};
  SimTime begin = {}, end = {};  // of the first job, and of the last

  void start(const Fabric& fabric) {
    if (fabric.links() <= max_links) bits_on_link.assign(static_cast<std::size_t>(fabric.links()), TimeSeries(TimeSeries::Of::amount));
  }
  void used(std::size_t link, SimTime from, SimTime to, double bits) {
    if (link < bits_on_link.size()) bits_on_link[link].add(from, to, bits);
  }
  // The one of this name from now on; it stays where it is.
  TimeSeries& level(const std::string& name, std::string unit) {
    LevelRecord& record = levels[name];
    record.unit = std::move(unit);
    return record.series;
  }
  void transfer(TransferRecord record) {
    if (transfers.size() < max_transfers) transfers.push_back(std::move(record));
  }
};

struct Timeline {
  std::vector<MessageRecord> messages = {};  // of the workload
  std::vector<SpanRecord> spans = {};
  NetworkActivity activity = {};
  std::shared_ptr<const Fabric> fabric = {};
  std::vector<int> placement = {};  // of the workload's ranks, by endpoint
  std::vector<int> servers = {};    // of its engine's parameter servers: in messages they are ranks behind those
};

}  // namespace weft

// BytePS (Jiang et al., OSDI 2020): partitions of gradients go to parameter servers, what forward needs first goes first.
#pragma once

#include "collectives/algorithms/parameter_server.hpp"
#include "collectives/engines/engine_base.hpp"

#include <set>

namespace weft {

struct BytepsSettings {
  Bytes partition{4'096'000};  // BYTEPS_PARTITION_BYTES
  int credit = 5;              // partitions that may leave at once: BYTEPS_NCCL_GROUP_SIZE (4) + 1, as its scheduled queue has it
  int servers = 0;             // 0: as many as there are machines
  ServerHosts server_hosts = ServerHosts::workers;  // extra: hosts of their own, which is what BytePS is made for
  friend bool operator==(const BytepsSettings&, const BytepsSettings&) = default;
};
constexpr int max_byteps_servers = 65'536;
std::vector<Problem> problems(const BytepsSettings&);
int byteps_servers(const BytepsSettings& settings, const EngineSetup& setup);

// The server of a partition: Bernstein's hash (djb2) of the decimal digits of gradient x 2^16 + partition, as BytePS has it where
// BYTEPS_KEY_HASH_FN is not set (BytePSGlobal::EncodeDefaultKey). All of its hashes look at the key only, and it only logs how many bytes
// each server has: one may have far more than its share, and with another number of servers less.
int byteps_server(int gradient, int partition, int servers);

// A partition's credit comes back when it has left this rank. Were it held until the sum comes, ranks that chose different
// partitions would wait for each other for ever.
class BytepsEngine final : public EngineBase {
 public:
  BytepsEngine(const BytepsSettings& settings, const EngineSetup& setup, EngineHost& host);
  void pushed(int order) override;

 private:
  void on_ready(int gradient) override;
  void send_what_fits();
  int partitions(int gradient) const;

  BytepsSettings settings_;
  int servers_;
  std::vector<int> first_;               // partition of a gradient, in the numbering of all; the last entry is their number
  std::set<std::pair<int, int>> queue_;  // gradient, partition: lower ones are needed first by the next forward
  int leaving_ = 0;
};

}  // namespace weft

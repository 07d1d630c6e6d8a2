// How the ranks of a process group find each other through the store, and what carries their messages from then on.
#pragma once

#include "collectives/schedule/schedule.hpp"
#include "collectives/torch/key_store.hpp"
#include "collectives/transports/shared_memory.hpp"
#include "collectives/transports/tcp.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft {

enum class Carrier { best, tcp, shared_memory };
// "", "tcp" or "shared_memory"; throws InputError.
Carrier carrier_named(std::string_view);

struct GroupSettings {
  Rank rank = 0;
  std::vector<std::string> names;  // of the ranks in messages
  std::chrono::milliseconds timeout{};
  std::string job;   // what is run: the same on all ranks
  std::string host;  // of this rank as the others reach it; "" to find out
  Carrier carrier = Carrier::best;

  int ranks() const { return static_cast<int>(names.size()); }
};

// The value that `rank` has set. Waits for it until the timeout, then throws a RunError that names the rank.
std::string await(KeyStore&, const std::string& key, const std::string& who, std::chrono::milliseconds timeout);

// The connections of one rank of a group. Data go through shared memory where all ranks are on one host, else over TCP;
// over TCP the ranks also hear of each other's end, in both cases.
class Connections {
 public:
  Connections(KeyStore&, const GroupSettings&);
  Transport& transport() { return shared_ ? *shared_ : tcp_->at(); }
  std::string_view carrier() const { return shared_ ? "shared_memory" : "tcp"; }
  void fail(const std::string& reason) { tcp_->fail(reason); }

 private:
  bool share_memory(const GroupSettings&);

  std::unique_ptr<TcpWorld> tcp_;
  std::optional<SharedSegment> segment_;
  std::unique_ptr<Transport> shared_;
};

// What tells one host from another.
std::string host_identity();
// The address of this host by which others reach it.
std::string own_address();

}  // namespace weft

// Transport over TCP: every rank is a process (or a thread, in tests), on one host or many. All ranks know the list of all
// addresses; each listens on its own, calls the ranks before it and is called by those after it. Both sides of every
// connection prove that they know the job's secret and say who they are and what they run (tcp_hello.hpp), so strangers are refused, and
// a wrong number of ranks or job is found before any data.
//
// One more connection per peer carries no data: over it a rank that fails tells all others why, and its end without a
// farewell tells them that the rank is gone. So every rank ends, with the same message. A rank that has waited for half its patience tells
// the others what for: the message then says who waits for whom, and names those that say nothing.
#pragma once

#include "collectives/executors/transport.hpp"
#include "collectives/transports/tcp_socket.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace weft {

struct TcpSettings {
  int channels = 1;
  int connections = 1;                                 // per peer and channel; large messages are spread over them
  BitsPerSecond stream_rate{0};                        // of each connection's data, at most; 0: as fast as they go
  bool zero_copy = false;                              // send large messages from their own memory, where the kernel can
  std::chrono::milliseconds patience{30'000};          // a wait in which nothing moves for this long ends the run
  std::chrono::milliseconds meeting{30'000};           // all ranks must have been found within this time
  std::string job = {};                                // what is run, at most 200 characters: the same on all ranks
  std::string secret = {};                             // known to all ranks; who does not know it is refused. "": whoever speaks as we do
  std::vector<std::string> names = {};                 // of the ranks in messages; "rank 0" and so on where there are none
  std::size_t largest_message = std::size_t{1} << 40;  // in bytes; one that says it is larger ends the run

  std::string name(Rank rank) const;
};

class TcpControl;
struct TcpMesh;

class TcpWorld {
 public:
  TcpWorld(Rank rank, const std::vector<std::string>& addresses, const TcpListener& listener, TcpSettings settings = {});
  // Over connections that are made already.
  TcpWorld(Rank rank, TcpMesh mesh, TcpSettings settings = {});
  // Says farewell, unless the run was ended.
  ~TcpWorld();

  Transport& at(int channel = 0);
  // Whether every send and receive of the channel started so far is done, without waiting. Throws RunError if the run has
  // been ended, by whichever rank.
  bool test(int channel = 0);
  // Whether this rank has said farewell: it sends and takes nothing more. Known once wait() or test() has heard of it.
  bool has_finished(Rank) const;
  // Ends the run on all ranks: their waits throw RunError with this reason.
  void fail(const std::string& reason);
  // For who waits for something else than messages: tells the others what for, "" for no longer.
  void tell_waiting(const std::string& what);
  // What the other ranks have said that they wait for, and which have said nothing: a line for each.
  std::string others() const;

 private:
  class Endpoint;
  std::unique_ptr<TcpControl> control_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
};

}  // namespace weft

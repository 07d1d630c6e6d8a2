// Messages over a socket, without waiting.
#pragma once

#include "collectives/transports/tcp_socket.hpp"

#include <optional>
#include <string>
#include <string_view>

#include <poll.h>

namespace weft {

struct FarmMessage {
  enum class Kind : char {
    ready = 'r',    // worker: `number` tasks of the batch can be done at once; `text` is the batch's fingerprint
    task = 't',     // leader: do task `number`
    done = 'd',     // worker: task `number` is done; `text` is its outcome
    results = 'a',  // leader: the batch is over; `text` is what came of it
    bye = 'b',      // leader: nothing more will come
  };
  Kind kind = Kind::bye;
  std::size_t batch = 0, number = 0;
  std::string text = {};
};

class FarmConnection {
 public:
  explicit FarmConnection(Socket socket) : socket_(std::move(socket)) {}

  void send(const FarmMessage& message);
  // Reads and writes what is possible at once. False when the connection is over, or brings what is no message of ours.
  bool attend();
  std::optional<FarmMessage> next();
  bool all_sent() const { return out_.size() == sent_; }
  pollfd waiting() const {
    return {.fd = socket_.descriptor(), .events = static_cast<short>(all_sent() ? POLLIN : POLLIN | POLLOUT), .revents = 0};
  }

 private:
  bool write();
  bool read();

  Socket socket_;
  std::string in_, out_;
  std::size_t taken_ = 0, sent_ = 0;  // of in_ and out_
  bool broken_ = false;
};

}  // namespace weft

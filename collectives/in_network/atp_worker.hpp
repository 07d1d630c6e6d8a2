// ATP's worker: sends its gradients under a window, takes parameters as acknowledgements, and sends again what got lost.
#pragma once

#include "collectives/in_network/atp.hpp"

#include <string>
#include <vector>

namespace weft {

class AtpWorker final : public Agent {
 public:
  struct Place {
    Address self = nobody, server = nobody;
    std::int32_t flow = 0;
    AtpMember member = {};
    std::uint32_t packets = 0;  // to send, and to get back
  };
  struct Statistics {
    std::int64_t sent = 0, resent = 0, timeouts = 0, marks = 0, duplicates = 0;
    int largest_window = 0, smallest_window = 0;
    std::int64_t finished_ps = 0;  // when the last sum came
    bool overflow = false;         // a sum did not fit: the result is wrong, and known to be
  };

  // Without values datagrams carry sizes only. The settings and the values must outlive the agent.
  AtpWorker(const AtpSettings& settings, const Place& place, PacketValues* values = nullptr);

  void start(Wire& wire) override;
  void on_datagram(Wire& wire, Datagram datagram) override;
  void on_timer(Wire& wire, std::uint64_t name) override;
  bool finished() const override { return una_ == place_.packets; }
  std::string waiting() const override;
  const Statistics& statistics() const { return statistics_; }

 private:
  void fill_window(Wire& wire);
  void send(Wire& wire, std::uint32_t sequence, bool again);
  void acknowledge(Wire& wire, std::uint32_t sequence, bool marked);
  int patience() const;  // how far acknowledgements are ahead of a hole that is a loss
  void fill_hole(Wire& wire);
  void grow();
  void shrink();
  void arm(Wire& wire);
  std::size_t slot(std::uint32_t sequence) const { return sequence & (arrived_.size() - 1); }

  const AtpSettings& settings_;
  Place place_;
  PacketValues* values_;
  std::uint32_t una_ = 0, next_ = 0;  // the oldest without its parameters, the next to send
  std::uint32_t highest_ = 0;         // of what has come back
  std::uint32_t recover_ = 0;         // the window has been halved for what was sent below this
  std::uint32_t filled_ = 0;          // holes below this have been sent again
  int window_, threshold_, acknowledged_ = 0;
  int backoff_ = 0;
  std::int64_t progress_ps_ = 0;  // when una_ last moved
  bool armed_ = false;
  std::vector<char> arrived_;  // by sequence, a ring
  Statistics statistics_;
};

}  // namespace weft

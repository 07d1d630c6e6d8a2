// Agents on a packet network that others use at the same time. One DatagramNetwork holds the agents of all jobs, for they
// may meet in a switch.
#pragma once

#include "sim/network/shared_network.hpp"
#include "sim/packet/datagram_network.hpp"

#include <string>

namespace weft {

class AgentDriver final : public Driver {
 public:
  // `datagrams` was made on network.model(); both must outlive the driver.
  AgentDriver(DatagramNetwork& datagrams, SharedNetwork<PacketNetwork>& network) : datagrams_(datagrams) { network.join(*this); }

  void begin() override { datagrams_.begin(); }
  void ended(std::uint32_t) override { check(false, "agents send no messages"); }
  State state() const override { return datagrams_.finished() ? State::finished : State::running; }
  std::string waiting() const override { return datagrams_.waiting(); }

 private:
  DatagramNetwork& datagrams_;
};

}  // namespace weft

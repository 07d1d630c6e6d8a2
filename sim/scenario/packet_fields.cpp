#include "sim/scenario/packet_fields.hpp"

namespace weft {
namespace {

struct NoRecovery {
  static constexpr SimTime value = SimTime::never();
  static constexpr const char* word = "never";
};

}  // namespace

const std::vector<std::pair<Switching, std::string>>& Names<Switching>::values() {
  static const std::vector<std::pair<Switching, std::string>> all = {
      {Switching::store_and_forward, std::string(name_of(Switching::store_and_forward))},
      {Switching::cut_through, std::string(name_of(Switching::cut_through))}};
  return all;
}
const std::vector<std::pair<PacketTransport, std::string>>& Names<PacketTransport>::values() {
  static const auto all = [] {
    std::vector<std::pair<PacketTransport, std::string>> out;
    for (const PacketTransport t : {PacketTransport::rdma, PacketTransport::dcqcn, PacketTransport::dctcp, PacketTransport::fixed_window})
      out.emplace_back(t, name_of(t));
    return out;
  }();
  return all;
}

Declaration<EcnSettings> Declared<EcnSettings>::declaration() {
  using E = EcnSettings;
  return {
      .doc = "ECN: congestion marks by the length of the queue that a packet joins.",
      .fields = {
          optional("on", &E::on, "Whether switches mark packets (ECN); when not, queues only drop or pause."),
          optional("min", &E::min, "The queue length up to which no packet is marked."),
          optional("max", &E::max, "The queue length from which every packet is marked; equal to min, it is a step as in DCTCP."),
          optional("probability", &E::probability, "The probability of a mark just below max; it grows linearly from 0 at min (RED).")}};
}

Declaration<PfcSettings> Declared<PfcSettings>::declaration() {
  using P = PfcSettings;
  return {
      .doc = "Pause frames (IEEE 802.1Qbb), by the bytes that came over one link in one priority and wait in the switch.",
      .fields = {optional("on", &P::on, "Whether switches send pause frames; without them they drop packets for which there is no buffer."),
                 optional("xoff", &P::xoff,
                          "The bytes waiting at which the sender at the other end of the link is paused; it is paused earlier where the "
                          "switch is nearly full."),
                 optional("xon", &P::xon, "The bytes waiting at which the paused sender may go on.")}};
}

Declaration<DcqcnSettings> Declared<DcqcnSettings>::declaration() {
  using D = DcqcnSettings;
  return {.doc = "Rates of the transport \"dcqcn\" (Zhu et al., SIGCOMM 2015).",
          .fields = {
              optional("notification_interval", &D::notification_interval,
                       "A receiver sends at most one congestion notification for a flow in this time."),
              optional("alpha_interval", &D::alpha_interval, "Alpha decays once in this time without notifications."),
              optional("gain", &D::gain, "The weight (g) of the newest observation in alpha."),
              optional("increase_interval", &D::increase_interval, "The time between increases of the rate by the timer."),
              optional("increase_bytes", &D::increase_bytes, "The bytes sent between increases of the rate by the byte counter."),
              optional("fast_recovery", &D::fast_recovery, "The number of increases that only return towards the target rate."),
              optional("additive_increase", &D::additive_increase, "The additive increase of the target rate after fast recovery."),
              optional("hyper_increase", &D::hyper_increase,
                       "The hyper increase of the target rate when both counters are past fast recovery."),
              optional("least_rate", &D::least_rate, "The rate below which no cut goes."),
          }};
}

Declaration<LinkFailure> Declared<LinkFailure>::declaration() {
  using F = LinkFailure;
  return {.doc = "A link that drops all packets for a time.",
          .fields = {required("link", &F::link, "One direction of a cable, such as \"leaf0->spine2\"."),
                     required("at", &F::at, "The time at which the link fails."),
                     optional_as<OrWord<SimTime, NoRecovery>>("until", &F::until, "The time at which the link works again.")}};
}

Declaration<FaultSettings> Declared<FaultSettings>::declaration() {
  using F = FaultSettings;
  return {
      .doc = "Fault injection: loss, corruption and failures of links.",
      .fields = {
          optional("loss", &F::loss, "The probability that a packet is lost on a link."),
          optional("corruption", &F::corruption,
                   "The probability that a packet is corrupted on a link: it uses the links of its path and is dropped by the receiver."),
          not_empty(optional(
              "links", &F::links,
              "The links that lose and corrupt packets, each one direction of a cable; all links outside servers when not given.")),
          optional("failures", &F::failures, "The links that fail for a time.")}};
}

Declaration<PacketSettings> Declared<PacketSettings>::declaration() {
  using P = PacketSettings;
  return {.doc = "The settings of the network \"packet\".",
          .fields = {
              optional("packet", &P::packet, "The payload of a packet; up to 64KiB, which stands for a burst of packets."),
              optional("header", &P::header, "The header bytes of each packet; with 0B the hardware's wire_efficiency stands for headers."),
              optional("switching", &P::switching,
                       "When a switch forwards a packet: after all of it (store and forward), or after its first bytes (cut-through)."),
              optional("cut_through_after", &P::cut_through_after,
                       "The bytes that a cut-through switch must have received before it sends a packet on."),
              optional("switch_buffer", &P::switch_buffer, "The packet buffer of a switch, shared by its ports."),
              optional("dynamic_threshold", &P::dynamic_threshold,
                       "A queue may hold this factor (alpha) times the free buffer; where PFC is on, what came over one link may before it "
                       "is paused, if that is less than xoff."),
              optional("ecn", &P::ecn, "Congestion marks."),
              optional("pfc", &P::pfc, "Pauses."),
              optional("transport", &P::transport, "The congestion control of the senders."),
              optional("dcqcn", &P::dcqcn, "Of the transport \"dcqcn\"."),
              optional("window", &P::window, "The window of \"fixed_window\", and the initial window of \"dctcp\"."),
              optional("dctcp_gain", &P::dctcp_gain, "The weight (g) of the newest window in dctcp's share of marked packets."),
              optional("acknowledgement", &P::acknowledgement,
                       "The bytes of an acknowledgement or notification; with 0B they take the path's latency and no bandwidth."),
              optional("acknowledge_every", &P::acknowledge_every,
                       "The number of packets that one acknowledgement covers; marks and gaps are acknowledged at once."),
              optional("timeout", &P::timeout,
                       "The retransmission timeout, or two round trips of the links' latencies if these are longer; doubled at each "
                       "timeout in a row."),
              optional("retries", &P::retries, "The number of timeouts in a row after which the peer counts as lost."),
              optional("faults", &P::faults, "What goes wrong."),
              optional("seed", &P::seed, "The seed of losses, corruption and random marks; the scenario's seed when not given."),
          }};
}

}  // namespace weft

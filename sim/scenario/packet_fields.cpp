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
  return {.doc = "Congestion marks, by the bytes that wait in the queue a packet joins.",
          .fields = {optional("on", &E::on, "Whether switches mark."), optional("min", &E::min, "No marks up to here."),
                     optional("max", &E::max, "Every packet from here on; equal to min: a step, as DCTCP has it."),
                     optional("probability", &E::probability, "Of a mark, just below max; grows from 0 at min (RED).")}};
}

Declaration<PfcSettings> Declared<PfcSettings>::declaration() {
  using P = PfcSettings;
  return {.doc = "Pause frames (IEEE 802.1Qbb), by the bytes that came over one link in one priority and wait in the switch.",
          .fields = {optional("on", &P::on, "Whether switches pause; without, they drop what finds no buffer."),
                     optional("xoff", &P::xoff, "Bytes at which the far end is stopped."),
                     optional("xon", &P::xon, "Bytes at which it may go on.")}};
}

Declaration<DcqcnSettings> Declared<DcqcnSettings>::declaration() {
  using D = DcqcnSettings;
  return {.doc = "Rates of the transport \"dcqcn\" (Zhu et al., SIGCOMM 2015).",
          .fields = {
              optional("notification_interval", &D::notification_interval, "At most one congestion notification of a flow in this time."),
              optional("alpha_interval", &D::alpha_interval, "Alpha decays once in this time without notifications."),
              optional("gain", &D::gain, "Weight of the newest observation in alpha."),
              optional("increase_interval", &D::increase_interval, "Time between increases of the rate."),
              optional("increase_bytes", &D::increase_bytes, "Bytes between increases of the rate."),
              optional("fast_recovery", &D::fast_recovery, "Increases that only return towards the target rate."),
              optional("additive_increase", &D::additive_increase, "Of the target rate, after fast recovery."),
              optional("hyper_increase", &D::hyper_increase, "Of the target rate, when both counters are past fast recovery."),
              optional("least_rate", &D::least_rate, "No cut goes below it."),
          }};
}

Declaration<LinkFailure> Declared<LinkFailure>::declaration() {
  using F = LinkFailure;
  return {.doc = "A link that loses what it is given for a time.",
          .fields = {required("link", &F::link, "One direction of a cable, such as \"leaf0->spine2\"."),
                     required("at", &F::at, "When it fails."),
                     optional_as<OrWord<SimTime, NoRecovery>>("until", &F::until, "When it works again.")}};
}

Declaration<FaultSettings> Declared<FaultSettings>::declaration() {
  using F = FaultSettings;
  return {.doc = "What goes wrong on the links.",
          .fields = {optional("loss", &F::loss, "Probability that a packet is lost, on each link."),
                     optional("corruption", &F::corruption, "The same of one that still uses up its way."),
                     optional("links", &F::links, "The links that lose and corrupt, one direction of a cable each; all when not given."),
                     optional("failures", &F::failures, "Links that fail.")}};
}

Declaration<PacketSettings> Declared<PacketSettings>::declaration() {
  using P = PacketSettings;
  return {.doc = "Settings of the network \"packet\".",
          .fields = {
              optional("packet", &P::packet, "Payload of a packet; up to 64KiB, as a burst that stays together."),
              optional("header", &P::header, "Added to each packet; 0B: the hardware's wire_efficiency stands for headers."),
              optional("switching", &P::switching, "When a switch sends a packet on: after all of it, or after its first bytes."),
              optional("cut_through_after", &P::cut_through_after, "Those first bytes."),
              optional("switch_buffer", &P::switch_buffer, "Of a switch, shared by its ports."),
              optional("dynamic_threshold", &P::dynamic_threshold,
                       "A queue may hold this times the free buffer; of no effect where PFC is on."),
              optional("ecn", &P::ecn, "Congestion marks."),
              optional("pfc", &P::pfc, "Pauses."),
              optional("transport", &P::transport, "How senders send."),
              optional("dcqcn", &P::dcqcn, "Of the transport \"dcqcn\"."),
              optional("window", &P::window, "Of \"fixed_window\", and the first one of \"dctcp\"."),
              optional("dctcp_gain", &P::dctcp_gain, "Weight of the newest window in \"dctcp\"'s share of marks."),
              optional("acknowledgement", &P::acknowledgement,
                       "Bytes of an acknowledgement or notification; 0B: they take the path's latency and no bandwidth."),
              optional("acknowledge_every", &P::acknowledge_every, "Packets; marks and gaps are told at once."),
              optional("timeout", &P::timeout, "Without acknowledgement, until packets are sent again; doubled each time in a row."),
              optional("retries", &P::retries, "Timeouts in a row before the peer counts as lost."),
              optional("faults", &P::faults, "What goes wrong."),
              optional("seed", &P::seed, "Of losses, corruption and random marks; the scenario's seed when not given."),
          }};
}

}  // namespace weft

#include "sim/scenario/scenario.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace weft {

std::string label(const AlgorithmChoice& choice) {
  std::string settings;
  const auto add = [&](const char* name, int value, int unless) {
    if (value != unless) settings += fmt::format("{}{}={}", settings.empty() ? "" : ",", name, value);
  };
  const AlgorithmSettings plain;
  add("group", choice.settings.group, plain.group);
  add("servers", choice.settings.servers, plain.servers);
  if (choice.settings.server_hosts != plain.server_hosts)
    settings += fmt::format("{}server_hosts={}", settings.empty() ? "" : ",", name_of(choice.settings.server_hosts));
  const auto add_name = [&](const char* name, std::string_view value) {
    settings += fmt::format("{}{}={}", settings.empty() ? "" : ",", name, value);
  };
  if (choice.settings.library) add_name("library", name_of(*choice.settings.library));
  if (!choice.settings.inner.empty()) add_name("inner", choice.settings.inner);
  if (!choice.settings.up.empty()) add_name("up", choice.settings.up);
  if (!choice.settings.down.empty()) add_name("down", choice.settings.down);
  if (choice.settings.nccl != plain.nccl) add_name("algorithm", name_of(choice.settings.nccl));
  if (choice.settings.protocol != plain.protocol) add_name("protocol", name_of(choice.settings.protocol));
  add("nics", choice.settings.nics, plain.nics);
  if (choice.settings.pxn) add_name("pxn", *choice.settings.pxn ? "true" : "false");
  const bool all_are_said = choice.name == "nccl";  // one is not what it has by itself
  if (choice.settings.channels > 0 && !choice.settings.channels_follow)
    add("channels", choice.settings.channels, all_are_said ? 0 : plain.channels);
  add("pieces", choice.settings.pieces, plain.pieces);
  if (choice.settings.imported.given()) add_name("file", choice.settings.imported.file);
  if (choice.settings.segment.count > 0) add_name("segment", to_string(choice.settings.segment));
  const auto add_bytes = [&](const char* name, Bytes value, Bytes unless) {
    if (value != unless) settings += fmt::format("{}{}={}", settings.empty() ? "" : ",", name, to_string(value));
  };
  const auto add_time = [&](const char* name, SimTime value, SimTime unless) {
    if (value != unless) settings += fmt::format("{}{}={}", settings.empty() ? "" : ",", name, to_string(value));
  };
  const auto add_host = [&](const HostCost& host) {
    add_time("host_per_packet", host.per_packet, {});
    if (host.bandwidth.count > 0) settings += fmt::format("{}host_bandwidth={}", settings.empty() ? "" : ",", to_string(host.bandwidth));
    add_time("host_jitter", host.jitter, {});
  };
  if (choice.name == "atp") {
    const AtpSettings of_atp;
    add("servers", choice.atp.servers, of_atp.servers);
    if (const auto& at = choice.atp.server_nodes; !at.empty())
      settings += fmt::format("{}server_nodes={}", settings.empty() ? "" : ",", fmt::join(at, "+"));
    add("aggregators", choice.atp.aggregators, of_atp.aggregators);
    add("split", choice.atp.split, of_atp.split);
    add_bytes("payload", choice.atp.payload, of_atp.payload);
    add_bytes("packet", choice.atp.packet, of_atp.packet);
    add("initial_window", choice.atp.initial_window, of_atp.initial_window);
    add("largest_window", choice.atp.largest_window, of_atp.largest_window);
    add_bytes("mtu", choice.atp.mtu, of_atp.mtu);
    add("congestion_control", choice.atp.congestion_control, of_atp.congestion_control);
    if (choice.atp.forwarded != of_atp.forwarded)
      settings += fmt::format("{}forwarded={}", settings.empty() ? "" : ",", choice.atp.forwarded);
    add_bytes("framing", choice.atp.framing, of_atp.framing);
    add_host(choice.atp.host);
    add_time("timeout", choice.atp.timeout, of_atp.timeout);
  }
  if (choice.name == "switchml") {
    const SwitchmlSettings of_switchml;
    add("slots", choice.switchml.slots, of_switchml.slots);
    add_bytes("payload", choice.switchml.payload, of_switchml.payload);
    add_bytes("packet", choice.switchml.packet, of_switchml.packet);
    add_bytes("framing", choice.switchml.framing, of_switchml.framing);
    add_host(choice.switchml.host);
    add_time("timeout", choice.switchml.timeout.value_or(SimTime{}), SimTime{});
  }
  return settings.empty() ? choice.name : fmt::format("{}({})", choice.name, settings);
}

InNetworkSettings in_network_settings(const AlgorithmChoice& choice, const ProgrammableSwitches& switches) {
  if (choice.name != "atp") {
    SwitchmlSettings out = choice.switchml;
    if (out.slots == 0)
      out.slots = std::clamp(switches.aggregators / SwitchmlSettings::packets_per_slot, 1, SwitchmlSettings::default_slots);
    return out;
  }
  AtpSettings out = choice.atp;
  if (out.aggregators == 0) out.aggregators = switches.aggregators;
  return out;
}

}  // namespace weft

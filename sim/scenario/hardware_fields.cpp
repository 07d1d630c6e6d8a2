#include "sim/scenario/hardware_fields.hpp"

#include "models/message_costs.hpp"
#include "models/nccl_tuning.hpp"
#include "sim/scenario/profiles.hpp"
#include "sim/scenario/scenario_fields.hpp"

#include <algorithm>
#include <array>

namespace weft {
namespace {

// What has costs by size and is no collective: every message, and messages between two ranks as benchmarks time them. Its algorithm has
// the same name.
constexpr std::array<std::string_view, 4> costs_of_messages = {name_of_message_costs, "latency", "bandwidth", "bidirectional_bandwidth"};

std::vector<std::string> names_with_costs() {
  std::vector<std::string> out = Form<Collective>::names();
  out.insert(out.end(), costs_of_messages.begin(), costs_of_messages.end());
  return out;
}

// As calls are known by their costs (sized_name): nccl's by the pattern and the protocol, mpi's by what it chooses.
std::vector<std::string> algorithms_with_costs(const std::string& name) {
  const auto collective = collective_named(name);
  if (!collective) return {name};
  std::vector<std::string> out;
  for (const std::string& algorithm : algorithm_names(*collective)) {
    const Algorithm& found = *find_algorithm(*collective, algorithm);
    if (!found.cuts_itself && (found.chooses == nullptr || found.takes_inner)) out.push_back(algorithm);
    for (const auto& [pattern, of_pattern] : Names<NcclAlgorithm>::values()) {
      if (!found.cuts_itself || pattern == NcclAlgorithm::automatic) continue;
      out.push_back(fmt::format("{}_{}", algorithm, of_pattern));
      for (const auto& [protocol, of_protocol] : Names<NcclProtocol>::values())
        if (protocol != NcclProtocol::automatic) out.push_back(with_protocol(algorithm, of_pattern, of_protocol));
    }
  }
  return out;
}

bool is_one_of(const std::string& name, const std::vector<std::string>& allowed, const char* kind, const JsonPath& where, Input& in) {
  return std::ranges::find(allowed, name) != allowed.end() || in.problem(where, unknown_name(kind, name, allowed));
}

Field<CostAtSize> collective_of_costs() {
  auto out = required("collective", &CostAtSize::collective,
                      "The name of the collective that the factor is for; \"message\": of every message, whatever it is of.");
  out.reads([read = out.read](const Json& json, const JsonPath& where, Input& in, CostAtSize& cost) {
    if (read(json, where, in, &cost) && is_one_of(cost.collective, names_with_costs(), "collective", where, in)) return true;
    cost.collective.clear();  // whose algorithm is not judged then
    return false;
  });
  return out;
}

Field<CostAtSize> algorithm_of_costs() {
  auto out =
      required("algorithm", &CostAtSize::algorithm,
               "The name of its algorithm; of nccl with its pattern (\"nccl_ring\"), and with its protocol, such as \"nccl_ring_ll\" or "
               "\"nccl_nvls_tree_simple\". Of messages: \"message\".");
  out.reads([read = out.read](const Json& json, const JsonPath& where, Input& in, CostAtSize& cost) {
    return read(json, where, in, &cost) &&
           (cost.collective.empty() || is_one_of(cost.algorithm, algorithms_with_costs(cost.collective), "algorithm", where, in));
  });
  return out;
}

template <class Value>
std::vector<std::pair<Value, std::string>> named(std::initializer_list<Value> values) {
  std::vector<std::pair<Value, std::string>> out;
  for (const Value value : values) out.emplace_back(value, name_of(value));
  return out;
}

}  // namespace

using namespace literals;

const std::vector<std::pair<SendQueue, std::string>>& Names<SendQueue>::values() {
  static const auto all = named({SendQueue::channel, SendQueue::rank, SendQueue::nic});
  return all;
}
const std::vector<std::pair<BiasesOf, std::string>>& Names<BiasesOf>::values() {
  static const auto all = named({BiasesOf::all_calls, BiasesOf::calls_in_a_server, BiasesOf::calls_between_servers});
  return all;
}

const std::vector<std::pair<MpiLibrary, std::string>>& Names<MpiLibrary>::values() {
  static const auto all = [] {
    std::vector<std::pair<MpiLibrary, std::string>> out;
    for (const MpiLibrary library : mpi_libraries) out.emplace_back(library, name_of(library));
    return out;
  }();
  return all;
}

Declaration<CostAtSize> Declared<CostAtSize>::declaration() {
  using C = CostAtSize;
  return {.doc = "What calls of one size cost over what the other values of the profile say.",
          .fields = {collective_of_costs(), algorithm_of_costs(),
                     required("ranks", &C::ranks, "The number of ranks that the factor is for.", between(2, 1 << 20)),
                     required("size", &C::size, "The message size that the factor is for."),
                     required("factor", &C::factor, "The factor by which all times are multiplied.", between(0.01, nccl_most_factor)),
                     optional("servers", &C::servers, "The number of servers that these ranks are on; 0: on any.", between(0, 1 << 20))}};
}

Declaration<HardwareProfile> Declared<HardwareProfile>::declaration() {
  using H = HardwareProfile;
  return {
      .doc = "What messages and reductions cost beyond the time on links.",
      .fields = {
          optional("profile", &H::name, "The hardware profile that the other keys override."),
          optional("send_overhead", &H::send_overhead, "The time that the sender is busy with each message (o_s of LogP)."),
          optional("send_queue", &H::send_queue,
                   "Where send overheads queue up: channel: each channel of each stream has a sender of its own; rank: one CPU thread "
                   "sends for all of them; nic: the ranks of a NIC share it."),
          optional("mpi_library", &H::mpi_library,
                   "By whose rules the algorithm mpi chooses where it names no library itself; when not given open_mpi."),
          optional("receive_overhead", &H::receive_overhead,
                   "The time that the receiver is busy with each message after it has arrived (o_r of LogP)."),
          optional("first_use", &H::first_use,
                   "The time to set up a connection, paid once for each directed pair of ranks by its first message."),
          optional("rendezvous", &H::rendezvous,
                   "The handshake time of a message that reaches the rendezvous threshold; in a call of NCCL of one between servers, by "
                   "what it takes on the wire."),
          optional_as<SizeOrNever>("rendezvous_threshold", &H::rendezvous_threshold,
                                   "Messages of this size and more wait for their receiver."),
          optional("reduce_launch", &H::reduce_launch, "The fixed cost of starting each reduction."),
          optional_as<RateOrUnlimited>("reduce_rate", &H::reduce_rate,
                                       "The bytes that a rank reduces in a second; all ranks of the server shared_gpu together."),
          optional_as<SizeOrNever>(
              "reduce_cache", &H::reduce_cache,
              "Of larger messages only so much is reduced and copied at the rate in cache, the rest at that beyond it."),
          optional_as<RateOrThat<word_reduce_rate>>("reduce_rate_beyond_cache", &H::reduce_rate_beyond_cache,
                                                    "The bytes that a rank reduces in a second when they do not stay in cache."),
          optional("wire_efficiency", &H::wire_efficiency,
                   "The goodput of a link divided by its line rate: what headers leave to the payload.", between(0.01, 1.0)),
          optional("eager_efficiency", &H::eager_efficiency,
                   "The goodput of messages below the rendezvous threshold divided by that of larger ones, which flags and copies reduce.",
                   between(0.01, 1.0)),
          optional_as<RateOrUnlimited>("stream_rate", &H::stream_rate,
                                       "The most that one connection (sender, receiver, channel and stream) carries "
                                       "between servers, as TCP is limited by one core; unlimited when not given."),
          optional_as<RateOrUnlimited>(
              "staging_rate", &H::staging_rate,
              "The rate at which messages between servers are copied to and from host memory, one copy at a time for each GPU and "
              "direction; unlimited, as with GPUDirect RDMA, when not given."),
          optional("message_efficiency", &H::message_efficiency, "The goodput of all messages divided by what the links give them.",
                   between(0.01, 1.0)),
          optional(
              "call_overhead", &H::call_overhead,
              "The time that each rank needs before its first message of every collective, and before each message of a program, such as "
              "for a kernel launch."),
          optional("eager_threshold", &H::eager_threshold,
                   "Sends of smaller messages are complete when their overheads are over: the sender does not wait for the transfer. "
                   "0B: every send waits."),
          optional(
              "inline_threshold", &H::inline_threshold,
              "Messages of this size and more cost the sender beyond_inline; smaller ones are sent inline, as part of the send request."),
          optional("beyond_inline", &H::beyond_inline,
                   "The additional time that the sender is busy with a message that is not sent inline."),
          optional("nvlink_overhead", &H::nvlink_overhead,
                   "From a message's end on its links until the receiver has it, on paths from GPU to GPU over NVLink."),
          optional("pcie_overhead", &H::pcie_overhead,
                   "From a message's end on its links until the receiver has it, on PCIe paths inside one socket."),
          optional("sockets_overhead", &H::sockets_overhead,
                   "From a message's end on its links until the receiver has it, on paths from socket to socket of a server."),
          optional("rail_overhead", &H::rail_overhead,
                   "From a message's end on its links until the receiver has it, on paths between servers over one switch."),
          optional("network_overhead", &H::network_overhead,
                   "From a message's end on its links until the receiver has it, on paths between servers over several switches."),
          optional_as<SizeOrNever>(
              "last_level_cache", &H::last_level_cache,
              "Of larger messages only so much is reduced and copied at the rates of caches, the rest at those in memory; the "
              "ranks on a socket of the server cpu_host have it between them, and all ranks of the server shared_gpu, where it holds what "
              "they read and write in a step."),
          optional_as<RateOrThat<word_reduce_rate_beyond_cache>>(
              "reduce_rate_in_memory", &H::reduce_rate_in_memory,
              "The bytes that a rank reduces in a second beyond the last level of cache."),
          optional_as<RateOrUnlimited>(
              "copy_rate", &H::copy_rate,
              "The bytes that a core copies in a second of messages from another rank of its host, which neither an "
              "NVLink nor a NIC brings; all ranks of the server shared_gpu together."),
          optional_as<RateOrThat<word_copy_rate>>("copy_rate_beyond_cache", &H::copy_rate_beyond_cache,
                                                  "The bytes that it copies in a second of what does not fit into reduce_cache."),
          optional_as<RateOrThat<word_copy_rate_beyond_cache>>("copy_rate_in_memory", &H::copy_rate_in_memory,
                                                               "The bytes that it copies in a second of what does not fit into "
                                                               "last_level_cache; the ranks on a socket of the server cpu_host "
                                                               "have it between them, and those of shared_gpu."),
          optional_as<RateOrUnlimited>("copy_rate_of_socket", &H::copy_rate_of_socket,
                                       "The bytes that the cores of a socket together take out of its memory in a second of messages to "
                                       "other cores of the host, but for those within a last level of cache; that of the memory when not "
                                       "given."),
          optional_as<RateOrUnlimited>("host_eager_copy_rate", &H::host_eager_copy_rate,
                                       "The rate at which two ranks of a host together copy a short message through a buffer that they "
                                       "share; with host_handshake, which long ones make instead, in the way of eager_copy_rate and "
                                       "handshake."),
          optional("host_handshake", &H::host_handshake,
                   "The time that a message within a host takes which is so long that the library does not copy it twice but lets the "
                   "receiver's core copy it from where it lies (copy_rate)."),
          optional_as<SizeOrNever>("fresh_buffer", &H::fresh_buffer,
                                   "Buffers of this size and more, for what arrives in one step to be reduced and for copies of the "
                                   "message, are allocated afresh in every call, as glibc does above 32 MiB."),
          optional_as<RateOrUnlimited>("page_fault_rate", &H::page_fault_rate,
                                       "The bytes of a fresh buffer whose pages are mapped, cleared and registered in a second."),
          optional(
              "local_copy", &H::local_copy,
              "The fixed cost of copying a piece within a rank's own memory, as all-to-alls of Bruck pack and unpack their blocks; its "
              "bytes go at the rate of reductions. Not in a call of NCCL."),
          optional("initial_copies", &H::initial_copies,
                   "How often a call that reduces copies its whole message before its first message, at the rate of its reductions: 1 for "
                   "MPI, which copies what it sends into the buffer that it receives in.",
                   between(0.0, max_initial_copies)),
          optional_as<RateOrUnlimited>(
              "eager_copy_rate", &H::eager_copy_rate,
              "The rate at which the two ends together copy a short message through buffers of the library, which "
              "lets its sender go at once; with handshake, which long ones make instead. Not of messages within a host "
              "(host_eager_copy_rate)."),
          optional(
              "handshake", &H::handshake,
              "The time that a message takes which is so long that the library does not copy it but tells the receiver first. A message "
              "of S bytes takes S handshake / (S + eager_copy_rate handshake) for both: no more than its copies, no more than the "
              "handshake."),
          optional("handshake_threshold", &H::handshake_threshold,
                   "The size from which the library makes the handshake, where that is known: smaller messages take their copies, others "
                   "the handshake. 0B: not known."),
          optional_as<RateOrUnlimited>("unpipelined_rate", &H::unpipelined_rate,
                                       "What the stages of one message do one behind the other takes its bytes over this rate, after they "
                                       "have arrived; it keeps nobody, so messages behind one another hide it."),
          optional("sender_share", &H::sender_share,
                   "The part of copies or handshake that keeps the sender busy, so that messages behind one another wait for it.",
                   between(0.0, 1.0)),
          optional("nccl_base", &H::nccl_base, "A factor on the base latency of a call in NCCL's tuning table.",
                   between(0.0, nccl_most_factor)),
          optional("ll_hops", &H::ll_hops, "A factor on the hop latencies of protocol LL in NCCL's tuning table.",
                   between(0.0, nccl_most_factor)),
          optional("ll128_hops", &H::ll128_hops, "A factor on the hop latencies of protocol LL128 in NCCL's tuning table.",
                   between(0.0, nccl_most_factor)),
          optional("simple_hops", &H::simple_hops, "A factor on the hop latencies of protocol Simple in NCCL's tuning table.",
                   between(0.0, nccl_most_factor)),
          optional("network_hops", &H::network_hops, "A further factor on the latencies of hops between servers, whatever the protocol.",
                   between(0.0, nccl_most_factor)),
          optional("nccl_launch", &H::nccl_launch,
                   "A factor on the time in which a rank of NCCL launches an operation of its ring between servers: a ring's hops inside "
                   "servers take no less. 1 us, three times as much with protocol Simple.",
                   between(0.0, nccl_most_factor)),
          optional("nccl_peer", &H::nccl_peer,
                   "A factor on the 5 us that an all-to-all of NCCL takes for each rank on another server, whose messages a GPU's proxy "
                   "thread posts one behind the other.",
                   between(0.0, nccl_most_factor)),
          optional(
              "nccl_channel", &H::nccl_channel,
              "What each channel that a call of NCCL takes, but the first, adds to the call, whatever its bytes: small calls take few of "
              "them. Fitted: 1.2 to 2.6 us on A100 with old releases and 0.37 of 2024, 0.2 on H100 with NCCL 2.22 and 2.26."),
          optional(
              "simple_base", &H::simple_base,
              "What a call of NCCL with protocol Simple takes besides its hops and beyond its tuning table; NVLS has its own. Fitted to 2, "
              "4 and 8 GPUs of a server: 23 us on A100, 8 to 10 on H100, H200, B200 and B300, whose hops take 0.7 to 2 us for 3.4."),
          optional(
              "nccl_network", &H::nccl_network,
              "What a call of NCCL between servers takes besides its hops, however many servers there are: nothing by its tuning table. "
              "Fitted to several numbers of servers: 5 to 6 us between servers of 8 A100, 0 to 4 between those of 4 V100, 0.6 between "
              "those of 8 H100."),
          optional(
              "nccl_hop", &H::nccl_hop,
              "What each hop of NCCL between servers takes beyond its tuning table, whose hops are those of InfiniBand, in any protocol. "
              "Fitted: 5 us with libfabric on Slingshot, 13 us with sockets there, 38 us with TCP on 10 Gb/s Ethernet."),
          optional_as<RateOrUnlimited>(
              "nccl_own_rate", &H::nccl_own_rate,
              "The rate at which a rank of NCCL's rings and all-to-alls copies its own part of the message, one n-th of it on n ranks, "
              "while its links wait: so 8 GPUs get more out of them than 2. Unlimited, as if it took no time, when not given. Fitted: 660 "
              "GB/s on A100, 780 on H100 and H200, 1250 on B200 and B300."),
          optional("process_launch", &H::process_launch,
                   "What a process that launches the kernels of several GPUs takes for each of them. Calls that were measured behind one "
                   "another so (nccl-tests with -g 8) came no faster than their sum; in a simulation each GPU has a process of its own."),
          optional(
              "ll_efficiency", &H::ll_efficiency,
              "The goodput of NCCL's protocol LL over what the links give: half of its bytes are flags, and it moves 8 bytes at a time.",
              between(0.01, 1.0)),
          optional("ll128_efficiency", &H::ll128_efficiency,
                   "The goodput of NCCL's protocol LL128 over what the links give: 120 of 128 bytes are data.", between(0.01, 1.0)),
          optional("simple_efficiency", &H::simple_efficiency, "The goodput of NCCL's protocol Simple over what the links give.",
                   between(0.01, 1.0)),
          optional("tree_efficiency", &H::tree_efficiency, "The goodput of NCCL's trees divided by that of its rings.", between(0.01, 1.0)),
          optional("nvls_efficiency", &H::nvls_efficiency,
                   "The goodput of NCCL's NVLS within servers over what links would give to an NVSwitch that adds: each GPU sends and "
                   "receives (n+1)/n of the message.",
                   between(0.01, 1.0)),
          optional("ll_bias", &H::ll_bias,
                   "NCCL keeps to protocol LL as long as it is expected to take at most this many times as long as the others.",
                   between(0.0, nccl_most_factor)),
          optional(
              "ll128_bias", &H::ll128_bias,
              "Between servers NCCL keeps to protocol LL128 as long as it is expected to take at most this many times as long as protocol "
              "Simple; 0.2 or less where it does not use LL128 there.",
              between(0.0, nccl_most_factor)),
          optional("tree_bias", &H::tree_bias,
                   "NCCL keeps to trees as long as they are expected to take at most this many times as long as rings.",
                   between(0.0, nccl_most_factor)),
          optional(
              "nvls_bias", &H::nvls_bias,
              "NCCL keeps to NVLS, where an NVSwitch adds, as long as it is expected to take at most this many times as long as others.",
              between(0.0, nccl_most_factor)),
          optional("biases_of", &H::biases_of,
                   "Which calls of NCCL choose by ll_bias, ll128_bias, tree_bias and nvls_bias; the others choose as its table says. A "
                   "profile that was fitted to calls between servers alone, or to calls in one server alone, says nothing of the choice in "
                   "the others."),
          optional("cost_by_size", &H::cost_by_size,
                   "What calls cost over what the other values say, by collective, algorithm, ranks, servers and size: all their times are "
                   "multiplied by the factor. Between sizes, and between numbers of ranks, it follows a straight line of logarithms, and "
                   "stays as it is beyond them. Calls in one server have the factors of such calls, calls between servers those of the "
                   "nearest number of servers; 1 where nothing is given for a collective and its algorithm. Factors of \"message\" are of "
                   "every "
                   "message of a size (between two ranks: so \"ranks\" is 2), besides those of NCCL."),
      }};
}

Json HardwareForm::schema() {
  Json object = Form<HardwareProfile>::schema();
  for (auto& property : object["properties"].items()) property.value().erase("default");  // those of the profile
  return {{"oneOf", Json::array({{{"type", "string"}, {"description", "The name of a hardware profile in scenarios/hardware/."}}, object})},
          {"x-shorthand", "profile"}};
}

bool HardwareForm::read(const Json& json, const JsonPath& where, Input& in, HardwareProfile& out) {
  if (!json.is_string() && !json.is_object()) return in.unwanted(where, wanted(), json);
  if (json.is_object() && json.contains("schema"))
    return in.problem(where,
                      "must be the name of a hardware profile, or an object with \"profile\" and overrides, got what stands in the "
                      "file of a profile: put the file into \"hardware\" beside the scenario and give its name");
  std::string name = HardwareProfile{}.name;
  const bool in_object = json.is_object() && json.contains("profile");
  const Json& named = in_object ? json.at("profile") : json;
  if (json.is_string() || in_object) {
    check(in.profiles, "reading a hardware profile needs a library");
    const JsonPath path_of_name = in_object ? where.in("profile") : where;
    if (!Form<std::string>::read(named, path_of_name, in, name)) return false;
    try {
      out = in.profiles->load(name);
    } catch (const InputError& error) {
      for (const std::string& problem : error.problems()) in.problem(path_of_name, problem);
      return false;
    }
  }
  if (json.is_string()) return true;
  const Json base = Form<HardwareProfile>::write(out);
  if (!Form<HardwareProfile>::read(json, where, in, out)) return false;
  const Json result = Form<HardwareProfile>::write(out);
  for (const auto& [key, value] : result.items())
    if (key != "profile" && (!base.contains(key) || base.at(key) != value)) out.sources[key] = given_in_the_scenario;
  return true;
}

}  // namespace weft

#include "sim/cases/sized.hpp"

#include "models/fabric/routes.hpp"
#include "models/nccl_expectation.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/cases/jobs.hpp"
#include "sim/cases/nccl_question.hpp"
#include "sim/scenario/algorithms.hpp"
#include "sim/scenario/ranks_by_server.hpp"

#include <algorithm>
#include <bit>
#include <climits>
#include <cmath>

namespace weft {
namespace {

constexpr int max_pieces = 128;        // chosen here; the more, the more messages are simulated
constexpr int max_segments = 1 << 12;  // of a library's rule
constexpr int max_asked = 1 << 16;     // as "pieces" may be

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// How many segments the scenario asks for. Throws InputError where they are too many.
int segments_asked(Bytes segment, std::int64_t bytes) {
  const std::int64_t segments = std::max<std::int64_t>(1, ceil_div(bytes, segment.count));
  if (segments > max_asked)
    throw InputError(fmt::format("a segment of {} cuts {} into {} pieces, and at most {} are simulated: write at least {}",
                                 to_string(segment), to_string(Bytes{bytes}), segments, max_asked,
                                 to_string(Bytes{ceil_div(bytes, max_asked)})));
  return static_cast<int>(segments);
}

// The way between two ranks, by a hash of its own: to ask for it counts as no flow.
struct Way {
  BitsPerSecond rate;
  SimTime latency;
  PathClass kind = PathClass::rail;
  bool beside_sockets = false;  // PCIe switches pass it on, and no socket does
  bool staged = false;          // in host memory
  double both_ways = 1;         // share of the rate while bytes cross the links both ways at once
};

Way way_between(const SizedQuestion& q, Rank a, Rank b) {
  Routes routes(q.fabric, {});
  const RouteId id = routes.of(q.placement[static_cast<std::size_t>(a)], q.placement[static_cast<std::size_t>(b)]);
  const auto passes = [&](DeviceKind kind) {
    return std::ranges::any_of(routes.hops(id), [&](const Hop& hop) { return q.fabric.device(q.fabric.to(hop.link)).kind == kind; });
  };
  // As a library finds it, which knows nothing of what is lost under load.
  BitsPerSecond rate{INT64_MAX}, duplex{INT64_MAX};
  for (const Hop& hop : routes.hops(id)) {
    const Link& link = q.fabric.link(hop.link);
    if (!link.is_lane) rate = std::min(rate, link.bandwidth);
    if (link.two_way.duplex.count > 0) duplex = std::min(duplex, link.two_way.duplex);
  }
  return {rate,
          routes.latency(id),
          class_of(q.fabric, routes.hops(id)),
          passes(DeviceKind::pcie_switch) && !passes(DeviceKind::socket),
          passes(DeviceKind::memory),
          std::min(1.0, static_cast<double>(duplex.count) / static_cast<double>(rate.count))};
}

// Each channel of NCCL's search crosses the NVLinks of all GPUs at the rate of its NIC: 16 of NICs of 400 Gb/s fill those of 72 GB200,
// however many NICs the rack has. All-to-alls have other channels, and those along links from GPU to GPU are as many as these have room for
// (nvlink_channels).
int max_channels_on_nvlinks(const NcclQuestion& q) {
  return q.servers > 1 && q.nvlink && !q.several_ways && q.collective != Collective::alltoall ? channels_found(q).count : INT_MAX;
}

// Relays send one turn while they get the next, and here a turn waits for the one before to arrive, which NCCL's does not. In t turns a
// call takes what they wait for t times and a t-th of what relays get over the NVLinks besides its bytes on the wire, least for the root
// of the ratio.
int turns_done_first(const NcclQuestion& q, const Regime& regime, int gpus, Bytes block) {
  const SimTime waits = std::max(q.way, regime.longer);
  if (waits.ps == 0 || q.inside.count == 0) return max_pieces;
  const double relayed = static_cast<double>(block.count) * (q.ranks - gpus) * (gpus - 1) / gpus;
  const double gathered_s = 8 * relayed / static_cast<double>(q.inside.count);
  return static_cast<int>(std::clamp(std::round(std::sqrt(gathered_s / waits.seconds())), 1.0, double{max_pieces}));
}

// Of a chain, which NCCL cuts no further (calcCollChunking): a GPU passes on a chunk of each connection when all of it has come. So
// broadcasts are right within 9 % where NCCL takes Simple on 2, 8, 16 and 32 servers of 4 V100, from 2 MiB on 2 to 32 MiB on 32
// (validation/data/abci2_nccl, profile abci_v100 without costs by size; 4 servers take 2 to 8 times as long).
Bytes chunk_of_chain(const Regime& regime) { return Bytes{nccl_chunk(regime.protocol, {}, 0).count * regime.connections}; }

SizedChoice nccl_for_size(const SizedQuestion& q, AlgorithmChoice choice) {
  AlgorithmSettings& s = choice.settings;
  const NcclQuestion question = nccl_question(q, s);
  const int ranks = question.ranks, gpus = ranks_by_server(q.scenario, s).most;
  Regime regime = nccl_choice(q.hardware, question, q.size);
  s.nccl = regime.pattern;
  s.protocol = regime.protocol;
  const bool chain = question.collective == Collective::broadcast || question.collective == Collective::reduce;
  if (s.channels_follow) {
    s.channels = std::min({channels_of(s), nccl_channels(regime, ranks, q.size), max_channels_on_nvlinks(question)});
    if (question.servers > 1) regime.connections = std::max(1, regime.channels / channels_of(s));  // it doubles the channels that it finds
  } else if (regime.channels > 0) {
    regime.channels = channels_of(s);  // what each adds is of those that are given
  }
  const bool switched = nvswitches_add(regime) || regime.pattern == NcclAlgorithm::collnet_direct;
  if (switched) s.channels = 1;
  const bool on_trees = regime.pattern == NcclAlgorithm::tree || regime.pattern == NcclAlgorithm::nvls_tree || sharp_adds(regime);
  const bool relays = question.collective == Collective::alltoall && s.pxn.value_or(false);
  if (relays) {
    const Bytes block{ceil_div(q.size.count, std::int64_t{ranks})};
    if (s.segment.count > 0)
      s.pieces = segments_asked(s.segment, block.count);
    else if (s.pieces == 0)
      s.pieces = std::min(nccl_alltoall_pieces(block), turns_done_first(question, regime, gpus, block));
  } else if (!chain && !on_trees) {
    s.pieces = 0;
  } else if (s.pieces == 0) {
    const bool sharp = sharp_adds(regime);
    const int heads = !switched ? channels_of(s) : sharp ? question.nics : gpus;
    const double parts = heads * (chain || sharp ? 1 : 2);
    const Bytes part{ceil_div(q.size.count, std::llround(parts))};
    const int between = sharp ? 1 : std::bit_width(static_cast<unsigned>(question.servers));
    const int hops = 2 * (between + (switched ? 1 : gpus));
    const Bytes chunk = s.segment.count > 0 ? s.segment : chain ? chunk_of_chain(regime) : nccl_chunk(regime.protocol, part, hops);
    const double chunks = static_cast<double>(q.size.count) / parts / static_cast<double>(chunk.count);
    const bool in_turns = chain && regime.protocol == NcclProtocol::ll && s.segment.count == 0;
    if (in_turns)
      s.pieces = std::min(ll_chain_turns(question, q.size), max_pieces);
    else if (s.segment.count > 0)
      s.pieces = segments_asked(s.segment, part.count);
    else
      s.pieces = static_cast<int>(std::clamp(std::ceil(chunks), 1.0, double{max_pieces}));
    if (!in_turns && chunks > 1 && chunks <= s.pieces) s.last_piece = chunks - (s.pieces - 1);  // the others are whole
  }
  regime.sending = SimTime{regime.turns.ps / std::max(s.pieces, 1)};
  s.segment = {};
  return {std::move(choice), regime};
}

// Pieces that follow one another through `steps` steps of `bytes` each: (steps + pieces - 1) (a + bytes / (pieces b)) is least
// for the root of (steps - 1) bytes / (a b).
int pieces_done_first(const SizedQuestion& q, int steps, double bytes) {
  const int ranks = ranks_of(q.scenario);
  if (ranks < 2 || bytes <= 0 || steps < 2) return 1;
  const Way way = way_between(q, 0, ranks - 1);
  const HardwareProfile& hw = q.hardware;
  const SimTime each = hw.send_overhead + hw.receive_overhead + way.latency + hw.path_overheads()[static_cast<std::size_t>(way.kind)];
  const double moved_s = bytes * 8 / (static_cast<double>(way.rate.count) * hw.wire_efficiency * hw.message_efficiency);
  if (each.ps == 0) return max_pieces;
  const double best = std::sqrt((steps - 1) * moved_s / each.seconds());
  return static_cast<int>(std::exp2(std::clamp(std::round(std::log2(std::max(best, 1.0))), 0.0, std::log2(max_pieces))));
}

}  // namespace

NcclQuestion nccl_question(const SizedQuestion& q, const AlgorithmSettings& s) {
  const RanksByServer at = ranks_by_server(q.scenario, s);
  NcclQuestion question{.collective = q.scenario.workload.collective,
                        .ranks = ranks_of(q.scenario),
                        .servers = at.servers,
                        .algorithm = s.nccl,
                        .protocol = s.protocol};
  if (at.most > 1) {
    const auto several = std::ranges::find_if(at.ranks, [](const std::vector<Rank>& server) { return server.size() > 1; });
    const Way inside = several == at.ranks.end() ? way_between(q, 0, 1) : way_between(q, (*several)[0], (*several)[1]);
    question.nvlink = inside.kind == PathClass::nvlink;
    question.inside = inside.rate;
    question.staged = inside.staged;
    if (const NvlinkRings rings = rings_of(q.scenario, s); !rings.orders.empty()) {
      question.nvlink = true;
      question.several_ways = at.most > 2 && rings.orders.size() > 1;
      question.inside = BitsPerSecond{rings.lane.count * static_cast<std::int64_t>(rings.orders.size())};
    }
  }
  const bool uneven = !at.is_even();  // NVSwitches and the switches between servers add for as many ranks of each
  question.switch_adds = !uneven && switch_adds(q.scenario.server);
  question.sharp = !uneven && q.scenario.fabric.sharp;
  question.nvlinks_join_all = question.sharp && nvlinks_join_all(q.scenario.server);  // only CollNet asks, and it takes long
  question.nics = std::max(s.nics, 1);
  question.amd = q.scenario.server.processor == HostProcessor::amd;
  if (question.servers > 1) {
    const Way outside = at.ranks.empty() ? way_between(q, 0, at.least) : way_between(q, at.ranks[0][0], at.ranks[1][0]);
    question.outside = BitsPerSecond{outside.rate.count * question.nics};
    question.both_ways = outside.both_ways;
    question.way = outside.latency;
    question.ll128 = outside.beside_sockets;
    question.nvlink |= at.most == 1;  // nothing else joins a server's only GPU
  }
  return question;
}

std::string sized_name(const SizedChoice& sized) {
  const std::string& algorithm = sized.choice.name;
  if (sized.regime.protocol != NcclProtocol::automatic)
    return with_protocol(algorithm, name_of(sized.regime.pattern), name_of(sized.regime.protocol));
  return algorithm;
}

bool depends_on_size(const Scenario& scenario, const AlgorithmChoice& choice) {
  const Algorithm* algorithm = find_algorithm(scenario.workload.collective, choice.name);
  if (!algorithm) return false;
  if (algorithm->chooses != nullptr && choice.settings.inner.empty()) return true;
  return algorithm->cuts_itself || choice.settings.segment.count > 0 || (algorithm->wants_pieces && choice.settings.pieces == 0);
}

SizedChoice for_size(const SizedQuestion& q, const AlgorithmChoice& asked) {
  AlgorithmChoice choice = with_server_defaults(q.scenario, asked);
  if (!depends_on_size(q.scenario, choice)) return {std::move(choice)};
  const Algorithm& algorithm = *find_algorithm(q.scenario.workload.collective, choice.name);
  if (algorithm.cuts_itself) return nccl_for_size(q, std::move(choice));
  if (algorithm.chooses != nullptr) {
    const Request chosen = algorithm.chooses(request_of(q.scenario, choice), q.size);
    choice.name = chosen.algorithm;
    choice.settings = chosen.settings;
    if (choice.settings.segment.count == 0) {
      const Algorithm* taken = find_algorithm(q.scenario.workload.collective, choice.name);
      if (taken && taken->wants_pieces) choice.settings.pieces = std::max(1, choice.settings.pieces);  // uncut, whoever asks again
      return {std::move(choice)};
    }
  }
  AlgorithmSettings& s = choice.settings;
  Request whole = request_of(q.scenario, choice);
  whole.settings.pieces = 1;
  whole.settings.segment = {};
  const Cost one = cost(whole);
  const double chunk_bytes = static_cast<double>(q.size.count) / std::max(one.chunks, 1);
  if (asked.settings.segment.count > 0)
    s.pieces = segments_asked(s.segment, std::llround(std::ceil(chunk_bytes)));
  else if (s.segment.count > 0)
    s.pieces = static_cast<int>(std::clamp(std::ceil(chunk_bytes / static_cast<double>(s.segment.count)), 1.0, double{max_segments}));
  else
    s.pieces = pieces_done_first(q, one.steps, chunk_bytes);
  s.segment = {};
  return {std::move(choice)};
}

std::string said_of_nccl_choice(const SizedQuestion& q, const AlgorithmChoice& asked) {
  constexpr double much = 0.75;
  const Algorithm* algorithm = find_algorithm(q.scenario.workload.collective, asked.name);
  if (!algorithm || !algorithm->cuts_itself) return {};
  const NcclRegret regret = nccl_regret(q.hardware, nccl_question(q, with_server_defaults(q.scenario, asked).settings), q.size);
  const double part = std::exp(-regret.log_ratio);
  if (part > much) return {};
  const auto said = [](const Regime& regime) { return fmt::format("{} with {}", name_of(regime.pattern), name_of(regime.protocol)); };
  return fmt::format(
      "NCCL's own table chooses {} for {}, though {} takes about {:.0f} % less by this profile's costs (\"algorithm\" and "
      "\"protocol\" of nccl force one)",
      said(regret.chosen), to_string(q.size), said(regret.best), 100 * (1 - part));
}

std::string too_many_segments(const Scenario& scenario, const AlgorithmChoice& choice) {
  std::string out;
  if (choice.settings.segment.count == 0) return out;
  const auto fabric = build(scenario.fabric.spec, scenario.server);
  std::vector<int> placement;  // which only NCCL's choice depends on
  if (find_algorithm(scenario.workload.collective, choice.name)->cuts_itself) placement = placement_of_workload(scenario, choice);
  for (const Bytes size : scenario.workload.sizes) try {
      for_size({scenario, scenario.hardware, *fabric, placement, size}, choice);
    } catch (const InputError& error) {
      out = error.what();
    }
  return out;
}

SizedChoice for_call(const SizedQuestion& q, const AlgorithmChoice& asked) {
  SizedChoice out = depends_on_size(q.scenario, asked) ? for_size(q, asked) : SizedChoice{asked};
  const CostsBySize& costs = q.hardware.cost_by_size;
  if (!costs.empty())
    out.regime.cost = costs.factor(
        {name_of(q.scenario.workload.collective), sized_name(out), ranks_of(q.scenario), q.size, ranks_by_server(q.scenario).servers});
  return out;
}

}  // namespace weft

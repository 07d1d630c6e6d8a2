#include "sim/results/row_notes.hpp"

#include "kernels/base/plural.hpp"

#include <algorithm>
#include <map>

namespace weft {
namespace {

using Lines = std::vector<std::string>;

// GPUs whose copies went the same way at the same rate stand together.
void add_copies(const Row& row, Lines& out) {
  std::map<std::pair<bool, std::string>, std::vector<int>> groups;
  for (const CopyResult& copy : row.copies) groups[{copy.to_host, fmt::format("{:.3f}", copy.GBps())}].push_back(copy.gpu);
  for (const auto& [what, gpus] : groups) {
    const std::string who =
        gpus.size() > 8 ? fmt::format("{} GPUs, the first {}", gpus.size(), gpus.front()) : fmt::format("GPU {}", fmt::join(gpus, ", "));
    out.push_back(fmt::format("copies {} {}: {} GB/s each", what.first ? "from" : "to", who, what.second));
  }
}

std::string us(SimTime time) { return fmt::format("{:.2f}", static_cast<double>(time.ps) / 1e6); }

// A line for each job of a shared network, the row's own first.
void add_jobs(const Row& row, Lines& out) {
  for (const JobResult& job : row.jobs) {
    std::string line = fmt::format("job {}: {} on {}, {}, from {} us: {} us", job.name, job.algorithm, counted(job.ranks, "rank"),
                                   to_string(job.size), us(job.start), us(job.time));
    if (job.iterations > 1) line += fmt::format(" on average over {} iterations ({} to {})", job.iterations, us(job.least), us(job.most));
    if (job.time_p05 && job.time_p95) line += fmt::format(", {} to {} us in 90 % of the runs", us(*job.time_p05), us(*job.time_p95));
    out.push_back(line + fmt::format(", alone {} us, slowdown {:.3f}", us(job.alone), job.slowdown()));
  }
  if (row.jobs.size() > 1) out.push_back(fmt::format("fairness of slowdowns (Jain's index): {:.3f}", fairness(row.jobs)));
}

// Of what a step exposes, the kernels of its compression, where the GPU does not compute while they run; on a CPU core they may be hidden.
SimTime exposed_kernels(const Row& row, SimTime exposed) {
  if (!row.compresses() || row.compressed->compression.find("kernels=cpu_core") != std::string::npos) return {};
  return std::min(row.compressed->kernels, std::max(exposed, SimTime{}));
}

void add_step(const Row& row, Lines& out) {
  if (!row.training) return;
  const TrainingResult& t = *row.training;
  const auto ms = [](SimTime time) { return static_cast<double>(time.ps) / 1e9; };
  const double share = row.time.ps > 0 ? 100.0 * static_cast<double>(t.exposed.ps) / static_cast<double>(row.time.ps) : 0;
  out.push_back(
      fmt::format("step {:.3f} ms = compute {:.3f} ms + exposed {:.3f} ms ({:.1f} %); {:.1f} samples/s, scaling efficiency {:.1f} %",
                  ms(row.time), ms(t.compute), ms(t.exposed), share, t.samples_per_s, 100 * t.scaling_efficiency));
  const SimTime communication = t.exposed - t.stragglers - t.negotiation - t.events, kernels = exposed_kernels(row, communication);
  std::string parts = fmt::format("breakdown: compute {:.3f} ms", ms(t.compute));
  if (kernels > SimTime{}) parts += fmt::format(", compression kernels {:.3f} ms", ms(kernels));
  parts += fmt::format(", exposed communication {:.3f} ms, waiting for other ranks {:.3f} ms, waiting for negotiation {:.3f} ms",
                       ms(communication - kernels), ms(t.stragglers), ms(t.negotiation));
  if (t.events > SimTime{}) parts += fmt::format(", checkpoints and restarts {:.3f} ms", ms(t.events));
  if (t.merged)
    parts += "; approximated by merging steps, the breakdown may differ: set /workload/detail to \"messages\" for each message by itself";
  out.push_back(parts);
}

// Of which sum only what is sent is proved: the rest is kept for later.
void add_compression(const Row& row, Lines& out) {
  if (!row.compresses()) return;
  out.push_back(fmt::format("{}: compression kernels: up to {:.3f} ms per rank; not a dense all-reduce: what is not sent is kept for later",
                            row.compressed->compression, static_cast<double>(row.compressed->kernels.ps) / 1e9));
}

// What the time was spent on, the largest part first, and which links most of it went through.
void add_path(const Row& row, Lines& out) {
  if (!row.critical_path) return;
  const CriticalPath& path = *row.critical_path;
  const SimTime all = path.latency + path.overhead + path.waiting + path.computing + path.bandwidth;
  const auto share = [&](SimTime part) { return all.ps > 0 ? 100 * static_cast<double>(part.ps) / static_cast<double>(all.ps) : 0; };
  std::vector<std::string> limits;
  for (const LimitingResource& limit : path.limits)
    if (limits.size() < 3 && share(limit.time) >= 1) limits.push_back(fmt::format("{} {:.1f} %", limit.name, share(limit.time)));
  std::vector<std::pair<SimTime, std::string>> parts = {
      {path.bandwidth, limits.empty() ? "bandwidth" : fmt::format("bandwidth ({})", fmt::join(limits, ", "))},
      {path.latency, "latency"},
      {path.overhead, "overheads"},
      {path.waiting, "waiting"},
      {path.computing, "compute"}};
  constexpr double shown_as_nothing = 0.05;
  std::erase_if(parts, [&](const auto& part) { return share(part.first) < shown_as_nothing; });
  std::ranges::stable_sort(parts, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> texts;
  for (const auto& [time, what] : parts) texts.push_back(fmt::format("{:.1f} % {}", share(time), what));
  if (!texts.empty()) out.push_back(fmt::format("critical path: {}", fmt::join(texts, ", ")));
}

// In the largest unit that it is one of.
std::string scaled(SimTime time) {
  for (const auto& [ps, unit] : {std::pair{1e12, "s"}, {1e9, "ms"}})
    if (static_cast<double>(time.ps) >= ps) return fmt::format("{:.3f} {}", static_cast<double>(time.ps) / ps, unit);
  return us(time) + " us";
}

void add_what_if(const Row& row, Lines& out) {
  for (const WhatIf& one : row.what_if) {
    const std::string change = fmt::format("{:+.1f} %", 100 * one.change);
    const bool none = change == "+0.0 %" || change == "-0.0 %";
    out.push_back(fmt::format("with {} twice as fast: {} ({})", one.twice_as_fast, scaled(one.time), none ? "no change" : change));
  }
}

void add_traffic(const Row& row, Lines& out) {
  for (std::size_t i = 0; i < row.traffic.size(); ++i) {
    const TrafficResult& t = row.traffic[i];
    const std::string streams = counted(t.streams, "stream");
    out.push_back(t.count == 0 ? fmt::format("traffic {}: no flow of {} has ended within the run", i, streams)
                               : fmt::format("traffic {}: {} of {} ended, {:.3f} GB/s each on average", i, counted(t.count, "flow"),
                                             streams, t.GBps()));
    if (t.late > 0)
      out.back() +=
          fmt::format("; {} of them began late, as the one before took longer than the period: less was sent than it asks for", t.late);
  }
}

double percent(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

// All jobs together, and of the switches the one that used most of its places.
void add_in_network(const Row& row, Lines& lines) {
  if (!row.in_network) return;
  const InNetworkSummary& s = *row.in_network;
  InNetworkJobSummary all;
  for (const InNetworkJobSummary& j : s.jobs) {
    all.servers += j.servers, all.packets += j.packets;
    all.sent += j.sent, all.resent += j.resent, all.timeouts += j.timeouts, all.marked += j.marked;
    all.largest_window = std::max(all.largest_window, j.largest_window);
  }
  const bool atp = all.servers > 0;
  const double share = 100 * aggregated_share(s);
  const char* places = atp ? "aggregators" : "slots";
  if (s.switches.empty())
    return lines.push_back(
        fmt::format("switches: {}without {}",
                    atp ? fmt::format("{:.2f} % of packets expected to be fully aggregated, {} {} each; ", share, s.places, places)
                        : fmt::format("{} {}; ", s.places, places),
                    s.left_out));
  std::int64_t packets = 0, collided = 0;
  for (const InNetworkSwitchSummary& at : s.switches) packets += at.packets, collided += at.collided;
  const InNetworkSwitchSummary& fullest = *std::ranges::max_element(s.switches, {}, &InNetworkSwitchSummary::most_in_use);
  std::string out = fmt::format("switches: at most {} of {} {} in use, in {}; ", fullest.most_in_use, fullest.places, places, fullest.name);
  if (atp)
    out += fmt::format("{:.2f} % collided, {:.2f} % of {} packets fully aggregated; ", percent(collided, packets), share, all.packets);
  out += fmt::format("{} of {} retransmitted", all.resent, all.sent);
  if (atp)
    out += fmt::format(", {}, {} marked, largest window {}", counted(all.timeouts, "timeout"), all.marked,
                       counted(all.largest_window, "packet"));
  lines.push_back(out);
}

void add_packets(const Row& row, Lines& out) {
  if (!row.packet || row.packet->quiet()) return;
  const PacketSummary& p = *row.packet;
  std::vector<std::string> parts;
  const auto add = [&](std::int64_t count, std::string_view what, std::string_view many = {}) {
    if (count > 0) parts.push_back(counted(count, what, many.empty() ? what : many));
  };
  add(p.resent, "retransmitted");
  add(p.marked, "marked");
  add(p.dropped, "dropped");
  add(p.lost, "lost");
  add(p.corrupted, "corrupted");
  if (p.packets > 0) parts.insert(parts.begin(), fmt::format("{} sent", p.packets));  // agents count their own
  std::vector<std::string> facts;                                                     // what is nothing is not said
  const auto close_part = [&] {
    if (!parts.empty()) facts.push_back(fmt::format("{}", fmt::join(parts, ", ")));
    parts.clear();
  };
  close_part();
  add(p.pauses, "pause", "pauses");
  add(p.timeouts, "timeout", "timeouts");
  close_part();
  if (!p.queues.empty() && p.queues.front().high_water.count > 0)
    facts.push_back(fmt::format("longest queue {} at {}", to_string(p.queues.front().high_water), p.queues.front().link));
  if (!p.fullest_switch.empty()) facts.push_back(fmt::format("fullest switch: {}, {}", p.fullest_switch, to_string(p.switch_high_water)));
  out.push_back(fmt::format("packets: {}", fmt::join(facts, "; ")));
}

void add_faults(const Row& row, Lines& out) {
  if (!row.faults) return;
  const FaultsResult& f = *row.faults;
  std::string line = fmt::format("failures: {:.3f} times as long as without them ({} us)", f.slowdown(row.time), us(f.healthy));
  if (f.rerouted > 0) line += fmt::format(", {} changed", counted(f.rerouted, "route"));
  if (f.interrupted > 0) line += fmt::format(", {} interrupted", counted(f.interrupted, "message"));
  out.push_back(line);
}

void add_proof(const Row& row, Lines& out) {
  if (!row.unproved.empty()) out.push_back("NOT PROVED: " + row.unproved);
}

}  // namespace

std::vector<std::string> notes_of(const Row& row) {
  Lines out;
  for (const auto add : {add_proof, add_step, add_compression, add_path, add_what_if, add_faults, add_copies, add_jobs, add_traffic,
                         add_in_network, add_packets})
    add(row, out);
  return out;
}

}  // namespace weft

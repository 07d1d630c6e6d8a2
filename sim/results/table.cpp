#include "sim/results/table.hpp"

#include "models/server/server_fabric.hpp"
#include "sim/results/version.hpp"
#include "sim/scenario/describe.hpp"

#include <algorithm>
#include <map>

namespace weft {
namespace {

// One algorithm's time at one size, so that the fastest can be found.
bool fastest(const Result& result, const std::vector<const Result*>& group) {
  if (!result.row) return false;
  const auto same_size = [&](const Result* other) { return other->row && other->request.size == result.request.size; };
  return std::count_if(group.begin(), group.end(), same_size) > 1 && std::none_of(group.begin(), group.end(), [&](const Result* other) {
           return same_size(other) && other->row->time < result.row->time;
         });
}

std::string what_runs(const Workload& w) {
  return w.program.empty() ? std::string(name_of(w.collective)) : fmt::format("a program of {} operations", w.program.size());
}

// Behind the line on the collective.
std::string training_in_effect(const Workload& w) {
  const Model& model = *w.training.model.table;
  std::string out = fmt::format("\n#   training {}: {} parameters in {} gradients, a sample is {}; {} a GPU on {}, optimizer {}, {} steps",
                                model.name, model.parameters(), model.tensors(), model.sample, w.training.batch_per_gpu,
                                w.training.device.profile->name, name_of(w.training.optimizer), w.iterations);
  const TrainingChoice& t = w.training;
  const DType on_wire = t.gradient_dtype.value_or(w.dtype);
  if (on_wire != w.dtype) out += fmt::format(", gradients as {} on the wire", name_of(on_wire));
  if (t.model_parallel > 1)
    out += fmt::format("; {} ranks share each model, and what these send one another is left out", t.model_parallel);
  std::vector<Bytes> sizes;
  for (const ModelGradient& g : gradients(model, Bytes{static_cast<std::int64_t>(size_of(on_wire))})) sizes.push_back(g.size);
  for (const EngineChoice& engine : w.training.engines)
    for (const std::string& remark : remarks(engine.settings, sizes)) out += fmt::format("\n#   {}: {}", label(engine), remark);
  return out;
}

std::string what_was_in_effect(const Case& one, std::size_t number, std::size_t cases) {
  const Scenario& s = one.scenario;
  std::string out;
  const std::string axes = axes_label(one);
  out += fmt::format("# {}{}{}\n", s.name, cases > 1 ? fmt::format(", case {} of {}", number + 1, cases) : "",
                     axes.empty() ? "" : ": " + axes);
  const std::string links = describe_links(s.fabric.spec);
  out += fmt::format("#   fabric {}{}{}; ecmp {}\n", describe(s.fabric.spec, s.server), links.empty() ? "" : "; ", links,
                     describe(s.fabric.ecmp));
  if (const std::string text = describe(s.fabric.programmable); !text.empty()) out += fmt::format("#   programmable switches: {}\n", text);
  for (const TrafficSpec& traffic : s.traffic) out += fmt::format("#   traffic {}\n", describe(traffic));
  for (const HostCopies& copies : s.copies) out += fmt::format("#   copies of {}\n", describe(copies));
  out += fmt::format("#   {} on {} of {} endpoints, placement {}", what_runs(s.workload), s.workload.ranks,
                     endpoints(s.fabric.spec, s.server), describe(s.placement));
  if (s.workload.training.given()) out += training_in_effect(s.workload);
  if (s.start_skew) out += fmt::format(", starts within {} (seed {})", to_string(s.start_skew->max), s.start_skew->seed);
  out += fmt::format("\n#   hardware {}, network {}, order {}, seed {}\n", s.hardware.name, name_of(s.network), order_policy, s.seed);
  return out;
}

struct Layout {
  std::size_t algorithm = 9;  // width of the widest name
  std::size_t link = 12;
};

std::string header(const Layout& w) {
  std::string out =
      fmt::format("#\n#{:>13} {:>12} {:>8} {:>6}  {:<{}} {:>13} {:>9} {:>9}   {:>13} {:>6}  {:<{}} {:>5}\n", "size", "count", "type",
                  "redop", "algorithm", w.algorithm, "time", "algbw", "busbw", "NIC sends", "flows", "busiest link", w.link, "used");
  out += fmt::format("#{:>13} {:>12} {:>8} {:>6}  {:<{}} {:>13} {:>9} {:>9}   {:>13} {:>6}  {:<{}} {:>5}\n", "(B)", "(elements)", "", "",
                     "", w.algorithm, "(us)", "(GB/s)", "(GB/s)", "(B)", "a link", "", w.link, "(%)");
  return out;
}

// As name_of() says of its request.
std::string name_of_row(const Row& row) {
  return (row.training ? row.training->engine + ", " : "") + row.algorithm + (row.compressed ? ", " + row.compressed->compression : "");
}

std::string line(const Row& row, bool is_fastest, const Layout& w) {
  return fmt::format(" {:>13} {:>12} {:>8} {:>6}  {:<{}} {:>13.2f} {:>9.3f} {:>9} {} {:>13} {:>6}  {:<{}} {:>5.1f}\n", row.size.count,
                     row.size.count / static_cast<std::int64_t>(size_of(row.dtype)), name_of(row.dtype), name_of(row.op), name_of_row(row),
                     w.algorithm, static_cast<double>(row.time.ps) / 1e6, algbw_GBps(row),
                     row.compresses() ? "-" : fmt::format("{:.3f}", busbw_GBps(row)), is_fastest ? '*' : ' ', row.wire_bytes_per_rank.count,
                     row.max_flows_per_link, row.busiest_link.empty() ? "-" : row.busiest_link, w.link,
                     100.0 * row.busiest_link_utilization);
}

// GPUs whose copies went the same way at the same rate stand together.
std::string copies_of(const Row& row) {
  std::map<std::pair<bool, std::string>, std::vector<int>> groups;
  for (const CopyResult& copy : row.copies) groups[{copy.to_host, fmt::format("{:.3f}", copy.GBps())}].push_back(copy.gpu);
  std::string out;
  for (const auto& [what, gpus] : groups) {
    const std::string who =
        gpus.size() > 8 ? fmt::format("{} GPUs, the first {}", gpus.size(), gpus.front()) : fmt::format("GPU {}", fmt::join(gpus, ", "));
    out += fmt::format("#   copies {} {}: {} GB/s each\n", what.first ? "from" : "to", who, what.second);
  }
  return out;
}

std::string us(SimTime time) { return fmt::format("{:.2f}", static_cast<double>(time.ps) / 1e6); }

// A line for each job of a shared network, the row's own first.
std::string jobs_of(const Row& row) {
  if (row.jobs.empty()) return "";
  std::size_t name = 3, algorithm = 9;
  for (const JobResult& job : row.jobs) name = std::max(name, job.name.size()), algorithm = std::max(algorithm, job.algorithm.size());
  std::string out =
      fmt::format("#   {:<{}}  {:<{}} {:>6} {:>13} {:>12} {:>5} {:>13} {:>13} {:>13} {:>13} {:>9}\n", "job", name, "algorithm", algorithm,
                  "ranks", "size (B)", "start (us)", "runs", "mean (us)", "least (us)", "most (us)", "alone (us)", "slowdown");
  for (const JobResult& job : row.jobs)
    out += fmt::format("#   {:<{}}  {:<{}} {:>6} {:>13} {:>12} {:>5} {:>13} {:>13} {:>13} {:>13} {:>9.3f}\n", job.name, name, job.algorithm,
                       algorithm, job.ranks, job.size.count, us(job.start), job.iterations, us(job.time), us(job.least), us(job.most),
                       us(job.alone), job.slowdown());
  if (row.jobs.size() > 1) out += fmt::format("#   fairness of slowdowns (Jain's index): {:.3f}\n", fairness(row.jobs));
  return out;
}

std::string step_of(const Row& row) {
  if (!row.training) return "";
  const TrainingResult& t = *row.training;
  const auto ms = [](SimTime time) { return static_cast<double>(time.ps) / 1e9; };
  const double share = row.time.ps > 0 ? 100.0 * static_cast<double>(t.exposed.ps) / static_cast<double>(row.time.ps) : 0;
  std::string out =
      fmt::format("#   step {:.3f} ms = compute {:.3f} ms + exposed {:.3f} ms ({:.1f} %); {:.1f} samples/s, scaling efficiency {:.1f} %\n",
                  ms(row.time), ms(t.compute), ms(t.exposed), share, t.samples_per_s, 100 * t.scaling_efficiency);
  out += fmt::format(
      "#   breakdown: compute {:.3f} ms, exposed communication {:.3f} ms, waiting for stragglers {:.3f} ms, waiting for negotiation {:.3f} "
      "ms",
      ms(t.compute), ms(t.exposed - t.stragglers - t.negotiation - t.events), ms(t.stragglers), ms(t.negotiation));
  if (t.events > SimTime{}) out += fmt::format(", checkpoints and restarts {:.3f} ms", ms(t.events));
  if (t.merged) out += "; steps of each all-reduce were simulated a few at a time (\"detail\": \"messages\": one by one)";
  return out + "\n";
}

// Of which sum only what is sent is proved: the rest is kept for later.
std::string compression_of(const Row& row) {
  if (!row.compresses()) return "";
  return fmt::format(
      "#   {}: the kernels of compression take {:.3f} ms of the rank that has most of them; not a dense all-reduce: what is not "
      "sent is kept for later\n",
      row.compressed->compression, static_cast<double>(row.compressed->kernels.ps) / 1e9);
}

std::string proof_of(const Row& row) { return row.unproved.empty() ? "" : fmt::format("#   NOT PROVED: {}\n", row.unproved); }

// What the time was spent on, the largest part first, and which links most of it went through.
std::string path_of(const Row& row) {
  if (!row.critical_path) return "";
  const CriticalPath& path = *row.critical_path;
  const auto share = [&](SimTime part) {
    return row.time.ps > 0 ? 100 * static_cast<double>(part.ps) / static_cast<double>(row.time.ps) : 0;
  };
  std::vector<std::string> limits;
  for (const LimitingResource& limit : path.limits)
    if (limits.size() < 3 && share(limit.time) >= 1) limits.push_back(fmt::format("{} {:.1f} %", limit.name, share(limit.time)));
  std::vector<std::pair<SimTime, std::string>> parts = {
      {path.bandwidth, limits.empty() ? "bandwidth" : fmt::format("bandwidth ({})", fmt::join(limits, ", "))},
      {path.latency, "latency"},
      {path.overhead, "overheads"},
      {path.waiting, "waiting"},
      {path.computing, "compute"}};
  std::erase_if(parts, [](const auto& part) { return part.first.ps == 0; });
  std::ranges::stable_sort(parts, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> texts;
  for (const auto& [time, what] : parts) texts.push_back(fmt::format("{:.1f} % {}", share(time), what));
  return texts.empty() ? "" : fmt::format("#   critical path: {}\n", fmt::join(texts, ", "));
}

std::string traffic_of(const Row& row) {
  std::string out;
  for (std::size_t i = 0; i < row.traffic.size(); ++i) {
    const TrafficResult& t = row.traffic[i];
    out += fmt::format("#   traffic {}: {} flows of {} streams ended, {:.3f} GB/s each on average\n", i, t.count, t.streams, t.GBps());
  }
  return out;
}

double percent(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

// All jobs together, and of the switches the one that used most of its places.
std::string in_network_of(const Row& row) {
  if (!row.in_network) return "";
  const InNetworkSummary& s = *row.in_network;
  JobInNetwork all;
  for (const JobInNetwork& j : s.jobs) {
    all.servers += j.servers, all.packets += j.packets;
    all.sent += j.sent, all.resent += j.resent, all.timeouts += j.timeouts, all.marked += j.marked;
    all.largest_window = std::max(all.largest_window, j.largest_window);
  }
  const bool atp = all.servers > 0;
  const double share = 100 * aggregated_share(s);
  const char* places = atp ? "aggregators" : "slots";
  if (s.switches.empty())
    return fmt::format("#   switches: {}without {}\n",
                       atp ? fmt::format("{:.2f} % of packets expected to collide, {} {} each; ", 100 - share, s.places, places)
                           : fmt::format("{} {}; ", s.places, places),
                       s.left_out);
  std::int64_t packets = 0, collided = 0;
  for (const SwitchInNetwork& at : s.switches) packets += at.packets, collided += at.collided;
  const SwitchInNetwork& fullest = *std::ranges::max_element(s.switches, {}, &SwitchInNetwork::most_in_use);
  std::string out =
      fmt::format("#   switches: at most {} of {} {} in use, in {}; ", fullest.most_in_use, fullest.places, places, fullest.name);
  if (atp)
    out += fmt::format("{:.2f} % collided, {:.2f} % of {} packets wholly aggregated; ", percent(collided, packets), share, all.packets);
  out += fmt::format("{} of {} sent again", all.resent, all.sent);
  if (atp) out += fmt::format(", {} timeouts, {} marked, windows to {}", all.timeouts, all.marked, all.largest_window);
  return out + "\n";
}

std::string packets_of(const Row& row) {
  if (!row.packet || row.packet->quiet()) return "";
  const PacketSummary& p = *row.packet;
  std::vector<std::string> parts;
  const auto add = [&](std::int64_t count, const char* what) {
    if (count > 0) parts.push_back(fmt::format("{} {}", count, what));
  };
  add(p.resent, "resent");
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
  add(p.pauses, "pauses");
  add(p.timeouts, "timeouts");
  close_part();
  if (!p.queues.empty() && p.queues.front().high_water.count > 0)
    facts.push_back(fmt::format("longest queue {} at {}", to_string(p.queues.front().high_water), p.queues.front().link));
  if (!p.fullest_switch.empty())
    facts.push_back(fmt::format("most in a switch {} in {}", to_string(p.switch_high_water), p.fullest_switch));
  return fmt::format("#   packets: {}\n", fmt::join(facts, "; "));
}

// Where flows meet, once for each algorithm of a case: it does not depend on the size.
std::string congestion(const std::vector<const Result*>& group) {
  std::vector<std::string> notes;
  for (const Result* result : group) {
    if (!result->row || result->row->max_flows_per_link < 2) continue;
    const Row& row = *result->row;
    std::string note = fmt::format("# {}: step {} puts {} flows on {}\n", row.algorithm, row.most_shared_step, row.max_flows_per_link,
                                   row.most_shared_link);
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
  }
  return fmt::format("{}", fmt::join(notes, ""));
}

Layout layout_of(const std::vector<Result>& results) {
  Layout out;
  for (const Result& result : results) {
    out.algorithm = std::max(out.algorithm, name_of(result.request).size());
    if (result.row) out.link = std::max(out.link, result.row->busiest_link.size());
  }
  return out;
}

// The column of an algorithm: its label, or its name only where a sweep changes its settings from case to case.
std::string column_of(const std::vector<Case>& cases, std::size_t case_index, const std::string& algorithm) {
  const auto& mine = cases[case_index].scenario.workload.algorithms;
  const auto at = static_cast<std::size_t>(std::ranges::find(mine, algorithm, [](const auto& a) { return label(a); }) - mine.begin());
  const std::string& name = mine[at].name;
  if (std::ranges::count(mine, name, &AlgorithmChoice::name) > 1) return algorithm;
  const auto differs = [&](const Case& one) {
    const auto& theirs = one.scenario.workload.algorithms;
    return theirs.size() == mine.size() && theirs[at].name == name && label(theirs[at]) != algorithm;
  };
  return std::ranges::any_of(cases, differs) ? name : algorithm;
}

// All cases side by side: a block for each size, a line for each case, a column for each algorithm.
std::string comparison(const std::vector<Result>& results, const std::vector<Case>& cases) {
  std::vector<std::string> algorithms;
  std::vector<Bytes> sizes;
  std::map<std::tuple<Bytes, std::size_t, std::string>, const Result*> cells;
  for (const Result& result : results) {
    const std::string name = (result.request.engine ? label(*result.request.engine) + ", " : "") +
                             column_of(cases, result.request.case_index, label(*result.request.algorithm)) +
                             (result.request.compression ? ", " + label(*result.request.compression) : "");
    if (std::find(algorithms.begin(), algorithms.end(), name) == algorithms.end()) algorithms.push_back(name);
    if (std::find(sizes.begin(), sizes.end(), result.request.size) == sizes.end()) sizes.push_back(result.request.size);
    cells[{result.request.size, result.request.case_index, name}] = &result;
  }
  std::vector<std::string> names;
  std::size_t width = 4;
  for (const Case& one : cases) {
    const std::string axes = axes_label(one);
    names.push_back(axes.empty() ? describe(one.scenario.fabric.spec) : axes);
    width = std::max(width, names.back().size());
  }
  std::string out;
  for (const Bytes size : sizes) {
    out += fmt::format("#\n# time (us), {}\n# {:<{}}", to_string(size), "case", width);
    for (const auto& name : algorithms) out += fmt::format("  {:>{}} ", name, std::max<std::size_t>(12, name.size()));
    out += "\n";
    for (std::size_t i = 0; i < cases.size(); ++i) {
      std::vector<const Result*> here;
      for (const auto& name : algorithms)
        if (const auto cell = cells.find({size, i, name}); cell != cells.end()) here.push_back(cell->second);
      if (here.empty()) continue;
      out += fmt::format("  {:<{}}", names[i], width);
      for (const auto& name : algorithms) {
        const auto cell = cells.find({size, i, name});
        const Row* row = cell != cells.end() && cell->second->row ? &*cell->second->row : nullptr;
        const std::string time = row ? fmt::format("{:.2f}", static_cast<double>(row->time.ps) / 1e6) : "-";
        out += fmt::format("  {:>{}}{}", time, std::max<std::size_t>(12, name.size()), row && fastest(*cell->second, here) ? '*' : ' ');
      }
      out += "\n";
    }
  }
  return out;
}

}  // namespace

std::string to_table(const std::vector<Result>& results, const std::vector<Case>& cases) {
  const Layout layout = layout_of(results);
  std::string out = fmt::format("# weft {} ({}), simulated\n", version(), commit());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    std::vector<const Result*> group;
    for (const Result& result : results)
      if (result.request.case_index == i) group.push_back(&result);
    if (group.empty()) continue;
    out += "#\n" + what_was_in_effect(cases[i], i, cases.size()) + header(layout);
    for (const Result* result : group) {
      if (result->row)
        out += line(*result->row, fastest(*result, group), layout) + proof_of(*result->row) + step_of(*result->row) +
               compression_of(*result->row) + path_of(*result->row) + copies_of(*result->row) + jobs_of(*result->row) +
               traffic_of(*result->row) + in_network_of(*result->row) + packets_of(*result->row);
      else
        out += fmt::format("# {}: {}\n", label(result->request, cases), result->failure);
    }
    out += congestion(group);
  }
  if (cases.size() > 1) out += comparison(results, cases);
  out +=
      "#\n# busiest link: the one with the most bytes carried over capacity x time, used: that ratio; not always what limits the time, "
      "which the critical path says\n";
  const bool marks = std::any_of(cases.begin(), cases.end(), [](const Case& one) {
    const Workload& w = one.scenario.workload;
    return w.algorithms.size() > 1 || w.training.engines.size() > 1 || w.compressions.size() > 1;
  });
  if (marks) out += "# * fastest of its case and size\n";
  return out;
}

}  // namespace weft

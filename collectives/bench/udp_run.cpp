#include "collectives/bench/udp_run.hpp"

#include "collectives/bench/known_sums.hpp"
#include "collectives/bench/measure.hpp"
#include "collectives/bench/memory.hpp"
#include "collectives/bench/table.hpp"
#include "collectives/bench/talk.hpp"
#include "collectives/bench/udp_report.hpp"
#include "collectives/bench/worlds/processes.hpp"
#include "collectives/executors/blocking.hpp"
#include "collectives/transports/tcp.hpp"
#include "kernels/base/error.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <iostream>
#include <memory>
#include <optional>
#include <random>

namespace weft::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto idle_turn = 2ms;       // then see whether the others have something to say,
constexpr auto between_looks = 50ms;  // or after so long where datagrams keep coming
constexpr int workers_barrier = 4094, nodes_barrier = 4093;

enum class Talk { run, report, times, verdict, ask };
Tag talk(Talk what) { return tag_of({.channel = talk_channel, .step = static_cast<int>(what)}); }

// What rank 0 asks those who answer.
enum class Ask : std::int32_t { report, next_algorithm };

struct Verdict {
  std::int64_t wrong = 0;
  std::array<char, 160> first_wrong = {};
};

class Node {
 public:
  Node(const Settings& settings, int node, const std::vector<std::string>& addresses, const UdpSockets& own)
      : settings_(settings),
        layout_(layout_of(settings)),
        node_(node),
        own_(own),
        // Who waits for others gives them time to find out themselves that nothing moves.
        world_(node, addresses, own.listener,
               {.patience = 2 * settings.patience,
                .meeting = settings.patience,
                .job = job_of(settings),
                .secret = settings.secret,
                .names = layout_.names()}) {
    for (const std::string& share : addresses) peers_.push_back(udp_peer(share));
  }

  int run() {
    share_run();
    std::optional<Table> table;
    if (node_ == 0) {
      table.emplace(std::cout, settings_);
      table->header(UdpMedium(settings_));
    }
    for (const std::string& algorithm : settings_.algorithms) {
      ++run_;
      barrier(layout_.nodes(), nodes_barrier);
      if (table) table->begin(algorithm);
      const InNetworkSettings protocol = in_network_settings(settings_, algorithm);
      if (layout_.is_worker(node_))
        measure(algorithm, protocol, table);
      else
        answer(protocol);
    }
    if (table) table->footer();
    return table && table->wrong() > 0 ? 1 : 0;
  }

 private:
  Transport& others() { return world_.at(); }
  std::uint32_t rounds_per_size() const { return static_cast<std::uint32_t>(settings_.warmup + settings_.iterations); }
  std::vector<std::int64_t> sizes() const {
    std::vector<std::int64_t> out;
    for (std::int64_t bytes = settings_.first_bytes; bytes <= settings_.last_bytes; bytes = settings_.next_bytes(bytes))
      out.push_back(bytes / static_cast<std::int64_t>(size_of(settings_.dtype)));
    return out;
  }

  // The number that tells this run's datagrams from those of any other.
  void share_run() {
    if (node_ == 0) {
      std::random_device random;
      run_ = (static_cast<std::uint64_t>(random()) << 32) | random();
      for (int other = 1; other < layout_.nodes(); ++other) others().send(other, talk(Talk::run), bytes_of(run_));
    } else {
      others().receive(0, talk(Talk::run), bytes_of(run_));
    }
    others().wait();
  }

  // Of the first `ranks` nodes.
  void barrier(int ranks, int channel) {
    const Schedule schedule = build({.collective = Collective::barrier, .algorithm = "dissemination", .ranks = ranks});
    FilteredSteps steps(schedule.channels[0], node_);
    run_blocking(steps, channel, ReduceOp::sum, Buffer{{.elements = 0, .chunks = 1}, DType::uint8, nullptr}, others());
  }

  void meet_workers() {
    try {
      barrier(layout_.workers, workers_barrier);
    } catch (const RunError& e) {
      throw RunError(fmt::format("{}\n{} waits for the other workers to begin", e.what(), layout_.name(node_)));
    }
  }

  UdpNode::Settings udp_settings() const { return {.node = node_, .run = run_, .faults = settings_.in_network.faults}; }

  void measure(const std::string& algorithm, const InNetworkSettings& protocol, std::optional<Table>& table) {
    const std::vector<std::int64_t> all = sizes();
    const KnownSums known(settings_.dtype, FixedPoint{}, layout_.workers, node_);
    PayloadPool pool(static_cast<int>(payload_of(protocol).count / 4));
    UdpNode udp(udp_settings(), UdpDeployment(protocol, layout_, all.front()).map, own_.socket, peers_, pool);
    std::uint32_t round = 0;
    for (const std::int64_t elements : all) {
      const UdpDeployment deployment(protocol, layout_, elements);
      Row row = row_of(settings_, algorithm, elements);
      UdpReport report;
      std::vector<std::byte> gradients(static_cast<std::size_t>(row.size_bytes)), sums(gradients.size());
      for (int i = -settings_.warmup; i < settings_.iterations; ++i) {
        ++round;
        known.fill(round, elements, gradients.data());
        std::ranges::fill(sums, std::byte{0xA5});
        NodeAgents agents(deployment, node_, {settings_.dtype, gradients.data(), sums.data()});
        if (i == 0) report.begin(udp);
        meet_workers();
        const auto start = Clock::now();
        work(udp, agents, round);
        const double time_us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
        if (i >= 0) row.times_us.push_back(time_us), report.add(agents.statistics());
        if (settings_.check) compare(known, round, elements, sums, row);
      }
      report.end(udp);
      gather(row, report, table);
    }
    if (node_ == 0) ask_all(Ask::next_algorithm);
  }

  // Until every sum is there.
  void work(UdpNode& udp, const NodeAgents& agents, std::uint32_t round) {
    udp.begin_round(round, agents.seats());
    auto looked = Clock::now(), moved = looked;
    std::int64_t progress = 0;
    while (!agents.finished()) {
      udp.turn(idle_turn);
      const auto now = Clock::now();
      if (now - looked < std::min<Clock::duration>(between_looks, settings_.patience)) continue;
      looked = now;
      look(agents);
      if (agents.progress() != progress) {
        progress = agents.progress();
        moved = now;
      } else if (now - moved >= settings_.patience) {
        const std::string reason = fmt::format("no progress for {} ms", settings_.patience.count());
        world_.fail(reason);
        throw RunError(reason + "\n" + agents.waiting());
      }
    }
    if (const std::string overflow = agents.overflow(); !overflow.empty()) {
      world_.fail(overflow);
      throw RunError(overflow);
    }
  }

  // Whether the others have said what was asked for. Throws where the run has been ended, with what is waited for here.
  bool look(const NodeAgents& agents) {
    try {
      return world_.test();
    } catch (const RunError& e) {
      const std::string waiting = agents.waiting();
      throw RunError(waiting.empty() ? e.what() : e.what() + ("\n" + waiting));
    }
  }

  void compare(const KnownSums& known, std::uint32_t round, std::int64_t elements, const std::vector<std::byte>& sums, Row& row) const {
    const KnownSums::Verdict v = known.compare(round, elements, sums.data());
    if (row.wrong == 0) row.first_wrong = v.first_wrong;
    row.wrong += v.wrong;
  }

  // Worker 0 hears of all others.
  void gather(Row& row, UdpReport& report, std::optional<Table>& table) {
    Verdict verdict{.wrong = row.wrong};
    row.first_wrong.copy(verdict.first_wrong.data(), verdict.first_wrong.size() - 1);
    if (node_ != 0) {
      others().send(0, talk(Talk::verdict), bytes_of(verdict));
      others().send(0, talk(Talk::times), std::as_bytes(std::span(row.times_us)));
      others().send(0, talk(Talk::report), bytes_of(report));
      return others().wait();
    }
    ask_all(Ask::report);
    for (int other = 1; other < layout_.nodes(); ++other) {
      if (layout_.is_worker(other)) {
        std::vector<double> times(row.times_us.size());
        others().receive(other, talk(Talk::verdict), bytes_of(verdict));
        others().receive(other, talk(Talk::times), std::as_writable_bytes(std::span(times)));
        others().wait();
        for (std::size_t i = 0; i < times.size(); ++i) row.times_us[i] = std::max(row.times_us[i], times[i]);
        if (row.wrong == 0 && verdict.wrong > 0) row.first_wrong = verdict.first_wrong.data();
        row.wrong += verdict.wrong;
      }
      UdpReport theirs;
      others().receive(other, talk(Talk::report), bytes_of(theirs));
      others().wait();
      report.add(theirs);
    }
    row.note = report.note(row.times_us);
    table->row(row);
  }

  void ask_all(Ask what) {
    for (int other = layout_.workers; other < layout_.nodes(); ++other) others().send(other, talk(Talk::ask), bytes_of(what));
    others().wait();
  }

  // Servers and switches: every round begins with its first datagram. Until worker 0 says that the algorithm is over.
  void answer(const InNetworkSettings& protocol) {
    std::deque<UdpDeployment> deployments;
    for (const std::int64_t elements : sizes()) deployments.emplace_back(protocol, layout_, elements);
    PayloadPool pool(static_cast<int>(payload_of(protocol).count / 4));
    UdpNode udp(udp_settings(), deployments.front().map, own_.socket, peers_, pool);
    auto agents = std::make_unique<NodeAgents>(deployments.front(), node_);
    UdpReport report;
    bool counts = false;  // what the agents of this round count
    udp.when_later([&](std::uint32_t round) {
      const std::size_t size = (round - 1) / rounds_per_size();
      if (size >= deployments.size()) return;
      auto next = std::make_unique<NodeAgents>(deployments[size], node_);
      if (counts) report.add(agents->statistics());
      udp.begin_round(round, next->seats());
      agents = std::move(next);
      const auto of_size = static_cast<int>((round - 1) % rounds_per_size());
      counts = of_size >= settings_.warmup;
      if (of_size == settings_.warmup) report.begin(udp);
    });
    for (Ask asked{}; asked != Ask::next_algorithm;) {
      others().receive(0, talk(Talk::ask), bytes_of(asked));
      auto looked = Clock::now();
      for (bool heard = false; !heard;) {
        const bool idle = udp.turn(idle_turn);
        const auto now = Clock::now();
        if (!idle && now - looked < between_looks) continue;
        looked = now;
        heard = look(*agents);
      }
      if (asked != Ask::report) continue;
      if (std::exchange(counts, false)) report.add(agents->statistics());
      report.end(udp);
      others().send(0, talk(Talk::report), bytes_of(report));
      others().wait();
      report = {};
    }
  }

  const Settings& settings_;
  UdpLayout layout_;
  int node_;
  const UdpSockets& own_;
  TcpWorld world_;
  std::vector<UdpPeer> peers_;
  std::uint64_t run_ = 0;
};

}  // namespace

UdpSockets UdpSockets::at(const std::string& address) {
  constexpr int attempts = 16;  // a port that is free for TCP need not be for UDP
  for (int attempt = 1;; ++attempt) {
    TcpListener listener(address);
    try {
      UdpSocket socket(listener.address());
      return {std::move(listener), std::move(socket)};
    } catch (const RunError&) {
      if (attempt == attempts || listener.address() == address) throw;
    }
  }
}

int run_udp_node(const Settings& settings, int node, const std::vector<std::string>& addresses, const UdpSockets& own) {
  require_memory(ranks_of_this_machine(settings, settings.ranks), 2 * settings.last_bytes);  // what is added up, and the sums
  return Node(settings, node, addresses, own).run();
}

int run_udp_here(const Settings& settings, const RunNode& run) {
  const UdpLayout layout = layout_of(settings);
  std::deque<UdpSockets> own;
  std::vector<std::string> addresses;
  for (int node = 0; node < layout.nodes(); ++node) {
    own.push_back(UdpSockets::at("127.0.0.1:0"));
    addresses.push_back(own.back().listener.address());
  }
  return run_processes(layout.names(), settings.patience,
                       [&](int node) { return run(node, addresses, own[static_cast<std::size_t>(node)]); });
}

}  // namespace weft::bench

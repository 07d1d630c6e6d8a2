#include "collectives/transports/udp/udp_node.hpp"

#include "kernels/base/error.hpp"

#include <atomic>
#include <barrier>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include <doctest/doctest.h>

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr int each = 16;
constexpr std::uint64_t run = 0x1234'5678'9abc'def0;

constexpr Bytes packet{udp_overhead_bytes + 4 * each};
InNetworkSettings atp(int aggregators = 64) {
  return AtpSettings{
      .payload = Bytes{4 * each}, .packet = packet, .aggregators = aggregators, .initial_window = 8, .largest_window = 64, .timeout = 1_ms};
}
const InNetworkSettings switchml = SwitchmlSettings{.slots = 32, .payload = Bytes{4 * each}, .packet = packet, .timeout = 5_ms};

std::int32_t value(int worker, std::uint32_t round, std::size_t i) {
  return static_cast<std::int32_t>(
             (static_cast<std::uint32_t>(i) * 2'654'435'761u + round * 40'503u + static_cast<std::uint32_t>(worker) * 97u) >> 4) -
         (1 << 27);
}

// Every node a thread with a socket of its own.
class Threads {
 public:
  Threads(const InNetworkSettings& with, const UdpLayout& layout, std::int64_t elements)
      : deployment_(with, layout, elements),
        layout_(layout),
        statistics_(static_cast<std::size_t>(layout.nodes())),
        udp_(statistics_.size()) {
    for (int node = 0; node < layout.nodes(); ++node) sockets_.emplace_back("127.0.0.1:0");
    for (const UdpSocket& s : sockets_) peers_.push_back(udp_peer(s.address()));
  }

  // Returns how many of all sums were wrong.
  std::int64_t all_reduces(std::uint32_t rounds, UdpFaults faults) {
    std::barrier together(layout_.workers);
    std::vector<std::thread> threads;
    for (int node = 0; node < layout_.nodes(); ++node)
      threads.emplace_back([&, node] {
        try {
          if (layout_.is_worker(node))
            work(node, rounds, faults, together);
          else
            answer(node, faults);
        } catch (const std::exception& e) {
          const std::lock_guard lock(mutex_);
          error_ = e.what();
          failed_ = true;
        }
      });
    for (std::thread& t : threads) t.join();
    CHECK(error_ == "");
    return wrong_;
  }

  InNetworkStatistics statistics() const {
    InNetworkStatistics out;
    for (const InNetworkStatistics& s : statistics_) out.add(s);
    return out;
  }
  UdpNode::Statistics udp(int node) const { return udp_[static_cast<std::size_t>(node)]; }
  const UdpSocket& socket(int node) const { return sockets_[static_cast<std::size_t>(node)]; }
  const UdpPeer& peer(int node) const { return peers_[static_cast<std::size_t>(node)]; }
  const UdpLayout& layout() const { return layout_; }

 private:
  UdpNode::Settings settings(int node, UdpFaults faults) const { return {.node = node, .run = run, .faults = faults}; }

  void work(int worker, std::uint32_t rounds, UdpFaults faults, std::barrier<>& together) {
    PayloadPool pool(each);
    UdpNode node(settings(worker, faults), deployment_.map, sockets_[static_cast<std::size_t>(worker)], peers_, pool);
    const auto elements = static_cast<std::size_t>(deployment_.elements);
    std::vector<std::int32_t> own(elements), sums(elements);
    std::int64_t wrong = 0;
    for (std::uint32_t round = 1; round <= rounds && !failed_; ++round) {
      for (std::size_t i = 0; i < elements; ++i) own[i] = value(worker, round, i);
      std::ranges::fill(sums, -1);
      together.arrive_and_wait();
      NodeAgents agents(deployment_, worker, {DType::int32, own.data(), sums.data()});
      node.begin_round(round, agents.seats());
      const auto until = std::chrono::steady_clock::now() + 20s;
      while (!agents.finished() && !failed_) {
        node.turn(1ms);
        if (std::chrono::steady_clock::now() > until) failed_ = true;
      }
      for (std::size_t i = 0; i < elements; ++i) {
        std::int64_t sum = 0;
        for (int w = 0; w < layout_.workers; ++w) sum += value(w, round, i);
        wrong += sums[i] != sum;
      }
      statistics_[static_cast<std::size_t>(worker)].add(agents.statistics());
    }
    wrong_ += wrong;
    udp_[static_cast<std::size_t>(worker)] = node.statistics();
    if (++done_ == layout_.workers) over_ = true;
    if (failed_) together.arrive_and_drop();
  }

  void answer(int at, UdpFaults faults) {
    PayloadPool pool(each);
    UdpNode node(settings(at, faults), deployment_.map, sockets_[static_cast<std::size_t>(at)], peers_, pool);
    std::unique_ptr<NodeAgents> agents;
    InNetworkStatistics& sum = statistics_[static_cast<std::size_t>(at)];
    node.when_later([&](std::uint32_t round) {
      auto next = std::make_unique<NodeAgents>(deployment_, at);
      node.begin_round(round, next->seats());
      if (agents) sum.add(agents->statistics());
      agents = std::move(next);
    });
    while (!over_ && !failed_) node.turn(1ms);
    if (agents) sum.add(agents->statistics());
    udp_[static_cast<std::size_t>(at)] = node.statistics();
  }

  UdpDeployment deployment_;
  UdpLayout layout_;
  std::deque<UdpSocket> sockets_;
  std::vector<UdpPeer> peers_;
  std::vector<InNetworkStatistics> statistics_;
  std::vector<UdpNode::Statistics> udp_;
  std::atomic<std::int64_t> wrong_ = 0;
  std::atomic<int> done_ = 0;
  std::atomic<bool> over_ = false, failed_ = false;
  std::mutex mutex_;
  std::string error_;
};

}  // namespace

TEST_CASE("udp: the agents add up over sockets, by one switch or several, one server or several") {
  for (const InNetworkSettings& settings : {atp(), switchml})
    for (const UdpLayout& layout : {UdpLayout{3, 1, 1}, UdpLayout{4, 2, 2}, UdpLayout{1, 1, 1}, UdpLayout{3, 1, 3}}) {
      CAPTURE(protocol_of(settings).name);
      CAPTURE(layout.workers);
      CAPTURE(layout.switches);
      Threads threads(settings, layout, 1000);
      CHECK(threads.all_reduces(5, {}) == 0);
      CHECK(threads.statistics().malformed == 0);
      CHECK(threads.statistics().packets >= 5 * 63);
      if (settings.index() == 0 && layout.workers > 1) CHECK(threads.statistics().whole > 200);
    }
}

TEST_CASE("udp: with a tenth lost, doubled and reordered every sum is exact") {
  for (const InNetworkSettings& settings : {atp(16), switchml})
    for (const UdpLayout& layout : {UdpLayout{3, 1, 1}, UdpLayout{4, 2, 2}}) {
      CAPTURE(protocol_of(settings).name);
      CAPTURE(layout.switches);
      Threads threads(settings, layout, 1000);
      const UdpFaults faults{.loss = 0.1, .duplication = 0.1, .reordering = 0.1, .seed = 7};
      CHECK(threads.all_reduces(4, faults) == 0);
      CHECK(threads.statistics().resent > 100);
      const UdpNode::Statistics s = threads.udp(layout.switch_node(0));
      CHECK(s.lost > 10);
      CHECK(s.duplicated > 10);
      CHECK(s.reordered > 10);
      CHECK(s.received > 100);
    }
}

namespace {

// A worker of its own making, without agents, beside a server's node that notes what it is handed.
class Noted final : public Agent {
 public:
  std::vector<Datagram> came;
  std::vector<std::uint64_t> timers;

 private:
  void on_datagram(Wire&, Datagram datagram) override { came.push_back(std::move(datagram)); }
  void on_timer(Wire& wire, std::uint64_t name) override {
    timers.push_back(name);
    if (name == 1) wire.set_timer(0, 3);
  }
  void start(Wire& wire) override {
    wire.set_timer(200'000'000'000, 2);  // far enough from the first for a turn in between, on a busy machine too
    wire.set_timer(1'000'000'000, 1);
  }
};

struct Stranger {
  UdpSocket socket{"127.0.0.1:0"};
  void send(const UdpPeer& to, std::span<const std::byte> bytes) const {
    REQUIRE(::sendto(socket.descriptor(), bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&to.address), to.size) ==
            static_cast<ssize_t>(bytes.size()));
  }
};

struct Whole {
  UdpHead head;
  std::array<std::int32_t, each> values{};
};

struct OneServer {
  OneServer() {
    for (int node = 0; node < layout.nodes(); ++node) peers.push_back(udp_peer(socket.address()));
  }
  const UdpLayout layout{1, 1, 1};
  const UdpDeployment deployment{atp(), layout, 100};
  const Address worker = deployment.agents.seats[0].self, server = deployment.agents.seats[1].self;
  UdpSocket socket{"127.0.0.1:0"};
  std::vector<UdpPeer> peers;
  PayloadPool pool{each};
};

}  // namespace

TEST_CASE("udp: what is of another run or round, of a wrong length, or for nobody here is counted and dropped") {
  OneServer place;
  Noted agent;
  UdpNode node({.node = 1, .run = run}, place.deployment.map, place.socket, place.peers, place.pool);
  node.begin_round(5, {{place.server, &agent}});
  const Whole good{.head = {.congested = 1, .round = 5, .run = run, .from = place.worker, .to = place.server}, .values = {1, 2, 3}};
  const Stranger stranger;
  const auto give = [&](const Whole& w, std::size_t bytes = sizeof(Whole)) {
    stranger.send(place.peers[1], std::as_bytes(std::span(&w, 1)).first(bytes));
    for (int i = 0; i < 3; ++i) node.turn(1ms);
  };
  give(good);
  REQUIRE(agent.came.size() == 1);
  CHECK(agent.came[0].congested);
  CHECK(agent.came[0].from == place.worker);
  CHECK(agent.came[0].payload.values()[2] == 3);

  std::vector<Whole> wrong(9, good);
  wrong[0].head.magic = 1;
  wrong[1].head.version = 2;
  wrong[2].head.run = run + 1;
  wrong[3].head.from = 1000;
  wrong[4].head.from = -2;
  wrong[5].head.from = place.deployment.agents.groups[0].self;
  wrong[6].head.to = INT32_MAX;
  wrong[7].head.to = place.worker;
  wrong[8].head.congested = 9;
  for (const Whole& w : wrong) give(w);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, sizeof(UdpHead), sizeof(Whole) - 1}) give(good, bytes);
  std::vector<std::byte> longer(sizeof(Whole) + 1);
  std::memcpy(longer.data(), &good, sizeof good);
  stranger.send(place.peers[1], longer);
  for (int i = 0; i < 3; ++i) node.turn(1ms);
  CHECK(node.statistics().malformed == 14);
  CHECK(agent.came.size() == 1);

  Whole other_round = good;
  for (const std::uint32_t round : {4u, 6u}) {
    other_round.head.round = round;
    give(other_round);
  }
  CHECK(node.statistics().stale == 2);
  CHECK(agent.came.size() == 1);
  node.when_later([&](std::uint32_t round) {
    if (round < 100) node.begin_round(round, {{place.server, &agent}});
  });
  give(other_round);
  CHECK(node.round() == 6);
  CHECK(agent.came.size() == 2);
  other_round.head.round = 100;
  give(other_round);
  CHECK(node.round() == 6);
  CHECK(node.statistics().stale == 3);
}

TEST_CASE("udp: random bytes in whole datagrams reach no agent's tables") {
  for (const int at : {0, 1, 2}) {
    CAPTURE(at);
    OneServer place;
    std::array<std::int32_t, 100> memory{};
    NodeAgents agents(place.deployment, at, {DType::int32, memory.data(), memory.data()});
    UdpNode node({.node = at, .run = run}, place.deployment.map, place.socket, place.peers, place.pool);
    node.begin_round(1, agents.seats());
    const Stranger stranger;
    std::mt19937_64 random(9);
    for (int i = 0; i < 2000; ++i) {
      Whole w{.head = {.round = 1, .run = run, .from = place.worker, .to = static_cast<Address>(random() % 4)}};
      for (std::byte& b : w.head.header) b = static_cast<std::byte>(random() % (i % 2 ? 3 : 256));
      for (std::uint64_t k = random() % 4; k < 3; ++k)
        reinterpret_cast<std::byte*>(&w.head)[random() % sizeof(UdpHead)] = static_cast<std::byte>(random());
      stranger.send(place.peers[0], std::as_bytes(std::span(&w, 1)));
      if (i % 32 == 0) node.turn(0us);
    }
    for (int i = 0; i < 200; ++i) node.turn(0us);
    CHECK(node.statistics().received > 1000);
    CHECK(node.statistics().malformed > 100);
  }
}

TEST_CASE("udp: timers fire in the order of their dates, those set for now in a later turn, and not in the round after") {
  OneServer place;
  Noted agent;
  UdpNode node({.node = 1, .run = run}, place.deployment.map, place.socket, place.peers, place.pool);
  node.begin_round(1, {{place.server, &agent}});
  const auto until = std::chrono::steady_clock::now() + 10s;
  while (agent.timers.size() < 3 && std::chrono::steady_clock::now() < until) node.turn(1ms);
  CHECK(agent.timers == std::vector<std::uint64_t>{1, 3, 2});
  node.begin_round(2, {{place.server, &agent}});
  node.begin_round(3, {});
  std::this_thread::sleep_for(3ms);
  for (int i = 0; i < 5; ++i) node.turn(1ms);
  CHECK(agent.timers.size() == 3);
}

TEST_CASE("udp: where a socket cannot be bound, the address is named") {
  const UdpSocket first("127.0.0.1:0");
  CHECK_THROWS_WITH_AS(UdpSocket(first.address()), ("cannot receive datagrams at " + first.address() + ": Address already in use").c_str(),
                       RunError);
  CHECK_THROWS_WITH_AS(UdpSocket("127.0.0.1"), "address \"127.0.0.1\" must be written host:port", InputError);
}

}  // namespace weft

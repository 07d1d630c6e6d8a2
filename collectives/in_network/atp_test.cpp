#include "collectives/in_network/atp.hpp"

#include "collectives/in_network/atp_server.hpp"
#include "collectives/in_network/atp_switch.hpp"
#include "collectives/in_network/atp_worker.hpp"
#include "collectives/in_network/testing.hpp"

#include <cmath>
#include <deque>
#include <set>

#include <doctest/doctest.h>

namespace weft {
namespace {

struct JobShape {
  std::vector<int> worker_switch;
  int server_switch = 0;
  std::uint32_t packets = 1;
  std::vector<std::int64_t> start_ps = {};
  std::uint32_t rounds = 1;
};

// Several jobs on one network, each with one server. Addresses: workers and server of each job, switches, groups.
class World {
 public:
  World(const AtpSettings& settings, const std::vector<JobShape>& jobs, const std::vector<int>& programmable, InjectedFaults faults,
        std::uint64_t seed)
      : settings_(settings), pool_(settings.values_per_packet()), network_(seed, faults, &pool_) {
    Address next = 0;
    std::vector<std::vector<Address>> attached(201);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      const JobShape& job = jobs[j];
      trees_.push_back(plan_atp_tree(job.worker_switch, job.server_switch, programmable));
      const Address first = next;
      const auto n = static_cast<Address>(job.worker_switch.size());
      const Address server = first + n, group = 3000 + static_cast<Address>(j);
      next = server + 1;
      std::vector<Address> members;
      for (Address w = 0; w < n; ++w) {
        const auto i = static_cast<std::size_t>(w);
        values_.emplace_back(seed * 100 + values_.size(), job.packets, static_cast<std::size_t>(settings.values_per_packet()));
        workers_.emplace_back(settings_, AtpWorker::Part{first + w, server, static_cast<int>(j), trees_.back().members[i], job.packets},
                              &values_.back());
        network_.place(first + w, job.worker_switch[i], workers_.back(), job.start_ps.empty() ? 0 : job.start_ps[i]);
        members.push_back(first + w);
        job_of_.push_back(j);
      }
      addresses_.insert(addresses_.end(), members.begin(), members.end());
      servers_.emplace_back(settings_, trees_.back(), AtpServer::Part{server, group, static_cast<int>(j), job.rounds * job.packets});
      network_.place(server, job.server_switch, servers_.back());
      network_.group(group, members);
      attached[static_cast<std::size_t>(job.server_switch)].push_back(server);
      workers_of_.push_back(n);
    }
    std::vector<AtpWalk> walks;
    for (std::size_t j = 0; j < jobs.size(); ++j)
      walks.push_back(atp_walk(settings_, {.job = static_cast<int>(j), .jobs = static_cast<int>(jobs.size())}));
    for (const int at : programmable) {
      switches_.emplace_back(settings_, walks, attached[static_cast<std::size_t>(at)]);
      network_.program(2000 + at, at, switches_.back());
    }
  }

  TestNetwork& network() { return network_; }
  const std::deque<AtpWorker>& workers() const { return workers_; }
  const std::deque<AtpServer>& servers() const { return servers_; }
  const std::deque<AtpSwitch>& switches() const { return switches_; }
  PayloadPool& pool() { return pool_; }

  // Each round begins when all workers have ended the one before, with other values; copies of the last may still be on their way.
  void run_rounds(std::uint32_t rounds) {
    const auto done = [&] { return std::ranges::all_of(workers_, [](const AtpWorker& w) { return w.finished(); }); };
    for (std::uint32_t round = 1;; ++round) {
      network_.run_until(done, 5'000'000);
      REQUIRE(done());
      if (round == rounds) break;
      check_values();
      for (TestValues& v : values_) v.next_round();
      for (const Address a : addresses_) network_.start_again(a);
    }
    network_.run(5'000'000);
    REQUIRE_FALSE(network_.pending());
    check_sums();
  }

  void check_sums() const {
    check_values();
    for (const AtpServer& s : servers_) CHECK(s.finished());
    check_nothing_claimed(network_.now());
  }
  void check_nothing_claimed(std::int64_t at_ps) const {
    for (const AtpSwitch& s : switches_) CHECK(s.claimed(at_ps) == 0);
  }

  // Workers go by their places among all jobs'.
  void kill(std::size_t worker, std::int64_t at_ps) {
    network_.crash(addresses_[worker], at_ps);
    dead_.insert(job_of_[worker]);
  }
  // All of a job, or its worker is dead.
  bool done() const {
    for (std::size_t w = 0; w < workers_.size(); ++w)
      if (!dead_.contains(job_of_[w]) && !workers_[w].finished()) return false;
    return true;
  }
  std::deque<AtpSwitch>& programs() { return switches_; }

  void check_values() const {
    std::size_t first = 0;
    for (const Address n : workers_of_) {
      std::vector<std::int32_t> sum(values_[first].own().size(), 0);
      for (std::size_t w = 0; w < static_cast<std::size_t>(n); ++w)
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += values_[first + w].own()[i];
      for (std::size_t w = 0; w < static_cast<std::size_t>(n) && !dead_.contains(job_of_[first]); ++w) {
        CHECK(workers_[first + w].finished());
        CHECK_MESSAGE(values_[first + w].sums() == sum, "worker " << first + w);
      }
      first += static_cast<std::size_t>(n);
    }
  }

 private:
  AtpSettings settings_;
  PayloadPool pool_;
  std::deque<AtpTree> trees_;
  std::deque<TestValues> values_;
  std::deque<AtpWorker> workers_;
  std::deque<AtpServer> servers_;
  std::deque<AtpSwitch> switches_;
  std::vector<Address> workers_of_, addresses_;
  std::vector<std::size_t> job_of_;  // by worker
  std::set<std::size_t> dead_;       // jobs with a worker that dies
  TestNetwork network_;
};

const AtpSettings small{.payload = 8_B, .packet = 306_B, .aggregators = 64, .initial_window = 8, .largest_window = 32, .timeout = 30_us};

JobShape any_job(std::mt19937_64& random) {
  JobShape job;
  const int racks = 1 + static_cast<int>(random() % 3);
  const auto workers = 1 + random() % 7;
  for (std::uint64_t w = 0; w < workers; ++w) {
    job.worker_switch.push_back(static_cast<int>(random() % static_cast<std::uint64_t>(racks)));
    job.start_ps.push_back(random() % 4 == 0 ? static_cast<std::int64_t>(random() % 100'000'000) : 0);
  }
  job.server_switch = static_cast<int>(random() % 4);
  job.packets = 1 + static_cast<std::uint32_t>(random() % 60);
  return job;
}

}  // namespace

TEST_CASE("atp: without trouble every packet is one sum of all workers, and a switch sends a single copy up") {
  AtpSettings roomy = small;
  roomy.aggregators = 1 << 20;  // no two packets in one
  World world(roomy, {{{0, 0, 0, 0}, 0, 100}}, {0}, {.max_delay_ps = 1}, 1);
  world.network().run();
  world.check_sums();
  CHECK(world.servers()[0].statistics().received == 100);
  CHECK(world.servers()[0].statistics().whole == 100);
  CHECK(world.switches()[0].statistics().aggregated == 400);
  CHECK(world.switches()[0].statistics().most_in_use <= small.largest_window);
  for (const AtpWorker& w : world.workers()) CHECK(w.statistics().resent == 0);
}

TEST_CASE("atp: two levels add up racks of different sizes, the server's own among them") {
  for (const int server : {0, 1, 2, 3}) {
    CAPTURE(server);
    World world(small, {{{0, 0, 0, 1, 2, 2}, server, 50}}, {0, 1, 2, 3}, {.max_delay_ps = 1}, 2);
    world.network().run();
    world.check_sums();
    CHECK(world.servers()[0].statistics().whole + world.switches()[0].statistics().collisions > 0);
    CHECK(world.servers()[0].statistics().received >= 50);
  }
}

TEST_CASE("atp: whatever is lost, doubled, reordered, marked or collides, every worker has the exact sum and no aggregator stays claimed") {
  std::int64_t collisions = 0, resent = 0, flushed = 0, merged = 0, timeouts = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    std::mt19937_64 random(seed);
    AtpSettings settings = small;
    settings.aggregators = random() % 2 ? 1 + static_cast<int>(random() % 8) : 64;
    std::vector<JobShape> jobs(1 + random() % 3);
    for (JobShape& job : jobs) job = any_job(random);
    std::vector<int> programmable;
    for (int at = 0; at < 4; ++at)
      if (random() % 4) programmable.push_back(at);
    const auto p = [&](double most) { return random() % 2 ? most * static_cast<double>(random() % 1000) / 1000 : 0; };
    const InjectedFaults faults{
        .loss = p(0.1), .doubling = p(0.1), .marking = p(0.2), .max_delay_ps = random() % 2 ? 1'000'000 : 40'000'000};
    CAPTURE(seed);
    World world(settings, jobs, programmable, faults, seed);
    world.network().run(5'000'000);
    REQUIRE_FALSE(world.network().pending());
    world.check_sums();
    for (const AtpSwitch& s : world.switches()) collisions += s.statistics().collisions, flushed += s.statistics().flushed;
    for (const AtpWorker& w : world.workers()) resent += w.statistics().resent, timeouts += w.statistics().timeouts;
    for (const AtpServer& s : world.servers()) merged += s.statistics().merged;
  }
  CHECK(collisions > 10'000);  // so that these paths have been gone
  CHECK(resent > 10'000);
  CHECK(flushed > 1'000);
  CHECK(merged > 10'000);
  CHECK(timeouts > 1'000);
}

TEST_CASE("atp: windows far smaller than the message and copies that arrive long after: kept results are reused, and the sums stay exact") {
  std::int64_t late = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    std::mt19937_64 random(seed);
    AtpSettings settings = small;
    settings.aggregators = 1 + static_cast<int>(random() % 64);
    settings.initial_window = 1 + static_cast<int>(random() % 4);
    settings.largest_window = settings.initial_window + static_cast<int>(random() % 8);
    std::vector<JobShape> jobs(1 + random() % 2);
    for (JobShape& job : jobs) job = any_job(random), job.packets = 1 + static_cast<std::uint32_t>(random() % 300);
    CAPTURE(seed);
    World world(settings, jobs, {0, 1, 3},
                {.loss = 0.02, .doubling = 0.1, .late = 0.02, .max_delay_ps = 1'000'000, .lateness_ps = 300'000'000}, seed);
    world.network().run(5'000'000);
    REQUIRE_FALSE(world.network().pending());
    world.check_sums();
    for (const AtpServer& s : world.servers()) late += s.statistics().late;
  }
  CHECK(late > 1'000);
}

TEST_CASE("atp: rounds follow one another with other values, whatever of the last is still on its way") {
  std::int64_t duplicates = 0, late = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    std::mt19937_64 random(seed);
    AtpSettings settings = small;
    settings.aggregators = random() % 2 ? 1 + static_cast<int>(random() % 8) : 64;
    std::vector<JobShape> jobs(1 + random() % 2);
    for (JobShape& job : jobs) job = any_job(random), job.rounds = 4;
    CAPTURE(seed);
    World world(settings, jobs, {0, 1, 3}, {.loss = 0.03, .doubling = 0.1, .late = 0.02, .lateness_ps = 100'000'000}, seed);
    world.run_rounds(4);
    for (const AtpWorker& w : world.workers()) duplicates += w.statistics().duplicates;
    for (const AtpServer& s : world.servers()) late += s.statistics().late;
  }
  CHECK(duplicates > 1'000);
  CHECK(late > 100);
}

TEST_CASE("atp: workers that die, start late, and switches that forget: the other jobs' sums are exact, and nothing stays claimed") {
  std::int64_t reclaimed = 0, deaths = 0, forgotten = 0;
  for (std::uint64_t seed = 1; seed <= 10'000; ++seed) {
    std::mt19937_64 random(seed);
    AtpSettings settings = small;
    settings.aggregators = random() % 2 ? 1 + static_cast<int>(random() % 8) : 64;
    settings.aggregator_timeout = 200_us;
    std::vector<JobShape> jobs(1 + random() % 3);
    for (JobShape& job : jobs) job = any_job(random), job.packets = 1 + static_cast<std::uint32_t>(random() % 30);
    const InjectedFaults faults{.loss = random() % 2 ? 0.03 : 0, .doubling = random() % 2 ? 0.03 : 0, .max_delay_ps = 1'000'000};
    CAPTURE(seed);
    World world(settings, jobs, {0, 1, 2}, faults, seed);
    if (random() % 2) {
      world.kill(random() % world.workers().size(), static_cast<std::int64_t>(random() % 60'000'000));
      ++deaths;
    }
    std::int64_t wipe_ps = random() % 2 ? static_cast<std::int64_t>(random() % 60'000'000) : INT64_MAX;
    world.network().run_until(
        [&] {
          if (world.network().now() >= wipe_ps) {
            wipe_ps = INT64_MAX;
            world.programs()[random() % 3].forget();
            ++forgotten;
          }
          return world.done();
        },
        2'000'000);
    REQUIRE(world.done());
    world.check_values();
    // Workers of a dead one go on asking: after a while their packets leave their places to others.
    const std::int64_t end = std::max<std::int64_t>(world.network().now(), 200'000'000) + 3'000'000'000;
    world.network().run_until([&] { return world.network().now() > end; }, 100'000);
    world.check_nothing_claimed(std::max(world.network().now(), end));
    for (const AtpSwitch& s : world.switches()) reclaimed += s.statistics().reclaimed;
  }
  CHECK(deaths > 4'000);
  CHECK(forgotten > 2'000);
  CHECK(reclaimed > 0);
}

TEST_CASE("atp: a worker that is gone leaves the others waiting, and the server says for whom") {
  World world(small, {{{0, 0, 0}, 0, 10}}, {0}, {.max_delay_ps = 1}, 3);
  world.network().crash(1);
  world.network().run(10'000);
  CHECK_FALSE(world.workers()[0].finished());
  CHECK(world.workers()[0].waiting() == "packet 0 of 10 of flow 0 to come back from its parameter server");
  CHECK(world.servers()[0].waiting() == "packet 0 of 10 of flow 0 from its workers 1");
}

TEST_CASE("atp: one aggregator for everything still gives the right sums, by the server") {
  AtpSettings one = small;
  one.aggregators = 1;
  World world(one, {{{0, 0, 0, 0}, 0, 40}, {{0, 0}, 0, 40}}, {0}, {.max_delay_ps = 1000}, 4);
  world.network().run();
  world.check_sums();
  CHECK(world.switches()[0].statistics().collisions > 100);
}

TEST_CASE("atp: marks halve the window, once for what was on its way, and grow it by one each window") {
  World world(small, {{{0}, 1, 400}}, {0, 1}, {.marking = 0.05, .max_delay_ps = 1}, 5);
  world.network().run();
  world.check_sums();
  const auto& s = world.workers()[0].statistics();
  CHECK(s.marks > 20);
  CHECK(s.smallest_window < small.initial_window);
  CHECK(s.smallest_window >= 1);
  CHECK(s.resent == 0);
}

TEST_CASE("atp: sums that do not fit into 32 bits are told, not wrapped") {
  class Huge final : public PacketValues {
    void read(std::uint32_t, std::span<std::int32_t> v) override { std::ranges::fill(v, 1'500'000'000); }
    void write(std::uint32_t, std::span<const std::int32_t> v) override { CHECK(v[0] == INT32_MAX); }
  } huge;
  const AtpTree tree = plan_atp_tree(std::vector{0, 0}, 0, std::vector{0});
  PayloadPool pool(2);
  TestNetwork network(1, {}, &pool);
  AtpWorker a(small, {0, 2, 0, tree.members[0], 3}, &huge), b(small, {1, 2, 0, tree.members[1], 3}, &huge);
  AtpServer server(small, tree, {2, 9, 0, 3});
  AtpSwitch program(small, {atp_walk(small, {})}, {2});
  network.place(0, 0, a);
  network.place(1, 0, b);
  network.place(2, 0, server);
  network.program(3, 0, program);
  network.group(9, {0, 1});
  network.run();
  CHECK(a.statistics().overflow);
  CHECK(b.statistics().overflow);
}

namespace {

// Every third packet holds values whose sum does not fit; those of every ninth do not fit themselves.
class Growing final : public PacketValues {
 public:
  explicit Growing(double own) : own_(own) {}
  void read(std::uint32_t packet, std::span<std::int32_t> values) override {
    const double value = of(packet);
    saturated_ = value > INT32_MAX;
    std::ranges::fill(values, saturated_ ? INT32_MAX : static_cast<std::int32_t>(value));
  }
  bool saturated() const override { return saturated_; }
  void read_floats(std::uint32_t packet, std::span<std::int32_t> words) override {
    std::ranges::fill(words, std::bit_cast<std::int32_t>(static_cast<float>(of(packet))));
  }
  void write(std::uint32_t packet, std::span<const std::int32_t> sums) override { sums_[packet] = sums[0]; }
  void write_floats(std::uint32_t packet, std::span<const std::int32_t> words) override {
    sums_[packet] = static_cast<double>(std::bit_cast<float>(words[0]));
    ++floats_;
  }
  double of(std::uint32_t packet) const { return own_ * (packet % 9 == 0 ? 5e9 : packet % 3 == 0 ? 1.5e9 : 1000); }
  double sum(std::uint32_t packet) const { return sums_.contains(packet) ? sums_.at(packet) : -1; }
  int floats() const { return floats_; }

 private:
  double own_;
  bool saturated_ = false;
  std::map<std::uint32_t, double> sums_;
  int floats_ = 0;
};

}  // namespace

TEST_CASE("atp: packets whose values or sums do not fit go again as floating point, whatever is lost, and the others stay exact") {
  AtpSettings settings = small;
  settings.floats = true;
  std::int64_t resent = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    constexpr std::uint32_t packets = 90;
    const std::vector<int> at = {0, 0, 1};
    const AtpTree tree = plan_atp_tree(at, 1, std::vector{0, 1});
    PayloadPool pool(2);
    TestNetwork network(seed, {.loss = seed % 4 == 0 ? 0 : 0.03, .doubling = 0.03, .marking = 0.03}, &pool);
    std::deque<Growing> values = {Growing(1), Growing(1.25), Growing(0.5)};
    std::deque<AtpWorker> workers;
    for (int w = 0; w < 3; ++w) {
      const auto i = static_cast<std::size_t>(w);
      workers.emplace_back(settings, AtpWorker::Part{w, 3, 0, tree.members[i], packets}, &values[i]);
      network.place(w, at[i], workers.back());
    }
    AtpServer server(settings, tree, {3, 9, 0, packets});
    network.place(3, 1, server);
    AtpSwitch near(settings, {atp_walk(settings, {})}, {}), far(settings, {atp_walk(settings, {})}, {3});
    network.program(4, 0, near);
    network.program(5, 1, far);
    network.group(9, {0, 1, 2});
    network.run(1'000'000);
    REQUIRE_FALSE(network.pending());
    CHECK(server.finished());
    CHECK(server.statistics().floats == packets / 3);
    // Each is a float before they are added, and the sum is one again; sums that fit are exact either way.
    const auto sum = [&](std::uint32_t p) {
      double all = 0;
      for (const Growing& v : values) all += static_cast<double>(static_cast<float>(v.of(p)));
      return static_cast<double>(static_cast<float>(all));
    };
    for (const Growing& own : values) {
      CHECK(own.floats() == packets / 3);
      for (std::uint32_t p = 0; p < packets; ++p) CHECK(own.sum(p) == sum(p));
    }
    for (const AtpWorker& w : workers) {
      CHECK_FALSE(w.statistics().overflow);
      resent += w.statistics().resent;
    }
    for (const AtpSwitch* s : {&near, &far}) CHECK(s->claimed(network.now()) == 0);
  }
  CHECK(resent > 200 * 3 * 30);
}

TEST_CASE("atp: results as floating point that nobody asked for are not taken") {
  class Forger final : public InNetworkAgent {
    void on_datagram(Wire& wire, Datagram datagram) override {
      AtpHeader h = datagram.header.as<AtpHeader>();
      h.kind = AtpKind::parameter;
      for (const AtpFit fit : {AtpFit::floats, AtpFit::fits}) {
        h.overflow = fit;
        Datagram answer = datagram;
        answer.from = datagram.to, answer.to = datagram.from;
        answer.header.set(h);
        wire.send(std::move(answer));
      }
    }
    void on_timer(Wire&, std::uint64_t) override {}
    InNetworkStatistics counted() const override { return {}; }
  } forger;
  Growing values(1);
  const AtpTree tree = plan_atp_tree(std::vector{0}, 0, std::vector<int>{});
  PayloadPool pool(2);
  TestNetwork network(1, {}, &pool);
  AtpWorker worker(small, {0, 1, 0, tree.members[0], 1}, &values);
  network.place(0, 0, worker);
  network.place(1, 0, forger);
  network.run();
  CHECK(worker.finished());
  CHECK(values.floats() == 0);
}

TEST_CASE("atp: forwarded packets pass all switches, an even share of them and the same of all workers") {
  AtpSettings settings = small;
  settings.aggregators = 1 << 20;
  settings.forwarded = 0.25;
  World world(settings, {{{0, 0, 1, 1}, 1, 400}}, {0, 1}, {.max_delay_ps = 1}, 8);
  world.network().run();
  world.check_sums();
  CHECK(world.servers()[0].statistics().whole == 300);
  CHECK(world.servers()[0].statistics().merged == 4 * 100);
  for (const AtpWorker& w : world.workers()) CHECK(w.statistics().resent == 0);
}

TEST_CASE("atp: without congestion control the window is the largest from the beginning, whatever is marked or lost") {
  AtpSettings settings = small;
  settings.congestion_control = false;
  World world(settings, {{{0, 0}, 1, 400}}, {0, 1}, {.loss = 0.01, .marking = 0.2}, 9);
  world.network().run();
  world.check_sums();
  const auto& s = world.workers()[0].statistics();
  CHECK(s.marks > 20);
  CHECK(s.resent > 0);
  CHECK(s.smallest_window == settings.largest_window);
  CHECK(s.largest_window == settings.largest_window);
}

TEST_CASE("atp: more workers and racks than a packet has bits for add up at the server, where its switch does not aggregate") {
  World alone(small, {{std::vector<int>(140, 0), 0, 3}}, {}, {.max_delay_ps = 1}, 6);
  alone.network().run();
  alone.check_sums();
  std::vector<int> pairs;
  std::vector<int> racks;
  for (int rack = 0; rack < 140; ++rack) pairs.insert(pairs.end(), {rack, rack}), racks.push_back(rack);
  World many(small, {{pairs, 200, 3}}, racks, {.max_delay_ps = 1}, 7);
  many.network().run();
  many.check_sums();
  CHECK(many.servers()[0].statistics().received == 3 * 140);
}

TEST_CASE("atp: more workers at a switch than a packet has bits for are refused, and so are settings that cannot be") {
  CHECK_THROWS_WITH_AS(plan_atp_tree(std::vector<int>(129, 0), 1, std::vector{0, 1}),
                       "129 workers meet at a switch, and a packet has bits for 128", InputError);
  CHECK(plan_atp_tree(std::vector<int>(128, 0), 1, std::vector{0, 1}).members[127].fan_in_1 == 128);
  CHECK(plan_atp_tree(std::vector<int>(1000, 0), 1, std::vector<int>{}).racks == 1000);  // nobody aggregates
  CHECK(problems(AtpSettings{}).empty());
  std::string all;
  for (const Problem& p : problems(AtpSettings{.payload = 320_B, .aggregators = -1, .largest_window = 3}))
    all += p.where + ": " + p.what + "\n";
  CHECK(all ==
        "/packet: must be more than the payload of 320 bytes and at most 65536, got 306\n"
        "/aggregators: must be at least 0, got -1\n/largest_window: must be at least 50, got 3\n");
}

}  // namespace weft

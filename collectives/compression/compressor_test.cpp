#include "collectives/compression/compressor.hpp"

#include "collectives/compression/testing.hpp"
#include "collectives/transports/tcp.hpp"
#include "kernels/compression/sparse.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include <doctest/doctest.h>

using namespace weft;
using namespace weft::test;

namespace {

CompressionSettings with(std::string_view name, Amount k) { return {.name = std::string(name), .columns = Amount::of_all(0.2), .k = k}; }

bool equal_on_all(const std::vector<Floats>& results) {
  return std::all_of(results.begin(), results.end(), [&](const Floats& one) { return one == results.front(); });
}

using Entries = std::vector<Entry>;

// The k largest by sorting, ties by index; in the order of the index.
Entries largest(std::map<std::uint32_t, float> values, std::size_t k) {
  Entries all;
  for (const auto& [index, value] : values) all.push_back({index, value});
  std::stable_sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return std::abs(a.value) > std::abs(b.value); });
  all.resize(std::min(k, all.size()));
  sort_by_index(all);
  return all;
}

// gTop-k by its definition: the odd rule on a list of workers, with maps.
Floats gtopk_reference(const std::vector<Floats>& accumulated, std::size_t k) {
  std::vector<Entries> lists;
  for (const Floats& one : accumulated) {
    std::map<std::uint32_t, float> values;
    for (std::size_t i = 0; i < one.size(); ++i) values[static_cast<std::uint32_t>(i)] = one[i];
    lists.push_back(largest(values, k));
  }
  while (lists.size() > 1) {
    std::vector<Entries> next;
    for (std::size_t i = 0; i < lists.size(); i += 2) {
      std::map<std::uint32_t, float> sum;
      for (std::size_t j = i; j < std::min(i + 2, lists.size()); ++j)
        for (const Entry& e : lists[j]) sum[e.index] += e.value;
      next.push_back(largest(sum, k));
    }
    lists = next;
  }
  Floats result(accumulated.front().size(), 0);
  for (const Entry& e : lists.front()) result[e.index] = e.value;
  return result;
}

// Passes everything on and counts what is sent.
class Counting final : public Transport {
 public:
  explicit Counting(Transport& inner) : inner_(inner) {}
  void receive(Rank from, Tag tag, ByteSpan into) override { inner_.receive(from, tag, into); }
  bool receive_reduce(Rank from, Tag tag, DType dtype, ReduceOp op, ByteSpan into) override {
    return inner_.receive_reduce(from, tag, dtype, op, into);
  }
  void send(Rank to, Tag tag, ByteView bytes) override {
    sent += static_cast<std::int64_t>(bytes.size());
    inner_.send(to, tag, bytes);
  }
  void wait() override { inner_.wait(); }
  void reduce(DType dtype, ReduceOp op, ByteSpan into, ByteView from) override { inner_.reduce(dtype, op, into, from); }

  std::int64_t sent = 0;

 private:
  Transport& inner_;
};

}  // namespace

TEST_CASE("with k of all elements every compression is the dense sum, for 1 to 17 ranks") {
  for (int ranks = 1; ranks <= 17; ++ranks)
    for (const std::string_view name : compression_names()) {
      CAPTURE(ranks);
      CAPTURE(name);
      const std::vector<Floats> input = gradients(ranks, 53, 1);
      Team team(with(name, Amount::of_all(1)), 53, ranks);
      const std::vector<Floats> results = team.step(input);
      CHECK(results.front() == sum_of(input));
      CHECK(equal_on_all(results));
    }
}

TEST_CASE("gtopk equals a reference by brute force, for 1 to 17 ranks, step after step") {
  for (int ranks = 1; ranks <= 17; ++ranks)
    for (const std::int64_t k : {1, 7, 40}) {
      CAPTURE(ranks);
      CAPTURE(k);
      Team team(with("gtopk", Amount::exactly(k)), 200, ranks);
      std::vector<Floats> kept(static_cast<std::size_t>(ranks), Floats(200, 0));
      for (std::uint64_t step = 0; step < 4; ++step) {
        std::vector<Floats> accumulated = gradients(ranks, 200, step);
        const std::vector<Floats> results = team.step(accumulated);
        for (std::size_t r = 0; r < kept.size(); ++r) accumulated[r] = sum_of({accumulated[r], kept[r]});
        CHECK(results.front() == gtopk_reference(accumulated, static_cast<std::size_t>(k)));
        CHECK(equal_on_all(results));
        for (Rank r = 0; r < ranks; ++r) kept[static_cast<std::size_t>(r)].assign(team.at(r).kept().begin(), team.at(r).kept().end());
      }
    }
}

TEST_CASE("nothing is lost: what is sent and what is kept are the gradient, on every rank and in every step") {
  constexpr std::size_t d = 300;
  for (const std::string_view name : {"gs_sgd", "gtopk", "sketched_sgd", "topk_allgather"})
    for (const int ranks : {1, 2, 3, 4, 5, 8, 13}) {
      CAPTURE(name);
      CAPTURE(ranks);
      Team team(with(name, Amount::exactly(11)), d, ranks);
      std::vector<Floats> kept(static_cast<std::size_t>(ranks), Floats(d, 0));
      for (std::uint64_t step = 0; step < 6; ++step) {
        const std::vector<Floats> input = gradients(ranks, d, step), results = team.step(input);
        CHECK(equal_on_all(results));
        std::vector<Floats> sent;
        for (Rank r = 0; r < ranks; ++r) {
          const auto at = static_cast<std::size_t>(r);
          const Floats accumulated = sum_of({input[at], kept[at]});
          kept[at].assign(team.at(r).kept().begin(), team.at(r).kept().end());
          sent.push_back(accumulated);
          bool whole = true;  // an element is sent as it is or kept as it is; elsewhere nothing is sent
          for (std::size_t i = 0; i < d; ++i) {
            sent[at][i] -= kept[at][i];
            const bool in_result = results.front()[i] != 0;
            if (name != "gtopk") whole &= sent[at][i] == 0 || kept[at][i] == 0;
            if (name != "gtopk" && in_result && name != "topk_allgather") whole &= kept[at][i] == 0;
            if (name == "gtopk" && !in_result) whole &= sent[at][i] == 0 || sum_of(sent)[i] == 0;
          }
          CHECK(whole);
        }
        CHECK(sum_of(sent) == results.front());
      }
    }
}

TEST_CASE("nothing is lost in floating point but by rounding") {
  constexpr std::size_t d = 500;
  constexpr int ranks = 6, steps = 20;
  for (const std::string_view name : {"gs_sgd", "gtopk", "sketched_sgd", "topk_allgather"}) {
    CAPTURE(name);
    Team team(with(name, Amount::exactly(9)), d, ranks);
    std::vector<double> in(d, 0), out(d, 0);
    std::mt19937_64 random(5);
    std::normal_distribution<float> normal;
    for (int step = 0; step < steps; ++step) {
      std::vector<Floats> input(ranks, Floats(d));
      for (Floats& one : input)
        for (std::size_t i = 0; i < d; ++i) in[i] += one[i] = normal(random);
      const Floats result = team.step(input).front();
      for (std::size_t i = 0; i < d; ++i) out[i] += result[i];
    }
    for (Rank r = 0; r < ranks; ++r)
      for (std::size_t i = 0; i < d; ++i) out[i] += team.at(r).kept()[i];
    // An addition is off by 2^-24 of its result, which is below 120 here (20 x 6 values of at most 6); there are fewer than
    // 2 x 120 of them to an element.
    for (std::size_t i = 0; i < d; ++i) CHECK(std::abs(in[i] - out[i]) < 240 * 120 * std::ldexp(1.0, -24));
  }
}

TEST_CASE("errors kept in the sketch: what comes in is what was sent and what the sketch holds") {
  constexpr std::size_t d = 300;
  for (const std::string_view name : {"gs_sgd", "sketched_sgd"})
    for (const int ranks : {1, 3, 4}) {
      CompressionSettings settings = with(name, Amount::exactly(11));
      settings.memory = ErrorMemory::sketch;
      settings.rows = 3;  // of odd rows the estimate is one of them: whole numbers
      Team team(settings, d, ranks);
      Floats in(d, 0), out(d, 0);
      for (std::uint64_t step = 0; step < 5; ++step) {
        const std::vector<Floats> input = gradients(ranks, d, step), results = team.step(input);
        CHECK(equal_on_all(results));
        CHECK(d - static_cast<std::size_t>(std::count(results[0].begin(), results[0].end(), 0.0f)) <= 11);
        in = sum_of({in, sum_of(input)});
        out = sum_of({out, results[0]});
        Floats difference = in, expected(team.at(0).plan().sketch.counters(), 0);
        for (std::size_t i = 0; i < d; ++i) difference[i] -= out[i];
        sketch_insert(team.at(0).plan().sketch, 0, difference, expected);
        CHECK(std::equal(expected.begin(), expected.end(), team.at(0).kept_sketch().begin(), team.at(0).kept_sketch().end()));
      }
      CHECK(team.at(0).kept().empty());
    }
}

TEST_CASE("with momentum a rank's velocity is compressed; of all elements it is that of the sum") {
  for (const std::string_view name : compression_names()) {
    CAPTURE(name);
    CompressionSettings settings = with(name, Amount::of_all(1));
    settings.momentum = 0.5;
    Team team(settings, 40, 3);
    const std::vector<Floats> first = gradients(3, 40, 1), second = gradients(3, 40, 2);
    CHECK(team.step(first).front() == sum_of(first));
    Floats expected = sum_of(second);
    // What is sent takes its velocity with it (momentum factor masking); dense sends nothing twice and keeps it.
    if (name == "dense")
      for (std::size_t i = 0; i < 40; ++i) expected[i] += 0.5f * sum_of(first)[i];
    CHECK(team.step(second).front() == expected);
  }
}

TEST_CASE("what is sent is what the plan says, on every rank") {
  for (const std::string_view name : compression_names())
    for (const int ranks : {1, 2, 3, 5, 8}) {
      CAPTURE(name);
      CAPTURE(ranks);
      Team team(with(name, Amount::exactly(13)), 500, ranks);
      std::vector<std::int64_t> sent(static_cast<std::size_t>(ranks));
      std::vector<Floats> input = gradients(ranks, 500, 1);
      team.step(input);  // the meeting is not counted
      on_threads(ranks, [&](Rank r, Transport& transport) {
        Counting counting(transport);
        team.at(r).all_reduce(input[static_cast<std::size_t>(r)], counting);
        sent[static_cast<std::size_t>(r)] = counting.sent;
      });
      CHECK(sent == team.at(0).plan().bytes_sent());
    }
}

TEST_CASE("tcp gives the same bits as threads") {
  constexpr int ranks = 3;
  const std::vector<Floats> input = gradients(ranks, 400, 9);
  for (const std::string_view name : compression_names()) {
    CAPTURE(name);
    const CompressionSettings settings = with(name, Amount::exactly(17));
    Team team(settings, 400, ranks);
    const std::vector<Floats> expected = team.step(input);
    std::vector<TcpListener> listeners;
    std::vector<std::string> addresses;
    for (Rank r = 0; r < ranks; ++r) addresses.push_back(listeners.emplace_back("127.0.0.1:0").address());
    std::vector<Floats> results = input;
    std::vector<std::thread> threads;
    for (Rank r = 0; r < ranks; ++r)
      threads.emplace_back([&, r] {
        TcpWorld world(r, addresses, listeners[static_cast<std::size_t>(r)]);
        Compressor compressor(settings, {{"gradient", 400}}, r, ranks);
        compressor.all_reduce(results[static_cast<std::size_t>(r)], world.at());
      });
    for (std::thread& t : threads) t.join();
    CHECK(results == expected);
  }
}

TEST_CASE("k may change between steps, and what was kept stays") {
  Team team(with("gtopk", Amount::exactly(50)), 100, 2);
  const std::vector<Floats> input = gradients(2, 100, 1);
  const Floats first = team.step(input).front();
  for (Rank r : {0, 1}) team.at(r).set_k(Amount::of_all(1));
  const Floats second = team.step({Floats(100, 0), Floats(100, 0)}).front();
  CHECK(sum_of({first, second}) == sum_of(input));
}

TEST_CASE("a NaN or an infinity ends the run and is named with its tensor and rank") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  for (const std::string_view name : compression_names()) {
    const auto errors = errors_on_threads(3, [&](Rank r, Transport& transport) {
      Compressor compressor(with(name, Amount::exactly(2)), {{"weights", 6}, {"bias", 4}}, r, 3);
      Floats gradient(10, 1.0f);
      if (r == 1) gradient[7] = nan, gradient[8] = infinity, gradient[9] = -infinity;
      compressor.all_reduce(gradient, transport);
    });
    CHECK(errors[1] == "rank 1: tensor \"bias\" of the gradient has 1 NaN and 2 infinities among its 4 elements");
    CHECK(errors[0].find(errors[1]) != std::string::npos);
  }
}

TEST_CASE("ranks with different settings are found when they meet") {
  // On all of four ranks, of which rank 2 is given other settings. A rank may hear of it from another before it finds out itself.
  const auto all_say = [](const CompressionSettings& odd, const std::string& what) {
    const auto errors = errors_on_threads(4, [&](Rank r, Transport& transport) {
      Compressor compressor(r == 2 ? odd : with("gs_sgd", Amount::exactly(5)), {{"gradient", 100}}, r, 4);
      Floats gradient(100, 1.0f);
      compressor.all_reduce(gradient, transport);
    });
    for (const std::string& e : errors) {
      CAPTURE(e);
      CHECK(e.find("ranks were started with different compression settings: " + what) != std::string::npos);
    }
  };
  CompressionSettings odd = with("gs_sgd", Amount::exactly(5));
  odd.seed = 7;
  all_say(odd, "seed 7 on rank 2, 1 on rank 0");
  odd = with("gs_sgd", Amount::exactly(6));
  odd.momentum = 0.9;
  all_say(odd, "k 6 on rank 2, 5 on rank 0; momentum 0.9 on rank 2, 0 on rank 0; exchanges #");
  all_say(with("gtopk", Amount::exactly(5)), "name gtopk on rank 2, gs_sgd on rank 0; rows 0");
}

TEST_CASE("what one transport for each rank cannot run is refused") {
  const auto make = [](const Request& allreduce) { Compressor({.name = "dense"}, {{"gradient", 10}}, 0, allreduce); };
  CHECK_THROWS_WITH_AS(make({.algorithm = "ring", .ranks = 2, .settings = {.channels = 2}}),
                       "/channels: must be 1 where gradients are compressed for real, got 2", InputError);
  CHECK_THROWS_WITH_AS(make({.algorithm = "parameter_server", .ranks = 2, .settings = {.server_hosts = ServerHosts::extra}}),
                       "/server_hosts: must be \"workers\" where gradients are compressed for real, got \"extra\"", InputError);
  CHECK_THROWS_AS(make({.algorithm = "rin", .ranks = 2}), InputError);
}

// Every algorithm of the registry written for other programs, and read back.
#include "collectives/interchange/exports.hpp"
#include "collectives/interchange/msccl_xml.hpp"
#include "collectives/interchange/mscclpp_json.hpp"
#include "collectives/registry/registry.hpp"
#include "collectives/schedule/verify.hpp"
#include "collectives/transports/run_on_threads.hpp"

#include <regex>
#include <sstream>

#include <doctest/doctest.h>

namespace weft {
namespace {

// One request for every algorithm that runs on so many ranks, without servers beside them and with steps to write.
std::vector<Request> requests(int ranks, int channels, int pieces) {
  std::vector<Request> out;
  for (const Algorithm& a : algorithms()) {
    if (a.collective == Collective::barrier) continue;
    Request q{.collective = a.collective, .algorithm = std::string(a.name), .ranks = ranks, .root = ranks * 2 / 3};
    q.settings.channels = channels;
    q.settings.pieces = pieces;
    if (a.takes_group) q.settings.group = ranks % 2 == 0 ? 2 : ranks;
    if (a.takes_servers) q.settings.servers = 2;
    if (a.name == "hdrm") q.bigraph = BiGraphShape{.switches = ranks, .nodes_per_switch = 1};
    if (constraints(q).empty()) out.push_back(q);
  }
  return out;
}

// Without every part of the text from `begin` to the first `end` behind it.
std::string without(std::string text, std::string_view begin, char end) {
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at))
    text.erase(at, text.find(end, at + begin.size()) - at + 1);
  return text;
}
std::string without_own_words(std::string xml) { return without(std::move(xml), " weft=\"", '"'); }

void capture_and(const std::function<void(const Request&)>& check) {
  for (const int ranks : {2, 3, 4, 6, 8})
    for (const auto& cut : {std::pair{1, 1}, {2, 1}, {1, 3}, {2, 2}})
      for (const Request& q : requests(ranks, cut.first, cut.second)) {
        CAPTURE(name_of(q.collective));
        CAPTURE(q.algorithm);
        CAPTURE(ranks);
        CAPTURE(cut.first);
        CAPTURE(cut.second);
        check(q);
      }
}

}  // namespace

TEST_CASE("what is exported to MSCCL and read back is the same schedule, for every algorithm") {
  int checked = 0;
  capture_and([&](const Request& q) {
    const Schedule s = build(q);
    CHECK(to_string(read_msccl_xml(to_msccl_xml(s))) == to_string(s));
    ++checked;
  });
  CHECK(checked > 300);
}

TEST_CASE("what is exported to MSCCL is right by its order of thread blocks alone") {
  // As the runtimes of MSCCL read it, which skip the words that say Weft's steps.
  capture_and([](const Request& q) {
    const Schedule s = build(q);
    const Schedule read = read_msccl_xml(without_own_words(to_msccl_xml(s)));
    CHECK(read.messages() == s.messages());
    CHECK(verify(read).empty());
  });
}

TEST_CASE("what is exported to MSCCL++ and read back is the same schedule, for every algorithm, with signals and with packets") {
  int checked = 0;
  capture_and([&](const Request& q) {
    const Schedule s = build(q);
    for (const char* protocol : {"Simple", "LL"}) {
      CAPTURE(protocol);
      CHECK(to_string(read_mscclpp_json(to_mscclpp_json(s, {.protocol = protocol}))) == to_string(s));
    }
    ++checked;
  });
  CHECK(checked > 300);
}

TEST_CASE("what is exported to MSCCL++ is right by its signals alone") {
  capture_and([](const Request& q) {
    const Schedule s = build(q);
    const Schedule read = read_mscclpp_json(without(to_mscclpp_json(s), ",\"weft\":", ']'));
    CHECK(read.messages() == s.messages());
    CHECK(verify(read).empty());
  });
}

TEST_CASE("a ring exported to MSCCL and read back gives the same sums on real memory") {
  for (const int n : {2, 3, 5, 8}) {
    const Schedule ring = build({.algorithm = "ring", .ranks = n});
    const Schedule read = read_msccl_xml(to_msccl_xml(ring));
    for (const std::int64_t elements : {0, 1, 7, 1000}) {
      CAPTURE(n);
      CAPTURE(elements);
      TestBuffers ours(ring, ReduceOp::sum, DType::float32, elements, {.values = Values::real});
      TestBuffers theirs(read, ReduceOp::sum, DType::float32, elements, {.values = Values::real});
      run_threads(ring, ReduceOp::sum, ours.buffers());
      run_threads(read, ReduceOp::sum, theirs.buffers());
      const std::size_t bytes = buffer_bytes(ring, elements, DType::float32);
      for (Rank r = 0; bytes > 0 && r < n; ++r) CHECK(std::memcmp(ours.data(r), theirs.data(r), bytes) == 0);
    }
  }
}

TEST_CASE("MSCCL has no words for servers and barriers") {
  const Request servers{.algorithm = "parameter_server", .ranks = 4, .settings = {.servers = 2, .server_hosts = ServerHosts::extra}};
  CHECK_THROWS_WITH_AS(to_msccl_xml(build(servers)), "2 of the ranks are servers beside the collective: MSCCL has none", InputError);
  const Request barrier{.collective = Collective::barrier, .algorithm = "dissemination", .ranks = 4};
  CHECK_THROWS_WITH_AS(to_msccl_xml(build(barrier)), "a barrier moves no data: MSCCL has none", InputError);
}

TEST_CASE("GOAL has a send and a receive for every message, with its bytes, and every step waits for the one before") {
  // Ring of 4: 6 steps of 4 messages of 1/4; each rank joins its send and its receive in every step.
  const std::string goal = to_goal(build({.algorithm = "ring", .ranks = 4}), {.elements = 1000, .reduce_ns_per_byte = 0.5});
  CHECK(goal.starts_with("num_ranks 4\n\nrank 0 {\nl1: send 1000b to 1 tag 0 cpu 0\nl2: recv 1000b from 3 tag 0 cpu 0\n"));
  const auto count = [&](const std::string& what) {
    int found = 0;
    for (std::size_t at = goal.find(what); at != std::string::npos; at = goal.find(what, at + 1)) ++found;
    return found;
  };
  CHECK(count("send 1000b") == 24);
  CHECK(count("recv 1000b") == 24);
  CHECK(count("calc 500 ") == 12);  // 1000 B x 0.5 ns, in the 3 steps that add
  CHECK(goal.find("\nl3: calc 500 cpu 0\nl3 requires l1\nl3 requires l2\nl4: send") != std::string::npos);
}

TEST_CASE("GOAL adds when a rank's sends and receives of the step are over, at once what it received and what it holds") {
  Schedule s{.ranks = 2, .chunks = 2};
  Step& step = s.add_step();
  step.reduce({.from = 1, .to = 0, .chunk = 0});
  step.reduce({.from = 0, .to = 0, .chunk = 0, .into = 1});
  step.copy({.from = 0, .to = 1, .chunk = 1});
  s.add_step().reduce({.from = 0, .to = 0, .chunk = 0, .into = 1});
  s.add_step().copy({.from = 0, .to = 1, .chunk = 1});
  CHECK(to_goal(s, {.elements = 200, .reduce_ns_per_byte = 0.5}) ==
        "num_ranks 2\n\n"
        "rank 0 {\nl1: recv 400b from 1 tag 0 cpu 0\nl2: send 400b to 1 tag 0 cpu 0\nl3: calc 400 cpu 0\nl3 requires l1\nl3 requires l2\n"
        "l4: calc 200 cpu 0\nl4 requires l3\nl5: send 400b to 1 tag 1 cpu 0\nl5 requires l4\n}\n\n"
        "rank 1 {\nl1: send 400b to 0 tag 0 cpu 0\nl2: recv 400b from 0 tag 0 cpu 0\nl3: calc 0 cpu 0\nl3 requires l1\nl3 requires l2\n"
        "l4: recv 400b from 0 tag 1 cpu 0\nl4 requires l3\n}\n");
}

TEST_CASE("GOAL matches sends and receives by rank and tag, for every algorithm") {
  capture_and([](const Request& q) {
    const Schedule s = build(q);
    std::istringstream goal(to_goal(s, {.elements = 840}));
    std::map<std::vector<std::string>, int> open;  // bytes, from, to, tag
    std::string line, rank;
    std::int64_t sends = 0;
    const std::regex operation(R"(l\d+: (send|recv) (\d+)b (?:to|from) (\d+) tag (\d+) cpu \d+)");
    for (std::smatch found; std::getline(goal, line);) {
      if (line.starts_with("rank ")) rank = line.substr(5, line.find(' ', 5) - 5);
      if (!std::regex_match(line, found, operation)) continue;
      const bool sending = found[1] == "send";
      sends += sending;
      open[{found[2], sending ? rank : found[3].str(), sending ? found[3].str() : rank, found[4]}] += sending ? 1 : -1;
    }
    CHECK(sends == s.messages());
    for (const auto& [message, balance] : open) CHECK(balance == 0);
  });
}

TEST_CASE("a drawing has a box for each rank and step and an arrow for each transfer") {
  const std::string dot = to_dot(build({.algorithm = "ring", .ranks = 2}));
  CHECK(dot.find("\"c0s0r0\" [label=\"rank 0\\nstep 0\"]") != std::string::npos);
  CHECK(dot.find("\"c0s0r0\" -> \"c0s0r1\" [label=\"0\", style=solid, constraint=false];") != std::string::npos);
  CHECK(dot.find("\"c0s1r1\" -> \"c0s1r0\" [label=\"0\", style=dashed, constraint=false];") != std::string::npos);
}

}  // namespace weft

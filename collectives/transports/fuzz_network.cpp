// Whatever comes from the network, nothing breaks: hellos, frames and what a peer says over its control connection, and datagrams.
// Inputs are noise, or right ones with a few bytes changed, which get further. The same arguments give the same inputs.
//
//   build/default/bin/fuzz_network [INPUTS] [SEED]      a million under the sanitizers: WEFT_PRESET=asan
#include "collectives/transports/tcp_hello.hpp"
#include "collectives/transports/tcp_mesh.hpp"
#include "collectives/transports/udp/udp_node.hpp"
#include "kernels/base/error.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <sys/socket.h>

namespace weft {
namespace {

using Bytes = std::vector<std::byte>;

class Random {
 public:
  explicit Random(std::uint64_t seed) : bits_(seed) {}
  std::uint64_t below(std::uint64_t n) { return bits_() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  std::byte byte() { return static_cast<std::byte>(one_in(2) ? below(256) : below(4)); }
  Bytes noise(std::size_t size) {
    Bytes out(size);
    for (std::byte& b : out) b = byte();
    return out;
  }
  // As it is, with a few bytes changed, cut off, or nothing of it.
  void disturb(Bytes& bytes) {
    if (one_in(8)) bytes = noise(bytes.size());
    if (one_in(8)) bytes.resize(below(bytes.size() + 1));
    if (one_in(3) || bytes.empty()) return;
    for (std::uint64_t i = 0; i <= below(4); ++i) bytes[below(bytes.size())] = byte();
  }

 private:
  std::mt19937_64 bits_;
};

template <class T>
void append(Bytes& to, const T& value) {
  to.resize(to.size() + sizeof value);
  std::memcpy(to.data() + to.size() - sizeof value, &value, sizeof value);
}

struct Line {
  Socket ours, theirs;
};
Line connected() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) throw RunError("no pair of sockets");
  return {Socket(ends[0]), Socket(ends[1])};
}

// One who calls while ranks meet. Only who knows the secret gets in, and only with fields that fit together.
void call(Random& random) {
  const char* const secret = "sesame";
  Line line = connected();
  Caller caller(std::move(line.ours), Hello{.rank = 0, .ranks = 4, .channels = 2, .connections = 3}, secret);
  Hello hello{.rank = static_cast<std::int32_t>(random.below(4)),
              .ranks = 4,
              .channels = 2,
              .connections = 3,
              .channel = static_cast<std::int32_t>(random.below(2)),
              .connection = static_cast<std::int32_t>(random.below(3))};
  Bytes said;
  append(said, hello);
  random.disturb(said);
  const std::size_t cut = random.below(said.size() + 1);
  line.theirs.write_some(std::span(said).first(cut), {});
  Caller::State state = caller.advance();
  if (state == Caller::State::waits) line.theirs.write_some(std::span(said).subspan(cut), {});
  if (state == Caller::State::waits) state = caller.advance();
  Arriving<Hello> answer;
  Arriving<Proof> theirs;
  const bool answered = answer.take(line.theirs) && answer.complete() && theirs.take(line.theirs) && theirs.complete();
  const bool knows = random.one_in(2);
  if (said.size() >= sizeof hello) std::memcpy(&hello, said.data(), sizeof hello);
  Bytes proof;
  append(proof, answered ? proof_of(knows ? secret : "", Side::caller, hello, answer.value) : Proof{});
  const Bytes right = proof;
  if (random.one_in(2)) random.disturb(proof);
  line.theirs.write_some(proof, {});
  if (random.one_in(2)) line.theirs.close();
  if (state == Caller::State::waits) state = caller.advance();
  check((state == Caller::State::proven) == (answered && knows && proof == right), "who knows the secret, and only he, is let in");
  check(state == Caller::State::refused || !answered || caller.hello().contradiction().empty(), "contradictions get in");
}

// What a peer sends that was let in: frames, pieces, and reasons or farewells.
Bytes frames(Random& random) {
  Bytes out;
  for (std::uint64_t n = random.below(4); n-- > 0;) {
    Bytes frame;
    const std::uint64_t size = random.one_in(8) ? 300'000 : random.below(64);
    append(frame, std::uint64_t{random.below(4)});
    append(frame, size);
    random.disturb(frame);
    out.insert(out.end(), frame.begin(), frame.end());
    out.resize(out.size() + (random.one_in(4) ? random.below(100) : size), random.byte());
  }
  return out;
}

Bytes reason(Random& random) {
  if (!random.one_in(3)) return {};
  const auto size = static_cast<std::uint32_t>(random.below(20));
  const std::uint32_t said = (random.one_in(3) ? 0 : size) | (random.one_in(2) ? std::uint32_t{1} << 31 : 0);  // that it waits, or ends
  Bytes out(sizeof said + size, random.one_in(2) ? std::byte{'x'} : std::byte{});
  std::memcpy(out.data(), &said, sizeof said);
  random.disturb(out);
  return out;
}

void talk(Random& random) {
  const int connections = 1 + static_cast<int>(random.below(3));
  TcpMesh mesh;
  std::vector<Socket> theirs;
  const auto line = [&] {
    Line l = connected();
    theirs.push_back(std::move(l.theirs));
    return std::move(l.ours);
  };
  mesh.control.resize(2);
  mesh.control[1] = line();
  mesh.data.resize(1);
  mesh.data[0].resize(2);
  for (auto& peer : mesh.data[0]) peer.resize(static_cast<std::size_t>(connections));
  for (Socket& s : mesh.data[0][1]) s = line();
  std::deque<std::vector<std::int32_t>> memory;  // outlives the world
  try {
    TcpWorld world(0, std::move(mesh), {.connections = connections, .largest_message = 1 << 20});
    for (int turn = 0; turn < 3; ++turn) {
      for (std::uint64_t n = random.below(3); n-- > 0;) {
        auto& into = memory.emplace_back(random.one_in(8) ? 75'000 : random.below(16));
        const ByteSpan bytes = std::as_writable_bytes(std::span(into));
        if (random.one_in(2))
          world.at().receive(1, random.below(4), bytes);
        else
          world.at().receive_reduce(1, random.below(4), DType::int32, ReduceOp::max, bytes);
      }
      theirs[0].write_some(reason(random), {});
      for (std::size_t k = 1; k < theirs.size(); ++k) theirs[k].write_some(frames(random), {});
      if (random.one_in(8)) theirs[random.below(theirs.size())].close();
      world.test();
      world.test();
    }
  } catch (const RunError&) {  // as it should be where a peer talks nonsense
  }
}

// All nodes of a small deployment. What they send comes here instead, and goes on changed, or to somebody else, or not at all.
class Nodes {
 public:
  Nodes(const InNetworkSettings& settings, Random& random) : random_(random), deployment_(settings, layout, elements) {
    for (int n = 0; n < layout.nodes(); ++n) {
      caught_.emplace_back("127.0.0.1:0");
      peers_.push_back(udp_peer(caught_.back().address()));
    }
    for (int n = 0; n < layout.nodes(); ++n) nodes_.emplace_back(*this, n);
  }

  void send_one() {
    Bytes datagram(sizeof(UdpHead) + 4 * values);
    if (!seen_.empty()) datagram = seen_[random_.below(seen_.size())];
    if (random_.one_in(2)) random_.disturb(datagram);
    if (random_.one_in(16)) datagram.resize(datagram.size() + random_.below(2000));
    Node& node = nodes_[random_.below(nodes_.size())];
    const UdpPeer& at = node.at;
    ::sendto(caught_[0].descriptor(), datagram.data(), datagram.size(), MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&at.address),
             at.size);
    node.udp->turn(std::chrono::microseconds{0});
    const std::size_t from = random_.below(caught_.size());
    Bytes more(2048);
    const ssize_t got = ::recv(caught_[from].descriptor(), more.data(), more.size(), MSG_DONTWAIT);
    if (got <= 0) return;
    more.resize(static_cast<std::size_t>(got));
    if (seen_.size() < 64)
      seen_.push_back(more);
    else
      seen_[random_.below(seen_.size())] = more;
  }
  bool took_part() const {
    return std::ranges::all_of(nodes_, [](const Node& n) { return n.udp->statistics().received > n.udp->statistics().malformed; });
  }

  static constexpr int values = 16;
  static constexpr weft::Bytes payload{4 * values}, packet{udp_overhead_bytes + 4 * values};

 private:
  static constexpr std::int64_t elements = 4000;
  static constexpr std::uint32_t last_round = 100;
  inline static const UdpLayout layout = {.workers = 2, .servers = 1, .switches = 1};

  struct Node {
    Node(Nodes& all, int number)
        : socket("127.0.0.1:0"),
          udp(std::make_unique<UdpNode>(UdpNode::Settings{.node = number, .run = 7}, all.deployment_.map, socket, all.peers_, pool)) {
      begin(all, number, 1);
      udp->when_later([this, &all, number](std::uint32_t round) {
        if (round <= last_round) begin(all, number, round);
      });
    }
    void begin(const Nodes& all, int number, std::uint32_t round) {
      auto next = std::make_unique<NodeAgents>(all.deployment_, number, WorkerMemory{DType::int32, gradients.data(), sums.data()});
      udp->begin_round(round, next->seats());
      agents = std::move(next);
    }
    std::vector<std::int32_t> gradients = std::vector<std::int32_t>(elements, 3), sums = std::vector<std::int32_t>(elements);
    PayloadPool pool{values};
    UdpSocket socket;
    UdpPeer at = udp_peer(socket.address());
    std::unique_ptr<UdpNode> udp;
    std::unique_ptr<NodeAgents> agents;
  };
  Random& random_;
  UdpDeployment deployment_;
  std::deque<UdpSocket> caught_;
  std::vector<UdpPeer> peers_;
  std::deque<Node> nodes_;
  std::vector<Bytes> seen_;
};

std::uint64_t number(const char* text) {
  std::uint64_t out = 0;
  const char* const end = text + std::strlen(text);
  if (std::from_chars(text, end, out) != std::from_chars_result{end, {}}) throw InputError(fmt::format("\"{}\" is no number", text));
  return out;
}

int fuzz(std::uint64_t inputs, std::uint64_t seed) {
  Random random(seed);
  Nodes atp(AtpSettings{.payload = Nodes::payload, .packet = Nodes::packet, .aggregators = 64, .timeout = 1_ms}, random);
  Nodes switchml(SwitchmlSettings{.slots = 16, .payload = Nodes::payload, .packet = Nodes::packet, .timeout = 1_ms}, random);
  for (std::uint64_t i = 0; i < inputs; ++i) {
    if (i % 4 == 0)
      call(random);
    else if (i % 4 == 1)
      talk(random);
    else
      (i % 4 == 2 ? atp : switchml).send_one();
  }
  fmt::print("{} inputs from seed {}: hellos, frames, and datagrams of ATP and SwitchML, a quarter each\n", inputs, seed);
  if (inputs < 10'000 || atp.took_part()) return 0;
  std::fputs("fuzz_network: some node has taken no datagram for its own\n", stderr);
  return 1;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  try {
    return weft::fuzz(argc > 1 ? weft::number(argv[1]) : 20'000, argc > 2 ? weft::number(argv[2]) : 1);
  } catch (const std::exception& e) {
    std::fputs(fmt::format("fuzz_network: {}\n", e.what()).c_str(), stderr);
    return 1;
  }
}

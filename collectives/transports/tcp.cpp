#include "collectives/transports/tcp.hpp"

#include "collectives/transports/tcp_control.hpp"
#include "collectives/transports/tcp_mesh.hpp"
#include "kernels/base/error.hpp"
#include "kernels/reduce.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <exception>
#include <list>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <poll.h>

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t spread_from = 256 * 1024;         // smaller messages use one connection
constexpr std::size_t zero_copy_from = 64 * 1024;       // below that, pinning pages costs more than copying them
constexpr std::size_t piece_unit = 64;                  // pieces begin at whole elements, aligned
constexpr std::size_t bounce_size = 128 * 1024;         // what is reduced on arrival passes through a cache-sized window
constexpr std::chrono::milliseconds longest_poll{100};  // then look whether another channel's thread ended the run

// Stands before every piece of a message.
struct TcpFrame {
  Tag tag = 0;
  std::uint64_t size = 0;  // of the whole message
};

struct Range {
  std::size_t begin, size;
};
int pieces_of(std::size_t size, int connections) { return size < spread_from ? 1 : connections; }
Range piece(std::size_t size, int index, int pieces) {
  const auto cut = [&](int i) {
    return i == pieces ? size : size / piece_unit * static_cast<std::size_t>(i) / static_cast<std::size_t>(pieces) * piece_unit;
  };
  return {cut(index), cut(index + 1) - cut(index)};
}

struct Posted {
  Rank from;
  Tag tag;
  ByteSpan into;
  std::optional<Reduction> reduction;
  int missing_pieces;
  std::uint64_t claimed = 0;  // bit k: connection k's piece has come or is coming
};

// A piece whose receive has not been posted yet.
struct Early {
  Rank from;
  int connection;
  TcpFrame frame;
  std::size_t size;
  std::unique_ptr<std::byte[]> bytes;
};

struct Outgoing {
  Rank to;
  TcpFrame frame;
  ByteView bytes;
};

}  // namespace

class TcpWorld::Endpoint final : public Transport {
 public:
  Endpoint(TcpControl& control, int channel, std::vector<std::vector<Socket>> sockets) : control_(control), channel_(channel) {
    for (std::size_t peer = 0; peer < sockets.size(); ++peer)
      for (std::size_t k = 0; k < sockets[peer].size(); ++k) {
        Connection& c = connections_.emplace_back();
        c.socket = std::move(sockets[peer][k]);
        c.peer = static_cast<Rank>(peer);
        c.index = static_cast<int>(k);
        if (c.socket.open() && control.settings().stream_rate.count > 0) c.socket.pace(control.settings().stream_rate);
        c.zero_copy = control.settings().zero_copy && c.socket.open() && c.socket.allow_zero_copy();
      }
  }

  void receive(Rank from, Tag tag, ByteSpan into) override { post(from, tag, into, std::nullopt); }
  bool receive_reduce(Rank from, Tag tag, DType dtype, ReduceOp op, ByteSpan into) override {
    post(from, tag, into, Reduction{dtype, op});
    return true;
  }
  void send(Rank to, Tag tag, ByteView bytes) override {
    const int pieces = pieces_of(bytes.size(), control_.settings().connections);
    for (int k = 0; k < pieces; ++k) {
      const Range part = piece(bytes.size(), k, pieces);
      connection(to, k).out.push_back({to, {tag, bytes.size()}, bytes.subspan(part.begin, part.size)});
    }
  }

  void wait() override {
    deliver_early();
    last_progress_ = Clock::now();
    while (!done()) {
      sleep_until_something_moves(std::min(longest_poll, control_.settings().patience / 4));
      if (!control_.failed()) insist_on_progress();
    }
    tell_waiting("");
    posted_.clear();
  }
  bool test() {
    deliver_early();
    sleep_until_something_moves(std::chrono::milliseconds{0});
    if (!done()) return false;
    posted_.clear();
    return true;
  }

  void reduce(DType dtype, ReduceOp op, ByteSpan into, ByteView from) override {
    weft::reduce(dtype, op, into.data(), from.data(), into.size() / size_of(dtype));
  }

 private:
  // One direction of a connection is a sequence of frames, each with the bytes of its piece behind it.
  struct Connection {
    Socket socket;
    Rank peer = 0;
    int index = 0;
    std::deque<Outgoing> out;
    std::size_t written = 0;  // of the first of `out`, its frame included
    bool zero_copy = false;
    std::uint32_t unfinished = 0;  // writes without copy: the kernel still reads our memory

    TcpFrame frame;
    std::size_t frame_read = 0;
    Posted* posted = nullptr;  // whose piece is arriving; without one it is `early`
    Early early = {};
    ByteSpan into;         // where the piece goes
    std::size_t read = 0;  // of the piece
    std::unique_ptr<std::byte[]> bounce;
    std::size_t in_bounce = 0;
  };

  void deliver_early() {
    for (auto early = early_.begin(); early != early_.end();)
      if (deliver(*early))
        early = early_.erase(early);
      else
        ++early;
  }

  // Writes what can be written. Throws if the run has been ended.
  bool done() {
    if (control_.failed()) give_up();
    bool sending = false;
    for (Connection& c : connections_) sending |= !write(c) || c.unfinished > 0;
    return !sending && missing_ == 0;
  }

  Connection& connection(Rank peer, int index) {
    return connections_[static_cast<std::size_t>(peer * control_.settings().connections + index)];
  }

  void post(Rank from, Tag tag, ByteSpan into, std::optional<Reduction> reduction) {
    const int pieces = pieces_of(into.size(), control_.settings().connections);
    posted_.push_back({from, tag, into, reduction, pieces});
    ++missing_;
  }

  // The first receive that waits for this piece.
  Posted* claim(Rank from, int index, const TcpFrame& frame) {
    for (Posted& p : posted_) {
      const std::uint64_t bit = std::uint64_t{1} << index;
      if (p.from != from || p.tag != frame.tag || (p.claimed & bit) != 0) continue;
      if (index >= pieces_of(p.into.size(), control_.settings().connections)) continue;
      if (p.into.size() != frame.size)
        fail(fmt::format("{} sent {} bytes to {} which expects {} ({})", name(from), frame.size, name(control_.rank()), p.into.size(),
                         to_string(name_of(frame.tag))));
      p.claimed |= bit;
      return &p;
    }
    return nullptr;
  }

  void piece_done(Posted& p) {
    if (--p.missing_pieces == 0) --missing_;
  }

  bool deliver(const Early& e) {
    Posted* const p = claim(e.from, e.connection, e.frame);
    if (p == nullptr) return false;
    const Range part = piece(p->into.size(), e.connection, pieces_of(p->into.size(), control_.settings().connections));
    const ByteSpan into = p->into.subspan(part.begin, part.size);
    if (p->reduction)
      reduce(p->reduction->dtype, p->reduction->op, into, {e.bytes.get(), e.size});
    else if (e.size > 0)
      std::memcpy(into.data(), e.bytes.get(), e.size);
    piece_done(*p);
    return true;
  }

  // False if something is left to write.
  bool write(Connection& c) {
    while (!c.out.empty()) {
      const Outgoing& o = c.out.front();
      const ByteView frame = std::as_bytes(std::span(&o.frame, 1));
      const std::size_t frame_done = std::min(c.written, frame.size());
      const ByteView frame_rest = frame.subspan(frame_done), rest = o.bytes.subspan(c.written - frame_done);
      const bool without_copy = c.zero_copy && rest.size() >= zero_copy_from;
      std::optional<std::size_t> put;
      if (!without_copy)
        put = c.socket.write_some(frame_rest, rest);
      else if (!frame_rest.empty())
        put = c.socket.write_some(frame_rest, {});  // a frame does not outlive its write
      else if (const auto written = c.socket.write_some_without_copy(rest)) {
        put = written->bytes;
        if (written->bytes > 0 && !written->copied) ++c.unfinished;
      }
      if (!put) return end(c), false;
      if (*put == 0) return false;
      moved();
      c.written += *put;
      if (c.written < frame.size() + o.bytes.size()) continue;
      c.written = 0;
      c.out.pop_front();
    }
    return true;
  }

  // The peer has closed it and reads nothing more. News of writes without copy may be lost with it: nobody waits for them.
  static void end(Connection& c) {
    c.socket.close();
    c.unfinished = 0;
  }

  void finish_writes(Connection& c) {
    const Socket::Finished finished = c.socket.finished_writes();
    if (finished.writes == 0) return;
    moved();
    c.unfinished -= finished.writes;
    if (finished.copied) c.zero_copy = false;
  }

  void read(Connection& c) {
    for (;;) {
      if (c.frame_read < sizeof(TcpFrame)) {
        const auto got = c.socket.read_some(std::as_writable_bytes(std::span(&c.frame, 1)).subspan(c.frame_read));
        if (!got) return end(c);
        if (*got == 0) return;
        moved();
        c.frame_read += *got;
        if (c.frame_read < sizeof(TcpFrame)) continue;
        begin_piece(c);
      }
      while (c.read < c.into.size()) {
        const auto got = c.socket.read_some(landing(c));
        if (!got) return end(c);
        if (*got == 0) return;
        moved();
        landed(c, *got);
      }
      end_piece(c);
    }
  }

  void begin_piece(Connection& c) {
    c.read = 0;
    c.in_bounce = 0;
    const int pieces = pieces_of(c.frame.size, control_.settings().connections);
    if (c.index >= pieces || c.frame.size > control_.settings().largest_message)
      fail(fmt::format("{} sent what is no message to {}: {} bytes on connection {} ({})", name(c.peer), name(control_.rank()),
                       c.frame.size, c.index, to_string(name_of(c.frame.tag))));
    const Range part = piece(c.frame.size, c.index, pieces);
    c.posted = claim(c.peer, c.index, c.frame);
    if (c.posted != nullptr) {
      c.into = c.posted->into.subspan(part.begin, part.size);
      if (c.posted->reduction && !c.bounce) c.bounce.reset(new std::byte[bounce_size]);
      return;
    }
    std::unique_ptr<std::byte[]> bytes(new (std::nothrow) std::byte[part.size]);
    if (bytes == nullptr)
      fail(fmt::format("{} has no memory for {} bytes that {} sent before they were waited for ({})", name(control_.rank()), part.size,
                       name(c.peer), to_string(name_of(c.frame.tag))));
    c.early = {c.peer, c.index, c.frame, part.size, std::move(bytes)};
    c.into = {c.early.bytes.get(), part.size};
  }

  bool reduces(const Connection& c) const { return c.posted != nullptr && c.posted->reduction; }

  ByteSpan landing(const Connection& c) const {
    const std::size_t left = c.into.size() - c.read;
    if (!reduces(c)) return c.into.last(left);
    return {c.bounce.get() + c.in_bounce, std::min(bounce_size - c.in_bounce, left)};
  }

  void landed(Connection& c, std::size_t bytes) {
    c.read += bytes;
    if (!reduces(c)) return;
    c.in_bounce += bytes;
    const Reduction& r = *c.posted->reduction;
    if (c.in_bounce < bounce_size && c.read < c.into.size()) return;
    reduce(r.dtype, r.op, c.into.subspan(c.read - c.in_bounce, c.in_bounce), {c.bounce.get(), c.in_bounce});
    c.in_bounce = 0;
  }

  void end_piece(Connection& c) {
    c.frame_read = 0;
    if (c.posted != nullptr) return piece_done(*c.posted);
    if (!deliver(c.early)) early_.push_back(std::move(c.early));
  }

  void moved() { something_moved_ = true; }

  void sleep_until_something_moves(std::chrono::milliseconds at_most) {
    polled_.clear();
    for (const Connection& c : connections_)
      polled_.push_back({c.socket.descriptor(), static_cast<short>(c.out.empty() ? POLLIN : POLLIN | POLLOUT), 0});
    for (Rank r = 0; r < control_.ranks(); ++r) polled_.push_back({control_.descriptor(r), POLLIN, 0});
    ::poll(polled_.data(), polled_.size(), static_cast<int>(at_most.count()));
    for (std::size_t i = 0; i < polled_.size(); ++i) {
      if (polled_[i].revents == 0) continue;
      if (i < connections_.size() && connections_[i].unfinished > 0) finish_writes(connections_[i]);
      if (i >= connections_.size())
        control_.listen(static_cast<Rank>(i - connections_.size()));
      else if ((polled_[i].revents & ~POLLOUT) != 0)
        read(connections_[i]);
    }
  }

  void insist_on_progress() {
    refuse_to_wait_for_the_finished();
    const auto now = Clock::now();
    if (std::exchange(something_moved_, false)) {
      last_progress_ = now;
      tell_waiting("");
    } else if (now - last_progress_ >= control_.settings().patience) {
      fail(fmt::format("{} for {} ms\n{}{}", TcpControl::no_progress, control_.settings().patience.count(), what_is_missing(),
                       control_.others()));
    } else if (now - last_progress_ >= control_.settings().patience / 2) {
      tell_waiting(wait_of_this_rank());
    }
  }
  void tell_waiting(const std::string& what) {
    if (what == told_) return;
    control_.tell_waiting(channel_, what);
    told_ = what;
  }

  // A finished peer's other connections may still hold what it sent, so each is asked about its own piece alone.
  void refuse_to_wait_for_the_finished() {
    for (const Connection& c : connections_) {
      if (c.socket.open() || c.peer == control_.rank() || !control_.has_finished(c.peer)) continue;
      const auto lacks_its_piece = [&](const Posted& p) { return p.from == c.peer && lacks_piece(c, p); };
      if (!c.out.empty() || std::ranges::any_of(posted_, lacks_its_piece))
        fail(fmt::format("{} has finished, but {}", name(c.peer), what_is_missing()));
    }
  }
  // Whether this connection's piece of the message has not come, or not whole.
  bool lacks_piece(const Connection& c, const Posted& p) const {
    if (c.index >= pieces_of(p.into.size(), control_.settings().connections)) return false;
    const bool coming = c.posted == &p && c.frame_read == sizeof(TcpFrame);
    return coming || (p.claimed & (std::uint64_t{1} << c.index)) == 0;
  }

  std::string name(Rank rank) const { return control_.name(rank); }
  std::string what_is_missing() const {
    const std::string wait = wait_of_this_rank();
    return wait.empty() ? "" : fmt::format("{} waits for {}", name(control_.rank()), wait);
  }
  std::string wait_of_this_rank() const {
    for (const Posted& p : posted_)
      if (p.missing_pieces > 0) return fmt::format("{} bytes from {} ({})", p.into.size(), name(p.from), to_string(name_of(p.tag)));
    for (const Connection& c : connections_)
      if (!c.out.empty())
        return fmt::format("{} to take {} bytes ({})", name(c.peer), c.out.front().bytes.size(),
                           to_string(name_of(c.out.front().frame.tag)));
    return {};
  }

  // The rank whose patience ended first may wait for one that waits itself: then what this one waits for says more.
  [[noreturn]] void give_up() const {
    const std::string wait = what_is_missing();
    const bool stuck =
        control_.reason().starts_with(TcpControl::no_progress) && !wait.empty() && control_.reason().find(wait) == std::string::npos;
    throw RunError(stuck ? control_.reason() + "\n" + wait : control_.reason());
  }
  [[noreturn]] void fail(const std::string& why) {
    control_.end_run(why);
    throw RunError(control_.reason());
  }

  TcpControl& control_;
  const int channel_;
  std::deque<Connection> connections_;
  std::deque<Posted> posted_;  // connections point into it while more are posted
  std::size_t missing_ = 0;    // receives
  std::list<Early> early_;
  std::vector<pollfd> polled_;
  bool something_moved_ = false;  // bytes, since it was last asked
  Clock::time_point last_progress_;
  std::string told_;  // to the others, of what this channel waits for
};

TcpWorld::TcpWorld(Rank rank, const std::vector<std::string>& addresses, const TcpListener& listener, TcpSettings settings)
    : TcpWorld(rank, tcp_meet(rank, addresses, listener, settings), settings) {}

TcpWorld::TcpWorld(Rank rank, TcpMesh mesh, TcpSettings settings)
    : control_(std::make_unique<TcpControl>(rank, std::move(mesh.control), std::move(settings))) {
  for (auto& channel : mesh.data)
    endpoints_.push_back(std::make_unique<Endpoint>(*control_, static_cast<int>(endpoints_.size()), std::move(channel)));
}

TcpWorld::~TcpWorld() {
  if (!control_->failed() && std::uncaught_exceptions() == 0) control_->say_farewell();
}

Transport& TcpWorld::at(int channel) { return *endpoints_[static_cast<std::size_t>(channel)]; }

bool TcpWorld::test(int channel) { return endpoints_[static_cast<std::size_t>(channel)]->test(); }

bool TcpWorld::has_finished(Rank rank) const { return control_->has_finished(rank); }

void TcpWorld::fail(const std::string& reason) { control_->end_run(reason); }

void TcpWorld::tell_waiting(const std::string& what) { control_->tell_waiting(TcpControl::beside_channels, what); }

std::string TcpWorld::others() const {
  for (Rank r = 0; r < control_->ranks(); ++r) control_->listen(r);
  return control_->others();
}

}  // namespace weft

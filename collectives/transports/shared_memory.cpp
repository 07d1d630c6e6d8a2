#include "collectives/transports/shared_memory.hpp"

#include "collectives/transports/spin.hpp"
#include "kernels/base/error.hpp"
#include "kernels/reduce.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <deque>
#include <list>
#include <optional>
#include <random>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t line = 64;                          // of the cache; frames and payloads begin at one
constexpr std::size_t all_rings = std::size_t{32} << 20;  // shared out among the pairs
constexpr std::size_t largest_ring = std::size_t{8} << 20, smallest_ring = 16 * 1024;
constexpr std::size_t largest_part = 128 * 1024;        // copied between two looks at the other ring ends
constexpr std::chrono::milliseconds longest_sleep{20};  // then look whether somebody is gone
constexpr std::size_t rounded(std::size_t bytes) { return (bytes + line - 1) / line * line; }

// What lies in the shared memory. Counters only grow; their distance is what the ring holds.
struct Bell {
  alignas(line) std::atomic<std::uint32_t> rung;
  std::atomic<std::uint32_t> sleeping;
};
struct RingEnds {
  alignas(line) std::atomic<std::uint64_t> written;
  alignas(line) std::atomic<std::uint64_t> read;
};
struct alignas(line) Frame {
  Tag tag = 0;
  std::uint64_t size = 0;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

std::size_t ring_size(int ranks) {
  const std::size_t pairs = static_cast<std::size_t>(ranks) * static_cast<std::size_t>(std::max(ranks - 1, 1));
  return std::clamp(all_rings / pairs / line * line, smallest_ring, largest_ring);
}

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::chrono::nanoseconds at_most) {
  const timespec time{.tv_sec = 0, .tv_nsec = at_most.count()};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &time, nullptr, 0);
}
void futex_wake(std::atomic<std::uint32_t>& word) { ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

class Segment {
 public:
  Segment(std::byte* data, int ranks) : data_(data), ranks_(ranks), ring_size_(ring_size(ranks)) {}

  Bell& bell(Rank r) const { return *reinterpret_cast<Bell*>(data_ + static_cast<std::size_t>(r) * sizeof(Bell)); }
  RingEnds& ends(Rank from, Rank to) const { return *reinterpret_cast<RingEnds*>(data_ + bells() + index(from, to) * sizeof(RingEnds)); }
  std::byte* bytes(Rank from, Rank to) const { return data_ + bells() + pairs() * sizeof(RingEnds) + index(from, to) * ring_size_; }
  std::size_t ring_bytes() const { return ring_size_; }
  std::size_t total() const { return bells() + pairs() * (sizeof(RingEnds) + ring_size_); }

 private:
  std::size_t pairs() const { return static_cast<std::size_t>(ranks_) * static_cast<std::size_t>(ranks_ - 1); }
  std::size_t bells() const { return static_cast<std::size_t>(ranks_) * sizeof(Bell); }
  std::size_t index(Rank from, Rank to) const { return static_cast<std::size_t>(from * (ranks_ - 1) + (to < from ? to : to - 1)); }
  std::byte* data_;
  int ranks_;
  std::size_t ring_size_;
};

class SharedMemory final : public Transport {
 public:
  SharedMemory(std::byte* data, Rank rank, int ranks, SharedMemorySettings settings)
      : segment_(data, ranks),
        rank_(rank),
        settings_(std::move(settings)),
        spins_(static_cast<unsigned>(ranks) <= std::thread::hardware_concurrency()),
        peers_(static_cast<std::size_t>(ranks)) {}

  void receive(Rank from, Tag tag, ByteSpan into) override { post(from, {tag, into, std::nullopt}); }
  bool receive_reduce(Rank from, Tag tag, DType dtype, ReduceOp op, ByteSpan into) override {
    post(from, {tag, into, Reduction{dtype, op}});
    return true;
  }
  void send(Rank to, Tag tag, ByteView bytes) override { peer(to).out.push_back({{tag, bytes.size()}, bytes}); }

  void wait() override {
    auto last_progress = Clock::now();
    for (;;) {
      const std::uint32_t seen = bell().rung.load(std::memory_order_acquire);
      bool moved = false, busy = false;
      for (Rank r = 0; r < static_cast<Rank>(peers_.size()); ++r) {
        if (r == rank_) continue;
        moved |= write(r);
        moved |= read(r);
        busy |= !peer(r).out.empty() || !peer(r).posted.empty();
      }
      if (!busy) return;
      if (moved) {
        last_progress = Clock::now();
        continue;
      }
      if (sleep(seen)) continue;
      look();
      if (Clock::now() - last_progress >= settings_.patience)
        throw RunError(fmt::format("no progress for {} ms\n{}", settings_.patience.count(), what_is_missing()));
    }
  }

  void reduce(DType dtype, ReduceOp op, ByteSpan into, ByteView from) override {
    weft::reduce(dtype, op, into.data(), from.data(), into.size() / size_of(dtype));
  }

 private:
  struct Posted {
    Tag tag;
    ByteSpan into;
    std::optional<Reduction> reduction;
  };
  struct Outgoing {
    Frame frame;
    ByteView bytes;
    std::size_t written = 0;  // of the payload
    bool announced = false;   // its frame is in the ring
  };
  struct Early {
    Frame frame;
    std::vector<std::byte> bytes;
  };
  struct Peer {
    std::deque<Outgoing> out;
    std::deque<Posted> posted;
    std::list<Early> early;  // came before a message that was waited for
    // The message that is coming out of the ring.
    std::optional<Frame> frame;
    std::optional<Posted> current;  // whose it is; without one it goes to the end of `early`
    std::size_t taken = 0;
  };

  Peer& peer(Rank r) { return peers_[static_cast<std::size_t>(r)]; }
  const Peer& peer(Rank r) const { return peers_[static_cast<std::size_t>(r)]; }
  Bell& bell() const { return segment_.bell(rank_); }
  std::string name(Rank r) const {
    const auto i = static_cast<std::size_t>(r);
    return i < settings_.names.size() ? settings_.names[i] : fmt::format("rank {}", r);
  }

  void post(Rank from, Posted p) {
    Peer& sender = peer(from);
    const auto early = std::find_if(sender.early.begin(), sender.early.end(), [&](const Early& e) { return e.frame.tag == p.tag; });
    // What is only now being taken out of the ring is not whole yet.
    const bool whole = early != sender.early.end() && (sender.current || !sender.frame || &*early != &sender.early.back());
    if (!whole) return sender.posted.push_back(p);
    expect_size(from, early->frame, p);
    put(p, 0, early->bytes);
    sender.early.erase(early);
  }

  void expect_size(Rank from, const Frame& frame, const Posted& p) const {
    if (frame.size != p.into.size())
      throw RunError(fmt::format("{} sent {} bytes to {} which expects {} ({})", name(from), frame.size, name(rank_), p.into.size(),
                                 to_string(name_of(frame.tag))));
  }

  void put(const Posted& p, std::size_t at, ByteView bytes) {
    if (bytes.empty()) return;
    const ByteSpan into = p.into.subspan(at, bytes.size());
    if (p.reduction)
      reduce(p.reduction->dtype, p.reduction->op, into, bytes);
    else
      std::memcpy(into.data(), bytes.data(), bytes.size());
  }

  void ring(Rank to) const {
    Bell& theirs = segment_.bell(to);
    theirs.rung.fetch_add(1);
    if (theirs.sleeping.load() != 0) futex_wake(theirs.rung);
  }

  // One part of the first message to this peer, or its frame. False if there is nothing, or no room.
  bool write(Rank to) {
    Peer& p = peer(to);
    if (p.out.empty()) return false;
    Outgoing& o = p.out.front();
    RingEnds& ends = segment_.ends(rank_, to);
    const std::uint64_t written = ends.written.load(std::memory_order_relaxed);
    const std::size_t room = segment_.ring_bytes() - static_cast<std::size_t>(written - ends.read.load(std::memory_order_acquire));
    if (room == 0) return false;
    std::uint64_t next = written;
    std::byte* const ring_begin = segment_.bytes(rank_, to);
    if (!o.announced) {
      std::memcpy(ring_begin + next % segment_.ring_bytes(), &o.frame, sizeof(Frame));
      next += sizeof(Frame);
      o.announced = true;
    }
    const std::size_t at = static_cast<std::size_t>(next % segment_.ring_bytes());
    const std::size_t part = std::min(
        {o.bytes.size() - o.written, room - static_cast<std::size_t>(next - written), segment_.ring_bytes() - at, largest_part_of_ring()});
    if (part > 0) std::memcpy(ring_begin + at, o.bytes.data() + o.written, part);
    o.written += part;
    next += rounded(part);
    ends.written.store(next, std::memory_order_release);
    const bool whole = o.written == o.bytes.size();
    if (whole) p.out.pop_front();
    // A bell for every part would have two busy ranks wake each other for little: a quarter of the ring is worth it.
    if (const std::size_t filled = segment_.ring_bytes() - room + static_cast<std::size_t>(next - written);
        whole || filled >= segment_.ring_bytes() / 4)
      ring(to);
    return true;
  }

  std::size_t largest_part_of_ring() const { return std::min(largest_part, segment_.ring_bytes() / 4 / line * line); }

  // One part of the message at the head of this peer's ring. False if there is none that somebody waits for.
  bool read(Rank from) {
    Peer& p = peer(from);
    if (p.posted.empty() && !p.current) return false;  // it may stay in the ring until it is asked for
    RingEnds& ends = segment_.ends(from, rank_);
    const std::uint64_t begin = ends.read.load(std::memory_order_relaxed);
    const std::uint64_t end = ends.written.load(std::memory_order_acquire);
    if (begin == end) return false;
    std::uint64_t next = begin;
    const std::byte* const ring_begin = segment_.bytes(from, rank_);
    if (!p.frame) {
      p.frame.emplace();
      std::memcpy(&*p.frame, ring_begin + next % segment_.ring_bytes(), sizeof(Frame));
      next += sizeof(Frame);
      begin_message(from, p);
    }
    const std::size_t at = static_cast<std::size_t>(next % segment_.ring_bytes());
    const std::size_t part = std::min({static_cast<std::size_t>(p.frame->size) - p.taken, static_cast<std::size_t>(end - next),
                                       segment_.ring_bytes() - at, largest_part_of_ring()});
    const ByteView bytes(ring_begin + at, part);
    if (p.current)
      put(*p.current, p.taken, bytes);
    else if (part > 0)
      std::memcpy(p.early.back().bytes.data() + p.taken, bytes.data(), part);
    p.taken += part;
    next += rounded(part);
    ends.read.store(next, std::memory_order_release);
    if (end - next <= segment_.ring_bytes() / 2) ring(from);  // who waits for room gets a good deal of it
    if (p.taken == p.frame->size) end_message(p);
    return true;
  }

  void begin_message(Rank from, Peer& p) {
    p.taken = 0;
    const auto match = std::find_if(p.posted.begin(), p.posted.end(), [&](const Posted& x) { return x.tag == p.frame->tag; });
    if (match == p.posted.end()) {
      p.early.push_back({*p.frame, std::vector<std::byte>(p.frame->size)});
      return;
    }
    expect_size(from, *p.frame, *match);
    p.current = *match;
    p.posted.erase(match);
    p.posted.push_front(*p.current);  // counts as missing until it is whole
  }

  void end_message(Peer& p) {
    if (p.current) {
      p.posted.pop_front();
    } else if (const auto match = std::find_if(p.posted.begin(), p.posted.end(), [&](const Posted& x) { return x.tag == p.frame->tag; });
               match != p.posted.end()) {
      // Its receive was posted while it came.
      put(*match, 0, p.early.back().bytes);
      p.posted.erase(match);
      p.early.pop_back();
    }
    p.current.reset();
    p.frame.reset();
  }

  bool can_move() const {
    for (Rank r = 0; r < static_cast<Rank>(peers_.size()); ++r) {
      if (r == rank_) continue;
      const RingEnds &in = segment_.ends(r, rank_), &out = segment_.ends(rank_, r);
      if (!peer(r).posted.empty() && in.written.load(std::memory_order_acquire) != in.read.load(std::memory_order_relaxed)) return true;
      if (!peer(r).out.empty() &&
          out.written.load(std::memory_order_relaxed) - out.read.load(std::memory_order_acquire) < segment_.ring_bytes())
        return true;
    }
    return false;
  }

  // True if something may have changed.
  bool sleep(std::uint32_t seen) {
    if (spins_ && spin_until([&] { return can_move(); })) return true;
    bell().sleeping.store(1);
    if (bell().rung.load() == seen) futex_wait(bell().rung, seen, longest_sleep);
    bell().sleeping.store(0);
    return bell().rung.load(std::memory_order_acquire) != seen;
  }

  // What another rank waits for may not be the cause; what this one waits for says more.
  void look() {
    if (!settings_.look) return;
    try {
      settings_.look(awaited());
    } catch (const RunError& e) {
      const std::string reason = e.what(), wait = what_is_missing();
      if (reason.find(wait) != std::string::npos) throw;
      throw RunError(reason + "\n" + wait);
    }
  }

  std::vector<Rank> awaited() const {
    std::vector<Rank> ranks;
    for (Rank r = 0; r < static_cast<Rank>(peers_.size()); ++r)
      if (!peer(r).out.empty() || !peer(r).posted.empty()) ranks.push_back(r);
    return ranks;
  }

  std::string what_is_missing() const {
    for (Rank r = 0; r < static_cast<Rank>(peers_.size()); ++r)
      if (!peer(r).posted.empty())
        return fmt::format("{} waits for {} bytes from {} ({})", name(rank_), peer(r).posted.front().into.size(), name(r),
                           to_string(name_of(peer(r).posted.front().tag)));
    for (Rank r = 0; r < static_cast<Rank>(peers_.size()); ++r)
      if (!peer(r).out.empty())
        return fmt::format("{} waits for {} to take {} bytes ({})", name(rank_), name(r), peer(r).out.front().bytes.size(),
                           to_string(name_of(peer(r).out.front().frame.tag)));
    return {};
  }

  Segment segment_;
  const Rank rank_;
  SharedMemorySettings settings_;
  const bool spins_;  // only where every rank has a core: else spinning keeps the awaited one from running
  std::vector<Peer> peers_;
};

[[noreturn]] void cannot(const char* what, const std::string& name, int error) {
  throw RunError(fmt::format("cannot {} the shared memory {}: {}", what, name, std::strerror(error)));
}

std::byte* map(int descriptor, const std::string& name, std::size_t bytes) {
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  const int error = errno;
  ::close(descriptor);
  if (at == MAP_FAILED) cannot("map", name, error);
  return static_cast<std::byte*>(at);
}

}  // namespace

SharedSegment SharedSegment::create(std::size_t bytes) {
  std::random_device random;
  const std::string name = fmt::format("/weft-{}-{:08x}", ::getpid(), random());
  const int descriptor = ::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) cannot("make", name, errno);
  // Reserved at once: a page that is not there later is a signal, not an error.
  if (const int error = ::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes)); error != 0) {
    ::close(descriptor);
    ::shm_unlink(name.c_str());
    cannot("make", name, error);
  }
  return {name, map(descriptor, name, bytes), bytes, true};
}

SharedSegment SharedSegment::open(const std::string& name, std::size_t bytes) {
  const int descriptor = ::shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0);
  if (descriptor < 0) cannot("open", name, errno);
  struct stat found {};
  if (::fstat(descriptor, &found) != 0 || static_cast<std::size_t>(found.st_size) != bytes) {
    ::close(descriptor);
    throw RunError(fmt::format("the shared memory {} has {} bytes, should have {}", name, found.st_size, bytes));
  }
  return {name, map(descriptor, name, bytes), bytes, false};
}

SharedSegment::SharedSegment(SharedSegment&& other) noexcept
    : name_(std::move(other.name_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_),
      named_(std::exchange(other.named_, false)) {}

SharedSegment::~SharedSegment() {
  remove_name();
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

void SharedSegment::remove_name() {
  if (std::exchange(named_, false)) ::shm_unlink(name_.c_str());
}

std::size_t shared_memory_bytes(int ranks) { return Segment(nullptr, ranks).total(); }

std::unique_ptr<Transport> shared_memory_transport(const SharedSegment& segment, Rank rank, int ranks, SharedMemorySettings settings) {
  return std::make_unique<SharedMemory>(segment.data(), rank, ranks, std::move(settings));
}

}  // namespace weft

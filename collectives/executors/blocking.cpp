#include "collectives/executors/blocking.hpp"

#include "collectives/schedule/overlaps.hpp"
#include "kernels/reduce.hpp"

#include <algorithm>

namespace weft {
namespace {

constexpr std::size_t scratch_alignment = 64;

// Memory for what a step must hold aside: of the medium's kind where that has its own. Grows to the largest step and is then reused.
class Scratch {
 public:
  void reset(std::size_t bytes, Transport& transport) {
    used_ = 0;
    memory_ = transport.aside(bytes);
    if (memory_ != nullptr) return;
    if (bytes > own_.size()) own_.resize(bytes);
    memory_ = own_.data();
  }
  static std::size_t rounded(std::size_t bytes) { return (bytes + scratch_alignment - 1) / scratch_alignment * scratch_alignment; }
  ByteSpan take(std::size_t bytes) {
    const ByteSpan piece(memory_ + used_, bytes);
    used_ += rounded(bytes);
    return piece;
  }

 private:
  std::vector<std::byte> own_;
  std::byte* memory_ = nullptr;
  std::size_t used_ = 0;
};

// A write of the step that waits for its turn.
struct Pending {
  std::uint32_t transfer;
  ByteView from;
};

class RankRun {
 public:
  RankRun(int channel, ReduceOp op, const Buffer& buffer, Transport& transport)
      : channel_(channel), op_(op == ReduceOp::avg ? ReduceOp::sum : op), buffer_(buffer), transport_(transport) {}

  void run(const RankStep& s) {
    pending_.clear();
    if (buffer_.data != nullptr) prepare(s);
    for (const auto i : s.receives) start_receive(s, i);
    for (const auto i : s.sends) start_send(s, i);
    for (const auto i : s.locals) start_local(s, i);
    transport_.wait();
    // Receives and locals were listed apart; the order of the step is what makes sums reproducible.
    if (!s.locals.empty())
      std::sort(pending_.begin(), pending_.end(), [](const Pending& a, const Pending& b) { return a.transfer < b.transfer; });
    for (const Pending& p : pending_) apply(s.transfers[p.transfer], p.from);
  }

 private:
  ByteView source(const Transfer& t) const { return buffer_.chunks(t.chunk, t.count); }
  ByteSpan destination(const Transfer& t) const { return buffer_.chunks(t.into, t.count); }
  Tag tag(const RankStep& s, std::uint32_t i) const { return tag_of({.channel = channel_, .step = s.step, .position = i}); }

  void prepare(const RankStep& s) {
    overlaps_.find(s.transfers, s.sends, s.receives, s.locals);
    std::size_t bytes = 0;
    for (const auto i : s.receives) bytes += Scratch::rounded(destination(s.transfers[i]).size());
    for (const auto i : s.locals) bytes += Scratch::rounded(source(s.transfers[i]).size());
    scratch_.reset(bytes, transport_);
  }

  void start_receive(const RankStep& s, std::uint32_t i) {
    const Transfer& t = s.transfers[i];
    const ByteSpan into = destination(t);
    const bool sizes_only = into.data() == nullptr;
    if (sizes_only || overlaps_.writes_alone(i)) {
      if (t.reduces && transport_.receive_reduce(t.from, tag(s, i), buffer_.dtype, op_, into)) return;
      if (!t.reduces) return transport_.receive(t.from, tag(s, i), into);
    }
    const ByteSpan aside = sizes_only ? into : scratch_.take(into.size());
    transport_.receive(t.from, tag(s, i), aside);
    pending_.push_back({i, aside});
  }

  void start_send(const RankStep& s, std::uint32_t i) {
    const Transfer& t = s.transfers[i];
    transport_.send(t.to, tag(s, i), source(t));
  }

  void start_local(const RankStep& s, std::uint32_t i) {
    ByteView from = source(s.transfers[i]);
    if (!from.empty() && from.data() != nullptr && !overlaps_.reads_alone(i)) {
      const ByteSpan aside = scratch_.take(from.size());
      transport_.copy(aside, from);
      from = aside;
    }
    pending_.push_back({i, from});
  }

  void apply(const Transfer& t, ByteView from) {
    const ByteSpan into = destination(t);
    if (t.reduces) return transport_.reduce(buffer_.dtype, op_, into, from);
    transport_.copy(into, from);
  }

  int channel_;
  ReduceOp op_;
  const Buffer& buffer_;
  Transport& transport_;
  Overlaps overlaps_;
  Scratch scratch_;
  std::vector<Pending> pending_;
};

}  // namespace

std::size_t buffer_bytes(const Schedule& s, std::int64_t elements, DType dtype) {
  const ChunkLayout layout = layout_of(s, elements);
  return static_cast<std::size_t>(layout.begin(s.all_chunks())) * size_of(dtype);
}

int block_begin(const Schedule& s, Rank r) { return static_cast<int>(static_cast<std::int64_t>(r) * s.chunks / s.ranks); }

bool FilteredSteps::next(RankStep& out) {
  if (next_ >= steps_.count()) return false;
  steps_.produce(next_, step_);
  sends_.clear();
  receives_.clear();
  locals_.clear();
  const auto transfers = step_.transfers();
  for (std::uint32_t i = 0; i < transfers.size(); ++i) {
    const Transfer& t = transfers[i];
    if (t.from == rank_ && t.to == rank_)
      locals_.push_back(i);
    else if (t.from == rank_)
      sends_.push_back(i);
    else if (t.to == rank_)
      receives_.push_back(i);
  }
  out = {.step = next_++, .transfers = transfers, .sends = sends_, .receives = receives_, .locals = locals_};
  return true;
}

bool WindowedSteps::next(RankStep& out) {
  if (next_ > 0 && next_ <= window_.count()) window_.leave(next_ - 1);
  if (next_ >= window_.count()) {
    next_ = window_.count() + 1;  // the last step is left once, however often the end is asked for
    return false;
  }
  IndexedStep& indexed = window_.at(next_);
  const StepShape& shape = *indexed.shape;
  out = {.step = next_++,
         .transfers = indexed.transfers(),
         .sends = shape.sends_of(rank_),
         .receives = shape.receives_of(rank_),
         .locals = shape.locals_of(rank_)};
  return true;
}

void run_blocking(RankSteps& steps, int channel, ReduceOp op, const Buffer& buffer, Transport& transport) {
  RankRun run(channel, op, buffer, transport);
  RankStep step;
  while (steps.next(step)) run.run(step);
}

std::pair<int, int> averaged_chunks(const Schedule& s, Rank rank) {
  if (s.collective == Collective::allreduce) return {0, rank < s.workers() ? s.chunks : 0};
  if (s.collective == Collective::reduce && rank == s.root) return {0, s.chunks};
  if (s.collective == Collective::reduce_scatter) return {block_begin(s, rank), block_begin(s, rank + 1)};
  return {0, 0};
}

void finish_average(const Schedule& s, Rank rank, const Buffer& buffer) {
  const auto [first, end] = averaged_chunks(s, rank);
  const ByteSpan part = buffer.chunks(first, end - first);
  if (part.data() != nullptr && !part.empty()) scale_average(buffer.dtype, part.data(), part.size() / size_of(buffer.dtype), s.workers());
}

}  // namespace weft

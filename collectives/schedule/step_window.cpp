#include "collectives/schedule/step_window.hpp"

namespace weft {
namespace {

// Counting sort of the transfers that `keep` selects by the rank that `key` gives.
template <class Keep, class Key>
void index_by(std::span<const Transfer> transfers, std::vector<StepShape::Begins>& begins, std::uint32_t StepShape::Begins::*list,
              std::vector<std::uint32_t>& out, Keep keep, Key key) {
  std::uint32_t kept = 0;
  for (const Transfer& t : transfers)
    if (keep(t)) ++(begins[static_cast<std::size_t>(key(t)) + 1].*list), ++kept;
  for (std::size_t r = 1; r < begins.size(); ++r) begins[r].*list += begins[r - 1].*list;
  out.resize(kept);
  std::vector<std::uint32_t> next(begins.size());
  for (std::size_t r = 0; r < begins.size(); ++r) next[r] = begins[r].*list;
  for (std::uint32_t i = 0; i < transfers.size(); ++i)
    if (keep(transfers[i])) out[next[static_cast<std::size_t>(key(transfers[i]))]++] = i;
}

std::shared_ptr<StepShape> shape_of(std::span<const Transfer> transfers, int ranks, const std::vector<std::uint64_t>& ends) {
  auto shape = std::make_shared<StepShape>();
  shape->begins.resize(static_cast<std::size_t>(ranks) + 1);
  const auto wire = [](const Transfer& t) { return t.from != t.to; };
  const auto local = [](const Transfer& t) { return t.from == t.to; };
  const auto from = [](const Transfer& t) { return t.from; };
  const auto to = [](const Transfer& t) { return t.to; };
  index_by(transfers, shape->begins, &StepShape::Begins::sends, shape->sends, wire, from);
  index_by(transfers, shape->begins, &StepShape::Begins::receives, shape->receives, wire, to);
  index_by(transfers, shape->begins, &StepShape::Begins::locals, shape->locals, local, from);
  shape->ends = ends;
  return shape;
}

}  // namespace

void StepWindow::produce_next() {
  std::unique_ptr<IndexedStep> next;
  if (spare_.empty()) {
    next = std::make_unique<IndexedStep>();
  } else {
    next = std::move(spare_.back());
    spare_.pop_back();
  }
  Step& step = digest_ ? scratch_ : next->step;
  steps_.produce(first_ + static_cast<int>(window_.size()), step);
  ends_.clear();
  for (const Transfer& t : step.transfers())
    ends_.push_back(static_cast<std::uint64_t>(static_cast<std::uint32_t>(t.from)) << 32 | static_cast<std::uint32_t>(t.to));
  if (!last_shape_ || last_shape_->ends != ends_) last_shape_ = shape_of(step.transfers(), ranks_, ends_);
  next->shape = last_shape_;
  next->ranks_inside = ranks_;
  next->loads.clear();
  next->posted.clear();
  if (digest_) digest_(*next, step.transfers());
  window_.push_back(std::move(next));
}

void StepWindow::drop_front() {
  spare_.push_back(std::move(window_.front()));
  window_.pop_front();
  ++first_;
}

}  // namespace weft

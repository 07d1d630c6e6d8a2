#include "collectives/torch/communicator.hpp"

#include "kernels/base/error.hpp"
#include "kernels/base/text_hash.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace weft {
namespace {

constexpr int labels = 1 << 12;  // what a tag has room for

}  // namespace

Communicator::Communicator(KeyStore& store, GroupSettings settings, std::string_view algorithm)
    : settings_(std::move(settings)), choice_(settings_.ranks(), algorithm), connections_(store, settings_) {}

// Ranks that do not run the same operation do not take each other's messages for their own: they wait, and the one whose
// patience ends says what it runs.
int Communicator::next_label(std::string_view what) { return static_cast<int>(mixed(hash_of(what) ^ operations_++) % labels); }

void Communicator::run(const CollectiveCall& o, std::byte* data) {
  const auto bytes = o.elements * static_cast<std::int64_t>(size_of(o.dtype));
  const std::string what =
      fmt::format("{} of {} {} ({}, root {})", name_of(o.collective), o.elements, name_of(o.dtype), name_of(o.op), o.root);
  const int label = next_label(what);
  if (ranks() == 1 && o.collective != Collective::alltoall) return;
  const Schedule& schedule = choice_.schedule(o.collective, o.root, bytes);
  const auto room = static_cast<std::size_t>(o.collective == Collective::alltoall ? 2 * bytes : bytes);
  const std::size_t needed = buffer_bytes(schedule, o.elements, o.dtype);
  const bool aside = needed > room;
  if (aside) {
    scratch_.resize(std::max(scratch_.size(), needed));
    std::copy_n(data, bytes, scratch_.data());
  }
  const Buffer buffer{.layout = layout_of(schedule, o.elements), .dtype = o.dtype, .data = aside ? scratch_.data() : data};
  try {
    FilteredSteps steps(schedule.channels.front(), rank());
    run_blocking(steps, label, o.op, buffer, transport());
  } catch (const RunError& e) {
    throw RunError(fmt::format("{}, operation {} of the group: {}", what, operations_, e.what()));
  }
  if (o.op == ReduceOp::avg) finish_average(schedule, rank(), buffer);
  if (aside) std::copy_n(scratch_.data(), room, data);
}

void Communicator::exchange(std::string_view what, const std::vector<PeerBytes>& sends, const std::vector<PeerBytes>& receives) {
  const Tag tag = tag_of({.channel = next_label(what)});
  try {
    for (const PeerBytes& p : receives) transport().receive(p.peer, tag, p.bytes);
    for (const PeerBytes& p : sends) transport().send(p.peer, tag, p.bytes);
    transport().wait();
  } catch (const RunError& e) {
    throw RunError(fmt::format("{}, operation {} of the group: {}", what, operations_, e.what()));
  }
}

}  // namespace weft

// NCCL's sums in the switches between servers (CollNet).
#include "collectives/libraries/nccl.hpp"
#include "collectives/libraries/nccl_channel.hpp"
#include "collectives/schedule/compose.hpp"

#include <algorithm>
#include <utility>

namespace weft {

std::vector<Rank> nccl_heads(const NcclShape& shape, int nic) {
  std::vector<Rank> out;
  for (int server = 0; server < shape.servers(); ++server) out.push_back(shape.rank(server, head_of(shape, nic)));
  return out;
}

namespace {

// What switches hear first begins their sum.
void add_heads(const NcclShape& shape, int nic, bool up, Step& step) {
  const Rank switches = shape.ranks + nic;
  bool first = true;
  for (const Rank head : nccl_heads(shape, nic)) {
    if (!up)
      step.copy({.from = switches, .to = head, .chunk = 0});
    else if (std::exchange(first, false))
      step.copy({.from = head, .to = switches, .chunk = 0});
    else
      step.reduce({.from = head, .to = switches, .chunk = 0});
  }
}

// Of each channel, or each head, a part of the message goes up to the switches of its NIC, and down again.
int parts_of(const NcclShape& shape, BelowHead below) { return below == BelowHead::chain ? shape.channels : shape.nics; }
int height_of(const NcclShape& shape, BelowHead below) { return below == BelowHead::chain ? shape.gpus : std::min(shape.gpus, 2); }

Schedule through_switches(const NcclShape& shape, BelowHead below) {
  std::vector<Schedule> parts;
  const int height = height_of(shape, below), count = parts_of(shape, below);
  for (int part = 0; part < count; ++part) {
    const std::vector<int> chain = chain_of(shape, part);
    const auto half = [&](bool up) {
      Schedule out{.ranks = shape.ranks + shape.nics, .servers = shape.nics};
      out.channels = {Steps(height, [=](int k, Step& step) {
        const int left = up ? height - 1 - k : k;  // steps to the switches
        if (left == 0) return add_heads(shape, part % shape.nics, up, step);
        const int last = below == BelowHead::chain ? left : shape.gpus - 1;
        for (int server = 0; server < shape.servers(); ++server)
          for (int i = left; i <= last; ++i) {
            const auto own = static_cast<std::size_t>(i);
            const Rank gpu = shape.rank(server, chain[own]), above = shape.rank(server, chain[below == BelowHead::chain ? own - 1 : 0]);
            if (up)
              step.reduce({.from = gpu, .to = above, .chunk = 0});
            else
              step.copy({.from = above, .to = gpu, .chunk = 0});
          }
      })};
      return pipelined(out, shape.pieces);
    };
    parts.push_back(within(then(half(true), half(false)), part * shape.pieces, count * shape.pieces));
  }
  return beside(parts);
}

Cost cost_through_switches(const NcclShape& shape, BelowHead below) {
  const int parts = parts_of(shape, below);
  std::vector<std::int64_t> sent(static_cast<std::size_t>(shape.gpus), parts);  // up
  for (int part = 0; part < parts; ++part) {
    const std::vector<int> chain = chain_of(shape, part);
    for (std::size_t i = 1; i < chain.size(); ++i) ++sent[static_cast<std::size_t>(chain[below == BelowHead::chain ? i - 1 : 0])];
  }
  const std::int64_t of_switches = std::int64_t{(parts + shape.nics - 1) / shape.nics} * shape.servers();
  return {.steps = 2 * (height_of(shape, below) + shape.pieces - 1),
          .messages = std::int64_t{2} * shape.ranks * parts * shape.pieces,
          .max_chunks_sent = std::max(*std::ranges::max_element(sent), of_switches) * shape.pieces,
          .chunks = parts * shape.pieces};
}

}  // namespace

Schedule nccl_collnet_chain_allreduce(const NcclShape& shape) {
  Schedule s = through_switches(shape, BelowHead::chain);
  s.name = "nccl_collnet_chain_allreduce";
  return s;
}
Cost nccl_collnet_chain_allreduce_cost(const NcclShape& shape) { return cost_through_switches(shape, BelowHead::chain); }

Schedule nccl_collnet_direct_allreduce(const NcclShape& shape) {
  Schedule s = through_switches(shape, BelowHead::star);
  s.name = "nccl_collnet_direct_allreduce";
  return s;
}
Cost nccl_collnet_direct_allreduce_cost(const NcclShape& shape) { return cost_through_switches(shape, BelowHead::star); }

}  // namespace weft

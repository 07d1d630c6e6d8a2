#include "collectives/compression/exchange_run.hpp"

#include "collectives/executors/blocking.hpp"
#include "kernels/compression/sparse.hpp"

#include <cstring>

namespace weft {
namespace {

// Lists of entries on their way through a reduce: what would be added is merged.
class MergingTransport final : public Transport {
 public:
  MergingTransport(Transport& inner, const ExchangeRun::Merge& merge) : inner_(inner), merge_(merge) {}

  void receive(Rank from, Tag tag, ByteSpan into) override { inner_.receive(from, tag, into); }
  void send(Rank to, Tag tag, ByteView bytes) override { inner_.send(to, tag, bytes); }
  void wait() override { inner_.wait(); }
  void reduce(DType, ReduceOp, ByteSpan into, ByteView from) override {
    merge_({reinterpret_cast<Entry*>(into.data()), into.size() / sizeof(Entry)},
           {reinterpret_cast<const Entry*>(from.data()), from.size() / sizeof(Entry)});
  }
  void copy(ByteSpan into, ByteView from) override { inner_.copy(into, from); }
  std::byte* aside(std::size_t bytes) override { return inner_.aside(bytes); }

 private:
  Transport& inner_;
  const ExchangeRun::Merge& merge_;
};

}  // namespace

ExchangeRun::ExchangeRun(const Exchange& exchange, Rank rank) : exchange_(exchange), schedule_(build(exchange.request)), rank_(rank) {
  if (schedule_.channels.size() != 1)
    throw InputError(fmt::format("/channels: must be 1 where gradients are compressed for real, got {}", schedule_.channels.size()));
  if (schedule_.servers != 0) throw InputError("/server_hosts: must be \"workers\" where gradients are compressed for real, got \"extra\"");
}

void ExchangeRun::run(std::byte* data, std::vector<Entry>& dropped, Transport& transport) {
  const auto merge = [&](std::span<Entry> into, std::span<const Entry> from) { merge_top_k(into, from, dropped); };
  if (schedule_.extra_chunks == 0) return run_within(data, merge, transport);
  const auto bytes = static_cast<std::size_t>(exchange_.bytes());
  scratch_.resize(memory_bytes());
  std::memcpy(scratch_.data(), data, bytes);
  run_within(scratch_.data(), merge, transport);
  std::memcpy(data, scratch_.data(), bytes);
}

std::size_t ExchangeRun::memory_bytes() const { return buffer_bytes(schedule_, exchange_.elements, exchange_.dtype); }

void ExchangeRun::run_within(std::byte* memory, const Merge& merge, Transport& transport) const {
  const Buffer buffer{{.elements = exchange_.elements, .chunks = schedule_.chunks}, exchange_.dtype, memory};
  FilteredSteps steps(schedule_.channels.front(), rank_);
  MergingTransport merging(transport, merge);
  run_blocking(steps, 0, ReduceOp::sum, buffer, exchange_.merges ? merging : transport);
}

}  // namespace weft

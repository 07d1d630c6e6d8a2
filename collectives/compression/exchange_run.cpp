#include "collectives/compression/exchange_run.hpp"

#include "collectives/executors/blocking.hpp"
#include "kernels/compression/sparse.hpp"

#include <cstring>

namespace weft {
namespace {

// Lists of entries on their way through a reduce: what would be added is merged.
class MergingTransport final : public Transport {
 public:
  MergingTransport(Transport& inner, std::vector<Entry>& dropped) : inner_(inner), dropped_(dropped) {}

  void receive(Rank from, Tag tag, ByteSpan into) override { inner_.receive(from, tag, into); }
  void send(Rank to, Tag tag, ByteView bytes) override { inner_.send(to, tag, bytes); }
  void wait() override { inner_.wait(); }
  void reduce(DType, ReduceOp, ByteSpan into, ByteView from) override {
    merge_top_k({reinterpret_cast<Entry*>(into.data()), into.size() / sizeof(Entry)},
                {reinterpret_cast<const Entry*>(from.data()), from.size() / sizeof(Entry)}, dropped_);
  }

 private:
  Transport& inner_;
  std::vector<Entry>& dropped_;
};

}  // namespace

ExchangeRun::ExchangeRun(const Exchange& exchange, Rank rank) : exchange_(exchange), schedule_(build(exchange.request)), rank_(rank) {
  if (schedule_.channels.size() != 1)
    throw InputError(fmt::format("/channels: must be 1 where gradients are compressed for real, got {}", schedule_.channels.size()));
  if (schedule_.servers != 0) throw InputError("/server_hosts: must be \"workers\" where gradients are compressed for real, got \"extra\"");
}

void ExchangeRun::run(std::byte* data, std::vector<Entry>& dropped, Transport& transport) {
  const auto bytes = static_cast<std::size_t>(exchange_.bytes());
  const bool aside = schedule_.extra_chunks > 0;
  if (aside) {
    scratch_.resize(buffer_bytes(schedule_, exchange_.elements, exchange_.dtype));
    std::memcpy(scratch_.data(), data, bytes);
  }
  const Buffer buffer{{.elements = exchange_.elements, .chunks = schedule_.chunks}, exchange_.dtype, aside ? scratch_.data() : data};
  FilteredSteps steps(schedule_.channels.front(), rank_);
  MergingTransport merging(transport, dropped);
  run_blocking(steps, 0, ReduceOp::sum, buffer, exchange_.merges ? merging : transport);
  if (aside) std::memcpy(data, scratch_.data(), bytes);
}

}  // namespace weft

#include "collectives/libraries/nccl.hpp"

#include "collectives/algorithms/direct.hpp"

#include <algorithm>

namespace weft {

std::string_view name_of(NcclAlgorithm algorithm) {
  switch (algorithm) {
    case NcclAlgorithm::automatic:
      return "auto";
    case NcclAlgorithm::ring:
      return "ring";
    case NcclAlgorithm::tree:
      return "tree";
    case NcclAlgorithm::nvls:
      return "nvls";
    case NcclAlgorithm::nvls_tree:
      return "nvls_tree";
    case NcclAlgorithm::collnet_direct:
      return "collnet_direct";
    case NcclAlgorithm::collnet_chain:
      return "collnet_chain";
  }
  return "";
}

std::string_view name_of(NcclProtocol protocol) {
  switch (protocol) {
    case NcclProtocol::automatic:
      return "auto";
    case NcclProtocol::ll:
      return "ll";
    case NcclProtocol::ll128:
      return "ll128";
    case NcclProtocol::simple:
      return "simple";
  }
  return "";
}

Bytes nccl_chunk(NcclProtocol protocol, Bytes part, int hops) {
  // NCCL 2.x: 8 steps a buffer; of 512 KiB (LL, half of it flags), 4.9 MB (LL128, 120 of 128 bytes data), 4 MiB (Simple).
  if (protocol == NcclProtocol::ll) return 32_KiB;
  Bytes chunk = 512_KiB;
  const auto smaller = [&](std::int64_t chunks, Bytes least) {
    while (chunk > least && part.count / chunk.count < chunks * hops) chunk.count /= 2;
  };
  if (protocol == NcclProtocol::ll128) {
    smaller(16, 32_KiB);
  } else {
    smaller(8, 128_KiB);
    smaller(4, 64_KiB);
    smaller(1, 32_KiB);
  }
  return chunk;
}

Schedule nccl_nvls_allreduce(const NcclShape& shape) {
  Schedule s = direct_allreduce(shape.ranks);
  s.name = "nccl_nvls_allreduce";
  return s;
}
Cost nccl_nvls_allreduce_cost(const NcclShape& shape) { return direct_allreduce_cost(shape.ranks); }
double nvls_gain(int gpus) {
  constexpr double max_gpus = 8;
  return 2.0 * (gpus - 1) / gpus / (1 + 1 / std::min<double>(gpus, max_gpus));
}

}  // namespace weft

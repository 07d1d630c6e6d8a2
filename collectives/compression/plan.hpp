// What a compressed all-reduce does, in order, for so many elements and ranks: local kernels and exchanges of declared sizes.
// The Compressor runs exactly this with real data, and a simulator the same with sizes only.
#pragma once

#include "collectives/compression/settings.hpp"
#include "collectives/registry/registry.hpp"
#include "kernels/compression/count_sketch.hpp"
#include "kernels/dtype.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

namespace weft {

// What a rank computes by itself. Each costs in proportion to its `work`, at a rate of its own.
enum class Kernel {
  check_finite,     // a NaN or an infinity ends the run
  accumulate,       // momentum and gradient added to the error memory
  sketch_insert,    // work: elements x rows
  sketch_merge,     // a sketch added to the sketch that is the error memory; work: counters
  sketch_estimate,  // every element read back; work: elements x rows
  top_k,            // work: elements looked through
  sketch_remove,    // what is sent is taken out of the sketch that is the error memory; work: k x rows
  gather,           // values at k indices; work: k
  apply,            // the gradient becomes the result, the memory forgets what was sent; work: elements
  merge_lists,      // of a Merge exchange: two lists become one; work: entries of both
};
constexpr std::size_t kernel_count = static_cast<std::size_t>(Kernel::merge_lists) + 1;
std::string_view name_of(Kernel);
std::optional<Kernel> kernel_named(std::string_view name);

struct LocalWork {
  Kernel kernel;
  std::int64_t work = 0;   // see Kernel
  std::int64_t bytes = 0;  // of memory that are read and written, at least
  bool root_only = false;  // all others wait, at the next exchange
};

// What travels in an exchange.
enum class Operand { gradient, table, indices, values, entries };
constexpr std::size_t operand_count = static_cast<std::size_t>(Operand::entries) + 1;
std::string_view name_of(Operand);

// A collective of the registry over `elements` elements of `dtype`. A merge is a reduce over lists of (index, value) entries of
// 8 bytes, which are `dtype` int64 to those who only carry them: what arrives is merged (work entries a time), not added.
struct Exchange {
  Request request;
  Operand operand;
  std::int64_t elements = 0;
  DType dtype = DType::float32;
  bool merges = false;

  std::int64_t bytes() const { return elements * static_cast<std::int64_t>(size_of(dtype)); }
  LocalWork merge() const;  // what each message received costs, where the exchange merges
};

using Phase = std::variant<LocalWork, Exchange>;

struct CompressionPlan {
  std::int64_t elements = 0;
  int ranks = 1;
  std::int64_t k = 0;       // elements updated; all of them where nothing is compressed
  SketchShape sketch = {};  // columns 0 where there is none
  std::vector<Phase> phases;

  std::vector<std::int64_t> bytes_sent() const;  // by each rank, in all exchanges
  std::int64_t max_bytes_sent() const;
  std::int64_t total_bytes_sent() const;
};

// `allreduce` says how values are summed where all ranks do it: the gradient of dense, the k exact values of gs_sgd. Its ranks are
// the ranks. The root, and the server of sketched_sgd, is rank 0. Throws InputError with all problems of both.
CompressionPlan plan(const CompressionSettings&, std::int64_t elements, const Request& allreduce);
// With halving_doubling, of few steps for small messages.
CompressionPlan plan(const CompressionSettings&, std::int64_t elements, int ranks);

}  // namespace weft

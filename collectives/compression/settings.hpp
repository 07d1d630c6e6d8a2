// What a compressed all-reduce is asked to do. Names are those of the publications: gs_sgd (arXiv 2021), gtopk (Shi et al. 2019),
// sketched_sgd (Ivkin et al. 2019), topk_allgather (Lin et al. 2018), and dense, which compresses nothing.
#pragma once

#include "kernels/base/error.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// A number of elements: a share of all of them, or a count. A share is rounded to the nearest count, but to 1 at least.
struct Amount {
  double share = 0;  // used where it is not 0
  std::int64_t count = 0;

  static Amount of_all(double share) { return {.share = share}; }
  static Amount exactly(std::int64_t count) { return {.count = count}; }
  std::int64_t of(std::int64_t elements) const;
  friend bool operator==(const Amount&, const Amount&) = default;
};

// "1%", "0.4%" or "1000". Throws InputError saying what to write.
Amount parse_amount(std::string_view text);
std::string to_string(const Amount&);

// Where what was not sent is kept until it is.
enum class ErrorMemory {
  dense,   // a vector on every rank, beside the sketch: exact
  sketch,  // a sketch at the root, to which the sketches of all ranks are added; ranks keep nothing, exact values are not asked for
};
std::string_view name_of(ErrorMemory);

struct CompressionSettings {
  std::string name = "gs_sgd";
  int rows = 5;                          // of the sketch
  Amount columns = Amount::of_all(0.1);  // of the sketch, each row
  Amount k = Amount::of_all(0.01);       // elements that an all-reduce updates
  std::uint64_t seed = 1;                // of the sketch's hashes: the same on all ranks
  double momentum = 0;                   // of each rank's gradients, before they are compressed; 0 is none
  ErrorMemory memory = ErrorMemory::dense;
  friend bool operator==(const CompressionSettings&, const CompressionSettings&) = default;
};

// Every name, dense last.
std::span<const std::string_view> compression_names();
bool sends_sketches(std::string_view name);  // has rows, columns, seed and a choice of memory
bool is_sparse(std::string_view name);       // has k

// "gs_sgd(rows=5, columns=10%, k=1%)"
std::string label(const CompressionSettings&);

// What is wrong with the settings for gradients of so many elements, all at once. Places are /name, /rows, /columns, /k,
// /momentum, /memory and /elements.
std::vector<Problem> problems(const CompressionSettings&, std::int64_t elements);

// Throws InputError with all of them.
void require_sound(const CompressionSettings&, std::int64_t elements);

}  // namespace weft

// What calls cost over what a profile's other values say, by size: what is left of measurements when the profile is fitted to them.
#pragma once

#include "kernels/base/units.hpp"

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// All times of a call are multiplied by the factor.
struct CostAtSize {
  std::string collective, algorithm;  // of NCCL by the pattern and the protocol that it takes: "nccl_ring_ll128", "nccl_nvls_tree_simple"
  int ranks = 2;
  Bytes size;
  double factor = 1;
  int servers = 0;  // on which these ranks are; 0: on any
  friend bool operator==(const CostAtSize&, const CostAtSize&) = default;
};

struct SizedCall {
  std::string_view collective, algorithm;
  int ranks = 2;
  Bytes size;
  int servers = 0;  // 0: nobody says
};

// A list of them, which does not change: each simulation copies the profile that it is in.
class CostsBySize {
 public:
  CostsBySize() = default;
  CostsBySize(std::vector<CostAtSize> all);
  CostsBySize(std::initializer_list<CostAtSize> all) : CostsBySize(std::vector<CostAtSize>(all)) {}

  const std::vector<CostAtSize>& all() const;
  auto begin() const { return all().begin(); }
  auto end() const { return all().end(); }
  std::size_t size() const { return all().size(); }
  bool empty() const { return all().empty(); }
  const CostAtSize& operator[](std::size_t i) const { return all()[i]; }

  // Between sizes, and between numbers of ranks, along a straight line of logarithms; beyond them as at the last. Of calls in one server by
  // what is known of such calls, of calls between servers by what is known of those, by the nearest number of servers; by that of the
  // others where nothing else is known. Of NCCL's pattern with its protocol, or of the pattern ("nccl_ring") where none has that protocol.
  // 1 where nothing is known of the collective and its algorithm.
  double factor(const SizedCall& call) const;

  friend bool operator==(const CostsBySize& a, const CostsBySize& b) { return a.known_ == b.known_ || a.all() == b.all(); }

 private:
  struct Known;
  std::shared_ptr<const Known> known_;  // null: none
};

// As `algorithm` above: "nccl_tree_ll" for a pattern of the name "tree" and a protocol of the name "ll"; and the other way "nccl_tree", or
// the name as it is where it is none of NCCL's.
std::string with_protocol(std::string_view algorithm, std::string_view pattern, std::string_view protocol);
std::string without_protocol(const std::string& algorithm);

}  // namespace weft

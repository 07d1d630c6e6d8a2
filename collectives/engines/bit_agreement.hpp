// Which bits are set on every rank, round after round, without a master: an all-reduce with `min` over bit vectors by messages.
#pragma once

#include "collectives/engines/engine.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

namespace weft {

// ring: 2(n-1) steps of a part of the vector each, or of all of it, from rank 0 on, where it has fewer words of 64 bits than there are
// ranks (AIACC). dissemination: ceil(log2 n) steps of the whole vector, to the rank 2^k further (Hensgen et al. 1988), which suffices
// because min of a bit twice is min of it once; what MPI does for small messages has as many steps.
enum class AgreementAlgorithm { ring, dissemination };
std::string_view name_of(AgreementAlgorithm);

class Bits {
 public:
  explicit Bits(std::size_t count = 0, bool value = false);
  bool test(std::size_t i) const { return (words_[i / 64] >> (i % 64) & 1U) != 0; }
  void set(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
  std::span<std::uint64_t> words() { return words_; }

 private:
  std::vector<std::uint64_t> words_;
};

// One rank's part. Every rank joins every round, with the bits it has then; what comes of a later round waits until it has.
class BitAgreement {
 public:
  BitAgreement(const EngineSetup& setup, std::size_t bits, AgreementAlgorithm algorithm, EngineHost& host);

  bool running() const { return running_; }
  // Somebody has begun the round that this rank has not joined.
  bool asked() const { return !running_ && !kept_.empty(); }
  // Joins the next round. The result comes from join or received: the one that ended the round.
  std::optional<Bits> join(Bits mine);
  std::optional<Bits> received(Rank from, std::span<const std::byte> message);
  std::string waiting() const;  // of a running round

 private:
  using Key = std::pair<std::uint32_t, int>;  // round, step
  struct Part {
    std::size_t first, count;  // words
  };
  int steps() const;
  int after(int step) const;  // the next in which this rank sends or receives, or as many as there are
  Rank to(int step) const;
  Rank from(int step) const;
  Part sent(int step) const;
  Part awaited(int step) const;
  Part part(int chunk) const;
  bool is_message(Part part, int step) const;
  void send();
  void take(std::span<const std::byte> payload);
  std::optional<Bits> advance();

  Rank rank_;
  int ranks_;
  std::size_t bits_;
  AgreementAlgorithm algorithm_;
  EngineHost& host_;
  std::vector<int> busy_;  // steps in which this rank sends or receives: few of a ring in which the vector goes round whole
  Bits mine_;
  std::uint32_t round_ = 0;  // that runs, or comes next
  int step_ = 0;
  bool running_ = false;
  std::map<Key, std::vector<std::byte>> kept_;
};

}  // namespace weft

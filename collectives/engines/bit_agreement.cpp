#include "collectives/engines/bit_agreement.hpp"

#include "collectives/engines/control_message.hpp"
#include "kernels/bit_vector.hpp"

#include <algorithm>
#include <bit>

namespace weft {
namespace {

constexpr std::size_t header_bytes = 1 + 4 + 2;  // kind, round, step

}  // namespace

std::string_view name_of(AgreementAlgorithm a) { return a == AgreementAlgorithm::ring ? "ring" : "dissemination"; }

Bits::Bits(std::size_t count, bool value) : words_((count + 63) / 64, value ? ~std::uint64_t{0} : 0) {}

BitAgreement::BitAgreement(const EngineSetup& setup, std::size_t bits, AgreementAlgorithm algorithm, EngineHost& host)
    : rank_(setup.rank), ranks_(setup.ranks), bits_(bits), algorithm_(algorithm), host_(host) {
  for (int step = 0; step < steps(); ++step)
    if (is_message(sent(step), step) || is_message(awaited(step), step)) busy_.push_back(step);
}

int BitAgreement::steps() const {
  return algorithm_ == AgreementAlgorithm::ring ? 2 * (ranks_ - 1) : std::bit_width(static_cast<unsigned>(ranks_ - 1));
}

int BitAgreement::after(int step) const {
  const auto next = std::ranges::upper_bound(busy_, step);
  return next == busy_.end() ? steps() : *next;
}

Rank BitAgreement::to(int step) const { return (rank_ + (algorithm_ == AgreementAlgorithm::ring ? 1 : 1 << step)) % ranks_; }
Rank BitAgreement::from(int step) const { return mod(rank_ - (algorithm_ == AgreementAlgorithm::ring ? 1 : 1 << step), ranks_); }

BitAgreement::Part BitAgreement::part(int chunk) const {
  const std::size_t words = (bits_ + 63) / 64, c = static_cast<std::size_t>(mod(chunk, ranks_)), n = static_cast<std::size_t>(ranks_);
  if (words < n) return {0, c == 0 ? words : 0};  // goes round whole: nothing is gained by cutting it
  return {words * c / n, words * (c + 1) / n - words * c / n};
}

// Ring: reduce-scatter passes on the chunk last touched, then the all-gather does.
BitAgreement::Part BitAgreement::sent(int step) const {
  if (algorithm_ == AgreementAlgorithm::dissemination) return {0, (bits_ + 63) / 64};
  return part(step < ranks_ - 1 ? rank_ - step : rank_ + 1 - (step - (ranks_ - 1)));
}

BitAgreement::Part BitAgreement::awaited(int step) const {
  if (algorithm_ == AgreementAlgorithm::dissemination) return {0, (bits_ + 63) / 64};
  return part(step < ranks_ - 1 ? rank_ - 1 - step : rank_ - (step - (ranks_ - 1)));
}

// Parts without words are not sent, but in the first step: it tells all ranks, one by one, that a round has begun.
bool BitAgreement::is_message(Part part, int step) const { return part.count > 0 || step == 0; }

void BitAgreement::send() {
  const Part p = sent(step_);
  if (!is_message(p, step_)) return;
  ControlWriter message(ControlKind::agreement);
  message.put(round_);
  message.put(static_cast<std::uint16_t>(step_));
  for (const std::uint64_t word : mine_.words().subspan(p.first, p.count)) message.put(word);
  host_.send(to(step_), message.take());
}

void BitAgreement::take(std::span<const std::byte> payload) {
  const Part p = awaited(step_);
  ControlReader reader(payload);
  reader.skip(header_bytes - 1);
  std::vector<std::uint64_t> words(p.count);
  for (std::uint64_t& word : words) word = reader.get<std::uint64_t>();
  if (!reader.at_end()) throw RunError(fmt::format("rank {}: a bit vector from rank {} is too long", rank_, from(step_)));
  // Also right in the all-gather: a chunk that is wholly reduced is at most what anybody had.
  bit_min(mine_.words().subspan(p.first, p.count), words);
}

std::optional<Bits> BitAgreement::advance() {
  while (step_ < steps()) {
    if (is_message(awaited(step_), step_)) {
      const auto next = kept_.find({round_, step_});
      if (next == kept_.end()) return std::nullopt;
      take(next->second);
      kept_.erase(next);
    }
    step_ = after(step_);
    if (step_ < steps()) send();
  }
  running_ = false;
  ++round_;
  return mine_;
}

std::optional<Bits> BitAgreement::join(Bits mine) {
  check(!running_, "rank {} joins agreement {} twice", rank_, round_);
  mine_ = std::move(mine);
  running_ = true;
  step_ = 0;
  if (steps() > 0) send();
  return advance();
}

std::optional<Bits> BitAgreement::received(Rank sender, std::span<const std::byte> message) {
  ControlReader reader(message);
  const auto round = reader.get<std::uint32_t>();
  const int step = reader.get<std::uint16_t>();
  const bool known = step < steps() && round >= round_ && (round > round_ || !running_ || step >= step_);
  if (!known || sender != from(step) || !kept_.emplace(Key{round, step}, std::vector(message.begin(), message.end())).second)
    throw RunError(fmt::format("rank {}: unexpected part of agreement {}, step {}, from rank {}", rank_, round, step, sender));
  return running_ ? advance() : std::nullopt;
}

std::string BitAgreement::waiting() const {
  return fmt::format("agreement {}, step {} of {}: waits for rank {}", round_, step_ + 1, steps(), from(step_));
}

}  // namespace weft

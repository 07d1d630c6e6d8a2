#include "validation/train/training.hpp"

#include "collectives/executors/blocking.hpp"
#include "kernels/base/hash.hpp"
#include "validation/train/model.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <numeric>

namespace weft::train {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point before) { return std::chrono::duration<double>(Clock::now() - before).count(); }

// The images in the order of this epoch: Fisher and Yates with a stream of the seed.
std::vector<std::uint32_t> order_of(std::size_t images, std::uint64_t seed, int epoch) {
  std::vector<std::uint32_t> order(images);
  std::iota(order.begin(), order.end(), 0u);
  std::uint64_t counter = mixed(mixed(seed) + static_cast<std::uint64_t>(epoch));
  for (std::size_t i = images; i > 1; --i) std::swap(order[i - 1], order[mixed(counter += golden_ratio) % i]);
  return order;
}

std::int64_t steps_of(const TrainingSettings& s, std::size_t images) {
  return static_cast<std::int64_t>(images) / (std::int64_t{s.batch} * s.allreduce.ranks);
}

std::int64_t hash_of(std::span<const float> values) {
  std::uint64_t hash = 0;
  for (const float v : values) hash = mixed(hash ^ std::bit_cast<std::uint32_t>(v)) + golden_ratio;
  return static_cast<std::int64_t>(hash);
}

// What every rank says of itself at the end of an epoch.
struct Word {
  double loss = 0;
  std::int64_t parameters = 0;
};

std::vector<Word> gathered(const Word& own, int ranks, Rank rank, Transport& transport) {
  std::vector<Word> all(static_cast<std::size_t>(ranks));
  all[static_cast<std::size_t>(rank)] = own;
  const Schedule schedule = build({.collective = Collective::allgather, .algorithm = "bruck", .ranks = ranks});
  const Buffer buffer{{.elements = std::int64_t{2} * ranks, .chunks = ranks}, DType::int64, reinterpret_cast<std::byte*>(all.data())};
  FilteredSteps steps(schedule.channels.front(), rank);
  run_blocking(steps, 0, ReduceOp::sum, buffer, transport);
  return all;
}

class RankTraining {
 public:
  RankTraining(const TrainingSettings& s, const Digits& digits, Rank rank, Transport& transport)
      : settings_(s),
        digits_(digits),
        rank_(rank),
        transport_(transport),
        model_(s.hidden, s.seed),
        compressor_(s.compression, model_.tensors(), rank, s.allreduce),
        gradient_(static_cast<std::size_t>(model_.size())) {}

  Epoch run(int epoch) {
    if (is_sparse(settings_.compression.name)) compressor_.set_k(density(settings_, epoch, model_.size()));
    Epoch out{.number = epoch + 1,
              .learning_rate = learning_rate(settings_, epoch),
              .k = compressor_.plan().k,
              .steps = steps_of(settings_, digits_.training.count()),
              .bytes_per_step = compressor_.plan().max_bytes_sent(),
              .kernel_s = {}};
    const std::vector<std::uint32_t> order = order_of(digits_.training.count(), settings_.seed, epoch);
    double loss = 0;
    for (std::int64_t i = 0; i < out.steps; ++i) loss += step(order, i, out);
    take_times(out);
    const std::vector<Word> all = gathered({loss, hash_of(model_.parameters())}, settings_.allreduce.ranks, rank_, transport_);
    for (std::size_t r = 0; r < all.size(); ++r) {
      if (all[r].parameters != all[0].parameters)
        throw RunError(fmt::format("after epoch {} the parameters of rank {} are not those of rank 0", out.number, r));
      out.loss += all[r].loss / static_cast<double>(out.steps * settings_.allreduce.ranks);
    }
    if (rank_ == 0) out.accuracy = model_.accuracy(digits_.test);
    return out;
  }

 private:
  double step(std::span<const std::uint32_t> order, std::int64_t number, Epoch& out) {
    const auto batch = static_cast<std::size_t>(settings_.batch);
    const auto ranks = static_cast<std::size_t>(settings_.allreduce.ranks);
    const auto before = Clock::now();
    const auto first = (static_cast<std::size_t>(number) * ranks + static_cast<std::size_t>(rank_)) * batch;
    const double loss = model_.gradient(digits_.training, order.subspan(first, batch), gradient_);
    out.gradient_s += since(before) / static_cast<double>(out.steps);
    compressor_.all_reduce(gradient_, transport_);
    const auto rate = static_cast<float>(out.learning_rate / static_cast<double>(ranks));  // the mean over ranks
    const std::span<float> parameters = model_.parameters();
    for (std::size_t i = 0; i < gradient_.size(); ++i) parameters[i] -= rate * gradient_[i];
    return loss;
  }

  // Of a compressor whose plan is this epoch's: set_k has begun it anew, or dense keeps one for all.
  void take_times(Epoch& out) {
    const auto& phases = compressor_.plan().phases;
    const std::vector<double> now(compressor_.phase_seconds().begin(), compressor_.phase_seconds().end());
    const bool fresh = is_sparse(settings_.compression.name) || taken_.empty();
    for (std::size_t i = 0; i < phases.size(); ++i) {
      const double per_step = (now[i] - (fresh ? 0 : taken_[i])) / static_cast<double>(out.steps);
      if (const auto* work = std::get_if<LocalWork>(&phases[i]))
        out.kernel_s[static_cast<std::size_t>(work->kernel)] += per_step;
      else
        out.exchange_s += per_step;
    }
    taken_ = now;
  }

  const TrainingSettings& settings_;
  const Digits& digits_;
  Rank rank_;
  Transport& transport_;
  Model model_;
  Compressor compressor_;
  std::vector<float> gradient_;
  std::vector<double> taken_;  // phase seconds at the end of the last epoch
};

}  // namespace

std::vector<Problem> problems(const TrainingSettings& s, const Images& training) {
  std::vector<Problem> out;
  if (s.allreduce.ranks > 0)  // or else that says it
    for (Problem& p : constraints(s.allreduce)) out.push_back({"--" + p.where.substr(1), std::move(p.what)});
  const auto between = [&out](const char* where, std::int64_t least, std::int64_t most, std::int64_t got) {
    if (got < least || got > most) out.push_back({where, fmt::format("must be {} to {}, got {}", least, most, got)});
  };
  between("--ranks", 1, 64, s.allreduce.ranks);
  between("--epochs", 1, 10'000, s.epochs);
  const auto images = static_cast<std::int64_t>(training.count());
  between("--batch", 1, std::max<std::int64_t>(images / std::clamp(s.allreduce.ranks, 1, 64), 1), s.batch);
  for (const int width : s.hidden) between("--hidden", 1, 4096, width);
  if (s.hidden.size() > 8) out.push_back({"--hidden", fmt::format("must be at most 8 layers, got {}", s.hidden.size())});
  if (s.learning_rates.empty()) out.push_back({"--learning-rates", "must be at least one"});
  for (const double rate : s.learning_rates)
    if (!(rate > 0 && rate <= 100))
      out.push_back({"--learning-rates", fmt::format("must be more than 0 and at most 100, got {:.6g}", rate)});
  for (const double share : s.warm_up)
    if (!(share > 0 && share <= 1)) out.push_back({"--warm-up", fmt::format("must be more than 0 and at most 1, got {:.6g}", share)});
  if (!out.empty()) return out;
  const Model model(s.hidden, s.seed);
  for (Problem& p : weft::problems(s.compression, model.size())) {
    p.where = p.where == "/name" ? "--compression" : "--" + p.where.substr(1);
    out.push_back(std::move(p));
  }
  return out;
}

double learning_rate(const TrainingSettings& s, int epoch) {
  return s.learning_rates[static_cast<std::size_t>(epoch) * s.learning_rates.size() / static_cast<std::size_t>(s.epochs)];
}

Amount density(const TrainingSettings& s, int epoch, std::int64_t parameters) {
  const std::int64_t k = s.compression.k.of(parameters);
  const auto at = static_cast<std::size_t>(epoch);
  const bool warms_up = at < s.warm_up.size() && s.compression.memory == ErrorMemory::dense;
  return Amount::exactly(warms_up ? std::max(k, Amount::of_all(s.warm_up[at]).of(parameters)) : k);
}

Curve train(const TrainingSettings& settings, const Digits& digits, Rank rank, Transport& transport) {
  RankTraining training(settings, digits, rank, transport);
  Curve curve;
  for (int epoch = 0; epoch < settings.epochs; ++epoch) curve.push_back(training.run(epoch));
  return curve;
}

}  // namespace weft::train
